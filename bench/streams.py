#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The experiment of the paper on hiding communication behind SpMV, through a simulated link: its Figures 3 to 8.

    bench/streams.py --tulle build/tulle --out streams [--pictures doc/images]
    bench/streams.py --tulle build/tulle --out quick --case 3:1:48 5:3:40 --rounds 1 --products 3

A cantilever's matrix goes in slabs over a link to a device that multiplies: `limit:link=..+cpu`, whose copy engine is a
thread of its own, so that --threads is one less than there are cores. Each slab is multiplied column by column, as the
paper does (50 columns there, --cols here), and with all columns at once. First the kernels are timed while the engine
copies; then links are set so that transfer takes as long as they do, half and twice as long; through each go 2 to 61
slabs and as many as `auto` chooses, copies hidden and not. GF/s are those of the pass, from the first slab to the last.

A case is FIGURE:UNKNOWNS:NODES. What does not fit in memory is left out with its figures, and the largest multiple of 8
nodes that fits is measured instead and called so. Written to --out: streams.jsonl, an object a run, case after case; streams.md, tables
and verdicts; to --pictures stream-figure3.svg and so on, where transfer takes as long as kernels. --from makes these
from an earlier streams.jsonl.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

from compare import commit, machine, run

CASES = ["3:1:128", "4:1:256", "5:3:128", "6:3:160", "7:6:96", "8:6:128"]
SLABS = [2, 3, 4, 6, 8, 12, 16, 24, 32, 41, 50, 61]
SHARES = [1.0, 0.5, 2.0]  # transfer over kernels
WAYS = [True, False]      # column by column, as the paper does; all columns at once
NAMES = {True: "column by column", False: "all at once"}
SAME_LINK = 1000e9        # so fast that only kernels take time
BAR = {"pass": 1.05, "auto": 1.03, "gain": 0.60}


# ---- memory ----

def bytes_needed(dof, nodes, cols, slabs, packed):
    """Of the host: the matrix in CSR, in slabs' format if that is another, the ring, and vectors on both sides."""
    csr = 12 * (3 * nodes - 2) ** 3 * dof ** 2
    matrix = csr // 2 if packed else csr
    ring = matrix * min(slabs, 3) / (slabs - 1.5)
    return csr + (matrix if packed else 0) + ring + 4 * nodes ** 3 * dof * cols * 8


def memory():
    with open("/proc/meminfo", encoding="utf-8") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


def fitting(options, dof, nodes, packed):
    """Nodes and numbers of slabs that fit, and what is to be said of those that do not."""
    room, wanted = 0.85 * (options.memory or memory()), nodes
    while nodes > 16 and bytes_needed(dof, nodes, options.cols, 8, packed) > room:
        nodes -= 8
    slabs = [s for s in options.slabs if bytes_needed(dof, nodes, options.cols, s, packed) <= room]
    notes = []
    if nodes != wanted:
        needed = bytes_needed(dof, wanted, options.cols, 8, packed)
        notes.append(f"{dof} unknowns, {wanted}^3 nodes: {needed / 1e9:.1f} GB are needed for 8 slabs, {room / 1e9:.1f} "
                     f"are there; {nodes}^3 is measured instead")
    if slabs != options.slabs:
        notes.append(f"{dof} unknowns, {nodes}^3 nodes: two or three of {', '.join(map(str, set(options.slabs) - set(slabs)))} "
                     "slabs do not fit beside the matrix")
    return nodes, slabs, notes


# ---- measuring ----

def stream(options, operand, separate, link, sweep):
    command = [options.tulle, "stream", operand, "--device", f"limit:link={link:.0f},latency={options.latency}+cpu",
               "--cols", str(options.cols), "--pes", "1", "--threads", str(options.threads), "--products",
               str(options.products), "--sweep", ",".join(map(str, sweep)), "--json", "--quiet"]
    command += ["--column-by-column"] if separate else []
    command += ["--format", options.format] if options.format else []
    objects, wrong = run(command, {}, options.limit)
    if wrong:
        raise RuntimeError(f"{operand}: {wrong}")
    return objects


def balanced_link(options, operand, separate):
    """Bytes a second at which transfer takes as long as kernels do meanwhile."""
    link = SAME_LINK
    for _ in range(3):
        hidden = [o for o in stream(options, operand, separate, link, [12, 16, 24]) if o["hide"]]
        link = hidden[0]["matrix"] / statistics.median(o["compute"]["max"] for o in hidden)
    return link


def measure_case(options, case, say):
    figure, dof, nodes = (int(word) for word in case.split(":"))
    nodes_there, slabs, notes = fitting(options, dof, nodes, options.format not in ("", "csr"))
    operand = f"cantilever:nodes={nodes_there},dof={dof}"
    lines = []
    for separate in WAYS:
        link = balanced_link(options, operand, separate)
        for share in options.shares:
            for turn in range(options.rounds):
                say(f"figure {figure}: {operand}, {NAMES[separate]}, link {link / share / 1e9:.2f} GB/s, round {turn + 1}")
                for told in stream(options, operand, separate, link / share, slabs + ["auto"]):
                    lines.append({"figure": figure, "dof": dof, "nodes": nodes_there, "wanted": nodes, "share": share,
                                  "round": turn, "link": link / share, **told})
    return lines, notes


# ---- what came of it ----

def merged(lines):
    """One line for each way, of the rounds the one with the median time."""
    groups = {}
    for line in lines:
        if "left_out" not in line:
            slabs = "auto" if line["chosen"] else line["slabs"]
            key = (line["figure"], line["separate"], line["share"], slabs, line["hide"])
            groups.setdefault(key, []).append(line)
    return {key: sorted(some, key=lambda line: line["loop"]["max"])[(len(some) - 1) // 2] for key, some in groups.items()}


def loop(line):
    return line["loop"]["max"]


def stretch(line):
    """The pass over the longer of transfer and kernels, both of the same products: what does not depend on how fast the
    machine happens to be just then, which from run to run differs by 20 % where others use it as well."""
    return loop(line) / max(line["transfer"]["max"], line["compute"]["max"])


def judge(runs, figure, separate, share):
    """A row of the table, and for each target (name, whether it is met)."""
    mine = {key[3:]: line for key, line in runs.items() if key[:3] == (figure, separate, share)}
    fixed = {slabs: line for (slabs, hide), line in mine.items() if hide and slabs != "auto"}
    if not fixed:
        return None, []
    best = min(fixed.values(), key=stretch)
    auto = mine.get(("auto", True))
    gains = {slabs: loop(mine[slabs, False]) / loop(line) for slabs, line in fixed.items() if (slabs, False) in mine}
    most = max(gains, key=gains.get)
    twice = max(stretch(mine[slabs, False]) / stretch(line) for slabs, line in fixed.items() if (slabs, False) in mine)
    whole = {slabs: mine[slabs, False]["seconds"] / line["seconds"] for slabs, line in fixed.items() if (slabs, False) in mine}
    longer = max(best["transfer"]["max"], best["compute"]["max"])
    first = best["first"] / best["link"]
    row = [f"{best['dof']}, {best['nodes']}^3", best["format"], NAMES[separate], f"{share:g}", f"{best['link'] / 1e9:.2f}",
           f"{best['transfer']['max'] * 1e3:.1f}", f"{best['compute']['max'] * 1e3:.1f}", str(best["slabs"]),
           f"{loop(best) * 1e3:.1f}", f"{(loop(best) - first) / longer:.3f}", f"{best['flops'] / loop(best) / 1e9:.2f}",
           f"{auto['slabs']}: {stretch(auto):.3f}, {stretch(best):.3f}" if auto else "-",
           f"{100 * gains[most] - 100:.0f} % at {most}", f"{100 * max(whole.values()) - 100:.0f} %",
           f"{best['seconds'] * 1e3:.1f}"]
    verdicts = [("pass", (loop(best) - first) / longer <= BAR["pass"])]
    verdicts += [("auto", stretch(auto) <= BAR["auto"] * stretch(best))] if auto else []
    verdicts += [("gain", gains[most] >= 1 + BAR["gain"])] if share == 1 else []
    return row, verdicts + [("twice", twice <= 2)]


HEAD = ["unknowns, nodes", "format", "columns", "transfer / kernels", "link GB/s", "transfer ms", "kernels ms", "best slabs",
        "pass ms", "(pass - first slab) / longer", "GF/s", "auto: pass / longer, the best", "gain by hiding", "with X and Y", "product ms"]
# of the last two by pass / longer, see stretch
TARGETS = {"pass": f"the pass takes at most {BAR['pass']} max(transfer, kernels) and the first slab",
           "auto": f"auto's pass / longer is at most {BAR['auto']} times the best",
           "gain": f"where transfer takes as long as kernels, hiding makes the pass at least {100 * BAR['gain']:.0f} % faster",
           "twice": "hiding never makes it, over the longer, more than twice as short"}


def tables(options, runs, notes):
    out = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    met = {name: [] for name in TARGETS}
    for key in dict.fromkeys(key[:3] for key in runs):
        row, verdicts = judge(runs, *key)
        if row:
            out.append("| " + " | ".join(row) + " |")
        for name, good in verdicts:
            met[name].append(good)
    out += [""]
    for name, text in TARGETS.items():
        word = f"met in {sum(met[name])} of {len(met[name])}" if met[name] else "not measured"
        out.append(f"- {word}: {text}")
    return "\n".join(out + [f"- {note}" for note in notes] + ["", machine() + f", {commit()}"]) + "\n"


def draw(options, runs):
    for figure in dict.fromkeys(key[0] for key in runs):
        some = [line for key, line in runs.items() if key[0] == figure and key[2] == 1 and not (key[3] == "auto" and not key[4])]
        if not some:
            continue
        line = some[0]
        plural = "" if line["dof"] == 1 else "s"
        instead = f" (instead of {line['wanted']}^3)" if line["nodes"] != line["wanted"] else ""
        title = (f"Figure {figure}: {line['dof']} unknown{plural} a node, {line['nodes']}^3 nodes{instead}, "
                 f"{line['cols']} columns, link as fast as the kernels")
        subprocess.run([options.tulle, "plot", "slabs", "-", "-o", os.path.join(options.pictures, f"stream-figure{figure}.svg"),
                        "--title", title], input="\n".join(map(json.dumps, some)), text=True, check=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tulle", default="build/tulle")
    parser.add_argument("--out", default="streams")
    parser.add_argument("--pictures", help="folder of the pictures (default: that of --out)")
    parser.add_argument("--case", nargs="+", default=CASES, metavar="FIGURE:UNKNOWNS:NODES")
    parser.add_argument("--slabs", type=int, nargs="+", default=SLABS)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="transfer over kernels")
    parser.add_argument("--cols", type=int, default=8, help="columns of X: the products of a slab")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="of the kernels")
    parser.add_argument("--latency", default="5us", help="of a copy")
    parser.add_argument("--format", help="of slabs, as tulle stream has it (default: auto, where it has formats)")
    parser.add_argument("--products", type=int, default=5, help="timed for each number of slabs")
    parser.add_argument("--rounds", type=int, default=1, help="the whole sweep so often; medians of these")
    parser.add_argument("--memory", type=float, help="bytes of the host that may be used (default: what is free)")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one command")
    parser.add_argument("--from", dest="earlier", help="an earlier streams.jsonl: nothing is measured")
    options = parser.parse_args()
    options.pictures = options.pictures or options.out
    if options.format is None and not options.earlier:
        said = subprocess.run([options.tulle, "stream", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        options.format = "auto" if re.search(r"^ *--format", said, re.MULTILINE) else ""
    return options


def main():
    options = parse_arguments()
    os.makedirs(options.out, exist_ok=True)
    os.makedirs(options.pictures, exist_ok=True)
    lines, notes = [], []
    if options.earlier:
        with open(options.earlier, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    else:
        with open(os.path.join(options.out, "streams.jsonl"), "w", encoding="utf-8") as file:
            for case in options.case:
                try:
                    some, more = measure_case(options, case, lambda text: print(text, file=sys.stderr, flush=True))
                except RuntimeError as error:
                    some, more = [], [f"{case} is left out: {error}"]
                file.writelines(json.dumps(line) + "\n" for line in some)
                file.flush()
                lines += some
                notes += more
    runs = merged(lines)
    text = tables(options, runs, notes)
    print(text)
    with open(os.path.join(options.out, "streams.md"), "w", encoding="utf-8") as file:
        file.write(text)
    draw(options, runs)


if __name__ == "__main__":
    main()
