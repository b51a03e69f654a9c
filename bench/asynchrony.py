#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much communication stationary C hides: 2 PEs over the `net` wrapper, with the bandwidth set so that communication
takes as long as computation.

    bench/asynchrony.py --tulle build/tulle

For each case: a run without lookahead tells both times and sets the bandwidth; then, one after the other, runs without
and with lookahead. Hidden is what of the communication without lookahead is gone with it, over what can be hidden: the
shorter of communication and computation. Medians of --reps runs with a plan that is kept. `net` waits for the modeled
time after a copy of its own, which a core has to make: cases whose bandwidth comes out near that of memory say nothing.
"""
import argparse
import json
import statistics
import subprocess

CASES = [
    ("spmm", "fem:nodes=40,dof=3", ["--cols", "128"]),
    ("spgemm", "fem:nodes=40,dof=1", []),
    ("spgemm", "er:n=100000,degree=16", []),
    ("spgemm", "rmat:scale=15,edgefactor=8,relabel=on", []),
]


def run(options, case, bandwidth, lookahead):
    """Seconds of computation and of communication that was not hidden, on the PE that took longest."""
    verb, operand, more = case
    command = [options.tulle, verb, operand, *more, "--pes", "2", "--threads", "1", "--comm",
               f"net:latency=5us,bw={bandwidth:.0f}+threads", "--alg", "stationary-c", "--tiles", str(options.tiles),
               "--lookahead", str(lookahead), "--reps", "3", "--json", "--quiet"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    result = json.loads(said.splitlines()[0])
    return result["phases"]["compute"]["max"], result["phases"]["communicate"]["max"]


def medians(runs):
    return [statistics.median(column) for column in zip(*runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--tiles", type=int, default=8, help="tiles a PE and dimension")
    parser.add_argument("--lookahead", type=int, default=2)
    parser.add_argument("--reps", type=int, default=5)
    options = parser.parse_args()
    print("| case | bandwidth | compute | not hidden, lookahead 0 | lookahead "
          f"{options.lookahead} | hidden |\n|---|---|---|---|---|---|")
    for case in CASES:
        bandwidth = 1e9
        for _ in range(3):
            compute, communicate = run(options, case, bandwidth, 0)
            bandwidth *= communicate / compute
        without, ahead = [], []
        for _ in range(options.reps):
            without.append(run(options, case, bandwidth, 0))
            ahead.append(run(options, case, bandwidth, options.lookahead))
        compute, bare = medians(without)
        _, left = medians(ahead)
        hidden = (bare - left) / min(bare, compute)
        print(f"| {' '.join([case[0], case[1], *case[2]])} | {bandwidth / 1e9:.2f} GB/s | {compute:.3f} s | {bare:.4f} s "
              f"| {left:.4f} s | {100 * hidden:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
