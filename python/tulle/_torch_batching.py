# SPDX-License-Identifier: Apache-2.0
"""Batching rules of the operators, for torch.vmap: a batch of values is heads, one of dense factors is wider factors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._torch_operators import operators


def _front(x: torch.Tensor, dim: int | None, size: int, at: int) -> torch.Tensor:
    """With the batch as dimension `at`."""
    if dim is not None:
        return x.movedim(dim, at)
    return x.unsqueeze(at).expand(*x.shape[:at], size, *x.shape[at:])


def _spmm(info: Any, dims: Sequence[int | None], crow: Any, col: Any, values: Any, B: Any, *rest: Any) -> Any:
    size = info.batch_size
    heads = values.ndim - (dims[2] is not None) - 1
    if dims[2] is None:  # wider factors
        wide = B.movedim(dims[3], -2)
        C = operators.spmm(crow, col, values, wide.flatten(-2), *rest)
        return C.unflatten(-1, (size, wide.shape[-1])), C.ndim - 1
    values, B = _front(values, dims[2], size, 1), _front(B, dims[3], size, 1)
    C = operators.spmm(crow, col, values.flatten(1), B.flatten(1, 2) if heads else B, *rest)
    return (C.unflatten(1, (size, -1)) if heads else C), 1


def _sddmm(info: Any, dims: Sequence[int | None], crow: Any, col: Any, X: Any, Y: Any, *rest: Any) -> Any:
    size = info.batch_size
    X, Y = _front(X, dims[2], size, 1), _front(Y, dims[3], size, 1)
    heads = X.ndim - 3
    if heads:
        X, Y = X.flatten(1, 2), Y.flatten(1, 2)
    values = operators.sddmm(crow, col, X, Y, *rest)
    return (values.unflatten(1, (size, -1)) if heads else values), 1


def _softmax(info: Any, dims: Sequence[int | None], crow: Any, values: Any) -> Any:
    values = values.movedim(dims[1], 1)
    return operators.softmax(crow, values.flatten(1)).reshape(values.shape), 1


def _spread(info: Any, dims: Sequence[int | None], x: Any, *rest: Any) -> Any:
    return operators.spread(x.movedim(dims[0], 1), *rest), 1


def _collect(info: Any, dims: Sequence[int | None], values: Any, *rest: Any) -> Any:
    return operators.collect(values.movedim(dims[0], 1), *rest), 1


def _one_by_one(name: str) -> Callable[..., Any]:
    """A rule that stacks the results of a batch, whose structures must be the same."""
    def rule(info: Any, dims: Sequence[int | None], *operands: Any) -> Any:
        results = [getattr(operators, name)(*(x if dim is None else x.select(dim, k) for x, dim in zip(operands, dims)))
                   for k in range(info.batch_size)]
        if isinstance(results[0], torch.Tensor):
            return torch.stack(results), 0
        if name == "spgemm":
            return (torch.stack([values for values, _, _ in results]), *results[0][1:]), (0, None, None)
        return tuple(torch.stack(parts) for parts in zip(*results)), (0, 0)

    return rule


# the arguments that may be batched: structures are not
_VALUES = {"spmm": (2, 3), "sddmm": (2, 3), "softmax": (1,), "spread": (0,), "collect": (0,), "extreme": (2, 3),
           "spgemm": (2, 5), "spgemm_sampled": (4, 7)}
_RULES: dict[str, Callable[..., Any]] = {"spmm": _spmm, "sddmm": _sddmm, "softmax": _softmax, "spread": _spread,
                                         "collect": _collect}


def _checked(name: str) -> Callable[..., Any]:
    """The rule, for batches of values; other batches are refused."""
    rule = _RULES.get(name) or _one_by_one(name)

    def call(info: Any, dims: Sequence[Any], *operands: Any) -> Any:
        if any(dim is not None and at not in _VALUES[name] for at, dim in enumerate(dims)):
            raise ValueError(f"tulle.torch.{name}: vmap over structures is not supported: one for all of a batch")
        return rule(info, dims, *operands)

    return call


def _register_before_2_5(library: torch.library.Library, name: str, rule: Callable[..., Any]) -> None:
    """As torch.library.register_vmap, which torch 2.4 does not have."""
    from torch._functorch.autograd_function import VmapInfo, unwrap_batched, wrap_batched
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchBatched)

    def kernel(*operands: Any) -> Any:
        interpreter = retrieve_current_functorch_interpreter()
        plain, dims = unwrap_batched(operands, interpreter.level())
        with torch._C._ExcludeDispatchKeyGuard(keys):
            if all(dim is None for dim in dims):
                return getattr(operators, name)(*operands)
            info = VmapInfo(batch_size=interpreter.batch_size(), randomness=interpreter.randomness())
            result, where = rule(info, dims, *plain)
        return wrap_batched(result, where, interpreter.level())

    library.impl(name, kernel, "FuncTorchBatched")


def register(library: torch.library.Library) -> None:
    for name in _VALUES:
        if hasattr(torch.library, "register_vmap"):
            torch.library.register_vmap(f"tulle::{name}", _checked(name), lib=library)
        else:
            _register_before_2_5(library, name, _checked(name))
