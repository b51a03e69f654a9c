#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""performance.py DOCUMENT... [--check]: the tables of documents from the stored lines of bench/results.

A table stands between two comments, of which the first names it, its columns, and the one that judges rows:

    <!-- table: NAME; columns: case | Tulle | MKL/Tulle | ratio; worst: ratio; by: N = [0-9]+ -->
    <!-- end -->

NAME.jsonl has a JSON object a row: `table`, `of` (what it is of), `date` and `commit` (when the row was written),
`processor` (which lines before 28 November 2026 do not have), `row` (column: text). A column A/B has A's seconds, and
in brackets their ratio to B's. worst: the row with the smallest number there is named below the table; of a text with a
number in brackets, "0.28 (2.1x)", that one counts; a text without any, such as "over 60", does not. What is between the
comments is replaced; --check: it is compared instead. A name without lines is an error, and so is a column that no row
has.

    <!-- summary: MKL | PETSc; slower: MKL -->

is a table of the tables with a column of one of these rivals whose brackets say how much slower it is ("x"): a line a
table, or a group of rows by the text that the table's `by` matches, with geometric means, and rows in which Tulle is
slower.
"""
import json
import math
import os
import re
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
BEGIN = re.compile(r"<!-- table: (?P<name>[a-z0-9-]+)(?:; columns: (?P<columns>[^;]*))?(?:; worst: (?P<worst>[^;]*))?"
                   r"(?:; by: (?P<by>[^;]*))? -->")
SUMMARY = re.compile(r"<!-- summary: (?P<rivals>[^;]*); slower: (?P<slower>[^;]*) -->")
END = "<!-- end -->"


class Table:
    """The lines of a table, and what of them is shown."""

    def __init__(self, name, columns, worst, by):
        with open(os.path.join(RESULTS, name + ".jsonl"), encoding="utf-8") as file:
            self.lines = [json.loads(line) for line in file]
        for line in self.lines:
            if line["table"] != name or not line["row"]:
                raise SystemExit(f"performance.py: {name}.jsonl has a line of {line['table']}")
        if not self.lines:
            raise SystemExit(f"performance.py: {name}.jsonl has no lines")
        rows = [line["row"] for line in self.lines]
        shown = [column.strip() for column in columns.split(" | ")] if columns else list(rows[0])
        for column in shown:
            if not all(any(part in row for row in rows) for part in made_of(column, rows)):
                raise SystemExit(f"performance.py: no row of {name} has a column '{column}'")
        self.name, self.worst, self.by = name, worst, by
        self.columns = [made_of(column, rows)[0] for column in shown]
        self.rows = [{made_of(column, rows)[0]: cell(row, made_of(column, rows)) for column in shown} for row in rows]
        if worst and worst not in self.columns:
            raise SystemExit(f"performance.py: {name} does not show a column '{worst}'")

    def text(self):
        made = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        made += ["| " + " | ".join(row.values()) + " |" for row in self.rows]
        dates = sorted({line["date"] for line in self.lines})
        processors = sorted({line["processor"] for line in self.lines if "processor" in line})
        last = ", ".join([f"`{self.name}.jsonl`", dates[0] + (f" to {dates[-1]}" if len(dates) > 1 else ""), *processors]) + "."
        if self.worst:
            ranked = [(judged(row[self.worst]), row) for row in self.rows if judged(row[self.worst]) is not None]
            least = min(ranked, key=lambda pair: pair[0])[1]
            last += f" Worst row by `{self.worst}`: {self.label(least)}, {least[self.worst]}."
        return [*made, "", last]

    def label(self, row):
        """The first cells of a row, as many as tell it from the others."""
        for count in range(1, len(self.columns)):
            first = list(row.values())[:count]
            if sum(list(other.values())[:count] == first for other in self.rows) == 1:
                break
        return ", ".join(first)

    def groups(self):
        """Rows by what `by` matches, and their names without it."""
        found = {}
        for row in self.rows:
            label = self.label(row)
            match = re.search(self.by, label) if self.by else None
            name = label.replace(match.group(), "").strip(", ") if match else label
            found.setdefault(match.group() if match else "", []).append((name, row))
        return found


def made_of(column, rows):
    """The columns of lines that a column is made of: itself, or A and B of A/B."""
    return [column] if any(column in row for row in rows) else column.split("/", 1)


def cell(row, parts):
    text = row.get(parts[0], "")
    if len(parts) == 1:
        return text
    rival, ours = seconds(text), seconds(row.get(parts[1], ""))
    return f"{text.split(' (')[0]} ({rival / ours:.2f}x)" if rival and ours else text


def seconds(text):
    """The number of a cell that is not in brackets; None: it has none."""
    found = re.search(r"(?:^| )([0-9][0-9.e-]*)(?: \(|$)", text)
    return float(found.group(1)) if found else None


def judged(text):
    """The number that a cell is judged by; None: it has none."""
    found = re.search(r"\(([0-9.]+)x?\)", text) or re.fullmatch(r"([0-9.]+)x?", text)
    return float(found.group(1)) if found else None


def slower_by(row, rival):
    """How much slower a rival is, by its brackets; None: they do not say."""
    return judged(row[rival]) if row.get(rival, "").endswith("x)") else None


def mean(ratios):
    return f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x" if ratios else "-"


def summary(rivals, slower, tables):
    """tables: each with the heading that it stands below."""
    rivals = [rival.strip() for rival in rivals.split(" | ")]
    made = ["| system | rows | " + " | ".join(rivals) + f" | Tulle is slower than {slower} |", "|" + "---|" * (len(rivals) + 3)]
    for heading, table in tables:
        for group, rows in table.groups().items():
            ratios = {rival: [slower_by(row, rival) for _, row in rows if slower_by(row, rival)] for rival in rivals}
            if not any(ratios.values()):
                continue
            lost = sorted((slower_by(row, slower), name) for name, row in rows if (slower_by(row, slower) or 1) < 1)
            said = ", ".join(f"{name} {ratio:.2f}x" for ratio, name in lost) or ("in no row" if ratios.get(slower) else "not measured")
            made.append(f"| {', '.join(filter(None, [heading, group]))} | {len(rows)} | "
                        + " | ".join(map(mean, ratios.values())) + f" | {said} |")
    return made


def made(document):
    """The document with its tables, and with summaries of all of them."""
    lines, heading, tables = document.split("\n"), "", {}
    for number, line in enumerate(lines):
        if line.startswith("## "):
            heading = line[3:].split(",")[0]
        begin = BEGIN.fullmatch(line)
        if begin:
            tables[number] = heading, Table(**begin.groupdict())
    out, inside = [], False
    for number, line in enumerate(lines):
        about = SUMMARY.fullmatch(line)
        begins = number in tables or about
        if begins:
            text = summary(**about.groupdict(), tables=tables.values()) if about else tables[number][1].text()
            out += [line, "", *text]
            inside = True
        elif line == END and inside:
            inside = False
        if not inside and not begins:
            out.append(line)
    if inside:
        raise SystemExit("performance.py: a table has no end")
    return "\n".join(out)


def main():
    check, paths = sys.argv[-1] == "--check", [word for word in sys.argv[1:] if word != "--check"]
    if not paths or any(path.startswith("-") for path in paths):
        raise SystemExit(__doc__)
    failed = False
    for number, path in enumerate(paths):
        with open(path, encoding="utf-8") as file:
            old = file.read()
        new = made(old)
        if check:
            count, lines = len(BEGIN.findall(old)), old.count("\n")
            failed |= new != old or lines > 300
            print(f"{'ok' if new == old else 'not ok'} {2 * number + 1} - {count} tables of {path} are the stored lines")
            print(f"{'ok' if lines <= 300 else 'not ok'} {2 * number + 2} - {path} has {lines} lines, of 300 at most")
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    if check:
        print(f"1..{2 * len(paths)}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
