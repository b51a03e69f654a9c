#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpu_table.py SOURCE: bench/gpu/table.py with figures that are made up: every table, missing parts, bad input."""
import json
import os
import subprocess
import sys
import tempfile

TABLE = os.path.join(sys.argv[1], "bench", "gpu", "table.py")
BEGIN, END = "<!-- bench/gpu/all.sh: begin -->", "<!-- bench/gpu/all.sh: end -->"
count = failed = 0


def ok(right, what):
    global count, failed
    count += 1
    failed += not right
    print(f"{'ok' if right else 'not ok'} {count} - {what}")


def run(out, document):
    done = subprocess.run([sys.executable, TABLE, out, document], capture_output=True, text=True, check=False)
    with open(document, encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read()


def write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def slab(kernels, cols, seconds):
    return json.dumps({"spec": "cuda" + kernels, "operand": "fem:nodes=64,dof=3", "format": "csr, f64", "cols": cols,
                       "matrix": 4e8, "compute": {"max": seconds, "mean": seconds}})


def product(op, operand, kernels):
    return json.dumps({"op": op, "operand": operand, "seconds": 0.5, "seconds_reused_plan": 0.25, "flops": 2e9,
                       "device": {"kernel_seconds": kernels}})


def function(seconds, device):
    return json.dumps({"function": "sign", "operand": "water:n=8", "filter": 1e-5, "largest": 700, "submatrices": 99,
                       "runs": [seconds * 2, seconds]} | ({"device": {"decompositions": 98}} if device else {}))


PARTS = {
    "rivals": ['{"rate":"upload, pinned","bytes_per_second":5.5e10}', '{"matrix":"fem:nodes=9"}',
               '{"rival":"cusparse","operation":"spmm","detail":"ALG2, 64 columns","seconds":0.004}',
               '{"rival":"cusparse","operation":"spmm","detail":"ALG3, 64 columns","seconds":0.003}'],
    "slabs": [slab(":kernels=library", 1, 0.002), slab(":kernels=own", 1, 0.001), slab("", 8, 0.004)],
    "stream": [json.dumps({"format": "csr, f64", "cols": 8, "seconds": 0.0105, "transfer": {"mean": 0.01},
                           "compute": {"mean": 0.002}})],
    "products": [product("spmm", "fem:nodes=9", 0.002), product("gemm", "of random matrices", 0)],
    "sign": ['{"sign":"tf32","n":3072,"iterations":9,"residual":6e-4,"flops_per_second":3e14,"error_mev":1.61}'],
    "functions": [function(1.5, True), function(3.0, False)],
    "solves": [json.dumps({"op": "trisolve", "method": "levels", "operand": "fem:nodes=64", "cols": 16,
                           "analysis_seconds": 0.001, "seconds": 0.0123}),
               json.dumps({"op": "solve", "method": "block-cg", "precond": "none", "operand": "fem:nodes=64", "cols": 8,
                           "setup_seconds": 2, "columns": [{"seconds": 1.5, "iterations": 77}]})],
}
WANTED = [
    ("| upload, pinned | 55.0 |", "rates"),
    ("| fem:nodes=64,dof=3 | csr, f64 | 1 | 2.00 | 1.00 | 2.00x | 400 |", "both kernels of a slab"),
    ("| fem:nodes=64,dof=3 | csr, f64 | 8 | - | 4.00 | - | 100 |", "a slab that cuSPARSE has no product for"),
    ("| csr, f64 | 8 | 10.5 | 10.0 | 2.00 | 1.05x |", "a stream beside its link"),
    ("| spmm | fem:nodes=9 | 500 | 250 | 2.00 | 1000 | 1.50x |", "a product beside the best of cuSPARSE's"),
    ("| gemm | of random matrices | 500 | 250 | 0.00e+00 | - | - |", "a product without times of kernels"),
    ("| sign | water:n=8 | 1e-05 | 700 | 98 of 99 | 3000 | 1500 | 2.00x |", "a function on the GPU and by threads"),
    ("| trisolve, levels | fem:nodes=64 | 16 | 1.00 | 12.3 | - |", "a triangular solve"),
    ("| block-cg, none | fem:nodes=64 | 8 | 2000 | 1500 | 77 |", "a Krylov method"),
    ("| tf32 | 3072 | 9 | 6.00e-04 | 300 | 1.61 |", "a sign"),
    ("NVIDIA H200, 139.8 GiB", "the device"),
]

with tempfile.TemporaryDirectory() as folder:
    document = os.path.join(folder, "performance.md")
    around = ["# Figures", "before", BEGIN, "old", END, "behind"]
    write(document, around)
    status, _, text = run(folder, document)
    ok(status == 0 and text.count("not measured") == 7 and "old" not in text and "No GPU" in text,
       "nothing was measured: every table says so")
    for part, lines in PARTS.items():
        write(os.path.join(folder, part), lines)
    write(os.path.join(folder, "device"), ["device cuda: yes (NVIDIA H200, 139.8 GiB)"])
    status, _, text = run(folder, document)
    for line, what in WANTED:
        ok(status == 0 and line in text, what)
    ok(text.startswith("# Figures\nbefore\n" + BEGIN) and text.endswith(END + "\nbehind\n") and
       "not measured" not in text, "what is around the markers stays")
    ok(run(folder, document)[2] == text, "once more: the same")
    write(os.path.join(folder, "blocks"), ['{"op": broken'])
    status, error, after = run(folder, document)
    ok(status != 0 and "blocks, line 1" in error and after == text, "a broken line is named, and nothing is written")
    write(document, around[:3])
    status, error, _ = run(folder, document)
    ok(status != 0 and "has no" in error, "a document without markers is refused")
print(f"1..{count}")
sys.exit(failed != 0)
