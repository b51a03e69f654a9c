#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asynchronous stationary C against bulk-synchronous SUMMA, in virtual time.

    bench/bulk.py --tulle build/tulle [--jobs 2]

R is what steps that all PEs take together lose by their loads: the sum over the steps of the largest load of a PE, over
the largest load of all steps together; `tulle stat` has both. Where computing binds, an algorithm without steps could be
R times as fast as SUMMA with two buffers. Where communication takes as long as computing (of stationary C, by the
bandwidth that is set here) it is compared with SUMMA with one buffer. SpGEMM, C = A A; seconds of an execution whose
plan is kept.
"""
import argparse
import concurrent.futures
import itertools
import json
import subprocess

INPUTS = ["rmat:scale=14,edgefactor=8", "rmat:scale=14,edgefactor=8,relabel=on", "er:n=50000,degree=8",
          "fem:nodes=40,dof=1", "stencil2d:nx=300,ny=300"]
GRIDS = ["4x4", "8x8", "16x16"]
CORE = "sim:platform=fattree,flops=2G,memory=1G,cache=2G,launch=1us,taper=1"


def tulle(options, *arguments):
    said = subprocess.run([options.tulle, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said.splitlines()[0])


def product(options, operand, grid, alg, lookahead, bandwidth):
    rows, cols = map(int, grid.split("x"))
    return tulle(options, "spgemm", operand, "--comm", f"{CORE},far_bw={bandwidth:.0f}", "--pes", str(rows * cols),
                 "--grid", grid, "--cut", "rows", "--threads", "1", "--alg", alg,
                 *([] if lookahead is None else ["--lookahead", str(lookahead)]), "--reps", "1", "--quiet")


def measure(options, case):
    operand, grid = case
    stat = tulle(options, "stat", operand, "--grid", grid)
    ratio = stat["stage_imbalance"] / stat["flops_imbalance"]
    fast = 100e9
    bound = [product(options, operand, grid, alg, ahead, fast)["seconds_reused_plan"]
             for alg, ahead in (("stationary-c", 2), ("summa", None))]
    slow = fast
    for _ in range(4):
        r = product(options, operand, grid, "stationary-c", 0, slow)["phases"]
        slow *= r["communicate"]["max"] / max(r["compute"]["max"], 1e-9)
    equal = [product(options, operand, grid, alg, ahead, slow)["seconds_reused_plan"]
             for alg, ahead in (("stationary-c", 2), ("summa", 0))]
    return case, ratio, bound[1] / bound[0], slow, equal[1] / equal[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--grids", nargs="+", default=GRIDS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cases = list(itertools.product(INPUTS, options.grids))
    print("| input | grid | R | computing binds: SUMMA (two buffers) / stationary C | over R | bandwidth | "
          "as long: SUMMA (one buffer) / stationary C |\n|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (operand, grid), ratio, bound, slow, equal in pool.map(lambda case: measure(options, case), cases):
            print(f"| {operand} | {grid} | {ratio:.2f} | {bound:.2f} | {bound / ratio:.2f} | {slow / 1e9:.3g} GB/s | "
                  f"{equal:.2f} |", flush=True)


if __name__ == "__main__":
    main()
