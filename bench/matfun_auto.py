#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of `tulle matfun --method auto` over that of the better one of its methods: graphs, structures, grids.

    bench/matfun_auto.py --tulle build/tulle [--reps 3] [--limit 60] [--set a|b|c|all] [--only WORD] [--from N] [--to N]

Chains, grids, banded and random matrices that this file makes, generated ones, boxes of water, and matrices of
TULLE_MATRICES, 60 in three sets of 20; the forecast's constants were fitted to some of them. For each case
submatrices, the iteration and auto run in turn, one thread, plan included; the time is the median. A method that fails
or takes longer than the limit counts as the limit; where both do, the case is left out. --from and --to, of the cases
from 0, make pieces of a long run.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import tempfile


def write(path, n, entries):
    """entries: {(i, j): value} with i >= j, from 0."""
    with open(path, "w") as file:
        file.write("%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n" % (n, n, len(entries)))
        for (i, j), value in sorted(entries.items()):
            file.write("%d %d %.15g\n" % (i + 1, j + 1, value))


def chain(n, hop, other, noise, seed):
    """Tight binding with two hoppings in turn: a gap of 2 |hop - other|."""
    draw = random.Random(seed)
    entries = {(i, i): noise * draw.uniform(-1, 1) for i in range(n)}
    entries.update({(i + 1, i): hop if i % 2 else other for i in range(n - 1)})
    return n, entries


def grid(nx, ny, diagonal, noise, seed, wide=False):
    """Neighbours of a grid; wide: also the diagonal ones. Levels of the sites alternate by +-diagonal or are that."""
    draw = random.Random(seed)
    entries = {}
    for y in range(ny):
        for x in range(nx):
            i = y * nx + x
            entries[i, i] = diagonal(x, y) + noise * draw.uniform(-1, 1)
            for dx, dy in ((-1, 0), (0, -1)) + (((-1, -1), (1, -1)) if wide else ()):
                if 0 <= x + dx < nx and y + dy >= 0:
                    entries[i, (y + dy) * nx + x + dx] = -1
    return nx * ny, entries


def banded(n, width, decay, seed, mean=0):
    """Entries that decay from the diagonal, whose levels are around +-1, or around the mean."""
    draw = random.Random(seed)
    entries = {}
    for i in range(n):
        entries[i, i] = mean or draw.choice((-1, 1)) * draw.uniform(.8, 1.2)
        for j in range(max(0, i - width), i):
            entries[i, j] = .3 * draw.uniform(-1, 1) * math.exp(-decay * (i - j))
    return n, entries


def scattered(n, degree, size, seed):
    """Random places, diagonal 1."""
    draw = random.Random(seed)
    entries = {(i, i): 1 for i in range(n)}
    for i in range(n):
        for _ in range(degree // 2):
            j = draw.randrange(n)
            if i != j:
                entries[max(i, j), min(i, j)] = size * draw.uniform(-1, 1)
    return n, entries


def checks(x, y):
    return 2 if (x + y) % 2 else -2


SIGN, INVERSE, INVSQRT, SQRT, ROOT = "sign:mu=0.001", "inverse", "invsqrt", "sqrt", "root:p=-3"
CASES = {
    "a": [
        ("chain, gap 1", lambda: chain(6000, 1, .5, .1, 1), 4, 1e-3, SIGN),
        ("chain, gap 0.4", lambda: chain(3000, 1, .8, 0, 2), 6, 1e-4, SIGN),
        ("grid 60 x 60, gap", lambda: grid(60, 60, checks, .2, 3), 6, 1e-3, SIGN),
        ("grid 40 x 40 + 5", lambda: grid(40, 40, lambda x, y: 5, .2, 4), 4, 1e-4, INVSQRT),
        ("grid 50 x 50 + 9, wide", lambda: grid(50, 50, lambda x, y: 9, .2, 5, True), 5, 1e-3, INVERSE),
        ("banded 12", lambda: banded(3000, 12, .3, 6), 8, 1e-4, SIGN),
        ("banded 20, positive", lambda: banded(3000, 20, .3, 7, 2), 10, 1e-5, INVSQRT),
        ("banded 8, positive", lambda: banded(5000, 8, .5, 8, 1.5), 5, 1e-4, ROOT),
        ("random 6", lambda: scattered(1500, 6, .1, 9), 1, 1e-3, INVERSE),
        ("water:n=5", None, 6, 3e-3, "sign:mu=0.05"),
        ("water:n=7", None, 6, 3e-3, "sign:mu=0.05"),
        ("water:n=5", None, 12, 3e-4, "sign:mu=0.05"),
        ("h2o_864_szv_S", None, 6, 3e-3, INVSQRT),
        ("h2o_864_szv_S", None, 6, 3e-2, SQRT),
        ("h2o_864_szv_KS", None, 6, 1e-2, "sign:mu=0.1"),
        ("494_bus", None, 2, 1e-1, INVERSE),
        ("1138_bus", None, 3, 1, SQRT),
        ("mhd1280b", None, 8, 1e-6, INVSQRT),
        ("bcsstk16", None, 6, 1e5, INVERSE),
        ("jagmesh7", None, 3, 1e-2, "sign:mu=0.55"),
    ],
    "b": [
        ("chain, gap 2", lambda: chain(8000, 1.5, .5, .2, 11), 8, 1e-3, SIGN),
        ("chain, gap 0.6", lambda: chain(2000, 1, .7, .1, 12), 10, 1e-5, SIGN),
        ("grid 80 x 30, gap", lambda: grid(80, 30, checks, .5, 13), 8, 1e-2, SIGN),
        ("grid 30 x 30, gap", lambda: grid(30, 30, checks, .1, 14), 5, 1e-4, SIGN),
        ("grid 60 x 30 + 6", lambda: grid(60, 30, lambda x, y: 6, .5, 15), 6, 1e-3, SQRT),
        ("grid 40 x 40 + 12, wide", lambda: grid(40, 40, lambda x, y: 12, .2, 16, True), 8, 1e-4, ROOT),
        ("banded 30", lambda: banded(2000, 30, .2, 17), 5, 1e-3, SIGN),
        ("banded 10, positive", lambda: banded(6000, 10, .4, 18, 1.2), 6, 1e-4, INVERSE),
        ("banded 40, positive", lambda: banded(1500, 40, .1, 19, 3), 12, 1e-4, INVSQRT),
        ("random 4", lambda: scattered(2000, 4, .15, 20), 1, 1e-2, INVSQRT),
        ("water:n=4", None, 6, 3e-4, "sign:mu=0.05"),
        ("water:n=8", None, 6, 1e-2, "sign:mu=0.05"),
        ("water:n=6", None, 6, 2e-3, "sign:mu=0.05"),
        ("h2o_864_szv_S", None, 6, 1e-2, ROOT),
        ("h2o_256_szv_S", None, 12, 3e-4, SQRT),
        ("h2o_864_szv_S", None, 6, 1e-3, INVERSE),
        ("nasa4704", None, 4, 1e5, INVSQRT),
        ("1138_bus", None, 6, 1e-1, INVERSE),
        ("bcsstk13", None, 3, 1e9, INVERSE),
        ("mhd1280b", None, 4, 1e-5, SQRT),
    ],
    "c": [
        ("494_bus", None, 1, 0, INVERSE),
        ("494_bus", None, 1, 1e-3, "sign:mu=50"),
        ("1138_bus", None, 1, 0, INVSQRT),
        ("karate", None, 1, 0, "sign:mu=0.5"),
        ("minnesota", None, 1, 1e-3, "sign:mu=0.5"),
        ("power", None, 1, 1e-3, "sign:mu=1.9"),
        ("bcspwr10", None, 1, 1e-3, "sign:mu=0.3"),
        ("dwt_878", None, 2, 1e-4, "sign:mu=5.5"),
        ("bcsstk01", None, 3, 0, INVERSE),
        ("bcsstk02", None, 6, 0, INVSQRT),
        ("bcsstk16", None, 3, 1e4, SQRT),
        ("nasa4704", None, 6, 1e5, SQRT),
        ("stencil2d:n=40,shift=1", None, 1, 1e-4, INVERSE),
        ("stencil2d:n=60,shift=4", None, 4, 1e-4, INVSQRT),
        ("stencil2d:n=30,points=9,shift=8", None, 3, 1e-3, "sign:mu=20"),
        ("stencil3d:n=12,shift=3", None, 4, 1e-3, INVSQRT),
        ("stencil3d:n=10,points=27,shift=30", None, 5, 1e-3, INVERSE),
        ("band:n=4000,lower=3,values=spd", None, 4, 1e-4, INVSQRT),
        ("band:n=1500,lower=12,values=spd", None, 6, 1e-5, INVERSE),
        ("chain, gap 3", lambda: chain(5000, 2, .5, .1, 21), 2, 1e-3, SIGN),
    ],
}


def run(given, matrix, case, method):
    _, _, blocks, eps, function = case
    words = [given.tulle, "matfun", function, matrix, "--blocks", str(blocks), "--filter", repr(eps), "--method",
             method, "--pes", "1", "--threads", "1", "--json", "--quiet"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=given.limit)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else None


def judge(given, matrix, case):
    """Median seconds by method, and the last report of auto."""
    other = "newton-schulz" if case[4].startswith("sign") else "coupled-newton"
    times = {"submatrix": [], "auto": [], other: []}
    last = None
    for _ in range(given.reps):
        for method, known in times.items():
            if None in known:
                continue
            report = run(given, matrix, case, method)
            known.append(report["seconds"] + report["plan_seconds"] if report else None)
            last = report if method == "auto" and report else last
    return [given.limit if None in x else statistics.median(x) for x in times.values()], last


def row(given, case, matrix):
    """A line of the table; the ratio, or None where no method has a result."""
    name, _, blocks, eps, function = case
    (submatrix, auto, other), report = judge(given, matrix, case)
    best = min(submatrix, other)
    ratio = auto / best if best < given.limit else None
    cells = [name, "%d" % blocks, "%g" % eps, function]
    cells += ["%.4f" % x if x < given.limit else "-" for x in (submatrix, other, auto)]
    cells.append(report["method"] + (", changed over" if report.get("abandoned") else "") if report else "-")
    cells.append("%.3f, %.3f" % tuple(report["estimates"]) if report else "-")
    cells.append("%.2f" % ratio if ratio else "-")
    print("| " + " | ".join(cells) + " |", flush=True)
    return ratio


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("--reps", type=int, default=3)
    options.add_argument("--limit", type=float, default=60)
    options.add_argument("--set", choices=[*CASES, "all"], default="all")
    options.add_argument("--only", default="")
    options.add_argument("--from", type=int, default=0, dest="first")
    options.add_argument("--to", type=int, default=1000)
    given = options.parse_args()
    cases = [case for name, cases in CASES.items() if given.set in (name, "all") for case in cases]
    ratios = []
    print("| matrix | blocks | eps | function | submatrix, s | iteration, s | auto, s | taken | estimates, s | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases[given.first:given.to]:
            name, make = case[:2]
            if given.only not in name:
                continue
            matrix = os.path.join(folder, "made.mtx") if make else name
            if make:
                write(matrix, *make())
            elif ":" not in name:
                matrix = os.path.join(os.environ["TULLE_MATRICES"], name + ".mtx.gz")
            ratios.append(row(given, case, matrix))
    found = [x for x in ratios if x]
    if found:
        print("\nauto over the better one, %d of %d: geometric mean %.2f, worst %.2f, above 1.3: %d" %
              (len(found), len(ratios), math.exp(sum(map(math.log, found)) / len(found)), max(found),
               sum(x > 1.3 for x in found)))


if __name__ == "__main__":
    main()
