# SPDX-License-Identifier: Apache-2.0
"""torch's tensors in and out, and gradients against torch's own."""
import os
import pathlib
import pickle
import subprocess
import sys

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


def test_the_same_kind_out():
    A = sp.csr_matrix(sp.diags([-np.ones(29), 4 * np.ones(30), -np.ones(29)], [-1, 0, 1]))
    b = torch.rand(30, dtype=torch.float64)
    plain, iterates = b.numpy(), []
    for solve in (tulle.cg, tulle.gmres, tulle.block_cg, tulle.minres):
        for a in (A, tensor(A), torch.from_numpy(A.toarray())):
            x, info = solve(a, b, x0=b, M=tensor(sp.csr_matrix(sp.identity(30) / 4)), callback=iterates.append,
                            callback_type="x")
            assert info == 0 and isinstance(x, torch.Tensor) and x.shape == b.shape
            assert isinstance(iterates[-1], torch.Tensor) and bool((iterates[-1] == x).all())
            assert np.linalg.norm(A @ x.numpy() - plain) <= 1.01e-8 * np.linalg.norm(plain)  # rtol of a solve
        assert isinstance(solve(tensor(A), plain)[0], np.ndarray)  # b says it
    for B in (b, torch.rand(30, 2, dtype=torch.float64)):
        x = tulle.triangular(tensor(A)).solve(B)
        assert isinstance(x, torch.Tensor) and x.shape == B.shape
        np.testing.assert_allclose(sp.tril(A) @ x.numpy(), B.numpy(), rtol=1e-12)
        assert isinstance(tulle.solve_triangular(A, B), torch.Tensor)
        y = tulle.stream(A, columns=2) @ B
        assert isinstance(y, torch.Tensor)
        np.testing.assert_allclose(y.numpy(), A @ B.numpy(), rtol=1e-12)
        y = tulle.matmul(B if B.ndim == 1 else B.T, A)
        assert isinstance(y, torch.Tensor)
        np.testing.assert_allclose(y.numpy(), B.numpy().T @ A, rtol=1e-12)
    X = torch.rand(30, 4, dtype=torch.float64)
    for S in (tensor(A), wide(A)):
        D = tulle.sddmm(S, X, X)
        assert D.layout == torch.sparse_csr and D.col_indices().dtype == S.col_indices().dtype
        np.testing.assert_allclose(D.to_dense().numpy(), (X.numpy() @ X.numpy().T) * (A.toarray() != 0), rtol=1e-12)
    F = tulle.matfun("inverse", tensor(A), blocks=1)
    assert F.layout == torch.sparse_csr
    np.testing.assert_allclose(F.to_dense().numpy(), tulle.matfun("inverse", A, blocks=1).toarray(), rtol=1e-12)


# names whose calls take no matrix that a gradient could be of: handles are made by the functions in the table
WITHOUT_OPERANDS = {"CheckFailed", "Error", "FormatError", "NotConverged", "PCA", "Plan", "Preconditioner", "Report", "Step", "Stream",
                    "Triangular", "TulleWarning", "UnsupportedError", "build", "from_binsparse", "generate", "mpi", "read", "report", "threads"}


def test_no_gradient_is_lost(tmp_path):
    import tulle.torch

    def in_scipy(v):
        with tulle.inside_scipy(1):
            return A @ v

    A = sp.csr_matrix(sp.diags([-np.ones(11), 4 * np.ones(12), -np.ones(11)], [-1, 0, 1]))
    X, S, L = torch.rand(12, 2, dtype=torch.float64), tensor(A), tensor(sp.csr_matrix(sp.tril(A)))
    b = X[:, 0]
    calls = {
        "matmul A": (lambda v: tulle.matmul(v, X), S), "matmul B": (lambda v: tulle.matmul(S, v), X),
        "dense A": (lambda v: tulle.matmul(v, A), X.T), "gemm": (lambda v: tulle.gemm(v, X), X.T),
        "plan A": (lambda v: tulle.matmul_plan(S, X)(v, None), S),
        "plan B": (lambda v: tulle.matmul_plan(S, X)(None, v), X),
        "sddmm X": (lambda v: tulle.sddmm(S, v, X), X), "sddmm Y": (lambda v: tulle.sddmm(S, X, v), X),
        "cg A": (lambda v: tulle.cg(v, b), S), "cg b": (lambda v: tulle.cg(S, v), b),
        "cg x0": (lambda v: tulle.cg(S, b, v), b), "gmres M": (lambda v: tulle.gmres(S, b, M=v), S),
        "block_cg b": (lambda v: tulle.block_cg(S, v), X), "minres b": (lambda v: tulle.minres(S, v), X),
        "lsqr A": (lambda v: tulle.lsqr(v, b), S), "lsqr b": (lambda v: tulle.lsqr(S, v), b),
        "lsmr b": (lambda v: tulle.lsmr(S, v), X), "lsmr x0": (lambda v: tulle.lsmr(S, b, x0=v), b),
        "ic0": (tulle.ic0, S),
        "triangular A": (lambda v: tulle.triangular(v), L), "triangular b": (lambda v: tulle.triangular(L).solve(v), b),
        "solve_triangular": (lambda v: tulle.solve_triangular(L, v), b),
        "stream A": (lambda v: tulle.stream(v), S), "stream X": (lambda v: tulle.stream(S) @ v, b),
        "matfun": (lambda v: tulle.matfun("inverse", v, blocks=3), S),
        "density": (lambda v: tulle.density(v, blocks=3, mu=4.0), S), "Sparse": (tulle.torch.Sparse, S),
        "density S": (lambda v: tulle.density(S, v, blocks=3, mu=4.0), tensor(sp.csr_matrix(sp.identity(12)))),
        "ilu0": (tulle.ilu0, S), "jacobi": (tulle.jacobi, S), "block_matmul": (lambda v: tulle.block_matmul(v, blocks=3), S),
        "block_matmul B": (lambda v: tulle.block_matmul(S, v, blocks=3), S),
        "block_range_add": (lambda v: tulle.block_range_add(v, S, 0, 0, blocks=3), S),
        "block_range_add P": (lambda v: tulle.block_range_add(S, v, 0, 0, blocks=3), S),
        "matmul_plan": (lambda v: tulle.matmul_plan(S, v), X), "gmres b": (lambda v: tulle.gmres(S, v), b),
        "eigsh": (lambda v: tulle.eigsh(v, 2), S), "svds": (lambda v: tulle.svds(v, 2), S),
        "pca": (lambda v: tulle.pca(v, 2), S), "lobpcg A": (lambda v: tulle.lobpcg(v, X), S),
        "lobpcg X": (lambda v: tulle.lobpcg(S, v), X), "aslinearoperator": (tulle.aslinearoperator, S),
        "as_binsparse": (tulle.as_binsparse, S), "top_products A": (lambda v: tulle.top_products(v, S, 2), S),
        "top_products B": (lambda v: tulle.top_products(S, v, 2), S),
        "write": (lambda v: tulle.write(tmp_path / "gradient.mtx", v), S),
        "inside_scipy": (in_scipy, X),
    }
    for name in set(tulle.__all__) - WITHOUT_OPERANDS:
        assert any(call.split(" ")[0] == name for call in calls), name
    for name, (call, operand) in calls.items():
        call(operand)
        wanted = operand.clone().requires_grad_()
        # scipy's own conversion refuses it, too
        with pytest.raises(RuntimeError if name == "inside_scipy" else TypeError, match="requires? a? ?grad"):
            call(wanted)
            print(name)
        with torch.no_grad():
            call(wanted)


def test_plan_of_wide_indices():
    A, X = tensor(graph()).to_dense().to_sparse_csr(), torch.rand(34, 3, dtype=torch.float64)
    assert A.col_indices().dtype == torch.int64
    plan = tulle.matmul_plan(A, X)
    plan()
    twice = torch.sparse_csr_tensor(A.crow_indices(), A.col_indices(), 2 * A.values(), A.shape)
    np.testing.assert_allclose(plan(twice, X).numpy(), 2 * (graph() @ X.numpy()), rtol=1e-12)


def test_example(tmp_path):
    """The graph network of the example learns, as torch's own product does."""
    folder = pathlib.Path(os.environ.get("TULLE_MATRICES") or pathlib.Path(__file__).parents[3] / "shared" / "matrices")
    path = folder / "cora.mtx.gz"
    if not path.exists():  # a graph of the same kind
        path = tmp_path / "graph.mtx"
        tulle.write(path, tulle.generate("rmat:scale=9,edgefactor=4"))
    example = pathlib.Path(__file__).parents[1] / "examples" / "gcn.py"
    done = subprocess.run([sys.executable, str(example), str(path), "--epochs", "5"], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    (first, last), = [(float(line[2]), float(line[4].rstrip(","))) for line in lines if line[0] == "tulle"]
    assert last < first
    assert float(done.stdout.split("at most ")[1]) < 1e-4


def wide(A):
    """As torch makes them: indices of 64 bits."""
    T = tensor(A)
    return torch.sparse_csr_tensor(T.crow_indices().long(), T.col_indices().long(), T.values(), T.shape)


@pytest.mark.parametrize("made_of", [lambda A: A, tensor, wide])
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
    assert torch.autograd.gradgradcheck(lambda x, v: A.matmul(x, v), (X, values))


def test_many_widths():
    """Memory of a few widths is kept, those used last; results do not depend on it."""
    import tulle.torch

    A = tulle.torch.Sparse(graph())
    dense = torch.from_numpy(graph().toarray())
    for width in [*range(1, 200), 1, 2, 199]:
        X = torch.ones(34, width, dtype=torch.float64, requires_grad=True)
        Y = A @ X
        Y.sum().backward()
        np.testing.assert_allclose(Y.detach(), dense @ X.detach(), rtol=1e-12)
    kept = A._multipliers
    assert len(kept) == tulle.torch._MULTIPLIERS and list(kept)[-2:] == [(False, 199), (True, 199)]
    assert sum(one.x.nbytes + one.y.nbytes for one in kept.values()) <= 8 * (30 + 34) * 199 * len(kept)


def test_pickle():
    import tulle.torch

    for made_of in (graph(), tensor(graph()), wide(graph())):
        A = tulle.torch.Sparse(made_of, torch.float32)
        X = torch.rand(34, 2)
        assert torch.equal(pickle.loads(pickle.dumps(A)) @ X, A @ X)


def test_operators_say_what_they_require():
    import tulle.torch

    if hasattr(torch.library, "register_autograd"):
        assert tulle.torch.spmm
        return
    for name in tulle.torch._OPERATORS:
        with pytest.raises(ImportError, match=f"{name} requires torch 2.4 or later, and this is {torch.__version__}"):
            getattr(tulle.torch, name)
    with pytest.raises(ImportError, match="2.4"):
        from tulle.torch import spmm  # noqa: F401
    with pytest.raises(AttributeError, match="no_such"):
        tulle.torch.no_such


def test_unordered_columns_of_sddmm():
    unchecked = getattr(torch, "_sparse_csr_tensor_unsafe", torch.sparse_csr_tensor)  # torch 1.13 checks
    A = unchecked(torch.tensor([0, 2, 3]), torch.tensor([1, 0, 1]), torch.ones(3, dtype=torch.float64), (2, 2))
    with pytest.raises(ValueError, match="ascending"):
        tulle.sddmm(A, torch.eye(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64))
