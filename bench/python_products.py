#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products from Python beside scipy, MKL (sparse_dot_mkl), torch and GraphBLAS (python-graphblas), in one run.

    python_products.py [--columns 32] [--reps 7] [MATRIX ...]

A matrix is a file or a generator's spec. Each library gets CSR of double precision in its own container, made before
the clock starts, and gives one; the libraries take turns, and a figure is the median. A matrix of 50 rows shows what a
call costs by itself, beside scipy's constructor of a CSR matrix of the same arrays. What is not installed is named.
"""
import argparse
import glob
import os
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sp

import tulle

MATRICES = ["er:n=50,degree=8", "rmat:scale=15,edgefactor=8", "er:n=100000,degree=8", "fem:nodes=32,dof=1", "cora", "pubmed", "cnr-2000",
            "mfem_bracket_elasticity", "h2o_256_szv_KS"]


def of_scipy(A, X):
    return {"A A": lambda: A @ A, "A X": lambda: A @ X, "A x": lambda x=X[:, 0].copy(): A @ x,
            "constructor": lambda: sp.csr_matrix((A.data, A.indices, A.indptr), A.shape)}


def of_tulle(A, X):
    plan, dense = tulle.matmul_plan(A, A), tulle.matmul_plan(A, X)
    return {"A A": lambda: tulle.matmul(A, A), "A X": lambda: tulle.matmul(A, X),
            "A x": lambda x=X[:, 0].copy(): tulle.matmul(A, x), "A A planned": plan, "A X planned": dense}


def of_mkl(A, X):
    found = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))  # where the package mkl puts it
    if found:
        os.environ.setdefault("MKL_RT", found[0])
    from sparse_dot_mkl import dot_product_mkl

    return {"A A": lambda: dot_product_mkl(A, A), "A X": lambda: dot_product_mkl(A, X),
            "A x": lambda x=X[:, 0].copy(): dot_product_mkl(A, x)}


def of_torch(A, X):
    import torch

    torch.set_num_threads(os.cpu_count())  # some builds take one where others' OpenMP came first
    T = torch.sparse_csr_tensor(torch.from_numpy(A.indptr), torch.from_numpy(A.indices), torch.from_numpy(A.data), A.shape)
    D = torch.from_numpy(X)
    return {"A A": lambda: torch.mm(T, T), "A X": lambda: torch.mm(T, D), "A x": lambda x=D[:, 0].clone(): torch.mv(T, x)}


def of_graphblas(A, X):
    import graphblas as gb

    G = gb.io.from_scipy_sparse(A)
    D = gb.Matrix.from_dense(X)
    x = gb.Vector.from_dense(X[:, 0].copy())

    def square():
        C = G.mxm(G, gb.semiring.plus_times).new()
        C.wait()

    return {"A A": square, "A X": lambda: G.mxm(D, gb.semiring.plus_times).new().wait(),
            "A x": lambda: G.mxv(x, gb.semiring.plus_times).new().wait()}


LIBRARIES = {"tulle": of_tulle, "scipy": of_scipy, "mkl": of_mkl, "torch": of_torch, "graphblas": of_graphblas}


def load(name):
    folder = os.environ.get("TULLE_MATRICES", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "matrices"))
    path = os.path.join(folder, name + ".mtx.gz")
    if ":" in name:
        return sp.csr_matrix(tulle.generate(name))
    if not os.path.exists(path) and not os.path.exists(name):
        return None
    return sp.csr_matrix(tulle.read(path if os.path.exists(path) else name))


def timed(calls, reps, together):
    """Medians of seconds, {name: seconds}, of calls `together` at a time; a call that fails is left out, with its cause
    printed."""
    seconds = {name: [] for name in calls}
    for rep in range(reps + 1):
        for name in list(seconds):
            began = time.perf_counter()
            try:
                for _ in range(together):
                    calls[name]()
            except Exception as cause:  # a rival's limit
                print(f"  {name} cannot: {str(cause).splitlines()[0][:100]}")
                del seconds[name]
                continue
            if rep:
                seconds[name].append((time.perf_counter() - began) / together)
    return {name: statistics.median(taken) for name, taken in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrices", nargs="*", default=MATRICES)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--reps", type=int, default=7)
    o = parser.parse_args()
    there = {}
    for name, make in LIBRARIES.items():
        try:
            make(sp.identity(4, format="csr"), np.ones((4, 2)))
            there[name] = make
        except ImportError as cause:
            print(f"{name} is left out: {cause}")
    print(f"| matrix | product | {' | '.join(there)} |\n|---|---|{'---|' * len(there)}")
    for matrix in o.matrices:
        A = load(matrix)
        if A is None:
            print(f"{matrix} is left out: no such file")
            continue
        X = np.random.default_rng(1).random((A.shape[1], o.columns))
        calls = {name: make(A, X) for name, make in there.items()}
        together = 200 if A.shape[0] <= 1000 else 1
        for product in ("A A", "A A planned", "A X", "A X planned", "A x", "constructor"):
            plain = product.replace(" planned", "")
            if plain == "A A" and A.shape[0] != A.shape[1]:
                continue
            takes = {name: call.get(product, call.get(plain)) for name, call in calls.items()}
            took = timed({name: call for name, call in takes.items() if call}, o.reps, together)
            rivals = [name for name in took if name != "tulle" and "tulle" in took]
            ratio = {name: f" ({took[name] / took['tulle']:.2f}x)" for name in rivals}
            cells = [f"{1e3 * took[name]:.3f}{ratio.get(name, '')}" if name in took else "-" for name in there]
            print(f"| {matrix} | {product} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
