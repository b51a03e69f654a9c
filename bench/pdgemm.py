#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tulle_pdgemm beside PDGEMM of the distribution's ScaLAPACK, and redistribution beside PDGEMR2D.

    bench/pdgemm.py --build build --ranks 1,2 [--mpi openmpi] [--oversubscribe]

Both multiply the same block-cyclic arrays in one job, with one thread of the BLAS a process (bench/scalapack/pdgemm.c).
More ranks than cores say whether results are right, not how fast: --oversubscribe, which prints no times.
"""
import argparse
import json
import os
import subprocess
import sys

SHAPES = [(1000, 1000, 1000), (2000, 2000, 2000), (4000, 4000, 4000), (200, 200, 20000), (4000, 4000, 200)]  # m, n, k


def run(given, ranks, shape, block):
    program = os.path.join(given.build, "bench/scalapack/bench_pdgemm_" + given.mpi)
    launcher = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root"], "mpich": ["mpirun.mpich"]}[given.mpi]
    if given.oversubscribe and given.mpi == "openmpi":
        launcher.append("--oversubscribe")
    words = launcher + ["-n", str(ranks), program] + [str(x) for x in shape] + [str(block), str(given.reps)]
    modules = os.environ.get("TULLE_MODULE_PATH") or os.path.abspath(os.path.join(given.build, "modules"))
    environment = dict(os.environ, TULLE_MODULE_PATH=modules, OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1", OMPI_MCA_osc="^rdma")
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if not done.stdout.strip():
        sys.exit("%s: %s" % (" ".join(words), done.stderr))
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", default="build")
    options.add_argument("--mpi", default="openmpi", choices=["openmpi", "mpich"])
    options.add_argument("--ranks", default="1,2")
    options.add_argument("--block", type=int, default=64)
    options.add_argument("--reps", type=int, default=5)
    options.add_argument("--size", type=int, default=0, help="only square matrices of this size")
    options.add_argument("--oversubscribe", action="store_true", help="more ranks than cores: for right results only")
    given = options.parse_args()
    shapes = [(given.size,) * 3] if given.size else SHAPES
    wrong = 0
    if not given.oversubscribe:
        print("| ranks | m x n x k | PDGEMM, ms | ours, ms | times | PDGEMR2D, ms | ours, ms | times | ours over a copy |")
        print("|---|---|---|---|---|---|---|---|---|")
    for ranks in map(int, given.ranks.split(",")):
        for shape in shapes:
            r = run(given, ranks, shape, given.block)
            wrong += not r["right"]
            name = "%d x %d x %d" % shape
            if given.oversubscribe:
                print("%d ranks, %s: %s" % (ranks, name, "right" if r["right"] else "WRONG"))
                continue
            print("| %d | %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f |%s" %
                  (ranks, name, 1e3 * r["pdgemm"], 1e3 * r["tulle_pdgemm"], r["pdgemm"] / r["tulle_pdgemm"],
                   1e3 * r["pdgemr2d"], 1e3 * r["redistribute"], r["pdgemr2d"] / r["redistribute"],
                   r["redistribute"] / r["copy"], "" if r["right"] else " WRONG"), flush=True)
    return 1 if wrong else 0


sys.exit(main())
