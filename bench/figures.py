#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The paper's Figures 4 and 5 and Table 2 in virtual time, with sizes only: 4 to 384 PEs of Summit and the DGX-2.

    bench/figures.py --tulle build/tulle --out figures [--jobs 2] [--only WORD] [--quick]

The matrices are stand-ins, scaled down: of each the kind, the entries a row and the imbalance on a grid of 10 x 10 that
the paper's Table 1 tells. Grids are as square as they can be and tiles have equal numbers of rows and columns, as in
the paper; values are f32. Kernels of SpGEMM run at a tenth of the roofline, as those of GPUs do.
Written to --out: figures.jsonl, one JSON line a run as `--json` prints it; figures.md, the tables; pictures. Runs that
figures.jsonl holds already are not made again, so that what was broken off goes on.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import threading

MATRICES = {
    # name: (spec, the paper's rows, entries, imbalance)
    "isolates": ("er:n=262144,degree=74,values=ones", "4.4M, 327M, 1.00"),
    "amazon": ("rmat:scale=20,edgefactor=16,a=.37,b=.25,c=.25,d=.13,values=ones", "14.3M, 230M, 3.78"),
    "orkut": ("rmat:scale=18,edgefactor=75,a=.47,b=.21,c=.21,d=.11,values=ones", "3.1M, 234M, 8.15"),
    "friendster": ("rmat:scale=20,edgefactor=54,a=.46,b=.215,c=.215,d=.11,values=ones", "62.5M, 3.4B, 7.68"),
    "nlpkkt": ("nlpkkt:n=64,values=ones", "8.3M, 230M, 9.46"),
    "nm7": ("rmat:scale=17,edgefactor=130,a=.44,b=.22,c=.22,d=.12,values=ones", "5.0M, 648M, 6.38"),
    "mouse-gene": ("rmat:scale=14,edgefactor=320,a=.31,b=.23,c=.23,d=.23,values=ones", "45.1K, 29.0M, 2.13"),
}
GRIDS = {4: "2x2", 16: "4x4", 24: "6x4", 48: "8x6", 96: "12x8", 192: "16x12", 384: "24x16"}
PLAIN, STEALING = "stationary-c,stationary-a,summa", "steal-random-a,steal-local-a,steal-local-c"
RATES = (1, 4, 10, 20, 40)  # kernels at a part of the roofline
FEW, EVERY = "stationary-c,stationary-a,steal-local-c,summa", f"{PLAIN},{STEALING}"
TENTH = ",memory=79G,cache=220G"
NAMES = {"stationary-c": "S-C", "stationary-a": "S-A", "steal-random-a": "R WS S-A", "steal-local-a": "LA WS S-A",
         "steal-local-c": "LA WS S-C", "summa": "SUMMA"}


def cases():
    """(figure, verb, matrix, N, platform, PEs, algorithms): fewer the longer the simulation of all PEs' links takes"""
    for matrix in ("isolates", "amazon", "orkut", "nlpkkt"):
        for columns, most in ((128, 192), (512, 96)):
            for pes in (24, 48, 96, 192):
                if pes <= most:
                    yield "4", "spmm", matrix, columns, "summit", pes, EVERY if pes < 192 else FEW
    for columns, pes in ((128, 24), (128, 48), (512, 24)):
        yield "4", "spmm", "friendster", columns, "summit", pes, EVERY
    yield "4", "spmm", "isolates", 128, "summit", 384, "stationary-c,stationary-a,steal-local-c"
    for matrix, most in (("isolates", 192), ("nlpkkt", 192), ("mouse-gene", 96)):
        for pes in (24, 48, 96, 192):
            if pes <= most:
                yield "5", "spgemm", matrix, 0, "summit", pes, EVERY if pes < 192 else FEW
    for matrix in ("nlpkkt", "mouse-gene"):
        for pes in (4, 16):
            yield "5", "spgemm", matrix, 0, "dgx2", pes, EVERY
    for slower in RATES:
        yield f"rates {slower}", "spmm", "orkut", 128, "summit", 24, EVERY.replace(",summa", "")
    for matrix, platform, pes, algs in (("amazon", "summit", 24, EVERY), ("amazon", "summit", 192, FEW),
                                        ("nm7", "dgx2", 4, EVERY), ("nm7", "dgx2", 16, EVERY)):
        yield "2", "spmm", matrix, 256, platform, pes, algs


def command(options, case):
    figure, verb, matrix, columns, platform, pes, algs = case
    rates = TENTH if verb == "spgemm" else ""
    if figure.startswith("rates"):
        slower = int(figure.split()[1])
        rates = f",sharing=queue,memory={790 / slower}G,cache={2200 / slower}G"
    return [options.tulle, verb, MATRICES[matrix][0], *(["--cols", str(columns)] if columns else []), "--type", "f32",
            "--comm", f"sim:platform={platform},data=none{rates}", "--pes", str(pes), "--grid", GRIDS[pes],
            "--cut", "rows", "--alg", algs, "--json", "--quiet"]


def run(options, case):
    done = subprocess.run(command(options, case), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command(options, case))}\n{done.stderr}")
    figure, verb, matrix, columns, platform, pes, _ = case
    return [{"figure": figure, "matrix": matrix, "columns": columns, "platform": platform, **json.loads(line)}
            for line in done.stdout.splitlines()]


def key(line):
    return line["figure"], line["op"], line["matrix"], line["columns"], line["platform"], line["pes"]


def gather(options):
    path, lock = os.path.join(options.out, "figures.jsonl"), threading.Lock()
    lines = [json.loads(line) for line in open(path)] if os.path.exists(path) else []
    known = {key(line) for line in lines}
    wanted = [case for case in cases() if case[:6] not in known and options.only in " ".join(map(str, case))
              and (not options.quick or case[5] <= 24)]
    with open(path, "a") as out, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def one(case):
            made = run(options, case)
            with lock:
                out.writelines(json.dumps(line) + "\n" for line in made)
                out.flush()
                lines.extend(made)
        list(pool.map(one, sorted(wanted, key=lambda case: case[5])))
    return lines


def group(lines, *fields):
    groups = {}
    for line in lines:
        groups.setdefault(tuple(line[field] for field in fields), []).append(line)
    return dict(sorted(groups.items()))


def seconds_row(name, lines, algs):
    took = {line["alg"]: line["seconds_reused_plan"] * 1e3 for line in lines}
    cells = " | ".join(f"{took[alg]:.2f}" if alg in took else "" for alg in algs)
    return f"| {name} | {cells} | {NAMES[min(took, key=took.get)]} |"


def seconds_table(lines, out):
    """A row a matrix, width and number of PEs; a column an algorithm: milliseconds of an execution."""
    algs = [alg for alg in NAMES if any(line["alg"] == alg for line in lines)]
    print("| matrix | N | PEs | " + " | ".join(NAMES[alg] for alg in algs) + " | best |", file=out)
    print("|---|---|---|" + "---|" * (len(algs) + 1), file=out)
    for (matrix, columns, pes), some in group(lines, "matrix", "columns", "pes").items():
        print(seconds_row(f"{matrix} | {columns or '-'} | {pes}", some, algs), file=out)


def rates_row(lines, slower):
    """Milliseconds, and of stationary A computing by the mean PE."""
    some = [line for line in lines if line["figure"] == f"rates {slower}"]
    computing = [line["phases"]["compute"]["mean"] * 1e3 for line in some if line["alg"] == "stationary-a"]
    return seconds_row(f"1/{slower} | {computing[0]:.2f}", some, [alg for alg in NAMES if alg != "summa"])


def rates_table(lines, out):
    algs = [alg for alg in NAMES if alg != "summa"]
    print("| of the roofline | computing | " + " | ".join(NAMES[alg] for alg in algs) + " | best |", file=out)
    print("|---|---|" + "---|" * (len(algs) + 1), file=out)
    for slower in RATES:
        print(rates_row(lines, slower), file=out)


def parts_row(line):
    phases = line["phases"]
    cells = " | ".join(f"{phases[p]['mean'] * 1e3:.2f}" for p in ("compute", "communicate", "accumulate", "wait"))
    return (f"| {line['platform']} | {line['matrix']} | {NAMES[line['alg']]} | {line['pes']} | {cells} | "
            f"{line['load_imbalance']:.2f} |")


def parts_table(lines, out):
    """Table 2: milliseconds of the mean PE; load imbalance as time that the last PE is awaited."""
    print("| platform | matrix | algorithm | PEs | comp. | comm. | acc. | load imb. | max/mean work |", file=out)
    print("|---|---|---|---|---|---|---|---|---|", file=out)
    for _, some in group(lines, "platform", "matrix").items():
        for alg in NAMES:
            for line in sorted((line for line in some if line["alg"] == alg), key=lambda line: line["pes"]):
                print(parts_row(line), file=out)


def draw(options, lines):
    for (figure, op, matrix, columns), some in group(lines, "figure", "op", "matrix", "columns").items():
        some = [dict(line, seconds=line["seconds_reused_plan"]) for line in some if line["platform"] == "summit"]
        if figure not in ("4", "5") or len({line["pes"] for line in some}) < 3:
            continue
        name = f"figure{figure}-{matrix}" + (f"-{columns}" if columns else "")
        title = f"{op} {matrix}" + (f", N = {columns}" if columns else "") + ", simulated Summit"
        subprocess.run([options.tulle, "plot", "scaling", "-", "-o", os.path.join(options.out, name + ".svg"),
                        "--title", title], input="\n".join(map(json.dumps, some)), text=True, check=True)


def write(options, lines):
    with open(os.path.join(options.out, "figures.md"), "w") as out:
        print("Milliseconds of an execution whose plan is kept.\n\n### Figure 4: SpMM, Summit\n", file=out)
        seconds_table([line for line in lines if line["figure"] == "4"], out)
        for platform in ("summit", "dgx2"):
            print(f"\n### Figure 5: SpGEMM, {platform}\n", file=out)
            seconds_table([line for line in lines if line["figure"] == "5" and line["platform"] == platform], out)
        if any(line["figure"] == "rates 40" for line in lines):
            print("\n### Orkut, N = 128, 24 PEs of summit, links in turn: slower kernels\n", file=out)
            rates_table(lines, out)
        print("\n### Table 2a: SpMM, N = 256\n", file=out)
        parts_table([line for line in lines if line["figure"] == "2"], out)
        print("\n### Table 2b: SpGEMM\n", file=out)
        parts_table([line for line in lines if line["figure"] == "5" and line["matrix"] == "mouse-gene"
                     and line["pes"] in (4, 16, 24, 96)], out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--out", default="figures")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="cases that hold this word")
    parser.add_argument("--quick", action="store_true", help="at most 24 PEs")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    lines = gather(options)
    write(options, lines)
    draw(options, lines)


if __name__ == "__main__":
    main()
