#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The largest entries of rows of A A^T and A B beside sparse_dot_topn of PyPI, in one run.

    top_products.py [--reps 5] [--threads 1 2] [--scale 1.0] [--seed 1] [--real Trec4 AssociatedPress ...] [--store]

Inputs are drawn by the seed: words of documents, users of items, random rows, and short rows; or real ones, files
NAME.mtx.gz of the folder TULLE_MATRICES, rows of norm 1. --store: the rows replace bench/results/top-products.jsonl. Both libraries get CSR of
both factors, made before the clock starts; they take turns, and a figure is the median. Results are compared: values
of rows, and columns where values are not tied. A ratio is sparse_dot_topn's time over tulle's; the target is 1.5.
"""
import argparse
import os
import statistics
import time

import numpy as np
import scipy.io
import scipy.sparse as sp

import tulle
from stored_lines import store

TARGET = 1.5


def drawn(rng, rows, columns, mean, skew, dtype):
    """Rows of about `mean` entries, columns by Zipf's law with this exponent (0: uniform), of norm 1."""
    lengths = np.maximum(1, rng.poisson(mean, rows))
    weight = 1 / np.arange(1, columns + 1) ** skew
    col = rng.choice(columns, lengths.sum(), p=weight / weight.sum())
    row = np.repeat(np.arange(rows), lengths)
    A = sp.csr_matrix((rng.random(len(col)) + 0.1, (row, col)), (rows, columns))
    A.data /= np.repeat(np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()), np.diff(A.indptr))
    return A.astype(dtype)


def inputs(scale, seed):
    """(name, A, B, k, above)"""
    rng = np.random.default_rng(seed)

    def n(rows):
        return max(100, int(rows * scale))

    for dtype in (np.float64, np.float32):
        word = drawn(rng, n(30000), n(20000), 20, 0.6, dtype)
        users = drawn(rng, n(10000), n(3000), 40, 0.4, dtype)
        flat = drawn(rng, n(60000), n(60000), 16, 0, dtype)
        short = drawn(rng, n(150000), n(30000), 3, 0.3, dtype)
        for name, A, B in (("words", word, word.T.tocsr()), ("users", users, users.T.tocsr()),
                           ("random", flat, flat.T.tocsr()), ("short", short, short.T.tocsr())):
            for k, above in ((10, None), (10, 0.8), (100, 0.1)):
                yield f"{name} {np.dtype(dtype).name}", A, B, k, above


def real(names):
    """The same of files."""
    for name in names:
        A = sp.csr_matrix(scipy.io.mmread(os.path.join(os.environ["TULLE_MATRICES"], name + ".mtx.gz")), dtype=np.float64)
        norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        A = sp.csr_matrix(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ A)
        for k, above in ((10, None), (10, 0.8), (100, 0.1)):
            yield name, A, A.T.tocsr(), k, above


def agree(ours, theirs, tolerance):
    """True if rows have the same values, up to rounding; ties may differ in columns."""
    if abs(ours.nnz - theirs.nnz) > 1e-4 * max(ours.nnz, 1):  # values at the threshold
        return False
    for i in range(0, ours.shape[0], max(1, ours.shape[0] // 200)):
        a = np.sort(ours.data[ours.indptr[i]:ours.indptr[i + 1]])
        b = np.sort(theirs.data[theirs.indptr[i]:theirs.indptr[i + 1]])
        if len(a) == len(b) and not np.allclose(a, b, rtol=tolerance, atol=tolerance):
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", nargs="*", default=[])
    parser.add_argument("--store", action="store_true")
    o = parser.parse_args()
    try:
        from sparse_dot_topn import sp_matmul_topn
    except ImportError as cause:
        print(f"sparse_dot_topn is not installed, so nothing is compared: {cause}")
        return
    print("| input | kept | threads | flops / entry | tulle, ms | sparse_dot_topn, ms | ratio |\n|---|---|---|---|---|---|---|")
    ratios = {threads: [] for threads in o.threads}
    lines = []
    for name, A, B, k, above in real(o.real) if o.real else inputs(o.scale, o.seed):
        row = {}
        work = int(np.diff(B.indptr)[A.indices].sum())
        for threads in o.threads:
            with tulle.threads(threads):
                calls = {"tulle": lambda: tulle.top_products(A, B, k, above=above),
                         "rival": lambda: sp_matmul_topn(A, B, k, threshold=above, n_threads=threads)}
                taken, made = {x: [] for x in calls}, {}
                for rep in range(o.reps + 1):
                    for x, call in calls.items():
                        began = time.perf_counter()
                        made[x] = call()
                        if rep:
                            taken[x].append(time.perf_counter() - began)
            took = {x: statistics.median(t) for x, t in taken.items()}
            ratio = took["rival"] / took["tulle"]
            ratios[threads].append(ratio)
            right = agree(made["tulle"], sp.csr_matrix(made["rival"]), 1e-4 if A.dtype == np.float32 else 1e-9)
            kept = f"{k}" + (f" above {above}" if above is not None else "")
            print(f"| {name} | {kept} | {threads} | {work / max(made['tulle'].nnz, 1):.0f} | {1e3 * took['tulle']:.1f} | "
                  f"{1e3 * took['rival']:.1f} | {ratio:.2f}{'' if right else ' (results differ)'} |", flush=True)
            row |= {"rows": name, "kept": kept, "multiplications an entry": f"{work / max(made['tulle'].nnz, 1):.0f}",
                    "Tulle": f"{1e3 * took['tulle']:.1f}", "sparse_dot_topn": f"{1e3 * took['rival']:.1f}",
                    f"{threads} thread{'s' * (threads > 1)}": f"{ratio:.2f}"}
        lines.append(row)
    if o.store:
        store("top-products", "A A^T, largest entries of rows, milliseconds with the last number of threads", lines)
    for threads, all_of in ratios.items():
        print(f"{threads} threads: geometric mean {statistics.geometric_mean(all_of):.2f}, least {min(all_of):.2f}, "
              f"{sum(r < TARGET for r in all_of)} of {len(all_of)} below {TARGET}")


if __name__ == "__main__":
    main()
