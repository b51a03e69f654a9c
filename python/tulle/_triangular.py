# SPDX-License-Identifier: Apache-2.0
"""Triangular solves."""
import numpy as np

from . import _core
from ._arrays import describe, like
from ._binsparse import opened
from ._pickles import remade
from ._report import keep, reporting
from ._team import Handle, at_home, current
from ._values import common_type, real


class Triangular(Handle):
    """A triangle that is analysed once and solved any number of times: see triangular.

    A pickle of it has the arrays of A, and is analysed anew from them.
    """

    def __init__(self, A, lower, unit_diagonal, transposed, method, dtype=None):
        super().__init__()
        A = opened(A)
        a = describe("A", A, dtype)
        if a.dense:
            raise ValueError("A is dense: scipy.linalg.solve_triangular solves dense triangles")
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"A is {a.shape[0]} x {a.shape[1]}: it must be square")
        self.shape, self.dtype, self._rows = a.shape, a.dtype, a.rows
        self._made_from = A, lower, unit_diagonal, transposed, method, dtype
        self._solver = _core.Triangle(_core.mat(self._team, a.array), lower, transposed, unit_diagonal, method)

    @at_home
    def solve(self, b):
        """x with op(T) x = b; b is a vector, or a matrix with one right-hand side a column.

        x is of b's kind and A's type.
        """
        given, b = b, real("b", b, self.dtype)
        if b.ndim not in (1, 2) or b.shape[0] != self._rows:
            raise ValueError(f"b is of shape {b.shape}, and the triangle has {self._rows} rows")
        right = np.ascontiguousarray(b.reshape(b.shape[0], b.shape[1] if b.ndim == 2 else 1))
        x = np.empty_like(right)
        keep("triangular", self._solver.solve(describe("b", right).array, describe("x", x).array))
        return like(x.reshape(b.shape), given)

    @at_home
    def _adjoint(self):
        """The triangle whose solutions are those with op(T)^T."""
        A, lower, unit_diagonal, transposed, method, dtype = self._made_from
        return Triangular(A, lower, unit_diagonal, not transposed, method, dtype)

    def __reduce__(self):
        return remade(self, Triangular, self._made_from, Triangular._solution)

    @at_home
    def _solution(self, b):
        x = np.empty_like(b)
        self._solver.solve(describe("b", b).array, describe("x", x).array)
        return x


def triangular(A, *, lower=True, unit_diagonal=False, transposed=False, method="auto"):
    """Analyses the lower or upper triangle of a sparse A; entries of the other are ignored.

    T = triangular(A); x = T.solve(b). unit_diagonal: ones, whatever is stored. transposed: solves
    with the transpose. method: a name as in `tulle trisolve --help`.
    """
    return Triangular(A, lower, unit_diagonal, transposed, method)


@reporting
def solve_triangular(A, b, *, lower=True, unit_diagonal=False):
    """x of one triangular solve; as triangular(A).solve(b), in the common type of A and b."""
    method = "serial" if np.ndim(b) == 1 and current().size == 1 else "auto"
    return Triangular(A, lower, unit_diagonal, False, method, common_type(A=A, b=b)).solve(b)
