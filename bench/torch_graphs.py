#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators for torch and PyG's layers by them, beside torch's own sparse products and PyG's own layers, in one run.

    torch_graphs.py [--width 64] [--reps 15] [--threads 1] [MATRIX ...]

A matrix is a file, a name in the folder of matrices, or a generator's spec; its pattern is an undirected graph, in
single precision. Products and layers run forward and backward. Who multiplies takes turns; a figure is the median of
milliseconds, with its ratio to Tulle's. The last rows are batches of small graphs, of which each step has another one:
what is made of its edges counts.
"""
import argparse
import statistics
import time

import scipy.sparse as sp
import torch
import torch_geometric
import torch_geometric.nn as pyg
from python_products import load

import tulle.geometric
import tulle.torch
from tulle.torch import Graph

MATRICES = ["cora", "pubmed", "rmat:scale=13,edgefactor=8"]


def undirected(A):
    """Edges in both directions, no loops: (2, edges)."""
    A = sp.csr_matrix(A)
    A = A + A.T
    A.setdiag(0)
    A.eliminate_zeros()
    A = A.tocoo()
    return torch.stack((torch.from_numpy(A.row).long(), torch.from_numpy(A.col).long()))


def molecules(count, nodes, seed):
    """A batch of small graphs, rings with a few more edges, as one."""
    made = torch.Generator().manual_seed(seed)
    ring = torch.arange(nodes)
    parts = []
    for k in range(count):
        more = torch.randint(nodes, (2, nodes // 4), generator=made)
        own = torch.cat((torch.stack((ring, (ring + 1) % nodes)), more), 1) + k * nodes
        parts += [own, own.flip(0)]
    return torch.unique(torch.cat(parts, 1), dim=1)


def both_ways(function, *leaves):
    """Forward and backward."""
    def run():
        for leaf in leaves:
            leaf.grad = None
        function().sum().backward()

    return run


def products(edges, nodes, width):
    graph = Graph.from_edge_index(edges, nodes)
    values = torch.rand(graph.entries)
    csr, coo = graph.tensor(values), graph.tensor(values).to_sparse_coo().coalesce()
    X, Y = (torch.rand(nodes, width, requires_grad=True) for _ in range(2))
    rows, columns = graph.rows, graph.col
    heads, wide = torch.rand(graph.entries, 4, requires_grad=True), torch.rand(nodes, 4, width // 4, requires_grad=True)

    def gathered():
        return torch.zeros(nodes, 4, width // 4).index_add(0, rows, heads[:, :, None] * wide[columns])

    with torch.no_grad():
        yield "A X", {"Tulle": lambda: tulle.torch.spmm(graph, X, values), "torch CSR": lambda: torch.sparse.mm(csr, X),
                      "torch COO": lambda: torch.sparse.mm(coo, X)}
        yield "A A", {"Tulle": lambda: tulle.torch.spgemm(graph, graph, values, values), "torch CSR": lambda: csr @ csr,
                      "torch COO": lambda: torch.sparse.mm(coo, coo)}
    yield "A X, gradient by X", {"Tulle": both_ways(lambda: tulle.torch.spmm(graph, X, values), X),
                                 "torch CSR": both_ways(lambda: torch.sparse.mm(csr, X), X),
                                 "torch COO": both_ways(lambda: torch.sparse.mm(coo, X), X)}
    yield "X Y^T at A, gradients", {"Tulle": both_ways(lambda: tulle.torch.sddmm(graph, X, Y), X, Y),
                                    "torch": both_ways(lambda: (X[rows] * Y[columns]).sum(-1), X, Y)}
    yield "A X of 4 heads, gradients", {"Tulle": both_ways(lambda: tulle.torch.spmm(graph, wide, heads), heads, wide),
                                        "torch": both_ways(gathered, heads, wide)}
    yield "max of A X, gradient", {"Tulle": both_ways(lambda: tulle.torch.spmm(graph, X, values, reduce="max"), X),
                                   "torch": both_ways(lambda: torch.sparse.mm(csr, X, "amax"), X)}


LAYERS = {"GCNConv": lambda width: pyg.GCNConv(width, width), "SAGEConv": lambda width: pyg.SAGEConv(width, width),
          "SAGEConv, max": lambda width: pyg.SAGEConv(width, width, aggr="max"),
          "GATConv, 4 heads": lambda width: pyg.GATConv(width, width // 4, heads=4)}


def layers(edges, nodes, width):
    graph, x = Graph.from_edge_index(edges, nodes), torch.rand(nodes, width, requires_grad=True)
    tensor = graph.tensor(torch.ones(graph.entries))
    for name, make in LAYERS.items():
        theirs, ours = make(width), tulle.geometric.convert(make(width))
        ways = {"Tulle": both_ways(lambda c=ours: c(x, graph), x), "PyG": both_ways(lambda c=theirs: c(x, edges), x)}
        if name != "GATConv, 4 heads":
            ways["PyG, torch CSR"] = both_ways(lambda c=theirs: c(x, tensor), x)
        yield name, ways


def batches(width):
    count, nodes = 32, 20
    steps = [molecules(count, nodes, seed) for seed in range(8)]
    x = torch.rand(count * nodes, width, requires_grad=True)
    turn = {}

    def next_edges(who):
        turn[who] = (turn.get(who, -1) + 1) % len(steps)
        return steps[turn[who]]

    def graph():
        return Graph.from_edge_index(next_edges("Tulle"), count * nodes)

    def coo():
        edges = next_edges("torch COO")
        return torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.shape[1]), (count * nodes, count * nodes)).coalesce()

    yield "A X, gradient by X", {"Tulle": both_ways(lambda: tulle.torch.spmm(graph(), x), x),
                                 "torch COO": both_ways(lambda: torch.sparse.mm(coo(), x), x)}
    for name, make in LAYERS.items():
        theirs, ours = make(width), tulle.geometric.convert(make(width))
        yield name, {"Tulle": both_ways(lambda c=ours: c(x, graph()), x),
                     "PyG": both_ways(lambda c=theirs: c(x, next_edges("PyG")), x)}


def report(where, calls, reps):
    """A row of the table for each product: Tulle's milliseconds, and others' over them."""
    for name, ways in calls:
        seconds = {who: [] for who in ways}
        for rep in range(reps + 2):
            for who in list(seconds):
                began = time.perf_counter()
                try:
                    ways[who]()
                except (RuntimeError, NotImplementedError, TypeError) as cause:  # a rival's limit
                    print(f"  {who} cannot, {name}: {str(cause).splitlines()[0][:90]}")
                    del seconds[who]
                    continue
                if rep >= 2:
                    seconds[who].append(time.perf_counter() - began)
        took = {who: statistics.median(all_of_it) for who, all_of_it in seconds.items()}
        rest = ", ".join(f"{who} {took[who] / took['Tulle']:.2f}" for who in took if who != "Tulle")
        print(f"| {where} | {name} | {1e3 * took['Tulle']:.3f} | {rest} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrices", nargs="*", default=MATRICES)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    o = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(o.threads)
    with tulle.threads(o.threads):
        compare(o)


def compare(o):
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; PyG {torch_geometric.__version__}")
    print("| graph | product | Tulle, ms | others over Tulle |\n|---|---|---|---|")
    for name in o.matrices:
        A = load(name)
        if A is None:
            print(f"{name} is left out: no such file")
            continue
        edges = undirected(A)
        for calls in (products, layers):
            report(f"{name}, {edges.shape[1]} edges", calls(edges, A.shape[0], o.width), o.reps)
    report("32 graphs of 20 nodes", batches(o.width), o.reps)


if __name__ == "__main__":
    main()
