#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py PART SOURCE BUILD OUT: a part of bench/gpu/all.sh at scale 0, under emulation, has all rows that it must.

PART limits: runs that take too long are cut off, the part ends in time, and what was left out is said.
"""
import json
import os
import subprocess
import sys
import tempfile

import tap
from tap import ok

PART, SOURCE, BUILD, OUT = sys.argv[1:]
ALL = os.path.join(SOURCE, "bench", "gpu", "all.sh")


def run(build, out, **settings):
    done = subprocess.run([ALL, PART, build, out, "0"], env=os.environ | settings, capture_output=True, text=True,
                          check=False)
    print("# " + done.stderr.replace("\n", "\n# "))
    with open(os.path.join(out, PART), encoding="utf-8") as file:
        return done.returncode, [json.loads(line) for line in file]


def cases(kind):
    """Inputs and columns of bench/cases/smoke.list; files only where they are."""
    with open(os.path.join(SOURCE, "bench", "cases", "smoke.list"), encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [(words[1], int(op.partition(":")[2] or 0)) for words in lines if words for op in words[2:]
            if op.startswith(kind) and here(words[1])]


def here(name):
    folder = os.environ.get("TULLE_MATRICES", "")
    return name[0] != "@" or os.path.exists(os.path.join(folder, name[1:] + ".mtx.gz"))


def short(x):
    return os.path.basename(x["operand"]).removesuffix(".mtx.gz")


def key(x):
    """What a line is of, as `wanted` has it."""
    if PART == "rates":
        return x["rate"]
    if PART == "sign":
        return x["sign"]
    if PART == "functions":
        return x["function"], x["filter"], bool(x.get("device"))
    who, op = x.get("rival", "tulle"), x["op"]
    if op == "stream":
        return who, x["spec"].partition("kernels=")[2], x["format"].rpartition(", f64")[0], x["cols"]
    if op == "solve":
        return who, x["method"], x["precond"], x["cols"]
    cols = 0 if op == "spgemm" else x.get("cols", x["n"] if "n" in x else None)
    return who, op, short(x), x["type"], cols


def wanted():
    two, types = ("tulle", "cuSPARSE"), ("f64", "f32")
    slab = "fem:nodes=5,dof=3"
    if PART == "rates":
        return ["upload, pinned", "download, pinned", "upload, pageable", "copy on the GPU, read and written"]
    if PART == "sign":
        return ["f64", "f32", "tf32", "f16"]
    if PART == "functions":
        return [(f, e, d) for f in ("sign", "fermi") for e in (1e-3, 1e-5, 1e-7) for d in (True, False)]
    if PART == "slabs":
        formats = [("library", "csr"), ("library", "bsr 3 x 3"), ("own", "csr"), ("own", "bsr 3 x 3"),
                   ("own", "bsr 3 x 3, half")]
        return [("tulle", k, f, c) for k, f in formats for c in (1, 4)] + [
            ("cuSPARSE", op, slab, "f64", c) for op in ("bsr", "spmm") for c in (1, 4)]
    if PART == "stream":
        return [("tulle", "", f, c) for f in ("csr", "bsr 3 x 3", "bsr 3 x 3, half") for c in (1, 8, 32)]
    if PART in ("spmm", "spgemm"):
        return [(w, PART, name.lstrip("@"), t, cols) for name, cols in cases(PART) for t in types for w in two]
    if PART == "gemm":
        return [(w, "gemm", "of random matrices", t, n) for w in ("tulle", "cuBLAS") for t in types for n in (48, 60)]
    if PART == "blocks":
        return [(w, "spgemm", f"fem:nodes=2,dof={b}", "f64", 0) for b in (5, 6, 13, 23, 32) for w in two]
    # ours by two methods
    names = ["fem:nodes=5,dof=1", slab] + ["494_bus"] * here("@494_bus")
    return [(w, "trisolve", name, "f64", c) for name in names for c in (1, 16) for w in ("tulle", "tulle", "cuSPARSE")] + [
        ("tulle", "cg", "none", 1), ("tulle", "cg", "jacobi", 1), ("tulle", "block-cg", "none", 8)]


def rows():
    status, lines = run(BUILD, OUT)
    left_out = [x for x in lines if "left_out" in x]
    ok(status == 0, "every run has ended well")
    ok(all("@" in x["left_out"] and not here("@" + x["left_out"].partition("@")[2]) for x in left_out),
       "nothing is left out but files that are not here")
    have = sorted(map(str, map(key, (x for x in lines if x not in left_out))))
    want = sorted(map(str, wanted()))
    ok(have == want, f"{len(want)} rows, those that it must have")
    for row in sorted(set(have) ^ set(want)):
        print(f"# {'missing' if row in want else 'too much'}: {row}")
    ok(all(x.get("seconds", 1) > 0 and "error" not in x for x in lines), "each has a time")


def limits():
    with tempfile.TemporaryDirectory() as folder:
        tulle = os.path.join(folder, "tulle")
        with open(tulle, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n[ $1 != info ] || { echo 'device cuda: yes (none)' && exit; }\n"
                       "echo '{\"whole\":1}'\nprintf '{\"torn\":'\nexec sleep 600\n")
        os.chmod(tulle, 0o755)
        status, lines = run(folder, folder, PART_SECONDS="4", RUN_SECONDS="2")
    whole = [x for x in lines if "whole" in x]
    why = [x["why"] for x in lines if "why" in x]
    ok(status == 1 and len(why) == 12 and len(lines) == len(whole) + 12, "what has not ended is left out")
    ok(why[0] == "cut off after 2 seconds" and why[-1] == "the part's time is over", "runs and the part are cut off")
    memory()
    ok(whole and len(whole) == sum(w.startswith("cut off") for w in why), "lines that were whole are there")


def memory():
    """cuSPARSE without memory for SpGEMM, whose result is larger than what else there is."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = os.path.join(folder, "matrix.petsc")
        subprocess.run([os.path.join(BUILD, "tulle"), "convert", "er:n=500,degree=20", matrix, "-q"], check=True)
        rivals = os.path.join(os.environ["GPU_PROGRAMS"], "gpu_rivals")
        done = subprocess.run([rivals, matrix, "er", "f64", "spgemm", "spmm:2"], capture_output=True, text=True,
                              env=os.environ | {"EMUL_MEMORY": "1000000"}, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    ok(done.returncode == 0 and [x.get("error") for x in lines] == ["out of memory", None], "a rival without memory")


if PART == "limits":
    PART = "functions"
    limits()
else:
    rows()
tap.done()
