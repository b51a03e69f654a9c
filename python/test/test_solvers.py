# SPDX-License-Identifier: Apache-2.0
"""Krylov methods, triangular solves, streams and files against scipy, also on real matrices."""
import functools
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
@pytest.mark.parametrize("method", ["cg", "gmres", "block_cg", "minres"])
def test_krylov(method, precond, dtype, tolerance):
    A = poisson(20).astype(dtype)
    M = {None: lambda: None, "ic0": lambda: tulle.ic0(A), "ilu0": lambda: tulle.ilu0(A),
         "jacobi": lambda: tulle.jacobi(A), "block": lambda: tulle.jacobi(A, block=8)}[precond]()
    if method != "gmres" and precond == "ilu0":
        pytest.skip("ilu0 is no symmetric preconditioner")
    for shape in ((400,), (400, 3)):
        b = RNG.random(shape).astype(dtype)
        steps = []
        x, info = getattr(tulle, method)(A, b, rtol=tolerance, M=M, callback=steps.append, callback_type="step")
        assert info == 0 and x.shape == b.shape and x.dtype == dtype
        residual = np.linalg.norm(b - A @ x, axis=0) / np.linalg.norm(b, axis=0)
        assert residual.max() <= 3 * tolerance
        assert steps and steps[-1].iteration == tulle.report()["iterations"] or len(shape) > 1
        first = [step.residual for step in steps if step.column == 0]
        assert tulle.report()["history"] == first
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
    with pytest.raises(ValueError, match="M is 3 x 3, and A 400 x 400"):
        tulle.cg(A, b, M=np.eye(3))
    with pytest.raises(ValueError, match="maxiter is 0"):
        tulle.cg(A, b, maxiter=0)
    with pytest.raises(ValueError, match="callback_type is 'legacy'"):
        tulle.cg(A, b, callback_type="legacy")
    with pytest.raises(TypeError, match="complex128"):
        tulle.cg(spla.aslinearoperator(A.astype(complex)), b)
    with pytest.raises(ValueError, match="row 0"):
        tulle.ic0(sp.csr_matrix(np.array([[0.0, 1], [1, 1]])))


METHODS = [tulle.cg, tulle.gmres, tulle.block_cg, tulle.minres]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["zeros", "graph", "gram"])
def test_singular_systems_without_a_solution(kind, dtype, method):
    """They do not converge, and nobody is told that A is not finite."""
    draw = np.random.default_rng(9)
    for n in (3, 20, 150):
        X, G = sp.random(n, n // 2, 0.2, random_state=n), sp.random(n, n, min(1, 4 / n), random_state=n)
        G = ((G + G.T) != 0).astype(float)
        A = {"zeros": sp.diags(np.where(np.arange(n) % 3 == 1, 0, draw.random(n) + 0.1)),
             "graph": sp.diags(np.asarray(G.sum(1)).ravel()) - G, "gram": X @ X.T}[kind]
        _, info = method(sp.csr_matrix(A, dtype=dtype), 1 + np.arange(n, dtype=dtype))
        assert info != 0 and tulle.report()["stop"] != "not-finite"


@pytest.mark.parametrize("method", METHODS)
def test_an_exception_ends_a_solve(method):
    """Of a callback, of A and of M: at once, and everything can be used afterwards."""
    A, b, calls = poisson(20), np.ones(400), []

    def stop(*anything):
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("enough")
        return anything[0]

    operators = [{"callback": stop}, {"callback": stop, "callback_type": "step"},
                 {"M": spla.LinearOperator((400, 400), stop, dtype=float)},
                 {"A": spla.LinearOperator((400, 400), lambda x: A @ stop(x), dtype=float)}]
    for given in operators:
        calls.clear()
        run = functools.partial(method, **{"A": A, "b": b, "rtol": 0.0, "maxiter": 10**6, **given})
        with pytest.raises(KeyError, match="enough"):
            run()
        assert len(calls) == 3
        calls.clear()
        in_thread = []

        def other():
            try:
                run()
            except KeyError as cause:
                in_thread.append(cause)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert in_thread and len(calls) == 3
        x, info = method(A, b)
        assert info == 0 and np.linalg.norm(A @ x - b) <= 1e-7 * np.linalg.norm(b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_iterates(dtype):
    """A callback of scipy's cg sees the iterates of scipy's, of each column and method."""
    A, b = poisson(12).astype(dtype), RNG.random((144, 2)).astype(dtype)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    ours, theirs = [], []
    x, _ = tulle.cg(A, b[:, 0], rtol=1e-4, callback=ours.append)
    want, _ = spla.cg(A, b[:, 0], rtol=1e-4, callback=lambda xk: theirs.append(xk.copy()))
    assert len(ours) == tulle.report()["iterations"] and ours[0].dtype == dtype and ours[0].shape == (144,)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine, other, atol=tolerance * abs(want).max())
    assert (ours[-1] == x).all()
    scaled = []
    tiny, _ = tulle.cg(poisson(12), b[:, 0].astype(float) * 1e-200, rtol=1e-4, callback=scaled.append)
    assert (scaled[-1] == tiny).all() and 0 < abs(tiny).max() < 1e-190
    for method in (tulle.cg, tulle.block_cg):
        ours.clear()
        x, info = method(A, b, callback=ours.append, rtol=1e-4)
        assert info == 0
        for column in x.T:  # the last iterate of each column is its solution
            assert min(abs(column - iterate).max() for iterate in ours) == 0


def test_gmres_after_scipy():
    A, b = poisson(12), RNG.random(144)
    A = sp.csr_matrix(A + sp.diags([np.ones(143)], [1]) * 0.3)
    for kind in ("x", "pr_norm"):
        ours, theirs = [], []
        how = {"rtol": 1e-9, "restart": 6, "maxiter": 4, "callback_type": kind}
        x, info = tulle.gmres(A, b, callback=ours.append, **how)
        want, theirs_info = spla.gmres(A, b, callback=lambda y: theirs.append(np.copy(y)), **how)
        assert info == theirs_info == 4 and len(ours) == len(theirs) == (4 if kind == "x" else 24)
        np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-7)
    legacy = []
    _, info = tulle.gmres(A, b, rtol=1e-9, restart=6, maxiter=10, callback=legacy.append)
    assert info == len(legacy) == 10 and legacy == ours[:10]
    _, info = tulle.gmres(A, b, rtol=1e-9, restart=1000)
    assert info == 0 and tulle.report()["iterations"] <= 144


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operators(method, dtype):
    """A and M in all kinds that scipy takes: the same solution, by as many iterations."""
    A = sp.csr_matrix((poisson(10) + sp.diags(np.linspace(0, 30, 100))).astype(dtype))
    inverse = sp.diags(1 / A.diagonal(), format="csr").astype(dtype)
    rtol = 1e-10 if dtype == np.float64 else 1e-5
    for b in (RNG.random(100).astype(dtype), RNG.random((100, 3)).astype(dtype)):
        want, _ = method(A, b, rtol=rtol)
        plain = tulle.report()["iterations"]
        method(A, b, rtol=rtol, M=tulle.jacobi(A))
        fewer = tulle.report()["iterations"]
        assert fewer < plain
        for a in (A.toarray(), np.asfortranarray(A.toarray()), spla.aslinearoperator(A), A.tocsc(), A.tobsr((2, 2)),
                  spla.LinearOperator(A.shape, lambda x: tulle.matmul(A, x.astype(dtype)), dtype=dtype)):
            x, info = method(a, b, rtol=rtol)
            assert info == 0 and x.dtype == dtype and abs(tulle.report()["iterations"] - plain) <= 1
            np.testing.assert_allclose(x, want, rtol=1e-3 if dtype == np.float32 else 1e-8)
        for M in (inverse, inverse.toarray(), spla.aslinearoperator(inverse), inverse.tocsc().astype(np.float64),
                  spla.LinearOperator(A.shape, lambda x: np.ravel(x) / A.diagonal())):
            x, info = method(A, b, rtol=rtol, M=M)
            assert info == 0 and abs(tulle.report()["iterations"] - fewer) <= 1
            np.testing.assert_allclose(x, want, rtol=1e-3 if dtype == np.float32 else 1e-8)


def test_calls_within_an_operator():
    """A preconditioner may solve by this library itself."""
    A, b = poisson(15), RNG.random(225)
    L = tulle.triangular(A)
    U = tulle.triangular(A, lower=False)
    symmetric = spla.LinearOperator(A.shape, lambda r: U.solve(A.diagonal() * L.solve(r)))
    x, info = tulle.cg(A, b, M=symmetric)
    fewer = tulle.report()["iterations"]
    tulle.cg(A, b)
    assert info == 0 and fewer < tulle.report()["iterations"] and np.linalg.norm(A @ x - b) <= 1e-7 * np.linalg.norm(b)
    x, info = tulle.gmres(A, b, M=spla.LinearOperator(A.shape, lambda r: tulle.cg(A, r, rtol=1e-10)[0]))
    assert info == 0 and tulle.report()["call"] == "gmres" and tulle.report()["iterations"] <= 2


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
    with pytest.raises(ValueError, match="row 1"):
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
    on_device = tulle.stream(A, device="limit:mem=1M+cpu")
    with pytest.raises(ValueError, match="iterates lie on a device"):
        tulle.cg(on_device, x, callback=print)
    residuals = []
    assert tulle.cg(on_device, x, callback=residuals.append, callback_type="pr_norm")[1] == 0 and residuals[-1] <= 1e-8


def real_matrices():
    """Small ones of $TULLE_MATRICES (../shared/matrices beside the repository) and of test/data."""
    folder = os.environ.get("TULLE_MATRICES") or os.path.join(HERE, "..", "..", "..", "shared", "matrices")
    paths = sorted(glob.glob(os.path.join(folder, "*.mtx*")))
    none = pytest.param(folder, marks=pytest.mark.skip(f"no matrices in {folder} (set TULLE_MATRICES)"))
    small = [path for path in paths if os.path.getsize(path) < 200_000] if paths else [none]
    return small + sorted(glob.glob(os.path.join(DATA, "*.mtx*")))[:20]


@pytest.mark.parametrize("path", real_matrices(), ids=os.path.basename)
def test_real_matrices(path):
    """Read, multiplied sparse and dense, and solved, as scipy does."""
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
    if A.shape[0] == A.shape[1]:
        L = sp.csr_matrix(sp.tril(A, -1) + sp.diags(abs(A).sum(axis=1).ravel() + 1))
        x = tulle.solve_triangular(L, X)
        assert (abs(L @ x - X) <= 1e-12 * (abs(L) @ abs(x) + X)).all()


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


def other_team(call):
    with tulle.threads(1):
        return call()


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_ends_a_call(method):
    A = tulle.generate("stencil2d:n=500")
    b = np.ones(A.shape[0])
    interrupted(lambda: method(A, b, rtol=0.0, maxiter=10**9))
    A = tulle.generate("stencil2d:n=30")
    x, info = method(A, np.ones(900))
    assert info == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("nested", [lambda call: call(), other_team], ids=["same team", "another"])
def test_ctrl_c_within_an_operator(nested):
    A = tulle.generate("stencil2d:n=60")
    x = np.ones(A.shape[0])
    M = spla.LinearOperator(A.shape, lambda r: nested(lambda: tulle.matmul(A, r)), dtype=float)
    interrupted(lambda: tulle.gmres(A, x, rtol=0.0, maxiter=10**9, M=M))
    assert tulle.gmres(A, x, M=tulle.ilu0(A))[1] == 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_between_iterations_of_a_callers_loop():
    A = tulle.generate("stencil2d:n=60")
    x = np.ones(A.shape[0])

    def loop():
        while True:
            tulle.matmul(A, x)

    interrupted(loop)
    assert tulle.matmul(A, x).shape == x.shape
