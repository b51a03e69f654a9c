#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of documents that are exact: rows made anew by the scripts that made them, to the last digit.

    test/frozen/virtual.py build/tulle [all]

Virtual time is the same in every run. A row that differs means that the simulation, or what it simulates, is another
one: then the whole table is made anew by its script, in a commit of its own that says why. The document names the
assumptions that the script makes, in the script's words.
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


def gemm(given):
    """Tiles of a device, and devices of a node."""
    figures = script("gemm_figures")
    yield "words", (figures.DEVICE % "15G")
    for tile in (1024, 2048, 4096):
        yield "row", figures.tile_row(given, tile)


def products(given):
    """Figure 5 on the DGX-2, two rows; Table 2a of one matrix."""
    figures = script("figures")
    yield "words", figures.TENTH.strip(",")
    for matrix in ("nlpkkt", "mouse-gene"):
        lines = figures.run(given, ("5", "spgemm", matrix, 0, "dgx2", 4, figures.EVERY))
        yield "row", figures.seconds_row(f"{matrix} | - | 4", lines, figures.NAMES)
    for line in figures.run(given, ("2", "spmm", "nm7", 256, "dgx2", 4, "stationary-c,steal-local-a")):
        yield "row", figures.parts_row(line)


def solves(given):
    """The four variants, and tasks, of a triangle, which take most of the time; all: of two."""
    figures = script("solves_sim")
    yield "words", figures.START
    for matrix in ("nlpkkt", "cliques")[:2 if given.all else 1]:
        lines = [line for case in figures.cases() if case[0] in ("levels", "variants", "tasks") and case[1] == matrix
                 and "dgx2" not in case[2] for line in figures.run(given, case)]
        yield "row", figures.line_of(figures.variant_row(lines, matrix, "dgx1"))
        yield "row", figures.line_of(figures.tasks_row(
            matrix, {line["tasks"]: line["seconds"] for line in lines if line["study"] == "tasks"}))


def submatrices(given):
    """Weak scaling, 40 and 80 PEs."""
    figures = script("submatrix")
    yield "words", figures.MACHINE
    for row in figures.scaling_rows(given, 1e-3, figures.PES[:2], figures.weak_cells(6)):
        yield "row", row


DOCUMENTS = {"doc/gemm.md": gemm, "doc/simulation.md": products, "doc/simulation-solves.md": solves,
             "doc/matfun.md": submatrices}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tulle")
    parser.add_argument("all", nargs="?", choices=["all"])
    given = parser.parse_args()
    sys.path.insert(0, os.path.join(TOP, "bench"))  # scripts import each other
    failed = count = 0
    for document, figures in DOCUMENTS.items():
        with open(os.path.join(TOP, document), encoding="utf-8") as file:
            text = file.read()
        for kind, figure in figures(given):
            count += 1
            there = figure in (text if kind == "words" else text.splitlines())
            failed += not there
            print(f"{'ok' if there else 'not ok'} {count} - {document}: {figure}", flush=True)
    print(f"1..{count}")
    sys.exit(failed > 0 or not count)


if __name__ == "__main__":
    main()
