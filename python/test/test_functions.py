# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices in blocks and density matrices against dense ones."""
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import tulle

RNG = np.random.default_rng(5)


def symmetric(sizes, shift=0.0, apart=3):
    """A chain of blocks whose coupling decays."""
    block = np.repeat(np.arange(len(sizes)), sizes)
    near = np.abs(block[:, None] - block[None, :])
    A = RNG.standard_normal(near.shape) * 0.2 ** near * (near <= apart)
    return sp.csr_matrix((A + A.T) / 2 + shift * np.eye(len(block)))


def dense(A, f):
    x, Q = np.linalg.eigh(A.toarray())
    return Q * f(x) @ Q.T


FUNCTIONS = {"sign:mu=0.1": lambda x: np.sign(x - .1), "inverse": lambda x: 1 / x, "sqrt": np.sqrt,
             "invsqrt": lambda x: x ** -.5, "root:p=-3": lambda x: x ** (-1 / 3), "exp": np.exp,
             "fermi:mu=0.1,kT=0.3": lambda x: 1 / (np.exp((x - .1) / .3) + 1)}


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, kind):
    sizes = [3, 1, 4, 2, 5]
    shift = 0 if name[:4] in ("sign", "exp", "ferm") else 6
    A = symmetric(sizes, shift).asformat(kind)
    F = tulle.matfun(name, A, blocks=sizes, combine=len(sizes))
    assert type(F) is type(A) and F.dtype == A.dtype
    inside = A.toarray() != 0
    assert np.abs(F.toarray() - dense(A, FUNCTIONS[name]))[inside].max() < 1e-11
    assert tulle.report()["submatrices"] == 1 and tulle.report()["method"] == "submatrix"
    single = tulle.matfun(name, A.astype(np.float32), blocks=sizes, combine=len(sizes))
    assert single.dtype == np.float32 and abs(single - F).max() < 2e-3


def test_own_function():
    A = symmetric([4] * 6)
    F = tulle.matfun(lambda x: x * x - 3 * x, A, blocks=4)  # exact for any pattern
    expected = (A @ A - 3 * A).toarray()
    assert np.abs(F.toarray() - expected)[A.toarray() != 0].max() < 1e-11
    with pytest.raises(AttributeError, match="nothing"):
        tulle.matfun(lambda x: x.nothing, A, blocks=4)
    with pytest.raises(tulle.Error, match="may not call the library"):
        tulle.matfun(lambda x: tulle.matmul(A, A)[0, 0], A, blocks=4)
    with pytest.raises(TypeError, match="a name or a function"):
        tulle.matfun(3, A, blocks=4)


def test_blocks_of_the_matrix():
    bsr = sp.bsr_matrix(symmetric([3] * 6, 6), blocksize=(3, 3))
    F = tulle.matfun("inverse", bsr)
    assert F.format == "bsr" and F.blocksize == (3, 3) and tulle.report()["block_columns"] == 6
    assert abs(F - tulle.matfun("inverse", bsr.tocsr(), blocks=3)).max() == 0
    H, S = symmetric([3] * 10), symmetric([3] * 10) * 0.02 + sp.identity(30)
    D = tulle.density(sp.bsr_matrix(H, blocksize=(3, 3)), S, electrons=20)
    assert abs(D - tulle.density(H, S, electrons=20, blocks=3)).max() == 0
    assert tulle.report()["function"]["block_columns"] == 10


@pytest.mark.parametrize("name,method", [("sign:mu=0.1", "newton-schulz"), ("invsqrt", "coupled-newton"),
                                         ("sqrt", "auto")])
def test_methods(name, method):
    A = symmetric([3] * 8, 0 if name[:4] == "sign" else 6)
    with tulle.threads(2):
        F = tulle.matfun(name, A, blocks=3, method=method, order=4 if method == "newton-schulz" else 2)
    r = tulle.report()
    if method != "auto":
        assert np.abs(F.toarray() - dense(A, FUNCTIONS[name])).max() < 1e-9
        assert r["method"] == method and len(r["history"]) == r["iterations"] > 2
        assert r["history"][-1]["residual"] == r["residual"]
    with pytest.raises(tulle.NotConverged, match="the residual is"):
        tulle.matfun("invsqrt", -A, blocks=3, method="coupled-newton")


def test_density():
    n, count = 30, 10
    H, S = symmetric([3] * 10), symmetric([3] * 10) * 0.02 + sp.identity(n)
    levels, C = scipy.linalg.eigh(H.toarray(), S.toarray())
    D0 = C[:, :count] @ C[:, :count].T
    for given in ({"electrons": 2 * count}, {"mu": (levels[count - 1] + levels[count]) / 2}):
        D = tulle.density(H, S, blocks=3, combine=10, **given)
        r = tulle.report()
        assert abs(r["electrons"] - 2 * count) < .05 and abs(r["energy"] - 2 * levels[:count].sum()) < .1
        assert np.abs(D.toarray() - D0)[D.toarray() != 0].max() < .05
        assert r["below"] <= r["mu"] <= r["above"] and "overlap" in r
        assert r["gap"] == r["above"] - r["below"] and abs(r["gap"] - (levels[count] - levels[count - 1])) < .05
        assert (r["overlap_error"] > 1e-6) == r["nonorthogonal"]
    D = tulle.density(H, S, blocks=3, combine=10, electrons=2 * count, nonorthogonal=True)
    assert abs(tulle.report()["electrons"] - 2 * count) < 1e-8 and "overlap" not in tulle.report()
    assert tulle.report()["nonorthogonal"] and tulle.report()["overlap_error"] == 0
    assert np.abs(D.toarray() - D0)[D.toarray() != 0].max() < .05
    tulle.density(H, blocks=3, combine=10, electrons=2 * count, precision="mixed")
    assert 1e-9 < tulle.report()["function"]["rounding"] < 1e-5
    plain = np.linalg.eigvalsh(H.toarray())
    for method in ("submatrix", "trs4", "tc2"):
        combine = 10 if method == "submatrix" else "auto"
        D = tulle.density(H.tocsc(), blocks=3, combine=combine, electrons=2 * count, method=method)
        assert isinstance(D, sp.csc_matrix) and abs(D.diagonal().sum() - count) < 1e-6
        assert abs(tulle.report()["energy"] - 2 * plain[:count].sum()) < 1e-6 * n
    with pytest.raises(ValueError, match="combine is read by submatrix"):
        tulle.density(H, blocks=3, combine=10, electrons=2 * count, method="tc2")
    tulle.density(H, blocks=3, electrons=7.5, kT=.1, combine=10)
    assert abs(tulle.report()["electrons"] - 7.5) < 1e-8


def short(A, apart):
    """A with the blocks of 3 that are so far apart left out."""
    block = np.arange(A.shape[0]) // 3
    return sp.csr_matrix(A.toarray() * (np.abs(block[:, None] - block) <= apart))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_check_of_functions(name):
    A = symmetric([3] * 10, 0 if name[:4] in ("sign", "exp", "ferm") else 6)
    tulle.matfun(name, A, blocks=3, combine=10, check=True)
    r = tulle.report()
    assert r["error"] <= r["tolerance"] <= 0.1 and r["amplification"] >= 1
    # exact in the pattern, which lacks the blocks further apart than 3
    whole = dense(A, FUNCTIONS[name])
    x = np.abs(short(sp.csr_matrix(whole), 3).toarray() - whole).sum(axis=1).max() / np.abs(whole).max()
    assert r["truncation"] <= 10 * x + 1e-9
    tulle.matfun(name, A, blocks=3, combine=10)
    assert "truncation" not in tulle.report()


def test_check_finds_truncation():
    coupled = sp.csr_matrix(sp.diags([np.ones(59), np.zeros(60), np.ones(59)], [-1, 0, 1]))
    with pytest.raises(tulle.CheckFailed, match=r"the blocks that the pattern and the filter cut matter.* off by 0\.\d"):
        tulle.matfun("exp", 3 * coupled, blocks=2, combine="none", check=True)
    filtered = sp.csr_matrix(coupled + 4 * sp.identity(60))
    tulle.matfun("inverse", filtered, blocks=2, check=True)
    with pytest.raises(tulle.CheckFailed, match="filter cut"):  # it cuts all couplings of blocks
        tulle.matfun("inverse", filtered, blocks=2, filter=1.5, check=True)
    # a chain without a gap at mu: the truncation of a density matrix is large
    with pytest.raises(tulle.CheckFailed, match="density matrix times a vector is off"):
        tulle.density(coupled, blocks=2, electrons=62, combine="none", check=True)


@pytest.mark.parametrize("how", [{}, {"nonorthogonal": True}, {"kT": 0.05}, {"method": "trs4"}, {"method": "auto"}])
def test_check_of_density(how):
    levels = np.tile([-1.0, 1.0], 15)
    near, pairs = np.full(28, .1), np.tile([.4, .1], 15)[:29]
    H = sp.csr_matrix(sp.diags([near, pairs, levels, pairs, near], [-2, -1, 0, 1, 2]))
    S = sp.csr_matrix(sp.diags([np.full(28, .02), np.ones(30), np.full(28, .02)], [-2, 0, 2]))
    x, C = scipy.linalg.eigh(H.toarray(), S.toarray())
    exact = C * (x < 0 if not how.get("kT") else 1 / (np.exp(x / how["kT"]) + 1)) @ C.T
    v = np.where(RNG.random((30, 20)) < .5, -1, 1)
    for cut in (0, 0.05):
        D = tulle.density(H, S, blocks=2, electrons=30, filter=cut, check=True, **how)
        r = tulle.report()
        assert r["error"] < (1e-6 if cut == 0 else .1)
        error = np.linalg.norm((D - exact) @ S @ v) / np.linalg.norm(exact @ S @ v)
        assert error / 10 < r["truncation"] + 1e-12 and r["truncation"] < 10 * error + 1e-12
    tulle.density(H, S, blocks=2, electrons=30, **how)
    assert "truncation" not in tulle.report()


def test_device():
    how = dict(blocks=[3, 1, 4, 2, 5], combine="none")
    A = symmetric(how["blocks"])
    F = tulle.matfun("exp", A, **how)
    assert abs(tulle.matfun("exp", A, device="limit:mem=1M+cpu", **how) - F).max() < 1e-12
    assert tulle.report()["on_device"] == 5
    D = tulle.density(A, mu=.1, **how)
    assert abs(tulle.density(A, mu=.1, device="limit:mem=1M+cpu", **how) - D).max() < 1e-12
    assert tulle.report()["function"]["on_device"] == 5
    with pytest.raises(ValueError, match="nowhere"):
        tulle.matfun("exp", A, device="nowhere", **how)


def test_mistakes():
    A = symmetric([3, 3])
    for error, part, call in (
            (ValueError, "add up to 5, not 6", lambda: tulle.matfun("exp", A, blocks=[3, 2])),
            (ValueError, "blocks is 0", lambda: tulle.matfun("exp", A, blocks=0)),
            (ValueError, "did you mean 'sign'", lambda: tulle.matfun("sgn", A, blocks=3)),
            (ValueError, "dense", lambda: tulle.matfun("exp", A.toarray(), blocks=3)),
            (ValueError, "square", lambda: tulle.matfun("exp", A[:3], blocks=3)),
            (ValueError, "not symmetric", lambda: tulle.matfun("exp", sp.triu(A, format="csr"), blocks=3)),
            (ValueError, "combine", lambda: tulle.matfun("exp", A, blocks=3, combine=0)),
            (ValueError, "not defined", lambda: tulle.matfun("sqrt", A - 99 * sp.identity(6), blocks=3)),
            (ValueError, "mixed", lambda: tulle.density(A.astype(np.float32), blocks=3, mu=0, precision="mixed")),
            (ValueError, "mixed", lambda: tulle.matfun("exp", A.astype(np.float32), blocks=3, precision="mixed")),
            (ValueError, "mixed",
             lambda: tulle.matfun("sign", A, blocks=3, method="newton-schulz", precision="mixed")),
            (ValueError, "order", lambda: tulle.density(A, blocks=3, electrons=2, method="auto", order=3)),
            (ValueError, "'full' or 'mixed'", lambda: tulle.density(A, blocks=3, mu=0, precision="half")),
            (ValueError, "one of electrons", lambda: tulle.density(A, blocks=3)),
            (ValueError, "more than the 6 states", lambda: tulle.density(A, blocks=3, electrons=13)),
            (ValueError, "H is 6 x 6 and S is 3 x 3",
             lambda: tulle.density(A, sp.identity(3, format="csr"), blocks=3, mu=0))):
        with pytest.raises(error, match=part):
            call()


@pytest.mark.parametrize("dtype,large", [(np.float64, 800), (np.float32, 100)])
def test_functions_beyond_the_numbers_are_refused(dtype, large):
    A = sp.csr_matrix(np.array([[large, 1], [1, large]], dtype))
    for function in ("exp", lambda x: float("nan")):
        with pytest.raises(ValueError, match="no finite number"):
            tulle.matfun(function, A, blocks=2)
