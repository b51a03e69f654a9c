#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times two builds of the command side by side on the rows of doc/performance.md.

    bench/pairs.py OLD NEW [--quick] [--rows REGEX] [--reps 3] [--threads 2] [--json FILE]

Products, triangular solves, streams and Krylov methods. Runs are interleaved, old new new old, so that a machine that
becomes slower strikes both alike; --reps is the number of such rounds, and a row's ratio is the old median over the new
one: over 1, the new build is faster. Then geometric means of each group and of all rows, and the worst row. Matrices
come from generators and from $TULLE_MATRICES; a row whose matrix is missing, or that a build refuses, is named and
left out. Each build finds its modules beside it, so leave TULLE_MODULE_PATH unset. Rows of rivals, clusters and simulated machines are not here.
"""
import argparse
import json
import math
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # no folder beside what is imported
from compare import machine, read_cases, seconds_text
from krylov import STENCILS
from solves import CASES as TRIANGLES
from solves import FACTORS

HERE = os.path.dirname(os.path.abspath(__file__))
MATRICES = os.environ.get("TULLE_MATRICES", os.path.join(HERE, "..", "..", "shared", "matrices"))
QUICK = r"^(product: fem64|product: copter2|product: coauthor|solve: fem:nodes=40|solve: nlpkkt|stream: 3|krylov: cg.*stencil2d:n=100)"
KRYLOV = ["@bcsstk16", "@1138_bus", "@mfem_bracket_thermal_p2"] + STENCILS


def rows(threads):
    """(group, name, operand, command behind the operand) of each row."""
    team = ["--pes", "1", "--threads", str(threads)]
    split = ["--pes", str(threads), "--threads", "1"]
    made = []
    for list_name in ("products.list", "widths.list"):
        for name, operand, operation in read_cases(os.path.join(HERE, "cases", list_name)):
            verb, _, cols = operation.partition(":")
            words = team + ["--reps", "3"] + (["--cols", cols] if cols else [])
            made.append(("products", f"product: {name} {operation}", operand, [verb], words))
    for operand, words in TRIANGLES:
        solve = ["--from", "tril", "--scale", "--reps", "21", "--method", "auto"] + words + split
        made.append(("solves", f"solve: {operand}", operand, ["trisolve"], solve))
    for operand, factor in FACTORS:
        made.append(("solves", f"solve: {operand}, {factor}", operand, ["trisolve"],
                     ["--from", factor, "--reps", "21", "--method", "auto"] + split))
    for dof, nodes in ((1, 96), (3, 56), (6, 36)):
        for word in ([], ["--separate"]):
            made.append(("streams", f"stream: {dof}, {nodes}^3{', by column' if word else ''}",
                         f"cantilever:nodes={nodes},dof={dof},vary=2", ["stream"],
                         ["--device", "limit:link=2G,latency=5us+cpu", "--slabs", "32", "--cols", "8", "--format", "auto",
                          "--pes", "1", "--threads", str(max(1, threads - 1))] + word))
    for method, precond in (("cg", "ic0"), ("gmres", "ilu0")):
        for operand in KRYLOV:
            made.append(("krylov", f"krylov: {method}, {precond}, {operand}", operand, ["solve"],
                         ["--method", method, "--precond", precond, "--rhs", "ones", "--pes", "1", "--threads", "1"]))
    return list(dict.fromkeys((g, n, o, tuple(v), tuple(w)) for g, n, o, v, w in made))


def seconds_of(told):
    """What is timed: a product with its plan, a solve, a pass of a stream, all columns of a Krylov method."""
    if told["op"] == "solve":
        return sum(column["seconds"] for column in told["columns"])
    return told["seconds"]


def run(tulle, arguments, options, environment):
    """(seconds, '') or (None, what went wrong)."""
    try:
        done = subprocess.run([tulle, *arguments, "--json", "--quiet"], capture_output=True, text=True, check=False,
                              timeout=options.limit, env=environment)
    except subprocess.TimeoutExpired:
        return None, f"over {options.limit:g} s"
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{") and done.returncode == 0:
            return seconds_of(json.loads(line)), ""
    return None, (done.stderr.strip() or f"exit {done.returncode}").splitlines()[-1][:200]


def time_row(row, options, environment):
    """The row as an object: seconds of all runs of both, and the ratio; or what it was left out for."""
    group, name, operand, verb, words = row
    about = {"group": group, "row": name}
    if operand.startswith("@"):
        operand = os.path.join(MATRICES, operand[1:] + ".mtx.gz")
        if not os.path.exists(operand):
            return {**about, "skipped": "its matrix is not in $TULLE_MATRICES"}
    arguments = [*verb, operand, *words]
    times = {"old": [], "new": []}
    builds = {"old": options.old, "new": options.new}
    for _ in range(options.reps):
        for which in ("old", "new", "new", "old"):
            seconds, wrong = run(builds[which], arguments, options, environment)
            if wrong:
                return {**about, "skipped": f"{which}: {wrong}", "command": shlex.join(arguments)}
            times[which].append(seconds)
    old, new = (statistics.median(times[which]) for which in ("old", "new"))
    return {**about, "command": shlex.join(arguments), "old": old, "new": new, "ratio": old / new if new > 0 else math.nan,
            "old_all": times["old"], "new_all": times["new"]}


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def show_summary(results):
    timed = [r for r in results if "ratio" in r and r["ratio"] > 0]
    left = [r for r in results if "skipped" in r]
    print("\n| group | rows | old over new, geometric mean | worst |\n|---|---:|---:|---|")
    groups = list(dict.fromkeys(r["group"] for r in timed))
    for group in groups + ["all"]:
        some = [r for r in timed if group in ("all", r["group"])]
        if some:
            worst = min(some, key=lambda r: r["ratio"])
            print(f"| {group} | {len(some)} | {mean([r['ratio'] for r in some]):.3f} | {worst['row']} {worst['ratio']:.3f} |")
    if left:
        print("\nLeft out:\n")
    for r in left:
        print(f"- {r['row']}: {r['skipped']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--quick", action="store_true", help="some rows of each group")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose name matches")
    parser.add_argument("--reps", type=int, default=3, help="rounds of old, new, new, old")
    parser.add_argument("--threads", type=int, default=2, help="threads, or PEs of one thread in solves")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one command")
    parser.add_argument("--json", metavar="FILE", help="append an object a row")
    options = parser.parse_args()
    if options.reps < 1:
        parser.error("--reps is at least 1")
    for path in (options.old, options.new):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            parser.error(f"{path} is not a program")
    options.old, options.new = os.path.abspath(options.old), os.path.abspath(options.new)
    chosen = [row for row in rows(options.threads)
              if re.search(options.rows, row[1]) and (not options.quick or re.search(QUICK, row[1]))]
    if not chosen:
        parser.error(f"no row's name matches '{options.rows}'")
    print(f"{machine()}; medians of {2 * options.reps}\n\n| row | old, s | new, s | old over new |\n|---|---:|---:|---:|")
    results = []
    with tempfile.TemporaryDirectory() as cache:
        # both go by the same figures of this machine: those that the new build measures first
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        for row in chosen:
            results.append(time_row(row, options, environment))
            r = results[-1]
            print(f"| {r['row']} | - | - | left out |" if "skipped" in r else
                  f"| {r['row']} | {seconds_text(r['old'])} | {seconds_text(r['new'])} | {r['ratio']:.3f} |", flush=True)
            if options.json:
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps({**r, "machine": machine()}) + "\n")
    show_summary(results)
    return 0 if any("ratio" in r for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
