# SPDX-License-Identifier: Apache-2.0
"""Matrices from files and generators, and to files."""
import os
import warnings

import numpy as np

from . import _core
from ._arrays import describe, dense_result, sparse_result
from ._team import current


def _load(operand, dtype):
    dense = _core.inspect(operand)[2]
    matrix, text = _core.load(current(), operand, dense, np.dtype(dtype) == np.float32)
    for line in filter(None, text.splitlines()):
        warnings.warn(line, stacklevel=3)
    result = _core.arrays(matrix, _core.Storage.dense if dense else _core.Storage.csr, False, 0, 0, 0)
    return dense_result(result, "numpy") if dense else sparse_result(result, "scipy")


def read(path, dtype=np.float64):
    """The matrix of a file: .mtx, .mtx.gz, .npy, .npz, .petsc, .bsp.h5. Sparse: scipy's csr_array."""
    return _load(os.fspath(path), dtype)


def write(path, A, *, format=None):
    """Writes A in the format of the name's ending; format: as `tulle convert --format`."""
    _core.save(_core.mat(current(), describe(A).array), os.fspath(path), format)


def generate(spec, dtype=np.float64):
    """The matrix of a generator, such as "rmat:scale=17"; `tulle gen --help` lists them."""
    if os.path.exists(spec) or ":" not in spec:
        raise ValueError(f"{spec!r} is no generator: write name:key=value,...")
    return _load(spec, dtype)
