# SPDX-License-Identifier: Apache-2.0
"""Arguments beside those that a call has: numbers outside of their range, names of files, shapes, masks, callbacks."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle

N = 12
A = sp.csr_matrix(sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(N, N)))
B = np.arange(1.0, N + 1)
NAN, INFINITE = float("nan"), float("inf")
VAST = 2**70

NUMBERS = {
    "rtol": (lambda x: tulle.cg(A, B, rtol=x), (-1, NAN)),
    "atol": (lambda x: tulle.minres(A, B, atol=x), (-1, NAN)),
    "maxiter": (lambda x: tulle.cg(A, B, maxiter=x), (0, -1, 1.5, VAST)),
    "restart": (lambda x: tulle.gmres(A, B, restart=x), (0, -3, 2.5, VAST)),
    "damp": (lambda x: tulle.lsqr(A, B, damp=x), (-1, NAN)),
    "btol": (lambda x: tulle.lsmr(A, B, btol=x), (-1, NAN)),
    "k": (lambda x: tulle.eigsh(A, x), (0, -1, 2.7, N + 1, VAST)),
    "tol": (lambda x: tulle.svds(A, 2, tol=x), (-1, NAN)),
    "seed": (lambda x: tulle.eigsh(A, 2, seed=x), (-1, VAST)),
    "ncv": (lambda x: tulle.eigsh(A, 2, ncv=x), (0, VAST)),
    "block": (lambda x: tulle.jacobi(A, block=x), (0, 2.5, VAST)),
    "columns": (lambda x: tulle.stream(A, columns=x), (0, -1, 1.5, VAST)),
    "size": (lambda x: tulle.stream(A, memory=x), (-1, NAN, INFINITE, "1e400G", "-1G")),
    "blocks": (lambda x: tulle.matfun("exp", A, blocks=x), (0, -2, 2.5)),
    "degeneracy": (lambda x: tulle.density(A, blocks=3, mu=4, degeneracy=x), (0, -1, NAN)),
}
CASES = [(name, call, value) for name, (call, values) in NUMBERS.items() for value in values]


@pytest.mark.parametrize("name, call, value", CASES, ids=[f"{name}={value}" for name, _, value in CASES])
def test_numbers_outside_of_their_range(name, call, value):
    with pytest.raises(ValueError, match=name):
        call(value)


def test_whole_numbers_of_any_type():
    for value in (3, 3.0, np.int8(3), np.uint64(3), np.float32(3)):
        assert len(tulle.eigsh(A, value, seed=value)[0]) == 3
    assert tulle.cg(A, B, maxiter=2**63 - 1)[1] == 0
    assert tulle.gmres(A, B, maxiter=2**62, restart=5)[1] == 0


@pytest.mark.parametrize("call", [
    lambda path: tulle.read(path),
    lambda path: tulle.write(path, A),
    lambda path: tulle.stream(path),
    lambda path: tulle.svds(path, 2),
    lambda path: tulle.lsqr(path, B),
])
def test_names_of_files(call, tmp_path):
    with pytest.raises(ValueError, match="null byte"):
        call(f"{tmp_path}/x.mtx\0.npz")
    assert not list(tmp_path.iterdir())


def test_name_in_bytes(tmp_path):
    name = str(tmp_path / "x.npz").encode()
    tulle.write(name, A)
    assert (tulle.read(name) != A).nnz == 0


@pytest.mark.parametrize("shape", [(N + 1,), (N, 2), (2, N), (1, N), (N, 1, 1)])
def test_shape_of_the_first_guess(shape):
    with pytest.raises(ValueError, match="x0"):
        tulle.cg(A, B, x0=np.ones(shape))
    with pytest.raises(ValueError, match="x0"):
        tulle.cg(A, np.ones((N, 3)), x0=np.ones((3, N)))
    assert tulle.cg(A, B, x0=np.ones((N, 1)))[1] == 0


def test_sparse_arrays_of_other_dimensions():
    line = sp.coo_array(B)
    for call in (lambda: tulle.matmul(A, line), lambda: tulle.matmul(line, A), lambda: tulle.solve_triangular(A, line)):
        with pytest.raises((TypeError, ValueError), match="dimensions|is sparse"):
            call()


def test_masked_elements_have_no_value():
    masked = np.ma.array(B, mask=B > 3)
    for call in (lambda: tulle.matmul(A, masked), lambda: tulle.cg(A, masked), lambda: tulle.solve_triangular(A, masked)):
        with pytest.raises(TypeError, match="masked"):
            call()
    assert np.allclose(tulle.matmul(A, np.ma.array(B)), A @ B)


@pytest.mark.parametrize("value", [None, "a", 1j])
def test_function_that_returns_no_number(value):
    with pytest.raises((TypeError, ValueError)) as caught:
        tulle.matfun(lambda x: value, A, blocks=3)
    assert "bad_cast" not in str(caught.value)


def test_pivots_whose_inverse_is_no_number():
    for dtype, tiny in ((np.float64, 1e-310), (np.float32, 1e-39)):
        D = sp.diags(np.where(np.arange(N) == 5, tiny, 1)).tocsr().astype(dtype)
        with pytest.raises(ValueError, match="row 5 has a pivot so small"):
            tulle.solve_triangular(D, np.zeros(N, dtype))
        x = tulle.solve_triangular(sp.identity(N, dtype, "csr") * dtype(np.finfo(dtype).tiny), np.zeros(N, dtype))
        assert (x == 0).all()


@pytest.mark.parametrize("n, block, decades", [(30, 20, 24), (60, 40, 24), (60, 40, 12), (90, 64, 30)])
def test_spectra_that_fall_steeply(n, block, decades):
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    H = (Q * np.logspace(0, -decades, n)) @ Q.T
    w = tulle.eigsh(sp.csr_matrix((H + H.T) / 2), 4, block=block, return_eigenvectors=False)
    assert np.allclose(w[::-1], np.logspace(0, -decades, n)[:4], rtol=1e-7)
