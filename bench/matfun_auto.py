#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `tulle matfun --method auto` takes the faster method, on inputs to which its constants were not fitted.

    bench/matfun_auto.py --tulle build/tulle [--reps 3] [--limit 60] [--set a|b] [--only WORD]

Chains, grids, banded and random matrices that this file makes, boxes of water, and matrices of TULLE_MATRICES, in two
sets: constants fitted after a look at one are judged by the other. For each case both methods run in turn, one thread,
plan included, least of the runs; a method that fails, ends far from a result, or takes longer than the limit, counts
as the limit. auto's choice is that of its report.
"""
import argparse
import json
import math
import os
import random
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
}


def run(given, matrix, case, method):
    _, _, blocks, eps, function = case
    words = [given.tulle, "matfun", function, matrix, "--blocks", str(blocks), "--filter", repr(eps), "--method",
             method, "--pes", "1", "--threads", "1", "--json", "--quiet"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=given.limit)
    except subprocess.TimeoutExpired:
        return None
    report = json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else None
    return report if report and report["residual"] < .1 else None


def judge(given, matrix, case):
    other = "newton-schulz" if case[4].startswith("sign") else "coupled-newton"
    least = {"submatrix": given.limit, other: given.limit}
    failed = set()
    for _ in range(given.reps):
        for method in least:
            report = None if method in failed else run(given, matrix, case, method)
            if report:
                least[method] = min(least[method], report["seconds"] + report["plan_seconds"])
            else:
                failed.add(method)
    report = run(given, matrix, case, "auto")
    return least, other, report and report["method"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("--reps", type=int, default=3)
    options.add_argument("--limit", type=float, default=60)
    options.add_argument("--set", choices=CASES, default="a")
    options.add_argument("--only", default="")
    given = options.parse_args()
    right = counted = 0
    losses = []
    print("| matrix | blocks | eps | function | submatrix, s | iteration, s | auto | loss |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES[given.set]):
            name, make, blocks, eps, function = case
            if given.only not in name:
                continue
            matrix = os.path.join(folder, "%d.mtx" % number) if make else name
            if make:
                write(matrix, *make())
            elif ":" not in name:
                matrix = os.path.join(os.environ["TULLE_MATRICES"], name + ".mtx.gz")
            least, other, used = judge(given, matrix, case)
            best = min(least, key=least.get)
            if least[best] >= given.limit or used not in least:
                print("| %s | %d | %g | %s | - | - | %s | - |" % (name, blocks, eps, function, used), flush=True)
                continue
            loss = least[used] / least[best] - 1
            counted += 1
            right += used == best
            losses.append(loss)
            seconds = ["%.3f" % least[m] if least[m] < given.limit else "-" for m in ("submatrix", other)]
            print("| %s | %d | %g | %s | %s | %s | %s | %.0f %% |" %
                  (name, blocks, eps, function, *seconds, used, 100 * loss), flush=True)
    print("\nthe faster one in %d of %d; losses: %d above 10 %%, at most %.0f %%, all together %.1f %%" %
          (right, counted, sum(x > .1 for x in losses), 100 * max(losses, default=0),
           100 * sum(losses) / max(1, len(losses))))


if __name__ == "__main__":
    main()
