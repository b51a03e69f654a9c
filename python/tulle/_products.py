# SPDX-License-Identifier: Apache-2.0
"""Products: C = alpha A B, in one call or by a plan."""
import copy

import numpy as np

from . import _core
from ._arrays import canonical, dense_result, describe, is_hypersparse, kind_of, sound, sparse_result, structure
from ._binsparse import opened
from ._report import keep, named_types, reporting
from ._team import last as _last
from ._team import Handle, alone, at_home, current
from ._values import common_type, in_type, namespace, on_host, real, without_gradient

_STORAGE = _core.Storage
_COMPRESSED, _SPARSE = ("csr", "csc"), ("csr", "csc", "coo")


class _Operands:
    """What the library multiplies for A B, and how the result is converted.

    A dense A with a sparse B is (B^T A^T)^T: a dense matrix is its transpose's in the other order.
    """

    def __init__(self, A, B):
        dtype = common_type(A=A, B=B)
        a = describe("A", A, dtype)
        b = a if B is A else describe("B", B, dtype)
        if a.vector:  # a row times a matrix
            alone("a vector times a matrix")
            kind = a.kind
            a = describe("A", on_host("A", A)[np.newaxis, :], dtype)
            a.kind, a.vector = kind, True
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"A is {a.shape[0]} x {a.shape[1]} and B is {b.shape[0]} x {b.shape[1]}: "
                             f"{a.shape[1]} columns and {b.shape[0]} rows do not match")
        self.a, self.b = a, b
        self.shape = (a.shape[0], b.shape[1])
        self.dtype = dtype
        self.sparse = not a.dense and not b.dense
        self.swapped = a.dense and not b.dense
        if self.swapped:
            alone("a dense matrix times a sparse one")
        self.own = (0, 0) if self.swapped else (a.first, a.rows)  # rows of the result here
        self.kind = b.kind if a.kind == "scipy" else a.kind
        self.first = b if self.swapped else a
        if self.swapped:
            self.second = describe("A", _transposed(A), dtype)
        else:
            self.second = b
        self.storage = "dense"
        if self.sparse:
            self.storage = "coo" if is_hypersparse(self.shape) else a.storage if a.kind == "scipy" else "csr"

    def wish(self):
        """The description that asks for the result."""
        width = max(self.a.index_bytes, self.b.index_bytes)
        return _core.wish(getattr(_STORAGE, self.storage), self.swapped, width, *self.own)

    def convert(self, result):
        if self.sparse:
            return sparse_result(result, self.a.kind, self.a.like if self.storage == self.a.storage else None)
        vector = self.a.vector or self.b.vector
        return dense_result(result, self.kind, vector, self.swapped)


# attributes of a matrix of scipy that is made of arrays, in those versions where a copy may replace the constructor
_OF_SCIPY = {"_shape", "maxprint", "indices", "indptr", "data", "_has_canonical_format", "_has_sorted_indices"}


def _like(A, result, by_columns):
    """A sparse result in A's class. A copy of A, where that has its shape, is made in a fifth of the constructor's time."""
    shape = result[1][::-1] if by_columns else result[1]
    if shape != A.shape or not A.__dict__.keys() <= _OF_SCIPY:
        return sparse_result((A.format, shape, *result[2:]), "scipy", type(A))
    made = copy.copy(A)
    made.data, made.indices, made.indptr = result[2:]
    made.has_sorted_indices = made.has_canonical_format = True
    return made


def _in_format(name, X, format):
    """A sparse X of scipy in that format, by scipy; None: its pointers would be many more than its entries."""
    if X.format == format:
        return X
    if len(X.shape) != 2 or is_hypersparse(X.shape) or X.shape[format == "csc"] > 16 * X.nnz + 65536:
        return None
    return sound(name, X).asformat(format)


def _of_one_format(team, A, B, alpha):
    """The product of matrices in CSR, CSC or COO as two in CSR, or two in CSC if A is, in A's format; None: as above."""
    format = "csc" if A.format == "csc" else "csr"
    left, right = _in_format("A", A, format), _in_format("B", B, format)
    made = None if left is None or right is None else _core.csr_times_csr(team, left, right, alpha, format == "csc")
    return made and _like(left, made, format == "csc").asformat(A.format)


def _as_they_lie(team, A, B, alpha, call="matmul"):
    """The product of matrices of scipy or arrays that are read where they lie; None: it is for others."""
    left, right = type(A) is np.ndarray or getattr(A, "format", None), type(B) is np.ndarray or getattr(B, "format", None)
    if right is True:
        if left is True:
            made = _core.dense_times_dense(team, A, B, alpha)
        elif left in _COMPRESSED:
            made = _core.sparse_times_dense(team, A, B, alpha, left == "csc", False)
        else:
            return None
    elif right not in _SPARSE:
        return None
    elif left is True:
        if right == "coo":
            return None
        made = _core.sparse_times_dense(team, B, A, alpha, right == "csc", True)
    elif left == right != "coo":
        made = _core.csr_times_csr(team, A, B, alpha, left == "csc")
        made = made and _like(A, made, left == "csc")
    elif team.size == 1 and left in _SPARSE:
        made = _of_one_format(team, A, B, alpha)
    else:
        return None
    if made is not None:
        _last.report = call, _core.direct_report  # made if it is asked for
    return made


@reporting
def matmul(A, B, *, alpha=1.0, algorithm=None, device=None):
    """C = alpha A B for matrices of scipy.sparse, NumPy or torch, sparse or dense.

    The result is of the kind, type and index type of its operands: sparse of two sparse ones, in
    A's class of CSR, CSC or COO, else in CSR; otherwise dense, and a vector if A or B is one.
    algorithm: "auto", or a name as in `tulle spmm --help`. device: a device's spec, such as
    "cuda:0". `report()` tells what was done.
    """
    if algorithm is None and device is None:
        made = _as_they_lie(current(), A, B, alpha)
        if made is not None:
            return made
    x = _Operands(A, B)
    result, figures = _core.multiply(current(), x.swapped, False, alpha, x.first.array, x.second.array, 0.0, x.wish(),
                                     algorithm or "", device or "")
    keep("matmul", figures)
    return x.convert(result)


@reporting
def gemm(A, B, *, alpha=1.0, algorithm=None, device=None):
    """C = alpha A B for two dense matrices."""
    for name, matrix in (("A", A), ("B", B)):
        if hasattr(matrix, "tocsr") or getattr(matrix, "is_sparse_csr", False):
            raise ValueError(f"gemm multiplies dense matrices, and {name} is sparse: matmul multiplies both")
    return matmul(A, B, alpha=alpha, algorithm=algorithm, device=device)


class Plan(Handle):
    """A product that is planned once: see matmul_plan. A pickle of it has the arrays of A and B, with the last values."""

    def __init__(self, A, B, algorithm, device):
        super().__init__()
        dtype, same, spaces = common_type(A=A, B=B), B is A, [space for space in map(namespace, (A, B)) if space]
        A, B = opened(A), opened(B)
        self._format = getattr(A, "format", "") if kind_of(A) == "scipy" else ""
        A = _own("A", A, dtype)
        B = A if same else _own("B", B, dtype)
        self._operands = _Operands(A, B)
        if spaces and self._operands.kind == "numpy":
            self._operands.kind = spaces[0]
        self._made_from = A, B, algorithm, device, self._format
        self._how = algorithm or "", device or ""
        x = self._operands
        self._direct = not x.sparse and x.kind == "numpy" and algorithm is None and device is None and current().size == 1
        self._make()
        self.shape, self.dtype = self._operands.shape, dtype

    def _make(self):
        x = self._operands
        first = _core.mat(self._team, x.first.array)
        second = first if x.second is x.first else _core.mat(self._team, x.second.array)
        self._shares = _core.shares(first, x.first.array) and _core.shares(second, x.second.array)
        self._plan = _core.Plan(first, x.swapped, second, False, None, x.swapped, *self._how)

    @named_types
    def __call__(self, A=None, B=None, *, alpha=1.0):
        """The product of A and B, of the plan's structure; None: the values of the call before."""
        C = self._multiply_direct(alpha) if A is None and B is None else None
        return self._multiply(A, B, alpha) if C is None else C

    def _multiply_direct(self, alpha):
        """The same into a new array, which the plan's result would be copied to; None: it is for the plan."""
        return _as_they_lie(self._team, *self._made_from[:2], alpha, "matmul_plan") if self._direct else None

    @at_home
    def _multiply(self, A, B, alpha):
        x = self._operands
        if x.a is x.b and A is not None and B is not None and A is not B:
            raise ValueError("the plan is for the square of one matrix: make it with two")
        changed = [self._update(name, given, old) for name, given, old in self._given(A, B) if given is not None]
        C = self._multiply_direct(alpha)
        if C is not None:
            return C
        if (changed or self._direct) and not self._shares:
            self._make()  # the matrices have copies of the arrays
        self._direct = False
        figures = self._plan.execute(alpha, 0.0)
        keep("matmul_plan", figures)
        storage = _STORAGE.csr if x.sparse else _STORAGE.dense
        out = _core.arrays(self._plan.result, storage, x.swapped, max(x.a.index_bytes, x.b.index_bytes), *x.own)
        C = x.convert(out)
        return C.asformat(self._format) if x.sparse and self._format in ("csc", "coo") else C

    def _given(self, A, B):
        x = self._operands
        yield "A", A if A is None or not x.swapped else _transposed(A), x.second if x.swapped else x.first
        yield "B", B, x.first if x.swapped else x.second

    def _update(self, name, given, old):
        """Copies new values into the arrays of the plan."""
        if not self._copies(name, given, old) and not (
                hasattr(given, "tocsr") and self._copies(name, _of_width(canonical(given, name), old.index_bytes), old)):
            raise ValueError(f"{name} does not have the shape and structure that the plan was made for")
        return name

    def _copies(self, name, given, old):
        """Values are copied where the structure is the plan's, which is in order: else False."""
        new = describe(name, given, self.dtype)
        return new.shape == old.shape and new.storage == old.storage and old.array.copy_values(new.array)

    def __reduce__(self):
        alone("a pickle of a Plan")
        return _planned, self._made_from

    @at_home
    def __repr__(self):
        return f"<tulle.Plan: {self._plan.describe()}>"


def _planned(A, B, algorithm, device, format):
    plan = Plan(A, B, algorithm, device)
    plan._format, plan._made_from = format, (*plan._made_from[:-1], format)
    return plan


def _own(name, A, dtype):
    """A copy in that type whose values may be overwritten."""
    if hasattr(A, "tocsr"):
        A = canonical(A, name)
        own = A.astype(dtype, copy=True)
        own.indices, own.indptr = A.indices.copy(), A.indptr.copy()  # scipy's copy may have narrowed them
        return own
    if hasattr(A, "detach"):
        without_gradient(name, A)
        import torch

        A = A.detach().cpu()
        A = A if A.layout in (torch.strided, torch.sparse_csr) else A.to_sparse_csr()
        return A.to(getattr(torch, dtype.name), copy=True)
    return np.array(in_type(name, on_host(name, A), dtype), order="K")


def _of_width(A, index_bytes):
    """A sparse A of scipy with indices of so many bytes, 0: of 4. scipy narrows those of a result."""
    width = np.int64 if index_bytes == 8 else np.int32
    if not hasattr(A, "indices") or A.indices.dtype == A.indptr.dtype == width:
        return A
    made = copy.copy(A)
    made.indices, made.indptr = A.indices.astype(width), A.indptr.astype(width)
    return made


def _transposed(A):
    return np.atleast_2d(on_host("A", A)).T


def matmul_plan(A, B, *, algorithm=None, device=None):
    """A plan for products with A's and B's structure: C = plan(A, B).

    Where the values change and the structure stays, no symbolic work is repeated. The plan keeps
    copies of the values.
    """
    return Plan(A, B, algorithm, device)


@reporting
def sddmm(S, X, Y, *, alpha=1.0):
    """alpha X Y^T at the entries of a sparse S, whose values are not read: a matrix of S's class.

    X has a row for each row of S, and Y one for each of its columns.
    """
    alone("sddmm")
    S = opened(S)
    dtype = common_type(X=X, Y=Y)
    pointers, columns = structure(S, "S")
    values, narrow = np.zeros(len(columns), dtype), columns.astype(np.int32, copy=False)
    array = _core.Array.compressed(_STORAGE.csr, *S.shape, pointers, narrow, values, 0, pointers, narrow, values)
    x, y = (describe(name, np.ascontiguousarray(real(name, factor, dtype))) for name, factor in (("X", X), ("Y", Y)))
    if not _core.sddmm(current(), alpha, x.array, y.array, array):
        raise ValueError("entries of S must be row by row with ascending columns and no duplicates")
    keep("sddmm", {"flops": 2 * len(values) * x.shape[1]})
    result = "csr", tuple(S.shape), values, columns.copy(), pointers.copy()
    if kind_of(S) == "torch":
        return sparse_result(result, "torch")
    return sparse_result(result, "scipy", type(S.tocsr())).asformat(S.format)
