#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_table.py SOURCE [OUT]: bench/gpu/table.py with figures that are made up: every table, missing parts, bad input.

OUT is what all.sh measured under emulation: programs print the names that the figures have, and the tables are whole.
"""
import json
import os
import subprocess
import sys
import tempfile

import tap
from tap import ok

TABLE = os.path.join(sys.argv[1], "bench", "gpu", "table.py")
BEGIN, END = "<!-- bench/gpu/all.sh: begin -->", "<!-- bench/gpu/all.sh: end -->"


def run(out, document):
    done = subprocess.run([sys.executable, TABLE, out, document], capture_output=True, text=True, check=False)
    with open(document, encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read()


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def slab(kernels, cols, seconds, layout="csr, f64, 4-byte columns"):
    return json.dumps({"op": "stream", "spec": "cuda" + kernels, "operand": "fem:nodes=64,dof=3", "format": layout,
                       "cols": cols, "type": "f64", "matrix": 3.9e8, "vector_bytes": 1e7, "compute": {"mean": seconds}})


def product(op, operand, kernels, kind="f64", n=64):
    return json.dumps({"op": op, "operand": operand, "type": kind, "n": n, "seconds": 0.5, "seconds_reused_plan": 0.25,
                       "flops": 2e9, "device": {"kernel_seconds": kernels}})


def rival(op, operand, cols, seconds, **more):
    return json.dumps({"rival": "cuSPARSE", "op": op, "operand": operand, "type": "f64", "cols": cols, "detail": "alg2",
                       "analysis_seconds": 0.003, "seconds": seconds} | more)


def left_out(run, why):
    return json.dumps({"left_out": run, "why": why})


def function(seconds, device):
    return json.dumps({"function": "sign", "operand": "water:n=8", "filter": 1e-5, "largest": 700, "submatrices": 99,
                       "runs": [seconds * 2, seconds]} | ({"device": {"decompositions": 98}} if device else {}))


BLOCKS, HALF = "bsr 3 x 3, f64, 2-byte columns", "bsr 3 x 3, half, f64, 2-byte columns"
REFUSED = json.dumps({"rival": "cuSPARSE", "op": "spgemm", "operand": "er:n=9", "type": "f64", "cols": 0,
                      "error": "out of memory"})
GEMM = json.dumps({"rival": "cuBLAS", "op": "gemm", "operand": "of random matrices", "type": "f32", "n": 99,
                   "seconds": 0.5})
PARTS = {
    "rates": ['{"rate":"upload, pinned","bytes_per_second":5.5e10}',
              '{"rate":"copy on the GPU, read and written","bytes_per_second":5e11}'],
    "slabs": [slab(":kernels=library", 1, 0.002), slab(":kernels=own", 1, 0.001), slab(":kernels=own", 8, 0.004),
              slab(":kernels=own", 1, 0.001, BLOCKS), slab(":kernels=own", 1, 0.0005, HALF),
              rival("spmm", "fem:nodes=64,dof=3", 1, 0.0015), rival("bsr", "fem:nodes=64,dof=3", 1, 0.0012)],
    "stream": [json.dumps({"op": "stream", "format": "csr, f64", "cols": 8, "seconds": 0.0105, "bytes": 5e8,
                           "transfer": {"mean": 0.01}, "compute": {"mean": 0.002}, "resident": False})],
    "spmm": [product("spmm", "fem:nodes=9", 0.002), rival("spmm", "fem:nodes=9", 64, 0.003),
             product("spmm", "/at/home/mesh.mtx.gz", 0.004), rival("spmm", "mesh", 64, 0.003),
             product("spmm", "fem:nodes=9", 0.002, "f32")],
    "spgemm": [product("spgemm", "er:n=9", 0.002), REFUSED, rival("spgemm", "rmat:scale=3", 0, 0.5),
               left_out("tulle spgemm rmat:scale=3 --type f64 --json", "status 3: 5 GB are needed"),
               left_out("spgemm @none", "TULLE_MATRICES has no none.mtx.gz")],
    "gemm": [product("gemm", "of random matrices", 0), product("gemm", "of random matrices", 0.25, "f32", 99), GEMM],
    "sign": ['{"sign":"tf32","n":3072,"iterations":9,"residual":6e-4,"flops_per_second":3e14,"error_mev":1.61}'],
    "functions": [function(1.5, True), function(3.0, False)],
    "solves": [json.dumps({"op": "trisolve", "method": "levels", "operand": "fem:nodes=64", "type": "f64", "cols": 16,
                           "analysis_seconds": 0.001, "seconds": 0.0123}),
               json.dumps({"op": "trisolve", "method": "serial", "operand": "fem:nodes=64", "type": "f64", "cols": 16,
                           "analysis_seconds": 0.001, "seconds": 0.0246}),
               rival("trisolve", "fem:nodes=64", 16, 0.0246),
               json.dumps({"op": "solve", "method": "block-cg", "precond": "none", "operand": "fem:nodes=64", "cols": 8,
                           "setup_seconds": 2, "columns": [{"seconds": 1.5, "iterations": 77}]})],
}
WANTED = [
    ("| upload, pinned | 55.0 |", "rates"),
    ("| fem:nodes=64,dof=3 | csr, f64, 4-byte columns | 1 | 1.50 | 2.00 | 1.00 | 1.50x | 400 |", "kernels of a slab"),
    ("| fem:nodes=64,dof=3 | csr, f64, 4-byte columns | 8 | - | - | 4.00 | - | 100 |", "a slab without cuSPARSE"),
    ("| csr, f64 | 8 | 10.5 | 10.0 | 2.00 | 1.05x | 50.0 |", "a stream beside its link"),
    ("| SpMM | fem:nodes=9 | f64 | 64 | 500 | 250 | 2.00 | 1000 | 3.00 | 1.50x |", "a product beside cuSPARSE's"),
    ("| SpMM | mesh | f64 | 64 | 500 | 250 | 4.00 | 500 | 3.00 | 0.75x |", "a file, by its name"),
    ("| SpMM | fem:nodes=9 | f32 | 64 | 500 | 250 | 2.00 | 1000 | - | - |", "another type has another rival"),
    ("| SpGEMM | er:n=9 | f64 | - | 500 | 250 | 2.00 | 1000 | out of memory | - |", "a rival without memory"),
    ("| GEMM | of random matrices | f64 | 64 | 500 | 250 | 0 | - | - | - |", "a product without times of kernels"),
    ("| GEMM | of random matrices | f32 | 99 | 500 | 250 | 250 | 8.00 | 500 | 2.00x |", "a product beside cuBLAS's"),
    ("| sign | water:n=8 | 1e-05 | 700 | 98 of 99 | 3000 | 1500 | 2.00x |", "a function on the GPU and by threads"),
    ("| fem:nodes=64 | 16 | levels | 1.00 | 12.3 | 3.00 | 24.6 | 2.08x | 2.00x |", "a triangular solve, its analysis apart"),
    ("| fem:nodes=64 | 16 | serial | 1.00 | 24.6 | 3.00 | 24.6 | - | - |", "the slower method of two has no ratio"),
    ("| block-cg, none | fem:nodes=64 | 8 | 2000 | 1500 | 77 |", "a Krylov method"),
    ("| tf32 | 3072 | 9 | 6.00e-04 | 300 | 1.61 |", "a sign"),
    ("| SpMM, f64 | 2 of 2 | 1.06 | 0.750 | mesh, 64 columns |", "a group: its mean, its worst row"),
    ("| SpMM, f32 | 0 of 1 | - | - | - |", "a group without a rival"),
    ("| SpMM, f64, mean | at least 1.15 | 1.06 | mesh, 64 columns | no |", "a target that is missed"),
    ("| SpMM, f32, mean | at least 1.3 | - | - | not measured |", "a target that is not measured"),
    ("| SpMM, each row | at least 0.97 | 0.750 | mesh, 64 columns | no |", "the worst row"),
    ("| SpGEMM: inputs out of memory, but not for cuSPARSE | at most 0 | 1.00 | rmat:scale=3, f64 | no |", "memory"),
    ("| triangular solve with its analysis, mean | at least 5 | 2.08 | fem:nodes=64, 16 columns | no |", "analyses"),
    ("| triangular solve, mean | at least 1 | 2.00 | fem:nodes=64, 16 columns | yes |", "a target that is met"),
    (f"part of the copy's rate | at least 0.85 | 0.800 | fem:nodes=64,dof=3, {BLOCKS}, 1 column | no |", "blocks"),
    (f"half to full | at least 1.6 | 2.00 | fem:nodes=64,dof=3, {HALF}, 1 column | yes |", "half"),
    ("| streams, over the larger of link and kernels | at most 1.05 | 1.05 | csr, f64, 8 columns | yes |", "streams"),
    ("| uploads of streams, part of the pinned rate | at least 0.9 | 0.909 | csr, f64, 8 columns | yes |", "uploads"),
    ("| spgemm | `spgemm @none` | TULLE_MATRICES has no none.mtx.gz |", "what was left out"),
    ("NVIDIA H200, 139.8 GiB", "the device"),
]


def keys_of(x, before=""):
    """Names of all fields, those of inner objects behind their owner's."""
    found = set()
    for part in x if isinstance(x, list) else [x]:
        for key, value in part.items() if isinstance(part, dict) else ():
            found |= {before + key} | keys_of(value, before + key + ".")
    return found


def kind_of(x):
    return "rival" if "rival" in x else "left out" if "left_out" in x else x.get("op", "measured")


def as_programs_print(folder):
    """The figures above have names that the programs of the emulated run print; its table has all rows, with rivals."""
    for part, lines in PARTS.items():
        with open(os.path.join(folder, part), encoding="utf-8") as file:
            real = [json.loads(line) for line in file]
        for kind in {kind_of(json.loads(line)) for line in lines} - {"left out"}:
            made = set().union(*(keys_of(json.loads(line)) for line in lines if kind_of(json.loads(line)) == kind))
            real_keys = set().union(*(keys_of(x) for x in real if kind_of(x) == kind))
            missing = made - real_keys - {"error"}  # of cuSPARSE alone
            ok(not missing, f"{part}, {kind}: names that the programs print" + (f", not {missing}" if missing else ""))
    with tempfile.TemporaryDirectory() as other:
        document = os.path.join(other, "performance.md")
        write(document, [BEGIN, END])
        status, error, text = run(folder, document)
    print("# " + text.replace("\n", "\n# ") + error)
    ok(status == 0 and "GPU 0 of the emulation" in text and "not measured" not in text, "the table of the emulated run")
    groups = text.partition("### Beside NVIDIA's libraries")[2].partition("###")[0].splitlines()[4:-1]
    of = [row.split("|")[2].split() for row in groups if row]
    ok(len(of) == 12 and all(o[0] == o[2] != "0" for o in of), "each group is there, and each row has its rival")


with tempfile.TemporaryDirectory() as folder:
    document = os.path.join(folder, "performance.md")
    around = ["# Figures", "before", BEGIN, "old", END, "behind"]
    write(document, around)
    status, _, text = run(folder, document)
    ok(status == 0 and text.count("not measured") == 21 and "old" not in text and "No GPU" in text,
       "nothing was measured: every table says so")
    for part, lines in PARTS.items():
        write(os.path.join(folder, part), lines)
    write(os.path.join(folder, "device"), ["device cuda: yes (NVIDIA H200, 139.8 GiB)"])
    status, _, text = run(folder, document)
    for line, what in WANTED:
        ok(status == 0 and line in text, what)
    ok(text.startswith("# Figures\nbefore\n" + BEGIN) and text.endswith(END + "\nbehind\n") and
       text.count("not measured") == 3, "what is around the markers stays")
    ok(run(folder, document)[2] == text, "once more: the same")
    write(os.path.join(folder, "blocks"), ['{"op": broken'])
    status, error, after = run(folder, document)
    ok(status != 0 and "blocks, line 1" in error and after == text, "a broken line is named, and nothing is written")
    write(document, around[:3])
    status, error, _ = run(folder, document)
    ok(status != 0 and "has no" in error, "a document without markers is refused")
if len(sys.argv) > 2:
    as_programs_print(sys.argv[2])
tap.done()
