# SPDX-License-Identifier: Apache-2.0
"""Least squares of rectangular matrices with scipy's signatures."""
import os

import numpy as np

from . import _core
from ._arrays import describe, like
from ._errors import UnsupportedError
from ._krylov import Step, _fixed, refuse_not_finite, usual_limit
from ._products import matmul
from ._report import keep, reporting
from ._team import alone, current, home_of
from ._values import at_least_0, common_type, path_of, real, whole

_CODES = {"converged": 1, "least-squares": 2, "condition-limit": 3, "max-iterations": 7}  # scipy's istop; else 4 to 6


def _operand(name, A, b):
    """(path, handle, shape, type) of a matrix or of a file."""
    if isinstance(A, (str, os.PathLike)):
        path = path_of(A)
        return path, None, tuple(_core.shape_of_file(current(), path)), np.dtype(np.float64)
    if _fixed(A):
        raise UnsupportedError(f"A is an operator: {name} takes a sparse matrix, or the name of a file with one")
    a = describe("A", A, common_type(A=A, b=b))
    if a.dense:
        raise ValueError(f"A is dense: {name} takes a sparse matrix, or the name of a file with one")
    return "", _core.mat(current(), a.array), a.shape, a.dtype


def _columns(name, value, rows, dtype):
    """Its values as columns, and whether it was one alone."""
    values = real(name, value, dtype)
    if values.ndim not in (1, 2) or values.shape[0] != rows:
        raise ValueError(f"{name} is of shape {values.shape}: it must have {rows} rows")
    vector = values.ndim == 1
    return np.ascontiguousarray(values.reshape(rows, 1 if vector else values.shape[1])), vector


def _log(name, shape, callback):
    """A callback that prints scipy's course: the first iterations, each tenth, and what `callback` does beside."""
    print(f"{name.upper()}: least squares of a {shape[0]} x {shape[1]} matrix\n"
          f"{'column':>7}{'itn':>7}{'||r||':>13}{'||r|| / ||b||':>15}", flush=True)

    def watch(step):
        if step.iteration <= 10 or step.iteration % 10 == 0:
            relative = step.residual / step.norm if step.norm else 0.0
            print(f"{step.column:7}{step.iteration:7}{step.residual:13.5e}{relative:15.5e}", flush=True)
        if callback is not None:
            callback(step)

    return watch


def _print_results(reports, dtype):
    for column, r in enumerate(reports):
        print(f"column {column}: {r['stop']} (istop {_code(r, dtype)}) after {r['iterations']} iterations: "
              f"||r|| {r['true_residual']:.3e}, ||A^T r|| {r['gradient']:.3e}, ||A|| {r['operator_norm']:.3e}, "
              f"condition {r['condition']:.3e}, ||x|| {r['solution']:.3e}", flush=True)


def _fit(name, A, b, damp, atol, btol, conlim, maxiter, show, variances, x0, callback):
    """(x, variances or None, reports, whether b is a vector); x is like b."""
    alone(name)
    for limit, value in (("damp", damp), ("atol", atol), ("btol", btol), ("conlim", conlim)):
        at_least_0(limit, value)
    most = 0 if maxiter is None else whole("maxiter", maxiter, most=2**63 - 1)
    with home_of(A=A):
        path, mat, shape, dtype = _operand(name, A, b)
        right, vector = _columns("b", b, shape[0], dtype)
        x = np.zeros((shape[1], right.shape[1]), dtype)
        start = None
        if x0 is not None:
            start, _ = _columns("x0", x0, shape[1], dtype)
            if start.shape != x.shape:
                raise ValueError(f"x0 is of shape {np.shape(x0)}, and b of {np.shape(b)}")
        around = start is not None and float(damp) != 0  # ||x - x0|| is what is damped
        if around and path:
            raise UnsupportedError("x0 with damp is not supported for a file")
        if around:
            right = np.ascontiguousarray(right - np.asarray(matmul(A, start)).reshape(right.shape))
        elif start is not None:
            x[:] = start
        var = np.zeros(x.shape, dtype) if variances else None
        if show:
            callback = _log(name, shape, callback)
        tolerance = usual_limit(dtype) if btol is None else float(btol)
        gradient = 0.0 if atol is None else float(atol) or -1.0
        reports = _core.least_squares(
            current(), path, mat, describe("b", right).array, describe("x", x).array,
            None if var is None else describe("var", var).array, name,
            (float(damp), gradient, tolerance, float(conlim or 0)), most, start is not None and not around,
            None if callback is None else lambda *figures: callback(Step(*figures)))
        if around:
            x += start
            for report, column in zip(reports, x.T):
                report["solution"] = float(np.linalg.norm(column.astype(np.float64)))
    if show:
        _print_results(reports, dtype)
    refuse_not_finite(reports)
    failed = [report for report in reports if not report["converged"]]
    worst = failed[0] if failed else max(reports, key=lambda report: report["iterations"], default={})
    history = {"history": reports[0].pop("history")} if reports else {}
    keep(name, {**worst, "columns": len(reports), "not_converged": len(failed), **history})
    return x, np.zeros_like(x) if var is None else var, [{**r, "istop": _code(r, dtype)} for r in reports], vector


def _results(reports, vector, figures):
    """One number for each figure, or an array with one for each column."""
    columns = [[figure(report) for report in reports] for figure in figures]
    return tuple(column[0] if vector else np.array(column) for column in columns)


def _code(report, dtype):
    """scipy's istop; 0 where there is nothing to do: b is 0, or A^T b, or x0 solves it."""
    r, roundings = report["true_residual"], 10 * np.finfo(dtype).eps
    if report["norm"] == 0 or (report["converged"] and report["iterations"] == 0):
        return 0
    if report["stop"] != "stagnated":
        return _CODES.get(report["stop"], 6)
    if r <= roundings * (report["norm"] + report["operator_norm"] * report["solution"]):
        return 4
    return 5 if report["gradient"] <= roundings * report["operator_norm"] * r else 6


@reporting
def lsqr(A, b, damp=0.0, atol=None, btol=None, conlim=None, iter_lim=None, show=False, calc_var=False, x0=None, *,
         callback=None):
    """The x of least ||A x - b||^2 + damp^2 ||x||^2, by LSQR, as scipy's lsqr: a tuple of ten.

    (x, istop, itn, r1norm, r2norm, anorm, acond, arnorm, xnorm, var): istop is 1 where ||r|| <= btol ||b||, 2 where
    ||A^T r|| <= atol ||A|| ||r||, 3 where acond > conlim (0 or None: no limit), 7 after iter_lim iterations (10000), 0
    where 0 or x0 solves it at once. Where rounding prevents 1 and 2 it is 4 or 5 if r or A^T r is as small as ten
    roundings, else 6. xnorm is ||x||, also with x0. atol, btol: 1e-8 unless given, float32: 1e-5. report()["stop"] names
    the cause. A, b and x0 must be finite: ValueError names the one that is not.

    A: a sparse matrix of any shape, or the name of a file (.bsp.h5, .h5ad, 10x .h5) that is read once an iteration and
    is never in memory as a whole. b may have several columns, which share these reads; figures are arrays then. With
    damp and x0, ||x - x0|| is damped. callback receives a Step after each iteration; show prints them. var, of the shape
    of x, is zeros, or with calc_var estimates the diagonal of (A^T A + damp^2 I)^-1 from below, a column for each one
    of b. anorm is at most ||A||, acond scipy's estimate, 0 without a step, as where A is 0.
    """
    x, var, reports, vector = _fit("lsqr", A, b, damp, atol, btol, conlim, iter_lim, bool(show), bool(calc_var), x0,
                                   callback)
    figures = _results(reports, vector, (
        lambda r: r["istop"], lambda r: r["iterations"], lambda r: r["plain_residual"], lambda r: r["true_residual"],
        lambda r: r["operator_norm"], lambda r: r["condition"], lambda r: r["gradient"], lambda r: r["solution"]))
    return like(x[:, 0] if vector else x, b), *figures, var[:, 0] if vector else var


@reporting
def lsmr(A, b, damp=0.0, atol=None, btol=None, conlim=None, maxiter=None, show=False, x0=None, *, callback=None):
    """The x of least ||A x - b||^2 + damp^2 ||x||^2, by LSMR, as scipy's lsmr: a tuple of eight.

    (x, istop, itn, normr, normar, norma, conda, normx), as of lsqr, whose arguments they are, too. ||A^T r|| becomes
    smaller in each iteration; it may stop earlier than lsqr. conda, by the method's pivots, is usually too small.
    """
    x, _, reports, vector = _fit("lsmr", A, b, damp, atol, btol, conlim, maxiter, bool(show), False, x0, callback)
    figures = _results(reports, vector, (
        lambda r: r["istop"], lambda r: r["iterations"], lambda r: r["true_residual"], lambda r: r["gradient"],
        lambda r: r["operator_norm"], lambda r: r["condition"], lambda r: r["solution"]))
    return like(x[:, 0] if vector else x, b), *figures
