#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triangular solves: every method beside the serial one, and what `auto` takes.

    bench/solves.py --tulle build/tulle [--pes 2] [--rhs random:1] [--reps 21]

Lower triangles of meshes, graphs and real matrices ($TULLE_MATRICES, left out with a word if they are not there), values
scaled where they were not made to be solved with. Seconds are medians of a solve; in brackets the serial solve's time
over it: over 1, the method is faster. `pays` is the number of solves after which auto's analysis has paid for itself.
Wants as many quiet cores as there are PEs.
"""
import argparse
import json
import os
import subprocess

UNIT = ["--unit", "--scale"]
CASES = [
    ("fem:nodes=96,dof=1", []),
    ("fem:nodes=40,dof=3", []),
    ("stencil2d:nx=1000,ny=1000", []),
    ("@mfem_bracket_thermal_p2", []),
    ("@mfem_bracket_elasticity", []),
    ("@cnr-2000", UNIT),
    ("@copter2", UNIT),  # from here on stand-ins for the paper's: doc/inputs.md
    ("nlpkkt:n=40", UNIT),
    ("delaunay:n=1024", UNIT),
    ("road:n=1404", UNIT),
    ("shell:n=153", UNIT),
    ("web:n=1000005", UNIT),
    ("cliques:n=326186", UNIT),
    ("rmat:scale=18,edgefactor=8,relabel=on", UNIT),
]


def run(options, operand, more):
    command = [options.tulle, "trisolve", operand, "--from", "tril", *more, "--pes", str(options.pes), "--threads", "1",
               "--rhs", options.rhs, "--method", "serial,levels,chunked,p2p,push,auto", "--reps", str(options.reps),
               "--check", "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"exit {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--pes", type=int, default=2)
    parser.add_argument("--rhs", default="random:1")
    parser.add_argument("--reps", type=int, default=21)
    options = parser.parse_args()
    matrices = os.environ.get("TULLE_MATRICES", "../shared/matrices")
    print("| triangle | n | entries | levels | serial | levels | chunked | p2p | push | auto | pays |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|")
    left_out, near, counted = [], 0, 0
    for operand, more in CASES:
        path = operand if operand[0] != "@" else os.path.join(matrices, operand[1:] + ".mtx.gz")
        if operand[0] == "@" and not os.path.exists(path):
            left_out.append(f"{operand[1:]}: there is no {path}")
            continue
        try:
            *each, auto = run(options, path, more)
        except RuntimeError as error:
            left_out.append(f"{operand.lstrip('@')}: {error}")
            continue
        serial = each[0]["seconds"]
        line = [f"{serial:.4g}"] + [f"{r['seconds']:.4g} ({serial / r['seconds']:.2f})" for r in each[1:]]
        best = min(r["seconds"] for r in each)
        counted += 1
        near += auto["seconds"] <= 1.1 * best
        gain = serial - auto["seconds"]
        pays = (auto["analysis_seconds"] - each[0]["analysis_seconds"]) / gain if gain > 0 else float("nan")
        line.append(f"{auto['method']} {auto['seconds']:.4g} ({serial / auto['seconds']:.2f})")
        line.append("-" if auto["method"] == "serial" or gain <= 0 else f"{max(pays, 0):.1f}")
        levels = next(r["levels"] for r in each if r["method"] == "levels")
        print(f"| {operand.lstrip('@')} | {auto['n']} | {auto['nnz']} | {levels} | " + " | ".join(line) + " |", flush=True)
    print(f"\nauto within 10 % of the best method: {near} of {counted}")
    for reason in left_out:
        print(f"left out: {reason}")


if __name__ == "__main__":
    main()
