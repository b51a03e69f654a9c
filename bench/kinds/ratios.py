#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sparse products of kinds that are drawn by a seed, beside GraphBLAS and MKL, in one run.

    ratios.py [--draws 300] [--seed 1] [--threads 2] [--minutes 40] [--only WORD]

A ratio is the best rival's time over Tulle's, of results with ordered rows (GraphBLAS's may be lazy about that). Fresh
is one call of tulle.matmul, kept an execution of a plan. The libraries take turns, and a figure is the median of three;
a ratio below 0.95 is measured three times more, with medians of five, and counts if it stays below. A turn is a pause, a
call that wakes the library's threads, and one that is timed: OpenMP's threads spin for up to 0.2 s after a call, and
would take a core of the next library's. Rivals are python-graphblas and sparse_dot_mkl; what is not installed is named,
and without any nothing is compared.
"""
import argparse
import glob
import os
import statistics
import sys
import time

import tulle

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from draw import draw, multiplications  # noqa: E402

BAR, MEAN, PAUSE = 0.95, 2.3, 0.25


def of_graphblas(threads):
    import graphblas as gb

    gb.ss.config["nthreads"] = threads

    def prepare(A, B):
        G = gb.io.from_scipy_sparse(A)
        H = G if B is None else gb.io.from_scipy_sparse(B)

        def multiply():
            C = G.mxm(H, gb.semiring.plus_times).new()
            C.wait()
            return C.nvals

        return multiply

    return prepare


def of_mkl(threads):
    found = glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))  # where the package mkl puts it
    if found:
        os.environ.setdefault("MKL_RT", found[0])
    os.environ.setdefault("MKL_NUM_THREADS", str(threads))
    from sparse_dot_mkl import dot_product_mkl

    return lambda A, B: lambda: dot_product_mkl(A, A if B is None else B, reorder_output=True).nnz


def of_tulle(A, B):
    return lambda: tulle.matmul(A, A if B is None else B).nnz


def of_plan(A, B):
    plan = tulle.matmul_plan(A, A if B is None else B)
    plan()
    return lambda: plan().nnz


def medians(calls, reps):
    """Seconds of each call, and the numbers of entries that they returned."""
    seconds, entries = {name: [] for name in calls}, {}
    for _ in range(reps):
        for name, call in calls.items():
            time.sleep(PAUSE)
            call()
            began = time.perf_counter()
            entries[name] = call()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in seconds.items()}, entries


def ratio_of(took, which, rivals):
    return min(took[name] for name in rivals) / took[which]


def measure(product, makers, rivals):
    """The row of a product: fresh and kept ratios, and whether both repeat below the bar."""
    name, A, B = product
    calls = {library: make(A, B) for library, make in makers.items()}
    took, entries = medians(calls, 3)
    fresh, below = ratio_of(took, "tulle", rivals), False
    if fresh < BAR:
        again = [ratio_of(medians(calls, 5)[0], "tulle", rivals) for _ in range(3)]
        below, fresh = all(x < BAR for x in again), statistics.median(again)
    return {"name": name, "fresh": fresh, "kept": ratio_of(took, "plan", rivals), "below": below, "took": took,
            "differ": len(set(entries.values())) > 1, "rows": A.shape[0], "cols": A.shape[1], "nnz": A.nnz,
            "work": multiplications(A, B), "c": entries["tulle"], "n": (A if B is None else B).shape[1]}


def line_of(number, r):
    took = " ".join(f"{name} {1e3 * seconds:.2f}" for name, seconds in r["took"].items())
    return (f"{number}: {r['name']}: {r['rows']} x {r['cols']}, {r['nnz'] / max(r['rows'], 1):.1f} a row, "
            f"{r['work'] / max(r['c'], 1):.1f} multiplications an entry, C {100 * r['c'] / max(r['rows'] * r['n'], 1):.2g} % full: "
            f"fresh {r['fresh']:.2f}, kept {r['kept']:.2f} (ms: {took}){' ENTRIES DIFFER' if r['differ'] else ''}")


def summary(rows):
    groups = {}
    for r in rows.values():
        groups.setdefault(r["name"].split(":")[0].split(",")[0], []).append(r)
    print("| kind | products | fresh, geometric mean | least | kept, geometric mean | least |\n|---|---|---|---|---|---|")
    for name, members in sorted(groups.items()):
        cells = [f(r[which] for r in members) for which in ("fresh", "kept") for f in (statistics.geometric_mean, min)]
        print(f"| {name} | {len(members)} | {' | '.join(f'{x:.2f}' for x in cells)} |")
    print("the worst ten:")
    for number in sorted(rows, key=lambda x: rows[x]["fresh"])[:10]:
        print("  " + line_of(number, rows[number]))
    mean = statistics.geometric_mean(r["fresh"] for r in rows.values())
    print(f"{len(rows)} products: geometric mean {mean:.2f} of {MEAN}, {sum(r['below'] for r in rows.values())} repeat below "
          f"{BAR}; kept {statistics.geometric_mean(r['kept'] for r in rows.values()):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--only", default="", help="products whose name has this word")
    parser.add_argument("--verbose", action="store_true", help="a line for each product")
    o = parser.parse_args()
    makers, rivals = {"tulle": of_tulle, "plan": of_plan}, []
    for name, load in (("graphblas", of_graphblas), ("mkl", of_mkl)):
        try:
            makers[name] = load(o.threads)
            rivals.append(name)
        except (ImportError, OSError) as cause:
            print(f"{name} is left out: {str(cause).splitlines()[0]}")
    if not rivals:
        print("no rival is installed, so nothing is compared")
        return
    began, rows = time.monotonic(), {}
    with tulle.threads(o.threads):
        for number in range(o.draws):
            if time.monotonic() - began > 60 * o.minutes:
                print(f"{o.minutes:g} minutes are over after {number} of {o.draws} draws")
                break
            product = draw(o.seed, number)
            if o.only not in product[0]:
                continue
            rows[number] = measure(product, makers, rivals)
            if o.verbose:
                print(line_of(number, rows[number]), flush=True)
    if rows:
        summary(rows)


if __name__ == "__main__":
    main()
