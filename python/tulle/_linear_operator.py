# SPDX-License-Identifier: Apache-2.0
"""scipy's LinearOperator over matrices, streams, preconditioners and triangles of this library."""
import numpy as np

from ._krylov import Preconditioner
from ._products import matmul
from ._stream import Stream
from ._team import alone
from ._triangular import Triangular
from ._values import is_tensor, real, type_of, without_gradient


def aslinearoperator(A):
    """A as scipy's LinearOperator whose products are this library's.

    A: a matrix, whose adjoint has products too; a Stream; a Preconditioner or a Triangular, of which a
    product is the application, or the solve: M=aslinearoperator(ic0(A)) suits scipy's own methods.
    """
    from scipy.sparse.linalg import LinearOperator

    alone("a LinearOperator")
    if isinstance(A, Preconditioner):
        product = _columns(A, lambda X: A._apply(X))
    elif isinstance(A, Triangular):
        product = _columns(A, lambda X: A.solve(X))
    elif isinstance(A, Stream):
        product = _columns(A, lambda X: np.hstack([A @ np.ascontiguousarray(X[:, [j]]) for j in range(X.shape[1])]))
    else:
        if is_tensor(A):
            without_gradient("A", A)
        return LinearOperator(tuple(A.shape), matvec=lambda x: matmul(A, x), matmat=lambda X: matmul(A, X),
                              rmatvec=lambda x: matmul(A.T, x), rmatmat=lambda X: matmul(A.T, X), dtype=type_of("A", A))
    return LinearOperator(A.shape, matvec=lambda x: product(np.reshape(x, (-1, 1)))[:, 0], matmat=product, dtype=A.dtype)


def _columns(A, product):
    """A product with columns of A's type: none, or one after the other."""

    def multiply(X):
        X = real("X", X, A.dtype)
        if X.shape[1] == 0:
            return np.empty((A.shape[0], 0), A.dtype)
        return product(np.ascontiguousarray(X))

    return multiply
