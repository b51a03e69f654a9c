# SPDX-License-Identifier: Apache-2.0
"""Krylov methods, triangular solves, streams and files against scipy, also on real matrices."""
import glob
import os
import signal
import threading

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tulle

HERE = os.path.dirname(__file__)
DATA = os.path.join(HERE, "..", "..", "test", "data")
RNG = np.random.default_rng(2)


def poisson(n):
    line = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    return sp.csr_matrix(sp.kron(line, sp.identity(n)) + sp.kron(sp.identity(n), line))


@pytest.mark.parametrize("dtype,tolerance", [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("precond", [None, "ic0", "ilu0", "jacobi", "block"])
@pytest.mark.parametrize("method", ["cg", "gmres", "block_cg"])
def test_krylov(method, precond, dtype, tolerance):
    A = poisson(20).astype(dtype)
    M = {None: lambda: None, "ic0": lambda: tulle.ic0(A), "ilu0": lambda: tulle.ilu0(A),
         "jacobi": lambda: tulle.jacobi(A), "block": lambda: tulle.jacobi(A, block=8)}[precond]()
    if method != "gmres" and precond == "ilu0":
        pytest.skip("ilu0 is no symmetric preconditioner")
    for shape in ((400,), (400, 3)):
        b = RNG.random(shape).astype(dtype)
        steps = []
        x, info = getattr(tulle, method)(A, b, rtol=tolerance, M=M, callback=steps.append)
        assert info == 0 and x.shape == b.shape and x.dtype == dtype
        residual = np.linalg.norm(b - A @ x, axis=0) / np.linalg.norm(b, axis=0)
        assert residual.max() <= 3 * tolerance
        assert steps and steps[-1].iteration == tulle.report()["iterations"] or len(shape) > 1
        again, info = getattr(tulle, method)(A, b, x0=x, rtol=10 * tolerance, M=M)
        assert info == 0 and tulle.report()["iterations"] <= 1


def test_krylov_failures():
    A, b = poisson(20), np.ones(400)
    x, info = tulle.cg(A, b, maxiter=3)
    assert info == 3 and tulle.report()["stop"] == "max-iterations"
    x, info = tulle.cg(-A, b)
    assert info == -1 and tulle.report()["stop"] == "indefinite"
    with pytest.raises(ValueError, match="square"):
        tulle.cg(sp.csr_matrix((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="rows"):
        tulle.cg(A, np.ones(5))
    with pytest.raises(TypeError, match="preconditioner"):
        tulle.cg(A, b, M=A)
    with pytest.raises(ValueError, match="row 1"):
        tulle.ic0(sp.csr_matrix(np.array([[0.0, 1], [1, 1]])))

    def stop(step):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        tulle.cg(A, b, callback=stop)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.csc_matrix])
def test_triangular(cls, unit, lower, dtype):
    A = cls((poisson(15) + 4 * sp.identity(225)).astype(dtype))
    if unit:
        A = cls(A * dtype(0.05))
    b = RNG.random((225, 2)).astype(dtype)
    T = (sp.tril if lower else sp.triu)(A, format="csr")
    want = spla.spsolve_triangular(T.astype(float), b.astype(float), lower=lower, unit_diagonal=unit)
    solver = tulle.triangular(A, lower=lower, unit_diagonal=unit)
    for _ in range(3):
        np.testing.assert_allclose(solver.solve(b), want, rtol=1e-4 if dtype == np.float32 else 1e-11)
    np.testing.assert_allclose(tulle.solve_triangular(A, b[:, 0], lower=lower, unit_diagonal=unit), want[:, 0],
                               rtol=1e-4 if dtype == np.float32 else 1e-11)


def test_triangular_failures():
    with pytest.raises(ValueError, match="row 2"):
        tulle.triangular(sp.csr_matrix(np.diag([1.0, 0.0])))
    with pytest.raises(ValueError, match="dense"):
        tulle.triangular(np.eye(3))


def test_files(tmp_path):
    A = sp.csr_matrix(sp.random(30, 20, 0.1, "csr", random_state=3))
    for name in ("a.mtx", "a.mtx.gz", "a.npz"):
        tulle.write(tmp_path / name, A)
        back = tulle.read(tmp_path / name)
        assert abs(back - A).max() == 0
    assert abs(sp.csr_matrix(scipy.io.mmread(tmp_path / "a.mtx")) - A).max() == 0
    X = RNG.random((4, 5))
    tulle.write(tmp_path / "x.npy", X)
    assert (np.load(tmp_path / "x.npy") == X).all() and (tulle.read(tmp_path / "x.npy") == X).all()
    assert tulle.read(tmp_path / "a.mtx", dtype=np.float32).dtype == np.float32
    with pytest.raises(OSError, match="nothing.mtx"):
        tulle.read(tmp_path / "nothing.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 9 1.0\n")
    with pytest.raises(tulle.FormatError, match="bad.mtx"):
        tulle.read(tmp_path / "bad.mtx")
    with pytest.raises(ValueError, match="generator"):
        tulle.generate("nothing")
    assert tulle.generate("rmat:scale=8").shape == (256, 256)


def test_stream(tmp_path):
    A = poisson(30)
    try:
        tulle.write(tmp_path / "a.bsp.h5", A)
    except tulle.UnsupportedError as cause:
        pytest.skip(f"no HDF5: {cause}")
    x = RNG.random(900)
    stream = tulle.stream(tmp_path / "a.bsp.h5", memory="64K")
    np.testing.assert_allclose(stream @ x, A @ x, rtol=1e-12)
    assert tulle.report()["slabs"] >= 1
    y, info = tulle.cg(stream, x)
    assert info == 0 and np.linalg.norm(A @ y - x) <= 1e-7 * np.linalg.norm(x)
    wide = tulle.stream(A, columns=4)
    X = RNG.random((900, 4))
    np.testing.assert_allclose(wide @ X, A @ X, rtol=1e-12)
    with pytest.raises(ValueError, match="columns=5"):
        wide @ np.ones((900, 5))
    with pytest.raises(MemoryError):
        tulle.stream(A, memory=2000)


def real_matrices():
    folder = os.environ.get("TULLE_MATRICES", "")
    paths = sorted(glob.glob(os.path.join(folder, "*.mtx*"))) if folder else []
    small = [path for path in paths if os.path.getsize(path) < 200_000][::4]
    return small + sorted(glob.glob(os.path.join(DATA, "*.mtx*")))[:20]


@pytest.mark.parametrize("path", real_matrices(), ids=os.path.basename)
def test_real_matrices(path):
    """Read, multiplied sparse and dense, as scipy does."""
    try:
        A = tulle.read(path)
    except tulle.UnsupportedError as cause:
        pytest.skip(str(cause))
    if isinstance(A, np.ndarray):
        pytest.skip("a dense matrix")
    X = RNG.random((A.shape[1], 3))
    scale = abs(A) @ abs(X)
    assert (abs(tulle.matmul(A, X) - A @ X) <= 1e-12 * scale + 1e-300).all()
    C, want = tulle.matmul(A.T.tocsr(), A), sp.csr_matrix(A.T @ A)
    assert C.shape == want.shape
    difference = abs(sp.csr_matrix(C) - want).max() if want.nnz else 0
    assert difference <= 1e-11 * abs(want).max() if want.nnz else True


def interrupted(call, after=0.3):
    """Runs a call that would take hours, with a Ctrl-C; the time until it is over."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    main = threading.main_thread().ident
    timer = threading.Timer(after, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("method", [tulle.cg, tulle.gmres, tulle.block_cg])
def test_ctrl_c_ends_a_call(method):
    A = tulle.generate("stencil2d:n=500")
    b = np.ones(A.shape[0])
    interrupted(lambda: method(A, b, rtol=0.0, maxiter=10**9))
    A = tulle.generate("stencil2d:n=30")
    x, info = method(A, np.ones(900))
    assert info == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_iterations_of_a_callers_loop():
    A = tulle.generate("stencil2d:n=60")
    x = np.ones(A.shape[0])

    def loop():
        while True:
            tulle.matmul(A, x)

    interrupted(loop)
    assert tulle.matmul(A, x).shape == x.shape
