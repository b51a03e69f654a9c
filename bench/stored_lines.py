# SPDX-License-Identifier: Apache-2.0
"""Lines of bench/results: a table's rows as they were measured (bench/performance.py has the format)."""
import datetime
import json
import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def store(table, of, rows):
    """Writes all rows of a table, {column: text} each, anew, with the date and the commit of the tree."""
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or "unknown"
    date = datetime.date.today().isoformat()
    with open(os.path.join(FOLDER, table + ".jsonl"), "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"table": table, "of": of, "date": date, "commit": commit, "row": row}) + "\n")
