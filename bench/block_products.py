#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of two matrices of blocks beside DBCSR: random 10 % of the blocks, banded 12 %, full with a tiny filter.

    bench/block_products.py [--bench build/bench/products/bench_block_products] [--rivals bench/rivals/build]
                            [--block 5 6 13 23 32] [--shape random banded full] [--ranks 1] [--rounds 3] [--reps 3]

One thread a rank. Programs take turns, round by round; a figure is the least time of all rounds, since other work on the
machine only adds to it. GF/s count 2 m n k of each product of blocks; the Frobenius norms of C must agree.
"""
import argparse
import json
import os
import subprocess

ROWS = {"random": 4000, "banded": 4000, "full": 2000}


def run(command):
    """The JSON line that a program prints."""
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800, env=environment)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not told:
        raise SystemExit(f"{' '.join(command)}: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
    return told[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bench/products/bench_block_products")
    parser.add_argument("--rivals", default="bench/rivals/build")
    parser.add_argument("--block", nargs="+", default=["5", "6", "13", "23", "32"])
    parser.add_argument("--shape", nargs="+", default=list(ROWS))
    parser.add_argument("--ranks", default="1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reps", default="3")
    options = parser.parse_args()
    launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", options.ranks]
    rival = os.path.join(options.rivals, "bench_block_products_dbcsr")
    if not os.path.exists(rival):
        raise SystemExit(f"{rival} is not built: bench/rivals/setup.sh builds it")
    print("| shape | block | GF/s | plan kept | DBCSR | faster by |")
    print("|---|---:|---:|---:|---:|---:|")
    for shape in options.shape:
        for block in options.block:
            case = ["--shape", shape, "--block", block, "--rows", str(ROWS[shape]), "--reps", options.reps]
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(run([options.bench] + case + ["--pes", options.ranks]))
                theirs.append(run(launch + [rival] + case))
            if abs(ours[0]["norm"] - theirs[0]["norm"]) > 1e-9 * ours[0]["norm"]:
                raise SystemExit(f"{shape}, {block}: the norms of C differ: {ours[0]['norm']}, {theirs[0]['norm']}")
            flops = ours[0]["gflops"] * ours[0]["seconds"]
            mine, kept = min(t["seconds_least"] for t in ours), min(t["seconds_reused_plan"] for t in ours)
            other = min(t["seconds_least"] for t in theirs)
            print(f"| {shape} | {block} | {flops / mine:.1f} | {flops / kept:.1f} | {flops / other:.1f} | "
                  f"{other / mine:.1f}x |", flush=True)


if __name__ == "__main__":
    main()
