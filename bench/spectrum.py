#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eigenpairs, singular values and least squares beside scipy's, scikit-learn's, PRIMME's, PyAMG's and SLEPc's: a line of
JSON each.

    bench/spectrum.py [--count 8] [--tol 1e-8] [--reps 3] [--only eig,sigma,svd,fit] [--set] [--store] [--longest 20]
                      [--rivals bench/rivals/build] [MATRIX ...] >lines.jsonl

MATRIX: a file or a generator of tulle; the ones below unless given; --set: files of TULLE_MATRICES, 20 for eigenpairs
and for singular values. All run in this process, on the same arrays, with the threads that OMP_NUM_THREADS says; a
round has each library once, the one after the other, and the median of REPS rounds counts. A pause comes before each
call: OpenBLAS's threads, NumPy's and SciPy's own, spin for 0.1 s after a call, and would take the next library's
cores. SLEPc's krylovschur runs in processes of its own (bench_eig_slepc of RIVALS), on one rank and on as many as
there are threads, with SLEPc's basis and with one of four times as many vectors as pairs; its time is without reading
the matrix and without the start of processes. A library whose first call takes over LONGEST seconds is not called
again. --store: a table of bench/results.
Residuals are those of one function here: ||A v - w v|| / ||A|| of pairs, ||A^T u - s v|| / ||A|| of values,
||A^T (b - A x)|| / (||A|| ||b - A x||) of least squares, ||A|| the largest value found; of pairs nearest to 0 at least
1e-6 of the largest singular value. A rival's tolerance is tightened by tens until its residual is at most twice the one
asked for. `speed` is the fastest rival's time over ours; 0.1 where ours has not converged. Rivals that are not
installed are named in a line.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tulle
from stored_lines import store

PAUSE = 0.25
TASKS = ("eig", "sigma", "svd", "fit")
SQUARE = ["stencil2d:n=60", "stencil2d:n=40,shift=-1.7", "stencil3d:n=16", "test/data/bcsstk16.mtx.gz",
          "test/data/bcsstk01.mtx", "band:n=3000,lower=4,values=spd"]
SET = ["1138_bus", "bcsstk13", "bcsstk16", "nasa4704", "4elt", "fe_4elt2", "wing", "copter2", "delaunay_n15",
       "rgg_n_2_15_s0", "PGPgiantcompo", "ca-AstroPh", "ca-CondMat", "email-Enron", "facebook_combined", "MIT8", "Cornell5",
       "coauthor_physics", "h2o_256_szv_KS", "fe_bcc_216_dzp_H"]
SET_OF_VALUES = ["Chem97Zt", "AssociatedPress", "amazon-book_test", "coauthor_physics_features", "illc1850", "ibm01_hgr",
                 "lp_80bau3b", "lp_dfl001", "lp_fit2d", "lp_maros-r7", "lp_stocfor2", "R_KNex", "dnn_images1024", "epb0",
                 "cnr-2000", "bayer10", "airports", "R_USCounties", "cit-HepPh", "ash219"]
RECTANGULAR = ["test/data/ash219.mtx.gz", "test/data/lp_afiro.mtx.gz", "test/data/impcol_a.mtx.gz",
               "er:n=3000,degree=8", "rmat:scale=11"]


def load(name):
    A = tulle.generate(name) if ":" in name else tulle.read(name)
    A = sp.csr_matrix(A, dtype=np.float64)
    A.sum_duplicates()
    return A


def pairs_residual(A, w, v, least=1e-300):
    return np.linalg.norm(A @ v - v * w, axis=0).max() / max(abs(w).max(), least)


def values_residual(A, u, s, vt):
    return max(np.linalg.norm(A.T @ u - vt.T * s, axis=0).max(), np.linalg.norm(A @ vt.T - u * s, axis=0).max()) / s.max()


def fit_residual(A, b, x, norm):
    r = b - A @ x
    return np.linalg.norm(A.T @ r) / max(norm * np.linalg.norm(r), 1e-300)


def installed(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        return None


def sklearn_arpack(A, k, tol):
    from sklearn.decomposition import TruncatedSVD
    svd = TruncatedSVD(k, algorithm="arpack", tol=tol, random_state=1)
    scores = svd.fit_transform(A)
    return scores / svd.singular_values_, svd.singular_values_, svd.components_


class Clocked(tuple):
    """Results of another process, which has measured its `seconds`."""
    seconds = None


def write_csr(path, A):
    """A file of bench/rivals/csrfile.h."""
    with open(path, "wb") as out:
        out.write(b"TULLECSR" + np.array([1, 1], "<i4").tobytes() + np.array([*A.shape, A.nnz, 0, 0, 0], "<i8").tobytes())
        for array, kind in ((A.indptr, "<i8"), (A.indices, "<i4"), (np.zeros(A.nnz % 2), "<i4"), (A.data, "<f8")):
            out.write(array.astype(kind).tobytes())


def slepc_calls(A, k, program):
    """{name: function} of SLEPc's krylovschur, by ranks and sizes of the basis."""
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count())
    folder = tempfile.TemporaryDirectory()
    matrix, found = os.path.join(folder.name, "A.csr"), os.path.join(folder.name, "pairs")
    write_csr(matrix, A)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"}

    def call(ranks, basis, tolerance, folder=folder):  # the folder lives as long as the call
        done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", str(ranks), program, matrix, found,
                               str(k), repr(tolerance), str(basis)], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-100:])
        seconds, count = done.stdout.split()
        if int(count) < k:
            raise RuntimeError(f"{count} of {k} pairs have converged")
        values = np.fromfile(found)
        results = Clocked((values[:k], values[k:].reshape(k, -1).T))
        results.seconds = float(seconds)
        return results

    return {f"slepc krylovschur, {ranks} ranks{', ncv 4k' if basis else ''}":
            lambda t, ranks=ranks, basis=basis: call(ranks, basis, t)
            for ranks in sorted({1, threads}) for basis in (0, min(4 * k, A.shape[0]))}


def rivals_of(task, A, k, b, program):
    """{name: function(tolerance) -> results} of what is installed."""
    start = np.random.default_rng(1).standard_normal((A.shape[0], k))
    sklearn, primme, pyamg = installed("sklearn.utils.extmath"), installed("primme"), installed("pyamg")
    if task == "eig":
        found = {"scipy eigsh": lambda t: spla.eigsh(A, k, which="LA", tol=t),
                 "scipy lobpcg": lambda t: spla.lobpcg(A, start, largest=True, tol=t * spla.norm(A, 1), maxiter=200)}
        if primme:
            found["primme"] = lambda t: primme.eigsh(A, k, which="LA", tol=t)
        if os.path.exists(program):
            found.update(slepc_calls(A, k, program))
    elif task == "sigma":
        found = {"scipy eigsh": lambda t: spla.eigsh(A.tocsc(), k, sigma=0.0, which="LM", tol=t)}
        if primme:
            found["primme"] = lambda t: primme.eigsh(A, k, which=0.0, tol=t)
        if pyamg:
            found["pyamg lobpcg"] = lambda t: spla.lobpcg(
                A, start, M=pyamg.smoothed_aggregation_solver(A).aspreconditioner(), largest=False,
                tol=t * spla.norm(A, 1), maxiter=500)
    elif task == "svd":
        found = {"scipy svds": lambda t: spla.svds(A, k, tol=t), "scipy svds lobpcg": lambda t: spla.svds(
            A, k, tol=t, solver="lobpcg", maxiter=1000)}
        if primme:
            found["primme"] = lambda t: primme.svds(A, k, tol=t)
        if sklearn:
            found["sklearn randomized"] = lambda t: sklearn.randomized_svd(
                A, k, n_iter=min(4 + 4 * int(-math.log10(t)), 100), random_state=1)
            found["sklearn arpack"] = lambda t: sklearn_arpack(A, k, t)
    else:
        found = {"scipy lsqr": lambda t: spla.lsqr(A, b, atol=t, btol=t, conlim=0, iter_lim=20000)[0],
                 "scipy lsmr": lambda t: spla.lsmr(A, b, atol=t, btol=t, conlim=0, maxiter=20000)[0]}
    return found


def ours_of(task, A, k, b):
    if task == "eig":
        return {"tulle eigsh": lambda t: tulle.eigsh(A, k, which="LA", tol=t),
                "tulle lobpcg": lambda t: tulle.lobpcg(A, np.random.default_rng(1).standard_normal((A.shape[0], k)), tol=t)}
    if task == "sigma":
        return {"tulle eigsh": lambda t: tulle.eigsh(A, k, sigma=0.0, tol=t)}
    if task == "svd":
        return {"tulle svds": lambda t: tulle.svds(A, k, tol=t)}
    return {"tulle lsqr": lambda t: tulle.lsqr(A, b, atol=t, btol=t)[0], "tulle lsmr": lambda t: tulle.lsmr(
        A, b, atol=t, btol=t)[0]}


def timed(call, tolerance):
    time.sleep(PAUSE)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = call(tolerance)
    return getattr(results, "seconds", time.perf_counter() - begin), results


def reached(task, A, b, norm, call, options):
    """{residual, tolerance, first (seconds), cause} of a call with the residual that is asked for; tolerance None: none."""
    found = {"residual": None, "tolerance": None, "first": 0.0, "cause": None}
    for tolerance in (options.tol * 10.0**-step for step in range(4)):
        if found["first"] > options.longest:
            break
        try:
            found["first"], results = timed(call, tolerance)
        except Exception as failure:  # of any library: the line says which
            found["cause"] = f"{type(failure).__name__}: {failure}"[:120]
            continue
        if task == "fit":
            residual = fit_residual(A, b, results, norm)
            solved = np.linalg.norm(b - A @ results) <= 2 * options.tol * np.linalg.norm(b)
        else:
            least = 1e-6 * norm if task == "sigma" else 1e-300
            residual = pairs_residual(A, *results, least) if len(results) == 2 else values_residual(A, *results)
            solved = False
        found["residual"] = float(residual)
        if solved or residual <= 2 * options.tol:
            return {**found, "tolerance": tolerance}
    return found


def rounds(calls, found, reps, longest):
    """{name: median of seconds} of those that have reached the residual, called by turns."""
    seconds = {who: [each["first"]] for who, each in found.items() if each["tolerance"]}
    again = [who for who in seconds if found[who]["first"] <= longest]
    for who in again:
        seconds[who] = []
    for _ in range(reps):
        for who in again:
            seconds[who].append(timed(calls[who], found[who]["tolerance"])[0])
    return {who: statistics.median(values) for who, values in seconds.items()}


def compare(task, name, A, options):
    k = min(options.count, min(A.shape) - 2)
    if k < 1:
        return None
    norm, b = spla.svds(A, 1, return_singular_vectors=False)[0], np.random.default_rng(2).standard_normal(A.shape[0])
    ours = ours_of(task, A, k, b)
    calls = {**ours, **rivals_of(task, A, k, b, os.path.join(options.rivals, "bench_eig_slepc"))}
    found = {who: reached(task, A, b, norm, call, options) for who, call in calls.items()}
    seconds = rounds(calls, found, options.reps, options.longest)
    for who, each in found.items():
        print(json.dumps({"op": task, "matrix": name, "m": A.shape[0], "n": A.shape[1], "nnz": int(A.nnz), "count": k,
                          "of": "ours" if who in ours else "rival", "who": who, "seconds": seconds.get(who), **each}),
              flush=True)
    mine = min((seconds[who] for who in ours if who in seconds), default=None)
    best = min((who for who in seconds if who not in ours), key=seconds.get, default=None)
    speed = 0.1 if not mine else seconds[best] / mine if best else None
    print(json.dumps({"op": task, "matrix": name, "speed": speed, "ours": mine, "best": best}), flush=True)
    kept = {"pairs": {"eig": "largest", "sigma": "nearest to 0"}.get(task, task), "matrix": os.path.basename(name)[:-7],
            "rows": str(A.shape[0]), "entries": str(A.nnz), "Tulle": f"{1e3 * mine:.1f}" if mine else "not reached",
            "best rival": f"{best} {1e3 * seconds[best]:.1f}" if best else "none", "speed": f"{speed:.2f}" if speed else ""}
    return speed, kept


def files_of(task, options):
    if options.matrices:
        return options.matrices
    if options.set:
        folder = os.environ.get("TULLE_MATRICES", ".")
        return [os.path.join(folder, name + ".mtx.gz") for name in (SET_OF_VALUES if task in ("svd", "fit") else SET)]
    return SQUARE if task in ("eig", "sigma") else RECTANGULAR


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*")
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TASKS), metavar="TASK,...")
    parser.add_argument("--set", action="store_true")
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--longest", type=float, default=20)
    parser.add_argument("--rivals", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals", "build"))
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.rivals, "bench_eig_slepc")):
        print(json.dumps({"op": "rivals", "not_installed": "slepc"}), flush=True)
    for name in ("sklearn", "primme", "pyamg"):
        if not installed(name):
            print(json.dumps({"op": "rivals", "not_installed": name}), flush=True)
    stored = []
    for task in TASKS:
        if task not in options.only:
            continue
        results = []
        for name in files_of(task, options):
            A = load(name)
            if task in ("eig", "sigma") and (A.shape[0] != A.shape[1] or abs(A - A.T).max() > 1e-12 * abs(A).max()):
                print(f"{name}: not symmetric, left out of {task}", file=sys.stderr)
                continue
            results.append(compare(task, name, A, options))
        stored += [each[1] for each in results if each]
        known = [each[0] for each in results if each and each[0]]
        if known:
            print(json.dumps({"op": task, "matrices": len(known), "mean": statistics.geometric_mean(known),
                              "least": min(known)}), flush=True)
    if options.store:
        store("spectrum", "Eigenpairs and singular values, milliseconds", stored)


if __name__ == "__main__":
    main()
