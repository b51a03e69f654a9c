#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""table.py DOCUMENT [FILE|FOLDER...]: what runs on GPUs measured, as tables between the markers of a document.

A FILE (gpu-*.jsonl of a FOLDER; default: bench/results) has the lines of a run of quarter_hour.sh as they came, and of later runs
behind them: where two lines are of one measurement, the later one counts, also of several files of a card, by the date
of their facts. A line is a JSON object with `kind`, `card` and `commit`:

    facts        device, date, cores, driver
    test         name, result (ok, skipped, failed, cut off), seconds, limit, why
    sanitizer    tool, suite, result (clean, found, failed, cut off), errors
    measurement  part, operand, spec, variant, type as measurements.list has them, op, cols, seconds, kernel_seconds,
                 max_difference, bound_seconds (compulsory bytes at the measured rate of a copy), ...; `rival`: of
                 NVIDIA's library; `left_out` with `why`: there is no figure

A ratio is the rival's time over ours. Everything between the two markers is replaced; a document without both of them
is refused, and so is a line that is no JSON.
"""
import glob
import json
import math
import os
import re
import sys

BEGIN = "<!-- bench/gpu/table.py: begin -->"
END = "<!-- bench/gpu/table.py: end -->"
NOTHING = "Nothing has been measured on a GPU yet; the commands above do."


def lines_of_file(path):
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


def identity(x):
    """What a line is of: a later one takes its place."""
    keys = ("kind", "part", "operand", "variant", "type", "op", "method", "format", "device", "rival", "rate", "sign",
            "left_out", "name", "tool", "suite")
    return tuple(str(x.get(key)) for key in keys)


class Run:
    """Lines of a card, the older ones first: each measurement once."""

    def __init__(self, lines):
        self.lines = list({identity(x): x for x in lines}.values())
        self.facts = next((x for x in reversed(lines) if x.get("kind") == "facts"), {})
        self.order = list(dict.fromkeys(x["commit"] for x in lines if x.get("commit")))

    def commits(self):
        named = [commit for commit in self.order if any(x.get("commit") == commit for x in self.lines)]
        return f"commit{'s' * (len(named) > 1)} {', '.join(named)}" if named else ""

    def of(self, part):
        return [x for x in self.lines if x.get("kind") == "measurement" and x["part"] == part]

    def ours(self, part):
        return [x for x in self.of(part) if not {"rival", "rate", "left_out"} & x.keys()]

    def rivals(self, part):
        """Lines of NVIDIA's libraries by operand, variant, type and operation."""
        return {key(x): x for x in self.of(part) if "rival" in x and "left_out" not in x}

    def rate(self, what):
        return next((x["bytes_per_second"] for x in self.of("rates") if x.get("rate") == what), None)


def key(x):
    return x["operand"], x["variant"], x["type"], x["op"]


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


def columns(count):
    return f"{count} column{'s' * (count != 1)}"


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


def rates(run, _):
    rows = [[x["rate"], x["bytes_per_second"] / 1e9] for x in run.of("rates") if "rate" in x]
    return ["### Copies", ""] + table(["what", "GB/s"], rows)


def slabs(run, ratios):
    """A kernel's time by format and columns: cuSPARSE's alone and in Tulle, ours, and its rate of bytes."""
    found, alone = {}, run.rivals("slabs")
    for x in run.ours("slabs"):
        kernels = x["device"].partition("kernels=")[2]
        found.setdefault((x["operand"], x["format"], x["cols"]), {})[kernels] = x
    rows, copy, full = [], run.rate("copy on the GPU, read and written"), {}
    for (operand, layout, cols), by in found.items():
        library, own = (by[k]["kernel_seconds"] if k in by else None for k in ("library", "own"))
        any_of, name = next(iter(by.values())), f"{operand}, {layout}, {columns(cols)}"
        rival = alone.get(key(any_of), {})
        rate = over(any_of["bytes"], own)
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


def stream(run, ratios):
    rows, pinned = [], run.rate("upload, pinned")
    for x in run.ours("stream"):
        name, link = f"{x['format']}, {columns(x['cols'])}", x["link_seconds"]
        rate = x["link_bytes"] / link if link else None
        limit = over(x["seconds"], max(link, x["kernel_seconds"]))
        if not x["resident"]:
            ratios.add("target: upload", name, rate / pinned if rate and pinned else None)
            ratios.add("target: stream", name, limit)
        rows.append([x["format"], str(x["cols"]), x["seconds"] * 1e3, link * 1e3, x["kernel_seconds"] * 1e3,
                     f"{limit:.2f}x" if limit else "-", rate and rate / 1e9])
    head = ["format", "columns", "product, ms", "link, ms", "kernels, ms", "over the larger", "link, GB/s"]
    return ["### Matrices that pass through", ""] + table(head, rows)


def products(run, ratios):
    """Whole products, and their kernels beside the rival's."""
    rows = []
    for part, word in (("spmm", "SpMM"), ("spgemm", "SpGEMM"), ("gemm", "GEMM"), ("blocks", "SpGEMM of blocks")):
        theirs = run.rivals(part)
        for x in run.ours(part):
            kernels, cols = x["kernel_seconds"], x["cols"]
            name = ", ".join([x["operand"]] + [columns(cols)] * (cols > 0))
            rival = theirs.get(key(x), {})
            beside = ratios.add(f"{word}, {x['type']}", name, over(rival.get("seconds"), kernels))
            bound = over(x.get("bound_seconds"), kernels)
            rows.append([word, x["operand"], x["type"], str(cols or "-"), x["seconds"] * 1e3,
                         x["seconds_reused_plan"] * 1e3, kernels * 1e3, over(x["flops"] / 1e9, kernels),
                         bound and bound * 100, milliseconds(rival), beside])
    theirs, missing = run.rivals("spgemm"), []
    for x in run.of("spgemm"):
        memory = any(word in x.get("why", "") for word in ("ERR_LIMIT", "ERR_MEMORY", "out of memory"))
        rival = theirs.get((x["operand"], x["variant"], x["type"], "spgemm"), {})
        if "left_out" in x and memory and "seconds" in rival:
            missing.append(f"{x['operand']}, {x['type']}")
    if theirs:
        ratios.add("target: out of memory", "; ".join(missing) or "-", len(missing))
    head = ["product", "operand", "type", "columns", "first, ms", "plan kept, ms", "kernels, ms", "Gflop/s",
            "% of the copy's rate", "rival, ms", "ours"]
    return ["### Products of tiles", ""] + table(head, rows)


def functions(run, _):
    """Functions by submatrices, on the GPU and by threads alone."""
    found = {}
    for x in run.ours("functions"):
        where = "threads" if x["device"] == "threads" else "device"
        found.setdefault((x["op"], x["operand"], x["variant"]), {})[where] = x
    rows = []
    for (function, operand, cut), by in found.items():
        device, threads = (by[k]["seconds"] if k in by else None for k in ("device", "threads"))
        any_of = next(iter(by.values()))
        done = by["device"]["on_device"] if "device" in by else 0
        rows.append([function, operand, cut, str(any_of["largest"]), f"{done} of {any_of['submatrices']}",
                     threads and threads * 1e3, device and device * 1e3, ratio(threads, device)])
    head = ["function", "matrix", "filter", "rows, most", "on the GPU", "threads, ms", "GPU, ms", "GPU"]
    return ["### Functions by submatrices", ""] + table(head, rows)


def solves(run, ratios):
    """Ours with right-hand sides and results over the link, cuSPARSE's on the GPU alone."""
    triangles, theirs, lines = [], run.rivals("solves"), run.ours("solves")
    for x in lines:
        rival, name = theirs.get(key(x), {}), f"{x['operand']}, {columns(x['cols'])}"
        analysis, seconds = rival.get("analysis_seconds"), rival.get("seconds")
        ours = x["analysis_seconds"], x["seconds"]
        # the fastest of our methods is compared: of a solve with its analysis, and of one with it at hand
        same = [(y["analysis_seconds"] + y["seconds"], y["seconds"]) for y in lines if key(y) == key(x)]
        best = [value == min(values) for value, values in zip((sum(ours), ours[1]), zip(*same))]
        kernels = x.get("kernel_seconds")
        triangles.append([
            x["operand"], x["type"], str(x["cols"]), x["method"], ours[0] * 1e3, ours[1] * 1e3,
            kernels and kernels * 1e3, analysis and analysis * 1e3, milliseconds(rival),
            best[0] and ratios.add("triangular solve with its analysis", name,
                                over((analysis or 0) + seconds if seconds else None, sum(ours))) or None,
            best[1] and ratios.add("triangular solve", name, over(seconds, ours[1])) or None])
    head = ["triangle", "type", "columns", "method", "analysis, ms", "solve, ms", "kernels, ms",
            "cuSPARSE's analysis, ms", "its solve, ms", "ours, both", "ours, solve"]
    return ["### Triangular solves", ""] + table(head, triangles)


def systems(run, _):
    rows = [[x["variant"], x["operand"], str(x["cols"]), x["seconds"] * 1e3, str(x["iterations"])]
            for x in run.ours("systems")]
    return ["### Linear systems", ""] + table(["method", "matrix", "columns", "solve, ms", "iterations"], rows)


def signs(run, _):
    rows = [[x["sign"], str(x["n"]), str(x["iterations"]), x["residual"], x["flops_per_second"] / 1e12, x["error_mev"]]
            for x in run.ours("sign")]
    head = ["products in", "rows", "iterations", "residual", "Tflop/s", "E - mu N off, meV an atom"]
    return ["### Signs by Pade's iteration of order 3", ""] + table(head, rows)


def left_out(run):
    rows = [[x["part"], f"`{x['left_out']}`", x["why"].replace("|", "/")] for x in run.lines if "left_out" in x]
    return ["### Left out", ""] + (table(["part", "measurement", "why"], rows) if rows else ["nothing", ""])


def tests(run):
    """How many of each result, and the names of those that are not right."""
    made = ["### Tests", ""]
    for kind, right in (("test", ("ok", "skipped")), ("sanitizer", ("clean",))):
        lines = [x for x in run.lines if x.get("kind") == kind]
        counts = {}
        for x in lines:
            counts[x["result"]] = counts.get(x["result"], 0) + 1
        made.append(f"- {kind}s: " + (", ".join(f"{n} {word}" for word, n in counts.items()) or "none"))
        made += [f"    - {x['result']}: `{x.get('name') or x['tool'] + ' ' + x['suite']}` {x.get('why', '')}".rstrip()
                 for x in lines if x["result"] not in right]
    return made + [""]


def section(run):
    sections, ratios = [], Ratios()
    for part in (rates, slabs, stream, products, functions, solves, systems, signs):
        sections += part(run, ratios)
    card = re.sub(", [0-9.]+ GB$", "", run.facts.get("device", ""))  # what is free of its memory
    about = [card, run.facts.get("date", ""), run.commits()]
    made = [", ".join(word for word in about if word), ""] + tests(run)
    return made + ratios.targets() + ratios.summary() + sections + left_out(run)


def by_card(files):
    """The lines of each card's files as one run, the newest file last."""
    cards = {}
    for path in sorted(files):
        lines = lines_of_file(path)
        facts = next((x for x in reversed(lines) if x.get("kind") == "facts"), {})
        cards.setdefault(facts.get("card") or os.path.basename(path), []).append((facts.get("date", ""), lines))
    return [Run([line for _, lines in sorted(cards[card], key=lambda x: x[0]) for line in lines]) for card in sorted(cards)]


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    document, places = sys.argv[1], sys.argv[2:]
    places = places or [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "results")]
    with open(document, encoding="utf-8") as file:
        text = file.read()
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise SystemExit(f"table.py: {document} has no '{BEGIN}' with '{END}' behind it")
    made = [""]
    files = [glob.glob(os.path.join(place, "gpu-*.jsonl")) if os.path.isdir(place) else [place] for place in places]
    for run in by_card(sum(files, [])):
        made += section(run)
    if not sum(files, []):
        made += [NOTHING]
    with open(document, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n".join(made) + "\n" + END + after)


main()
