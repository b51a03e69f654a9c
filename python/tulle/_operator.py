# SPDX-License-Identifier: Apache-2.0
"""What aslinearoperator returns; a module of its own, since it is the only one that wants scipy when it is imported."""
from scipy.sparse.linalg import LinearOperator

from . import _linear_operator


class Operator(LinearOperator):
    """A LinearOperator whose pickle has what it is of, and is read under any version of scipy."""

    def __init__(self, made, shape, dtype):
        super().__init__(dtype, shape)
        self.args = ()
        self._made, self._adjoint_product = made, made.adjoint()

    def _matvec(self, x):
        return self._made.product(x)

    def _matmat(self, X):
        return self._made.product(X)

    def _rmatvec(self, x):
        if self._adjoint_product is None:
            raise NotImplementedError("rmatvec is not defined")
        return self._adjoint_product(x)

    def _rmatmat(self, X):
        return self._rmatvec(X)

    def __reduce__(self):
        return _linear_operator.aslinearoperator, (self._made._A,)
