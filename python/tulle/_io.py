# SPDX-License-Identifier: Apache-2.0
"""Matrices from files and generators, and to files."""
import os

import numpy as np

from . import _core
from ._arrays import describe, dense_result, is_hypersparse, sparse_result
from ._team import current
from ._values import path_of
from ._warnings import say

_DUPLICATES = ("sum", "error", "last")


def _load(operand, dtype, reading):
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"dtype is {np.dtype(dtype)}: matrices are of float32 or float64")
    *shape, dense = _core.inspect(operand, reading)[:3]
    matrix, text = _core.load(current(), operand, dense, np.dtype(dtype) == np.float32, reading)
    say(text.splitlines())
    sparse = _core.Storage.coo if is_hypersparse(shape) else _core.Storage.csr
    result = _core.arrays(matrix, _core.Storage.dense if dense else sparse, False, 0, 0, 0)
    return dense_result(result, "numpy") if dense else sparse_result(result, "scipy")


def read(path, dtype=np.float64, *, lenient=False, zero_based=False, finite=False, drop_zeros=False, assume=None,
         duplicates="sum"):
    """The matrix of a file: .mtx, .mtx.gz, .npy, .npz, .petsc, .bsp.h5, .h5ad, 10x .h5. Sparse: scipy's csr_array,
    or coo_array of 2^31 rows or columns and more.

    finite: nan and inf are refused. drop_zeros: stored zeros are omitted. duplicates: entries of one
    place are added ("sum"), refused ("error"), or the last one counts ("last"). Of Matrix Market: lenient
    accepts blanks before the banner and words after it, zero_based indices from 0, and assume is the
    banner of a file without one, such as "matrix coordinate real general".
    """
    if duplicates not in _DUPLICATES:
        raise ValueError(f"duplicates is {duplicates!r}, not one of {', '.join(_DUPLICATES)}")
    return _load(path_of(path), dtype,
                 _core.Reading(bool(lenient), bool(zero_based), bool(finite), bool(drop_zeros), assume or "", duplicates))


def write(path, A, *, format=None):
    """Writes A in the format of the name's ending; format: as `tulle convert --format`."""
    _core.save(_core.mat(current(), describe("A", A).array), path_of(path), format)


def generate(spec, dtype=np.float64):
    """The matrix of a generator, such as "rmat:scale=17"; `tulle gen --help` lists them."""
    if os.path.exists(spec) or ":" not in spec:
        raise ValueError(f"{spec!r} is no generator: write name:key=value,...")
    return _load(spec, dtype, _core.Reading(False, False, False, False, "", "sum"))
