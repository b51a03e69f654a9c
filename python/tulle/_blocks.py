# SPDX-License-Identifier: Apache-2.0
"""Products of sparse matrices in dense blocks, and sums in ranges of them."""
import numpy as np

from . import _core
from ._arrays import describe
from ._functions import _cuts, _result
from ._report import keep, reporting
from ._team import current
from ._values import common_type


def _sparse(name, A, dtype):
    x = describe(name, A, dtype)
    if x.dense:
        raise ValueError(f"{name} is dense: blocks are of sparse matrices")
    return x


def _pair(blocks):
    """Of rows and of columns."""
    return blocks if isinstance(blocks, tuple) else (blocks, blocks)


@reporting
def block_matmul(A, B=None, *, blocks, alpha=1.0, filter=0.0, symmetric_c=False, half=False, algorithm=""):
    """C = alpha A B of sparse matrices in dense blocks, B None: A. A matrix of A's class, whose blocks are full.

    blocks: one size or a list of sizes, of all rows and columns; or a tuple of three, of A's rows, the
    inner indices and B's columns. filter: products of blocks too small to matter are skipped, and
    blocks of C with a smaller Frobenius norm left out. symmetric_c: A B is known to be symmetric, so
    half of it is computed. half: A and B are symmetric, and half of their blocks is stored meanwhile,
    and of a symmetric C. algorithm: as of `matmul`. `report()` tells what was done.
    """
    dtype = common_type(A=A, B=B)
    a = _sparse("A", A, dtype)
    b = a if B is None else _sparse("B", B, dtype)
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"A is {a.shape[0]} x {a.shape[1]} and B {b.shape[0]} x {b.shape[1]}")
    sizes = blocks if isinstance(blocks, tuple) else (blocks, blocks, blocks)
    if len(sizes) != 3:
        raise ValueError(f"blocks has {len(sizes)} parts, not three: of A's rows, the inner indices, B's columns")
    cuts = [_cuts(size, n) for size, n in zip(sizes, (a.shape[0], a.shape[1], b.shape[1]))]
    team = current()
    second = None if B is None else _core.mat(team, b.array)
    result, figures = _core.block_matmul(_core.mat(team, a.array), second, *cuts, alpha, filter, symmetric_c, half,
                                         algorithm)
    keep("block_matmul", figures)
    return _result(a, result, A)


def _range(cuts, first, count, what):
    """The cuts of a range of blocks, from 0."""
    if first not in cuts or first + count not in cuts:
        raise ValueError(f"{what} {first} to {first + count} of C divide one of its blocks")
    return [cut - first for cut in cuts[cuts.index(first):cuts.index(first + count) + 1]]


@reporting
def block_range_add(C, P, row, col, *, blocks, alpha=1.0, beta=1.0):
    """C with alpha P + beta C[r, c] in the range as large as P that begins at (row, col): a new matrix of C's class.

    With P = A B, a product into a range. C and P are sparse; the range divides no block. blocks: the size
    or sizes of C's blocks; a tuple of two: of its rows and its columns.
    """
    dtype = common_type(C=C, P=P)
    c, p = _sparse("C", C, dtype), _sparse("P", P, dtype)
    cuts = [_cuts(size, n) for size, n in zip(_pair(blocks), c.shape)]
    row, col = int(np.asarray(row)), int(np.asarray(col))
    rows = _range(cuts[0], row, p.shape[0], "rows")
    cols = _range(cuts[1], col, p.shape[1], "columns")
    team = current()
    return _result(c, _core.block_range_add(alpha, _core.mat(team, p.array), beta, _core.mat(team, c.array), row, col,
                                            rows, cols, *cuts), C)
