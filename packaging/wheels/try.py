# SPDX-License-Identifier: Apache-2.0
"""Tries an installed package: try.py [--any] COMMIT, as whoever installed it has it, with numpy and scipy and nothing else.

--any: it may lack libraries; without it, it must have those of a wheel. $TULLE_PICKLES: a folder of pickles that
other versions of Python have left there, which are read, and where this one leaves its own.
"""
import os
import pickle
import platform
import subprocess
import sys
import tempfile

import numpy
import scipy.sparse
import scipy.sparse.linalg

import tulle

built = tulle.build()
print(built)
assert built["version"] == tulle.__version__
assert built["commit"] == sys.argv[-1], built["commit"]
for feature in () if "--any" in sys.argv else ("zlib", "bzip2", "lzma", "zstd", "hdf5", "blas", "lapack"):
    assert built["features"][feature], f"no {feature}"
if os.path.exists("/proc/cpuinfo") and platform.machine() == "x86_64":
    with open("/proc/cpuinfo") as lines:
        flags = next(line for line in lines if line.startswith("flags")).split()
    widest = "avx512" if "avx512vl" in flags and "avx512dq" in flags else "avx2" if "avx2" in flags else "portable"
    assert built["kernels"] == widest, f"kernels are {built['kernels']}, and this processor has {widest}"
assert "--any" in sys.argv or "openblas" in built["blas"], built["blas"]

# products and solves beside scipy's
A = scipy.sparse.random(2000, 2000, 0.005, "csr", random_state=numpy.random.RandomState(1))
assert abs(tulle.matmul(A, A) - A @ A).max() < 1e-12
X = numpy.random.RandomState(3).rand(2000, 16)
assert numpy.allclose(tulle.matmul(A, X), A @ X) and numpy.allclose(tulle.aslinearoperator(A) @ X, A @ X)
S = (A @ A.T + scipy.sparse.identity(2000)).tocsr()
b = numpy.ones(2000)
x, info = tulle.cg(S, b, M=tulle.ic0(S, shift="auto"))
assert info == 0 and numpy.linalg.norm(S @ x - b) <= 1e-7 * numpy.linalg.norm(b)
L = scipy.sparse.tril(S, format="csr")
assert numpy.allclose(tulle.solve_triangular(L, b), scipy.sparse.linalg.spsolve_triangular(L, b))

# LAPACK and BLAS: eigenpairs, a function of a matrix, a product of dense ones
if built["features"]["lapack"]:
    w = tulle.eigsh(S, 3, return_eigenvectors=False)
    assert numpy.allclose(sorted(w), sorted(scipy.sparse.linalg.eigsh(S, 3, return_eigenvectors=False)))
    H = scipy.sparse.diags([-1.0, 0.5, -1.0], [-1, 0, 1], shape=(60, 60), format="csr")
    sign = tulle.matfun("sign:mu=0.6", H, blocks=60).toarray()
    assert numpy.allclose(sign @ sign, numpy.eye(60))
D = numpy.random.RandomState(2).rand(300, 300)
assert numpy.allclose(tulle.gemm(D, D), D @ D)

# files: HDF5, and each compression by the library that is linked in
with tempfile.TemporaryDirectory() as folder:
    for name, feature in ("a.bsp.h5", "hdf5"), ("a.mtx.gz", "zlib"):
        if not built["features"][feature]:
            continue
        path = os.path.join(folder, name)
        tulle.write(path, A)
        assert abs(tulle.read(path) - A).max() == 0, name

# threads inside calls when Python ends
program = """
import threading, time, numpy, scipy.sparse, tulle
A, b = scipy.sparse.identity(200, format="csr"), numpy.ones(200)
def work():
    while True: tulle.cg(A, b, callback=lambda x: None)
for _ in range(2): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
for _ in range(5):
    subprocess.run([sys.executable, "-c", program], check=True)

# the command, by both names
script = os.path.join(os.path.dirname(sys.executable), "tulle")
for command in ([script], [sys.executable, "-m", "tulle"]):
    said = subprocess.run([*command, "spmm", "rmat:scale=10,seed=1", "--cols", "8", "--check"], check=True,
                          capture_output=True, text=True).stdout
    assert " passed " in said, said
    said = subprocess.run([*command, "info"], check=True, capture_output=True, text=True).stdout
    assert said.startswith(f"tulle {tulle.__version__}"), said
    said = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True).stdout
    assert "usage: tulle VERB" in said and max(map(len, said.splitlines())) <= 100, said
# pickles between versions of Python
if "TULLE_PICKLES" in os.environ:
    handles = {"ic0": tulle.ic0(S, shift="auto"), "triangle": tulle.triangular(L), "plan": tulle.matmul_plan(A, A),
               "operator": tulle.aslinearoperator(S)}
    for left in os.scandir(os.environ["TULLE_PICKLES"]):
        with open(left.path, "rb") as file:
            others = pickle.load(file)
        assert abs(others["plan"]() - A @ A).max() < 1e-12, left.name
        assert numpy.allclose(others["triangle"].solve(b), handles["triangle"].solve(b)), left.name
        assert numpy.allclose(others["operator"] @ b, S @ b), left.name
        assert tulle.cg(S, b, M=others["ic0"])[1] == 0, left.name
    with open(os.path.join(os.environ["TULLE_PICKLES"], "%d.%d" % sys.version_info[:2]), "wb") as file:
        pickle.dump(handles, file, 4)

print("a wheel of tulle", tulle.__version__, "works with Python", sys.version.split()[0])
