#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times two builds of the command side by side on the rows of doc/performance.md and doc/krylov.md.

    bench/pairs.py OLD NEW [--quick] [--rows REGEX] [--reps 3] [--threads 2] [--json FILE] [--list]

Products in f64 and f32 (with their plan, and with a plan that exists), also of two PEs, triangular solves by each method,
streams and Krylov methods. A repetition runs old, new, new, old, so that a machine that becomes slower strikes both alike.
Seconds are those that the command reports, and printed is the median of all runs. The ratio is that of old over new in a
repetition, the median over repetitions: over 1, the new build is faster. Geometric means and the worst figure of each
group and of all follow. Give the same program twice to see the machine's noise.

--quick takes a few short rows of each group, --rows those whose `group: name` matches, --list prints them. A matrix that
is not in $TULLE_MATRICES, and a row that OLD cannot run, is named and skipped; what NEW alone fails at makes the exit
status 1. --json writes an object for each figure, with the seconds of all runs. Each build finds its modules beside it, so
leave TULLE_MODULE_PATH unset. Rows of rivals, clusters and simulated machines are not here.
"""
import argparse
import json
import math
import os
import re
import shlex
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True  # no folder beside what is imported
from compare import HERE, PAGES, commit, machine, read_cases, run, seconds_text
from krylov import STENCILS
from solves import CASES, FACTORS, METHODS

MATRICES = os.environ.get("TULLE_MATRICES", os.path.join(HERE, "..", "..", "shared", "matrices"))
ORDER = ("old", "new", "new", "old")
PRODUCTS, SOLVES = "5", "21"  # that one run makes: it reports their median

# tables that have no list of their own
RELABELLED = "rmat:scale=%d,edgefactor=8,seed=1,relabel=on"
TWO_PES = [("spmm", "fem:nodes=64,dof=1", 32), ("spmm", "fem:nodes=40,dof=3", 32), ("spmm", RELABELLED % 17, 8),
           ("spmm", "er:n=1000000,degree=8", 8), ("spmm", "@coauthor_physics", 8), ("spgemm", RELABELLED % 16, 0),
           ("spgemm", "fem:nodes=64,dof=1", 0)]
LARGE = ["@bcsstk16", "@mfem_bracket_elasticity", "@mfem_bracket_thermal_p2"]
KRYLOV = [("cg", "ic0", ["@1138_bus"] + LARGE + STENCILS), ("gmres", "ilu0", ["@superlu_big", "@epb0"] + LARGE + STENCILS)]
STREAMS = [(1, 96), (3, 56), (6, 36)]  # unknowns, nodes

# a second a run at most
QUICK = re.compile(r"SpGEMM: (fem:nodes=64|@copter2|@coauthor)|SpMM: (fem:nodes=64.*N = (8|32)$|@coauthor.*N = (1|32)$)|"
                   r"SpMM f32: (fem:nodes=64.*N = 32$|@coauthor.*N = 8$)|two PEs: spmm (fem:nodes=64|@coauthor)|"
                   r"triangular: (fem:nodes=40|@copter2|nlpkkt)|factors: @bcsstk16|streams: 6 |"
                   r"Krylov: .*(stencil2d:n=100|@bcsstk16|@superlu)")


class Row:
    """The command's words, None for the operand, and what makes {label: seconds} of the objects that it prints."""

    def __init__(self, group, name, operand, words, figures):
        self.group, self.name, self.operand, self.words, self.figures = group, name, operand, words, figures
        self.title = f"{group}: {name}"

    def arguments(self, operand):
        return [operand if word is None else word for word in self.words] + ["--json", "--quiet"]


def product_figures(objects):
    return {"with its plan": objects[0]["seconds"], "plan kept": objects[0]["seconds_reused_plan"]}


def solve_figures(objects):
    """A figure a method, in the order in which they were asked for; auto's object has the name of what it took."""
    names = (METHODS + ",supernodal").split(",")[:len(objects) - 1] + ["auto"]
    return {name: told["seconds"] for name, told in zip(names, objects)}


def stream_figures(objects):
    return {"product": objects[0]["seconds"], "pass": objects[0]["loop"]["max"]}


def krylov_figures(objects):
    """All columns; of block CG each has the block's seconds."""
    seconds = [column["seconds"] for column in objects[0]["columns"]]
    return {"solve": seconds[0] if objects[0]["method"] == "block-cg" else sum(seconds)}


def product_rows(threads):
    def row(group, verb, operand, cols, kind, pes, each):
        words = [verb, None, "--pes", str(pes), "--threads", str(each), "--reps", PRODUCTS, "--type", kind]
        words += ["--cols", str(cols)] if cols else []
        name = (f"{verb} " if group == "two PEs" else "") + operand + (f", N = {cols}" if cols else "")
        return Row(group, name, operand, words, product_figures)

    def cases(name):
        for _, operand, operation in read_cases(os.path.join(HERE, "cases", name)):
            verb, _, cols = operation.partition(":")
            yield verb, operand, int(cols or 0)

    made = [row("SpGEMM", *case, "f64", 1, threads) for name in ("products.list", "clusters.list")
            for case in cases(name) if case[0] == "spgemm"]
    # each pair of input and width once
    widths = list(dict.fromkeys([case for name in ("widths.list", "products.list") for case in cases(name)
                                 if case[0] == "spmm"]))
    made += [row("SpMM", *case, "f64", 1, threads) for case in widths]
    made += [row("SpMM f32", *case, "f32", 1, threads) for case in cases("widths.list")]
    return made + [row("two PEs", *case, "f64", 2, 1) for case in TWO_PES]


def solve_rows(threads):
    common = ["--pes", str(threads), "--threads", "1", "--rhs", "random:1", "--reps", SOLVES]
    made = [Row("triangular", operand, operand, ["trisolve", None, "--from", "tril", "--scale", *unit, *common, "--method",
                                                 METHODS + ",auto"], solve_figures) for operand, unit in CASES]
    return made + [Row("factors", f"{operand}, {source}", operand, ["trisolve", None, "--from", source, *common, "--method",
                                                                    METHODS + ",supernodal,auto"], solve_figures)
                   for operand, source in FACTORS]


def stream_rows(threads):
    return [Row("streams", f"{dof} unknowns, {nodes}^3, {way}", f"cantilever:nodes={nodes},dof={dof}",
                ["stream", None, "--device", "limit:link=4G,latency=2us+cpu", "--slabs", "41", "--cols", "8", "--products",
                 PRODUCTS, "--pes", "1", "--threads", str(max(1, threads - 1)), *more], stream_figures)
            for dof, nodes in STREAMS for way, more in (("column by column", ["--column-by-column"]), ("all at once", []))]


def krylov_rows(threads):
    made = [Row("Krylov", f"{method} {precond} {operand}", operand,
                ["solve", None, "--method", method, "--precond", precond, "--rhs", "ones", "--max-iterations", "5000",
                 "--pes", "1", "--threads", "1"], krylov_figures)
            for method, precond, operands in KRYLOV for operand in operands]
    operand = "cantilever:nodes=48,dof=3"
    return made + [Row("Krylov", f"block-cg jacobi {operand}, 16 sides", operand,
                       ["solve", None, "--method", "block-cg", "--precond", "jacobi", "--rhs", "random:16", "--pes", "1",
                        "--threads", str(threads)], krylov_figures)]


def all_rows(threads):
    return product_rows(threads) + solve_rows(threads) + stream_rows(threads) + krylov_rows(threads)


def once(options, which, row, operand, cache):
    """({label: seconds}, what went wrong or '')."""
    command = [options.old if which == "old" else options.new, *row.arguments(operand)]
    objects, wrong = run(command, {**PAGES, "XDG_CACHE_HOME": cache}, options.limit)
    if wrong:
        return {}, wrong
    try:
        figures = row.figures(objects)
    except (KeyError, IndexError) as error:
        return {}, f"what it printed has no {error}"
    zero = [label for label, seconds in figures.items() if not seconds or seconds <= 0]
    return figures, f"no seconds of '{zero[0]}'" if zero else ""


def measure(options, row, operand, cache):
    """{label: {'old': [seconds], 'new': [seconds]}}, and {which: what went wrong}."""
    seconds = {}
    for _ in range(options.reps):
        broken = {}
        for which in ORDER:
            figures, wrong = once(options, which, row, operand, cache)
            if wrong:
                broken.setdefault(which, wrong)
            for label, took in figures.items():
                seconds.setdefault(label, {"old": [], "new": []})[which].append(took)
        if not broken and any(len(took["old"]) != len(took["new"]) for took in seconds.values()):
            broken = {"new": "it reports other figures than OLD"}
        if broken:
            return {}, broken
    return seconds, {}


def ratio_of(took):
    """Old over new: the median over repetitions, each of two runs of both."""
    old, new = ([first + second for first, second in zip(took[which][::2], took[which][1::2])] for which in ("old", "new"))
    return statistics.median(a / b for a, b in zip(old, new))


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def show_summary(figures):
    print("\n| group | figures | old over new, geometric mean | worst |\n|---|---:|---:|---|")
    for group in [*dict.fromkeys(figure["group"] for figure in figures), "all"]:
        some = [figure for figure in figures if group in ("all", figure["group"])]
        worst = min(some, key=lambda figure: figure["ratio"])
        print(f"| {group} | {len(some)} | {mean([figure['ratio'] for figure in some]):.3f} | {worst['ratio']:.3f}, "
              f"{worst['group']}: {worst['row']}, {worst['figure']} |")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--quick", action="store_true", help="a few short rows of each group")
    parser.add_argument("--rows", default="", metavar="REGEX", help="only rows whose `group: name` matches")
    parser.add_argument("--reps", type=int, default=3, help="repetitions of old, new, new, old")
    parser.add_argument("--threads", type=int, default=2, help="threads, or PEs of one thread in triangular solves")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one run")
    parser.add_argument("--json", metavar="FILE", help="write an object for each figure")
    parser.add_argument("--list", action="store_true", help="print the rows and exit")
    options = parser.parse_args()
    if options.reps < 1 or options.threads < 1:
        parser.error("--reps and --threads are at least 1")
    for path in (options.old, options.new):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            parser.error(f"{path} is not a program")
    options.old, options.new = os.path.abspath(options.old), os.path.abspath(options.new)
    try:
        wanted = re.compile(options.rows)
    except re.error as error:
        parser.error(f"--rows: {error}")
    options.chosen = [row for row in all_rows(options.threads)
                      if wanted.search(row.title) and (not options.quick or QUICK.search(row.title))]
    if not options.chosen:
        parser.error(f"no row matches '{options.rows}'; --list prints them")
    return options


def main():
    options = parse_arguments()
    if options.list:
        print("\n".join(row.title for row in options.chosen))
        return 0
    print(f"{machine()}, load {os.getloadavg()[0]:.2f}, commit {commit()}; medians of {2 * options.reps} runs\n\n"
          "| row | | old, s | new, s | old over new |\n|---|---|---:|---:|---:|", flush=True)
    figures, skipped, failed, out = [], [], [], open(options.json, "w", encoding="utf-8") if options.json else None
    # both go by the same figures of this machine: the first run, of OLD, measures them
    with tempfile.TemporaryDirectory() as cache:
        for row in options.chosen:
            operand = os.path.join(MATRICES, row.operand[1:] + ".mtx.gz") if row.operand[0] == "@" else row.operand
            if row.operand[0] == "@" and not os.path.exists(operand):
                skipped.append(f"{row.title}: there is no {operand}")
                continue
            measured, broken = measure(options, row, operand, cache)
            if broken:
                (skipped if "old" in broken else failed).append(
                    f"{row.title}: " + "; ".join(f"{which}: {wrong}" for which, wrong in sorted(broken.items())))
            for label, took in measured.items():
                figure = {"group": row.group, "row": row.name, "figure": label, "command": shlex.join(row.arguments(operand)),
                          "old": statistics.median(took["old"]), "new": statistics.median(took["new"]),
                          "ratio": ratio_of(took), "old_all": took["old"], "new_all": took["new"], "machine": machine()}
                figures.append(figure)
                print(f"| {row.title} | {label} | {seconds_text(figure['old'])} | {seconds_text(figure['new'])} | "
                      f"{figure['ratio']:.3f} |", flush=True)
                if out:
                    print(json.dumps(figure), file=out, flush=True)
    if out:
        out.close()
    if figures:
        show_summary(figures)
    for text in skipped:
        print(f"\nskipped: {text}")
    for text in failed:
        print(f"\nNEW alone fails: {text}")
    return 0 if figures and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
