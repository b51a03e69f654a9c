#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Principal components of a made table of single cells, larger than the memory that they may use.

    bench/cells.py make FILE.h5ad [--cells 1300000] [--genes 2000] [--seed 1]
    bench/cells.py truth FILE.h5ad TRUTH.npz [--count 50]
    bench/cells.py check TRUTH.npz COMPONENTS.npy [SCORES.npy]
    bench/cells.py sklearn FILE.h5ad COMPONENTS.npy [--count 50] [--solver arpack|randomized|covariance_eigh]

make: counts of a Poisson law whose rates have 60 latent factors, about a tenth of them above 0, as log(1 + count) in
AnnData's layout (CSR, f64, contiguous). truth: components from the covariance matrix, summed by parts of rows. check:
the singular values that the components stand for, as they are under that covariance, against the true ones, and the
sines of the angles between the subspaces, a line of JSON.
"""
import argparse
import json
import os
import resource
import time

import h5py
import numpy as np
import scipy.sparse as sp

FACTORS, PART = 60, 10000


def counts_of(rng, rows, base, loadings):
    """Counts of some cells, rows x genes, CSR."""
    latent = rng.standard_normal((rows, FACTORS), dtype=np.float32)
    rate = latent @ loadings
    rate += base
    rate += rng.normal(0, .4, (rows, 1)).astype(np.float32)  # depths of the cells
    np.exp(rate, out=rate)
    return sp.csr_matrix(rng.poisson(rate).astype(np.float32))


def make(options):
    rng = np.random.default_rng(options.seed)
    base = rng.normal(-3.2, 1.2, options.genes).astype(np.float32)
    strength = (.35 * .94 ** np.arange(FACTORS)).astype(np.float32)
    loadings = strength[:, None] * rng.standard_normal((FACTORS, options.genes), dtype=np.float32)
    pointer, raw = [np.zeros(1, np.int64)], {"indices": np.int32, "data": np.float64}
    files = {name: open(f"{options.file}.{name}", "wb") for name in raw}
    for at in range(0, options.cells, PART):
        X = counts_of(rng, min(PART, options.cells - at), base, loadings)
        files["indices"].write(X.indices.astype(np.int32).tobytes())
        files["data"].write(np.log1p(X.data.astype(np.float64)).tobytes())
        pointer.append(pointer[-1][-1] + X.indptr[1:].astype(np.int64))
    pointer = np.concatenate(pointer)
    with h5py.File(options.file, "w") as out:
        out.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        group = out.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0",
                            "shape": [options.cells, options.genes]})
        group["indptr"] = pointer
        for name, kind in raw.items():
            files[name].close()
            values = np.memmap(f"{options.file}.{name}", kind, "r")
            to = group.create_dataset(name, values.shape, kind)
            for at in range(0, len(values), 1 << 24):
                to[at:at + (1 << 24)] = values[at:at + (1 << 24)]
            os.remove(f"{options.file}.{name}")
    print(json.dumps({"cells": options.cells, "genes": options.genes, "entries": int(pointer[-1]),
                      "density": float(pointer[-1] / options.cells / options.genes)}))


def parts_of(path):
    """The rows of X, CSR, some at a time."""
    with h5py.File(path) as file:
        X = file["X"]
        pointer, genes = X["indptr"][:], int(X.attrs["shape"][1])
        for at in range(0, len(pointer) - 1, 50000):
            cut = pointer[at:at + 50001]
            yield sp.csr_matrix((X["data"][cut[0]:cut[-1]], X["indices"][cut[0]:cut[-1]], cut - cut[0]),
                                (len(cut) - 1, genes))


def truth(options):
    gram, total, cells = 0, 0, 0
    for X in parts_of(options.file):
        gram = gram + (X.T @ X).toarray()
        total = total + np.asarray(X.sum(axis=0)).ravel()
        cells += X.shape[0]
    centred = gram - np.outer(total, total) / cells
    values, vectors = np.linalg.eigh(centred)
    np.savez(options.out, centred=centred, cells=cells, values=np.sqrt(np.maximum(values[::-1], 0)),
             components=vectors[:, ::-1][:, :options.count].T)


def check(options):
    known, found = np.load(options.file), np.load(options.out)
    found = found.T if found.shape[0] == known["centred"].shape[0] else found
    true, count = known["values"], len(found)
    Q = np.linalg.qr(found.T)[0]
    reached = np.sqrt(np.linalg.eigvalsh(Q.T @ known["centred"] @ Q)[::-1])
    cosines = np.linalg.svd(known["components"][:count] @ Q, compute_uv=False)
    line = {"count": count, "largest_error": float(max(1 - reached / true[:count])),
            "variance_of_best": float((reached**2).sum() / (true[:count]**2).sum()),
            "gap": float(true[count - 1] / true[count] - 1), "worst_sine": float(np.sqrt(max(0, 1 - cosines.min()**2))),
            "median_sine": float(np.sqrt(max(0, 1 - np.median(cosines)**2)))}
    if options.scores:
        scores = np.load(options.scores, mmap_mode="r")
        line["norms_of_scores"] = float(max(abs(np.linalg.norm(scores, axis=0) / reached - 1)))
    print(json.dumps(line))


def rival(options):
    from sklearn.decomposition import PCA
    begin = time.perf_counter()
    X = sp.vstack(list(parts_of(options.file)), format="csr")
    read = time.perf_counter() - begin
    pca = PCA(options.count, svd_solver=options.solver, random_state=1).fit(X)
    np.save(options.out, pca.components_)
    print(json.dumps({"who": f"sklearn {options.solver}", "read": read, "seconds": time.perf_counter() - begin - read,
                      "memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "truth", "check", "sklearn"))
    parser.add_argument("file")
    parser.add_argument("out", nargs="?")
    parser.add_argument("scores", nargs="?")
    parser.add_argument("--cells", type=int, default=1300000)
    parser.add_argument("--genes", type=int, default=2000)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solver", default="arpack")
    options = parser.parse_args()
    {"make": make, "truth": truth, "check": check, "sklearn": rival}[options.what](options)


if __name__ == "__main__":
    main()
