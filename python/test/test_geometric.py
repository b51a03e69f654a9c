# SPDX-License-Identifier: Apache-2.0
"""Layers of PyG with a Graph, against PyG's own with the edges that it was made from."""
import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn", reason="there is no PyG (torch-geometric)")

if not hasattr(torch.library, "register_autograd"):
    pytest.skip(f"tulle.geometric requires torch 2.4, and this is {torch.__version__}", allow_module_level=True)

import tulle.geometric  # noqa: E402
from tulle.torch import Graph  # noqa: E402

NODES = 12


def edges(loops=True, repeated=False, sources=NODES):
    made = torch.Generator().manual_seed(3)
    present = torch.rand(sources, NODES, generator=made) < 0.25
    present[:, 4] = False  # no edge comes to this node
    present.fill_diagonal_(False)
    if loops:
        present[1, 1] = present[6, 6] = True
    index = present.nonzero().t()
    if repeated:
        index = torch.cat((index, index[:, :5]), 1)
    return index[:, torch.randperm(index.shape[1], generator=made)]


def numbers(*shape, seed=1):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def alike(theirs, index, x, **more):
    """Results, and gradients by parameters and features, of a layer and its converted copy."""
    theirs = theirs.double()
    ours = tulle.geometric.convert(copy.deepcopy(theirs))
    assert type(ours) is getattr(tulle.geometric, type(theirs).__name__)
    nodes = (NODES, NODES) if isinstance(x, torch.Tensor) else (NODES, len(x[0]))
    results = []
    for conv, structure in ((theirs, index), (ours, Graph.from_edge_index(index, nodes)), (ours, index)):
        conv.zero_grad()
        given = [part.clone().requires_grad_() for part in ([x] if isinstance(x, torch.Tensor) else x)]
        weights = {name: value.clone().requires_grad_() for name, value in more.items()}
        size = {} if isinstance(x, torch.Tensor) else {"size": (len(x[0]), NODES)}
        y = conv(given[0] if size == {} else tuple(given), structure, **weights, **size)
        y.square().sum().backward()
        gradients = [leaf.grad for leaf in (*given, *weights.values(), *conv.parameters())]
        results.append([y.detach(), *(g if g is not None else torch.zeros(0) for g in gradients)])
    for result in results[1:]:
        for a, b in zip(results[0], result):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


EDGES = pytest.mark.parametrize("index", [edges(), edges(loops=False), edges(repeated=True)],
                                ids=["loops", "none", "repeated"])


@EDGES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [
    {}, {"improved": True}, {"normalize": False}, {"add_self_loops": False}, {"bias": False}, {"cached": True},
    {"aggr": "mean"}, {"aggr": "max"}, {"flow": "target_to_source"}], ids=str)
def test_gcn(index, weighted, options):
    weight = {"edge_weight": 0.5 + numbers(index.shape[1])} if weighted else {}
    if "cached" in options:
        theirs = pyg.GCNConv(5, 3, **options).double()
        conv = tulle.geometric.convert(copy.deepcopy(theirs))
        G, x = Graph.from_edge_index(index, NODES), numbers(NODES, 5)
        for _ in range(2):  # the second call does not read the weights
            torch.testing.assert_close(conv(x, G, *weight.values()), theirs(x, index, *weight.values()))
            weight = {name: value * 7 for name, value in weight.items()}
        return
    alike(pyg.GCNConv(5, 3, **options), index, numbers(NODES, 5), **weight)


@EDGES
@pytest.mark.parametrize("options", [
    {}, {"aggr": "sum"}, {"aggr": "max"}, {"aggr": "min"}, {"aggr": "std"}, {"aggr": ["mean", "max"]},
    {"normalize": True}, {"root_weight": False}, {"project": True}], ids=str)
def test_sage(index, options):
    alike(pyg.SAGEConv(5, 3, **options), index, numbers(NODES, 5))


def test_sage_of_two_kinds_of_nodes():
    index = edges(loops=False, sources=7)
    alike(pyg.SAGEConv((5, 4), 3), index, (numbers(7, 5), numbers(NODES, 4, seed=2)))


@EDGES
@pytest.mark.parametrize("options", [
    {}, {"heads": 3}, {"heads": 2, "concat": False}, {"add_self_loops": False}, {"residual": True}, {"bias": False}], ids=str)
def test_gat(index, options):
    alike(pyg.GATConv(5, 3, **options), index, numbers(NODES, 5))


@pytest.mark.parametrize("loops", [False, True])
def test_gat_with_attributes(loops):
    index = edges()
    alike(pyg.GATConv(5, 3, heads=2, edge_dim=4, add_self_loops=loops), index, numbers(NODES, 5),
          edge_attr=numbers(index.shape[1], 4))


def test_gat_of_two_kinds_of_nodes():
    index = edges(loops=False, sources=7)
    alike(pyg.GATConv((5, 4), 3, add_self_loops=False), index, (numbers(7, 5), numbers(NODES, 4, seed=2)))


def test_attention_weights():
    index, x, conv = edges(), numbers(NODES, 5), pyg.GATConv(5, 3, heads=2).double()
    theirs, (their_edges, their_shares) = conv(x, index, return_attention_weights=True)
    ours, (our_edges, our_shares) = tulle.geometric.convert(conv)(x, Graph.from_edge_index(index, NODES),
                                                                  return_attention_weights=True)
    torch.testing.assert_close(theirs, ours)
    order, other = (torch.argsort(e[1] * NODES + e[0]) for e in (their_edges, our_edges))
    assert torch.equal(their_edges[:, order], our_edges[:, other])
    torch.testing.assert_close(their_shares[order], our_shares[other])


def test_convert():
    model = torch.nn.ModuleList([pyg.GCNConv(5, 4), torch.nn.ReLU(), pyg.SAGEConv(4, 4), pyg.GATConv(4, 2),
                                 pyg.GINConv(torch.nn.Linear(2, 2))])
    before = {name: value.data_ptr() for name, value in model.named_parameters()}
    assert tulle.geometric.convert(model) is model
    assert {name: value.data_ptr() for name, value in model.named_parameters()} == before
    assert [type(module).__module__ for module in model[:1]] == ["tulle.geometric"] and type(model[4]) is pyg.GINConv
    G, x = Graph.from_edge_index(edges(), NODES), torch.rand(NODES, 5)
    again = pickle.loads(pickle.dumps(model))
    for layers in (model, again):
        y = layers[3](layers[2](layers[0](x, G), G), G)
        assert torch.equal(y, model[3](model[2](model[0](x, G), G), G))


def test_inference_comes_first():
    """A graph keeps what is made in inference mode, and it serves training."""
    conv, x = tulle.geometric.convert(pyg.GCNConv(5, 3)), torch.rand(NODES, 5)
    attention, G = tulle.geometric.convert(pyg.GATConv(5, 3)), Graph.from_edge_index(edges(), NODES)
    with torch.inference_mode():
        expected = conv(x, G), attention(x, G)
    for layer, y in zip((conv, attention), expected):
        out = layer(x, G)
        out.square().sum().backward()
        torch.testing.assert_close(out.detach(), y.clone())
        assert all(parameter.grad is not None for parameter in layer.parameters())


def test_hooks_are_called():
    """A hook on messages is PyG's: they are made for it."""
    seen, conv = [], tulle.geometric.convert(pyg.GCNConv(5, 3))
    conv.register_message_forward_hook(lambda module, inputs, out: seen.append(out.shape))
    conv(torch.rand(NODES, 5), Graph.from_edge_index(edges(), NODES))
    assert seen
    with pytest.raises(TypeError, match="convert"):
        tulle.geometric.GCNConv(5, 3)
