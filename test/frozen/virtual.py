#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of documents that are exact: rows made anew by the scripts that made them, to the last digit.

    test/frozen/virtual.py build/tulle

Virtual time is the same in every run. A row that differs means that the simulation, or what it simulates, is another
one: then the whole table is made anew by its script, in a commit of its own that says why.
"""
import argparse
import importlib.util
import os
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def script(name):
    path = os.path.join(TOP, "bench", name + ".py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(given):
    """(document, row) of each figure."""
    gemm = script("gemm_figures")
    for tile in (1024, 2048, 4096):
        yield "doc/gemm.md", gemm.tile_row(given, tile)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tulle")
    given = parser.parse_args()
    failed = count = 0
    for count, (document, row) in enumerate(rows(given), 1):
        with open(os.path.join(TOP, document), encoding="utf-8") as file:
            there = row in file.read().splitlines()
        failed += not there
        print(f"{'ok' if there else 'not ok'} {count} - {document}: {row}", flush=True)
    print(f"1..{count}")
    sys.exit(failed > 0 or not count)


if __name__ == "__main__":
    main()
