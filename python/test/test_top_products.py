# SPDX-License-Identifier: Apache-2.0
"""Products that keep some entries of a row, against numpy.argsort of the whole product."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle


def drawn(m, n, density, seed, dtype=np.float64, values=5):
    rng = np.random.default_rng(seed)
    A = sp.random(m, n, density, "csr", random_state=seed)
    A.data = rng.integers(-values, values + 1, A.nnz).astype(dtype)  # few values: ties, and zeros that are stored
    return A


def reference(A, B, k, above, cosine, dtype):
    """The whole product as an array, where it has entries, and what is kept of it."""
    full = A.toarray().astype(np.float64) @ B.toarray().astype(np.float64)
    there = (ones(A) @ ones(B)).toarray() > 0
    full = full.astype(dtype).astype(np.float64)
    if cosine:
        a = np.sqrt((A.toarray().astype(np.float64) ** 2).sum(axis=1))
        b = np.sqrt((B.toarray().astype(np.float64) ** 2).sum(axis=0))
        there &= (a[:, None] > 0) & (b[None, :] > 0)
        full = np.where(there, full / np.where(a > 0, a, 1)[:, None] / np.where(b > 0, b, 1)[None, :], 0)
        full = full.astype(dtype).astype(np.float64)
    if above is not None:
        there &= full > float(dtype(above))
    kept = np.zeros_like(there)
    for i, row in enumerate(full):
        order = np.argsort(np.where(there[i], -row, np.inf), kind="stable")
        kept[i, order[: there[i].sum() if k is None else min(k, there[i].sum())]] = True
    return full, kept


def ones(B):
    """B's structure, stored zeros included."""
    B = sp.csr_matrix(B)
    return sp.csr_matrix((np.ones(len(B.data)), B.indices, B.indptr), B.shape)


def same(C, want, dtype):
    full, kept = want
    assert C.dtype == dtype and C.has_canonical_format
    C = C.tocsr()
    got = np.zeros_like(kept)
    for i in range(C.shape[0]):
        columns = C.indices[C.indptr[i]:C.indptr[i + 1]]
        assert (np.diff(columns) > 0).all()
        got[i, columns] = True
    np.testing.assert_array_equal(got, kept)
    np.testing.assert_array_equal(C.toarray()[kept], full[kept])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("above", [None, 0, 0.5, -2])
@pytest.mark.parametrize("k", [None, 0, 1, 3, 60, 61, 10**6])
def test_kept_entries(dtype, cosine, above, k):
    A, B = drawn(40, 50, 0.15, 1, dtype), drawn(50, 60, 0.15, 2, dtype)
    C = tulle.top_products(A, B, k, above=above, cosine=cosine)
    same(C, reference(A, B, k, above, cosine, dtype), dtype)
    assert tulle.report()["nnz_c"] == C.nnz


@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.csr_array])
def test_transposes_and_classes(cls):
    X = cls(drawn(30, 80, 0.1, 3))
    C = tulle.top_products(X, X.T, np.int64(4), above=0.1, cosine=True)
    assert type(C) is cls
    rows = sp.csr_matrix(X)
    full, kept = reference(rows, sp.csr_matrix(rows.T), 4, 0.1, True, np.float64)
    np.testing.assert_array_equal(sp.csr_matrix(C).toarray(), np.where(kept, full, 0))


def test_equal_values_go_by_column():
    A = sp.csr_matrix(np.ones((5, 3)))
    C = tulle.top_products(A, sp.csr_matrix(np.ones((3, 9))), 4)
    np.testing.assert_array_equal(C.indices.reshape(5, 4), np.tile(np.arange(4), (5, 1)))


def test_nan_is_last():
    B = sp.csr_matrix(np.array([[np.nan, 1, -np.inf, np.nan, np.inf, -3]]))
    A = sp.csr_matrix(np.array([[1.0]]))
    order = np.argsort(-B.toarray()[0], kind="stable")
    for k in range(7):
        C = tulle.top_products(A, B, k)
        np.testing.assert_array_equal(C.indices, np.sort(order[:k]))
    assert tulle.top_products(A, B, above=-np.inf).indices.tolist() == [1, 4, 5]


@pytest.mark.parametrize("value", [np.inf, 1.0, 1e-310])
@pytest.mark.parametrize("k", [1, 40])
def test_ties_come_in_any_order(value, k):
    B = sp.csr_matrix((np.full(104, value), np.r_[2500:5000:49, 0:2500:49], [0, 52, 104]), shape=(2, 5000))
    C = tulle.top_products(sp.csr_matrix([[1.0, 1.0]]), B, k)
    np.testing.assert_array_equal(C.indices, np.sort(B.indices)[:k])


def test_norms_neither_overflow_nor_lack():
    A = sp.csr_matrix(([3e200, 4e200, 0.0], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    C = tulle.top_products(A, sp.csr_matrix([[1e-190, 0], [0, 2e-190]]), 3, cosine=True)
    np.testing.assert_allclose(C.toarray(), [[0.6, 0.8], [0, 0]], rtol=1e-15)
    assert C.nnz == 2
    for huge_or_tiny in (1e170, 1e-170):
        A = sp.csr_matrix(np.diag([1, huge_or_tiny]))
        with pytest.raises(tulle.UnsupportedError, match="outside of f64"):
            tulle.top_products(A, A.T, 3, cosine=True)


def test_refusals():
    A = drawn(5, 5, 0.5, 4)
    with pytest.raises(ValueError, match="sparse"):
        tulle.top_products(A, np.ones((5, 5)), 2)
    with pytest.raises(ValueError, match="at least 0"):
        tulle.top_products(A, A, -1)
    with pytest.raises(TypeError):
        tulle.top_products(A, A, 2.5)
    with pytest.raises(ValueError, match="nan"):
        tulle.top_products(A, A, above=float("nan"))
