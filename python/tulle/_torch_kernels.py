# SPDX-License-Identifier: Apache-2.0
"""Products of plain CSR tensors on the host: one direct call of the library each, without a plan; and what rows.cpp does.

Row pointers and columns are of 32 or 64 bits. Columns need not ascend, and an entry may occur several times. Values
are computed with in float32 or float64. With several heads values are of shape (entries, heads), and dense factors of
(rows, heads, width); each head is a product of its own, in place.
"""
from __future__ import annotations

import numpy as np
import torch

from . import _core
from ._arrays import _dense_array
from ._team import alone, current

_CSR = _core.Storage.csr
_SLAB = 1 << 22  # scalar products of the rows that a sampled product makes at once


def _sparse(crow: torch.Tensor, col: torch.Tensor, values: torch.Tensor, cols: int) -> _core.Array:
    arrays = [tensor.detach().contiguous().numpy() for tensor in (crow, col, values)]
    return _core.Array.compressed(_CSR, crow.numel() - 1, cols, *arrays, 0, *arrays)


def _dense(X: torch.Tensor) -> _core.Array:
    values = _dense_array(X.detach().numpy())
    return _core.Array.dense(values, values.shape[0], 0, values)


def _by_heads(values: torch.Tensor) -> list[torch.Tensor]:
    """The values of each head, without gaps."""
    return [values] if values.ndim == 1 else list(values.t().contiguous())


def _head(X: torch.Tensor, head: int) -> torch.Tensor:
    return X if X.ndim == 2 else X[:, head]


def spmm(crow: torch.Tensor, col: torch.Tensor, values: torch.Tensor, B: torch.Tensor, cols: int, transpose: bool,
         t_crow: torch.Tensor | None, t_col: torch.Tensor | None, t_order: torch.Tensor | None,
         dtype: torch.dtype) -> torch.Tensor:
    alone("tulle.torch.spmm")
    values, B, rows = values.detach().to(dtype), B.detach().to(dtype), crow.numel() - 1
    if transpose and t_crow is not None and t_col is not None and t_order is not None:
        crow, col, values, rows, cols, transpose = t_crow, t_col, values.index_select(0, t_order), cols, rows, False
    C = B.new_empty((cols if transpose else rows, *B.shape[1:]))
    if B.numel() == 0 or C.numel() == 0 or values.numel() == 0:
        return C.zero_()
    for head, own in enumerate(_by_heads(values)):
        _core.multiply(current(), transpose, False, 1.0, _sparse(crow, col, own, cols), _dense(_head(B, head)), 0.0,
                       _dense(_head(C, head)), "", "")
    return C


def sddmm(crow: torch.Tensor, col: torch.Tensor, X: torch.Tensor, Y: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    alone("tulle.torch.sddmm")
    X, Y = X.detach().to(dtype), Y.detach().to(dtype)
    heads = X.shape[1:-1]
    if X.numel() == 0 or Y.numel() == 0:
        return X.new_zeros((col.numel(), *heads))
    values = X.new_empty((*heads, col.numel()))
    for head, own in enumerate(values if heads else [values]):
        x, y = _dense(_head(X, head)), _dense(_head(Y, head))
        if not _core.sddmm(current(), 1.0, x, y, _sparse(crow, col, own, Y.shape[0])):
            return _sddmm_unordered(crow, col, X, Y, dtype)
    return values.t().contiguous() if heads else values


def _sddmm_unordered(crow: torch.Tensor, col: torch.Tensor, X: torch.Tensor, Y: torch.Tensor,
                     dtype: torch.dtype) -> torch.Tensor:
    """At distinct entries in order, each of which is then read as often as it occurs."""
    keys = rows_of(crow, col.numel()) * Y.shape[0] + col
    distinct, place = torch.unique(keys, return_inverse=True)
    bounds = torch.arange(crow.numel()) * Y.shape[0]
    return sddmm(torch.searchsorted(distinct, bounds), distinct % Y.shape[0], X, Y, dtype).index_select(0, place)


def rows_of(crow: torch.Tensor, entries: int) -> torch.Tensor:
    """The row of each entry."""
    return torch.repeat_interleave(torch.arange(crow.numel() - 1), crow.diff().long(), output_size=entries)


def by_rows(row: torch.Tensor, col: torch.Tensor, rows: int, cols: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Entries in CSR: row pointers, columns, and the place that each had."""
    crow, sorted_col, order = _indices(rows + 1), _indices(col.numel()), _indices(col.numel())
    _core.by_rows(_wide(row), _wide(col), cols, crow.numpy(), sorted_col.numpy(), order.numpy())
    return crow, sorted_col, order


def transposed(crow: torch.Tensor, col: torch.Tensor, cols: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Row pointers and columns of the transpose, and which entry is where there."""
    t_crow, t_col, order = _indices(cols + 1), _indices(col.numel()), _indices(col.numel())
    _core.transposed(_wide(crow), _wide(col), t_crow.numpy(), t_col.numpy(), order.numpy())
    return t_crow.to(crow.dtype), t_col.to(col.dtype), order


def _indices(count: int) -> torch.Tensor:
    return torch.empty(count, dtype=torch.int64)


def _wide(index: torch.Tensor) -> np.ndarray:
    return index.detach().long().contiguous().numpy()


def spgemm(a_crow: torch.Tensor, a_col: torch.Tensor, a: torch.Tensor, b_crow: torch.Tensor, b_col: torch.Tensor,
           b: torch.Tensor, b_cols: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    alone("tulle.torch.spgemm")
    A = _sparse(a_crow, a_col, a.detach().to(dtype), b_crow.numel() - 1)
    B = _sparse(b_crow, b_col, b.detach().to(dtype), b_cols)
    result, _ = _core.multiply(current(), False, False, 1.0, A, B, 0.0, _core.wish(_CSR, False, 8, 0, 0), "", "")
    values, col, crow = (torch.from_numpy(array) for array in result[2:])
    if a_col.dtype == torch.int32 and max(b_cols, col.numel()) > torch.iinfo(torch.int32).max:
        raise OverflowError(f"the product has {col.numel()} entries and {b_cols} columns: pass indices of 64 bits")
    return crow.to(a_crow.dtype), col.to(a_col.dtype), values


def spgemm_sampled(m_crow: torch.Tensor, m_col: torch.Tensor, a_crow: torch.Tensor, a_col: torch.Tensor, a: torch.Tensor,
                   b_crow: torch.Tensor, b_col: torch.Tensor, b: torch.Tensor, b_cols: int,
                   dtype: torch.dtype) -> torch.Tensor:
    """A B at the entries of a mask. Whole rows are multiplied, in slabs of a bounded amount of work."""
    out = a.new_zeros(m_col.numel(), dtype=dtype)
    work = torch.zeros(a_col.numel() + 1, dtype=torch.int64)
    torch.cumsum(b_crow.diff().long()[a_col.long()], 0, out=work[1:])
    work, rows, first = work[a_crow.long()], a_crow.numel() - 1, 0
    while first < rows:
        last = int(torch.searchsorted(work, work[first] + _SLAB, right=True)) - 1
        last = min(max(last, first + 1), rows)
        entries, wanted = slice(int(a_crow[first]), int(a_crow[last])), slice(int(m_crow[first]), int(m_crow[last]))
        if wanted.stop > wanted.start and entries.stop > entries.start:
            crow, col, values = spgemm(a_crow[first:last + 1] - a_crow[first], a_col[entries], a[entries], b_crow, b_col,
                                       b, b_cols, dtype)
            made = rows_of(crow, col.numel()) * b_cols + col
            mask = m_crow[first:last + 1] - m_crow[first]
            keys = rows_of(mask, wanted.stop - wanted.start) * b_cols + m_col[wanted]
            if made.numel():
                place = torch.searchsorted(made, keys).clamp_(max=made.numel() - 1)
                out[wanted] = torch.where(made[place] == keys, values[place], 0)
        first = last
    return out


def extreme(crow: torch.Tensor, col: torch.Tensor, values: torch.Tensor, B: torch.Tensor, smallest: bool,
            dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest product of an entry and its row of B, for each row and column, and the first entry that has it, or -1."""
    values, B = (x.detach().to(dtype).contiguous() for x in (values, B))
    C = B.new_zeros((crow.numel() - 1, *B.shape[1:]))
    entry = torch.full(C.shape, -1, dtype=torch.int64)
    if B.numel() and C.numel():
        heads = 1 if values.ndim == 1 else values.shape[1]
        _core.extreme_of_rows(_wide(crow), _wide(col), values.numpy(), heads, B.flatten(1).numpy(), smallest, C.numpy(),
                              entry.numpy())
    return C, entry


def collect(values: torch.Tensor, crow: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """The sum of each row's values; order: where they are."""
    dtype = torch.float64 if values.dtype == torch.float64 else torch.float32
    own = values.detach().to(dtype).contiguous()
    out = own.new_zeros((crow.numel() - 1, *own.shape[1:]))
    if own.numel():
        _core.sum_of_rows(_wide(crow), _wide(_indices(0) if order is None else order), own.reshape(own.shape[0], -1).numpy(),
                          out.numpy())
    return out.to(values.dtype)


def softmax(crow: torch.Tensor, values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Exponentials of the differences from each row's largest value, over their sum."""
    values = values.detach().to(dtype).contiguous()
    out = torch.empty_like(values)
    if values.numel():
        _core.softmax_of_rows(_wide(crow), values.reshape(values.shape[0], -1).numpy(), out.numpy())
    return out
