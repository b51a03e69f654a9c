#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error and time of density matrices over the filter: submatrices one block column each, and combined.

    bench/submatrix.py [--tulle build/tulle] [--reps 3] [--pes 1] [--threads 2] [--set h2o_256_szv] [EPS ...]

The matrices are those of a converged calculation (TULLE_MATRICES); truth is a dense solution of the same
pair: the levels next to the gap and the sum of the occupied ones, for mu in the middle of the gap. Times are
of f(K) alone, which is what CP2K reports as its sign routine; plan included, least of the runs.
"""
import argparse
import json
import os
import subprocess

HARTREE = 27211.386  # meV
TRUTH = {  # HOMO, LUMO, twice the sum of the occupied levels, electrons, atoms
    "h2o_256_szv": (-0.04891653, 0.29703010, -700.0454252713, 2048, 768),
    "h2o_864_szv": (-0.04769852, 0.29713023, -2356.6669620786, 6912, 2592),
}


def run(options, name, eps, combine, electrons):
    home, low, high, count = os.environ["TULLE_MATRICES"], *TRUTH[name][:2], TRUTH[name][3]
    aim = ["--electrons", str(count)] if electrons else ["--mu", repr((low + high) / 2)]
    command = [options.tulle, "density", f"{home}/{name}_KS.mtx.gz", f"{home}/{name}_S.mtx.gz", "--blocks", "6",
               "--filter", repr(eps), "--combine", combine, "--pes", str(options.pes), "--threads",
               str(options.threads), "--json", *aim]
    best = None
    for _ in range(options.reps):
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        report["time"] = report["function"]["seconds"] + report["function"]["plan_seconds"]
        if best is None or report["time"] < best["time"]:
            best = report
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--pes", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--set", default="h2o_256_szv", choices=TRUTH)
    parser.add_argument("eps", nargs="*", type=float, default=[1e-2, 1e-3, 1e-4, 1e-5])
    options = parser.parse_args()
    low, high, energy, electrons, atoms = TRUTH[options.set]
    mu = (low + high) / 2
    print("| eps | combined | submatrices | mean rows | s | decompositions, s | E - mu N, meV an atom | N - N0 |"
          " E with N electrons, meV an atom |")
    print("|---|---|---|---|---|---|---|---|---|")
    for eps in options.eps:
        for combine in ("none", "auto"):
            r = run(options, options.set, eps, combine, False)
            free = (r["energy"] - mu * r["electrons"] - (energy - mu * electrons)) * HARTREE / atoms
            exact = run(options, options.set, eps, combine, True)
            counted = (exact["energy"] - energy) * HARTREE / atoms
            f = r["function"]
            print(f"| {eps:.0e} | {combine} | {f['submatrices']} | {f['mean']:.1f} | {r['time']:.3f} |"
                  f" {f['dense_seconds'] / options.threads:.3f} | {free:+.2g} | {r['electrons'] - electrons:+.2g} |"
                  f" {counted:+.2g} |", flush=True)


if __name__ == "__main__":
    main()
