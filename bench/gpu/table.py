#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py OUT DOCUMENT: what all.sh measured, as tables between the markers of a document.

OUT has the parts of all.sh, a JSON object a line; parts that are not there, or have no figures, say "not measured".
Everything between the two markers is replaced; a document without both of them is refused.
"""
import json
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
    if x == 0 or abs(x) >= 1e6 or abs(x) < 1e-3:
        return f"{x:.2e}"
    digits = 2 - len(str(int(abs(x)))) + 1 if abs(x) >= 1 else 3
    return f"{x:.{max(digits, 0)}f}"


def ratio(rival, own):
    return f"{rival / own:.2f}x" if rival and own else "-"


def table(head, rows):
    """Text to the left, figures to the right; "not measured" without rows."""
    if not rows:
        return ["not measured", ""]
    kinds = ["---" if isinstance(cell, str) and not cell.rstrip("x").replace(".", "").isdigit() else "---:"
             for cell in rows[0]]
    made = ["| " + " | ".join(head) + " |", "|" + "|".join(kinds) + "|"]
    for row in rows:
        made.append("| " + " | ".join(cell if isinstance(cell, str) else figure(cell) for cell in row) + " |")
    return made + [""]


def rates(out):
    rows = [[x["rate"], x["bytes_per_second"] / 1e9] for x in lines_of(out, "rivals") if "rate" in x]
    return ["### Copies", ""] + table(["what", "GB/s"], rows)


def slabs(out):
    """A kernel's time by format and columns: cuSPARSE's, ours, and the rate of the matrix's bytes in ours."""
    found = {}
    for x in lines_of(out, "slabs"):
        kernels = x["spec"].partition("kernels=")[2] or "own"
        found.setdefault((x["operand"], x["format"], x["cols"]), {})[kernels] = x
    rows = []
    for (operand, layout, cols), by in found.items():
        library, own = (by[k]["compute"]["mean"] if k in by else None for k in ("library", "own"))
        size = next(iter(by.values()))["matrix"]
        rows.append([operand, layout, str(cols), library and library * 1e3, own and own * 1e3, ratio(library, own),
                     size / own / 1e9 if own else None])
    head = ["matrix", "format", "columns", "cuSPARSE, ms", "ours, ms", "ours", "ours, GB/s"]
    return ["### Matrices that stay on the GPU", ""] + table(head, rows)


def stream(out):
    rows = []
    for x in lines_of(out, "stream"):
        limit = max(x["transfer"]["mean"], x["compute"]["mean"])
        rows.append([x["format"], str(x["cols"]), x["seconds"] * 1e3, x["transfer"]["mean"] * 1e3,
                     x["compute"]["mean"] * 1e3, ratio(x["seconds"], limit)])
    head = ["format", "columns", "product, ms", "link, ms", "kernels, ms", "over the larger"]
    return ["### Matrices that pass through", ""] + table(head, rows)


def products(out):
    """Whole products, and their kernels beside cuSPARSE's."""
    rivals, matrix = {}, None
    for x in lines_of(out, "rivals"):
        matrix = x.get("matrix", matrix)
        if "rival" in x:
            key = (matrix, x["operation"].lower())
            rivals[key] = min(x["seconds"], rivals.get(key, x["seconds"]))
    rows = []
    for x in lines_of(out, "products") + lines_of(out, "blocks"):
        kernels = x["device"]["kernel_seconds"]
        rival = rivals.get((x["operand"], x["op"]))
        rows.append([x["op"], x["operand"], x["seconds"] * 1e3, x["seconds_reused_plan"] * 1e3, kernels * 1e3,
                     x["flops"] / kernels / 1e9 if kernels else None, ratio(rival, kernels)])
    head = ["product", "operand", "ms", "plan kept, ms", "kernels, ms", "Gflop/s", "to cuSPARSE"]
    return ["### Products of tiles", ""] + table(head, rows)


def functions(out):
    """Functions by submatrices, on the GPU and by threads alone: the best of the calls that keep the plan."""
    found = {}
    for x in lines_of(out, "functions"):
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


def solves(out):
    rows = []
    for x in lines_of(out, "solves"):
        if x["op"] == "trisolve":
            rows.append([f"trisolve, {x['method']}", x["operand"], str(x["cols"]), x["analysis_seconds"] * 1e3,
                         x["seconds"] * 1e3, "-"])
            continue
        column = x["columns"][0]
        rows.append([f"{x['method']}, {x['precond']}", x["operand"], str(x["cols"]), x["setup_seconds"] * 1e3,
                     column["seconds"] * 1e3, str(column["iterations"])])
    head = ["solve", "matrix", "columns", "setup, ms", "solve, ms", "iterations"]
    return ["### Solves", ""] + table(head, rows)


def signs(out):
    rows = [[x["sign"], str(x["n"]), str(x["iterations"]), x["residual"], x["flops_per_second"] / 1e12, x["error_mev"]]
            for x in lines_of(out, "sign")]
    head = ["products in", "rows", "iterations", "residual", "Tflop/s", "E - mu N off, meV an atom"]
    return ["### Signs by Pade's iteration of order 3", ""] + table(head, rows)


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
    made = ["", device, ""]
    for part in (rates, slabs, stream, products, functions, solves, signs):
        made += part(out)
    with open(document, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n".join(made) + "\n" + END + after)


main()
