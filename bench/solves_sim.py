#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The studies of the paper on zero-copy triangular solves, in virtual time, and push beside its best method.

    bench/solves_sim.py --tulle build/tulle --out solves_sim [--only WORD] [--quick]

Lower triangles with a unit diagonal of small stand-ins for the paper's matrices (doc/inputs.md; copter2 from
$TULLE_MATRICES, left out with a word if it is not there), on simulated DGX-1 and DGX-2. The four variants run under the
wrapper `migrate`, which moves the pages of unified memory alone: only `unified` and `unified-tasks` have some. Starting
an operation takes 2 ns, and so does each further range of a list: thousands of threads start them at once, so what
counts is a packet of 32 bytes on a link of 25 GB/s, not what a processor core takes for one. All results are checked.

  variants   the four methods at 4 PEs, seconds and faults, over `unified` (the paper: shmem 2.33 times as fast,
             zerocopy 3.53, unified-tasks 11 % slower)
  sensitivity the same on the DGX-1 with other costs of a range and a fault: geometric means
  push       against zerocopy at 4 PEs, both with 8 tasks: messages and seconds; once more with operations that take as
             long to start as those of a processor core
  tasks      zerocopy at 4 PEs of a DGX-1 with 4, 8, 16 and 32 tasks a PE
  scaling    zerocopy with 32 tasks in all on 1 to 16 PEs of a DGX-2, 1 to 4 of a DGX-1

Written to --out: solves_sim.jsonl, a line a run as `--json` prints it; solves_sim.md and a .csv a study; pictures of
tasks and scaling. Runs that solves_sim.jsonl holds already are not made again.
"""
import argparse
import csv
import json
import math
import os
import subprocess

MATRICES = {
    # name: (operand, the paper's matrix)
    "copter2": ("@copter2", "copter2"),
    "nlpkkt": ("nlpkkt:n=32", "nlpkkt160"),
    "delaunay": ("delaunay:n=300", "delaunay_n20"),
    "road": ("road:n=350", "roadNet-CA"),
    "osm": ("road:n=160,pieces=3,block=1,shuffle=.196", "belgium_osm"),
    "shell": ("shell:n=100", "shipsec1"),
    "stencil": ("stencil3d:n=45,points=15", "chipcool0"),
    "web": ("web:n=100000", "webbase-1M"),
    "uk": ("web:n=100000,host=280,links=20,split=.6", "uk-2005"),
    "cliques": ("cliques:n=100000", "dblp-2010"),
    "rmat": ("rmat:scale=16,edgefactor=8,relabel=on", "citationCiteseer"),
}
START = "overhead=2ns,range=2ns"
STARTS = {START: "", "overhead=200ns": ", operations start in 0.2 us"}
TASKS = ("unified-tasks", "zerocopy", "push")  # methods that read --tasks
VARIANTS = ("unified", "unified-tasks", "shmem", "zerocopy")
# of the study of sensitivity: what differs, the wrapper's figures, the engine's
SENSITIVITY = {
    "a range of a list 30 ns": ("", "overhead=2ns,range=30ns"),
    "125 ns, a sixteenth of the latency": ("", "overhead=2ns"),
    "a fault 10 us": (":fault=10us", START),
    "50 us": (":fault=50us", START),
}


def cases():
    """(study, matrix, comm, PEs, method, tasks)"""
    for matrix in MATRICES:
        yield "levels", matrix, "threads", 1, "levels", 0
        for machine in ("dgx1", "dgx2"):
            for method in VARIANTS:
                yield "variants", matrix, f"migrate+sim:platform={machine},{START},direct=on", 4, method, 8
        for wrapper, engine in SENSITIVITY.values():
            for method in VARIANTS[2:] if not wrapper else VARIANTS[:2]:
                yield "sensitivity", matrix, f"migrate{wrapper}+sim:platform=dgx1,{engine},direct=on", 4, method, 8
        for start in STARTS:
            for method in ("push", "zerocopy"):
                yield "push", matrix, f"sim:platform=dgx1,{start}", 4, method, 8
        for tasks in (4, 8, 16, 32):
            yield "tasks", matrix, f"sim:platform=dgx1,{START}", 4, "zerocopy", tasks
        for machine, several in (("dgx1", (1, 2, 3, 4)), ("dgx2", (1, 2, 4, 8, 16))):
            for pes in several:
                yield "scaling", matrix, f"sim:platform={machine},{START}", pes, "zerocopy", math.ceil(32 / pes)


def operand(matrix):
    word = MATRICES[matrix][0]
    folder = os.environ.get("TULLE_MATRICES", "../shared/matrices")
    return word if word[0] != "@" else os.path.join(folder, word[1:] + ".mtx.gz")


def run(options, case):
    study, matrix, comm, pes, method, tasks = case
    command = [options.tulle, "trisolve", operand(matrix), "--from", "tril", "--unit", "--scale", "--comm", comm, "--pes",
               str(pes), "--threads", "1", "--method", method, "--check", "--json", "--quiet"]
    command += ["--tasks", str(tasks)] if method in TASKS else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return [{"study": study, "matrix": matrix, "asked": list(case), **json.loads(line)} for line in done.stdout.splitlines()]


def gather(options):
    path = os.path.join(options.out, "solves_sim.jsonl")
    lines = [json.loads(line) for line in open(path)] if os.path.exists(path) else []
    known = {tuple(line["asked"]) for line in lines}
    left_out = [m for m in MATRICES if MATRICES[m][0][0] == "@" and not os.path.exists(operand(m))]
    for matrix in left_out:
        print(f"left out: {matrix}: there is no {operand(matrix)}")
    with open(path, "a") as out:
        for case in cases():
            if case in known or case[1] in left_out or options.only not in " ".join(map(str, case)):
                continue
            if options.quick and case[0] == "scaling":
                continue
            made = run(options, case)
            out.writelines(json.dumps(line) + "\n" for line in made)
            out.flush()
            lines.extend(made)
    return lines


def mean(values):
    """Geometric: of ratios."""
    values = [v for v in values if v > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def line_of(row):
    return "| " + " | ".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row) + " |"


def table(options, name, head, rows, last, out):
    """In Markdown to out, and by itself as CSV."""
    with open(os.path.join(options.out, name + ".csv"), "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), file=out)
    for row in rows + ([last] if last else []):
        print(line_of(row), file=out)


def draw(options, kind, name, title, lines):
    if lines:
        subprocess.run([options.tulle, "plot", kind, "-", "-o", os.path.join(options.out, name + ".svg"), "--title", title],
                       input="\n".join(map(json.dumps, lines)), text=True, check=True)


def matrices_of(lines):
    return [m for m in MATRICES if any(line["matrix"] == m for line in lines)]


def parallelism(lines):
    return {line["matrix"]: line["n"] / line["levels"] for line in lines if line["study"] == "levels"}


def variant_row(lines, matrix, machine):
    """None: there are not all runs."""
    some = {line["method"]: line for line in lines
            if line["study"] == "variants" and line["matrix"] == matrix and f"={machine}," in line["comm"]}
    if len(some) < len(VARIANTS):
        return None
    base = some["unified"]["seconds"]
    return [matrix, some["unified"]["n"], some["unified"]["nnz"], float(parallelism(lines).get(matrix, 0)), base * 1e3,
            *(base / some[m]["seconds"] for m in VARIANTS[1:]), *(some[m]["faults"] for m in VARIANTS[:2])]


def variants(options, lines, out):
    for machine in ("dgx1", "dgx2"):
        rows = [row for row in (variant_row(lines, m, machine) for m in matrices_of(lines)) if row]
        print(f"\n### The four variants at 4 PEs of a {machine}: times as fast as unified\n", file=out)
        table(options, f"variants-{machine}",
              ["matrix", "rows", "entries", "parallelism", "unified, ms", *VARIANTS[1:], "faults", "faults with tasks"],
              rows, ["geometric mean", "", "", "", "", *(mean([r[i] for r in rows]) for i in (5, 6, 7)), "", ""], out)


def ratios(lines, matrix, wrapper, engine):
    """Of each variant to unified, those that the figures do not touch from the plain study; None: there are not all runs."""
    comm = f"migrate{wrapper}+sim:platform=dgx1,{engine},direct=on"
    plain = f"migrate+sim:platform=dgx1,{START},direct=on"
    took = {}
    for line in lines:
        if line["study"] in ("variants", "sensitivity") and line["matrix"] == matrix:
            if line["comm"] == comm or (line["comm"] == plain and line["method"] not in took):
                took[line["method"]] = line["seconds"]
    return [took["unified"] / took[m] for m in VARIANTS[1:]] if len(took) == len(VARIANTS) else None


def sensitivity_row(lines, what):
    every = [r for r in (ratios(lines, m, *SENSITIVITY[what]) for m in matrices_of(lines)) if r]
    return [what, *(mean([r[i] for r in every]) for i in range(3))]


def sensitivity(options, lines, out):
    print("\n### Sensitivity: times as fast as unified, geometric means, 4 PEs of a dgx1\n", file=out)
    table(options, "sensitivity", ["assumption", *VARIANTS[1:]], [sensitivity_row(lines, what) for what in SENSITIVITY],
          None, out)


def push(options, lines, out):
    wide = parallelism(lines)
    for name, start in zip(("push", "push-slow-start"), STARTS):
        rows, faster, slower, counted = [], 0, [], 0
        for matrix in matrices_of(lines):
            some = {line["method"]: line for line in lines if line["study"] == "push" and line["matrix"] == matrix
                    and line["comm"].endswith(start)}
            if len(some) < 2:
                continue
            p, z = some["push"], some["zerocopy"]
            ratio = z["seconds"] / p["seconds"]
            rows.append([matrix, float(wide.get(matrix, 0)), z["messages"], p["messages"],
                         z["messages"] / max(p["messages"], 1), z["polls"], p["polls"], z["seconds"] * 1e3,
                         p["seconds"] * 1e3, ratio])
            if wide.get(matrix, 0) > 100:
                counted += 1
                faster += ratio > 1
            if ratio < 1 / 1.05:
                slower.append(matrix)
        print(f"\n### push against zerocopy, 4 PEs of a dgx1{STARTS[start]}\n", file=out)
        table(options, name, ["matrix", "parallelism", "messages of zerocopy", "of push", "ratio", "polls of zerocopy",
                              "of push", "zerocopy, ms", "push, ms", "times as fast"], rows,
              ["geometric mean", "", "", "", mean([r[4] for r in rows]), "", "", "", "", mean([r[9] for r in rows])], out)
        print(f"\nFaster on {faster} of {counted} with a parallelism over 100; more than 5 % slower on "
              f"{', '.join(slower) or 'none'}.", file=out)


def tasks_row(matrix, took):
    counts = sorted(took)
    return [matrix, took[counts[0]] * 1e3, *(took[counts[0]] / took[t] for t in counts[1:])]


def tasks(options, lines, out):
    counts, rows = (4, 8, 16, 32), []
    for matrix in matrices_of(lines):
        took = {line["tasks"]: line["seconds"] for line in lines if line["study"] == "tasks" and line["matrix"] == matrix}
        if len(took) == len(counts):
            rows.append(tasks_row(matrix, took))
    print("\n### Tasks a PE: zerocopy, 4 PEs of a dgx1, times as fast as with 4\n", file=out)
    table(options, "tasks", ["matrix", "4 tasks, ms", "8", "16", "32"], rows,
          ["geometric mean", "", *(mean([r[i] for r in rows]) for i in (2, 3, 4))], out)
    draw(options, "tasks", "tasks", "zerocopy, 4 PEs of a simulated dgx1",
         [{**line, "operand": line["matrix"]} for line in lines if line["study"] == "tasks"])


def scaling(options, lines, out):
    for machine, several in (("dgx1", (1, 2, 3, 4)), ("dgx2", (1, 2, 4, 8, 16))):
        rows, drawn = [], []
        for matrix in matrices_of(lines):
            took = {line["pes"]: line for line in lines if line["study"] == "scaling" and line["matrix"] == matrix
                    and f"={machine}," in line["comm"]}
            if len(took) < len(several):
                continue
            rows.append([matrix, took[1]["seconds"] * 1e3, *(took[1]["seconds"] / took[p]["seconds"] for p in several[1:])])
            drawn += [{**took[p], "operand": matrix} for p in several]
        print(f"\n### PEs of a {machine}: zerocopy, 32 tasks in all, times as fast as 1 PE\n", file=out)
        table(options, f"scaling-{machine}", ["matrix", "1 PE, ms", *map(str, several[1:])], rows,
              ["geometric mean", "", *(mean([r[i] for r in rows]) for i in range(2, 1 + len(several)))], out)
        draw(options, "scaling", f"scaling-{machine}", f"zerocopy, 32 tasks in all, simulated {machine}", drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--out", default="solves_sim")
    parser.add_argument("--only", default="", help="cases that hold this word")
    parser.add_argument("--quick", action="store_true", help="without the study of scaling")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    lines = gather(options)
    with open(os.path.join(options.out, "solves_sim.md"), "w") as out:
        print("Virtual milliseconds of a solve; ratios over 1: faster.", file=out)
        for study in (variants, sensitivity, push, tasks, scaling):
            study(options, lines, out)


if __name__ == "__main__":
    main()
