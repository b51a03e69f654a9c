# SPDX-License-Identifier: Apache-2.0
"""Eigenpairs, singular values and principal components against NumPy."""
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

import tulle


try:
    tulle.eigsh(sp.identity(3, format="csr"), 1, sigma=0.5)
    factors = True
except tulle.UnsupportedError:
    factors = False
direct = pytest.mark.skipif(not factors, reason="there is no module for direct factors")


def symmetric(n=90, seed=0, dtype=float):
    A = sp.random(n, n, 0.08, "csr", random_state=seed)
    return sp.csr_matrix(A + A.T + sp.diags(np.linspace(-3, 5, n))).astype(dtype)


@pytest.mark.parametrize("which", ["LM", "LA", "SA", "BE"])
@pytest.mark.parametrize("form", ["csr", "dense", "stream", "operator"])
def test_eigsh(which, form):
    A = symmetric()
    full = np.linalg.eigvalsh(A.toarray())
    by = np.abs(full) if which == "LM" else full
    want = {"LM": full[np.argsort(by)[-5:]], "LA": full[-5:], "SA": full[:5], "BE": np.r_[full[:2], full[-3:]]}[which]
    made = {"csr": A, "dense": A.toarray(), "stream": tulle.stream(A, columns=5) if form == "stream" else None,
            "operator": LinearOperator(A.shape, matvec=lambda x: A @ x, matmat=lambda x: A @ x, dtype=float)}[form]
    w, v = tulle.eigsh(made, 5, which=which)
    assert np.allclose(w, np.sort(want), rtol=1e-9)
    assert np.allclose(A @ v, v * w, atol=1e-7) and np.allclose(v.T @ v, np.eye(5), atol=1e-12)
    assert tulle.report()["converged"] == 5 and tulle.report()["passes"] > 0
    assert np.array_equal(tulle.eigsh(made, 5, which=which, return_eigenvectors=False), w)


@pytest.mark.parametrize("which", ["SA", "LA"])
def test_eigsh_of_many_pairs(which):
    T = sp.diags([2.0, -1, -1], [0, 1, -1], shape=(40, 40))
    A = sp.csr_matrix(sp.kron(T, sp.eye(40)) + sp.kron(sp.eye(40), T))
    full = np.sort(np.add.outer(*2 * [2 - 2 * np.cos(np.pi * np.arange(1, 41) / 41)]).ravel())
    for method, filtered in (("auto", True), ("chebyshev", True), ("lanczos", False)):
        w, v = tulle.eigsh(A, 60, which=which, method=method)
        assert (tulle.report()["degree"] > 0) == filtered
        assert np.allclose(w, full[:60] if which == "SA" else full[-60:], rtol=1e-9)
        assert np.allclose(A @ v, v * w, atol=1e-7) and np.allclose(v.T @ v, np.eye(60), atol=1e-12)


def test_eigsh_refusals():
    A = symmetric(20)
    for how in ({"sigma": 0.0}, {"which": "BE"}):
        with pytest.raises(tulle.UnsupportedError, match="chebyshev"):
            tulle.eigsh(A, method="chebyshev", **how)
    with pytest.raises(ValueError, match="method"):
        tulle.eigsh(A, method="arpack")
    for how in ({"sigma": 0.0, "which": "SA"}, {"v0": np.ones(20)}):
        with pytest.raises(tulle.UnsupportedError):
            tulle.eigsh(A, **how)
    with pytest.raises(tulle.UnsupportedError, match="M is dense"):
        tulle.eigsh(A, M=np.eye(20))
    with pytest.raises(tulle.UnsupportedError, match="A is an operator"):
        tulle.eigsh(LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float), sigma=0)
    with pytest.raises(ValueError, match="k is 21"):
        tulle.eigsh(A, 21)
    with pytest.raises(tulle.UnsupportedError, match="sigma=0"):
        tulle.eigsh(A, which="SM")
    with pytest.raises(ValueError, match="which is 'sa'"):
        tulle.eigsh(A, which="sa")
    with pytest.raises(ValueError, match="not symmetric"):
        tulle.eigsh(sp.csr_matrix(np.triu(np.ones((20, 20)))))
    tulle.eigsh(symmetric(400), 2)
    with pytest.raises(tulle.NotConverged):
        tulle.eigsh(symmetric(400), 20, maxiter=2)
    assert tulle.report() is None  # and not the former call's
    tulle.eigsh(symmetric(400), 2)
    with pytest.raises(ValueError, match="nan"):
        tulle.svds(sp.csr_matrix(np.full((4, 4), np.nan)), 2)
    assert tulle.report() is None


def spd(n, dtype=float):
    return sp.diags([np.full(n - 1, 1.), np.full(n, 4.), np.full(n - 1, 1.)], [-1, 0, 1], format="csr").astype(dtype)


@direct
@pytest.mark.parametrize("n", [33, 65, 73])
def test_eigsh_nearest_to_a_double_value(n):
    """Factors of a matrix that is singular twice over have no pivot that says so."""
    A = sp.diags([2.0, -1, -1, -1, -1], [0, 1, -1, n - 1, 1 - n], shape=(n, n), format="csr")
    values = 2 - 2 * np.cos(2 * np.pi * np.arange(n) / n)
    for j in range(1, n // 2, 3):
        for k in (1, 2, 3, 4):
            w = tulle.eigsh(A, k, sigma=values[j], return_eigenvectors=False)
            assert np.allclose(np.sort(abs(w - values[j])), np.sort(abs(values - values[j]))[:k], atol=1e-10)


@direct
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("sigma", [0.0, 1.3, -20.0])
def test_eigsh_nearest(general, sigma):
    A, M = symmetric(), spd(90) if general else None
    w, v = tulle.eigsh(A, 5, M=M, sigma=sigma)
    theirs = eigsh(A.tocsc(), 5, M=M.tocsc() if general else None, sigma=sigma, return_eigenvectors=False)
    weight = M if general else sp.identity(90, format="csr")
    assert np.allclose(w, np.sort(theirs), rtol=1e-8, atol=1e-10)
    assert np.allclose(A @ v, (weight @ v) * w, atol=1e-7) and np.allclose(v.T @ (weight @ v), np.eye(5), atol=1e-11)
    assert tulle.report()["converged"] == 5


@direct
@pytest.mark.parametrize("which", ["LM", "LA", "SA", "BE"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_eigsh_generalised(which, dtype):
    A, M = symmetric(dtype=dtype), spd(90, dtype)
    w, v = tulle.eigsh(A, 4, M=M, which=which)
    theirs = eigsh(A.astype(float), 4, M=M.astype(float), which=which, return_eigenvectors=False)
    close = 1e-7 if dtype == np.float64 else 1e-3
    assert w.dtype == v.dtype == dtype
    assert np.allclose(w, np.sort(theirs), rtol=close) and np.allclose(v.T @ (M @ v), np.eye(4), atol=close)


@direct
def test_eigsh_of_a_singular_matrix():
    L = sp.csgraph.laplacian(sp.block_diag([np.ones((5, 5)) - np.eye(5)] * 3, "csr"))
    w, v = tulle.eigsh(sp.csr_matrix(L, dtype=float), 4, sigma=0)
    assert np.allclose(w, [0, 0, 0, 5], atol=1e-10)
    with pytest.raises(ValueError, match="positive definite"):
        tulle.eigsh(symmetric(20), 2, M=-spd(20))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg(largest, general):
    A = sp.csr_matrix(sp.kronsum(spd(9) - 3 * sp.identity(9), spd(11)))
    B = spd(99) if general else None
    X = np.random.default_rng(0).standard_normal((99, 5))
    w, v = tulle.lobpcg(A, X, B=B, M=tulle.ic0(A), largest=largest)
    full = scipy.linalg.eigh(A.toarray(), B.toarray() if general else None, eigvals_only=True)
    weight = B if general else sp.identity(99, format="csr")
    assert np.allclose(w, full[::-1][:5] if largest else full[:5], rtol=1e-9)
    assert np.allclose(A @ v, (weight @ v) * w, atol=1e-6) and np.allclose(v.T @ (weight @ v), np.eye(5), atol=1e-11)
    theirs, _ = lobpcg(A, X, B=B, largest=largest, maxiter=500, tol=1e-7)
    assert np.allclose(w, theirs, rtol=1e-6)
    asked = LinearOperator(A.shape, matvec=lambda x: A @ x, matmat=lambda x: A @ x, dtype=float)
    assert np.allclose(tulle.lobpcg(asked, X, B=B, M=sp.identity(99, format="csr"), largest=largest)[0], w)


def test_lobpcg_refusals():
    A, X = symmetric(20), np.ones((20, 2))
    with pytest.raises(tulle.UnsupportedError, match="Y"):
        tulle.lobpcg(A, X, Y=X)
    with pytest.raises(ValueError, match="shape"):
        tulle.lobpcg(A, X[:5])
    with pytest.raises(ValueError, match="positive definite"):
        tulle.lobpcg(A, X, B=-spd(20))
    with pytest.raises(tulle.NotConverged):
        tulle.lobpcg(symmetric(400), np.ones((400, 4)), maxiter=2)


@pytest.mark.parametrize("shape", [(70, 40), (40, 70), (30, 30)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_svds(shape, dtype):
    A = sp.random(*shape, 0.2, "csr", random_state=1, dtype=dtype)
    full = np.linalg.svd(A.toarray().astype(float), compute_uv=False)
    u, s, vt = tulle.svds(A, 4)
    close = 1e-9 if dtype == np.float64 else 1e-5
    assert u.dtype == s.dtype == vt.dtype == dtype
    assert np.allclose(s, full[:4][::-1], rtol=close) and np.allclose(A @ vt.T, u * s, atol=1e-3 if close > 1e-6 else 1e-7)
    assert np.array_equal(tulle.svds(A, 4, return_singular_vectors=False), s)
    assert tulle.svds(A, 4, return_singular_vectors="u")[2] is None


def test_svds_below_the_rank():
    A = sp.csr_matrix(np.outer(np.arange(1.0, 9), np.ones(6)))
    u, s, vt = tulle.svds(A, 3)
    assert np.allclose(s[:2], 0, atol=1e-12) and np.allclose(u.T @ u, np.eye(3)) and np.allclose(A.T @ u, vt.T * s)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_pca(scale, place, tmp_path):
    A = sp.random(200, 30, 0.3, "csr", random_state=2)
    A.data += 3
    given = A
    if place == "file":
        given = tmp_path / "A.bsp.h5"
        try:
            tulle.write(given, A)
        except tulle.UnsupportedError:
            pytest.skip("this build has no HDF5")
    found = tulle.pca(given, 4, scale=scale, tol=1e-9)
    S = A.toarray() - A.mean(0)
    S = np.asarray(S / (S.std(0, ddof=1) if scale else 1))
    s = np.linalg.svd(S, compute_uv=False)
    assert np.allclose(found.singular_values_, s[:4], rtol=1e-9)
    assert np.allclose(found.explained_variance_ratio_, s[:4] ** 2 / (s**2).sum())
    assert np.allclose(found.scores, S @ found.components_.T, atol=1e-8)
    assert np.allclose(found.transform(A), found.scores, atol=1e-8)
    assert (np.take_along_axis(found.components_, np.abs(found.components_).argmax(1)[:, None], 1) > 0).all()
    quick = tulle.pca(given, 4, scale=scale)
    assert tulle.report()["passes"] <= 6 and np.allclose(quick.singular_values_, s[:4], rtol=1e-2)


def write_group(group, A, index):
    for name, values in (("indptr", A.indptr.astype(np.int64)), ("indices", A.indices.astype(index)), ("data", A.data)):
        group.create_dataset(name, data=values, chunks=(37,), compression="gzip", shuffle=True)


def test_files_of_single_cells(tmp_path):
    h5py = pytest.importorskip("h5py")
    A = sp.random(60, 40, 0.2, "csr", random_state=3)
    A.data = np.ceil(A.data * 50).astype(np.int32)
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        for name, matrix in (("X", A), ("layers/columns", A.tocsc())):
            group = file.create_group(name)
            group.attrs["encoding-type"] = matrix.format + "_matrix"
            group.attrs["shape"] = np.array(matrix.shape)
            write_group(group, matrix, np.int64)
    with h5py.File(tmp_path / "tenx.h5", "w") as file:
        group = file.create_group("matrix")
        group["shape"] = np.array(A.shape[::-1], np.int32)
        write_group(group, A, np.int64)
    want = np.linalg.svd(A.toarray().astype(float), compute_uv=False)[:3][::-1]
    for name in ("cells.h5ad", "cells.h5ad:layers/columns", "tenx.h5"):
        assert (tulle.read(str(tmp_path / name)) != A).nnz == 0
    for name in ("cells.h5ad", "tenx.h5"):
        assert np.allclose(tulle.svds(str(tmp_path / name), 3, return_singular_vectors=False), want, rtol=1e-10)
        assert np.allclose(tulle.stream(str(tmp_path / name)) @ np.ones(40), A @ np.ones(40))


def test_anndata(tmp_path):
    anndata = pytest.importorskip("anndata")
    A = sp.random(50, 30, 0.2, "csr", random_state=4, dtype=np.float32)
    data = anndata.AnnData(A, layers={"columns": A.tocsc(), "dense": A.toarray()})
    for packed in (None, "gzip"):
        data.write_h5ad(tmp_path / "cells.h5ad", compression=packed)
        for name in ("cells.h5ad", "cells.h5ad:layers/columns"):
            assert (tulle.read(str(tmp_path / name), np.float32) != A).nnz == 0
    with pytest.raises(ValueError, match="no group 'layers/none'"):
        tulle.read(str(tmp_path / "cells.h5ad:layers/none"))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_that_are_no_numbers(scale):
    A = sp.csr_matrix(scale * sp.diags([np.ones(19), np.arange(20.0), np.ones(19)], [-1, 0, 1]))
    one = sp.identity(20, format="csr")
    for call in (lambda: tulle.eigsh(A, 3), lambda: tulle.eigsh(A, 3, M=one), lambda: tulle.eigsh(one, 3, M=abs(A)),
                 lambda: tulle.eigsh(A, 3, sigma=scale), lambda: tulle.lobpcg(A, np.eye(20, 3))):
        with pytest.raises(ValueError, match="scale"):
            call()
    w = np.linalg.svd((A / scale).toarray(), compute_uv=False)[:3][::-1]
    assert np.allclose(tulle.svds(A, 3, return_singular_vectors=False) / scale, w, rtol=1e-12)


def test_messages_name_arguments():
    A = sp.diags(np.arange(1.0, 11)).tocsr()
    one_sided = sp.triu(A + sp.diags([1.0] * 9, 1)).tocsr()
    negative = -sp.identity(10, format="csr")
    for call, words in ((lambda: tulle.eigsh(A, 2, M=sp.identity(9, format="csr")), "M must be sparse, 10 x 10 as A"),
                        (lambda: tulle.eigsh(A, 2, M=one_sided, sigma=1.5), "the matrix M is not symmetric"),
                        (lambda: tulle.eigsh(one_sided, 2, M=-negative, sigma=1.5), "the matrix A is not symmetric"),
                        (lambda: tulle.lobpcg(A, np.ones((10, 2)), B=negative), "B is not positive definite: x.T B x"),
                        (lambda: tulle.svds(A, 2, passes=3, tol=1e-3), "give passes alone"),
                        (lambda: tulle.svds(A, 2, passes=3, maxiter=9), "give passes alone"),
                        (lambda: tulle.svds(A * 1e-310, 2), "largest value of the matrix is 1e-309")):
        with pytest.raises(ValueError, match=words):
            call()


def dense_pca(X, k, scale=False):
    X = X.astype(np.float64)
    X = X - X.mean(axis=0)
    if scale:
        deviation = X.std(axis=0, ddof=1)
        X[:, deviation > 0] /= deviation[deviation > 0]
    return np.linalg.svd(X, compute_uv=False)[:k]


@pytest.mark.parametrize("scale", (False, True))
def test_a_constant_column_adds_nothing_however_large_it_is(scale):
    X = np.random.default_rng(1).standard_normal((1000, 30)) * np.linspace(3, 1, 30)
    want = dense_pca(X, 3, scale)  # what is left of the others' deviations does not depend on it
    for constant in (1e6, 1e10, -3e15):
        single = X.astype(np.float32)
        single[:, 5] = constant
        want = dense_pca(single, 3, scale)
        got = tulle.pca(sp.csr_matrix(single), 3, scale=scale, tol=1e-4)
        np.testing.assert_allclose(got.singular_values_, want, rtol=1e-4)
        double = X.copy()
        double[:, 5] = constant
        np.testing.assert_allclose(tulle.pca(sp.csr_matrix(double), 3, scale=scale, tol=1e-8).singular_values_,
                                   dense_pca(double, 3, scale), rtol=1e-8)


def test_means_whose_squares_are_no_numbers():
    S = np.random.default_rng(1).standard_normal((5, 20))
    got = tulle.pca(sp.csr_matrix((S + 1e3) * 1.7e150), 3, tol=1e-8)
    np.testing.assert_allclose(got.singular_values_ / 1.7e150, dense_pca(S + 1e3, 3), rtol=1e-6)


def test_variances_of_float32_whose_squares_are_not_float32():
    X = np.random.default_rng(2).standard_normal((80, 40))
    want = tulle.pca(sp.csr_matrix(X), 3, tol=1e-8).explained_variance_ratio_
    for size in (1e19, 1e-22, 1e-30):
        got = tulle.pca(sp.csr_matrix((X * size).astype(np.float32)), 3, tol=1e-4)
        np.testing.assert_allclose(got.explained_variance_ratio_, want, rtol=1e-3)


@pytest.mark.parametrize("count, passes, block", ((5, 2, 3), (12, 3, 4), (50, 1, 50)))
def test_passes_of_a_low_rank_find_all_values(count, passes, block):
    rng = np.random.default_rng(3)
    for rank in (0, 1, 3):
        A = rng.standard_normal((60, rank)) @ rng.standard_normal((rank, 50))
        s = tulle.svds(sp.csr_matrix(A), count, passes=passes, block=block, return_singular_vectors=False)
        want = np.linalg.svd(A, compute_uv=False)[:count]
        np.testing.assert_allclose(np.sort(s)[::-1], want, atol=1e-6 * max(want[0], 1))


@direct
def test_pairs_around_sigma():
    """Sigma near a value, beside which the others' digits drown in the inverse's rounding; in order of their distance."""
    A = sp.diags([0., 2, 3]).tocsr()
    for sigma in (1.9, 1.997, 1.9997, 1.99997, 2 - 1e-7, 2):
        w = tulle.eigsh(A, 3, sigma=sigma)[0]
        assert np.abs(w - [0, 2, 3]).max() < 1e-12
    n = 2000  # distances that are far smaller, or larger, than the norm lets one guess
    A = sp.diags(np.r_[np.arange(1, n) * 1e-12, 1]).tocsr()
    assert np.abs(tulle.eigsh(A, 2, sigma=0)[0] - [1e-12, 2e-12]).max() < 1e-15
    A = sp.diags(np.r_[np.arange(64) * 1e-6, 1]).tocsr()
    assert np.abs(tulle.eigsh(A, 4, sigma=1)[0] - [61e-6, 62e-6, 63e-6, 1]).max() < 1e-12


@direct
def test_pencils_of_small_mass():
    """Where an end's rounding drowns the others, that is said."""
    n = 60
    H, s = sp.diags([-np.ones(n - 1), np.full(n, 2.), -np.ones(n - 1)], [-1, 0, 1]).tocsr(), np.ones(n)
    for dtype, small in ((np.float64, 1e-4), (np.float64, 1e-12), (np.float32, 1e-2), (np.float32, 1e-5)):
        s[0] = small
        right = np.sort(np.linalg.eigvals(H.toarray() / s[:, None]).real)[:3]
        try:
            w = tulle.eigsh(H.astype(dtype), 3, M=sp.diags(s.astype(dtype)).tocsr(), which="SA")[0]
        except tulle.NotConverged:
            continue
        assert np.abs(w / right - 1).max() < (1e-3 if dtype == np.float32 else 1e-6)


def test_chance_of_hidden_pairs():
    """A value so near that a product shows it beside rounding only: it is found, or report() says that it may not be."""
    n = 3000
    for seed in range(1, 5):
        D = np.ones(n)
        D[n // 3] += 1e-13
        w = tulle.eigsh(sp.diags(D).tocsr(), 1, which="LA", tol=1e-14, seed=seed)[0]
        assert w[0] - 1 > 5e-14 or tulle.report()["missed"] > 1e-4


def test_pca_of_large_means():
    """Means beside whose rounding deviations, or the smaller values, have no digits: that is said."""
    rng = np.random.default_rng(3)
    X = 1e7 + rng.standard_normal((200, 30))
    with pytest.raises(tulle.NotConverged, match="the means of columns are so large"):
        tulle.pca(sp.csr_matrix(X.astype(np.float32)), 3)
    with pytest.raises(tulle.NotConverged, match="the means of columns are so large"):
        tulle.pca(sp.csr_matrix(1e12 + 1e3 * np.outer(X[:, 0] - 1e7, X[0] - 1e7) + 1e-2 * (X - 1e7)), 3)
    sigma = np.linalg.svd(X - X.mean(0), compute_uv=False)[:3]
    assert np.abs(tulle.pca(sp.csr_matrix(X), 3).singular_values_ / sigma - 1).max() < 1e-6


@direct
def test_sigma_on_a_value_of_a_large_norm():
    """The shift moves by more than the distances of the wanted values."""
    small = np.arange(1.0, 101)
    A = sp.diags(np.r_[1e12 * np.linspace(0.5, 1, 100), small]).tocsr()
    for k, right in ((1, [40]), (3, [39, 40, 41]), (5, [38, 39, 40, 41, 42])):
        np.testing.assert_allclose(tulle.eigsh(A, k, sigma=40.0)[0], right, atol=0.02)
    path = 2 - 2 * np.cos(np.pi * np.arange(200) / 200)
    A = sp.diags(np.r_[1e9 * np.linspace(0.5, 1, 100), path]).tocsr()
    np.testing.assert_allclose(tulle.eigsh(A, 3, sigma=path[17])[0], path[16:19], atol=2e-5)


def test_copies_of_a_shifted_end():
    """The largest in magnitude are those of an end; passes that end the look for copies are said."""
    for seed in (8, 19):
        values = 7e3 + np.r_[np.ones(16), np.random.default_rng(seed).uniform(0, 1, 400)]
        w = tulle.eigsh(sp.diags(values).tocsr(), 24)[0]
        np.testing.assert_allclose(w, np.sort(values)[-24:], atol=1e-4)
        assert tulle.report()["missed"] < 1e-4
    A = sp.diags(np.r_[np.full(36, 1e5), np.arange(399.0)]).tocsr()
    with pytest.warns(tulle.TulleWarning, match="was missed with a chance"):
        tulle.eigsh(A, 10, which="LA", method="lanczos", maxiter=20)


def cycle(n):
    i = np.arange(n)
    return sp.coo_matrix((np.ones(2 * n), (np.r_[i, i], np.r_[(i + 1) % n, (i - 1) % n])), (n, n)).tocsr()


@pytest.mark.parametrize("which", ["LM", "LA", "SA"])
@pytest.mark.parametrize("name", ["path", "cycle", "star", "grid", "torus", "shifted"])
def test_symmetric_graphs_leave_no_doubt(name, which, recwarn):
    path, ring = sp.diags([1.0, 1.0], [-1, 1], (200, 200), "csr"), cycle(200)
    small = sp.diags([1.0, 1.0], [-1, 1], (40, 40), "csr")
    A = {"path": path, "cycle": 2 * sp.identity(200, format="csr") - ring,
         "star": sp.bmat([[None, np.ones((1, 199))], [np.ones((199, 1)), None]], "csr"),
         "grid": sp.kronsum(small, small, "csr"), "torus": sp.kronsum(cycle(40), cycle(40), "csr"),
         "shifted": ring + 1e6 * sp.identity(200, format="csr")}[name]
    full = np.linalg.eigvalsh(A.toarray())
    for k in (1, 2, 6):
        w = tulle.eigsh(A, k, which=which, return_eigenvectors=False)
        want = np.sort(np.abs(full))[-k:] if which == "LM" else full[:k] if which == "SA" else full[-k:]
        assert np.allclose(np.sort(np.abs(w)) if which == "LM" else w, want, rtol=1e-9, atol=1e-7)
    assert not recwarn.list


def test_lobpcg_says_that_others_were_not_looked_for():
    K = sp.diags([-1.0, 2.1, -1.0], [-1, 0, 1], (60, 60), "csr")
    V = np.linalg.eigh(K.toarray())[1]
    with pytest.warns(tulle.TulleWarning, match="not looked for"):
        tulle.lobpcg(K, V[:, 5:7], largest=False)
    with pytest.raises(ValueError, match="X has 1 dimensions"):
        tulle.lobpcg(K, V[:, 5])
