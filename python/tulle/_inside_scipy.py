# SPDX-License-Identifier: Apache-2.0
"""scipy's own operators by this library, within a block."""
import contextlib
import contextvars
import threading

import numpy as np

from ._products import matmul
from ._team import current
from ._triangular import solve_triangular

_NAMES = ("_matmul_vector", "_matmul_multivector", "_matmul_sparse")
_OLD_NAMES = ("_mul_vector", "_mul_multivector", "_mul_sparse_matrix")  # scipy before 1.11
# the entries from which on products are ours, in this thread or task; outside of blocks None
_smallest = contextvars.ContextVar("tulle.inside_scipy", default=None)  # type: contextvars.ContextVar[int | None]
_TYPES = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
_lock = threading.Lock()
_blocks = []  # type: list[object]
_originals = []  # type: list[tuple[object, str, object]]


_FASTER_FROM = 4  # times the smallest: two sparse matrices, where a plan takes part of the time


def _suits(A, B, format=None, times=1):
    """Whether A @ B is one of ours: two dimensions, single or double precision, and worth the call.

    Where calls are collective over several processes it is scipy's: each of its own matrices.
    """
    smallest = _smallest.get()
    if smallest is None or A.data.size < times * smallest or (format and A.format != format):
        return False
    if A.ndim != 2 or B.ndim > 2 or current().size > 1:
        return False
    return A.dtype in _TYPES and B.dtype in _TYPES


def _product(original):
    """Of CSR, and in CSC of several columns: one column is added up by scipy as fast."""

    def multiply(self, other):
        if not _suits(self, other, "csr" if other.ndim < 2 else None) or self.shape[1] != other.shape[0]:
            return original(self, other)
        return matmul(self, other)

    return multiply


def _sparse_product(original):
    def multiply(self, other):
        if other.ndim != 2 or not _suits(self, other, times=_FASTER_FROM) or self.shape[1] != other.shape[0]:
            return original(self, other)
        return matmul(self, type(self)(other))

    return multiply


def _triangular_solve(original):
    def solve(A, b, lower=True, overwrite_A=False, overwrite_b=False, unit_diagonal=False):
        from scipy.linalg import LinAlgError

        b = np.asanyarray(b)
        square = hasattr(A, "tocsr") and A.ndim == 2 and A.shape[0] == A.shape[1]
        if not square or type(b) is not np.ndarray or not _suits(A, b) or b.ndim not in (1, 2) or b.shape[0] != A.shape[0]:
            return original(A, b, lower, overwrite_A, overwrite_b, unit_diagonal)
        dtype = np.result_type(A.dtype, b.dtype)
        try:
            return solve_triangular(A.astype(dtype), b.astype(dtype), lower=lower, unit_diagonal=unit_diagonal)
        except ValueError as cause:
            if "pivot" in str(cause) or "diagonal" in str(cause):
                raise LinAlgError(f"A is singular: {cause}") from None
            raise

    return solve


@contextlib.contextmanager
def inside_scipy(smallest=10_000):
    """Within the block scipy's A @ B, A @ X and spsolve_triangular are this library's, where it is faster.

    For matrices of float32 and float64 with `smallest` entries or more: A @ X in CSR and CSC, A @ x in CSR, A @ B of CSR
    and of CSC with four times as many, solves with both; all else stays scipy's. Rows of a sparse result are in order, and have no duplicates. In this thread, and in asyncio
    tasks that it makes: in others the operators stay scipy's.
    """
    block, outer = object(), _smallest.get()
    _begin(block)
    _smallest.set(smallest)
    try:
        yield
    finally:
        _smallest.set(outer)
        _end(block)


def _begin(block):
    """The operators ask for blocks from the first one on."""
    import scipy.sparse.linalg
    from scipy.sparse import _compressed

    with _lock:
        _blocks.append(block)
        if len(_blocks) > 1:
            return
        matrix = _compressed._cs_matrix
        names = _NAMES if hasattr(matrix, _NAMES[0]) else _OLD_NAMES
        wrappers = (_product, _product, _sparse_product, _triangular_solve)
        _originals[:] = [(matrix, name, matrix.__dict__[name]) for name in names]
        _originals.append((scipy.sparse.linalg, "spsolve_triangular", scipy.sparse.linalg.spsolve_triangular))
        for (owner, name, original), wrap in zip(_originals, wrappers):
            setattr(owner, name, wrap(original))


def _end(block):
    """They are scipy's after the last."""
    with _lock:
        _blocks.remove(block)
        if _blocks:
            return
        for owner, name, original in _originals:
            setattr(owner, name, original)
