# SPDX-License-Identifier: Apache-2.0
"""Operands of every type at every call: converted as NumPy promotes, or refused by their name."""
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

N = 12
A = sp.csr_matrix(sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(N, N)))
L = sp.csr_matrix(sp.tril(A))
X = np.arange(3.0 * N).reshape(N, 3) % 7 - 2
B = X[:, 0].copy()

# every call, as a function of one operand, with the operand and the name that errors call it by
CALLS = {
    "matmul A": (lambda v: tulle.matmul(v, X), A, "A"),
    "matmul B": (lambda v: tulle.matmul(A, v), X, "B"),
    "matmul sparse B": (lambda v: tulle.matmul(A, v), A, "B"),
    "matmul dense A": (lambda v: tulle.matmul(v, A), X.T, "A"),
    "gemm A": (lambda v: tulle.gemm(v, X), X.T, "A"),
    "gemm B": (lambda v: tulle.gemm(X.T, v), X, "B"),
    "matmul_plan A": (lambda v: tulle.matmul_plan(v, X)(), A, "A"),
    "matmul_plan B": (lambda v: tulle.matmul_plan(A, v)(), X, "B"),
    "plan A": (lambda v: tulle.matmul_plan(A, X)(v, None), A, "A"),
    "plan B": (lambda v: tulle.matmul_plan(A, X)(None, v), X, "B"),
    "sddmm X": (lambda v: tulle.sddmm(A, v, X), X, "X"),
    "sddmm Y": (lambda v: tulle.sddmm(A, X, v), X, "Y"),
    "block_matmul A": (lambda v: tulle.block_matmul(v, blocks=3), A, "A"),
    "block_matmul B": (lambda v: tulle.block_matmul(A, v, blocks=3), A, "B"),
    "block_range_add C": (lambda v: tulle.block_range_add(v, A[:3, :3], 0, 0, blocks=3), A, "C"),
    "block_range_add P": (lambda v: tulle.block_range_add(A, v, 0, 0, blocks=3), A[:3, :3], "P"),
    "cg A": (lambda v: tulle.cg(v, B)[0], A, "A"),
    "cg dense A": (lambda v: tulle.cg(v, B)[0], A.toarray(), "A"),
    "cg b": (lambda v: tulle.cg(A, v)[0], B, "b"),
    "cg x0": (lambda v: tulle.cg(A, B, v)[0], B, "x0"),
    "cg M": (lambda v: tulle.cg(A, B, M=v)[0], sp.csr_matrix(sp.identity(N)), "M"),
    "gmres b": (lambda v: tulle.gmres(A, v)[0], B, "b"),
    "block_cg b": (lambda v: tulle.block_cg(A, v)[0], X, "b"),
    "minres b": (lambda v: tulle.minres(A, v)[0], X, "b"),
    "minres A": (lambda v: tulle.minres(v, B)[0], A, "A"),
    "lsqr A": (lambda v: tulle.lsqr(v, B)[0], A, "A"),
    "lsqr b": (lambda v: tulle.lsqr(A, v)[0], X, "b"),
    "lsmr b": (lambda v: tulle.lsmr(A, v)[0], B, "b"),
    "lsmr x0": (lambda v: tulle.lsmr(A, B, x0=v)[0], B, "x0"),
    "ic0": (lambda v: tulle.cg(v, B, M=tulle.ic0(v))[0], A, "A"),
    "ilu0": (lambda v: tulle.gmres(v, B, M=tulle.ilu0(v))[0], A, "A"),
    "jacobi": (lambda v: tulle.cg(v, B, M=tulle.jacobi(v))[0], A, "A"),
    "triangular A": (lambda v: tulle.triangular(v).solve(B), L, "A"),
    "triangular b": (lambda v: tulle.triangular(L).solve(v), B, "b"),
    "solve_triangular A": (lambda v: tulle.solve_triangular(v, B), L, "A"),
    "solve_triangular b": (lambda v: tulle.solve_triangular(L, v), B, "b"),
    "stream A": (lambda v: tulle.stream(v) @ B, A, "A"),
    "stream X": (lambda v: tulle.stream(A) @ v, B, "X"),
    "matfun": (lambda v: tulle.matfun("inverse", v, blocks=3), A, "A"),
    "density H": (lambda v: tulle.density(v, blocks=3, mu=4.5), A, "H"),
    "density S": (lambda v: tulle.density(A, v, blocks=3, mu=4.5), sp.csr_matrix(sp.identity(N)), "S"),
}
# float32: its rounding; the others hold these integers exactly
SAME = [np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.longdouble, ">f8", ">f4", ">i4"]


def dense(M):
    return M.toarray() if hasattr(M, "toarray") else np.asarray(M)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", SAME)
def test_real_numbers(name, dtype):
    call, operand, _ = CALLS[name]
    if hasattr(operand, "tocsr") and (np.dtype(dtype) == np.float16 or not np.dtype(dtype).isnative):
        pytest.skip(f"scipy has no sparse matrices of {dtype}")
    if np.dtype(dtype).kind == "u" and (operand.data if hasattr(operand, "tocsr") else operand).min() < 0:
        operand = abs(operand)
    want = dense(call(operand))
    given = call(operand.astype(dtype))
    assert np.allclose(dense(given), want, rtol=2e-4, atol=1e-5)
    assert given.dtype in (np.float32, np.float64)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers(name, dtype):
    call, operand, word = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy.ComplexWarning: an imaginary part was dropped
        with pytest.raises(TypeError, match=rf"^{word} is of {np.dtype(dtype).name}"):
            call(operand.astype(dtype) * (1 + 1j))


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_number(name):
    call, operand, word = CALLS[name]
    if hasattr(operand, "tocsr"):
        pytest.skip("scipy makes no such sparse matrix")
    with pytest.raises(TypeError, match=rf"^{word} is of"):
        call(operand.astype("U8"))
    with pytest.raises(TypeError, match=rf"^{word} is of object"):
        call(operand.astype(object))


def test_rows_of_other_shapes():
    of = tulle.pca(A, 2)
    for rows in (A.T[:3, :5], np.ones((2, N + 1)), np.ones(N), np.ones((1, 1, N))):
        with pytest.raises(ValueError, match=f"^X is of shape .*: rows of {N} variables"):
            of.transform(rows)
    assert np.allclose(of.transform(A.toarray().tolist()), of.scores)


@pytest.mark.parametrize("name", CALLS)
def test_what_has_no_elements(name):
    """A sparse matrix where an array belongs, and an operator where a matrix does: taken, or called what it is."""
    call, operand, word = CALLS[name]
    square = hasattr(operand, "shape") and len(operand.shape) == 2
    others = [(None, "an object of NoneType"), (object(), "an object of object")]
    if square and not hasattr(operand, "tocsr"):
        others.append((sp.csr_matrix(operand), "sparse"))
    if square:
        others.append((sp.linalg.aslinearoperator(operand), "an object of"))
    for other, what in others:
        try:
            call(other)
        except (TypeError, ValueError, NotImplementedError) as error:
            said = str(error)
            assert f"{word} " in said and any(words in said for words in (what, "is an operator", "that the plan")), said


def test_promotion():
    types = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, bool]
    for a in types:
        for b in types:
            want = np.result_type(a, b)
            want = np.float32 if want.kind == "f" and want.itemsize <= 4 else np.float64
            assert tulle.gemm(X.T.astype(a), X.astype(b)).dtype == want, (a, b)
            if a is not np.float16:
                assert tulle.matmul(A.astype(a), X.astype(b)).dtype == want, (a, b)
                assert tulle.solve_triangular(sp.csr_matrix(L, dtype=a), B.astype(b)).dtype == want, (a, b)
                if np.dtype(a).kind == "f":
                    assert tulle.cg(A.astype(a), B.astype(b))[0].dtype == want, (a, b)


def test_blocks_are_not_guessed():
    for call in (lambda M: tulle.matfun("inverse", M), lambda M: tulle.density(M, mu=4.5)):
        with pytest.raises(TypeError, match="blocks is required"):
            call(A)
        assert call(A.tobsr((3, 3))).shape == (N, N)


def test_causes_of_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        tulle.read(tmp_path / "none.mtx")
    with pytest.raises(FileNotFoundError):
        tulle.stream(tmp_path / "none.bsp.h5")
    with pytest.raises(FileNotFoundError):
        tulle.write(tmp_path / "none" / "A.mtx", A)
    with pytest.raises(IsADirectoryError):
        tulle.read(tmp_path)


def test_options_of_files(tmp_path):
    path = tmp_path / "A.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 3\n1 1 4\n2 2 0\n")
    assert tulle.read(path)[0, 0] == 7
    assert tulle.read(path, duplicates="last")[0, 0] == 4
    with pytest.raises(ValueError, match="occurs again"):
        tulle.read(path, duplicates="error")
    with pytest.raises(ValueError, match="not one of"):
        tulle.read(path, duplicates="first")
    assert tulle.read(path).nnz == 2 and tulle.read(path, drop_zeros=True).nnz == 1
    path.write_text("2 2 1\n0 1 inf\n")
    assert np.isinf(tulle.read(path, assume="matrix coordinate real general", zero_based=True)[0, 1])
    with pytest.raises(ValueError, match="finite|inf"):
        tulle.read(path, assume="matrix coordinate real general", zero_based=True, finite=True)
    with pytest.raises(TypeError, match="complex"):
        tulle.read(path, dtype=complex)


def hurt(A, field):
    """A with one pointer, or one index, far outside."""
    A = A.copy()
    getattr(A, field)[3] = 10**6
    return A


@pytest.mark.parametrize("field", ["indptr", "indices"])
@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo"])
def test_pointers_and_indices_that_are_none(format, field):
    """scipy's routines would follow them, out of memory: they are refused before."""
    A = (sp.random(60, 60, 0.1, random_state=1) + sp.identity(60)).tocsr()
    bad, x = A.asformat(format), np.ones(60)
    if format == "coo":
        field = {"indptr": "row", "indices": "col"}[field]
    bad = hurt(bad, field)
    calls = [lambda: tulle.matmul(bad, x), lambda: tulle.matmul(bad, A), lambda: tulle.matmul(A.tocsc(), bad),
             lambda: tulle.matmul_plan(bad, x), lambda: tulle.matmul_plan(A, x)(A=bad),
             lambda: tulle.sddmm(bad, np.ones((60, 2)), np.ones((60, 2)))]
    for call in calls:
        with pytest.raises(ValueError, match="pointer|indptr|has columns|has rows|entry|60 x 60"):
            call()


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("left", ["csr", "csc", "coo"])
@pytest.mark.parametrize("right", ["csr", "csc", "coo", "dense", "vector"])
def test_products_of_two_formats(left, right, kind):
    A, B = (sp.random(m, n, 0.2, random_state=m) for m, n in ((30, 50), (50, 20)))
    A = kind(A).asformat(left)
    for dtype in (np.float64, np.float32):
        A, B = A.astype(dtype), B.astype(dtype)
        X = B.toarray() if right == "dense" else np.arange(50, dtype=dtype) if right == "vector" else kind(B).asformat(right)
        C, want = tulle.matmul(A, X, alpha=-2), -2 * (A @ X)
        assert C.dtype == dtype and type(C) is (np.ndarray if right in ("dense", "vector") else type(A))
        dense = [M.toarray() if sp.issparse(M) else M for M in (C, want)]
        assert np.allclose(*dense, rtol=1e-5)
        assert np.allclose(tulle.matmul(np.ones((4, 30), dtype), A), np.ones((4, 30)) @ A, rtol=1e-5)


def test_entries_of_one_place_are_added():
    i, j, v = [0, 2, 0, 2, 1], [1, 0, 1, 0, 1], np.array([1.0, 2, 3, 4, 5])
    A = sp.coo_matrix((v, (i, j)), (3, 2))
    for X in (np.array([1.0, 10]), np.array([[1.0, 2, 3], [10, 20, 30]]), np.asfortranarray(np.ones((2, 40)))):
        assert np.array_equal(tulle.matmul(A, X), A.toarray() @ X)
    assert np.array_equal(tulle.matmul(A, A.T).toarray(), A.toarray() @ A.toarray().T)


def test_a_plan_takes_indices_of_either_width():
    A, x = sp.random(40, 40, 0.2, "csr", random_state=4), np.arange(40.0)
    wide = A.copy()
    wide.indices, wide.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    for first, then in ((A, wide), (wide, A)):
        assert np.allclose(tulle.matmul_plan(first, x)(A=then), A @ x)


@pytest.mark.parametrize("alpha", [1j, None, "2", 10**400, np.array([2.0])])
def test_alpha_is_a_number(alpha):
    A = sp.identity(4, format="csr")
    for call in (tulle.matmul, tulle.matmul_plan(A, A), lambda A, B, alpha: tulle.block_matmul(A, B, blocks=2, alpha=alpha)):
        with pytest.raises((TypeError, OverflowError), match="^alpha is"):
            call(A, A, alpha=alpha)
    with pytest.raises(TypeError, match="algorithm is 3"):
        tulle.matmul(A, A, algorithm=3)


def test_what_compressed_rows_cannot_hold_is_refused_with_its_size():
    n = 2**40
    A = sp.coo_array(([1.0], ([n - 1], [0])), shape=(n, n))
    for call in (lambda: tulle.matfun("sign", A, blocks=10), lambda: tulle.block_matmul(A, blocks=10),
                 lambda: tulle.matmul_plan(A, A), lambda: tulle.sddmm(A, np.ones((3, 1)), np.ones((3, 1)))):
        with pytest.raises(MemoryError, match=str(n)):
            call()
