#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products from Python beside scipy, MKL (sparse_dot_mkl), torch and GraphBLAS (python-graphblas), in one run.

    python_products.py [--columns 32] [--reps 7] [--store] [MATRIX ...]
    python_products.py --bar [--threads 1 2] [--largest 10000000]

A matrix is a file or a generator's spec. Each library gets CSR of double precision in its own container, made before
the clock starts, and gives one; the libraries take turns, each once the workers of the one before have stopped to spin, and
a figure is the median; up to 100,000 entries of 50 calls in a row. A matrix of 50 rows shows what a
call costs by itself, beside scipy's constructor of a CSR matrix of the same arrays. What is not installed is named.
--store: products of matrices that have more rows become bench/results/python.jsonl.

--bar: A x, A X of 8, 32 and 64 columns, x A and X A, with A in CSR and CSC, one by a plan, and A B beside scipy and MKL,
on 24 matrices of 10^2 to 10^7 entries. On one
thread a figure is the least processor time of rounds in which the libraries take turns, on more the least wall time.
Rows below the bar are marked, and the exit status is 1 if there are any: 1 of scipy's speed, 0.9 of MKL's, and on two
threads 1.5 of scipy's for A x from 10^6 entries on.
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
from stored_lines import store

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


TITLES = {"tulle": "Tulle", "mkl": "MKL", "graphblas": "GraphBLAS"}
LIBRARIES = {"tulle": of_tulle, "scipy": of_scipy, "mkl": of_mkl, "torch": of_torch, "graphblas": of_graphblas}


def load(name):
    folder = os.environ.get("TULLE_MATRICES", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "matrices"))
    path = os.path.join(folder, name + ".mtx.gz")
    if ":" in name:
        return sp.csr_matrix(tulle.generate(name))
    if not os.path.exists(path) and not os.path.exists(name):
        return None
    return sp.csr_matrix(tulle.read(path if os.path.exists(path) else name))


# seconds for which workers of a library spin after a call, on cores that the next library's need
SPIN = {"tulle": 0.01, "mkl": 0.21, "torch": 0.02, "graphblas": 0.02}


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
            time.sleep(SPIN.get(name, 0))
    return {name: statistics.median(taken) for name, taken in seconds.items()}


# entries, and a generator's spec: rows of 2 to 64 entries, local, random, skewed
BAR = [(100, "er:n=20,degree=5"), (100, "fem:nodes=3,dof=1"), (100, "er:n=50,degree=2"), (1000, "er:n=200,degree=5"),
       (1000, "fem:nodes=4,dof=1"), (1000, "er:n=40,degree=25"), (1000, "rmat:scale=7,edgefactor=8"),
       (10_000, "er:n=5000,degree=2"), (10_000, "er:n=1250,degree=8"), (10_000, "fem:nodes=8,dof=1"),
       (10_000, "rmat:scale=10,edgefactor=8"), (10_000, "er:n=160,degree=64"), (100_000, "er:n=33000,degree=3"),
       (100_000, "er:n=12500,degree=8"), (100_000, "fem:nodes=16,dof=1"), (100_000, "rmat:scale=13,edgefactor=8"),
       (1_000_000, "er:n=330000,degree=3"), (1_000_000, "er:n=125000,degree=8"), (1_000_000, "fem:nodes=34,dof=1"),
       (1_000_000, "rmat:scale=17,edgefactor=8"), (1_000_000, "fem:nodes=16,dof=3"), (10_000_000, "er:n=1250000,degree=8"),
       (10_000_000, "fem:nodes=72,dof=1"), (10_000_000, "rmat:scale=20,edgefactor=10")]
LARGEST_PRODUCT = 1_000_000  # entries of A from which on A B is left out
BARS = {"scipy": 1.0, "mkl": 0.9}


def least_times(calls, wall, rounds):
    """{name: least seconds of a call} over rounds in which the calls take turns."""
    clock = time.perf_counter if wall else time.process_time
    counts, least = {}, {}
    for name, call in calls.items():
        call()
        began = time.perf_counter()
        call()
        counts[name] = max(1, int(5e-3 / max(time.perf_counter() - began, 1e-7)))
    for _ in range(rounds):
        for name, call in calls.items():
            began = clock()
            for _ in range(counts[name]):
                call()
            least[name] = min(least.get(name, float("inf")), (clock() - began) / counts[name])
    return least


def products(A, size):
    """(label, left, right, whether by a plan) of each product with A: in CSR and CSC, on either side of dense matrices."""
    forms = {"A": A, "CSC": A.tocsc()}
    for name, B in forms.items():
        yield f"{name} x", B, np.ones(A.shape[1]), False
        yield f"x {name}", np.ones(A.shape[0]), B, False
        for columns in (8, 32, 64):
            yield f"{name} X, {columns}", B, np.ones((A.shape[1], columns)), False
            yield f"X {name}, {columns}", np.ones((columns, A.shape[0])), B, False
    yield "CSC X by columns, 32", forms["CSC"], np.ones((32, A.shape[1])).T, False
    yield "A X planned, 8", A, np.ones((A.shape[1], 8)), True
    if size <= LARGEST_PRODUCT:
        yield "A B", A, A, False


def bar(o):
    rivals = {"scipy": lambda A, B: lambda: A @ B}
    try:
        of_mkl(sp.identity(4, format="csr"), np.ones((4, 2)))
        from sparse_dot_mkl import dot_product_mkl, mkl_set_num_threads

        rivals["mkl"] = lambda A, B: lambda: dot_product_mkl(A, B)
    except ImportError as cause:
        print(f"mkl is left out: {cause}")
    print(f"| threads | matrix | entries | product | tulle us | {' | '.join(rivals)} | below |\n|{'---|' * (6 + len(rivals))}")
    below = 0
    for threads in o.threads:
        if "mkl" in rivals:
            mkl_set_num_threads(threads)
        for size, spec in BAR:
            if size > o.largest:
                continue
            A = load(spec)
            for label, A_, B, planned in products(A, size):
                if o.only and not label.startswith(tuple(o.only)):
                    continue
                with tulle.threads(threads):
                    ours = tulle.matmul_plan(A_, B) if planned else lambda: tulle.matmul(A_, B)
                    calls = {"tulle": ours, **{name: make(A_, B) for name, make in rivals.items()}}
                    took = least_times(calls, threads > 1, 5 if size > 1_000_000 else o.rounds)
                wanted = dict(BARS)
                if threads == 2 and label == "A x" and A.nnz >= 1_000_000:
                    wanted["scipy"] = 1.5
                ratios = {name: took[name] / took["tulle"] for name in rivals}
                short = [name for name in rivals if ratios[name] < wanted[name]]
                below += len(short)
                print(f"| {threads} | {spec} | {A.nnz} | {label} | {1e6 * took['tulle']:.1f} | "
                      f"{' | '.join(f'{ratios[name]:.2f}' for name in rivals)} | {', '.join(short)} |", flush=True)
    print(f"{below} figures are below the bar")
    return 1 if below else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("matrices", nargs="*", default=MATRICES)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("--bar", action="store_true")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--only", nargs="+", default=[], help="products of --bar whose labels begin so")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--store", action="store_true")
    o = parser.parse_args()
    if o.bar:
        sys.exit(bar(o))
    there, rows = {}, []
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
        together = 200 if A.shape[0] <= 1000 else 50 if A.nnz <= 100_000 else 1
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
            if product in ("A A", "A X", "A x") and A.shape[0] > 1000:
                rows.append({"matrix": matrix, "product": product, **dict(zip([TITLES.get(name, name) for name in there], cells))})
    if o.store:
        store("python", "From Python", rows)


if __name__ == "__main__":
    main()
