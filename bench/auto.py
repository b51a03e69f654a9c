#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good is `--alg auto`: every algorithm and auto's choice in virtual time, at 4 to 64 PEs of a simulated machine.

    bench/auto.py --tulle build/tulle [--comm sim:platform=summit] [--jobs 2]
    bench/auto.py --tulle build/tulle --comm net:latency=5us,bw=1G+threads --grids 2x1 1x2 --reps 7
    bench/auto.py --tulle build/tulle --comm threads --real --grids 1x1 2x1 --reps 7 --rounds 3

The second compares in real time, as many PEs as there are cores; medians of --reps. The third does so with 20 matrices of
$TULLE_MATRICES, or those named with --real, on one PE and on two.

For each case one run of all algorithms (the simulation is exact and repeats itself) and one of auto. Cases whose worst
algorithm takes less than 1.5 times the best one's time are left out: nothing is to be chosen there. Two times are
compared: of a fresh product (plan and output included) and of an execution whose plan is kept. With each stands how far
the prediction of auto's choice, which is of a first execution, is from it, of all cases and of those of 1 ms and more.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import statistics
import subprocess

import real_matrices

INPUTS = ["rmat:scale=13,edgefactor=8", "rmat:scale=13,edgefactor=8,relabel=on", "er:n=20000,degree=8",
          "fem:nodes=20,dof=1", "stencil2d:nx=150,ny=150"]
OPERATIONS = [("spgemm", []), ("spmm", ["--cols", "8"]), ("spmm", ["--cols", "128"])]
GRIDS = ["2x2", "4x1", "4x4", "16x1", "6x6", "8x8"]
TIMES = ["seconds", "seconds_reused_plan"]


def run(options, case, alg):
    operand, (verb, more), grid = case
    rows, cols = map(int, grid.split("x"))
    command = [options.tulle, verb, operand, *more, "--comm", options.comm, "--pes", str(rows * cols), "--grid", grid,
               "--threads", "1", "--alg", alg, "--reps", str(options.reps), "--json", "--quiet"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def middle(lines):
    """Of one algorithm's lines of several rounds: the first, with the medians of its times."""
    return {**lines[0], **{time: statistics.median(line[time] for line in lines) for time in TIMES}}


def measure(options, case):
    rounds = [(run(options, case, "all"), run(options, case, "auto")[0]) for _ in range(options.rounds)]
    every = {line["alg"]: middle([line, *(other[k] for other, _ in rounds[1:])]) for k, line in enumerate(rounds[0][0])}
    return case, every, middle([chosen for _, chosen in rounds])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--comm", default="sim:platform=summit")
    parser.add_argument("--grids", nargs="+", default=GRIDS)
    parser.add_argument("--reps", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1, help="of all and auto in turn, whose medians are taken")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--real", nargs="*", metavar="NAME", help="real matrices in place of generated ones")
    options = parser.parse_args()
    inputs = INPUTS
    if options.real is not None:
        inputs = [path for path in real_matrices.paths()
                  if not options.real or os.path.basename(path).split(".")[0] in options.real]
    cases = list(itertools.product(inputs, OPERATIONS, options.grids))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda case: measure(options, case), cases))
    for time in TIMES:
        good = counted = near = 0
        losses = []
        factors, longer = [], []
        print(f"\n{time}\n\n| case | grid | best | worst / best | auto | auto / best |\n|---|---|---|---|---|---|")
        for (operand, (verb, more), grid), every, chosen in results:
            seconds = {alg: r[time] for alg, r in every.items()}
            best, worst = min(seconds, key=seconds.get), max(seconds.values())
            ratio = chosen["predicted_seconds"] / chosen[time]
            factors.append(max(ratio, 1 / ratio) if ratio > 0 else float("inf"))
            if chosen[time] >= 1e-3:
                longer.append(factors[-1])
            if worst < 1.5 * seconds[best]:
                continue
            loss = seconds[chosen["alg"]] / seconds[best]
            counted += 1
            good += loss <= 1.1
            near += loss <= 1.25
            losses.append(loss)
            print(f"| {verb} {os.path.basename(operand)} {' '.join(more)} | {grid} | {best} {seconds[best]:.3g} s | "
                  f"{worst / seconds[best]:.1f} | {chosen['alg']} | {loss:.2f} |")
        losses.sort()
        if losses:
            print(f"\nwithin 10 % of the best: {good} of {counted} ({100 * good / counted:.0f} %), within 1.25 of it {near}; "
                  f"median {losses[len(losses) // 2]:.2f}, worst {losses[-1]:.2f}")
        for what, some in (("", factors), (" of those of 1 ms and more", longer)):
            if some:
                print(f"predicted within 1.25{what}: {sum(f <= 1.25 for f in some)} of {len(some)}, worst {max(some):.2f}")


if __name__ == "__main__":
    main()
