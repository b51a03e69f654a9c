#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of bench/results: a table's rows as they were measured (bench/performance.py has the format).

    bench/solves.py --solves 1 100 | bench/stored_lines.py trisolve 'Triangular solves'

As a program it passes on what a benchmark prints, and stores the rows of the first table of it.
"""
import datetime
import json
import os
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def store(table, of, rows):
    """Writes all rows of a table, {column: text} each, anew, with the date and the commit of the tree."""
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or "unknown"
    date = datetime.date.today().isoformat()
    with open(os.path.join(FOLDER, table + ".jsonl"), "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"table": table, "of": of, "date": date, "commit": commit, "row": row}) + "\n")


def first_table(lines):
    """The rows, {column: text} each, of the first table of Markdown."""
    head, rows = [], []
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells and head:
            break
        if cells and not head:
            head = cells
        elif cells and set("".join(cells)) - set("-:"):
            if len(cells) != len(head):
                raise SystemExit(f"stored_lines.py: {len(cells)} cells below {len(head)} columns: {line}")
            rows.append({column: cell for column, cell in zip(head, cells) if column})
    return rows


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    lines = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    rows = first_table(lines)
    if not rows:
        raise SystemExit("stored_lines.py: no table was printed, and nothing is stored")
    store(sys.argv[1], sys.argv[2], rows)


if __name__ == "__main__":
    main()
