# SPDX-License-Identifier: Apache-2.0
"""Products that read scipy's and NumPy's arrays where they lie: what they are, what they check, and their time."""
import time

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

CLASSES = [sp.csr_matrix, sp.csc_matrix] + [getattr(sp, name) for name in ("csr_array", "csc_array") if hasattr(sp, name)]


def drawn(m, n, density, cls=sp.csr_matrix, dtype=np.float64, index=np.int32, seed=1):
    A = cls(sp.random(m, n, density, "csr", random_state=seed).astype(dtype))
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    return A


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", CLASSES)
def test_products(cls, dtype, index):
    rng, tolerance = np.random.default_rng(3), 1e-4 if dtype == np.float32 else 1e-12
    for m, n, density in ((1, 1, 1), (20, 30, 0.2), (300, 200, 0.05), (3000, 3000, 0.002)):
        A, B = drawn(m, n, density, cls, dtype, index), drawn(n, m, density, cls, dtype, index, 2)
        C, want = tulle.matmul(A, B, alpha=2), 2 * (A @ B)
        assert type(C) is cls and C.shape == want.shape and C.dtype == dtype and C.indices.dtype == index
        np.testing.assert_allclose(C.toarray(), want.toarray(), rtol=tolerance)
        assert C.has_canonical_format and C.nnz == tulle.report()["nnz_c"]
        C.check_format(full_check=True)
        wide = rng.random((n, 80)).astype(dtype)
        for X in (wide[:, 0], wide[:, 0].copy(), wide[::-1, 0], wide[:, :1], wide[:, :7], wide, wide[:, ::3], np.asfortranarray(wide)):
            y = tulle.matmul(A, X, alpha=-3)
            assert y.shape == (A @ X).shape and y.dtype == dtype
            np.testing.assert_allclose(y, -3 * (A.toarray() @ X), rtol=tolerance, atol=tolerance)
            assert tulle.report()["flops"] == 2 * A.nnz * (1 if X.ndim == 1 else X.shape[1])


def test_rows_in_any_order():
    A = sp.csr_matrix((np.arange(1.0, 7), np.array([3, 1, 1, 0, 2, 2], np.int32), np.array([0, 3, 6], np.int32)), shape=(2, 4))
    x = np.array([1.0, 10, 100, 1000])
    np.testing.assert_array_equal(tulle.matmul(A, x), A.toarray() @ x)
    np.testing.assert_array_equal(tulle.matmul(A, sp.csr_matrix(np.eye(4))).toarray(), A.toarray())


def test_attributes_of_the_caller_are_not_copied():
    A = drawn(20, 20, 0.2)
    A.title = "mine"
    assert not hasattr(tulle.matmul(A, A), "title")


# the index of an array that is wrong, and what it becomes; the first, the middle and the last of a matrix of 500 rows
WRONG = [("indices", 0, -1), ("indices", 700, 500), ("indices", -1, 1 << 30), ("indices", -1, -(1 << 31)), ("indptr", 0, 1),
         ("indptr", 250, -5), ("indptr", 250, 1 << 30), ("indptr", -1, -1), ("indptr", -1, 1 << 30)]


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("name, at, value", WRONG)
def test_arrays_are_checked_in_every_call(name, at, value, index):
    """A matrix that was right in the call before is not trusted: its arrays may have been changed in place."""
    A, x, X = drawn(500, 500, 0.02, index=index), np.ones(500), np.ones((500, 5))
    want = A @ x
    for B in (x, X, A):
        tulle.matmul(A, B)
        array = getattr(A, name)
        before = array[at]
        array[at] = value
        with pytest.raises(ValueError, match="entry|pointers|indptr"):
            tulle.matmul(A, B)
        array[at] = before
    np.testing.assert_allclose(tulle.matmul(A, x), want, rtol=1e-12)


def test_addresses_that_come_again():
    """Arrays of other matrices at the address of those that are gone."""
    for seed in range(50):
        A = drawn(100, 100 + seed % 3, 0.1, seed=seed)
        np.testing.assert_allclose(tulle.matmul(A, np.ones(A.shape[1])), A.sum(axis=1).A1, rtol=1e-12)
        A.indices[seed] = A.shape[1]
        with pytest.raises(ValueError, match="entry"):
            tulle.matmul(A, np.ones(A.shape[1]))
        del A


def test_lengths_are_checked():
    x = np.ones(4)
    for data, indices, indptr in (([1.0], [0, 1], [0, 1, 2]), ([1.0, 2], [0], [0, 1, 2]), ([1.0, 2], [0, 1], [0, 1])):
        A = sp.csr_matrix((2, 4))
        A.data, A.indices, A.indptr = np.array(data), np.array(indices, np.int32), np.array(indptr, np.int32)
        with pytest.raises(ValueError, match="indptr"):
            tulle.matmul(A, x)
    with pytest.raises(ValueError, match="do not match"):
        tulle.matmul(drawn(3, 4, 0.5), np.ones(5))


# ---- time ----

MARGIN = 0.85  # scipy's processor time over this library's, on one thread; the bar of bench/python_products.py is 1


def stencil(n):
    """Twenty-seven entries a row, as the nodes of a mesh of n x n x n."""
    line = sp.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1])
    return sp.kron(sp.kron(line, line), line, format="csr")


def processor_times(calls):
    """Seconds of one call each, the least of rounds in which the calls take turns: other programs lengthen none of it."""
    counts, least = {}, {}
    for name, call in calls.items():
        call()
        began = time.thread_time()
        call()
        counts[name] = max(1, int(2e-3 / max(time.thread_time() - began, 1e-6)))
        least[name] = float("inf")
    while True:
        for name, call in calls.items():
            began = time.thread_time()
            for _ in range(counts[name]):
                call()
            least[name] = min(least[name], (time.thread_time() - began) / counts[name])
        yield least


@pytest.mark.parametrize("product", ["A x", "A X", "A B", "CSC X", "X A"])
@pytest.mark.parametrize("entries", [100, 1000, 10_000, 100_000])
def test_no_slower_than_scipy(entries, product):
    A = stencil(max(2, round((entries / 27) ** (1 / 3))))
    n = A.shape[1]
    A, B = {"A x": (A, np.ones(n)), "A X": (A, np.ones((n, 8))), "A B": (A, A), "CSC X": (A.tocsc(), np.ones((n, 8))),
            "X A": (np.ones((8, n)), A)}[product]
    with tulle.threads(1):
        times = processor_times({"scipy": lambda: A @ B, "tulle": lambda: tulle.matmul(A, B)})
        for rounds, least in enumerate(times):
            if rounds >= 9 and least["scipy"] >= MARGIN * least["tulle"]:
                break
            assert rounds < 100, f"scipy takes {1e6 * least['scipy']:.1f} us and Tulle {1e6 * least['tulle']:.1f}"
