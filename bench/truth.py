#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How true the simulation is: 2 PEs of 1 thread really, and simulated on a platform that is this machine.

    bench/truth.py --tulle build/tulle [--reps 5] [--real [NAME ...]]

Kernels of the simulation take the time that they take here (compute=measured), so what is compared is everything else:
transfers, waiting, control. Plain: `threads` against `sim:platform=here`, where tiles are read in place. With a network:
the wrapper `net` against a simulated one of the same latency and bandwidth, and a bandwidth that makes communication
about as long as computation. Times are of an execution whose plan is kept, medians; each real run has a simulated one
right before and behind it, whose mean is taken, so that a machine that gets slower meanwhile does so for both.
--real: of 20 matrices of $TULLE_MATRICES, or those named. Wants two cores that nobody else uses: `spread` tells how far the two simulated runs are apart.
"""
import argparse
import json
import os
import statistics
import subprocess

import real_matrices

CASES = [
    ("spmm", "fem:nodes=40,dof=3", ["--cols", "64"]),
    ("spmm", "rmat:scale=16,edgefactor=16", ["--cols", "64"]),
    ("spmm", "er:n=100000,degree=16", ["--cols", "32"]),
    ("spgemm", "fem:nodes=40,dof=1", []),
    ("spgemm", "er:n=100000,degree=12", []),
    ("spgemm", "rmat:scale=14,edgefactor=8", []),
]
ALGS = ["stationary-c", "stationary-b", "steal-local-c", "summa"]
LATENCY = 5e-6


def cases(options):
    if options.real is None:
        return CASES
    paths = [path for path in real_matrices.paths()
             if not options.real or os.path.basename(path).split(".")[0] in options.real]
    return [(verb, path, more) for path in paths for verb, more in (("spmm", ["--cols", "32"]), ("spgemm", []))]


def run(options, case, comm, alg):
    verb, operand, more = case
    command = [options.tulle, verb, operand, *more, "--comm", comm, "--pes", "2", "--threads", "1", "--alg", alg,
               "--tiles", "2", "--reps", str(options.reps), "--json", "--quiet"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def pair(options, case, real, simulated, alg):
    """Seconds really, simulated, and how far two simulated runs are apart; and whether both moved the same bytes."""
    before = run(options, case, simulated, alg)
    truth = run(options, case, real, alg)
    behind = run(options, case, simulated, alg)
    seconds = [run["seconds_reused_plan"] for run in (before, behind)]
    same = alg.startswith("steal") or before["bytes_moved"] == truth["bytes_moved"]
    return truth, statistics.mean(seconds), max(seconds) / min(seconds) - 1, same


def bandwidth_of(options, case):
    """That makes the fetches of stationary C as long as its kernels."""
    trial = run(options, case, "threads:direct=off", "stationary-c")
    return trial["bytes_moved"] / 2 / max(trial["phases"]["compute"]["mean"], 1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one line a case")
    parser.add_argument("--real", nargs="*", metavar="NAME", help="real matrices in place of generated ones")
    options = parser.parse_args()
    ratios = {"plain": [], "net": []}
    if not options.json:
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
        print("| case | comm | algorithm | real s | simulated s | simulated / real | spread | bytes |")
        print("|---|---|---|---|---|---|---|---|")
    for case in cases(options):
        bandwidth = bandwidth_of(options, case)
        net = f"latency={LATENCY * 1e6:g}us,bw={bandwidth:.0f}"
        link = f"near_bw={bandwidth:.0f},pair_bw={bandwidth:.0f},far_bw={bandwidth:.0f}"
        wait = f"near_latency={LATENCY * 1e6:g}us,far_latency={LATENCY * 1e6:g}us"
        for kind, real, simulated in (("plain", "threads", "sim:platform=here"),
                                      ("net", f"net:{net}+threads", f"sim:platform=here,direct=off,{link},{wait}")):
            for alg in ALGS:
                truth, seconds, spread, same = pair(options, case, real, simulated, alg)
                ratio = seconds / truth["seconds_reused_plan"]
                ratios[kind].append(ratio)
                if options.json:
                    print(json.dumps({"op": case[0], "operand": case[1], "kind": kind, "alg": alg,
                                      "real": truth["seconds_reused_plan"], "simulated": seconds, "ratio": ratio,
                                      "spread": spread, "same_bytes": same}), flush=True)
                    continue
                print(f"| {case[0]} {os.path.basename(case[1])} | {kind} | {alg} | {truth['seconds_reused_plan']:.4g} | {seconds:.4g} | "
                      f"{ratio:.2f} | {spread:.0%} | {'same' if same else 'differ'} |", flush=True)
    for kind, all_of in ratios.items():
        good = sum(0.9 <= ratio <= 1.1 for ratio in all_of)
        print(f"\n{kind}: within 10 % of the real time: {good} of {len(all_of)}; median "
              f"{statistics.median(all_of):.2f}, {min(all_of):.2f} to {max(all_of):.2f}")


if __name__ == "__main__":
    main()
