#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triangular solves: every method beside the serial one and beside other libraries, and what `auto` takes.

    bench/solves.py --tulle build/tulle [--pes 2] [--cols 16] [--reps 21] [--solves 1 100] [--only WORD ...]

Lower triangles of meshes, graphs and real matrices ($TULLE_MATRICES, left out with a word if they are not there), rows
scaled, and incomplete and direct factors as they are. Seconds are medians of a solve; in brackets the serial solve's time over it: over 1, it is faster. `ceiling` is
that of the product of the same triangle with a vector, by as many threads (MKL's): no method can be expected to be
faster. MKL is the better of one thread and as many as there are PEs, with hint and optimize; PETSc's and SuiteSparse's
solves are serial. They are left out, with a word, if bench/rivals has not been built (bench/rivals/setup.sh).

With --solves K ..., a second table: analysis and K solves together, in serial solves: the best method and `auto` told
of K (--solves K). Wants as many quiet cores as there are PEs.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

UNIT = ["--unit"]
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
# factors: another class of problems
FACTORS = [
    ("fem:nodes=40,dof=3", "ic0"),
    ("@mfem_bracket_elasticity", "ilu0"),
    ("@bcsstk16", "cholesky"),
    ("fem:nodes=14,dof=3", "cholesky"),
    ("stencil2d:nx=300,ny=300", "cholesky"),
    ("@superlu_big", "lu"),
]
METHODS = "serial,levels,chunked,p2p,growlocal"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"{command[0]}: exit {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def tulle(options, path, unit, methods, *more):
    source = ["--from", "tril", "--scale", *unit] if isinstance(unit, list) else ["--from", unit]
    return run([options.tulle, "trisolve", path, *source, "--pes", str(options.pes),
                "--threads", "1", "--rhs", f"random:{options.cols}", "--method", methods, "--json", "--quiet", *more])


def rivals(options, path, unit, folder):
    """Seconds of a solve by each library, and of the product by MKL."""
    build = options.rivals
    if not os.path.exists(os.path.join(build, "mkcsr")):
        return {}
    data = os.path.join(folder, re.sub(r"[^\w]", "_", path) + ".csr")
    subprocess.run([os.path.join(build, "mkcsr"), path, data], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for name, program, more in (
            [("mkl", p, ["--threads", str(t)]) for p in ("mkl", "mkl-gnu") for t in {1, options.pes}]
            + [("product", "mkl", ["--threads", str(options.pes), "--variant", "spmv"]),
               ("petsc", "petsc", []), ("suitesparse", "suitesparse", [])]):
        binary = os.path.join(build, "bench_solve_" + program)
        if not os.path.exists(binary):
            continue
        seconds = run([binary, "--op", "solve", "--matrix", data, "--cols", str(options.cols), "--reps",
                       str(options.reps), "--unit", "1" if unit else "0", *more])[0]["seconds_median"]
        found[name] = min(seconds, found.get(name, seconds))
    os.remove(data)
    return found


def ratio(serial, seconds):
    return f"{seconds:.4g} ({serial / seconds:.2f})" if seconds else "-"


def is_near(auto, each):
    """Whether the method that auto took is within 10 % of the best by its own line: both are the same code."""
    own = min(r["seconds"] for r in each + [auto] if r["method"] == auto["method"])
    return own <= 1.1 * min(r["seconds"] for r in each)


ROUNDS = 3


def totals(options, path, unit, each):
    """For each K: what the best method takes, with its name, and auto, in serial solves. Both make K solves, from a
    triangle that nobody has looked at; medians of rounds in which every method that may be the best has its turn."""
    cells = []
    for solves in options.solves:
        estimate = {r["method"]: r["analysis_seconds"] + solves * r["seconds"] for r in each}
        names = [m for m in estimate if estimate[m] <= 1.3 * min(estimate.values())]
        seconds, serial, took = {m: [] for m in names + ["auto"]}, [], ""
        for _ in range(ROUNDS):
            for method in names + ["auto"]:
                told = tulle(options, path, unit, method, "--solves", str(solves), "--reps", str(min(solves, 1000)))[0]
                all_of_it = told["analysis_seconds"] + sum(told["seconds_all"]) * solves / len(told["seconds_all"])
                seconds[method].append(all_of_it)
                took = told["method"]
            serial.append(tulle(options, path, unit, "serial", "--reps", "21")[0]["seconds"])
        one = statistics.median(serial)
        middle = {m: statistics.median(seconds[m]) / one for m in seconds}
        best = min(names, key=middle.get)
        cells += [f"{best} {middle[best]:.2f}", f"{took} {middle['auto']:.2f}"]
    return cells


def factors(options, matrices, left_out):
    print("\n| factor | rows | entries | levels | serial | levels | chunked | p2p | growlocal | supernodal | auto |\n|" + "---|" * 11)
    near = counted = 0
    for operand, source in FACTORS:
        path = operand if operand[0] != "@" else os.path.join(matrices, operand[1:] + ".mtx.gz")
        name = f"{operand.lstrip('@')}, {source}"
        try:
            *each, auto = tulle(options, path, source, METHODS + ",supernodal,auto", "--reps", str(options.reps), "--check")
        except RuntimeError as error:
            left_out.append(f"{name}: {error}")
            continue
        serial, levels = each[0]["seconds"], next(r["levels"] for r in each if r["method"] == "levels")
        counted += 1
        near += is_near(auto, each)
        print("| " + " | ".join([name, str(auto["n"]), str(auto["nnz"]), str(levels), f"{serial:.4g}"]
                                + [ratio(serial, r["seconds"]) for r in each[1:]]
                                + [f"{auto['method']} {ratio(serial, auto['seconds'])}"]) + " |", flush=True)
    print(f"\nauto within 10 % of the best method: {near} of {counted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--rivals", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals", "build"))
    parser.add_argument("--pes", type=int, default=2)
    parser.add_argument("--cols", type=int, default=1)
    parser.add_argument("--reps", type=int, default=21)
    parser.add_argument("--solves", type=int, nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[], help="cases that contain one of the words")
    options = parser.parse_args()
    matrices = os.environ.get("TULLE_MATRICES", "../shared/matrices")
    print("| triangle | rows | entries | parallelism | serial | levels | chunked | p2p | growlocal | auto | ceiling | MKL | "
          "PETSc | SuiteSparse | pays |\n|" + "---|" * 15)
    left_out, second = [], []
    counts = {"cases": 0, "near": 0, "wide": 0, "fast": 0, "rivals": 0, "ahead": 0}
    with tempfile.TemporaryDirectory() as folder:
        for operand, unit in CASES:
            path = operand if operand[0] != "@" else os.path.join(matrices, operand[1:] + ".mtx.gz")
            name = operand.lstrip("@")
            if options.only and not any(word in name for word in options.only):
                continue
            if operand[0] == "@" and not os.path.exists(path):
                left_out.append(f"{name}: there is no {path}")
                continue
            try:
                *each, auto = tulle(options, path, unit, METHODS + ",auto", "--reps", str(options.reps), "--check")
                others = rivals(options, path, unit, folder)
                if options.solves:
                    second.append([name] + totals(options, path, unit, each))
            except RuntimeError as error:
                left_out.append(f"{name}: {error}")
                continue
            serial, levels = each[0]["seconds"], next(r["levels"] for r in each if r["method"] == "levels")
            gain = serial - auto["seconds"]
            pays = max((auto["analysis_seconds"] - each[0]["analysis_seconds"]) / gain, 0) if gain > 0 else None
            solves = [others[r] for r in ("mkl", "petsc", "suitesparse") if r in others]
            counts["cases"] += 1
            counts["near"] += is_near(auto, each)
            if auto["n"] / max(levels, 1) > 100:
                counts["wide"] += 1
                counts["fast"] += auto["seconds"] * 1.3 <= serial
            if solves:
                counts["rivals"] += 1
                counts["ahead"] += auto["seconds"] <= min(solves)
            print("| " + " | ".join(
                [name, str(auto["n"]), str(auto["nnz"]), f"{auto['n'] / max(levels, 1):.0f}", f"{serial:.4g}"]
                + [ratio(serial, r["seconds"]) for r in each[1:]]
                + [f"{auto['method']} {ratio(serial, auto['seconds'])}",
                   f"{serial / others['product']:.2f}" if "product" in others else "-"]
                + [ratio(serial, others.get(r)) for r in ("mkl", "petsc", "suitesparse")]
                + ["-" if auto["method"] == "serial" or pays is None else f"{pays:.0f}"]) + " |", flush=True)
    print(f"\nauto within 10 % of the best method: {counts['near']} of {counts['cases']}; at least 1.3 times serial where "
          f"the parallelism is over 100: {counts['fast']} of {counts['wide']}; faster than all libraries: "
          f"{counts['ahead']} of {counts['rivals']}")
    if not options.only:
        factors(options, matrices, left_out)
    if second:
        print("\n| triangle | " + " | ".join(f"best, {k} solves | auto, {k}" for k in options.solves) + " |\n|"
              + "---|" * (1 + 2 * len(options.solves)))
        for line in second:
            print("| " + " | ".join(line) + " |")
    if not os.path.exists(os.path.join(options.rivals, "mkcsr")):
        left_out.append(f"other libraries: {options.rivals} has not been built (bench/rivals/setup.sh)")
    for reason in left_out:
        print(f"left out: {reason}")


if __name__ == "__main__":
    main()
