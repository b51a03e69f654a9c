#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""performance.py DOCUMENT [--check]: the tables of a document from the stored lines of bench/results.

A table stands between two comments, of which the first names it, its columns, and the one that judges rows:

    <!-- table: NAME; columns: case | Tulle | MKL | ratio; worst: ratio -->
    <!-- end -->

NAME.jsonl has a JSON object a row: `table`, `of` (what it is of), `date` and `commit` (when the row was written), `row`
(column: text). worst: the row with the smallest number there is named below the table; of a text with a number in brackets,
"0.28 (2.1x)", that one counts; a text without any, such as "over 60", does not. What is between the comments is replaced;
--check: it is compared instead. A name without lines is an error, and so is a column that no row has.
"""
import json
import os
import re
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
BEGIN = re.compile(r"<!-- table: (?P<name>[a-z0-9-]+)(?:; columns: (?P<columns>[^;]*))?(?:; worst: (?P<worst>[^;]*))? -->")
END = "<!-- end -->"


def rows_of(name):
    with open(os.path.join(RESULTS, name + ".jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    for line in lines:
        if line["table"] != name or not line["row"]:
            raise SystemExit(f"performance.py: {name}.jsonl has a line of {line['table']}")
    if not lines:
        raise SystemExit(f"performance.py: {name}.jsonl has no lines")
    return lines


def judged(text):
    """The number that a cell is judged by; None: it has none."""
    found = re.search(r"\(([0-9.]+)x?\)", text) or re.fullmatch(r"([0-9.]+)x?", text)
    return float(found.group(1)) if found else None


def table(name, columns, worst):
    lines = rows_of(name)
    rows = [line["row"] for line in lines]
    columns = [column.strip() for column in columns.split(" | ")] if columns else list(rows[0])
    for column in [*columns, *([worst] if worst else [])]:
        if not any(column in row for row in rows):
            raise SystemExit(f"performance.py: no row of {name} has a column '{column}'")
    text = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    text += ["| " + " | ".join(row.get(column, "") for column in columns) + " |" for row in rows]
    dates = sorted({line["date"] for line in lines})
    last = f"`{name}.jsonl`, {dates[0]}" + (f" to {dates[-1]}." if len(dates) > 1 else ".")
    if worst:
        ranked = [(judged(row[worst]), row) for row in rows if judged(row.get(worst, "")) is not None]
        least = min(ranked, key=lambda pair: pair[0])[1]
        last += f" Worst row by `{worst}`: {label(least, rows, columns)}, {least[worst]}."
    return [*text, "", last]


def label(row, rows, columns):
    """The first cells of a row, as many as tell it from the others."""
    for count in range(1, len(columns)):
        first = [row.get(column) for column in columns[:count]]
        if sum([other.get(column) for column in columns[:count]] == first for other in rows) == 1:
            break
    return ", ".join(first)


def made(document):
    out, inside = [], False
    for line in document.split("\n"):
        begin = BEGIN.fullmatch(line)
        if begin:
            out += [line, "", *table(**begin.groupdict()), ""]
            inside = True
        elif line == END and inside:
            inside = False
        if not inside and not begin:
            out.append(line)
    if inside:
        raise SystemExit("performance.py: a table has no end")
    return "\n".join(out)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        old = file.read()
    new = made(old)
    if not sys.argv[2:]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
        return
    count, lines = len(BEGIN.findall(old)), old.count("\n")
    print(f"{'ok' if new == old else 'not ok'} 1 - {count} tables of {path} are the stored lines")
    print(f"{'ok' if lines <= 300 else 'not ok'} 2 - {path} has {lines} lines, of 300 at most")
    print("1..2")
    sys.exit(new != old or lines > 300)


if __name__ == "__main__":
    main()
