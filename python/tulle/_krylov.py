# SPDX-License-Identifier: Apache-2.0
"""Krylov methods with scipy's signatures, and their preconditioners."""
import numpy as np

from . import _core
from ._arrays import describe, like
from ._binsparse import opened
from ._errors import UnsupportedError
from ._pickles import remade
from ._report import keep, reporting
from ._stream import Stream
from ._team import Handle, alone, at_home, current, home_of
from ._values import at_least_0, common_type, in_type, on_host, real, whole


class Step:
    """What a callback of callback_type "step" receives: column, iteration, residual and norm of b."""

    __slots__ = ("column", "iteration", "residual", "norm")

    def __init__(self, column, iteration, residual, norm):
        self.column, self.iteration, self.residual, self.norm = column, iteration, residual, norm

    def __repr__(self):
        return f"Step(column={self.column}, iteration={self.iteration}, residual={self.residual:.3e})"


class Preconditioner(Handle):
    """A preconditioner of one matrix: pass it as M. A pickle of it has the arrays of A, and is made anew from them."""

    def __init__(self, A, spec):
        super().__init__()
        self._spec, self._of = spec, opened(A)
        a = describe("A", self._of)
        if a.dense:
            raise ValueError(f"A is dense: {spec} is of a sparse matrix")
        self.shape, self.dtype = a.shape, a.dtype
        self._operator = _core.precond(_core.mat(self._team, a.array), spec)
        self._symmetric = spec == "jacobi" or spec.startswith("ic0")

    @at_home
    def _apply(self, b):
        """The product with columns of the matrix's type, one by one."""
        x = np.empty_like(b)
        for right, left in zip(b.T, x.T):
            column, result = np.array(right), np.empty_like(right, order="C")
            _core.apply(self._operator, describe("b", column).array, describe("x", result).array)
            left[:] = result
        return x

    def __reduce__(self):
        return remade(self, Preconditioner, (self._of, self._spec), Preconditioner._apply)

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
    return Preconditioner(A, "jacobi" if block == 1 else f"block-jacobi:n={whole('block', block, most=4096)}")


def _function(multiply):
    """What the library calls for an operator with that product: a function of an array of columns."""

    def apply(X):
        Y = np.reshape(on_host("a product", multiply(X)), X.shape)
        return np.ascontiguousarray(in_type("a product", Y, X.dtype))

    return apply


def _operand(name, A, dtype=None):
    """What the library applies for A, with its shape, rows here (None: any) and type."""
    if isinstance(A, Stream):
        return _core.operator_of_stream(A._stream), A.shape, None, A.dtype
    if isinstance(A, Preconditioner):
        return A._operator, A.shape, None, A.dtype
    if hasattr(A, "matvec"):
        alone(f"{name} by functions")
        if np.dtype(A.dtype).kind == "c":
            raise TypeError(f"{name} is of {A.dtype}: operators are of float32 or float64")
        single = A.dtype is not None and A.dtype == np.float32
        apply = _function(lambda X: A.matvec(X[:, 0]) if X.shape[1] == 1 else A.matmat(X))
        return apply, A.shape, A.shape[0], np.dtype(np.float32 if single else np.float64)
    a = describe(name, A, dtype)
    if not a.dense:
        return _core.operator(_core.mat(current(), a.array)), a.shape, a.rows, a.dtype
    alone(f"a dense {name}")
    values = real(name, A, a.dtype)
    return _function(lambda X: values @ X), a.shape, a.rows, a.dtype


def _fixed(A):
    """True if A has a type that cannot be changed any more."""
    return isinstance(A, (Stream, Preconditioner)) or hasattr(A, "matvec")


def _type_of_solve(A, b, M):
    """That of A and b by NumPy's promotion; None: that of A, where it or M is of a given type."""
    return None if _fixed(A) or _fixed(M) else common_type(A=A, b=b)


def _watch(callback, kind, b):
    """A callback as the library calls it: with the iterate, or with figures of the iteration."""
    if kind == "x":
        return lambda x: callback(like(x, b))
    if kind == "step":
        return lambda *figures: callback(Step(*figures))
    return lambda column, iteration, residual, norm: iteration and callback(residual / norm if norm else 0.0)


_NOT_FINITE = {"b-not-finite": "b", "x0-not-finite": "x0"}


def refuse_not_finite(reports):
    """An error that names the operand if one that is not finite has stopped a column: on all processes, or on none."""
    for column, report in enumerate(reports):
        if report["stop"] in _NOT_FINITE:
            raise ValueError(f"{_NOT_FINITE[report['stop']]} is not finite: column {column} has nan or inf")
        if report["stop"] == "not-finite":
            raise ValueError(f"A, or what is applied with it, is not finite: column {column} has met nan, inf or a value "
                             "whose square is inf")


def usual_limit(dtype):
    """The limit on ||r|| / ||b||, or on a gradient, where none was given."""
    return 1e-5 if dtype == np.float32 else 1e-8


def _solve(method, A, b, x0, rtol, atol, maxiter, M, callback, kind, restart=None):
    with home_of(A=A, M=M):
        return _solve_there(method, A, b, x0, rtol, atol, maxiter, M, callback, kind, restart)


def _solve_there(method, A, b, x0, rtol, atol, maxiter, M, callback, kind, restart):
    kinds = ("x", "pr_norm", "step") + (("legacy",) if method == "gmres" else ())
    if kind not in kinds:
        raise ValueError(f"callback_type is {kind!r}, not one of {', '.join(kinds)}")
    if callback is not None and kind == "x" and current().size > 1:
        raise UnsupportedError("an iterate over several processes is in parts, which a callback does not receive: "
                               'callback_type="step" has residuals, on the first process')
    operator, shape, rows, dtype = _operand("A", A, _type_of_solve(A, b, M))
    if shape[0] != shape[1]:
        raise ValueError(f"A is {shape[0]} x {shape[1]}: it must be square")
    right = real("b", b, dtype)
    if rows is None:  # of a file's stream any will do
        rows = shape[0] if current().size == 1 else len(right)
    if right.ndim not in (1, 2) or right.shape[0] != rows:
        raise ValueError(f"b is of shape {right.shape}, and A has {rows} rows")
    preconditioner = None
    if M is not None:
        preconditioner, *of_M = _operand("M", M, None if _fixed(M) else dtype)
        if tuple(of_M[0]) != tuple(shape):
            raise ValueError(f"M is {of_M[0][0]} x {of_M[0][1]}, and A {shape[0]} x {shape[1]}")
    most = 0 if maxiter is None else whole("maxiter", maxiter, most=2**63 - 1)
    restart = 0 if restart is None else min(whole("restart", restart, most=2**63 - 1), max(shape[0], 1))
    unit = restart if restart and (callback is None or kind != "legacy") else 1  # iterations that maxiter counts as one
    vector = right.ndim == 1
    right = np.ascontiguousarray(right.reshape(rows, 1 if vector else right.shape[1]))
    x = np.zeros_like(right)
    if x0 is not None:
        first = real("x0", x0, dtype)
        if first.shape not in (right.shape, right.shape[:1]) or first.size != right.size:
            raise ValueError(f"x0 is of shape {first.shape}, and b of {np.shape(b)}")
        x[:] = first.reshape(right.shape)
    limit = usual_limit(dtype) if rtol is None else at_least_0("rtol", rtol)
    reports = _core.krylov(current(), operator, preconditioner, describe("b", right).array, describe("x0", x).array, method,
                           limit, at_least_0("atol", atol), min(most * unit, 2**63 - 1), restart,
                           x0 is not None, kind == "x", None if callback is None else _watch(callback, kind, b))
    failed = [report for report in reports if not report["converged"]]
    worst = failed[0] if failed else max(reports, key=lambda report: report["iterations"], default={})
    history = {"history": reports[0].pop("history")} if reports else {}
    keep(method, {**worst, "columns": len(reports), "not_converged": len(failed), **history})
    refuse_not_finite(reports)
    info = 0
    if failed:
        most = max(report["iterations"] for report in failed)
        info = -(-most // unit) if failed[0]["stop"] == "max-iterations" else -1
    return like(x[:, 0] if vector else x, b), info


@reporting
def cg(A, b, x0=None, *, rtol=None, atol=0.0, maxiter=None, M=None, callback=None, callback_type="x"):
    """Solves A x = b by conjugate gradients; A is symmetric positive definite. Returns (x, info).

    Until ||b - A x|| <= max(rtol ||b||, atol); rtol is 1e-8 unless given, of float32 1e-5. info: 0,
    maxiter if that was reached, or -1 if the method broke down; report()["stop"] names the cause, and
    "history" has the residuals. A, b and x0 must be finite: ValueError names the one that is not.

    A: sparse, dense, a Stream, or an operator with matvec, as scipy's LinearOperator. b may have
    several columns, which are solved one after the other. M approximates the inverse of A: a
    preconditioner such as ic0(A), or a matrix or an operator that is applied, as in scipy. maxiter:
    10000 unless given.

    callback is called after each iteration, as scipy's, with the iterate x of the column. With
    callback_type "pr_norm" it receives ||b - A x|| / ||b||, with "step" a Step. Its exception ends
    the solve. Over several processes A and M are sparse or of this library; all pass a callback
    or none, and the first process's is called, without iterates.
    """
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, callback, callback_type)


@reporting
def gmres(A, b, x0=None, *, rtol=None, atol=0.0, restart=None, maxiter=None, M=None, callback=None,
          callback_type=None):
    """Solves A x = b by restarted GMRES for any square A; as cg, with scipy's restart, maxiter and callback.

    restart: iterations of a cycle, 20 unless given. maxiter: cycles, as many as 10000 iterations
    unless given. callback_type: "x", the iterate after each cycle; "pr_norm", the residual after
    each iteration, divided by ||b|| (M is applied from the right, so it is that of A x = b); "step";
    "legacy", the default, as "pr_norm", but with a callback maxiter counts iterations.
    """
    kind = "legacy" if callback_type is None else callback_type
    return _solve("gmres", A, b, x0, rtol, atol, maxiter, M, callback, kind, 20 if restart is None else restart)


@reporting
def minres(A, b, x0=None, *, rtol=None, atol=0.0, shift=0.0, maxiter=None, M=None, callback=None, callback_type="x"):
    """Solves A X = B by MINRES for a symmetric A, which may be indefinite or singular; as cg.

    Each column has a recurrence of its own, and a product serves all of them. M is symmetric positive definite. A
    singular system that has no solution ends with info -1, report()["stop"] is "least-squares" then, and x has the least
    residual. shift is not supported: A - shift I is the matrix to give.
    """
    if shift:
        raise UnsupportedError("shift is not supported: give A - shift I as the matrix")
    return _solve("minres", A, b, x0, rtol, atol, maxiter, M, callback, callback_type)


@reporting
def block_cg(A, b, x0=None, *, rtol=None, atol=0.0, maxiter=None, M=None, callback=None, callback_type="x"):
    """Solves A X = B for all columns of B together, which share their search directions; as cg.

    callback is called for each column in each iteration, until the column has converged.
    """
    return _solve("block-cg", A, b, x0, rtol, atol, maxiter, M, callback, callback_type)
