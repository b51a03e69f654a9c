#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a graph network of two layers on a graph of a file, by Tulle and by torch's own sparse product.

    gcn.py cora.mtx.gz [--features 64] [--hidden 16] [--classes 7] [--epochs 100]

Features and labels are random: what is shown is that both learn alike, and how long an epoch takes.
"""
import argparse
import statistics
import time

import numpy as np
import scipy.sparse as sp
import torch

import tulle
import tulle.torch


def normalised(path):
    """D^-1/2 (A + I) D^-1/2 of the undirected graph, in single precision."""
    A = sp.csr_matrix(tulle.read(path))
    A = ((A + A.T) != 0).astype(np.float64) + sp.identity(A.shape[0], format="csr")
    scale = sp.diags(1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel()))
    return sp.csr_matrix(scale @ A @ scale).astype(np.float32)


def train(multiply, features, labels, hidden, classes, epochs):
    """Losses and the seconds of each epoch."""
    torch.manual_seed(1)
    first = torch.nn.Linear(features.shape[1], hidden)
    second = torch.nn.Linear(hidden, classes)
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    losses, seconds = [], []
    for _ in range(epochs):
        began = time.perf_counter()
        optimiser.zero_grad()
        scores = multiply(second(torch.relu(multiply(first(features)))))
        loss = torch.nn.functional.cross_entropy(scores, labels)
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - began)
        losses.append(loss.item())
    return losses, statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph")
    for name, number in (("features", 64), ("hidden", 16), ("classes", 7), ("epochs", 100)):
        parser.add_argument("--" + name, type=int, default=number)
    o = parser.parse_args()
    A = normalised(o.graph)
    torch.manual_seed(0)
    features = torch.rand(A.shape[0], o.features)
    labels = torch.randint(o.classes, (A.shape[0],))
    ours = tulle.torch.Sparse(A)
    theirs = torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), torch.from_numpy(A.data),
                                     A.shape)
    print(f"{A.shape[0]} nodes, {A.nnz} entries; random features and labels")
    results = {}
    for name, multiply in (("tulle", lambda X: ours @ X), ("torch", lambda X: torch.sparse.mm(theirs, X))):
        try:
            losses, seconds = train(multiply, features, labels, o.hidden, o.classes, o.epochs)
        except RuntimeError as cause:
            print(f"{name:6} cannot: {str(cause).splitlines()[0]}")
            continue
        results[name] = losses
        print(f"{name:6} loss {losses[0]:.4f} -> {losses[-1]:.4f}, {1e3 * seconds:.2f} ms an epoch (median)")
    if len(results) == 2:
        apart = max(abs(a - b) for a, b in zip(results["tulle"], results["torch"]))
        print(f"losses differ by at most {apart:.1e}")


if __name__ == "__main__":
    main()
