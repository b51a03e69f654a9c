# SPDX-License-Identifier: Apache-2.0
"""scipy's operators within inside_scipy, and scipy's own tests of CSR and CSC under it."""
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

import tulle

# num_parallel_threads is of pytest-run-parallel, which scipy's tests of threads ask for
PLUGIN = """
import pytest, tulle
@pytest.fixture(autouse=True)
def ours():
    with tulle.inside_scipy(smallest=0):
        yield
@pytest.fixture
def num_parallel_threads():
    return 1
"""


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix])
def test_operators(make):
    A = make(sp.random(200, 200, 0.05, "csr", random_state=1) + sp.identity(200) * 9)
    X = np.random.default_rng(1).random((200, 3))
    want = A @ A, A @ X, A @ X[:, 0], X.T @ A
    L = sp.tril(A, format="csr")
    solution = scipy.sparse.linalg.spsolve_triangular(L, X)
    before = sp.csr_matrix.__matmul__
    with tulle.inside_scipy(smallest=0):
        got = A @ A, A @ X, A @ X[:, 0], X.T @ A
        assert tulle.report()["call"] == "matmul"
        np.testing.assert_allclose(scipy.sparse.linalg.spsolve_triangular(L, X), solution, rtol=1e-12)
        assert tulle.report()["call"] == "triangular"
        ints = (A.astype(np.int64) @ A.astype(np.int64)).dtype
    assert ints == np.int64 and sp.csr_matrix.__matmul__ is before
    assert type(got[0]) is make
    for g, w in zip(got, want):
        g, w = (x.toarray() if sp.issparse(x) else x for x in (g, w))
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-12)
    with tulle.inside_scipy():
        tulle.matmul(A, X[:, :1])
        A @ X
        assert tulle.report()["call"] == "matmul" and tulle.report()["flops"] == 2 * A.nnz  # A is too small


SHORT = ["scipy.sparse.tests.test_base", "-k", "(CSR or CSC) and (matmul or mul or dot or rmat or sparse_matrix)"]
# all of scipy's tests of these packages: none is left out; those that skip do so without the block, too
WHOLE = ["scipy.sparse.tests", "scipy.sparse.linalg"]


@pytest.mark.parametrize("tests", [SHORT, *(pytest.param([whole], marks=pytest.mark.long) for whole in WHOLE)],
                         ids=["short", *WHOLE])
def test_scipys_own_tests(tmp_path, tests):
    if not os.path.exists(os.path.join(os.path.dirname(sp.__file__), "tests", "test_base.py")):
        pytest.skip("this scipy has no tests")
    (tmp_path / "ours.py").write_text(PLUGIN)
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "ours", "-p", "no:cacheprovider", "--pyargs", *tests],
                         cwd=tmp_path, capture_output=True, text=True,
                         env={**os.environ, "PYTHONPATH": str(tmp_path)}, timeout=1800)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert " passed" in run.stdout
