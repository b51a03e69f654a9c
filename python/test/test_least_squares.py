# SPDX-License-Identifier: Apache-2.0
"""LSQR, LSMR and MINRES beside scipy's, with its tuples."""
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, lsmr, lsqr, minres

import tulle

BOTH = [(tulle.lsqr, lsqr), (tulle.lsmr, lsmr)]


def tall(m=90, n=30, seed=0, dtype=np.float64):
    A = sp.random(m, n, 0.2, "csr", random_state=seed, dtype=dtype) + sp.eye(m, n, dtype=dtype)
    return sp.csr_matrix(A)


@pytest.mark.parametrize("ours, theirs", BOTH)
@pytest.mark.parametrize("shape", [(90, 30), (30, 90), (40, 40)])
@pytest.mark.parametrize("damp", [0.0, 0.3])
def test_as_scipy(ours, theirs, shape, damp):
    A, b = tall(*shape), np.random.default_rng(1).standard_normal(shape[0])
    got, want = ours(A, b, damp), theirs(A, b, damp, 1e-13, 1e-13, 0, 4000)
    assert len(got) == len(want)
    np.testing.assert_allclose(got[0], want[0], atol=1e-4 * np.linalg.norm(want[0]))
    assert got[1] == (2 if damp or shape[0] > shape[1] else 1)
    report = tulle.report()
    assert report["passes"] == report["iterations"] + 2 and len(report["history"]) == report["iterations"] + 1
    r, x = b - A @ got[0], got[0]
    if ours is tulle.lsqr:
        np.testing.assert_allclose(got[3:5], [np.linalg.norm(r), np.hypot(np.linalg.norm(r), damp * np.linalg.norm(x))],
                                   rtol=1e-6, atol=1e-12)
        assert got[9].shape == (shape[1],)
    else:
        np.testing.assert_allclose(got[3], np.hypot(np.linalg.norm(r), damp * np.linalg.norm(x)), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(got[-2 if ours is tulle.lsqr else -1], np.linalg.norm(x), rtol=1e-10)


SPECIAL = {"zero": sp.csr_matrix((30, 20)), "rank 1": sp.csr_matrix(np.outer(np.arange(1.0, 31), np.ones(12))),
           "double columns": sp.hstack([tall(80, 20), tall(80, 20)]).tocsr(), "row": tall(1, 50), "column": tall(50, 1),
           "empty part": sp.block_diag([tall(20, 10), sp.csr_matrix((5, 5))]).tocsr(), "orthogonal": sp.eye(20, 10).tocsr(),
           "scaled": sp.csr_matrix(tall(100, 30) @ sp.diags(np.logspace(0, -3, 30)))}


@pytest.mark.parametrize("ours, theirs", BOTH)
@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("guessed", [False, True])
def test_special_as_scipy(ours, theirs, name, guessed):
    A, draw = SPECIAL[name], np.random.default_rng(3)
    start = draw.standard_normal(A.shape[1]) if guessed else None
    for b in (draw.standard_normal(A.shape[0]), A @ np.ones(A.shape[1])):
        for damp in (0.0, 0.5):
            got = ours(A, b, damp, 1e-12, 1e-12, x0=start)
            want = theirs(A, b, damp, 1e-13, 1e-13, 0, 4000, x0=None if start is None else start.copy())
            if b.any() or start is None:  # scipy's stay at x0 where b is 0
                np.testing.assert_allclose(got[0], want[0], atol=1e-5 * max(1, np.linalg.norm(want[0])))
            if name == "zero":
                assert got[1] == 0
            np.testing.assert_allclose(got[-2 if ours is tulle.lsqr else -1], np.linalg.norm(got[0]), rtol=1e-10)


@pytest.mark.parametrize("ours, theirs", BOTH)
def test_columns_guesses_and_types(ours, theirs):
    A = tall(dtype=np.float32)
    B = np.random.default_rng(2).standard_normal((90, 3)).astype(np.float32)
    X, codes, *_ = ours(A, B)
    assert X.shape == (30, 3) and X.dtype == np.float32 and list(codes) == [2, 2, 2]
    np.testing.assert_allclose(X, np.linalg.lstsq(A.toarray(), B, rcond=None)[0], atol=1e-3)
    x0 = np.linspace(0, 1, 30)
    A = A.astype(np.float64)
    b = B[:, 0].astype(np.float64)
    np.testing.assert_allclose(ours(A, b, x0=x0)[0], ours(A, b)[0], atol=1e-6)
    np.testing.assert_allclose(ours(A, b, damp=0.5, x0=x0)[0], theirs(A, b, 0.5, 1e-12, 1e-12, 0, x0=x0)[0], atol=1e-6)
    steps = []
    ours(A, b, callback=steps.append)
    assert [step.iteration for step in steps] == list(range(len(steps))) and len(steps) > 3
    assert ours(A, 0 * b)[1] == 0 and ours(A, b, **{"iter_lim" if ours is tulle.lsqr else "maxiter": 2})[1] == 7


def drawn(seed):
    """A system of a shape and a kind by the seed, and its damping; norms are above 1."""
    draw = np.random.default_rng(seed)
    m, n = (int(size) for size in draw.integers(2, 60, 2))
    A = sp.random(m, n, 0.3, "csr", random_state=seed)
    if seed % 4 == 1:  # deficient
        A = sp.hstack([A, A @ sp.csr_matrix(draw.standard_normal((n, 3)))]).tocsr()
    if seed % 4 == 2:  # ill-conditioned
        A = A @ sp.diags(np.logspace(0, -3, n))
    A = sp.csr_matrix(A + 2 * sp.eye(*A.shape)) if seed % 4 == 3 else sp.csr_matrix(3 * A)
    b = A @ draw.standard_normal(A.shape[1]) if seed % 3 == 0 else draw.standard_normal(m)
    return A, b, 0.3 if seed % 5 == 2 else 0.0


@pytest.mark.parametrize("ours, theirs", BOTH)
def test_condition_limits_as_scipy(ours, theirs):
    limited = 0
    for seed in range(300):
        (A, b, damp), conlim = drawn(seed), 10 ** (0.2 + seed % 7 / 2)
        got, want = ours(A, b, damp, 1e-9, 1e-9, conlim), theirs(A, b, damp, 1e-9, 1e-9, conlim, 400)
        condition, size = (got[6], got[-2]) if ours is tulle.lsqr else (got[6], got[-1])
        if want[1] == 3 and got[1] == 3 and got[2] == want[2]:
            limited += 1
            # lsmr: the largest of all steps; and directions that lose their orthogonality lose it to rounding
            assert condition > conlim and 0.8 < condition / want[6] < 1.25, seed
            assert ours is tulle.lsmr or got[2] > 6 or np.isclose(condition, want[6], rtol=1e-6), seed
            if got[2] <= 6:
                np.testing.assert_allclose(got[0], want[0], atol=1e-3 * size)
        elif want[1] == 3:  # scipy's starts from a pivot of 1 (lsmr), and by other residuals (lsqr)
            assert got[1] in (1, 2, 3) and (got[1] < 3 or condition > conlim), seed
        else:
            assert got[1] != 3 or condition > conlim, seed
    assert limited > 60


def test_variances_as_scipy():
    compared = 0
    for seed in range(300):
        A, b, damp = drawn(seed)
        steps = 1 + seed % 6
        *_, istop, itn, _, _, _, acond, _, _, got = tulle.lsqr(A, b, damp, 0, 0, iter_lim=steps, calc_var=True)
        *_, theirs, theirs_itn, _, _, _, condition, _, _, want = lsqr(A, b, damp, 0, 0, 0, steps, calc_var=True)
        if (itn, istop) == (theirs_itn, theirs) == (steps, 7):
            compared += 1
            np.testing.assert_allclose(got, want, rtol=0.01, atol=0.01 * want.max())
            np.testing.assert_allclose(acond, condition, rtol=1e-2)
    assert compared > 150
    A, b = tall(), np.random.default_rng(1).standard_normal(90)
    full = np.linalg.inv((A.T @ A).toarray() + 0.25 * np.eye(30)).diagonal()
    got = tulle.lsqr(A, np.stack([b, A @ np.ones(30)], axis=1), 0.5, 1e-14, 1e-14, calc_var=True)[9]
    assert got.shape == (30, 2)
    np.testing.assert_allclose(got, np.stack([full, full], axis=1), rtol=0.3)
    assert not tulle.lsqr(A, b)[9].any() and tulle.lsqr(A.astype(np.float32), b.astype(np.float32),
                                                        calc_var=True)[9].dtype == np.float32


@pytest.mark.parametrize("ours", [tulle.lsqr, tulle.lsmr])
def test_shows_its_course(ours, capsys):
    A, b, steps = tall(), np.ones(90), []
    _, istop, itn, *_ = ours(A, b, show=True, callback=steps.append)
    lines = capsys.readouterr().out.splitlines()
    assert ours.__name__.upper() in lines[0] and "90 x 30" in lines[0] and f"istop {istop}" in lines[-1]
    shown = sum(step.iteration <= 10 or step.iteration % 10 == 0 for step in steps)
    assert len(lines) == shown + 3 and len(steps) == itn + 1
    ours(A, b)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("ours", [tulle.lsqr, tulle.lsmr])
def test_files_and_refusals(tmp_path, ours):
    A, b = tall(), np.ones(90)
    if "hdf5" in str(tulle.build()).lower():
        tulle.write(tmp_path / "A.bsp.h5", A)
        np.testing.assert_allclose(ours(tmp_path / "A.bsp.h5", b)[0], ours(A, b)[0], atol=1e-10)
        with pytest.raises(tulle.UnsupportedError, match="x0 with damp"):
            ours(str(tmp_path / "A.bsp.h5"), b, 0.1, x0=np.ones(30))
    with pytest.raises(ValueError, match="damp"):
        ours(A, b, -1.0)
    with pytest.raises(ValueError, match="conlim"):
        ours(A, b, conlim=-1.0)
    with pytest.raises(ValueError, match="90 rows"):
        ours(A, b[:5])
    with pytest.raises(ValueError, match="dense"):
        ours(A.toarray(), b)
    with pytest.raises(tulle.UnsupportedError, match="operator"):
        ours(LinearOperator((90, 30), matvec=lambda x: A @ x, dtype=np.float64), b)


def test_minres():
    n = 60
    A = sp.csr_matrix(sp.diags([np.ones(n - 1), np.where(np.arange(n) % 2, 3.0, -3.0), np.ones(n - 1)], [-1, 0, 1]))
    b = np.random.default_rng(3).standard_normal(n)
    x, info = tulle.minres(A, b)
    assert info == 0 and np.linalg.norm(A @ x - b) <= 1.01e-8 * np.linalg.norm(b)
    np.testing.assert_allclose(x, minres(A, b, rtol=1e-12)[0], atol=1e-6)
    X, info = tulle.minres(A, np.stack([b, 2 * b], axis=1), M=sp.identity(n, format="csr") * 0.5)
    assert info == 0 and np.allclose(X[:, 1], 2 * X[:, 0], atol=1e-6)
    L = sp.csr_matrix(sp.diags([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], [-1, 0, 1]))
    x, info = tulle.minres(L, b)
    assert info == -1 and tulle.report()["stop"] == "least-squares"
    assert np.linalg.norm(b - L @ x) <= 1.0001 * abs(b.mean()) * np.sqrt(n)
    assert tulle.minres(L, b - b.mean())[1] == 0
    with pytest.raises(tulle.UnsupportedError, match="shift"):
        tulle.minres(A, b, shift=1.0)


@pytest.mark.parametrize("seed", range(60))
def test_limits_below_rounding(seed):
    """With limits of 0 on drawn matrices of any rank x is the shortest solution, and figures are those of x."""
    draw = np.random.default_rng(seed)
    m, n = draw.integers(1, 40, 2)
    rank = int(draw.integers(1, min(m, n) + 1))
    A = draw.standard_normal((m, rank)) @ draw.standard_normal((rank, n))
    if seed % 3 == 0:
        A[:, draw.random(n) < 0.4] = 0
    b = (draw.standard_normal(m), A @ draw.standard_normal(n))[seed % 2]
    best, cond = np.linalg.pinv(A, 1e-10) @ b, np.linalg.cond(A[:, A.any(0)], 2) if rank == min(m, n) else 1e5
    size = np.linalg.norm(b) + np.linalg.norm(A) * np.linalg.norm(best)
    for ours, _ in BOTH:
        got = ours(sp.csr_matrix(A), b, atol=0, btol=0)
        r = np.linalg.norm(b - A @ got[0])
        assert got[1] in (0, 1, 2, 4, 5, 6) and got[2] < 500
        assert np.linalg.norm(got[0]) <= 1.01 * np.linalg.norm(best) + 1e-12 * min(cond, 1e5) ** 2 * size
        assert r <= np.linalg.norm(b - A @ best) + 1e-9 * size
        assert abs(got[3] - r) <= 1e-12 * size


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("name", ["lsqr", "lsmr", "cg", "gmres", "minres", "block_cg"])
def test_not_finite_by_name(name, columns, bad):
    n, draw, solve = 12, np.random.default_rng(0), getattr(tulle, name)
    A = (tall(n, n) + tall(n, n).T + 20 * sp.eye(n)).tocsr()
    shape = (n, columns) if columns else n
    b, x0 = draw.standard_normal(shape), draw.standard_normal(shape)

    def spoilt(x):
        x = x.copy()
        x[(5, 1) if x.ndim == 2 else 5] = bad
        return x

    with pytest.raises(ValueError, match=f"b is not finite: column {1 if columns else 0}"):
        solve(A, spoilt(b))
    with pytest.raises(ValueError, match=f"x0 is not finite: column {1 if columns else 0}"):
        solve(A, b, x0=spoilt(x0))
    of_A = A.copy()
    of_A.data[A.nnz // 2] = bad
    for start in (None, x0):
        with pytest.raises(ValueError, match="A, or what is applied with it, is not finite"):
            solve(of_A, b, x0=start)


def test_variances_have_the_shape_of_x():
    A, B = tall(), np.random.default_rng(1).standard_normal((90, 3))
    for calc_var in (False, True):
        assert tulle.lsqr(A, B, calc_var=calc_var)[9].shape == (30, 3)
        assert tulle.lsqr(A, B[:, 0], calc_var=calc_var)[9].shape == (30,)
        assert tulle.lsqr(A, B[:, :1], calc_var=calc_var)[9].shape == (30, 1)
    assert not tulle.lsqr(A, B)[9].any() and (tulle.lsqr(A, B, calc_var=True)[9] > 0).all()
    assert tulle.lsqr(sp.csr_matrix((4, 3)), np.ones(4))[6] == 0
