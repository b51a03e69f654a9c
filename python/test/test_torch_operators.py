# SPDX-License-Identifier: Apache-2.0
"""Operators of torch.library: against dense products, and with what torch does to operators."""
import os
import pickle
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest

import tulle

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "register_autograd"):
    pytest.skip(f"operators require torch 2.4, and this is {torch.__version__}", allow_module_level=True)

import tulle.torch  # noqa: E402
from tulle.torch import Graph, at_columns, at_rows, sddmm, softmax, spgemm, spmm  # noqa: E402

OPS = torch.ops.tulle


def graph(rows=7, cols=9, density=0.3, index=torch.int64, seed=0, kind="ordered"):
    """A structure whose third row is empty; unordered: columns descend, and an entry occurs twice."""
    made = torch.Generator().manual_seed(seed)
    dense = torch.rand(rows, cols, generator=made) < density
    dense[2] = False
    dense[0, :2] = True
    row, col = dense.nonzero().t()
    if kind == "unordered":
        row, col = torch.cat((row, row[:2])), torch.cat((col, col[:2]))
        order = torch.argsort(row * cols + (cols - 1 - col), stable=True)
        row, col = row[order], col[order]
    crow = torch.searchsorted(row, torch.arange(rows + 1))
    return Graph(crow.to(index), col.to(index), cols)


def numbers(*shape, seed=1, dtype=torch.float64, grad=False):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype).requires_grad_(grad)


def dense(G, values):
    """(rows, columns), or (heads, rows, columns); entries that occur twice are added."""
    if values.ndim == 2:
        return torch.stack([dense(G, values[:, head]) for head in range(values.shape[1])])
    return torch.zeros(G.shape, dtype=values.dtype).index_put((G.rows, G.col.long()), values, accumulate=True)


def close(a, b):
    tolerance = 1e-5 if a.dtype == torch.float32 else 1e-12
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


KINDS = pytest.mark.parametrize("kind", ["ordered", "unordered"])
INDICES = pytest.mark.parametrize("index", [torch.int64, torch.int32])


@KINDS
@INDICES
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("planned", [False, True], ids=["direct", "reverse"])
def test_spmm(kind, index, dtype, transpose, planned):
    G = graph(index=index, kind=kind)
    reverse = G.reverse if planned else ()
    rows = G.shape[0] if transpose else G.shape[1]
    values, wide = numbers(G.entries, dtype=dtype), numbers(rows, 5, dtype=dtype)
    A = dense(G, values)
    close(OPS.spmm(G.crow, G.col, values, wide, G.shape[1], transpose, *reverse), (A.t() if transpose else A) @ wide)
    heads, B = numbers(G.entries, 3, dtype=dtype), numbers(rows, 3, 4, dtype=dtype)
    A = dense(G, heads)
    expected = torch.einsum("hji,jhf->ihf" if transpose else "hij,jhf->ihf", A, B)
    close(OPS.spmm(G.crow, G.col, heads, B, G.shape[1], transpose, *reverse), expected)


@KINDS
@INDICES
def test_sddmm(kind, index):
    G = graph(index=index, kind=kind)
    X, Y = numbers(7, 5), numbers(9, 5, seed=2)
    close(sddmm(G, X, Y), (X @ Y.t())[G.rows, G.col.long()])
    X, Y = numbers(7, 2, 5), numbers(9, 2, 5, seed=2)
    close(sddmm(G, X, Y), torch.einsum("ihf,jhf->ijh", X, Y)[G.rows, G.col.long()])
    close(sddmm(G, X[:, 1], Y.transpose(1, 2)[:, :, 0]), (X[:, 1] @ Y[:, 0].t())[G.rows, G.col.long()])  # with gaps


@KINDS
@INDICES
@pytest.mark.parametrize("slab", [None, 3])
def test_spgemm(kind, index, slab, monkeypatch):
    if slab:
        monkeypatch.setattr("tulle._torch_kernels._SLAB", slab)
    G, H = graph(index=index, kind=kind), graph(9, 6, seed=3, index=index, kind=kind)
    a, b = numbers(G.entries), numbers(H.entries, seed=2)
    C, c = spgemm(G, H, a, b)
    assert C.crow.dtype == C.col.dtype == index and (C.col.diff()[C.rows.diff() == 0] > 0).all()
    product = dense(G, a) @ dense(H, b)
    close(dense(C, c), product)
    mask = graph(7, 6, 0.5, seed=5, index=index, kind=kind)
    sampled = OPS.spgemm_sampled(mask.crow, mask.col, G.crow, G.col, a, H.crow, H.col, b, 6)
    close(sampled, product[mask.rows, mask.col.long()])


@KINDS
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("transpose", [False, True])
def test_reductions(kind, reduce, transpose):
    G = graph(kind=kind)
    rows, cols = G.shape[::-1] if transpose else G.shape
    row, col = (G.col, G.rows) if transpose else (G.rows, G.col)
    for heads in ((), (2,)):
        values, B = numbers(G.entries, *heads), numbers(cols, *heads, 3, seed=4)
        C = spmm(G, B, values, reduce=reduce, transpose=transpose)
        messages = values.unsqueeze(-1) * B[col]
        for i in range(rows):
            own = messages[row == i]
            if not len(own):
                assert not C[i].any()
                continue
            expected = {"sum": own.sum(0), "mean": own.mean(0), "max": own.amax(0), "min": own.amin(0)}[reduce]
            close(C[i], expected)


def test_shapes_of_factors():
    G = graph()
    values, B = numbers(G.entries), numbers(9, 2, 3)
    close(spmm(G, B[:, 0, 0], values), dense(G, values) @ B[:, 0, 0])
    close(spmm(G, B, values), torch.einsum("ij,jhf->ihf", dense(G, values), B))
    heads = numbers(G.entries, 2)
    close(spmm(G, B[:, :, 0], heads), torch.einsum("hij,jh->ih", dense(G, heads), B[:, :, 0]))
    close(spmm(G, B), torch.einsum("ij,jhf->ihf", dense(G, torch.ones(G.entries, dtype=B.dtype)), B))
    A = G.tensor(values)
    close(spmm(A, B[:, 0]), A.to_dense() @ B[:, 0])
    for empty in (Graph(torch.zeros(4, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), 3),
                  Graph(torch.zeros(1, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), 3)):
        nothing = spmm(empty, numbers(3, 2))
        assert nothing.shape == (empty.shape[0], 2) and not nothing.any()
        assert sddmm(empty, numbers(empty.shape[0], 2), numbers(3, 2)).shape == (0,)
        assert spmm(empty, numbers(3, 2), reduce="max").shape == (empty.shape[0], 2)
        assert softmax(empty, numbers(0)).shape == (0,)
    assert spmm(G, numbers(9, 0)).shape == (7, 0)


def test_ties_and_what_is_no_number():
    G = Graph(torch.tensor([0, 3, 3]), torch.tensor([0, 1, 2]), 3)
    B = torch.tensor([[1.0], [2.0], [2.0]], requires_grad=True)
    C = spmm(G, B, reduce="max")
    C.sum().backward()
    assert C.tolist() == [[2.0], [0.0]] and B.grad.tolist() == [[0.0], [1.0], [0.0]]  # the first of the two
    assert spmm(G, torch.tensor([[1.0], [torch.nan], [2.0]]), reduce="max").isnan().tolist() == [[True], [False]]
    assert spmm(G, torch.tensor([[-torch.inf]] * 3), reduce="max").tolist() == [[-torch.inf], [0.0]]


@KINDS
def test_softmax(kind):
    G = graph(kind=kind)
    for scores in (numbers(G.entries), 1e4 * numbers(G.entries, 3)):
        shares = softmax(G, scores)
        for i in range(G.shape[0]):
            close(shares[G.rows == i], torch.softmax(scores[G.rows == i], 0))
    x, y = numbers(7, 2), numbers(9, 2)
    assert (at_rows(G, x) == x[G.rows]).all() and (at_columns(G, y) == y[G.col]).all()


def test_graph():
    edges = torch.tensor([[0, 1, 2, 2, 0], [1, 0, 2, 1, 3]])
    G, weights = Graph.from_edge_index(edges), torch.arange(1.0, 6)
    expected = torch.zeros(4, 4)
    expected[edges[1], edges[0]] = weights
    assert torch.equal(dense(G, G.permuted(weights)), expected)
    assert torch.equal(G.edge_index, edges[:, G.order]) and G.degrees.tolist() == [1, 2, 1, 1]
    assert torch.equal(dense(G.T, G.T.permuted(G.permuted(weights))), expected.t())
    L = G.with_loops()
    assert L is G.with_loops() and L.entries == 8
    fill = torch.cat((G.permuted(weights), torch.full((4,), 9.0)))
    expected.fill_diagonal_(9)
    assert torch.equal(dense(L, L.permuted(fill)), expected)
    assert Graph.from_edge_index(edges[:, :0]).shape == (0, 0)
    assert Graph.from_edge_index(edges, (5, 3)).shape == (5, 3)
    for wrong in (2, (4, 2)):
        with pytest.raises(ValueError, match="out of range"):
            Graph.from_edge_index(edges, wrong)
    with pytest.raises(ValueError, match="torch.sparse_csr is required"):
        Graph.from_tensor(torch.eye(3).to_sparse())
    again = pickle.loads(pickle.dumps(G))
    assert torch.equal(spmm(again, torch.eye(4)), spmm(G, torch.eye(4)))


# ---- what torch does to operators: a function and its operands for each of them ----

G, H, M = graph(5, 6), graph(6, 4, seed=3), graph(5, 4, 0.5, seed=5)
G.reverse, H.reverse


def distinct(*shape, seed=1):
    """Numbers whose products with others differ by more than what differences are taken over."""
    return numbers(*shape, seed=seed) + 0.1 * torch.arange(int(np.prod(shape))).reshape(shape)


CASES = {
    "spmm": (lambda v, B: OPS.spmm(G.crow, G.col, v, B, 6), numbers(G.entries), numbers(6, 2)),
    "spmm transposed": (lambda v, B: OPS.spmm(G.crow, G.col, v, B, 6, True), numbers(G.entries), numbers(5, 2)),
    "spmm reverse": (lambda v, B: OPS.spmm(G.crow, G.col, v, B, 6, False, *G.reverse), numbers(G.entries), numbers(6, 2)),
    "spmm heads": (lambda v, B: OPS.spmm(G.crow, G.col, v, B, 6), numbers(G.entries, 2), numbers(6, 2, 3)),
    "sddmm": (lambda X, Y: OPS.sddmm(G.crow, G.col, X, Y), numbers(5, 2), numbers(6, 2)),
    "sddmm heads": (lambda X, Y: OPS.sddmm(G.crow, G.col, X, Y), numbers(5, 2, 3), numbers(6, 2, 3)),
    "spgemm": (lambda a, b: OPS.spgemm(G.crow, G.col, a, H.crow, H.col, b, 4)[0], numbers(G.entries), numbers(H.entries)),
    "spgemm_sampled": (lambda a, b: OPS.spgemm_sampled(M.crow, M.col, G.crow, G.col, a, H.crow, H.col, b, 4),
                       numbers(G.entries), numbers(H.entries)),
    "max": (lambda v, B: OPS.extreme(G.crow, G.col, v, B, False)[0], distinct(G.entries), distinct(6, 2, seed=2)),
    "min heads": (lambda v, B: OPS.extreme(G.crow, G.col, v, B, True)[0], distinct(G.entries, 2), distinct(6, 2, 3, seed=2)),
    "mean": (lambda v, B: spmm(G, B, v, reduce="mean"), numbers(G.entries), numbers(6, 2)),
    "softmax": (lambda v: OPS.softmax(G.crow, v), numbers(G.entries)),
    "softmax heads": (lambda v: OPS.softmax(G.crow, v), numbers(G.entries, 3)),
    "spread": (lambda x: at_rows(G, x), numbers(5, 2)),
    "collect": (lambda v: OPS.collect(v, G.col, G.reverse[0], G.reverse[2]), numbers(G.entries, 2)),
}
OPERATORS = pytest.mark.parametrize("name", CASES)


def required(operands):
    return [operand.detach().clone().requires_grad_() for operand in operands]


@OPERATORS
def test_first_and_second_derivatives(name):
    function, *operands = CASES[name]
    operands = required(operands)
    assert torch.autograd.gradcheck(function, operands)
    assert torch.autograd.gradgradcheck(function, operands)


def test_every_operator_has_a_case():
    from tulle._torch_batching import _VALUES

    of = {"max": "extreme", "min": "extreme", "mean": "spmm"}
    assert {of.get(name.split(" ")[0], name.split(" ")[0]) for name in CASES} == set(_VALUES)


@pytest.mark.parametrize("name, operands", [
    ("spmm", (G.crow, G.col, numbers(G.entries), numbers(6, 2), 6)),
    ("spmm", (G.crow, G.col, numbers(G.entries, 2), numbers(6, 2, 3), 6, False, *G.reverse)),
    ("sddmm", (G.crow, G.col, numbers(5, 2), numbers(6, 2))),
    ("spgemm", (G.crow, G.col, numbers(G.entries), H.crow, H.col, numbers(H.entries), 4)),
    ("spgemm_sampled", (M.crow, M.col, G.crow, G.col, numbers(G.entries), H.crow, H.col, numbers(H.entries), 4)),
    ("extreme", (G.crow, G.col, distinct(G.entries), distinct(6, 2, seed=2), False)),
    ("softmax", (G.crow, numbers(G.entries))),
    ("by_rows", (torch.tensor([3, 0, 3, 1]), torch.tensor([1, 2, 0, 1]), 4, 3)),
    ("transposed", (G.crow, G.col, 6)),
    ("spread", (numbers(5, 2), G.rows, G.crow)),
    ("collect", (numbers(G.entries, 2), G.col, G.reverse[0], G.reverse[2])),
])
@pytest.mark.parametrize("grad", [False, True])
def test_opcheck(name, operands, grad):
    """Schemas, shapes without values and registrations are as torch wants them."""
    operands = [x.clone().requires_grad_(grad) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
                for x in operands]
    torch.library.opcheck(getattr(OPS, name).default, tuple(operands))


BACKENDS = ["eager", "aot_eager", pytest.param("inductor", marks=[
    pytest.mark.long, pytest.mark.skipif(not shutil.which("g++"), reason="inductor compiles by g++, which is not here")])]


@OPERATORS
@pytest.mark.parametrize("backend", BACKENDS)
def test_compile(name, backend):
    function, *operands = CASES[name]
    torch._dynamo.reset()
    if name == "spgemm":
        torch._dynamo.config.capture_dynamic_output_shape_ops = True
    compiled = torch.compile(function, backend=backend, fullgraph=True)
    plain, other = required(operands), required(operands)
    expected, result = function(*plain), compiled(*other)
    close(result, expected)
    expected.sum().backward()
    result.sum().backward()
    for a, b in zip(plain, other):
        close(a.grad, b.grad)


@OPERATORS
def test_vmap(name):
    function, *operands = CASES[name]
    batches = [torch.stack([operand * (1 + k) for k in range(3)]) for operand in operands]
    expected = torch.stack([function(*(batch[k] for batch in batches)) for k in range(3)])
    close(torch.vmap(function)(*batches), expected)
    last = [batch.movedim(0, -1) for batch in batches]
    close(torch.vmap(function, in_dims=-1, out_dims=1)(*last), expected.movedim(0, 1))
    for alone in range(len(operands)):  # one of them of the batch
        given = [batches[at] if at == alone else operand for at, operand in enumerate(operands)]
        dims = tuple(0 if at == alone else None for at in range(len(operands)))
        expected = torch.stack([function(*(x[k] if at == alone else x for at, x in enumerate(given))) for k in range(3)])
        close(torch.vmap(function, in_dims=dims)(*given), expected)


@OPERATORS
def test_gradients_of_a_batch(name):
    """vmap over gradients of the result: rows of Jacobians."""
    function, *operands = CASES[name]
    operands = required(operands)
    result = function(*operands)
    batch = numbers(3, *result.shape, seed=8)
    together = torch.autograd.grad(result, operands, batch, is_grads_batched=True, retain_graph=True)
    for k in range(3):
        for own, one in zip(together, torch.autograd.grad(result, operands, batch[k], retain_graph=True)):
            close(own[k], one)


def test_vmap_of_structures_is_refused():
    values, B = numbers(G.entries), numbers(6, 2)
    with pytest.raises(ValueError, match="structures"):
        torch.vmap(lambda col: OPS.spmm(G.crow, col, values, B, 6))(G.col.expand(3, -1))


@OPERATORS
def test_no_plan_is_made(name, monkeypatch):
    """Small graphs of a batch are multiplied at once."""
    function, *operands = CASES[name]
    monkeypatch.setattr("tulle._core.Plan", None)
    operands = required(operands)
    function(*operands).sum().backward()


class Net(torch.nn.Module):
    """Two layers, with attention of two heads in the first."""

    def __init__(self, structure):
        super().__init__()
        torch.manual_seed(0)
        self.graph = structure
        self.first, self.score, self.second = torch.nn.Linear(4, 6), torch.nn.Linear(4, 2), torch.nn.Linear(6, 3)

    def forward(self, x):
        shares = softmax(self.graph, at_rows(self.graph, self.score(x)) + at_columns(self.graph, self.score(x)))
        hidden = torch.relu(spmm(self.graph, self.first(x).reshape(-1, 2, 3), shares)).flatten(1)
        return spmm(self.graph, self.second(hidden), reduce="mean")


def square():
    structure = graph(6, 6, 0.4, seed=9)
    structure.reverse
    return structure


def gradients(net):
    return [parameter.grad.clone() for parameter in net.parameters()]


def test_autocast():
    net, x = Net(square()), numbers(6, 4, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        y = net(x)
        assert OPS.spmm(G.crow, G.col, numbers(G.entries).bfloat16(), numbers(6, 2).bfloat16(), 6).dtype == torch.float32
    assert y.dtype == torch.float32
    y.sum().backward()
    assert all(parameter.grad.dtype == torch.float32 and parameter.grad.isfinite().all() for parameter in net.parameters())
    torch.testing.assert_close(y, net(x), rtol=0.1, atol=0.1)
    half = numbers(6, 2).bfloat16().requires_grad_()
    spmm(G, half).sum().backward()
    assert half.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    from torch.utils.checkpoint import checkpoint

    net, x = Net(square()), numbers(6, 4, dtype=torch.float32, grad=True)
    net(x).square().sum().backward()
    expected = [x.grad.clone(), *gradients(net)]
    net.zero_grad(), x.grad.zero_()
    checkpoint(net, x, use_reentrant=reentrant).square().sum().backward()
    for a, b in zip([x.grad, *gradients(net)], expected):
        close(a, b)


def test_pickle():
    net, x = Net(square()), numbers(6, 4, dtype=torch.float32)
    assert torch.equal(pickle.loads(pickle.dumps(net))(x), net(x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_compile_a_net(backend):
    torch._dynamo.reset()
    net, other, x = Net(square()), Net(square()), numbers(6, 4, dtype=torch.float32)
    net(x).square().sum().backward()
    torch.compile(other, backend=backend, fullgraph=True)(x).square().sum().backward()
    for a, b in zip(gradients(net), gradients(other)):
        torch.testing.assert_close(a, b)


RANK = """
import sys, torch, torch.distributed as dist
sys.path.insert(0, {folder!r})
from test_torch_operators import Net, gradients, numbers, square
rank = int(sys.argv[1])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:{port}", rank=rank, world_size=2)
net, x = Net(square()), numbers(6, 4, dtype=torch.float32)
parallel = torch.nn.parallel.DistributedDataParallel(net)  # hooks end with it
parallel(x * (1 + rank)).square().sum().backward()
mean, alone = gradients(net), []
for k in (1, 2):
    net = Net(square())
    net(x * k).square().sum().backward()
    alone.append(gradients(net))
for m, a, b in zip(mean, *alone):
    torch.testing.assert_close(m, (a + b) / 2)
dist.destroy_process_group()
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_ddp(tmp_path):
    """Two ranks of gloo: the mean of their gradients on both."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = RANK.format(folder=os.path.dirname(os.path.abspath(__file__)), port=port)
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ranks = [subprocess.Popen([sys.executable, "-c", program, str(rank)], cwd=tmp_path, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(2)]
    try:
        outputs = [rank.communicate(timeout=240)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0, 0], "\n".join(outputs)


# ---- what is refused ----

def test_refused():
    values, B = numbers(G.entries), numbers(6, 2)
    for call, error, words in [
        (lambda: spmm(G, B.to(torch.complex64), values), TypeError, "B is of torch.complex64"),
        (lambda: spmm(G, B, values.long()), TypeError, "values is of torch.int64"),
        (lambda: spmm(G, B[1:], values), ValueError, "6 rows"),
        (lambda: spmm(G, B, values[1:]), ValueError, "entries"),
        (lambda: spmm(G, numbers(6, 3, 2), numbers(G.entries, 2)), ValueError, "2 heads"),
        (lambda: spmm(G, B, values, reduce="prod"), ValueError, "prod"),
        (lambda: spmm(B, B), ValueError, "torch.sparse_csr is required"),
        (lambda: sddmm(G, numbers(5, 2), numbers(5, 2)), ValueError, "6 columns"),
        (lambda: sddmm(G, numbers(5, 2), numbers(6, 3)), ValueError, "differ"),
        (lambda: spgemm(G, G), ValueError, "do not match"),
        (lambda: OPS.spmm(G.crow.float(), G.col, values, B, 6), TypeError, "crow is of torch.float32"),
        (lambda: OPS.spmm(G.crow, G.col + 6, values, B, 6), ValueError, "entry"),
    ]:
        with pytest.raises(error, match=words):
            call()


def test_gradient_of_a_sparse_tensor():
    """Values of a CSR tensor that is made of them, in both factors."""
    v, B = numbers(G.entries, grad=True), numbers(6, 2, grad=True)
    A = torch.sparse_csr_tensor(G.crow, G.col, v, G.shape)
    spmm(A, B).square().sum().backward()
    expected = torch.autograd.grad((dense(G, v) @ B).square().sum(), (v, B))
    close(v.grad, expected[0])
    close(B.grad, expected[1])
