# SPDX-License-Identifier: Apache-2.0
"""torch's tensors in and out, and gradients against torch's own."""
import numpy as np
import pytest
import scipy.sparse as sp

import tulle

torch = pytest.importorskip("torch")


def graph(n=30, dtype=np.float64):
    return sp.csr_matrix(sp.random(n, n + 4, 0.2, "csr", random_state=7).astype(dtype))


def tensor(A):
    return torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), torch.from_numpy(A.data), A.shape)


def test_matmul():
    A, X = graph(), np.random.default_rng(1).random((34, 5))
    Y = tulle.matmul(tensor(A), torch.from_numpy(X))
    assert isinstance(Y, torch.Tensor)
    np.testing.assert_allclose(Y.numpy(), A @ X, rtol=1e-12)
    C = tulle.matmul(tensor(A), tensor(sp.csr_matrix(A.T)))
    assert C.layout == torch.sparse_csr
    np.testing.assert_allclose(C.to_dense().numpy(), (A @ A.T).toarray(), rtol=1e-12)


@pytest.mark.parametrize("made_of", [lambda A: A, tensor])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_gradients(dtype, made_of):
    import tulle.torch

    A = tulle.torch.Sparse(made_of(graph()), dtype)
    dense = torch.from_numpy(graph().toarray()).to(dtype)
    rows, cols = graph().nonzero()
    for width in (1, 3, 8):
        X = torch.rand(34, width, dtype=dtype, requires_grad=True)
        values = A.values.clone().requires_grad_(True)
        for _ in range(2):
            Y = A.matmul(X, values)
            (Y * Y).sum().backward()
            D, Z = dense.clone().requires_grad_(True), X.detach().clone().requires_grad_(True)
            W = D @ Z
            (W * W).sum().backward()
            tolerance = 1e-4 if dtype == torch.float32 else 1e-11
            np.testing.assert_allclose(Y.detach(), W.detach(), rtol=tolerance)
            np.testing.assert_allclose(X.grad, Z.grad, rtol=tolerance)
            np.testing.assert_allclose(values.grad, D.grad[rows, cols], rtol=tolerance)
            X.grad = values.grad = None
            with torch.no_grad():
                values *= 2
                dense = dense * 2
        dense = torch.from_numpy(graph().toarray()).to(dtype)
    assert (A @ X).shape == (30, 8)
    with pytest.raises(ValueError, match="columns"):
        A @ torch.ones(3, 2, dtype=dtype)


def test_gradcheck():
    import tulle.torch

    A = tulle.torch.Sparse(graph(6))
    X = torch.rand(10, 2, dtype=torch.float64, requires_grad=True)
    values = A.values.clone().requires_grad_(True)
    assert torch.autograd.gradcheck(lambda x, v: A.matmul(x, v), (X, values))
