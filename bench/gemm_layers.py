#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dense products on every grid of rows x cols x layers PEs: the model's time beside that of a simulation.

    bench/gemm_layers.py --tulle build/tulle [--pes 8] [--m 2048 --n 2048 --k 2048] [--bandwidth 2e9] [--top 0]

The machine of the model has the figures of the simulated nodes, one PE each. With --top only so many grids of the least
volume are run. The last lines compare the grids that bytes, the model and the simulation prefer.
"""
import argparse
import json
import os
import subprocess
import tempfile

FLOPS, MEMORY, CACHE, LATENCY = 30e9, 10e9, 40e9, 2e-6

MACHINE = """host simulated
threads 1
stream %g
cache %g
fma_f32 %g
fma_f64 %g
same_node %g %g
other_node %g %g
node_pes 1
in_place 0
"""


def grids(pes):
    for rows in range(1, pes + 1):
        for cols in range(1, pes // rows + 1):
            layers = pes // (rows * cols)
            if rows * cols * layers >= .95 * pes:
                yield rows, cols, layers


def run(given, machine, grid):
    platform = ("sim:platform=fattree,node=1,flops=%g,flops32=%g,memory=%g,cache=%g,far_bw=%g,far_latency=%g,launch=0" %
                (FLOPS, 2 * FLOPS, MEMORY, CACHE, given.bandwidth, LATENCY))
    words = [given.tulle, "gemm", "--m", given.m, "--n", given.n, "--k", given.k, "--grid", "%dx%dx%d" % grid, "--pes",
             given.pes, "--comm", platform, "--machine", machine, "--alg", "stationary-c", "--reps", 1, "--json",
             "--quiet"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else None


def volume(given, grid):
    return (grid[1] - 1) * given.m * given.k + (grid[0] - 1) * given.k * given.n + (grid[2] - 1) * given.m * given.n


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("--pes", type=int, default=8)
    options.add_argument("--top", type=int, default=0)
    options.add_argument("--bandwidth", type=float, default=2e9)
    for size in ("m", "n", "k"):
        options.add_argument("--" + size, type=int, default=2048)
    given = options.parse_args()
    every = sorted(grids(given.pes), key=lambda g: volume(given, g))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        machine = os.path.join(folder, "machine")
        with open(machine, "w") as file:
            file.write(MACHINE % (MEMORY, CACHE, 2 * FLOPS, FLOPS, LATENCY, given.bandwidth, LATENCY, given.bandwidth))
        print("| grid | moved, MB | predicted, ms | virtual time, ms | predicted / virtual |\n|---|---|---|---|---|")
        for grid in every[:given.top or None]:
            line = run(given, machine, grid)
            if not line:
                print("| %dx%dx%d | - | - | - | - |" % grid)
                continue
            seconds, predicted = line["seconds_reused_plan"], line["predicted_seconds"]
            found.append((line["bytes_moved"], predicted, seconds, grid))
            print("| %dx%dx%d | %.1f | %.3f | %.3f | %.2f |" %
                  (*grid, line["bytes_moved"] * 1e-6, predicted * 1e3, seconds * 1e3, predicted / seconds), flush=True)
    best = [min(found, key=lambda f, i=i: f[i])[2] for i in range(3)]
    print("\nvirtual time of the best by bytes %.3f ms, by the model %.3f ms, of all %.3f ms" %
          tuple(1e3 * b for b in best))


if __name__ == "__main__":
    main()
