#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products with a cantilever's matrix in blocks: shares of the machine's bandwidth and of DGEMM, and rivals beside.

    bench/blocks.py --bench build/bench/kernels/bench_blocks [--rivals bench/rivals/build] [--threads 2] [--repeat 15]
                    [--case DOF:NODES ...]

Ours: of_bandwidth is the compulsory bytes (A, X and Y once) over the time, against what reading memory reaches just before;
of_dgemm flops against DGEMM's. Rivals: MKL's BSR and symmetric half on as many threads, PETSc's BAIJ and SBAIJ on one rank
and on as many as threads, which of them is faster; x is ours' time less than theirs. A rival that is not built is left out
with a word. Matrices are over 250 MB, so that no cache holds them.
"""
import argparse
import json
import os
import subprocess
import tempfile

CASES = ["1:96", "3:60", "6:40"]


def lines(command):
    """The JSON lines that a command prints, and its last word if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1]
    return told, "" if done.returncode == 0 else said


def rivals(options, path, block, cols, half):
    """(name, seconds) of each."""
    variant = ["--variant", "half" if half else "bsr"]
    common = ["--op", "spmm", "--matrix", path, "--block", str(block), "--cols", str(cols), "--reps", str(options.repeat)]
    for name, start in (("mkl", []), ("mkl-gnu", []), ("petsc", ["1"]), ("petsc", [str(options.threads)])):
        program = os.path.join(options.rivals, f"bench_blocks_{name}")
        if not os.path.exists(program) or (name == "petsc" and cols != 1):
            continue
        launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"] + start if start else []
        told, wrong = lines(launch + [program] + common + variant + ["--threads", "1" if start else str(options.threads)])
        if told:
            yield (f"petsc, {start[0]} ranks" if start else name), told[-1]["seconds_median"]
        else:
            print(f"| | | | {name}: {wrong} | | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/bench/kernels/bench_blocks")
    parser.add_argument("--rivals", default="bench/rivals/build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--case", nargs="+", default=CASES)
    options = parser.parse_args()
    print("| unknowns, nodes | format | k | ms | GF/s | of bandwidth | of DGEMM | rivals: ms (ours is faster by) |")
    print("|---|---|---:|---:|---:|---:|---:|---|")
    for case in options.case:
        dof, nodes = case.split(":")
        told, wrong = lines([options.bench, "--threads", str(options.threads), "--repeat", str(options.repeat), "--dof", dof,
                             "--nodes", nodes])
        if wrong:
            raise SystemExit(f"{options.bench}: {wrong}")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "K.csr")
            maker = os.path.join(options.rivals, "mkcsr")
            have = os.path.exists(maker) and not lines([maker, f"cantilever:nodes={nodes},dof={dof},vary=2", path])[1]
            for t in told:
                if "making" in t:
                    print(f"| {dof}, {nodes}^3 | made: {t['million_entries_s']:.0f} million entries/s | | | | | | |")
                    continue
                beside = []
                if have and t["format"] in ("bsr", "half") or (have and dof == "1" and t["format"] == "csr"):
                    for name, seconds in rivals(options, path, int(dof), t["k"], t["format"] == "half"):
                        beside.append(f"{name} {seconds * 1e3:.2f} ({seconds / t['median_s']:.2f}x)")
                print(f"| {dof}, {nodes}^3 | {t['format']} | {t['k']} | {t['median_s'] * 1e3:.2f} | {t['gflops']:.1f} | "
                      f"{t['of_bandwidth']:.3f} | {t['of_dgemm']:.3f} | {', '.join(beside)} |", flush=True)
        if not have:
            print(f"rivals are left out: {maker} is not built or does not know cantilevers")


if __name__ == "__main__":
    main()
