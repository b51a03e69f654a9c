#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_table.py SOURCE [RESULTS]: bench/gpu/table.py with figures that are made up: every table, missing parts, bad input.

RESULTS: lines of an emulated run; they have the names that the made-up figures have, and the tables are whole.
"""
import json
import os
import subprocess
import sys
import tempfile

import tap
from tap import ok

TABLE = os.path.join(sys.argv[1], "bench", "gpu", "table.py")
BEGIN, END = "<!-- bench/gpu/table.py: begin -->", "<!-- bench/gpu/table.py: end -->"


def run(document, *files):
    done = subprocess.run([sys.executable, TABLE, document, *files], capture_output=True, text=True, check=False)
    with open(document, encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read()


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))


def line(part, operand, **more):
    return {"kind": "measurement", "card": "H200", "commit": "abc", "part": part, "operand": operand, "variant": "-",
            "type": "f64"} | more


def slab(kernels, cols, seconds, layout="csr, f64, 4-byte columns"):
    op = "bsr" if layout.startswith("bsr") else "spmm"
    return line("slabs", "fem", variant=str(cols), op=op, cols=cols, device="cuda" + kernels, format=layout, bytes=4e8,
                kernel_seconds=seconds)


def product(part, operand, kernels, kind="f64", cols=64, bound=None, op=None):
    return line(part, operand, variant=str(cols), type=kind, op=op or part, cols=cols, seconds=0.5, flops=2e9,
                seconds_reused_plan=0.25, kernel_seconds=kernels) | ({"bound_seconds": bound} if bound else {})


def rival(part, op, operand, cols, seconds, kind="f64", **more):
    return line(part, operand, variant=str(cols), type=kind, rival="cuSPARSE", op=op, cols=cols, detail="alg2",
                analysis_seconds=0.003, seconds=seconds) | more


def function(seconds, device):
    return line("functions", "water8", variant="1e-5", op="sign", device=device, largest=700, submatrices=99,
                on_device=98, seconds=seconds)


def solve(method, seconds):
    return line("solves", "fem64", variant="16", op="trisolve", method=method, cols=16, analysis_seconds=0.001,
                seconds=seconds)


BLOCKS, HALF = "bsr 3 x 3, f64, 2-byte columns", "bsr 3 x 3, half, f64, 2-byte columns"
REFUSED = line("spgemm", "er9", variant="0", rival="cuSPARSE", op="spgemm", cols=0, error="out of memory")
MEASURED = [
    {"kind": "facts", "card": "H200", "commit": "abc", "device": "NVIDIA H200, 139.8 GiB", "date": "2026-01-02T03:04"},
    line("rates", "copies", rate="upload, pinned", bytes_per_second=5.5e10),
    line("rates", "copies", rate="copy on the GPU, read and written", bytes_per_second=5e11),
    slab(":kernels=library", 1, 0.002), slab(":kernels=own", 1, 0.001), slab(":kernels=own", 8, 0.004),
    slab(":kernels=own", 1, 0.001, BLOCKS), slab(":kernels=own", 1, 0.0005, HALF),
    rival("slabs", "spmm", "fem", 1, 0.0015), rival("slabs", "bsr", "fem", 1, 0.0012),
    line("stream", "fem96", variant="8", op="stream", format="csr, f64", device="cuda", cols=8, seconds=0.0105,
         link_bytes=5e8, link_seconds=0.01, kernel_seconds=0.002, resident=0),
    product("spmm", "fem9", 0.001), product("spmm", "fem9", 0.002, bound=0.001), rival("spmm", "spmm", "fem9", 64, 0.003),
    product("spmm", "mesh", 0.004), rival("spmm", "spmm", "mesh", 64, 0.003), product("spmm", "fem9", 0.002, "f32"),
    product("spgemm", "er9", 0.002, cols=0), REFUSED, rival("spgemm", "spgemm", "rmat", "-", 0.5),
    line("spgemm", "rmat", left_out="spgemm/rmat/-/f64", why="the product: TULLE_ERR_LIMIT: 5 GB are needed"),
    line("spgemm", "none", left_out="spgemm/none/-/f64", why="the operand: no file"),
    product("gemm", "dense64", 0), product("gemm", "dense99", 0.25, "f32", 99),
    line("gemm", "dense99", variant="99", type="f32", rival="cuBLAS", op="gemm", cols=99, seconds=0.5),
    line("sign", "water6", sign="tf32", n=3072, iterations=9, residual=6e-4, flops_per_second=3e14, error_mev=1.61),
    function(1.5, "cuda"), function(3.0, "threads"),
    solve("levels", 0.0123), solve("serial", 0.0246), rival("solves", "trisolve", "fem64", 16, 0.0246),
    line("systems", "fem64", variant="block-cg:8", op="solve", cols=8, seconds=1.5, iterations=77),
    {"kind": "test", "card": "H200", "commit": "abc", "name": "a/b", "result": "ok", "seconds": 1},
    {"kind": "test", "card": "H200", "commit": "abc", "name": "c/d", "result": "cut off", "seconds": 45, "why": "it hangs"},
    {"kind": "sanitizer", "card": "H200", "commit": "abc", "tool": "racecheck", "suite": "e f", "result": "found"},
]
WANTED = [
    ("| upload, pinned | 55.0 |", "rates"),
    ("| fem | csr, f64, 4-byte columns | 1 | 1.50 | 2.00 | 1.00 | 1.50x | 400 |", "kernels of a slab"),
    ("| fem | csr, f64, 4-byte columns | 8 | - | - | 4.00 | - | 100 |", "a slab without cuSPARSE"),
    ("| csr, f64 | 8 | 10.5 | 10.0 | 2.00 | 1.05x | 50.0 |", "a stream beside its link"),
    ("| SpMM | fem9 | f64 | 64 | 500 | 250 | 2.00 | 1000 | 50.0 | 3.00 | 1.50x |", "a product, of two lines the later"),
    ("| SpMM | mesh | f64 | 64 | 500 | 250 | 4.00 | 500 | - | 3.00 | 0.75x |", "a product without a bound"),
    ("| SpMM | fem9 | f32 | 64 | 500 | 250 | 2.00 | 1000 | - | - | - |", "another type has another rival"),
    ("| SpGEMM | er9 | f64 | - | 500 | 250 | 2.00 | 1000 | - | out of memory | - |", "a rival without memory"),
    ("| GEMM | dense64 | f64 | 64 | 500 | 250 | 0 | - | - | - | - |", "a product without times of kernels"),
    ("| GEMM | dense99 | f32 | 99 | 500 | 250 | 250 | 8.00 | - | 500 | 2.00x |", "a product beside cuBLAS's"),
    ("| sign | water8 | 1e-5 | 700 | 98 of 99 | 3000 | 1500 | 2.00x |", "a function on the GPU and by threads"),
    ("| fem64 | f64 | 16 | levels | 1.00 | 12.3 | - | 3.00 | 24.6 | 2.08x | 2.00x |", "a triangular solve"),
    ("| fem64 | f64 | 16 | serial | 1.00 | 24.6 | - | 3.00 | 24.6 | - | - |", "the slower method of two has no ratio"),
    ("| block-cg:8 | fem64 | 8 | 1500 | 77 |", "a Krylov method"),
    ("| tf32 | 3072 | 9 | 6.00e-04 | 300 | 1.61 |", "a sign"),
    ("| SpMM, f64 | 2 of 2 | 1.06 | 0.750 | mesh, 64 columns |", "a group: its mean, its worst row"),
    ("| SpMM, f32 | 0 of 1 | - | - | - |", "a group without a rival"),
    ("| SpMM, f64, mean | at least 1.15 | 1.06 | mesh, 64 columns | no |", "a target that is missed"),
    ("| SpMM, f32, mean | at least 1.3 | - | - | not measured |", "a target that is not measured"),
    ("| SpMM, each row | at least 0.97 | 0.750 | mesh, 64 columns | no |", "the worst row"),
    ("| SpGEMM: inputs out of memory, but not for cuSPARSE | at most 0 | 1.00 | rmat, f64 | no |", "memory"),
    ("| triangular solve with its analysis, mean | at least 5 | 2.08 | fem64, 16 columns | no |", "analyses"),
    ("| triangular solve, mean | at least 1 | 2.00 | fem64, 16 columns | yes |", "a target that is met"),
    (f"part of the copy's rate | at least 0.85 | 0.800 | fem, {BLOCKS}, 1 column | no |", "blocks"),
    (f"half to full | at least 1.6 | 2.00 | fem, {HALF}, 1 column | yes |", "half"),
    ("| streams, over the larger of link and kernels | at most 1.05 | 1.05 | csr, f64, 8 columns | yes |", "streams"),
    ("| uploads of streams, part of the pinned rate | at least 0.9 | 0.909 | csr, f64, 8 columns | yes |", "uploads"),
    ("| spgemm | `spgemm/none/-/f64` | the operand: no file |", "what was left out"),
    ("- tests: 1 ok, 1 cut off\n    - cut off: `c/d` it hangs\n- sanitizers: 1 found\n    - found: `racecheck e f`", "tests"),
    ("NVIDIA H200, 139.8 GiB, 2026-01-02T03:04, commit abc", "the device"),
]


def kind_of(x):
    who = "rival" if "rival" in x else "left out" if "left_out" in x else "ours"
    return x["kind"], x.get("part"), who


def as_programs_print(path):
    """The figures above have names that the programs of the emulated run print; its table has all rows, with rivals."""
    with open(path, encoding="utf-8") as file:
        real = [json.loads(text) for text in file]
    for kind in sorted({kind_of(x) for x in MEASURED if x["kind"] != "sanitizer"}, key=str):
        made = set().union(*(x.keys() for x in MEASURED if kind_of(x) == kind))
        printed = set().union(*(x.keys() for x in real if kind_of(x) == kind))
        missing = made - printed - {"error"}  # of cuSPARSE alone
        if kind[2] != "left out":  # of which an emulated run has none
            ok(not missing, f"{kind}: names that the programs print" + (f", not {missing}" if missing else ""))
    with tempfile.TemporaryDirectory() as other:
        document = os.path.join(other, "performance.md")
        write(document, [BEGIN, END])
        status, error, text = run(document, path)
    print("# " + text.replace("\n", "\n# ") + error)
    ok(status == 0 and "GPU 0 of the emulation" in text and "not measured" not in text, "the table of the emulated run")
    groups = text.partition("### Beside NVIDIA's libraries")[2].partition("###")[0].splitlines()[4:-1]
    of = [row.split("|")[2].split() for row in groups if row]
    ok(len(of) == 12 and all(o[0] == o[2] != "0" for o in of), "each group is there, and each row has its rival")


with tempfile.TemporaryDirectory() as folder:
    document, results = os.path.join(folder, "performance.md"), os.path.join(folder, "gpu-H200-abc.jsonl")
    around = ["# Figures", "before", BEGIN, "old", END, "behind"]
    write(document, around)
    write(results, MEASURED)
    status, _, text = run(document, results)
    for row, what in WANTED:
        ok(status == 0 and row in text, what)
    ok(text.startswith("# Figures\nbefore\n" + BEGIN) and text.endswith(END + "\nbehind\n") and "old" not in text and
       text.count("not measured") == 3, "what is around the markers stays")
    ok(run(document, results)[2] == text, "once more: the same")
    older = os.path.join(folder, "gpu-H200-aaa.jsonl")
    write(older, [MEASURED[0] | {"date": "2025-12-31T23:59", "commit": "aaa"}])
    ok(run(document, older, results)[2] == text, "of two runs of a card the newer one")
    first = product("spmm", "mesh", 1.0) | {"commit": "aaa"}
    write(older, [MEASURED[0] | {"date": "2025-12-31T23:59", "commit": "aaa"}, first, first | {"operand": "ring"}])
    both = run(document, results, older)[2]
    ok("commits aaa, abc" in both and both.count("| SpMM | mesh | f64 |") == text.count("| SpMM | mesh | f64 |") and
       "| SpMM | ring | f64 |" in both, "and of the older one what the newer has not")
    with tempfile.TemporaryDirectory() as nothing:
        status, _, text = run(document, nothing)
        ok(status == 0 and "Nothing has been measured" in text and "|" not in text, "no run: a line, and no tables")
    empty = os.path.join(folder, "gpu-none.jsonl")
    write(empty, [])
    ok(run(document, empty)[2].count("not measured") == 21, "nothing was measured: every table says so")
    status, _, text = run(document, results)
    write(older, ['{"kind": broken'])
    status, error, after = run(document, older)
    ok(status != 0 and "aaa.jsonl, line 1" in error and after == text, "a broken line is named, and nothing is written")
    write(document, around[:3])
    status, error, _ = run(document, results)
    ok(status != 0 and "has no" in error, "a document without markers is refused")
if len(sys.argv) > 2:
    as_programs_print(sys.argv[2])
tap.done()
