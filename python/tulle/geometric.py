# SPDX-License-Identifier: Apache-2.0
"""Layers of PyG (torch_geometric) that multiply by this library's operators.

    graph = tulle.torch.Graph.from_edge_index(edge_index, nodes)
    model = tulle.geometric.convert(model)     # in place: its GCNConv, SAGEConv and GATConv, whose parameters stay
    y = model(x, graph)                        # or edge_index, as before

A layer takes a Graph in place of edge_index; edge weights and attributes are in the order of the edges that it was made
from. Edges and messages of a node are not made one by one. What a layer has no product for (other aggregations,
explanations, attributes with added loops) is PyG's own message passing, over the graph's edges. Requires torch 2.4.
"""
from __future__ import annotations

from typing import Any

import torch
import torch_geometric.nn as pyg

from .torch import Graph, at_columns, at_rows, softmax, spmm

__all__ = ["convert"]
_REDUCE = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max", "min": "min"}


def _plain(conv: Any) -> bool:
    """True if a product sums the layer's messages: no hooks, explanations or other direction."""
    hooks = (conv._propagate_forward_pre_hooks, conv._propagate_forward_hooks, conv._message_forward_pre_hooks,
             conv._message_forward_hooks, conv._aggregate_forward_pre_hooks, conv._aggregate_forward_hooks)
    return (isinstance(conv.aggr, str) and conv.aggr in _REDUCE and conv.flow == "source_to_target" and not conv.explain
            and conv.decomposed_layers == 1 and not any(hooks))


class _Converted:
    """PyG compiles a layer's message passing from the source of its class: the layer must be PyG's when it is made."""

    def __init__(self, *args: Any, **options: Any) -> None:
        name = type(self).__name__
        raise TypeError(f"tulle.geometric.convert(torch_geometric.nn.{name}(...)) makes a {name}")


def _given(graph: Graph, values: torch.Tensor | None) -> torch.Tensor | None:
    """Values of edges in the order of the graph's entries."""
    return None if values is None else graph.permuted(values)


class GCNConv(_Converted, pyg.GCNConv):
    """PyG's GCNConv."""

    _cached_edge_index: Any

    def forward(self, x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None = None) -> torch.Tensor:
        if not isinstance(edge_index, Graph):
            return super().forward(x, edge_index, edge_weight)
        weight = _given(edge_index, edge_weight)
        if not _plain(self):
            return super().forward(x, edge_index.edge_index, weight)
        graph = edge_index
        if self.normalize:
            graph, weight = self._normalised(graph, weight, x.dtype)
        out = spmm(graph, self.lin(x), weight, reduce=_REDUCE[self.aggr])
        return out if self.bias is None else out + self.bias

    def _normalised(self, graph: Graph, weight: torch.Tensor | None, dtype: torch.dtype) -> tuple[Graph, torch.Tensor]:
        """D^-1/2 (A + I) D^-1/2, where loops that there are keep their weights; without weights the graph keeps it."""
        if self.cached and self._cached_edge_index is not None:
            kept: tuple[Graph, torch.Tensor] = self._cached_edge_index
            return kept
        if weight is None:  # all weights are 1, those of loops, too: PyG's, for edge_index
            looped = graph.with_loops() if self.add_self_loops else graph
            return looped, looped.made(("GCN", dtype), lambda: _scaled(looped, torch.ones(looped.entries, dtype=dtype)))
        if self.add_self_loops:
            diagonal = torch.full((graph.shape[0],), 2.0 if self.improved else 1.0, dtype=weight.dtype)
            loops = (graph.rows == graph.col).nonzero()[:, 0]
            diagonal = diagonal.index_put((graph.rows[loops],), weight[loops])
            graph = graph.with_loops()
            weight = graph.permuted(torch.cat((weight, diagonal)))
        weight = _scaled(graph, weight)
        if self.cached:
            self._cached_edge_index = (graph, weight)
        return graph, weight


def _scaled(graph: Graph, weight: torch.Tensor) -> torch.Tensor:
    """Weights over the roots of the degrees of both nodes."""
    scale = spmm(graph, torch.ones(graph.shape[1], dtype=weight.dtype), weight).pow(-0.5)
    scale = scale.masked_fill(scale == torch.inf, 0)
    return at_rows(graph, scale) * weight * at_columns(graph, scale)


class SAGEConv(_Converted, pyg.SAGEConv):
    """PyG's SAGEConv."""

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> torch.Tensor:
        if not isinstance(edge_index, Graph):
            return super().forward(x, edge_index, size)
        if not _plain(self):
            return super().forward(x, edge_index.edge_index, size or edge_index.shape[::-1])
        source, target = (x, x) if isinstance(x, torch.Tensor) else x
        if self.project:
            source = self.lin(source).relu()
        out = self.lin_l(spmm(edge_index, source, reduce=_REDUCE[self.aggr]))
        if self.root_weight and target is not None:
            out = out + self.lin_r(target)
        return torch.nn.functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


class GATConv(_Converted, pyg.GATConv):
    """PyG's GATConv."""

    def forward(self, x: Any, edge_index: Any, edge_attr: torch.Tensor | None = None, size: Any = None,
                return_attention_weights: bool | None = None) -> Any:
        if not isinstance(edge_index, Graph):
            return super().forward(x, edge_index, edge_attr, size, return_attention_weights)
        attributes = _given(edge_index, edge_attr)
        hooked = self._edge_update_forward_pre_hooks or self._edge_update_forward_hooks
        if not _plain(self) or hooked or (self.add_self_loops and attributes is not None and self.lin_edge is not None):
            return super().forward(x, edge_index.edge_index, attributes, size or edge_index.shape[::-1],
                                   return_attention_weights)
        graph = edge_index.with_loops() if self.add_self_loops else edge_index
        source, target, rest = self._features(x)
        shares = self._attention(graph, source, target, attributes)
        out = spmm(graph, source, shares, reduce=_REDUCE[self.aggr])
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        for more in (rest, self.bias):
            out = out if more is None else out + more
        return out if return_attention_weights is None else (out, (graph.edge_index, shares))

    def _features(self, x: Any) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """Features of sources and targets by heads, and what a residual adds."""
        source, target = (x, x) if isinstance(x, torch.Tensor) else x
        rest = self.res(target) if self.res is not None and target is not None else None
        first, second = (self.lin, self.lin) if self.lin is not None else (self.lin_src, self.lin_dst)
        heads = (-1, self.heads, self.out_channels)
        own = first(source).view(heads)
        if target is source and first is second:
            return own, own, rest
        return own, None if target is None else second(target).view(heads), rest

    def _attention(self, graph: Graph, source: torch.Tensor, target: torch.Tensor | None,
                   attributes: torch.Tensor | None) -> torch.Tensor:
        scores = at_columns(graph, (source * self.att_src).sum(-1))
        if target is not None:
            scores = scores + at_rows(graph, (target * self.att_dst).sum(-1))
        if attributes is not None and self.lin_edge is not None:
            own = self.lin_edge(attributes.view(-1, 1) if attributes.ndim == 1 else attributes)
            scores = scores + (own.view(-1, self.heads, self.out_channels) * self.att_edge).sum(-1)
        shares = softmax(graph, torch.nn.functional.leaky_relu(scores, self.negative_slope))
        return torch.nn.functional.dropout(shares, p=self.dropout, training=self.training)


def convert(model: torch.nn.Module) -> torch.nn.Module:
    """The model, whose layers GCNConv, SAGEConv and GATConv of PyG have become these; parameters and hooks stay."""
    for module in model.modules():
        for own in (GCNConv, SAGEConv, GATConv):
            if type(module) is own.__bases__[1]:
                module.__class__ = own
    return model
