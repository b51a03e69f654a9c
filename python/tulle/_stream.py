# SPDX-License-Identifier: Apache-2.0
"""Products with matrices larger than memory."""
import os

import numpy as np

from . import _core
from ._arrays import dense_result, describe, like
from ._report import keep
from ._team import Handle, at_home, bytes_of
from ._values import path_of, real, whole


class Stream(Handle):
    """A sparse matrix that passes through memory, or a device, in slabs: see stream."""

    def __init__(self, A, device, memory, format, columns):
        super().__init__()
        matrix, path = None, ""
        self._columns = whole("columns", columns)
        if isinstance(A, (str, os.PathLike)):
            path = path_of(A)
        else:
            matrix = _core.mat(self._team, describe("A", A).array)
        self._stream = _core.Stream(self._team, path, matrix, device or "", format or "", bytes_of(memory), self._columns)
        self.shape = self._stream.shape
        self.dtype = np.dtype(np.float32 if self._stream.single else np.float64)

    @at_home
    def __matmul__(self, X):
        x = describe("X", real("X", X, self.dtype))
        if x.shape[0] != self.shape[1]:
            raise ValueError(f"A has {self.shape[1]} columns, and X {x.shape[0]} rows")
        if x.shape[1] > self._columns:
            raise ValueError(f"X has {x.shape[1]} columns: make the stream with columns={x.shape[1]}")
        result, figures = self._stream.multiply(x.array)
        keep("stream", figures)
        return like(dense_result(result, "numpy", x.vector), X)

    @at_home
    def __repr__(self):
        return f"<tulle.Stream {self.shape[0]} x {self.shape[1]}: {self._stream.describe()}>"


def stream(A, *, device=None, memory=None, format=None, columns=1):
    """A sparse matrix of a Binsparse file (.bsp.h5), or of scipy, whose products use little memory.

    y = stream("A.bsp.h5", memory="2G") @ x. memory: of the device, for the slabs. device: "cpu"
    unless given. format: "csr", "bsr:b=3", "auto", as in `tulle stream --help`. columns: the most of
    a product. Krylov methods take a Stream as A.
    """
    return Stream(A, device, memory, format, columns)
