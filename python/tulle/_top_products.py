# SPDX-License-Identifier: Apache-2.0
"""Products of sparse matrices of which only some entries are kept."""
import operator

from . import _core
from ._products import _Operands
from ._report import keep, reporting
from ._team import current
from ._values import whole


@reporting
def top_products(A, B, k=None, *, above=None, cosine=False, alpha=1.0, algorithm=None):
    """The largest entries of alpha A B, row by row, for two sparse matrices; the others are never stored.

    k: entries kept of each row, those of numpy.argsort(-row, kind="stable") over the row's entries:
    equal values by column, NaN last; None: all. above: only entries greater than this. cosine:
    divides entry (i, j) by the norms of A's row i and of B's column j first; without one of them
    there is no entry. An entry is there where a product contributes to it, also if its value is 0.
    Similar documents are top_products(X, X.T, 10, above=0.8, cosine=True).
    """
    x = _Operands(A, B)
    if not x.sparse:
        raise ValueError("top_products multiplies sparse matrices: of dense ones, numpy.argpartition of A @ B")
    top = None if k is None else whole("k", operator.index(k), 0, 2**63 - 1)
    result, figures = _core.multiply_selected(current(), alpha, x.first.array, x.second.array, x.wish(), algorithm or "",
                                              top, None if above is None else float(above), bool(cosine))
    keep("top_products", figures)
    return x.convert(result)
