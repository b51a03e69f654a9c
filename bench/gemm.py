#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tulle gemm beside a BLAS that is called directly, on the same shapes, in one run.

    bench/gemm.py --tulle build/tulle --threads 2 --blas libopenblas.so.0 --blas .../libmkl_rt.so.2
    bench/gemm.py --shapes small --type f32 --threads 1 --blas libopenblas.so.0

A BLAS has all threads in one process and its operands in place: what is slower is what distribution costs. Each
figure is the median of --reps products; programs take turns, so that other work on the machine meets all of them.
An OpenBLAS that takes the processor for an old one is told better by OPENBLAS_CORETYPE, as Tulle tells its own.
"""
import argparse
import array
import ctypes
import json
import random
import statistics
import subprocess
import time

SHAPES = {  # m, k, n
    "large": [(500, 500, 500), (1000, 1000, 1000), (2000, 2000, 2000), (4000, 4000, 4000), (20000, 300, 300),
              (300, 20000, 300), (300, 300, 20000)],
    "small": [(65, 65, 65), (129, 127, 131), (250, 250, 250), (37, 1001, 5), (100_000, 16, 16), (100_000, 1, 16),
              (100_000, 4, 64), (16, 100_000, 16), (16, 16, 100_000), (3, 3, 1_000_000), (1_000_000, 3, 3),
              (10_000, 8, 1000), (1000, 1, 1000), (1000, 64, 1000), (2000, 2000, 7), (7, 2000, 2000), (2000, 2000, 1)],
}


def blas_product(path, threads, shape, real, reps):
    """Seconds of each product by cblas_dgemm or cblas_sgemm of the library."""
    lib = ctypes.CDLL(path)
    for name in ("openblas_set_num_threads", "MKL_Set_Num_Threads"):
        if hasattr(lib, name):
            getattr(lib, name)(ctypes.c_int(threads))
    m, k, n = shape
    draw = random.Random(1)
    code, scalar, gemm = {"f64": ("d", ctypes.c_double, "cblas_dgemm"), "f32": ("f", ctypes.c_float, "cblas_sgemm")}[real]
    row = array.array(code, (draw.uniform(-1, 1) for _ in range(4096)))
    a, b, c = (array.array(code, (row * (size // 4096 + 1))[:size]) for size in (m * k, k * n, m * n))
    A, B, C = (ctypes.c_void_p(x.buffer_info()[0]) for x in (a, b, c))
    seconds, call, sizes = [], getattr(lib, gemm), [ctypes.c_int(x) for x in (101, 111, 111, m, n, k)]
    words = sizes + [scalar(1), A, ctypes.c_int(k), B, ctypes.c_int(n), scalar(0), C, ctypes.c_int(n)]
    for _ in range(reps + 2):
        start = time.perf_counter()
        call(*words)
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def tulle_product(tulle, pes, threads, shape, real, reps, more):
    """The same of tulle: (fresh, with the plan kept)."""
    m, k, n = shape
    words = [tulle, "gemm", "--m", m, "--k", k, "--n", n, "--pes", pes, "--threads", threads, "--type", real, "--reps",
             reps, "--json", "--quiet"] + more
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[0])
    return line["seconds"], line["seconds_reused_plan"]


def layouts_of(threads):
    """(name, PEs, threads a PE, more options)"""
    found = [("1 PE", 1, threads, [])]
    if threads > 1:
        found += [(f"{threads} PEs", threads, 1, []),
                  (f"{threads} PEs, tiles copied", threads, 1, ["--comm", "threads:direct=off"])]
    return found


def measure(given, shape, layouts):
    """{name: Gflop/s}, of Tulle also fresh, where the plan and C are made within the time."""
    seconds = {}
    for _ in range(given.turns):
        for path in given.blas:
            seconds.setdefault(path, []).extend(blas_product(path, given.threads, shape, given.type, given.reps))
        for name, pes, threads, more in layouts:
            fresh, kept = tulle_product(given.tulle, pes, threads, shape, given.type, given.reps, more)
            seconds.setdefault(name, []).append(kept)
            seconds.setdefault(name + ", fresh", []).append(fresh)
    flops = 2e-9 * shape[0] * shape[1] * shape[2]
    return {name: flops / statistics.median(values) for name, values in seconds.items()}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--blas", action="append", default=[], help="a library with cblas_dgemm; may be repeated")
    options.add_argument("--shapes", choices=SHAPES, default="large")
    options.add_argument("--type", choices=["f64", "f32"], default="f64")
    options.add_argument("--reps", type=int, default=5)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    layouts = layouts_of(given.threads)
    ours = [name for name, *_ in layouts]
    names = given.blas + [column for name in ours for column in (name, name + ", fresh")]
    print("| m x k x n | " + " | ".join(names) + " | best of ours over best BLAS |")
    print("|---" * (len(names) + 2) + "|")
    for shape in SHAPES[given.shapes]:
        rate = measure(given, shape, layouts)
        ratio = max(rate[name] for name in ours) / max((rate[path] for path in given.blas), default=float("nan"))
        cells = " | ".join(f"{rate[name]:.1f}" for name in names)
        print(f"| {shape[0]} x {shape[1]} x {shape[2]} | {cells} | {ratio:.2f} |", flush=True)
    print(f"\nGflop/s, {given.type}, plans kept; medians of {given.turns} turns of {given.reps} products, "
          f"{given.threads} threads in all.")


if __name__ == "__main__":
    main()
