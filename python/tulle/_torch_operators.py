# SPDX-License-Identifier: Apache-2.0
"""Operators of torch.library over plain CSR tensors: schemas, shapes, gradients and batching rules.

Gradients are expressed by the operators, so that they have gradients themselves. t_crow, t_col and t_order, where they
are given, are the transpose's row pointers and columns, and the entry that each of its entries is: transposed products
are then plain ones.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _torch_kernels as kernels

_CSR = "Tensor crow, Tensor col, "
_REVERSE = "Tensor? t_crow=None, Tensor? t_col=None, Tensor? t_order=None"
library = torch.library.Library("tulle", "DEF")
operators = torch.ops.tulle


def computed(**operands: torch.Tensor) -> torch.dtype:
    """The type of a result: float64 if an operand is, else float32."""
    for name, operand in operands.items():
        if not operand.dtype.is_floating_point:
            raise TypeError(f"{name} is of {operand.dtype}: floating-point numbers are required, such as torch.float32")
    return torch.float64 if any(operand.dtype == torch.float64 for operand in operands.values()) else torch.float32


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _check_factors(heads: int, **factors: tuple[torch.Tensor, Any]) -> None:
    """Dense factors have the number of rows that a sparse matrix implies, and its heads."""
    for name, (factor, rows) in factors.items():
        _require(factor.ndim == 2 + (heads > 0) and factor.shape[0] == rows,
                 f"{name} is of shape {tuple(factor.shape)}: {rows} rows and {2 + (heads > 0)} dimensions are required")


def _check_entries(crow: torch.Tensor, col: torch.Tensor, **values: torch.Tensor) -> None:
    for name, index in (("crow", crow), ("col", col)):
        if index.dtype not in (torch.int32, torch.int64):
            raise TypeError(f"{name} is of {index.dtype}: torch.int32 or torch.int64 is required")
        _require(index.ndim == 1, f"{name} is of {index.ndim} dimensions: one is required")
    _require(crow.shape[0] > 0, "crow is empty: there is one more pointer than rows")
    for name, own in values.items():
        _require(own.ndim in (1, 2) and own.shape[0] == col.shape[0],
                 f"{name} is of shape {tuple(own.shape)}, and there are {col.shape[0]} entries")


def _define(name: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any],
            setup: Callable[..., None] | None = None, backward: Callable[..., Any] | None = None) -> None:
    library.define(f"{name}({schema}", tags=(torch.Tag.pt2_compliant_tag,))
    library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"tulle::{name}", fake, lib=library)
    if backward is not None:
        torch.library.register_autograd(f"tulle::{name}", backward, setup_context=setup, lib=library)


def _wanted(ctx: Any, number: int, make: Callable[[], torch.Tensor], like: torch.Tensor) -> torch.Tensor | None:
    """A gradient, if it is needed, in the type of its operand."""
    return make().to(like.dtype) if ctx.needs_input_grad[number] else None


# ---- structures ----

def _by_rows(row: Any, col: Any, rows: Any, cols: Any) -> Any:
    return kernels.by_rows(row, col, rows, cols)


def _by_rows_fake(row: Any, col: Any, rows: Any, cols: Any) -> Any:
    return tuple(col.new_empty(count, dtype=torch.int64) for count in (rows + 1, col.shape[0], col.shape[0]))


_define("by_rows", "Tensor row, Tensor col, SymInt rows, SymInt cols) -> (Tensor, Tensor, Tensor)", _by_rows, _by_rows_fake)


def _transposed(crow: Any, col: Any, cols: Any) -> Any:
    _check_entries(crow, col)
    return kernels.transposed(crow, col, cols)


def _transposed_fake(crow: Any, col: Any, cols: Any) -> Any:
    return crow.new_empty(cols + 1), col.new_empty(col.shape), col.new_empty(col.shape, dtype=torch.int64)


_define("transposed", _CSR + "SymInt cols) -> (Tensor, Tensor, Tensor)", _transposed, _transposed_fake)


# ---- C = A B, or A^T B ----

def _spmm_checked(crow: Any, col: Any, values: Any, B: Any, cols: Any, transpose: bool) -> torch.dtype:
    _check_entries(crow, col, values=values)
    _check_factors(values.ndim - 1, B=(B, crow.shape[0] - 1 if transpose else cols))
    _require(values.ndim == 1 or values.shape[1] == B.shape[1],
             f"values have {values.shape[-1]} heads, and B is of shape {tuple(B.shape)}")
    return computed(values=values, B=B)


def _spmm(crow: Any, col: Any, values: Any, B: Any, cols: Any, transpose: bool = False, t_crow: Any = None,
          t_col: Any = None, t_order: Any = None) -> torch.Tensor:
    dtype = _spmm_checked(crow, col, values, B, cols, transpose)
    return kernels.spmm(crow, col, values, B, cols, transpose, t_crow, t_col, t_order, dtype)


def _spmm_fake(crow: Any, col: Any, values: Any, B: Any, cols: Any, transpose: bool = False, t_crow: Any = None,
               t_col: Any = None, t_order: Any = None) -> torch.Tensor:
    dtype = _spmm_checked(crow, col, values, B, cols, transpose)
    return B.new_empty((cols if transpose else crow.shape[0] - 1, *B.shape[1:]), dtype=dtype)


def _spmm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    crow, col, values, B, ctx.cols, ctx.transpose, *reverse = inputs
    ctx.save_for_backward(crow, col, values, B, *reverse)


def _spmm_backward(ctx: Any, gradient: torch.Tensor) -> Any:
    crow, col, values, B, *reverse = ctx.saved_tensors
    pair = (B, gradient) if ctx.transpose else (gradient, B)
    by_values = _wanted(ctx, 2, lambda: operators.sddmm(crow, col, *pair, *reverse), values)
    by_B = _wanted(ctx, 3, lambda: operators.spmm(crow, col, values, gradient, ctx.cols, not ctx.transpose, *reverse), B)
    return None, None, by_values, by_B, None, None, None, None, None


_define("spmm", _CSR + f"Tensor values, Tensor B, SymInt cols, bool transpose=False, {_REVERSE}) -> Tensor", _spmm,
        _spmm_fake, _spmm_setup, _spmm_backward)


# ---- X Y^T at the entries of a sparse matrix ----

def _sddmm_checked(crow: Any, col: Any, X: Any, Y: Any) -> torch.dtype:
    _check_entries(crow, col)
    _check_factors(X.ndim - 2, X=(X, crow.shape[0] - 1), Y=(Y, Y.shape[0]))
    _require(X.shape[1:] == Y.shape[1:], f"X and Y are of shapes {tuple(X.shape)} and {tuple(Y.shape)}: they differ in "
                                         "more than rows")
    return computed(X=X, Y=Y)


def _sddmm(crow: Any, col: Any, X: Any, Y: Any, t_crow: Any = None, t_col: Any = None,
           t_order: Any = None) -> torch.Tensor:
    return kernels.sddmm(crow, col, X, Y, _sddmm_checked(crow, col, X, Y))


def _sddmm_fake(crow: Any, col: Any, X: Any, Y: Any, t_crow: Any = None, t_col: Any = None,
                t_order: Any = None) -> torch.Tensor:
    return X.new_empty((col.shape[0], *X.shape[1:-1]), dtype=_sddmm_checked(crow, col, X, Y))


def _sddmm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _sddmm_backward(ctx: Any, gradient: torch.Tensor) -> Any:
    crow, col, X, Y, *reverse = ctx.saved_tensors
    cols = Y.shape[0]
    by_X = _wanted(ctx, 2, lambda: operators.spmm(crow, col, gradient, Y, cols, False, *reverse), X)
    by_Y = _wanted(ctx, 3, lambda: operators.spmm(crow, col, gradient, X, cols, True, *reverse), Y)
    return None, None, by_X, by_Y, None, None, None


_define("sddmm", _CSR + f"Tensor X, Tensor Y, {_REVERSE}) -> Tensor", _sddmm, _sddmm_fake, _sddmm_setup, _sddmm_backward)


# ---- C = A B of two sparse matrices, and A B at the entries of a third ----

def _spgemm_checked(a_crow: Any, a_col: Any, a: Any, b_crow: Any, b_col: Any, b: Any) -> torch.dtype:
    _check_entries(a_crow, a_col, a=a)
    _check_entries(b_crow, b_col, b=b)
    _require(a.ndim == 1 and b.ndim == 1, "products of sparse matrices are of one head")
    return computed(a=a, b=b)


def _spgemm(a_crow: Any, a_col: Any, a: Any, b_crow: Any, b_col: Any, b: Any, b_cols: Any) -> Any:
    dtype = _spgemm_checked(a_crow, a_col, a, b_crow, b_col, b)
    crow, col, values = kernels.spgemm(a_crow, a_col, a, b_crow, b_col, b, b_cols, dtype)
    return values, crow, col


def _spgemm_fake(a_crow: Any, a_col: Any, a: Any, b_crow: Any, b_col: Any, b: Any, b_cols: Any) -> Any:
    dtype = _spgemm_checked(a_crow, a_col, a, b_crow, b_col, b)
    entries = torch.library.get_ctx().new_dynamic_size()
    return a.new_empty(entries, dtype=dtype), a_crow.new_empty(a_crow.shape), a_col.new_empty(entries)


def _spgemm_setup(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.b_cols = inputs
    ctx.save_for_backward(*tensors, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _spgemm_backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> Any:
    a_crow, a_col, a, b_crow, b_col, b, c_crow, c_col = ctx.saved_tensors
    both = _by_factors(ctx, (c_crow, c_col), gradient, (a_crow, a_col, a), (b_crow, b_col, b), (2, 5), ctx.b_cols)
    return None, None, both[0], None, None, both[1], None


def _by_factors(ctx: Any, C: Any, gradient: torch.Tensor, A: Any, B: Any, numbers: tuple[int, int], cols: Any) -> Any:
    """Gradients of A B, whose own is given at C's entries: C's times B^T at A's, A^T times C's at B's."""
    inner = B[0].shape[0] - 1
    sampled = operators.spgemm_sampled
    return (_wanted(ctx, numbers[0], lambda: sampled(*A[:2], *C, gradient, *_reversed(B, cols), inner), A[2]),
            _wanted(ctx, numbers[1], lambda: sampled(*B[:2], *_reversed(A, inner), *C, gradient, cols), B[2]))


def _reversed(matrix: Any, cols: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    crow, col, values = matrix
    t_crow, t_col, order = operators.transposed(crow, col, cols)
    return t_crow, t_col, values.index_select(0, order)


_define("spgemm", "Tensor a_crow, Tensor a_col, Tensor a, Tensor b_crow, Tensor b_col, Tensor b, SymInt b_cols) -> "
        "(Tensor, Tensor, Tensor)", _spgemm, _spgemm_fake, _spgemm_setup, _spgemm_backward)


def _sampled(crow: Any, col: Any, a_crow: Any, a_col: Any, a: Any, b_crow: Any, b_col: Any, b: Any,
             b_cols: Any) -> torch.Tensor:
    _check_entries(crow, col)
    dtype = _spgemm_checked(a_crow, a_col, a, b_crow, b_col, b)
    return kernels.spgemm_sampled(crow, col, a_crow, a_col, a, b_crow, b_col, b, b_cols, dtype)


def _sampled_fake(crow: Any, col: Any, a_crow: Any, a_col: Any, a: Any, b_crow: Any, b_col: Any, b: Any,
                  b_cols: Any) -> torch.Tensor:
    return a.new_empty(col.shape[0], dtype=_spgemm_checked(a_crow, a_col, a, b_crow, b_col, b))


def _sampled_setup(ctx: Any, inputs: Any, output: Any) -> None:
    *tensors, ctx.b_cols = inputs
    ctx.save_for_backward(*tensors)


def _sampled_backward(ctx: Any, gradient: torch.Tensor) -> Any:
    crow, col, a_crow, a_col, a, b_crow, b_col, b = ctx.saved_tensors
    both = _by_factors(ctx, (crow, col), gradient, (a_crow, a_col, a), (b_crow, b_col, b), (4, 7), ctx.b_cols)
    return None, None, None, None, both[0], None, None, both[1], None


_define("spgemm_sampled", _CSR + "Tensor a_crow, Tensor a_col, Tensor a, Tensor b_crow, Tensor b_col, Tensor b, "
        "SymInt b_cols) -> Tensor", _sampled, _sampled_fake, _sampled_setup, _sampled_backward)


# ---- the largest or smallest product of each row ----

def _extreme_checked(crow: Any, col: Any, values: Any, B: Any) -> torch.dtype:
    _check_entries(crow, col, values=values)
    _require(B.ndim == values.ndim + 1 and (values.ndim == 1 or values.shape[1] == B.shape[1]),
             f"values are of shape {tuple(values.shape)}, and B of {tuple(B.shape)}")
    return computed(values=values, B=B)


def _extreme(crow: Any, col: Any, values: Any, B: Any, smallest: bool) -> Any:
    return kernels.extreme(crow, col, values, B, smallest, _extreme_checked(crow, col, values, B))


def _extreme_fake(crow: Any, col: Any, values: Any, B: Any, smallest: bool) -> Any:
    shape = (crow.shape[0] - 1, *B.shape[1:])
    dtype = _extreme_checked(crow, col, values, B)
    return B.new_empty(shape, dtype=dtype), B.new_empty(shape, dtype=torch.int64)


def _extreme_setup(ctx: Any, inputs: Any, output: Any) -> None:
    crow, col, values, B, _ = inputs
    ctx.save_for_backward(col, values, B, output[1])
    ctx.mark_non_differentiable(output[1])


def _extreme_backward(ctx: Any, gradient: torch.Tensor, _: Any) -> Any:
    """To the entry that each element is of, and to its row of B."""
    col, values, B, entry = ctx.saved_tensors
    found, entry = entry >= 0, entry.clamp(min=0)
    if col.shape[0] == 0:
        return None, None, torch.zeros_like(values), torch.zeros_like(B), None
    gradient = torch.where(found, gradient, 0)
    row = col.long()[entry]

    def by_values() -> torch.Tensor:
        shares = gradient * B.gather(0, row)
        index, flat = (part.movedim(-1, 1).reshape(-1, *values.shape[1:]) for part in (entry, shares))
        return torch.zeros_like(values, dtype=flat.dtype).scatter_add(0, index, flat)

    def by_B() -> torch.Tensor:
        """By numbers of elements: in one dimension torch adds several times as fast."""
        width = B[0].numel()
        element = row * width + torch.arange(width).reshape(B.shape[1:])
        shares = (gradient * _entry_values(values, entry)).reshape(-1)
        return torch.zeros(B.numel(), dtype=shares.dtype).scatter_add(0, element.reshape(-1), shares).reshape(B.shape)

    return None, None, _wanted(ctx, 2, by_values, values), _wanted(ctx, 3, by_B, B), None


def _entry_values(values: torch.Tensor, entry: torch.Tensor) -> torch.Tensor:
    """The values of these entries, of their own heads."""
    if values.ndim == 1:
        return values[entry]
    flat = entry.movedim(-1, 1).reshape(-1, values.shape[1])  # rows and columns together, heads beside them
    return values.gather(0, flat).reshape(entry.shape[0], entry.shape[-1], -1).movedim(1, -1)


_define("extreme", _CSR + "Tensor values, Tensor B, bool smallest) -> (Tensor, Tensor)", _extreme, _extreme_fake,
        _extreme_setup, _extreme_backward)


# ---- values of rows at their entries, sums of entries by rows, softmax of each row's entries ----

def _spread(x: Any, index: Any, crow: Any, order: Any = None) -> torch.Tensor:
    return x.detach().index_select(0, index)


def _spread_fake(x: Any, index: Any, crow: Any, order: Any = None) -> torch.Tensor:
    return x.new_empty((index.shape[0], *x.shape[1:]))


def _groups_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[1:])


_define("spread", "Tensor x, Tensor index, Tensor crow, Tensor? order=None) -> Tensor", _spread, _spread_fake, _groups_setup,
        lambda ctx, gradient: (operators.collect(gradient, *ctx.saved_tensors), None, None, None))


def _collect(values: Any, index: Any, crow: Any, order: Any = None) -> torch.Tensor:
    return kernels.collect(values, crow, order)


def _collect_fake(values: Any, index: Any, crow: Any, order: Any = None) -> torch.Tensor:
    return values.new_empty((crow.shape[0] - 1, *values.shape[1:]))


_define("collect", "Tensor values, Tensor index, Tensor crow, Tensor? order=None) -> Tensor", _collect, _collect_fake,
        _groups_setup, lambda ctx, gradient: (operators.spread(gradient, *ctx.saved_tensors), None, None, None))


def _softmax(crow: Any, values: Any) -> torch.Tensor:
    return kernels.softmax(crow, values, computed(values=values))


def _softmax_fake(crow: Any, values: Any) -> torch.Tensor:
    return values.new_empty(values.shape, dtype=computed(values=values))


def _softmax_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.dtype = inputs[1].dtype
    ctx.save_for_backward(inputs[0], output)


def _softmax_backward(ctx: Any, gradient: torch.Tensor) -> Any:
    crow, shares = ctx.saved_tensors
    rows, weighted = kernels.rows_of(crow, shares.shape[0]), shares * gradient
    sums = operators.spread(operators.collect(weighted, rows, crow), rows, crow)
    return None, (weighted - shares * sums).to(ctx.dtype)


_define("softmax", "Tensor crow, Tensor values) -> Tensor", _softmax, _softmax_fake, _softmax_setup, _softmax_backward)
