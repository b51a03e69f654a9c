# SPDX-License-Identifier: Apache-2.0
"""Matrices of scipy, NumPy and torch as the library's descriptions, and results as the same kind.

matmul reads CSR and CSC of scipy, and arrays of NumPy, without this module (`_products.py`). Where one process calls,
values are not copied of dense matrices whose rows or columns have no gaps, and of CSR with ascending columns: columns of
32 bits are not copied either, those of 64 are narrowed, and row pointers of 32 bits are widened. CSC and COO are read as
they are and converted, except COO that a dense matrix is multiplied with, and other formats become CSR first. Results own
their arrays, which scipy, NumPy and torch receive without a copy.
"""
import numpy as np

from . import _core
from ._binsparse import opened
from ._team import current, part
from ._values import in_namespace, in_type, is_tensor, namespace, on_host, tensor_array, without_gradient

_STORAGE = _core.Storage


def is_hypersparse(shape):
    """True if only COO can have a matrix of this shape: CSR would have a pointer for each of 2^31 rows, or more."""
    return max(shape) > np.iinfo(np.int32).max


class Matrix:
    """A description of a caller's matrix, and how a result of its kind is made."""

    __slots__ = ("array", "kind", "storage", "shape", "first", "rows", "dtype", "index_bytes", "like", "vector")

    def __init__(self, array, kind, storage, shape, first, rows, dtype, index_bytes=0, like=None, vector=False):
        self.array = array
        self.kind = kind  # "scipy", "numpy", "torch", or the Array API's namespace of another dense array
        self.storage = storage  # "dense", "csr", "csc", "coo"
        self.shape = shape  # of the whole matrix
        self.first = first  # of the rows that this process has
        self.rows = rows
        self.dtype = dtype
        self.index_bytes = index_bytes  # 8 if indices are of 64 bits
        self.like = like  # scipy's class
        self.vector = vector

    @property
    def dense(self):
        return self.storage == "dense"


def _dense_array(values):
    """A 2-d array whose rows or columns have no gaps: itself if possible."""
    size = values.itemsize
    m, n = values.shape
    row, col = values.strides
    if values.dtype.isnative and values.flags.aligned:
        if (col == size or n <= 1) and (row >= n * size or m <= 1) and row % size == 0:
            return values
        if (row == size or m <= 1) and (col >= m * size or n <= 1) and col % size == 0:
            return values
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))


def _index(array):
    array = np.ascontiguousarray(array)
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def describe(name, matrix, dtype=None):
    """The Matrix for an object of scipy.sparse, NumPy or torch, in that type (None: its own), which errors call `name`."""
    matrix = opened(matrix)
    if is_tensor(matrix):
        return _describe_torch(name, matrix, dtype)
    if hasattr(matrix, "format") and hasattr(matrix, "tocsr"):
        return _describe_scipy(name, matrix, dtype)
    values = in_type(name, on_host(name, matrix), dtype)
    vector = values.ndim == 1
    if vector:
        values = values[:, np.newaxis]
    if values.ndim != 2:
        raise ValueError(f"{name} is an array of {values.ndim} dimensions: no matrix")
    values = _dense_array(values)
    rows, n = values.shape
    m, first = part(rows)
    kind = namespace(matrix) or "numpy"
    return Matrix(_core.Array.dense(values, m, first, values), kind, "dense", (m, n), first, rows, values.dtype,
                  vector=vector)


def kind_of(X):
    return "torch" if is_tensor(X) else "scipy" if hasattr(X, "tocsr") else "numpy"


def like(values, X):
    """NumPy's values as torch's tensor if X is one, or as an array of X's namespace."""
    if is_tensor(X):
        return _as_torch(values)
    space = namespace(X)
    return values if space is None else in_namespace(values, space)


def _describe_scipy(name, matrix, dtype):
    like = type(matrix)
    if len(matrix.shape) != 2:
        raise ValueError(f"{name} is a sparse array of {len(matrix.shape)} dimensions: no matrix")
    if matrix.format != "csr" and (matrix.format not in ("csc", "coo") or current().size > 1):
        matrix = sound(name, matrix).tocsr()
        like = None if current().size > 1 else type(matrix)
    rows, n = matrix.shape
    m, first = part(rows)
    values = np.ascontiguousarray(in_type(name, matrix.data, dtype))
    if matrix.format == "coo":
        row, col = _index(matrix.row), _index(matrix.col)
        if row.dtype != col.dtype:
            row, col = row.astype(np.int64), col.astype(np.int64)
        array = _core.Array.entries(m, n, row, col, values, row, col, values)
        width = row.itemsize
    else:
        ptr, ind = _index(matrix.indptr), _index(matrix.indices)
        count = len(ptr) - 1
        lines, word = (n, "columns") if matrix.format == "csc" else (rows, "rows")
        if count != lines:
            raise ValueError(f"{name}.indptr has {count + 1} elements, and {name} {lines} {word}")
        last = int(ptr[-1])
        if not 0 <= last <= min(len(ind), len(values)):
            raise ValueError(f"{name}.indptr ends at {last}, but there are {min(len(ind), len(values))} entries")
        ind, values = ind[:last], values[:last]
        storage = _STORAGE.csr if matrix.format == "csr" else _STORAGE.csc
        array = _core.Array.compressed(storage, m, n, ptr, ind, values, first, ptr, ind, values)
        width = ind.itemsize
    return Matrix(array, "scipy", matrix.format, (m, n), first, rows, values.dtype, 8 if width == 8 else 0, like)


def _describe_torch(name, tensor, dtype):
    import torch

    if tensor.layout == torch.strided:
        inner = describe(name, on_host(name, tensor), dtype)
        inner.kind = "torch"
        return inner
    without_gradient(name, tensor)
    tensor = tensor.detach().cpu()
    if tensor.layout != torch.sparse_csr:
        tensor = tensor.to_sparse_csr()
    rows, n = tensor.shape
    m, first = part(rows)
    ptr, ind = _index(tensor.crow_indices().numpy()), _index(tensor.col_indices().numpy())
    values = np.ascontiguousarray(in_type(name, tensor_array(tensor.values()), dtype))
    array = _core.Array.compressed(_STORAGE.csr, m, n, ptr, ind, values, first, ptr, ind, values)
    return Matrix(array, "torch", "csr", (m, n), first, rows, values.dtype, 8 if ind.itemsize == 8 else 0)


def _ends(name, ends, what, most):
    """An error if indices that scipy's routines would follow are outside 0 .. most - 1: they do not look."""
    if len(ends) and not 0 <= int(ends.min()) <= int(ends.max()) < most:
        raise ValueError(f"{name} has {what} {int(ends.min())} to {int(ends.max())}, of {most}")


def sound(name, A):
    """A sparse matrix of scipy, whose routines may follow its pointers and indices; an error if these are none."""
    if A.format == "coo":
        _ends(name, A.row, "rows", A.shape[0])
        _ends(name, A.col, "columns", A.shape[1])
    if A.format not in ("csr", "csc", "bsr"):
        return A
    r, c = A.blocksize if A.format == "bsr" else (1, 1)
    lines, length = (A.shape[1], A.shape[0]) if A.format == "csc" else (A.shape[0] // r, A.shape[1] // c)
    words = ("column", "rows") if A.format == "csc" else ("row", "columns")
    ptr = np.asarray(A.indptr)
    if len(ptr) != lines + 1:
        raise ValueError(f"{name}.indptr has {len(ptr)} elements, and {name} {lines} {words[0]}s")
    descends = np.flatnonzero(ptr[1:] < ptr[:-1])
    if len(descends):
        raise ValueError(f"{name}: the {words[0]} pointers descend at {words[0]} {int(descends[0])}")
    if ptr[0] != 0 or ptr[-1] > min(len(A.indices), len(A.data)):
        raise ValueError(f"{name}.indptr is from {ptr[0]} to {ptr[-1]}, but there are "
                         f"{min(len(A.indices), len(A.data))} entries")
    _ends(name, A.indices[:ptr[-1]], words[1], length)
    return A


def canonical(A, name="the matrix"):
    """A sparse matrix of scipy as CSR with ascending columns and no duplicates; others as they are."""
    if not hasattr(A, "tocsr"):
        return A
    if A.shape[0] > np.iinfo(np.int32).max:
        raise MemoryError(f"{name} is {A.shape[0]} x {A.shape[1]}: here its row pointers would take "
                          f"{8 * A.shape[0] >> 30} GiB")
    A = sound(name, A).tocsr()
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    return A


def structure(A, name="A"):
    """Row pointers and columns of a sparse A, contiguous."""
    if kind_of(A) == "torch" and str(A.layout) != "torch.strided":
        A = A.detach().cpu().to_sparse_csr()
        return np.ascontiguousarray(A.crow_indices().numpy()), np.ascontiguousarray(A.col_indices().numpy())
    if not hasattr(A, "tocsr"):
        raise ValueError("a dense matrix has no structure: a sparse one is required")
    A = canonical(A, name)
    return np.ascontiguousarray(A.indptr), np.ascontiguousarray(A.indices)


def dense_result(result, kind, vector=False, transposed=False):
    """A dense result of _core as NumPy's or torch's, or of a namespace."""
    values = result[2]
    if transposed:
        values = values.T
    if vector:
        values = values.reshape(-1)
    if not isinstance(kind, str):
        return in_namespace(values, kind)
    return _as_torch(values) if kind == "torch" else values


def _as_torch(values):
    import torch

    return torch.from_numpy(values)


def sparse_result(result, kind, like=None):
    """A sparse result of _core as scipy's class `like` (default csr_array), or torch's."""
    storage, shape = result[0], result[1]
    values, first, second = result[2:]
    if kind == "torch":
        import torch

        return torch.sparse_csr_tensor(torch.from_numpy(second), torch.from_numpy(first), torch.from_numpy(values), shape)
    import scipy.sparse

    if storage == "coo":
        return (like or getattr(scipy.sparse, "coo_array", scipy.sparse.coo_matrix))((values, (first, second)), shape=shape)
    made = (like or _default_class(scipy.sparse))(shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values, first, second  # the constructor would narrow or copy them
    made.has_sorted_indices = True
    made.has_canonical_format = True
    return made


def _default_class(sparse):
    return getattr(sparse, "csr_array", sparse.csr_matrix)
