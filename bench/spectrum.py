#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eigenpairs, singular values and least squares beside scipy's, scikit-learn's and PRIMME's: a line of JSON each.

    bench/spectrum.py [--count 8] [--tol 1e-8] [--reps 3] [--only eig|svd|fit] [MATRIX ...] >lines.jsonl

MATRIX: a file or a generator of tulle; the ones below unless given. All run in this process, on the same arrays; the best
of REPS counts. Residuals are those of one function here: ||A v - w v|| / ||A|| of pairs, ||A^T u - s v|| / ||A|| of values,
||A^T (b - A x)|| / (||A|| ||b - A x||) of least squares, ||A|| the largest value found. A rival's tolerance is tightened
by tens until its residual is at most twice the one asked for. `speed` is the fastest rival's time over ours; 0.1 where
ours has not converged. Rivals that are not installed are named in a line.
"""
import argparse
import json
import math
import statistics
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tulle

SQUARE = ["stencil2d:n=60", "stencil2d:n=40,shift=-1.7", "stencil3d:n=16", "test/data/bcsstk16.mtx.gz",
          "test/data/bcsstk01.mtx", "band:n=3000,lower=4,values=spd"]
RECTANGULAR = ["test/data/ash219.mtx.gz", "test/data/lp_afiro.mtx.gz", "test/data/impcol_a.mtx.gz",
               "er:n=3000,degree=8", "rmat:scale=11"]


def load(name):
    A = tulle.generate(name) if ":" in name else tulle.read(name)
    A = sp.csr_matrix(A, dtype=np.float64)
    A.sum_duplicates()
    return A


def pairs_residual(A, w, v):
    return np.linalg.norm(A @ v - v * w, axis=0).max() / max(abs(w).max(), 1e-300)


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


def rivals_of(task, A, k, b):
    """{name: function(tolerance) -> results} of what is installed."""
    start = np.random.default_rng(1).standard_normal((A.shape[0], k))
    sklearn, primme = installed("sklearn.utils.extmath"), installed("primme")
    if task == "eig":
        found = {"scipy eigsh": lambda t: spla.eigsh(A, k, which="LA", tol=t),
                 "scipy lobpcg": lambda t: spla.lobpcg(A, start, largest=True, tol=t * spla.norm(A, 1), maxiter=2000)}
        if primme:
            found["primme"] = lambda t: primme.eigsh(A, k, which="LA", tol=t)
    elif task == "sigma":
        found = {"scipy eigsh": lambda t: spla.eigsh(A.tocsc(), k, sigma=0.0, which="LM", tol=t)}
        if primme:
            found["primme"] = lambda t: primme.eigsh(A, k, which=0.0, tol=t)
    elif task == "svd":
        found = {"scipy svds": lambda t: spla.svds(A, k, tol=t), "scipy svds lobpcg": lambda t: spla.svds(
            A, k, tol=t, solver="lobpcg", maxiter=1000)}
        if primme:
            found["primme"] = lambda t: primme.svds(A, k, tol=t)
        if sklearn:
            found["sklearn randomized"] = lambda t: sklearn.randomized_svd(
                A, k, n_iter=min(4 + 4 * int(-math.log10(t)), 100), random_state=1)
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


def measured(task, A, b, norm, call, options):
    """(seconds, residual, tolerance) at the residual that is asked for; seconds None: not reached."""
    residual = cause = None
    for tolerance in (options.tol * 10.0**-step for step in range(4)):
        seconds = []
        try:
            for _ in range(options.reps):
                begin = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results = call(tolerance)
                seconds.append(time.perf_counter() - begin)
        except Exception as failure:  # of any library: the line says which
            cause = f"{type(failure).__name__}: {failure}"[:120]
            continue
        if task == "fit":
            residual = fit_residual(A, b, results, norm)
            solved = np.linalg.norm(b - A @ results) <= 2 * options.tol * np.linalg.norm(b)
        else:
            residual = pairs_residual(A, *results) if len(results) == 2 else values_residual(A, *results)
            solved = False
        if solved or residual <= 2 * options.tol:
            return min(seconds), float(residual), tolerance, None
    return None, None if residual is None else float(residual), None, cause


def compare(task, name, A, options):
    k = min(options.count, min(A.shape) - 2)
    if k < 1:
        return None
    norm, b = spla.svds(A, 1, return_singular_vectors=False)[0], np.random.default_rng(2).standard_normal(A.shape[0])
    times = {}
    for of, calls in (("ours", ours_of(task, A, k, b)), ("rival", rivals_of(task, A, k, b))):
        for who, call in calls.items():
            seconds, residual, tolerance, cause = measured(task, A, b, norm, call, options)
            print(json.dumps({"op": task, "matrix": name, "m": A.shape[0], "n": A.shape[1], "nnz": int(A.nnz), "count": k,
                              "of": of, "who": who, "seconds": seconds, "residual": residual, "tolerance": tolerance,
                              "cause": cause}), flush=True)
            times.setdefault(of, []).append(seconds)
    best = {of: min((s for s in all_of if s), default=None) for of, all_of in times.items()}
    speed = 0.1 if not best["ours"] else best["rival"] / best["ours"] if best["rival"] else None
    print(json.dumps({"op": task, "matrix": name, "speed": speed, **best}), flush=True)
    return speed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="*")
    parser.add_argument("--count", type=int, default=8)
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--only", choices=("eig", "sigma", "svd", "fit"))
    options = parser.parse_args()
    for name in ("sklearn", "primme"):
        if not installed(name):
            print(json.dumps({"op": "rivals", "not_installed": name}), flush=True)
    for task in ("eig", "sigma", "svd", "fit"):
        if options.only not in (None, task):
            continue
        speeds = []
        for name in options.matrices or (SQUARE if task in ("eig", "sigma") else RECTANGULAR):
            A = load(name)
            if task in ("eig", "sigma") and (A.shape[0] != A.shape[1] or abs(A - A.T).max() > 1e-12 * abs(A).max()):
                print(f"{name}: not symmetric, left out of {task}", file=sys.stderr)
                continue
            speeds.append(compare(task, name, A, options))
        known = [speed for speed in speeds if speed]
        if known:
            print(json.dumps({"op": task, "matrices": len(known), "mean": statistics.geometric_mean(known),
                              "least": min(known)}), flush=True)


if __name__ == "__main__":
    main()
