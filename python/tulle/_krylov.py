# SPDX-License-Identifier: Apache-2.0
"""Krylov methods with scipy's signatures, and their preconditioners."""
import numpy as np

from . import _core
from ._arrays import describe
from ._report import keep
from ._stream import Stream
from ._team import current


class Step:
    """What a callback gets of an iteration: column, iteration, residual and norm of b."""

    __slots__ = ("column", "iteration", "residual", "norm")

    def __init__(self, column, iteration, residual, norm):
        self.column, self.iteration, self.residual, self.norm = column, iteration, residual, norm

    def __repr__(self):
        return f"Step(column={self.column}, iteration={self.iteration}, residual={self.residual:.3e})"


class Preconditioner:
    """A preconditioner of one matrix: pass it as M."""

    def __init__(self, A, spec):
        self._spec = spec
        self._matrix, self.shape, _, self.dtype = _matrix_of(A)
        self._operator = _core.precond(self._matrix, spec)

    def __repr__(self):
        return f"<tulle.Preconditioner {self._spec} of {self.shape[0]} x {self.shape[1]}>"


def _number(value):
    return "auto" if value == "auto" else repr(float(value))


def ic0(A, *, shift=0.0):
    """The incomplete Cholesky factor of a symmetric positive definite A, without fill.

    shift: if a pivot is not positive, A + shift diag(A) is factorised instead; "auto": as needed.
    """
    return Preconditioner(A, "ic0" if shift == 0 else f"ic0:shift={_number(shift)}")


def ilu0(A, *, floor=0.0):
    """The incomplete LU factors of A without fill. floor: raises pivots below it; "auto": 1e-3."""
    return Preconditioner(A, "ilu0" if floor == 0 else f"ilu0:floor={_number(floor)}")


def jacobi(A, *, block=1):
    """The diagonal of A, or its diagonal blocks of so many rows."""
    return Preconditioner(A, "jacobi" if block == 1 else f"block-jacobi:n={int(block)}")


def _matrix_of(A):
    a = describe(A)
    if a.dense:
        raise ValueError("A is dense: Krylov methods here want a sparse matrix")
    return _core.mat(current(), a.array), a.shape, a.rows, a.dtype


def _solve(method, A, b, rtol, atol, maxiter, M, x0, callback, restart=0):
    if isinstance(A, Stream):
        operator, shape, dtype = _core.operator_of_stream(A._stream), A.shape, A.dtype
        rows = shape[0] if current().size == 1 else len(b)  # of a file's stream any will do
    else:
        matrix, shape, rows, dtype = _matrix_of(A)
        operator = _core.operator(matrix)
    if shape[0] != shape[1]:
        raise ValueError(f"A is {shape[0]} x {shape[1]}: it must be square")
    b = np.asarray(b)
    if b.ndim not in (1, 2) or b.shape[0] != rows:
        raise ValueError(f"b is of shape {b.shape}, and A has {rows} rows")
    if M is not None and not isinstance(M, Preconditioner):
        raise TypeError("M is a preconditioner of tulle: ic0(A), ilu0(A) or jacobi(A)")
    right = np.ascontiguousarray(b.reshape(rows, b.shape[1] if b.ndim == 2 else 1), dtype=dtype)
    x = np.zeros_like(right)
    if x0 is not None:
        x[:] = np.asarray(x0).reshape(right.shape)
    watch = None if callback is None else lambda *figures: callback(Step(*figures))
    reports = _core.krylov(operator, None if M is None else M._operator, describe(right).array, describe(x).array, method,
                           float(rtol), float(atol), 0 if maxiter is None else int(maxiter), restart, x0 is not None,
                           watch)
    failed = [report for report in reports if not report["converged"]]
    worst = failed[0] if failed else max(reports, key=lambda report: report["iterations"], default={})
    keep(method, {**worst, "columns": len(reports), "not_converged": len(failed)})
    info = 0
    if failed:
        info = max(report["iterations"] for report in failed) if failed[0]["stop"] == "max-iterations" else -1
    return x.reshape(b.shape), info


def cg(A, b, x0=None, *, rtol=1e-8, atol=0.0, maxiter=None, M=None, callback=None):
    """Solves A x = b by conjugate gradients; A is symmetric positive definite. Returns (x, info).

    Until ||b - A x|| <= max(rtol ||b||, atol). info: 0, the iterations if maxiter was reached, or -1
    if the method broke down; report()["stop"] names the cause. b may have several columns. A is
    sparse, or a Stream. callback is called with a Step after each iteration.
    """
    return _solve("cg", A, b, rtol, atol, maxiter, M, x0, callback)


def gmres(A, b, x0=None, *, rtol=1e-8, atol=0.0, restart=None, maxiter=None, M=None, callback=None):
    """Solves A x = b by restarted GMRES for any square A; as cg. restart: 30 unless given.

    maxiter counts iterations, not restarts.
    """
    return _solve("gmres", A, b, rtol, atol, maxiter, M, x0, callback, 0 if restart is None else int(restart))


def block_cg(A, b, x0=None, *, rtol=1e-8, atol=0.0, maxiter=None, M=None, callback=None):
    """Solves A X = B for all columns of B together, which share their search directions; as cg."""
    return _solve("block-cg", A, b, rtol, atol, maxiter, M, x0, callback)
