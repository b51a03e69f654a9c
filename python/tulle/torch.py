# SPDX-License-Identifier: Apache-2.0
"""Sparse products that torch differentiates.

    C = tulle.torch.spmm(A, X)              # A: torch's sparse CSR, or a Graph with values=...
    S = tulle.torch.sddmm(A, X, Y)          # X Y^T at A's entries
    G, c = tulle.torch.spgemm(A, B)         # the structure and the values of a sparse product
    w = tulle.torch.softmax(graph, scores)  # over the entries of each row

These are operators of torch.library (torch.ops.tulle), for torch 2.4 and later. For any torch:

    A = tulle.torch.Sparse(adjacency)       # of scipy.sparse, or torch's sparse CSR
    Y = A @ X                               # gradient by X: A^T times that of Y
    Y = A.matmul(X, values)                 # also by A's values, at A's entries (SDDMM)

Its structure is planned once for each width of X; values may change from call to call.
"""
from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from . import _core
from ._arrays import canonical, describe
from ._team import Handle, alone, at_home
from ._values import type_of, without_gradient

_OPERATORS = ["Graph", "at_columns", "at_rows", "sddmm", "softmax", "spgemm", "spmm"]
_ORDERED = "row by row with ascending columns and no duplicates"
_MULTIPLIERS = 8  # that a Sparse keeps, for widths and transposes: the last used ones

if hasattr(torch.library, "register_autograd"):  # torch 2.4
    from ._torch_graph import Graph, at_columns, at_rows, sddmm, softmax, spgemm, spmm

    __all__ = ["Sparse", *_OPERATORS]
else:
    __all__ = ["Sparse"]


def __getattr__(name: str) -> Any:
    if name in _OPERATORS:
        raise ImportError(f"tulle.torch.{name} requires torch 2.4 or later, and this is {torch.__version__}: "
                          "tulle.torch.Sparse works with it")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Multiplier:
    """op(A) X for one width: a plan, X's place and the result's."""

    def __init__(self, sparse: Sparse, transposed: bool, width: int) -> None:
        rows, inner = sparse.shape[::-1] if transposed else sparse.shape
        self.x = np.zeros((inner, width), dtype=sparse.dtype)
        self.y = np.zeros((rows, width), dtype=sparse.dtype)
        self.plan = _core.Plan(sparse.matrix, transposed, _core.mat(sparse._team, describe("X", self.x).array), False,
                               describe("Y", self.y).array, False, "", "")

    def __call__(self, X: torch.Tensor) -> torch.Tensor:
        np.copyto(self.x, X.detach().numpy())
        self.plan.execute(1.0, 0.0)
        return torch.from_numpy(self.y.copy())


class _Product(torch.autograd.Function):
    """A X or A^T X."""

    @staticmethod
    def forward(ctx: Any, sparse: Sparse, values: torch.Tensor, X: torch.Tensor, transposed: bool) -> torch.Tensor:
        ctx.sparse, ctx.transposed = sparse, transposed
        ctx.save_for_backward(values, X)
        return sparse._multiply(values, X, transposed)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        values, X = ctx.saved_tensors
        sparse, transposed = ctx.sparse, ctx.transposed
        pair = (X, gradient) if transposed else (gradient, X)
        by_values = _InnerProducts.apply(sparse, *pair).to(values.dtype) if ctx.needs_input_grad[1] else None
        by_x = _Product.apply(sparse, values, gradient, not transposed) if ctx.needs_input_grad[2] else None
        return None, by_values, by_x, None


class _InnerProducts(torch.autograd.Function):
    """X Y^T at A's entries."""

    @staticmethod
    def forward(ctx: Any, sparse: Sparse, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
        ctx.sparse = sparse
        ctx.save_for_backward(X, Y)
        return sparse._inner_products(X, Y)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        X, Y = ctx.saved_tensors
        by_x = _Product.apply(ctx.sparse, gradient, Y, False) if ctx.needs_input_grad[1] else None
        by_y = _Product.apply(ctx.sparse, gradient, X, True) if ctx.needs_input_grad[2] else None
        return None, by_x, by_y


class Sparse(Handle):
    """A sparse matrix whose products torch differentiates by the dense factor and by its values."""

    def __init__(self, A: Any, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        if isinstance(A, torch.Tensor):
            without_gradient("A", A, "pass its entries as values to matmul, and A.detach() here")
            A = A.detach()
            A = A if A.layout == torch.sparse_csr else A.to_sparse_csr()
            pointers, columns, values = A.crow_indices().numpy(), A.col_indices().numpy(), A.values()
        else:
            A = canonical(A, "A")
            pointers, columns, values = A.indptr, A.indices, torch.from_numpy(np.array(A.data))
        kind = {np.dtype(np.float32): torch.float32, np.dtype(np.float64): torch.float64}[type_of("A", values)]
        values = values.to(kind if dtype is None else dtype)
        self.shape = tuple(A.shape)
        self.values = values
        alone("a product that torch differentiates")
        if self.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"A has {self.shape[1]} columns: more than numbers of 32 bits")
        # columns of 64 bits, which torch's are, would be narrowed for each product
        self._pointers, self._columns = np.array(pointers), np.array(columns, dtype=np.int32)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self._pointers))
        if not ((np.diff(self._columns) > 0) | (np.diff(rows) > 0)).all():
            raise ValueError(f"entries of a sparse tensor must be {_ORDERED}: A.coalesce().to_sparse_csr()")
        self._own = values.detach().numpy().copy()
        self.dtype = self._own.dtype
        self._array = self._describe(self._own)
        self.matrix = _core.mat(self._team, self._array)
        self._multipliers: OrderedDict[tuple[bool, int], _Multiplier] = OrderedDict()

    def __reduce__(self) -> Any:
        """Pickled as its arrays; what is read is made on the team of the reader."""
        return _unpickled, (self._pointers, self._columns, self.values.detach(), self.shape)

    def _describe(self, values: np.ndarray) -> _core.Array:
        return _core.Array.compressed(_core.Storage.csr, *self.shape, self._pointers, self._columns, values, 0,
                                      self._pointers, self._columns, values)

    def __matmul__(self, X: torch.Tensor) -> torch.Tensor:
        return self.matmul(X)

    def matmul(self, X: torch.Tensor, values: torch.Tensor | None = None) -> torch.Tensor:
        """A X; values: A's entries row by row, instead of those that it was made with."""
        values = self.values if values is None else values
        type_of("values", values), type_of("X", X)  # or an error
        if values.shape != self.values.shape:
            raise ValueError(f"{tuple(values.shape)} values for {len(self._own)} entries")
        if X.ndim != 2 or X.shape[0] != self.shape[1]:
            raise ValueError(f"X is of shape {tuple(X.shape)}, and A has {self.shape[1]} columns")
        return _Product.apply(self, values, X.to(self.values.dtype), False)

    @at_home
    def _multiply(self, values: torch.Tensor, X: torch.Tensor, transposed: bool) -> torch.Tensor:
        np.copyto(self._own, values.detach().numpy())
        key = transposed, X.shape[1]
        if key not in self._multipliers:
            self._multipliers[key] = _Multiplier(self, transposed, X.shape[1])
            if len(self._multipliers) > _MULTIPLIERS:
                self._multipliers.popitem(last=False)
        self._multipliers.move_to_end(key)
        return self._multipliers[key](X)

    @at_home
    def _inner_products(self, gradient: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        values = np.empty_like(self._own)
        dense = [np.ascontiguousarray(tensor.detach().numpy()) for tensor in (gradient, X)]
        x, y = (describe("a factor", array).array for array in dense)
        if not _core.sddmm(self._team, 1.0, x, y, self._describe(values)):
            raise ValueError(f"entries of a sparse tensor must be {_ORDERED}")
        return torch.from_numpy(values)


def _unpickled(pointers: np.ndarray, columns: np.ndarray, values: torch.Tensor, shape: tuple[int, int]) -> Sparse:
    index = (torch.from_numpy(array).long() for array in (pointers, columns))
    return Sparse(torch.sparse_csr_tensor(*index, values, shape))
