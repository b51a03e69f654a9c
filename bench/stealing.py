#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What work stealing balances, and what it costs, in virtual time.

    bench/stealing.py --tulle build/tulle [--jobs 2]

Each stealing algorithm beside the static one whose work it shares out, on inputs that are unbalanced and balanced. The
simulated machine is a core a node, slow enough for computing to bind, on a fast network. Imbalance is max / mean of the
multiplications of a PE; no stealing can do better than 1 + the largest unit over the mean, which stands beside it.
Kernels is the same of the seconds in kernels, which is what stealing evens out: a multiplication does not take equally
long everywhere. All this is of a first execution.
Seconds are of an execution whose plan is kept.
"""
import argparse
import concurrent.futures
import itertools
import json
import subprocess

INPUTS = ["rmat:scale=15,edgefactor=8", "fem:nodes=32,dof=1", "rmat:scale=15,edgefactor=8,relabel=on",
          "er:n=100000,degree=8"]
OPERATIONS = [("spgemm", []), ("spmm", ["--cols", "128"])]
GRIDS = ["4x4"]
PAIRS = [("stationary-c", "steal-local-c"), ("stationary-a", "steal-local-a"), ("stationary-a", "steal-random-a")]
PLATFORM = "sim:platform=fattree,flops=2G,memory=1G,cache=2G,launch=1us"


def run(options, operand, operation, grid):
    verb, more = operation
    rows, cols = map(int, grid.split("x"))
    command = [options.tulle, verb, operand, *more, "--comm", options.platform, "--pes", str(rows * cols), "--grid",
               grid, "--cut", options.cut, "--threads", "1", "--alg", "all", "--reps", "1", "--json", "--quiet"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {r["alg"]: r for r in map(json.loads, said.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--platform", default=PLATFORM)
    parser.add_argument("--cut", default="rows", help="where matrices are cut: rows (the paper's), nnz, flops")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cases = list(itertools.product(INPUTS, OPERATIONS, GRIDS))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: run(options, *case), cases))
    print("| case | grid | algorithm | imbalance static | stealing | kernels | 1 + largest unit | stolen | "
          "time / static |\n|---|---|---|---|---|---|---|---|---|")
    for (operand, (verb, more), grid), algs in zip(cases, results):
        for static, stealing in PAIRS:
            s, w = algs[static], algs[stealing]
            kernels = w["phases"]["compute"]
            print(f"| {verb} {operand} {' '.join(more)} | {grid} | {stealing} | {s['load_imbalance']:.2f} | "
                  f"{w['load_imbalance']:.2f} | {kernels['max'] / kernels['mean']:.2f} | {1 + w['largest_unit']:.2f} | "
                  f"{w['stolen']} of {w['units']} | {w['seconds_reused_plan'] / s['seconds_reused_plan']:.2f} |")


if __name__ == "__main__":
    main()
