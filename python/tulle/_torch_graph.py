# SPDX-License-Identifier: Apache-2.0
"""Structures of sparse matrices for torch, and calls of the operators with them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _torch_batching, _torch_operators
from ._torch_kernels import rows_of
from ._torch_operators import operators

_torch_batching.register(_torch_operators.library)


class Graph:
    """The structure of a sparse matrix: row pointers and columns. Values are passed to each call.

    order: the place of each entry among what the graph was made from; None: the same. A row of the adjacency matrix of
    a graph is a node that edges point to, and its columns are where they come from. The transpose's structure is made
    once, by the first call that needs it.
    """

    def __init__(self, crow: torch.Tensor, col: torch.Tensor, cols: int, order: torch.Tensor | None = None) -> None:
        if crow.is_cuda or col.is_cuda:
            raise ValueError("the structure of a matrix on a GPU: tulle.torch computes on the host")
        self.crow, self.col, self.order = crow, col, order
        self.shape = crow.shape[0] - 1, int(cols)
        self._made: dict[Any, Any] = {}

    def made(self, name: Any, make: Callable[[], Any]) -> Any:
        """Keeps what follows from the structure alone, made by the first call that needs it; gradients may use it even if
        that call is in inference mode."""
        if name not in self._made:
            if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
                self._made[name] = make()
            else:
                with torch.inference_mode(False):
                    self._made[name] = make()
        return self._made[name]

    @classmethod
    def from_edge_index(cls, edge_index: torch.Tensor, shape: int | tuple[int, int] | None = None) -> Graph:
        """The graph of edges from edge_index[0] to edge_index[1], as PyG has them; shape: nodes, or (targets, sources)."""
        source, target = edge_index.as_subclass(torch.Tensor)
        if shape is None:
            shape = int(edge_index.max()) + 1 if edge_index.numel() else 0
        rows, cols = (shape, shape) if isinstance(shape, int) else shape
        crow, col, order = operators.by_rows(target, source, rows, cols)
        return cls(crow, col, cols, order)

    @classmethod
    def from_tensor(cls, A: torch.Tensor) -> Graph:
        """The structure of a sparse tensor in CSR."""
        if A.layout != torch.sparse_csr or A.ndim != 2:
            raise ValueError(f"a matrix in torch.sparse_csr is required, and this is in {A.layout}: A.to_sparse_csr()")
        return cls(A.crow_indices().detach(), A.col_indices().detach(), A.shape[1])

    @property
    def entries(self) -> int:
        return self.col.shape[0]

    @property
    def rows(self) -> torch.Tensor:
        """The row of each entry."""
        return self.made("rows", lambda: rows_of(self.crow, self.entries))

    @property
    def reverse(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The transpose's row pointers and columns, and the entry that each of its entries is."""
        return self.made("reverse", lambda: operators.transposed(self.crow, self.col, self.shape[1]))

    @property
    def T(self) -> Graph:
        """The transpose, whose order is that of this one's entries."""
        crow, col, order = self.reverse
        return Graph(crow, col, self.shape[0], order)

    @property
    def edge_index(self) -> torch.Tensor:
        """Sources and targets, entry by entry."""
        return torch.stack((self.col.long(), self.rows))

    @property
    def degrees(self) -> torch.Tensor:
        """Numbers of entries of rows."""
        return self.crow.diff()

    def permuted(self, values: torch.Tensor) -> torch.Tensor:
        """Values of what the graph was made from, such as edges, in the order of its entries."""
        return values if self.order is None else values.index_select(0, self.order)

    def tensor(self, values: torch.Tensor) -> torch.Tensor:
        """The sparse tensor with these values."""
        return torch.sparse_csr_tensor(self.crow, self.col, values, self.shape)

    def with_loops(self) -> Graph:
        """With an entry on each element of the diagonal instead of those there are; made once. The places in `order` of
        new ones begin at the number of this graph's entries, by nodes.
        """
        return self.made("loops", self._with_loops)

    def _with_loops(self) -> Graph:
        nodes = torch.arange(min(self.shape))
        kept = (self.rows != self.col).nonzero()[:, 0]
        edges = torch.cat((self.edge_index[:, kept], nodes.expand(2, -1)), 1)
        looped = Graph.from_edge_index(edges, self.shape)
        looped.order = torch.cat((kept, self.entries + nodes))[looped.order]
        return looped

    def __repr__(self) -> str:
        return f"<tulle.torch.Graph: {self.shape[0]} x {self.shape[1]}, {self.entries} entries>"


def _graph(A: Any) -> Graph:
    return A if isinstance(A, Graph) else Graph.from_tensor(A)


def _structure(A: Graph, *operands: torch.Tensor) -> tuple[Any, ...]:
    """The transpose's structure if a gradient needs it."""
    if torch.is_grad_enabled() and any(operand.requires_grad for operand in operands):
        return A.reverse
    return A._made.get("reverse", (None, None, None))


def _values(A: Any, values: torch.Tensor | None, like: torch.Tensor | None) -> torch.Tensor:
    """Values that are given, those of a sparse tensor, or ones."""
    if values is not None:
        return values
    if not isinstance(A, Graph):
        return A.values()
    return torch.ones(A.entries, dtype=None if like is None else like.dtype)


def spmm(A: Any, B: torch.Tensor, values: torch.Tensor | None = None, *, reduce: str = "sum",
         transpose: bool = False) -> torch.Tensor:
    """A B, or A^T B: for each row the sum, mean, max or min of its values times their rows of B.

    A is a Graph or a sparse tensor in CSR; values: its entries', (entries,) or, of several heads, (entries, heads); None:
    the tensor's, or ones. B is (columns,), (columns, ...) or (columns, heads, ...). Rows without entries are 0. The
    gradient of max and min goes to the first entry that has it.
    """
    graph = _graph(A)
    values = _values(A, values, B)
    if transpose and reduce != "sum":
        return spmm(graph.T, B, values.index_select(0, graph.reverse[2]), reduce=reduce)
    if reduce not in ("sum", "mean", "max", "min"):
        raise ValueError(f"reduce is {reduce!r}: sum, mean, max and min are known")
    leading = values.ndim
    if B.ndim < leading:
        raise ValueError(f"B is of shape {tuple(B.shape)}, and there are {values.shape[1]} heads: one of (rows, heads, ...) "
                         "is required")
    folded = B.unsqueeze(-1) if B.ndim == leading else B.flatten(leading) if B.ndim > leading + 1 else B
    if reduce in ("max", "min"):
        C = operators.extreme(graph.crow, graph.col, values, folded, reduce == "min")[0]
    else:
        C = operators.spmm(graph.crow, graph.col, values, folded, graph.shape[1], transpose,
                           *_structure(graph, values, B))
    C = C.reshape(C.shape[0], *B.shape[1:])
    if reduce == "mean":
        C = C / graph.degrees.clamp(min=1).to(C.dtype).reshape(-1, *([1] * (C.ndim - 1)))
    return C


def sddmm(A: Any, X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """X Y^T at the entries of A, whose values are not read: one each. X and Y are (rows, width), or of several heads
    (rows, heads, width): (entries, heads)."""
    graph = _graph(A)
    if Y.shape[:1] != (graph.shape[1],):
        raise ValueError(f"Y is of shape {tuple(Y.shape)}, and A has {graph.shape[1]} columns")
    return operators.sddmm(graph.crow, graph.col, X, Y, *_structure(graph, X, Y))


def spgemm(A: Any, B: Any, values_a: torch.Tensor | None = None,
           values_b: torch.Tensor | None = None) -> tuple[Graph, torch.Tensor]:
    """The structure of A B and its values; A and B are Graphs or sparse tensors in CSR, with values as of spmm."""
    a, b = _graph(A), _graph(B)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"A is {a.shape[0]} x {a.shape[1]} and B is {b.shape[0]} x {b.shape[1]}: {a.shape[1]} columns and "
                         f"{b.shape[0]} rows do not match")
    values, crow, col = operators.spgemm(a.crow, a.col, _values(A, values_a, values_b), b.crow, b.col,
                                         _values(B, values_b, values_a), b.shape[1])
    return Graph(crow, col, b.shape[1]), values


def softmax(A: Any, values: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the entries of each row: (entries,) or (entries, heads), as the values."""
    return operators.softmax(_graph(A).crow, _values(A, values, None))


def at_rows(A: Any, x: torch.Tensor) -> torch.Tensor:
    """x's row of each entry's row."""
    graph = _graph(A)
    return operators.spread(x, graph.rows, graph.crow)


def at_columns(A: Any, x: torch.Tensor) -> torch.Tensor:
    """x's row of each entry's column."""
    graph = _graph(A)
    return operators.spread(x, graph.col, graph.reverse[0], graph.reverse[2])
