#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares counted figures of the command (bytes, messages, tile products, ...) with a table, to the digit.

    test/frozen/frozen.py build/tulle test/frozen/figures.txt [--only TEXT] [--write] [--repeat N] [--no-sim]

The table's head says when a figure may change. --write writes the table anew; --repeat runs each case so often, and
a figure that varies is a fault of the table. --no-sim: the build has no simulator; its cases are told and skipped.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# nothing of this machine decides: one thread a PE, figures of a machine that the library knows, memory that is given
COMMON = ["-t", "1", "--json", "--quiet"]
PLACES = {"@net": ["--comm", "net:latency=1us,bw=100G+threads", "--memory", "400M"],
          "@threads": ["--comm", "threads", "--memory", "400M"],
          "@sim": ["--comm", "sim:platform=summit", "--memory", "4G"]}


class Broken(Exception):
    """A case that did not run, or a table that cannot be read."""


def read_table(path):
    """Lines of the file, and its cases: (name, words of the command, {key: (value, line)})."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    cases = []
    for number, line in enumerate(lines):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if text.startswith("["):
            cases.append([text.strip("[]"), None, {}])
            continue
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not cases:
            raise Broken(f"{path}, line {number + 1}: expected [a name] or key = value")
        if key == "command":
            cases[-1][1] = value.split()
        elif key in cases[-1][2]:
            raise Broken(f"{path}, line {number + 1}: {key} is there twice")
        else:
            cases[-1][2][key] = (value, number)
    if not cases:
        raise Broken(f"{path} has no case")
    for name, command, figures in cases:
        if not command or command[-1] not in PLACES or not figures:
            raise Broken(f"{path}: case '{name}' needs figures and a command that ends in {', '.join(PLACES)}")
    return lines, cases


def run(tulle, command, environment):
    """The object that the command prints."""
    machine = ["--machine", "summit"] if command[0] in ("spmm", "spgemm") else []
    line = [tulle] + command[:-1] + PLACES[command[-1]] + machine + COMMON
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120, env=environment)
    told = [text for text in done.stdout.splitlines() if text.startswith("{")]
    if done.returncode != 0 or len(told) != 1:
        raise Broken(f"{' '.join(line)}: exit {done.returncode}, {len(told)} objects: {done.stderr.strip()[:300]}")
    return json.loads(told[0])


def figure(told, key):
    """The counted figure of that key as text."""
    value = told
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise Broken(f"the command's object has no {key}")
        value = value[part]
    if isinstance(value, bool) or not isinstance(value, int):
        raise Broken(f"{key} is {value!r}, not a count")
    return str(value)


def check(options, name, command, figures, lines, environment):
    """Texts of what differs; with --write, lines of the table are changed instead."""
    wrong = []
    first = {}
    for attempt in range(options.repeat):
        told = run(options.tulle, command, environment)
        for key, (old, number) in figures.items():
            new = figure(told, key)
            if first.setdefault(key, new) != new:
                wrong.append(f"{name}: {key} varies: {first[key]}, and {new} in run {attempt + 1}")
            elif attempt == 0 and old != new and options.write:
                lines[number] = re.sub(r"=.*", f"= {new}", lines[number])
                print(f"# {name}: {key} was {old}, is written as {new}")
            elif attempt == 0 and old != new:
                wrong.append(f"{name}: {key} was {old}, is {new}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tulle", help="the command")
    parser.add_argument("table", help="figures.txt")
    parser.add_argument("--only", default="", help="only cases whose name holds this")
    parser.add_argument("--write", action="store_true", help="write the table anew")
    parser.add_argument("--repeat", type=int, default=1, help="run each case so often")
    parser.add_argument("--no-sim", action="store_true", help="skip the cases that are simulated")
    options = parser.parse_args()
    bad = 0
    try:
        if options.repeat < 1:
            raise Broken("--repeat is at least 1")
        lines, cases = read_table(options.table)
        cases = [case for case in cases if options.only in case[0]]
        if not cases:
            raise Broken(f"no case's name holds '{options.only}'")
    except (Broken, OSError) as error:
        print(f"frozen.py: {error}", file=sys.stderr)
        return 2
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        for number, (name, command, figures) in enumerate(cases, 1):
            if options.no_sim and command[-1] == "@sim":
                print(f"ok {number} - {name} # SKIP no SimGrid was found when this was built")
                continue
            try:
                wrong = check(options, name, command, figures, lines, environment)
            except (Broken, subprocess.TimeoutExpired) as error:
                wrong = [f"{name}: {error}"]
            for text in wrong:
                print(f"# {text}")
            bad += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {number} - {name}: {len(figures)} figures", flush=True)
    if options.write and not bad:
        with open(options.table, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    elif bad:
        print("# a figure may change only in a commit of its own: see the table's head" +
              ("; nothing was written" if options.write else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
