#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tulle gemm beside a BLAS that is called directly, on the same shapes, in one run.

    bench/gemm.py --tulle build/tulle --threads 2 --blas libopenblas.so.0 --blas .../libmkl_rt.so.2

A BLAS has all threads in one process and its operands in place: what is slower is what distribution costs. Each
figure is the median of --reps products; programs take turns, so that other work on the machine meets all of them.
"""
import argparse
import array
import ctypes
import json
import random
import statistics
import subprocess
import time

SHAPES = [(500, 500, 500), (1000, 1000, 1000), (2000, 2000, 2000), (4000, 4000, 4000), (20000, 300, 300),
          (300, 20000, 300), (300, 300, 20000)]  # m, k, n


def blas_product(path, threads, shape, reps):
    """Seconds of each product by cblas_dgemm of the library."""
    lib = ctypes.CDLL(path)
    for name in ("openblas_set_num_threads", "MKL_Set_Num_Threads"):
        if hasattr(lib, name):
            getattr(lib, name)(ctypes.c_int(threads))
    m, k, n = shape
    draw = random.Random(1)
    row = array.array("d", (draw.uniform(-1, 1) for _ in range(4096)))
    a, b, c = (array.array("d", (row * (size // 4096 + 1))[:size]) for size in (m * k, k * n, m * n))
    pointers = [ctypes.cast(x.buffer_info()[0], ctypes.c_void_p) for x in (a, b, c)]
    seconds = []
    for _ in range(reps + 1):
        start = time.perf_counter()
        lib.cblas_dgemm(101, 111, 111, m, n, k, ctypes.c_double(1), pointers[0], k, pointers[1], n, ctypes.c_double(0),
                        pointers[2], n)
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


def tulle_product(tulle, pes, threads, shape, reps, more):
    """The same of tulle: (fresh, with the plan kept)."""
    m, k, n = shape
    words = [tulle, "gemm", "--m", m, "--k", k, "--n", n, "--pes", pes, "--threads", threads, "--reps", reps, "--json",
             "--quiet"] + more
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    line = json.loads(done.stdout.splitlines()[0])
    return line["seconds"], line["seconds_reused_plan"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tulle", default="build/tulle")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--blas", action="append", default=[], help="a library with cblas_dgemm; may be repeated")
    options.add_argument("--reps", type=int, default=5)
    options.add_argument("--turns", type=int, default=3)
    given = options.parse_args()
    threads = given.threads
    layouts = [("1 PE", 1, threads, []), (f"{threads} PEs", threads, 1, []),
               (f"{threads} PEs, tiles copied", threads, 1, ["--comm", "threads:direct=off"])]
    names = given.blas + [name for name, *_ in layouts]
    print("| m x k x n | " + " | ".join(names) + " | best of ours over best BLAS |")
    print("|---" * (len(names) + 2) + "|")
    for shape in SHAPES:
        found = {name: [] for name in names}
        for _ in range(given.turns):
            for path in given.blas:
                found[path] += blas_product(path, threads, shape, given.reps)
            for name, pes, per_pe, more in layouts:
                found[name].append(tulle_product(given.tulle, pes, per_pe, shape, given.reps, more)[1])
        rate = {name: 2e-9 * shape[0] * shape[1] * shape[2] / statistics.median(values)
                for name, values in found.items()}
        best = max((rate[path] for path in given.blas), default=float("nan"))
        ours = max(rate[name] for name, *_ in layouts)
        cells = " | ".join(f"{rate[name]:.1f}" for name in names)
        print(f"| {shape[0]} x {shape[1]} x {shape[2]} | {cells} | {ours / best:.2f} |", flush=True)
    print("\nGflop/s, f64, plans kept; medians of %d turns of %d products, %d threads in all." %
          (given.turns, given.reps, threads))


if __name__ == "__main__":
    main()
