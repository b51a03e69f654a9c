# SPDX-License-Identifier: Apache-2.0
"""scipy's LinearOperator over matrices, streams, preconditioners and triangles of this library."""
import numpy as np

from ._binsparse import opened
from ._krylov import Preconditioner
from ._products import matmul
from ._stream import Stream
from ._team import alone
from ._triangular import Triangular
from ._values import is_tensor, on_host, real, type_of, without_gradient


class _Matrix:
    """Products of a matrix and of its transpose."""

    def __init__(self, A):
        self._A = A

    def product(self, X):
        return matmul(self._A, X)

    def adjoint(self):
        return lambda X: matmul(self._A.T, X)


class _Applied:
    """What is applied to columns of its own type: none, or one after the other."""

    def __init__(self, A):
        self._A, self._transposed = A, None

    def product(self, X):
        A, X = self._A, real("X", X, self._A.dtype)
        if X.ndim == 1:
            return self.product(X[:, np.newaxis])[:, 0]
        if X.shape[1] == 0:
            return np.empty((A.shape[0], 0), A.dtype)
        return self._columns(np.ascontiguousarray(X))

    def transposed_solve(self, X):
        if self._transposed is None:
            self._transposed = _Applied(self._A._adjoint())
        return self._transposed.product(X)

    def adjoint(self):
        """The product of the adjoint; None: there is none."""
        if isinstance(self._A, Triangular):
            return self.transposed_solve
        return self.product if getattr(self._A, "_symmetric", False) else None

    def _columns(self, X):
        if isinstance(self._A, Preconditioner):
            return self._A._apply(X)
        if isinstance(self._A, Triangular):
            return self._A.solve(X)
        return np.hstack([self._A @ np.ascontiguousarray(X[:, [j]]) for j in range(X.shape[1])])


def aslinearoperator(A):
    """A as scipy's LinearOperator whose products are this library's.

    A: a matrix, whose adjoint has products too; a Stream; a Preconditioner or a Triangular, of which a
    product is the application, or the solve: M=aslinearoperator(ic0(A)) suits scipy's own methods. A
    symmetric preconditioner (ic0, jacobi of one row) and a triangle have adjoints, as bicg and qmr ask
    for. What is an operator already stays. A pickle has A.
    """
    from scipy.sparse.linalg import aslinearoperator as of_scipy

    from ._operator import Operator

    alone("a LinearOperator")
    if hasattr(A, "matvec"):
        return of_scipy(A)
    if isinstance(A, (Preconditioner, Stream, Triangular)):
        return Operator(_Applied(A), A.shape, A.dtype)
    A = opened(A)
    if is_tensor(A):
        without_gradient("A", A)
    dtype = type_of("A", A)
    made = _Matrix(A if hasattr(A, "shape") else on_host("A", A))
    return Operator(made, tuple(made._A.shape), dtype)
