#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lines of bench/results: a table's rows as they were measured (bench/performance.py has the format).

    bench/solves.py --solves 1 100 | bench/stored_lines.py trisolve 'Triangular solves'
    bench/stored_lines.py --machine

As a program it passes on what a benchmark prints, and stores the rows of the first table of it; --machine: the machine's own row.
"""
import datetime
import json
import os
import platform
import re
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def processor():
    """The processor's name, or what kind it is."""
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return re.sub(r"\((R|TM)\)", "", named[0]) if named else platform.machine()


def machine():
    """The row of the machine: cores that this process may use, second-level cache, memory, compiler."""
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    flags = read("/proc/cpuinfo")
    kind = "virtual" if " hypervisor" in flags else "not virtual"
    wide = ", AVX-512" if " avx512f" in flags else ", AVX2" if " avx2" in flags else ""
    memory = int(re.search(r"MemTotal: *(\d+)", read("/proc/meminfo")).group(1)) / 2**20
    compiler = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    cache = read("/sys/devices/system/cpu/cpu0/cache/index2/size").strip()
    return {"machine": kind, "cores": f"{len(os.sched_getaffinity(0))} of an {processor()}{wide}",
            "second-level cache": f"{cache} a core", "memory": f"{memory:.0f} GiB", "compiler": f"gcc {compiler}"}


def store(table, of, rows):
    """Writes all rows of a table, {column: text} each, anew, with date, commit of the tree, and processor."""
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or "unknown"
    date = datetime.date.today().isoformat()
    with open(os.path.join(FOLDER, table + ".jsonl"), "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"table": table, "of": of, "date": date, "commit": commit, "processor": processor(),
                                   "row": row}) + "\n")


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
    if sys.argv[1:] == ["--machine"]:
        store("machine", "Performance", [machine()])
        return
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
