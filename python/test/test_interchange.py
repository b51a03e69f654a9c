# SPDX-License-Identifier: Apache-2.0
"""Arrays and matrices of other libraries: __binsparse__, DLPack, the Array API; scipy's operators; pickles; threads."""
import copy
import inspect
import pickle
import subprocess
import sys

import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg

import tulle

RNG = numpy.random.default_rng(7)


def sparse(m=30, n=30, kind="csr"):
    return scipy.sparse.random(m, n, 0.2, kind, random_state=numpy.random.RandomState(m + n))


def positive(n=30):
    A = sparse(n, n)
    return (A @ A.T + scipy.sparse.identity(n)).tocsr()


def close(got, want):
    got, want = (x.toarray() if hasattr(x, "toarray") else numpy.asarray(x) for x in (got, want))
    assert got.shape == want.shape
    assert numpy.allclose(got, want)


class Foreign:
    """A matrix that has the protocol and nothing else."""

    def __init__(self, arrays, descriptor):
        self.arrays, self.descriptor = arrays, descriptor

    def __binsparse_descriptor__(self):
        return self.descriptor

    def __binsparse__(self):
        return self.arrays


def foreign(A, wrapped=True):
    x = tulle.as_binsparse(A)
    descriptor = x.__binsparse_descriptor__()
    return Foreign(x.__binsparse__(), descriptor if wrapped else descriptor["binsparse"])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
def test_binsparse_out_and_in(kind):
    A = sparse(6, 8, kind)
    x = tulle.as_binsparse(A)
    described = x.__binsparse_descriptor__()["binsparse"]
    assert described["format"] == {"bsr": "CSR"}.get(kind, kind.upper()) and described["shape"] == [6, 8]
    assert described["number_of_stored_values"] == len(x.__binsparse__()["values"])
    for key, array in x.__binsparse__().items():
        assert described["data_types"][key] == array.dtype.name
    back = tulle.from_binsparse(x)
    close(back, A)
    if kind != "bsr":
        assert back.format == kind and numpy.shares_memory(back.data, A.data)


def test_binsparse_by_columns_names_columns_first():
    A = sparse(4, 5, "coo")
    x = Foreign({"indices_0": A.col, "indices_1": A.row, "values": A.data}, {"format": "COOC", "shape": [4, 5]})
    close(tulle.from_binsparse(x), A)


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_calls_take_binsparse(kind, wrapped):
    A, S, b = sparse(kind=kind), positive(), RNG.random(30)
    X = RNG.random((30, 3))
    close(tulle.matmul(foreign(A, wrapped), X), A @ X)
    close(tulle.matmul(foreign(A), foreign(S)), A @ S)
    close(tulle.matmul_plan(foreign(A), X)(), A @ X)
    close(tulle.sddmm(foreign(A), X, X), A.tocsr().astype(bool).multiply(X @ X.T).tocsr())
    close(tulle.cg(foreign(S), b, M=tulle.ic0(foreign(S)))[0], numpy.linalg.solve(S.toarray(), b))
    lower = scipy.sparse.tril(S, format=kind)
    close(tulle.triangular(foreign(lower)).solve(b), numpy.linalg.solve(lower.toarray(), b))


def gaps(x):
    return numpy.repeat(x, 2, 0)[::2]


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("change", [
    read_only, gaps, lambda x: x[::-1].copy()[::-1], memoryview, lambda x: x.tolist(),
    lambda x: x.astype("uint64") if x.dtype.kind == "i" else x.astype("longdouble"),
    lambda x: x.astype("int16") if x.dtype.kind == "i" else x.astype(">f8")])
def test_arrays_of_binsparse_may_be_any(change):
    A, X = sparse(), RNG.random((30, 3))
    x = foreign(A)
    x.arrays = {key: change(array) for key, array in x.arrays.items()}
    close(tulle.matmul(x, X), A @ X)
    close(tulle.matmul(x, x), A @ A)


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (3, 4)])
def test_binsparse_without_entries(shape):
    x = foreign(scipy.sparse.csr_matrix(shape))
    assert tulle.from_binsparse(x).shape == shape
    close(tulle.matmul(x, numpy.ones((shape[1], 2))), numpy.zeros((shape[0], 2)))


@pytest.mark.parametrize("key, change", [("indices_1", lambda x: x + 30), ("indices_1", lambda x: x - 30),
                                         ("indices_1", lambda x: x[:-1]), ("values", lambda x: x[:, None]),
                                         ("values", lambda x: x[0]), ("pointers_to_1", lambda x: x[:-1]),
                                         ("pointers_to_1", lambda x: -x), ("indices_1", lambda x: x.astype("int64") + (1 << 40)),
                                         ("indices_1", lambda x: x + 0.5), ("pointers_to_1", lambda x: numpy.minimum(x, x[-1] - 1)),
                                         ("pointers_to_1", lambda x: x[::-1].copy())])
def test_arrays_of_binsparse_that_are_wrong(key, change):
    x = foreign(sparse())
    x.arrays[key] = change(x.arrays[key])
    for call in (lambda: tulle.matmul(x, numpy.ones((30, 2))), lambda: tulle.matmul(x, sparse()), lambda: tulle.ic0(x),
                 lambda: tulle.from_binsparse(x)):
        with pytest.raises(ValueError):
            call()


def test_binsparse_of_other_types():
    A = sparse()
    types = {numpy.bool_: "bint8", numpy.complex128: "complex[float64]", numpy.float32: "float32", numpy.int8: "int8"}
    for dtype, name in types.items():
        x = tulle.as_binsparse(A.astype(dtype))
        assert x.__binsparse_descriptor__()["binsparse"]["data_types"]["values"] == name
        if dtype is not numpy.complex128:
            assert tulle.matmul(foreign(A.astype(dtype)), numpy.ones(30)).dtype.kind == "f"
    with pytest.raises(ValueError, match="in parts"):
        tulle.from_binsparse(foreign(A.astype(complex)))


def test_binsparse_of_what_has_it():
    A = sparse()
    close(tulle.from_binsparse(tulle.as_binsparse(foreign(A))), A)
    if hasattr(scipy.sparse, "coo_array"):
        try:
            line = scipy.sparse.coo_array(numpy.ones(3))
        except ValueError:
            return  # arrays of one dimension came later
        with pytest.raises(ValueError, match="dimension"):
            tulle.as_binsparse(line)


class OfSparse:
    """A matrix of the library sparse, as far as calls look at it: it refuses to be an array."""

    def __init__(self, A):
        self.A, self.shape, self.dtype, self.format = A, A.shape, A.dtype, "gcxs"

    def to_scipy_sparse(self):
        return self.A

    def __array__(self, *_, **__):
        raise RuntimeError("a sparse array is not made dense")

    def __array_namespace__(self, api_version=None):
        return numpy


def test_matrices_of_the_library_sparse():
    A, S, X, b = sparse(), positive(), RNG.random((30, 3)), RNG.random(30)
    close(tulle.matmul(OfSparse(A), X), A @ X)
    close(tulle.matmul(X.T, OfSparse(A)), X.T @ A)
    close(tulle.matmul_plan(OfSparse(A), X)(), A @ X)
    close(tulle.matmul(OfSparse(A), OfSparse(A)), A @ A)
    close(tulle.cg(OfSparse(S), b, M=tulle.ic0(OfSparse(S)))[0], numpy.linalg.solve(S.toarray(), b))
    close(tulle.aslinearoperator(OfSparse(A)) @ X, A @ X)
    assert tulle.as_binsparse(OfSparse(A)).__binsparse_descriptor__()["binsparse"]["format"] == "CSR"


@pytest.mark.parametrize("change", [{"format": "CUSTOM"}, {"format": "DVEC", "shape": [4]}, {"structure": "symmetric_lower"},
                                    {"data_types": {"values": "iso[float64]"}}, {"format": "COO"},
                                    {"shape": [30, 30, 30]}, {"shape": "ab"}, {"shape": None}, {"format": None},
                                    {"shape": [-30, 30]}, {"shape": [30, 29]}, {"shape": [30.0, 30.0]}, {"format": {}},
                                    {"fill": True}, {"version": "9"}, {"number_of_stored_values": 2}, {"data_types": []}])
def test_other_binsparse_is_refused(change):
    x = foreign(sparse(), wrapped=False)
    x.descriptor = {**x.descriptor, **change}
    with pytest.raises(ValueError):
        tulle.matmul(x, numpy.ones(30))


def test_dense_matrices_have_dlpack_instead():
    with pytest.raises(ValueError, match="dlpack"):
        tulle.as_binsparse(numpy.eye(3))


class Space:
    """A namespace of the Array API, as far as results need it."""

    def __init__(self, dlpack):
        if dlpack:
            self.from_dlpack = lambda x: Array(numpy.from_dlpack(x), self)
        self.asarray = lambda x: Array(numpy.asarray(x), self)


class Array:
    def __init__(self, values, space):
        self.values, self.space, self.dtype, self.ndim = values, space, values.dtype, values.ndim

    def __array_namespace__(self, api_version=None):
        return self.space

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("dlpack", [True, False])
def test_dense_results_are_of_the_namespace(dlpack):
    space, A, S = Space(dlpack), sparse(), positive()
    X, b = RNG.random((30, 3)), RNG.random(30)
    lower = scipy.sparse.tril(S, format="csr")
    results = {
        "matmul": (tulle.matmul(A, Array(X, space)), A @ X),
        "dense times sparse": (tulle.matmul(Array(X.T.copy(), space), A), X.T @ A),
        "gemm": (tulle.gemm(Array(X.T.copy(), space), Array(X, space)), X.T @ X),
        "plan": (tulle.matmul_plan(A, Array(X, space))(), A @ X),
        "vector": (tulle.matmul(A, Array(b, space)), A @ b),
        "cg": (tulle.cg(S, Array(b, space))[0], numpy.linalg.solve(S.toarray(), b)),
        "triangular": (tulle.triangular(lower).solve(Array(b, space)), numpy.linalg.solve(lower.toarray(), b)),
        "stream": (tulle.stream(A, columns=3) @ Array(X, space), A @ X),
    }
    for name, (got, want) in results.items():
        assert isinstance(got, Array) and got.space is space, name
        close(got.values, want)


def test_array_api_strict():
    strict = pytest.importorskip("array_api_strict")
    A, X = sparse(), RNG.random((30, 3))
    Y = tulle.matmul(A, strict.asarray(X))
    assert Y.__array_namespace__() is strict or type(Y) is type(strict.asarray(X))
    close(numpy.from_dlpack(Y), A @ X)
    for other in (strict.asarray(X.T.copy()).T, strict.asarray(X)[::-1, :], strict.asarray(gaps(X.T).T)):
        close(numpy.from_dlpack(tulle.matmul(A, other)), A @ numpy.from_dlpack(other))
    for name in ("float32", "int8", "uint64", "bool"):
        x = strict.astype(strict.asarray(X * 5), getattr(strict, name))
        close(numpy.from_dlpack(tulle.matmul(A, x)), A @ numpy.from_dlpack(x))
    assert tulle.matmul(A, strict.zeros((30, 0))).shape == (30, 0)
    for wrong in (strict.asarray(1.0), strict.ones((30, 2, 2))):
        with pytest.raises(ValueError, match="dimensions"):
            tulle.matmul(A, wrong)
    with pytest.raises(TypeError, match="complex"):
        tulle.matmul(A, strict.astype(strict.asarray(X), strict.complex128))


def test_dlpack_in():
    A, X = sparse(), RNG.random((30, 3))
    for values in (X, numpy.asfortranarray(X), gaps(X.T).T, X.astype(numpy.float32), X[:, 0]):
        close(tulle.matmul(A, Array(values, Space(True))).values, A @ values)

    class Elsewhere(Array):
        def __dlpack__(self, **options):
            raise BufferError("the memory is a GPU's")

    with pytest.raises(BufferError, match="GPU"):
        tulle.matmul(A, Elsewhere(X, Space(True)))


def test_results_have_dlpack():
    Y = tulle.matmul(sparse(), RNG.random((30, 3)))
    assert numpy.shares_memory(numpy.from_dlpack(Y), Y)


def test_linear_operators():
    A, S, b = sparse(20, 30), positive(), RNG.random(30)
    X = RNG.random((30, 3))
    op = tulle.aslinearoperator(A)
    close(op @ b, A @ b)
    close(op @ X, A @ X)
    close(op.H @ RNG.random(20) * 0 + op.T @ numpy.ones(20), A.T @ numpy.ones(20))
    M = tulle.aslinearoperator(tulle.ic0(S))
    x, info = scipy.sparse.linalg.cg(S, b, M=M)
    assert info == 0 and numpy.linalg.norm(S @ x - b) < 1e-4 * numpy.linalg.norm(b)
    jacobi = tulle.aslinearoperator(tulle.jacobi(S))
    close(jacobi @ X, X / S.diagonal()[:, None])
    close(jacobi @ b, b / S.diagonal())
    lower = scipy.sparse.tril(S, format="csr")
    T = tulle.aslinearoperator(tulle.triangular(lower))
    close(T @ X, numpy.linalg.solve(lower.toarray(), X))
    close(tulle.aslinearoperator(tulle.stream(A)) @ X, A @ X)
    assert jacobi.dtype == numpy.float64 and M.shape == S.shape


def test_linear_operators_of_other_things():
    A, b = sparse(), RNG.random(30)
    op = tulle.aslinearoperator(foreign(A))
    close(op @ b, A @ b)
    close(op.H @ b, A.T @ b)
    assert tulle.aslinearoperator(op) is op
    close(tulle.aslinearoperator([[1, 2], [3, 4]]) @ numpy.ones(2), [3, 7])
    for empty in ((0, 4), (4, 0), (0, 0)):
        assert (tulle.aslinearoperator(scipy.sparse.csr_matrix(empty)) @ numpy.ones(empty[1])).shape == empty[:1]
    assert (op @ numpy.ones((30, 0))).shape == (30, 0)
    close(op @ read_only(b), A @ b)
    close(op @ numpy.arange(30), A @ numpy.arange(30))
    for wrong in (None, "A.mtx", A.astype(complex)):
        with pytest.raises(TypeError, match="A is (an object )?of"):
            tulle.aslinearoperator(wrong)
    with pytest.raises(TypeError, match="complex"):
        op @ (1j * b)


def test_adjoints_of_linear_operators():
    S, b = positive(), RNG.random(30)
    for M in (tulle.ic0(S), tulle.jacobi(S)):
        close(tulle.aslinearoperator(M).H @ b, tulle.aslinearoperator(M) @ b)
    lower = scipy.sparse.tril(S).toarray()
    T = tulle.aslinearoperator(tulle.triangular(S))
    close(T.H @ b, numpy.linalg.solve(lower.T, b))
    close(tulle.aslinearoperator(tulle.triangular(S, transposed=True)).H @ b, numpy.linalg.solve(lower, b))
    x, info = scipy.sparse.linalg.bicg(S, b, M=tulle.aslinearoperator(tulle.ic0(S)))
    assert info == 0 and numpy.linalg.norm(S @ x - b) < 1e-4 * numpy.linalg.norm(b)
    with pytest.raises((TypeError, NotImplementedError)):  # as scipy's, where there is none
        tulle.aslinearoperator(tulle.ilu0(S)).H @ b


@pytest.mark.parametrize("make", [tulle.ic0, tulle.ilu0, tulle.jacobi, lambda S: tulle.jacobi(S, block=3)])
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float64])
def test_pickles_of_preconditioners(make, dtype):
    S = positive().astype(dtype)
    M = make(S)
    again = pickle.loads(pickle.dumps(M))
    assert repr(again) == repr(M) and again.dtype == M.dtype
    b = RNG.random(30).astype(dtype)
    assert (tulle.aslinearoperator(again) @ b == tulle.aslinearoperator(M) @ b).all()
    assert tulle.gmres(S, b, M=again, rtol=1e-4)[1] == 0


@pytest.mark.parametrize("make", [tulle.ic0, lambda S: tulle.triangular(S, lower=True)])
def test_pickles_refuse_values_that_changed(make):
    S = positive()
    M = make(S)
    pickle.dumps(M)
    for wrong in (2, numpy.nan):
        S.data *= wrong
        with pytest.raises(ValueError, match="changed"):
            pickle.dumps(M)


def test_pickles_of_triangles():
    S, X = positive(), RNG.random((30, 2))
    T = tulle.triangular(S, lower=False, transposed=True, unit_diagonal=True)
    again = pickle.loads(pickle.dumps(T))
    assert (again.solve(X) == T.solve(X)).all()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_pickles_of_plans(kind):
    A, X = sparse(kind=kind), RNG.random((30, 3))
    for operands in [(A, A.T.asformat(kind)), (A, X), (X.T.copy(), A), (A, X[:, 0]), (X[:, 0].copy(), A), (X.T.copy(), X)]:
        plan = tulle.matmul_plan(*operands)
        again = pickle.loads(pickle.dumps(plan))
        close(again(), plan())
        assert type(again()) is type(plan())
        changed = [2 * operand for operand in operands]
        plan(*changed)
        close(pickle.loads(pickle.dumps(plan))(), 4 * (operands[0] @ operands[1]))


def test_pickles_of_squares_and_of_other_types():
    A = sparse()
    plan = pickle.loads(pickle.dumps(tulle.matmul_plan(A, A)))
    close(plan(3 * A), 9 * (A @ A))
    with pytest.raises(ValueError):
        plan(A, 2 * A)
    whole = scipy.sparse.csr_matrix(numpy.arange(9).reshape(3, 3))
    plan = tulle.matmul_plan(whole, whole.astype(numpy.float32))
    plan(2 * whole)
    close(pickle.loads(pickle.dumps(plan))(), 2 * (whole @ whole))


def made():
    """One of each that has a pickle."""
    A, S, X = sparse(), positive(), numpy.random.default_rng(1).random((30, 3))
    return [tulle.ic0(S), tulle.ilu0(S), tulle.jacobi(S, block=4), tulle.ic0(foreign(S)), tulle.triangular(S),
            tulle.triangular(S, method="levels"), tulle.matmul_plan(A, A), tulle.matmul_plan(A.tocoo(), A.tocsc()),
            tulle.matmul_plan(A, X), tulle.matmul_plan(foreign(A), X), tulle.matmul_plan(A, A, algorithm="stationary-a"),
            tulle.aslinearoperator(A), tulle.aslinearoperator(tulle.jacobi(S)), tulle.as_binsparse(A)]


def used(x):
    """What it gives, as an array."""
    if hasattr(x, "__binsparse__"):
        return tulle.from_binsparse(x).toarray()
    if isinstance(x, tulle.Plan):
        C = x()
        return C.toarray() if hasattr(C, "toarray") else C
    b = numpy.arange(30.0)
    return x.solve(b) if isinstance(x, tulle.Triangular) else tulle.aslinearoperator(x) @ b


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_each_protocol(protocol):
    for x in made():
        assert (used(pickle.loads(pickle.dumps(x, protocol))) == used(x)).all()


def test_pickles_of_operators_are_of_no_version_of_scipy():
    """scipy's own operators have other states in other versions, which do not read each other's."""
    for A in sparse(), tulle.jacobi(positive()), tulle.triangular(positive()):
        assert b"scipy.sparse.linalg" not in pickle.dumps(tulle.aslinearoperator(A))


def test_pickles_with_buffers_that_are_read_only():
    for x in made():
        buffers = []
        data = pickle.dumps(x, 5, buffer_callback=buffers.append)
        assert (used(pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])) == used(x)).all()
        assert (used(copy.deepcopy(x)) == used(x)).all()


def test_pickles_reach_processes():
    work = ("import pickle, sys\nimport numpy, tulle\n" + inspect.getsource(used) +
            "pickle.dump([used(x) for x in pickle.load(sys.stdin.buffer)], sys.stdout.buffer)\n")
    done = subprocess.run([sys.executable, "-c", work], input=pickle.dumps(made()), stdout=subprocess.PIPE, check=True,
                          timeout=120)
    got, want = pickle.loads(done.stdout), [used(x) for x in made()]
    assert len(got) == len(want) and all((x == y).all() for x, y in zip(got, want))


@pytest.mark.long
def test_joblib_hands_them_over():
    joblib = pytest.importorskip("joblib")
    A = sparse(300, 300)
    plan, X = tulle.matmul_plan(A, A), RNG.random((300, 3))
    for backend in ("loky", "threading"):
        parallel = joblib.Parallel(2, backend=backend, max_nbytes=100)  # arrays lie in files that are only read
        for C in parallel(joblib.delayed(tulle.Plan.__call__)(plan) for _ in range(3)):
            close(C, A @ A)
        for C in parallel(joblib.delayed(tulle.matmul)(A, X) for _ in range(3)):
            close(C, A @ X)


def test_threadpoolctl_sets_the_threads_of_calls():
    threadpoolctl = pytest.importorskip("threadpoolctl", minversion="3.2")

    def threads():
        return [info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "tulle"]

    A = sparse()
    before = threads()
    assert before and before == before[:1] * len(before)
    made = tulle.triangular(scipy.sparse.tril(positive(), format="csr"))
    with threadpoolctl.threadpool_limits(1, user_api="tulle"):
        assert set(threads()) == {1}
        close(tulle.matmul(A, A), A @ A)
        made.solve(numpy.ones(30))
        assert tulle.report()["workers"] >= 1
        workers = tulle.triangular(scipy.sparse.tril(positive(), format="csr"), method="levels")
        workers.solve(numpy.ones(30))
        assert tulle.report()["workers"] == 1
    with threadpoolctl.threadpool_limits(10**6, user_api="tulle"):  # as many as a team may have
        close(tulle.matmul(A, A), A @ A)
    with pytest.raises(ValueError):
        threadpoolctl.threadpool_limits(0, user_api="tulle")
    assert threads() == before
