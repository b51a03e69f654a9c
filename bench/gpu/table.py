#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py OUT DOCUMENT: what all.sh measured, as tables between the markers of a document.

OUT has the parts of all.sh, a JSON object a line; parts that are not there, or have no figures, say "not measured".
A ratio is the rival's time over ours. Everything between the two markers is replaced; a document without both of them
is refused.
"""
import json
import math
import os
import sys

BEGIN = "<!-- bench/gpu/all.sh: begin -->"
END = "<!-- bench/gpu/all.sh: end -->"


def lines_of(out, part):
    """The objects of a part; none if it was not measured."""
    path = os.path.join(out, part)
    if not os.path.exists(path):
        return []
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise SystemExit(f"table.py: {path}, line {number}: {error}") from error
    return found


def figure(x):
    """Three digits, or what there is to say without a figure."""
    if x is None:
        return "-"
    if x == 0:
        return "0"
    if abs(x) >= 1e6 or abs(x) < 1e-3:
        return f"{x:.2e}"
    digits = 2 - len(str(int(abs(x)))) + 1 if abs(x) >= 1 else 3
    return f"{x:.{max(digits, 0)}f}"


def over(rival, own):
    return rival / own if rival and own else None


def ratio(rival, own):
    return f"{rival / own:.2f}x" if rival and own else "-"


def table(head, rows):
    """Text to the left, figures to the right; "not measured" without rows."""
    if not rows:
        return ["not measured", ""]
    def is_text(cell):
        return isinstance(cell, str) and cell != "-" and not cell.rstrip("x").replace(".", "").isdigit()

    kinds = ["---" if any(map(is_text, cells)) else "---:" for cells in zip(*rows)]
    made = ["| " + " | ".join(head) + " |", "|" + "|".join(kinds) + "|"]
    for row in rows:
        made.append("| " + " | ".join(cell if isinstance(cell, str) else figure(cell) for cell in row) + " |")
    return made + [""]


def short(operand):
    """A file's name as lists of inputs have it."""
    return os.path.basename(operand).removesuffix(".mtx.gz")


def columns(count):
    return f"{count} column{'s' * (count != 1)}"


def rivals(out, part):
    """The lines of NVIDIA's libraries by operation, operand, type and columns."""
    lines = [x for x in lines_of(out, part) if "rival" in x]
    return {(x["op"], x["operand"], x["type"], x.get("cols", x.get("n"))): x for x in lines}


def measured(out, part):
    """Tulle's lines."""
    return [x for x in lines_of(out, part) if not {"rival", "rate", "left_out"} & x.keys()]


def milliseconds(rival):
    return rival["error"] if "error" in rival else rival["seconds"] * 1e3 if rival else None


class Ratios:
    """Ratios by group, each with the name of its row: means, the worst, and the targets."""

    def __init__(self):
        self.groups = {}

    def add(self, group, name, value):
        """Returns the ratio as text; None: there is none."""
        self.groups.setdefault(group, []).append((value, name))
        return f"{value:.2f}x" if value else "-"

    def of(self, *groups):
        return [pair for group in groups for pair in self.groups.get(group, []) if pair[0]]

    def summary(self):
        rows = []
        for group, all_rows in self.groups.items():
            if group.startswith("target: "):
                continue
            pairs = self.of(group)
            worst = min(pairs, default=(None, "-"))
            rows.append([group, f"{len(pairs)} of {len(all_rows)}", mean(pairs), worst[0], worst[1]])
        head = ["group", "rows with a rival", "geometric mean", "worst", "worst row"]
        return ["### Beside NVIDIA's libraries", ""] + table(head, rows)

    def targets(self):
        rows = []

        def line(what, bound, pairs, by):
            value, name = by(pairs) if pairs else (None, "-")
            met = value is not None and (value <= bound if by is most else value >= bound)
            rows.append([what, f"at {'most' if by is most else 'least'} {bound:g}", value, name,
                         "not measured" if value is None else "yes" if met else "no"])

        for what, bound in (("SpMM, f32", 1.3), ("SpMM, f64", 1.15)):
            line(f"{what}, mean", bound, self.of(what), mean_and_worst)
        line("SpMM, each row", 0.97, self.of("SpMM, f32", "SpMM, f64"), min)
        for what in ("SpGEMM, f64", "SpGEMM, f32"):
            line(f"{what}, mean", 2, self.of(what), mean_and_worst)
        missing = self.groups.get("target: out of memory", [])
        line("SpGEMM: inputs out of memory, but not for cuSPARSE", 0, missing, most)
        for what, bound in (("triangular solve with its analysis", 5), ("triangular solve", 1)):
            line(f"{what}, mean", bound, self.of(what), mean_and_worst)
        line("SpMV of blocks, part of the copy's rate", 0.85, self.of("target: copy"), min)
        line("SpMV of blocks, half to full", 1.6, self.of("target: half"), min)
        line("streams, over the larger of link and kernels", 1.05, self.of("target: stream"), most)
        line("uploads of streams, part of the pinned rate", 0.9, self.of("target: upload"), min)
        return ["### Targets", ""] + table(["target", "wanted", "measured", "worst row", "met"], rows)


def most(pairs):
    return max(pairs)


def mean(pairs):
    return math.exp(sum(math.log(value) for value, _ in pairs) / len(pairs)) if pairs else None


def mean_and_worst(pairs):
    return mean(pairs), min(pairs)[1]


def rate_of(out, what):
    return next((x["bytes_per_second"] for x in lines_of(out, "rates") if x.get("rate") == what), None)


def rates(out, _):
    rows = [[x["rate"], x["bytes_per_second"] / 1e9] for x in lines_of(out, "rates") if "rate" in x]
    return ["### Copies", ""] + table(["what", "GB/s"], rows)


def slabs(out, ratios):
    """A kernel's time by format and columns: cuSPARSE's alone and in Tulle, ours, and its rate of bytes."""
    found, alone = {}, rivals(out, "slabs")
    for x in measured(out, "slabs"):
        kernels = x["spec"].partition("kernels=")[2]
        found.setdefault((x["operand"], x["format"], x["cols"]), {})[kernels] = x
    rows, copy, full = [], rate_of(out, "copy on the GPU, read and written"), {}
    for (operand, layout, cols), by in found.items():
        library, own = (by[k]["compute"]["mean"] if k in by else None for k in ("library", "own"))
        any_of, name = next(iter(by.values())), f"{operand}, {layout}, {columns(cols)}"
        rival = alone.get(("bsr" if layout.startswith("bsr") else "spmm", operand, any_of["type"], cols), {})
        rate = over(any_of["matrix"] + any_of["vector_bytes"], own)
        half, blocks = ", half" in layout, layout.startswith("bsr")
        if blocks and cols == 1 and own:
            if half:
                ratios.add("target: half", name, full[operand] / own if operand in full else None)
            else:
                full[operand] = own
                ratios.add("target: copy", name, rate / copy if copy else None)
        group = "blocks, half, beside full ones" if half else "blocks" if blocks else "rows"
        beside = ratios.add(f"SpMV and SpMM of {group}", name, over(rival.get("seconds"), own))
        rows.append([operand, layout, str(cols), milliseconds(rival), library and library * 1e3, own and own * 1e3,
                     beside, rate and rate / 1e9])
    head = ["matrix", "format", "columns", "cuSPARSE, ms", "in Tulle, ms", "ours, ms", "ours", "ours, GB/s"]
    return ["### Matrices that stay on the GPU", ""] + table(head, rows)


def stream(out, ratios):
    rows, pinned = [], rate_of(out, "upload, pinned")
    for x in measured(out, "stream"):
        name, link = f"{x['format']}, {columns(x['cols'])}", x["transfer"]["mean"]
        rate = x["bytes"] / link if link else None
        limit = over(x["seconds"], max(link, x["compute"]["mean"]))
        if not x["resident"]:
            ratios.add("target: upload", name, rate / pinned if rate and pinned else None)
            ratios.add("target: stream", name, limit)
        rows.append([x["format"], str(x["cols"]), x["seconds"] * 1e3, link * 1e3, x["compute"]["mean"] * 1e3,
                     f"{limit:.2f}x" if limit else "-", rate and rate / 1e9])
    head = ["format", "columns", "product, ms", "link, ms", "kernels, ms", "over the larger", "link, GB/s"]
    return ["### Matrices that pass through", ""] + table(head, rows)


def products(out, ratios):
    """Whole products, and their kernels beside the rival's."""
    rows = []
    for part, word in (("spmm", "SpMM"), ("spgemm", "SpGEMM"), ("gemm", "GEMM"), ("blocks", "SpGEMM of blocks")):
        theirs = rivals(out, part)
        for x in measured(out, part):
            kernels, cols = x["device"]["kernel_seconds"], x["n"] if x["op"] != "spgemm" else 0
            name = ", ".join([short(x["operand"])] + [columns(cols)] * (cols > 0))
            rival = theirs.get((x["op"], short(x["operand"]), x["type"], cols), {})
            beside = ratios.add(f"{word}, {x['type']}", name, over(rival.get("seconds"), kernels))
            rows.append([word, short(x["operand"]), x["type"], str(cols or "-"), x["seconds"] * 1e3,
                         x["seconds_reused_plan"] * 1e3, kernels * 1e3, over(x["flops"] / 1e9, kernels),
                         milliseconds(rival), beside])
    theirs = rivals(out, "spgemm")
    failed = [x["left_out"].split() for x in lines_of(out, "spgemm") if x.get("why", "").startswith("status 3")]
    failed = [f"{short(w[2])}, {w[4]}" for w in failed
              if w[1] == "spgemm" and "seconds" in theirs.get(("spgemm", short(w[2]), w[4], 0), {})]
    if theirs:
        ratios.add("target: out of memory", "; ".join(failed) or "-", len(failed))
    head = ["product", "operand", "type", "columns", "ms", "plan kept, ms", "kernels, ms", "Gflop/s", "rival, ms",
            "ours"]
    return ["### Products of tiles", ""] + table(head, rows)


def functions(out, _):
    """Functions by submatrices, on the GPU and by threads alone: the best of the calls that keep the plan."""
    found = {}
    for x in measured(out, "functions"):
        where = "device" if x.get("device") else "threads"
        found.setdefault((x["function"], x["operand"], x["filter"]), {})[where] = x
    rows = []
    for (function, operand, cut), by in found.items():
        device, threads = (min(by[k]["runs"]) if k in by else None for k in ("device", "threads"))
        any_of = next(iter(by.values()))
        done = by["device"]["device"]["decompositions"] if "device" in by else 0
        rows.append([function, operand, f"{cut:g}", str(any_of["largest"]), f"{done} of {any_of['submatrices']}",
                     threads and threads * 1e3, device and device * 1e3, ratio(threads, device)])
    head = ["function", "matrix", "filter", "rows, most", "on the GPU", "threads, ms", "GPU, ms", "GPU"]
    return ["### Functions by submatrices", ""] + table(head, rows)


def solves(out, ratios):
    """Ours with right-hand sides and results over the link, cuSPARSE's on the GPU alone."""
    triangles, systems, theirs, runs = [], [], rivals(out, "solves"), list(measured(out, "solves"))
    both = [(("trisolve", short(x["operand"]), x["type"], x["cols"]), (x["analysis_seconds"], x["seconds"]))
            for x in runs if x["op"] == "trisolve"]
    for x in runs:
        operand, cols = short(x["operand"]), x["cols"]
        if x["op"] == "solve":
            column = x["columns"][0]
            systems.append([f"{x['method']}, {x['precond']}", operand, str(cols), x["setup_seconds"] * 1e3,
                            column["seconds"] * 1e3, str(column["iterations"])])
            continue
        key = ("trisolve", operand, x["type"], cols)
        rival, name = theirs.get(key, {}), f"{operand}, {columns(cols)}"
        analysis, seconds = rival.get("analysis_seconds"), rival.get("seconds")
        ours = x["analysis_seconds"], x["seconds"]
        # the faster of our methods is compared
        best = sum(ours) == min(sum(o) for k, o in both if k == key)
        triangles.append([
            operand, str(cols), x["method"], ours[0] * 1e3, ours[1] * 1e3, analysis and analysis * 1e3,
            milliseconds(rival),
            best and ratios.add("triangular solve with its analysis", name,
                                over((analysis or 0) + seconds if seconds else None, sum(ours))) or None,
            best and ratios.add("triangular solve", name, over(seconds, ours[1])) or None])
    head = ["triangle", "columns", "method", "analysis, ms", "solve, ms", "cuSPARSE's analysis, ms", "its solve, ms",
            "ours, both", "ours, solve"]
    made = ["### Triangular solves", ""] + table(head, triangles)
    head = ["method", "matrix", "columns", "setup, ms", "solve, ms", "iterations"]
    return made + ["### Linear systems", ""] + table(head, systems)


def signs(out, _):
    rows = [[x["sign"], str(x["n"]), str(x["iterations"]), x["residual"], x["flops_per_second"] / 1e12, x["error_mev"]]
            for x in measured(out, "sign")]
    head = ["products in", "rows", "iterations", "residual", "Tflop/s", "E - mu N off, meV an atom"]
    return ["### Signs by Pade's iteration of order 3", ""] + table(head, rows)


PARTS = ("rates", "slabs", "stream", "spmm", "spgemm", "gemm", "blocks", "functions", "solves", "sign")


def left_out(out):
    rows = [[part, f"`{x['left_out']}`", x["why"]] for part in PARTS for x in lines_of(out, part) if "left_out" in x]
    return ["### Left out", ""] + (table(["part", "run", "why"], rows) if rows else ["nothing", ""])


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    out, document = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise SystemExit(f"table.py: {document} has no '{BEGIN}' with '{END}' behind it")
    device = "No GPU has been measured yet."
    path = os.path.join(out, "device")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            device = file.readline().partition("yes")[2].strip().strip("()") or device
    sections, ratios = [], Ratios()
    for section in (rates, slabs, stream, products, functions, solves, signs):
        sections += section(out, ratios)
    made = ["", device, ""] + ratios.targets() + ratios.summary() + sections
    if any(lines_of(out, part) for part in PARTS):
        made += left_out(out)
    with open(document, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n".join(made) + "\n" + END + after)


main()
