# SPDX-License-Identifier: Apache-2.0
"""Products against scipy: kinds, types, index types, shapes, errors."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle
from tulle import _core
from tulle._arrays import describe
from tulle._team import current

RNG = np.random.default_rng(1)
CLASSES = [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix] + [
    getattr(sp, name) for name in ("csr_array", "csc_array", "coo_array") if hasattr(sp, name)
]
SHAPES = [(1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (7, 5, 3), (40, 60, 50)]


def sparse(m, n, density=0.2, dtype=np.float64, cls=sp.csr_matrix):
    return cls(sp.random(m, n, density, "csr", random_state=RNG.integers(1 << 30)).astype(dtype))


def close(got, want, dtype=np.float64):
    got = got.toarray() if sp.issparse(got) else got
    want = want.toarray() if sp.issparse(want) else want
    assert got.shape == want.shape
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-6 if dtype == np.float32 else 0)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_sparse_sparse(cls, dtype, shape):
    m, k, n = shape
    A, B = sparse(m, k, dtype=dtype, cls=cls), sparse(k, n, dtype=dtype, cls=cls)
    C = tulle.matmul(A, B)
    assert type(C) is cls
    close(C, A.toarray() @ B.toarray(), dtype)
    assert tulle.report()["nnz_c"] == C.nnz


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F", "gaps", "backwards"])
def test_sparse_dense(cls, dtype, order):
    for m, k, n in SHAPES:
        A, X = sparse(m, k, dtype=dtype, cls=cls), np.asarray(RNG.random((k, n)), dtype=dtype)
        if order == "F":
            X = np.asfortranarray(X)
        elif order == "gaps":
            X = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
        elif order == "backwards":
            X = X[::-1, ::-1]
        close(tulle.matmul(A, X), A.toarray() @ X, dtype)
        W = np.asarray(RNG.random((n, m)), dtype=dtype)
        close(tulle.matmul(W, A), W @ A.toarray(), dtype)


def test_dense_dense():
    for m, k, n in SHAPES:
        A, B = RNG.random((m, k)), RNG.random((k, n))
        close(tulle.gemm(A, B), A @ B)
        close(tulle.gemm(A, np.asfortranarray(B), alpha=-2), -2 * (A @ B))


def test_vectors():
    A, x = sparse(9, 6), RNG.random(6)
    close(tulle.matmul(A, x), A @ x)
    close(tulle.matmul(RNG.random(9) * 0 + 1, A), np.ones(9) @ A.toarray())
    close(tulle.matmul(A.toarray(), x), A @ x)


def test_index_types_are_kept():
    A = sparse(30, 30)
    C = tulle.matmul(A, A)
    assert C.indices.dtype == C.indptr.dtype == np.int32
    C = tulle.matmul(wide(A.copy()), wide(A.copy()))
    assert C.indices.dtype == C.indptr.dtype == np.int64
    close(C, A @ A)


def test_unsorted_and_duplicates():
    A = sp.csr_matrix((np.array([1.0, 2, 3, 4]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    before = A.indices.copy()
    close(tulle.matmul(A, np.eye(3)), A.toarray())
    assert (A.indices == before).all()
    close(tulle.matmul(sp.coo_matrix(A), sp.coo_matrix(np.eye(3))), A.toarray())


def test_a_result_outlives_its_matrix():
    A = sparse(1000, 1000, 0.01)
    C = tulle.matmul(A, A)
    kept, data = C.data.copy(), C.data
    assert np.shares_memory(data, C.data) and not data.flags.owndata
    del C
    for _ in range(20):
        tulle.matmul(A, A)
    assert (data == kept).all()


def wide(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


@pytest.mark.parametrize("kind, shared", [
    ("csr", True), ("wide", True), ("csc", False), ("coo", False), ("bsr", False), ("C", True), ("F", True), ("gaps", True),
    ("every second", False)])
def test_what_is_shared(kind, shared):
    """Values that change after the library has the matrix are seen by the next product where they are shared."""
    A = sparse(40, 40)
    room = np.hstack([A.toarray(), A.toarray()])
    given = {"wide": lambda: wide(A.copy()), "C": lambda: A.toarray(), "F": lambda: np.asfortranarray(A.toarray()),
             "gaps": lambda: room[:, :40], "every second": lambda: np.repeat(A.toarray(), 2, axis=1)[:, ::2]}
    A2 = given[kind]() if kind in given else A.asformat(kind, copy=True)
    team, x, y = current(), RNG.random((40, 3)), np.zeros((40, 3))
    array = describe("A", A2).array
    mat = _core.mat(team, array)
    assert _core.shares(mat, array) == (kind not in ("csc", "coo"))  # the others are CSR, or in one piece, by then
    plan = _core.Plan(mat, False, _core.mat(team, describe("X", x).array), False,
                      describe("Y", y).array, False, "", "")
    plan.execute(1.0, 0.0)
    close(y, A @ x)
    values = A2.data if sp.issparse(A2) else A2
    values *= 2
    x += 1  # X and Y are shared, too
    plan.execute(1.0, 0.0)
    close(y, (2 if shared else 1) * (A @ x))


def test_types_and_shapes_are_refused():
    A = sparse(4, 4)
    with pytest.raises(TypeError, match="complex128"):
        tulle.matmul(A.astype(complex), A)
    with pytest.raises(ValueError, match="do not match"):
        tulle.matmul(A, np.ones((5, 2)))
    with pytest.raises(ValueError, match="nonsense"):
        tulle.matmul(A, A, algorithm="nonsense")
    with pytest.raises(ValueError, match="dimensions"):
        tulle.matmul(A, np.ones((4, 2, 2)))
    bad = A.copy()
    bad.indices[0] = 77
    with pytest.raises(ValueError, match="77"):
        tulle.matmul(bad, np.ones((4, 1)))


def test_mixed_types_are_widened():
    A, B = sparse(5, 6, dtype=np.float32), sparse(6, 4)
    close(tulle.matmul(A, B), A.toarray().astype(float) @ B.toarray())


def test_plan_of_wide_indices():
    A, X = wide(sparse(30, 30)), RNG.random((30, 2))
    for B in (X, wide(sparse(30, 30))):
        plan = tulle.matmul_plan(A, B)
        close(plan(), A @ B)
        C = plan(wide(A * 2), B)
        close(C, 2 * (A @ B))
        assert B is X or C.indices.dtype == np.int64


@pytest.mark.parametrize("cls", CLASSES)
def test_plan_of_a_class(cls):
    A, B = sparse(20, 30, cls=cls), sparse(30, 25, cls=cls)
    plan = tulle.matmul_plan(A, B)
    for C, want in ((plan(), A @ B), (plan(A * 2, B), 2 * (A @ B))):
        assert type(C) is cls
        close(C, want)


@pytest.mark.parametrize("dense", ["no", "right", "left"])
def test_plan(dense):
    A = sparse(40, 40) if dense != "left" else RNG.random((12, 40))
    B = sparse(40, 40) if dense != "right" else RNG.random((40, 7))
    want = A @ B
    plan = tulle.matmul_plan(A, B)
    close(plan(), want)
    A2, B2 = A * 3, B * -2
    close(plan(A2, B2), A2 @ B2)
    assert tulle.report()["reused"] or dense != "no"
    close(plan(), A2 @ B2)
    close(A @ B, want)  # the caller's arrays stay
    close(plan(alpha=0.5), 0.5 * (A2 @ B2))
    with pytest.raises(ValueError, match="B does not have"):
        plan(B=sparse(40, 40, 0.5) if dense != "right" else RNG.random((40, 8)))


def test_algorithms_and_devices():
    A, X = sparse(60, 60), RNG.random((60, 8))
    for algorithm in ("stationary-c", "stationary-a", "summa", "steal-local-c"):
        close(tulle.matmul(A, X, algorithm=algorithm), A @ X)
    close(tulle.matmul(A, X, device="limit:mem=64K+cpu"), A @ X)


def test_threads_and_memory():
    A = sparse(300, 300)
    with tulle.threads(1, spec="check+threads"):
        close(tulle.matmul(A, A), A @ A)
    with tulle.threads(2, memory="32M"):
        with pytest.raises(MemoryError):
            tulle.matmul(np.ones((3000, 3000)), np.ones((3000, 3000)), algorithm="auto")  # by a plan, whose tiles count
        close(tulle.matmul(A, A), A @ A)
    with pytest.raises(ValueError, match="is no size"):
        with tulle.threads(1, memory="much"):
            pass


class OnDevice:
    """A stand-in for CuPy's array."""

    def __init__(self, values):
        self.values = values
        self.dtype = values.dtype
        self.__cuda_array_interface__ = {"shape": values.shape, "typestr": values.dtype.str, "data": (0, False), "version": 3}

    def get(self):
        return self.values


class Capsule:
    """What has DLPack only."""

    def __init__(self, values):
        self.values = values
        self.dtype = values.dtype

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("kind", [OnDevice, Capsule])
def test_other_arrays(kind):
    A, X = sparse(6, 6), RNG.random((6, 2))
    close(tulle.matmul(A, kind(X)), A @ X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sddmm(dtype):
    for m, k, n in SHAPES:
        S, X, Y = sparse(m, n, dtype=dtype), RNG.random((m, k)).astype(dtype), RNG.random((n, k)).astype(dtype)
        before = S.toarray()
        close(tulle.sddmm(S, X, Y, alpha=2), 2 * (X @ Y.T) * (before != 0), dtype)
        assert (S.toarray() == before).all()
        for cls in CLASSES:
            D = tulle.sddmm(cls(S), X, Y)
            assert type(D) is cls
            close(D, (X @ Y.T) * (before != 0), dtype)
    D = tulle.sddmm(wide(S), X, Y)
    assert D.indices.dtype == D.indptr.dtype == np.int64 and not np.shares_memory(D.indices, S.indices)
    close(D, (X @ Y.T) * (before != 0), dtype)
    with pytest.raises(ValueError, match="dense"):
        tulle.sddmm(np.eye(3), np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="shape"):
        tulle.sddmm(sparse(3, 4), np.ones((3, 2)), np.ones((5, 2)))


def test_sddmm_of_strided_arrays():
    S, X, Y = sp.random(30, 20, 0.2, "csr", random_state=1), np.full((30, 4), 0.5), np.arange(80.0).reshape(20, 4)
    T = S.copy()
    T.indptr, T.indices, T.data = (np.repeat(part, 2)[::2] for part in (S.indptr, S.indices, S.data))
    assert abs(tulle.sddmm(T, X, Y) - tulle.sddmm(S, X, Y)).max() == 0
