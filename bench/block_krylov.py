#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Block CG beside as many separate CGs of ours and of PETSc's, to the same residual with the same preconditioner.

    bench/block_krylov.py --tulle build/tulle --rivals bench/rivals/build [--spec cantilever:nodes=48,dof=3] [--sides 16]
                          [--precond jacobi] [--tol 1e-8] [--threads 2] [--repeats 1]

The same random right-hand sides for ours. PETSc solves one random one, on as many ranks as we have threads, and its time
is taken as many times; of ours, separate CGs are also measured on a few (--separate) and taken to all. PETSc is left out
with a word where it is not built. A table of seconds, iterations, and what block CG's seconds are made of, with the bytes
that an iteration cannot do without over a second of it (sixteen panels and the matrix; nothing is counted twice that a
cache holds).
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile


def last_json(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line), ""
    return None, (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]


def solve(options, method, sides):
    runs = []
    for _ in range(options.repeats):
        told, wrong = last_json([options.tulle, "solve", options.spec, "--method", method, "--precond", options.precond,
                                 "--rhs", f"random:{sides}", "--tol", str(options.tol), "--pes", "1", "--threads",
                                 str(options.threads), "--max-iterations", str(options.most), "--json", "--quiet"])
        if not told:
            raise SystemExit(f"{method}: {wrong}")
        runs.append(told)
    return runs


def petsc(options):
    if not os.path.exists(os.path.join(options.rivals, "bench_petsc")):
        return None, f"there is no bench_petsc in {options.rivals}"
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "matrix.csr")
        made = subprocess.run([os.path.join(options.rivals, "mkcsr"), options.spec, path], capture_output=True, text=True,
                              check=False)
        if made.returncode:
            return None, made.stderr.strip()
        launch = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", str(options.threads)]
        return last_json((launch if options.threads > 1 else []) +
                         [os.path.join(options.rivals, "bench_petsc"), "--op", "krylov", "--matrix", path, "--method", "cg",
                          "--precond", options.precond, "--tol", str(options.tol), "--rhs", "random", "--max-iterations",
                          str(options.most)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--rivals", default="bench/rivals/build")
    parser.add_argument("--spec", default="cantilever:nodes=48,dof=3")
    parser.add_argument("--sides", type=int, default=16)
    parser.add_argument("--separate", type=int, default=2, help="right-hand sides that are solved one by one")
    parser.add_argument("--precond", default="jacobi")
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--most", type=int, default=20000, help="iterations")
    options = parser.parse_args()
    block, separate = solve(options, "block-cg", options.sides), solve(options, "cg", options.separate)
    rival, wrong = petsc(options)
    first = block[0]
    columns, singles = first["columns"], separate[0]["columns"]
    seconds = statistics.median(run["columns"][0]["seconds"] for run in block)
    one = statistics.median(statistics.mean(c["seconds"] for c in run["columns"]) for run in separate)
    print(f"{options.spec}: {first['n']} rows, {first['nnz']} entries, {options.sides} right-hand sides, "
          f"{options.precond}, {options.tol:g}, {options.threads} threads or ranks\n")
    print("| | iterations | seconds | block CG is faster |\n|---|---|---|---|")
    print(f"| block CG | {min(c['iterations'] for c in columns)} to {max(c['iterations'] for c in columns)} | "
          f"{seconds:.3g} | |")
    print(f"| {options.sides} times CG | {statistics.mean(c['iterations'] for c in singles):.0f} | "
          f"{one * options.sides:.3g} | {one * options.sides / seconds:.2f} |")
    if rival:
        print(f"| {options.sides} times PETSc's CG | {rival['iterations']} | {rival['seconds'] * options.sides:.3g} | "
              f"{rival['seconds'] * options.sides / seconds:.2f} |")
    steps = max(c["iterations"] for c in columns)
    panel = first["n"] * options.sides * (8 if first["type"] == "f64" else 4)
    entry = 12 if first["type"] == "f64" else 8
    parts = {"product": first["nnz"] * entry + 2 * panel, "dots": 4 * panel, "vectors": 9 * panel, "precond": 2 * panel}
    print("\n| part of an iteration | milliseconds | GB/s of what it must move |\n|---|---|---|")
    for part, moved in parts.items():
        took = columns[0][part]["mean"] / steps
        print(f"| {part} | {took * 1e3:.3g} | {moved / took * 1e-9 if took else 0:.3g} |")
    unconverged = [c["stop"] for c in columns + singles if c["stop"] != "converged"]
    for word in unconverged + ([f"PETSc: {wrong}"] if not rival else []):
        print(f"note: {word}")


if __name__ == "__main__":
    main()
