#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file with more than 2^32 entries of one byte, for singular values from a file.

    bench/long_pattern.py FILE.h5ad [--rows 4400000]

Rows have 1000 entries of 50,000 columns, one in each 50 of these: at the place of the row's group, one of 12 of falling
sizes, for two thirds of them, and at any other place. So twelve values stand out. AnnData's layout, with indices of two bytes: 13 GB.
"""
import argparse

import h5py
import numpy as np

ENTRIES, WIDTH, GROUPS, PART = 1000, 50, 12, 20000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--rows", type=int, default=4400000)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    place = rng.integers(0, WIDTH, (GROUPS, ENTRIES), np.uint8)
    share = .8 ** np.arange(GROUPS)
    first = (WIDTH * np.arange(ENTRIES)).astype(np.uint16)
    entries = options.rows * ENTRIES
    with h5py.File(options.file, "w") as out:
        out.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        group = out.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0",
                            "shape": [options.rows, ENTRIES * WIDTH]})
        group["indptr"] = np.arange(options.rows + 1, dtype=np.int64) * ENTRIES
        indices = group.create_dataset("indices", (entries,), np.uint16)
        values = group.create_dataset("data", (entries,), np.int8)
        for at in range(0, options.rows, PART):
            rows = min(PART, options.rows - at)
            kind = rng.choice(GROUPS, rows, p=share / share.sum())
            other = rng.integers(0, WIDTH, (rows, ENTRIES), np.uint8)
            some = np.where(rng.integers(0, 3, (rows, ENTRIES), np.uint8) < 2, place[kind], other)
            indices[at * ENTRIES:(at + rows) * ENTRIES] = (first + some).ravel()
            values[at * ENTRIES:(at + rows) * ENTRIES] = np.ones(rows * ENTRIES, np.int8)


if __name__ == "__main__":
    main()
