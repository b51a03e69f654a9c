#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regret of the kernel's choice: sparse products by every mechanism there is, in one run, beside the one it chooses.

    regret.py PROGRAM [--draws 100] [--seed 1] [--threads 1] [--repeat 9] [--minutes 20] [--only WORD] [MATRIX.mtx[.gz] ...]

PROGRAM is bench_mechanisms of a build with -DTULLE_BENCH=ON, in which mechanisms take turns; a time is the least of its
repetitions. Regret is the chosen one's time over the least of all, fresh (the product) and kept (values alone, of a known
structure). Products are draw.py's by a seed, or A A of the matrices that are named, A A^T if A is not square.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from draw import draw, multiplications  # noqa: E402

BAR, PART = 1.15, 0.95
FIGURES = {"fresh": "fresh_s", "kept": "kept_s"}


def write(path, A, B):
    with open(path, "wb") as file:
        last = A if B is None else B
        head = [A.shape[0], A.shape[1], last.shape[1], A.nnz, -1 if B is None else B.nnz, 0]
        np.array(head, dtype=np.int64).tofile(file)
        for X in (A, B):
            if X is not None:
                for array, kind in ((X.indptr, np.int64), (X.indices, np.int32), (X.data, np.float64)):
                    array.astype(kind).tofile(file)


def read(path):
    import scipy.io
    import scipy.sparse as sp

    A = sp.csr_matrix(scipy.io.mmread(path)).astype(float)
    A.sum_duplicates()
    B = None if A.shape[0] == A.shape[1] else A.T.tocsr()
    for X in (A, B):
        if X is not None:
            X.sort_indices()
    return os.path.basename(path), A, B


def products(o):
    if o.matrix:
        yield from map(read, o.matrix)
        return
    for number in range(o.draws):
        name, A, B = draw(o.seed, number)
        if o.only in name:
            yield f"{number}: {name}", A, B


def measure(o, path):
    command = [o.program, "--threads", str(o.threads), "--repeat", str(o.repeat), path]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {r["mechanism"]: r for r in map(json.loads, lines) if r["fresh_s"] > 0}  # 0: hopeless


def regrets(times):
    """By figure: the regret, and the mechanism that took least."""
    found = {}
    for which, field in FIGURES.items():
        best = min(times, key=lambda name: times[name][field])
        found[which] = (times["chosen"][field] / times[best][field], best)
    return found


def summary(rows):
    for which in FIGURES:
        sorted_rows = sorted(rows, key=lambda r: -r[1][which][0])
        within = sum(r[1][which][0] <= BAR for r in rows) / len(rows)
        print(f"{which}: {100 * within:.0f} % of {len(rows)} within {BAR} of the best (wanted: {100 * PART:.0f} %); the worst:")
        for name, found in sorted_rows[:10]:
            print(f"  {found[which][0]:.2f} behind {found[which][1]}: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("matrix", nargs="*")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--only", default="", help="products whose name has this word")
    parser.add_argument("--verbose", action="store_true", help="each product's times")
    o = parser.parse_args()
    began, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "product")
        for name, A, B in products(o):
            if time.monotonic() - began > 60 * o.minutes:
                print(f"{o.minutes:g} minutes are over after {len(rows)} products")
                break
            write(path, A, B)
            times = measure(o, path)
            rows.append((name, regrets(times)))
            if o.verbose:
                took = ", ".join(f"{m} {1e3 * r['fresh_s']:.3f} {1e3 * r['kept_s']:.3f}" for m, r in times.items())
                print(f"{name}: {A.shape[0]} x {A.shape[1]}, {A.nnz} entries, {multiplications(A, B)} multiplications; "
                      f"ms, fresh and kept: {took}", flush=True)
    if rows:
        summary(rows)


if __name__ == "__main__":
    main()
