#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the model knows the machine: predictions and auto's choice against simulated runs, a row a case.

    bench/model_table.py --tulle build/tulle [--rows 60 --seed 1] [--jobs 2] [--only WORD,...] [--json rows.jsonl]
    bench/model_table.py --tulle build/tulle --check --rows 60

Rows are platforms x kinds of inputs x operations x numbers of PEs; --rows draws so many of them by --seed, else all. A
row is one run of all algorithms, in virtual time, so that it is the same to the digit wherever it is made. Times are of
an execution whose plan is kept. Of a row are compared: what auto chooses with the best, where algorithms differ by a
tenth at least; and the time that each algorithm is predicted with the time that it takes. --json writes a line a row.

--check fails unless auto is within CHOICE of the best in CHOICE_SHARE of the rows, never beyond CHOICE_MOST, and
TIME_SHARE of the predictions are within TIME. Without --check the figures are printed only.
"""
import argparse
import concurrent.futures
import itertools
import json
import random
import subprocess
import sys

PLATFORMS = ["summit", "dgx1", "dgx2", "fattree", "here"]
DRAWN = PLATFORMS[:-1]  # kernels of `here` take their real time: another one in each run
# one for each kind of bench/cases/*.list, small: generators, and stand-ins for the files; with GEMM's m, n, k
KINDS = {
    "rmat": ("rmat:scale=13,edgefactor=8,seed=1", (2048, 2048, 2048)),
    "rmat-relabel": ("rmat:scale=13,edgefactor=8,seed=1,relabel=on", (1024, 1024, 1024)),
    "er": ("er:n=16000,degree=8", (4096, 1024, 1024)),
    "fem": ("fem:nodes=22,dof=1", (1024, 4096, 1024)),
    "fem-blocks": ("fem:nodes=13,dof=3", (1024, 1024, 4096)),
    "stencil": ("stencil2d:nx=120,ny=120", (4096, 4096, 512)),
    "web": ("web:n=20000", (512, 4096, 4096)),
    "social": ("rmat:scale=12,edgefactor=32,a=.47,b=.21,c=.21,d=.11,seed=2", (4096, 512, 4096)),
    "optimisation": ("nlpkkt:n=16", (8192, 512, 512)),
    "counts": ("er:n=4000,degree=60", (512, 512, 8192)),
    "mesh": ("delaunay:n=120", (1536, 1536, 1536)),
    "cliques": ("cliques:n=12000", (3072, 3072, 3072)),
}
OPERATIONS = {"spmm1": ["spmm", "--cols", "1"], "spmm128": ["spmm", "--cols", "128"], "spgemm": ["spgemm"],
              "gemm": ["gemm"]}
GRIDS = {2: "2x1", 16: "4x4", 64: "8x8", 256: "16x16"}
APART = 1.1
CHOICE, CHOICE_SHARE, CHOICE_MOST = 1.25, 0.9, 1.6
TIME, TIME_SHARE = 1.25, 0.8


def command(tulle, row, alg):
    platform, kind, operation, pes = row
    spec, (m, n, k) = KINDS[kind]
    verb, *more = OPERATIONS[operation]
    operand = ["--m", str(m), "--n", str(n), "--k", str(k)] if verb == "gemm" else [spec, *more]
    comm = f"sim:platform={platform}"
    if verb != "spgemm" and platform != "here":
        comm += ",data=none"  # of a sparse C it would estimate the entries
    if pes > 16 and platform != "here":
        comm += ",sharing=queue"  # fair sharing among so many transfers takes minutes
    return [tulle, verb, *operand, "--comm", comm, "--pes", str(pes), "--grid", GRIDS[pes], "--threads", "1",
            "--alg", alg, "--json", "--quiet"]


def run(tulle, row, alg):
    line = command(tulle, row, alg)
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(line)}: exit {done.returncode}: {done.stderr.strip()[:500]}")
    return [json.loads(text) for text in done.stdout.splitlines()]


def measure(tulle, row):
    """The row as one object: times and predictions of each algorithm, and what auto takes."""
    every = {told["alg"]: told for told in run(tulle, row, "all")}
    chosen = run(tulle, row, "auto")[0]["alg"]
    seconds = {alg: told["seconds_reused_plan"] for alg, told in every.items()}
    best = min(seconds, key=seconds.get)
    return {**dict(zip(("platform", "kind", "operation", "pes"), row)), "best": best, "auto": chosen,
            "loss": seconds[chosen] / seconds[best], "apart": max(seconds.values()) / seconds[best], "seconds": seconds,
            "predicted": {alg: told["predicted_seconds"] for alg, told in every.items()},
            "bytes": {alg: told["bytes_moved"] for alg, told in every.items()}}


def off(row, alg):
    """By which factor a prediction is wrong, at least 1."""
    ratio = row["predicted"][alg] / row["seconds"][alg]
    return max(ratio, 1 / ratio) if ratio > 0 else float("inf")


def share(good, whole):
    return good / whole if whole else 1.0


def judge(rows):
    """Lines about all rows, and whether they are good."""
    open_rows = [row for row in rows if row["apart"] >= APART]
    losses = sorted(row["loss"] for row in open_rows)
    factors = sorted(off(row, alg) for row in open_rows for alg in row["seconds"])
    chosen = sorted(off(row, row["auto"]) for row in open_rows)
    good = share(sum(loss <= CHOICE for loss in losses), len(losses))
    true = share(sum(factor <= TIME for factor in factors), len(factors))
    true_chosen = share(sum(factor <= TIME for factor in chosen), len(chosen))
    lines = [f"{len(open_rows)} of {len(rows)} rows whose algorithms differ by a tenth at least",
             f"auto within {CHOICE} of the best: {good:.1%} of them, worst {losses[-1] if losses else 1:.2f}",
             f"predicted within {TIME}: {true:.1%} of {len(factors)} times, worst {factors[-1] if factors else 1:.2f}; "
             f"of auto's choices {true_chosen:.1%}"]
    fine = good >= CHOICE_SHARE and (not losses or losses[-1] <= CHOICE_MOST) and true_chosen >= TIME_SHARE
    return lines, fine and bool(open_rows)


def show(row):
    print(f"{row['platform']:8} {row['kind']:13} {row['operation']:8} {row['pes']:4} auto {row['auto']:14} "
          f"{row['loss']:5.2f} of {row['best']:14} " +
          " ".join(f"{alg}:{row['predicted'][alg] / row['seconds'][alg]:.2f}" for alg in row["seconds"]), flush=True)


def drawn(options):
    platforms = PLATFORMS if options.here else DRAWN
    rows = list(itertools.product(platforms, KINDS, OPERATIONS, GRIDS))
    words = options.only.split(",") if options.only else []
    rows = [row for row in rows if all(word in map(str, row) for word in words)]
    if options.pes:
        rows = [row for row in rows if row[3] <= options.pes]
    return random.Random(options.seed).sample(rows, options.rows) if 0 < options.rows < len(rows) else rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--rows", type=int, default=0, help="so many rows, drawn (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pes", type=int, default=0, help="rows of at most so many PEs (default: all)")
    parser.add_argument("--only", help="rows with all of these words, as in summit,spgemm")
    parser.add_argument("--here", action="store_true", help="rows of this machine, too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", help="a file of JSON lines")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda row: measure(options.tulle, row), drawn(options)):
            rows.append(row)
            show(row)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    lines, fine = judge(rows)
    print("\n".join(lines))
    if options.check and not fine:
        sys.exit("the model is not of the machine that is simulated")


if __name__ == "__main__":
    main()
