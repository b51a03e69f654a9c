# SPDX-License-Identifier: Apache-2.0
"""Eigenpairs, singular values and principal components, after scipy's and scikit-learn's signatures."""
import os

import numpy as np

from . import _core
from ._arrays import dense_result, describe, like
from ._errors import UnsupportedError
from ._krylov import _fixed, _operand
from ._report import keep, reporting
from ._team import current, home_of, part
from ._values import at_least_0, common_type, path_of, real, whole
from ._warnings import say
from ._words import arguments

_ENDS = ("LM", "LA", "SA", "BE")
_METHODS = ("auto", "lanczos", "chebyshev")

_AT_ONCE = 2  # passes of lobpcg, within which no other direction shows


def _figures(k, most, word, tol, passes, block, ncv, maxiter, seed):
    if int(k) != k or not 1 <= k <= most:
        raise ValueError(f"k is {k}: 1 to {most} {word}")
    given = {"passes": passes, "block": block, "ncv": ncv, "maxiter": maxiter}
    numbers = (0 if value is None else whole(name, value) for name, value in given.items())
    return (int(k), at_least_0("tol", tol), *numbers, whole("seed", seed, 0, 2**64 - 1))


def _warn_of_missed(report, passes=None):
    """Says where the look for pairs that were missed has ended early: by maxiter, or as they are many and alike."""
    if not passes and report["missed"] > 1e-4:
        say([f"all pairs have converged, but a better one was missed with a chance of up to {report['missed']:.2g}: the "
             f"look for others has ended after {report['passes']} passes"])


def _sparse(name, A, dtype):
    """The handle of a sparse matrix that is no mere operator, with its description."""
    if _fixed(A):
        raise UnsupportedError(f"{name} is an operator: here it must be a sparse matrix")
    a = describe(name, A, dtype)
    if a.dense:
        raise UnsupportedError(f"{name} is dense: here it must be a sparse matrix")
    return _core.mat(current(), a.array), a


def _pencil(A, M, sigma, which, k, tol, block, ncv, maxiter, seed, method, vectors):
    """What _core gives for A x = w M x, with the type."""
    if sigma is not None and which != "LM":
        raise UnsupportedError(f"with sigma the values nearest to it are found: which is 'LM' then, not {which!r}")
    dtype = common_type(A=A) if M is None else common_type(A=A, M=M)
    H, a = _sparse("A", A, dtype)
    S = None if M is None else _sparse("M", M, dtype)[0]
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"A is {a.shape[0]} x {a.shape[1]}: it must be square")
    figures = _figures(k, a.shape[0], "pairs of A", tol, None, block, ncv, maxiter, seed)
    first, rows = (0, 0) if current().size == 1 else (a.first, a.rows)
    with arguments(H="A", S="M"):
        return (*_core.pencil_pairs(current(), H, S, which, figures, method, sigma is not None, float(sigma or 0),
                                    vectors, first, rows), a.dtype)


@reporting
def eigsh(A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True, *,
          block=None, seed=1, method="auto"):
    """k eigenvalues w, ascending, and orthonormal eigenvectors v in columns of a symmetric A, as scipy's eigsh.

    which: "LM", the largest in magnitude, "LA", "SA", or "BE", from both ends by turns. A: sparse, dense, a Stream, or
    an operator with matvec. sigma: the values nearest to it (which is "LM"), by direct factors of A - sigma I. M: a
    sparse, symmetric positive definite matrix, for A v = w M v with v^T M v = 1; it is factorised. A and M are sparse
    where there is one of these. A pair has converged when ||A v - w v|| <= tol |w|; tol 0: 1e-8, float32: 1e-4. ncv:
    vectors of the basis. block: vectors that A is multiplied with at a time; unless given 4, or 1 for fewer than 20
    pairs of a sparse A with few entries a row. method: "lanczos"; "chebyshev", for many pairs and for few that converge
    slowly, but not "BE": by a polynomial of A, with several products for a vector of the basis; "auto": the faster one
    of these for a sparse A. maxiter: products with a block, 1000 unless given, chebyshev: 10000, or 40000 / block,
    below 1000 "auto" is "lanczos"; NotConverged after them. Directions begin at random, by seed: v0 is an UnsupportedError. report() has passes,
    residuals and orthogonality.
    """
    if v0 is not None:
        raise UnsupportedError("v0 is not supported: eigsh begins with random directions, by seed")
    if which == "SM":
        raise UnsupportedError("which 'SM' is not supported: sigma=0 finds the values nearest to 0")
    if which not in _ENDS:
        raise ValueError(f"which is {which!r}, not one of {', '.join(_ENDS)}")
    if method not in _METHODS:
        raise ValueError(f"method is {method!r}, not one of {', '.join(_METHODS)}")
    if method == "chebyshev" and (sigma is not None or which == "BE"):
        raise UnsupportedError("chebyshev finds pairs of one end (SA, LA) or the largest in magnitude (LM), without sigma")
    with home_of(A=A, M=M):
        if sigma is not None or M is not None:
            values, residuals, vectors, report, dtype = _pencil(A, M, sigma, which, k, tol, block, ncv, maxiter, seed,
                                                                method, bool(return_eigenvectors))
        else:
            operator, shape, rows, dtype = _operand("A", A, None if _fixed(A) else common_type(A=A))
            if shape[0] != shape[1]:
                raise ValueError(f"A is {shape[0]} x {shape[1]}: it must be square")
            n = shape[0]
            figures = _figures(k, n, "pairs of A", tol, None, block, ncv, maxiter, seed)
            first, count = (0, 0) if rows is None or current().size == 1 else (part(rows)[1], rows)
            entries = 0 if _fixed(A) or ncv is not None else getattr(A, "nnz", 0)
            values, residuals, vectors, report = _core.eigenpairs(
                current(), operator, n, dtype == np.float32, which, figures, method, float(entries),
                bool(return_eigenvectors), first, count)
    order = np.argsort(values, kind="stable")
    keep("eigsh", {**report, "residuals": np.asarray(residuals)[order].tolist()})
    _warn_of_missed(report)
    w = np.asarray(values)[order].astype(dtype)
    if not return_eigenvectors:
        return like(w, A)
    return like(w, A), like(np.ascontiguousarray(dense_result(vectors, "numpy")[:, order]), A)


@reporting
def lobpcg(A, X, B=None, M=None, Y=None, tol=None, maxiter=None, largest=True, *, block=None, seed=1):
    """The largest eigenvalues w, descending, or the smallest, ascending, and vectors v of A v = w v, as scipy's lobpcg.

    X: n x k, first vectors for k pairs. A: sparse, dense, or an operator with matvec. B: sparse, symmetric positive
    definite, for A v = w B v with v^T B v = 1. M: the preconditioner, A^-1 nearly, such as ic0(A), or a matrix or an
    operator that is applied. A pair has converged when ||A v - w B v|| <= tol |w| ||B v||; tol None: 1e-8, float32:
    1e-4. block: vectors that are iterated, k and max(2, k / 4) more unless given, which begin at random, by seed.
    maxiter: 1000 unless given; NotConverged after them. Y is not supported. report() has passes and residuals.
    """
    if Y is not None:
        raise UnsupportedError("Y is not supported: lobpcg has no constraints")
    with home_of(A=A, M=M):
        dtype = None if _fixed(A) or _fixed(M) else common_type(A=A, X=X)
        operator, shape, rows, dtype = _operand("A", A, dtype)
        if shape[0] != shape[1]:
            raise ValueError(f"A is {shape[0]} x {shape[1]}: it must be square")
        first = real("X", X, dtype)
        if rows is None:
            rows = shape[0] if current().size == 1 else len(first)
        if first.ndim != 2:
            raise ValueError(f"X has {first.ndim} dimensions, not two: a first vector for each pair, in columns")
        if first.shape[0] != rows:
            raise ValueError(f"X is of shape {first.shape}, and A has {rows} rows")
        figures = _figures(first.shape[1], shape[0], "pairs of A", tol or 0, None, block, None, maxiter, seed)
        S = None if B is None else _sparse("B", B, dtype)[0]
        preconditioner = None if M is None else _operand("M", M, None if _fixed(M) else dtype)[0]
        v = np.array(first, dtype=dtype, order="C")
        with arguments(S="B"):
            values, residuals, report = _core.lobpcg(
                current(), operator, S, preconditioner, describe("X", v).array, figures, bool(largest))
    keep("lobpcg", {**report, "residuals": list(residuals)})
    if report["passes"] <= _AT_ONCE and first.shape[1] < shape[0]:
        say([f"the first vectors in X have converged after {report['passes']} passes: others may be better ones, which were "
             "not looked for"])
    return like(np.asarray(values).astype(dtype), X), like(v, X)


def _triplets(name, A, k, tol, passes, block, ncv, maxiter, seed, centre, scale, scores, left, right):
    """(sigma, U, V, means, deviations, report, type) of a matrix or a file."""
    path, mat, first, rows, shape, dtype = "", None, 0, 0, None, np.dtype(np.float64)
    if isinstance(A, (str, os.PathLike)):
        path = path_of(A)
    else:
        a = describe("A", A, common_type(A=A))
        if a.dense:
            raise ValueError(f"A is dense: {name} takes a sparse matrix, or the name of a file with one")
        mat, shape, dtype = _core.mat(current(), a.array), a.shape, a.dtype
        if current().size > 1:
            first, rows = a.first, a.rows
    most = min(shape) if shape else 2**31 - 1
    figures = _figures(k, most, "values of A", tol, passes, block, ncv, maxiter, seed)
    sigma, residuals, U, V, means, deviations, report = _core.triplets(
        current(), path, mat, figures, centre, scale, scores, left, right, first, rows)
    keep(name, {**report, "residuals": residuals})
    _warn_of_missed(report, passes)
    return (np.asarray(sigma), U and dense_result(U, "numpy"), V and dense_result(V, "numpy"), np.asarray(means),
            np.asarray(deviations), report, dtype)


@reporting
def svds(A, k=6, ncv=None, tol=0, which="LM", v0=None, maxiter=None, return_singular_vectors=True, solver=None, *,
         passes=None, block=None, seed=1):
    """The k largest singular values s, ascending, of a sparse A, and u, s, vt as scipy's svds.

    A: a sparse matrix, or the name of a file (.bsp.h5, .h5ad, 10x .h5) that is read once a pass and is never in memory
    as a whole. return_singular_vectors: True, False, "u" or "vh", of which the other one is None. tol: of
    ||A^T u - s v|| / s; 0: 1e-8, float32: 1e-4. passes: so many, from k + 10 random directions, whatever the residuals
    are then (report()), without tol and maxiter. Values below about 1e-4 of the largest (1e-2 for float32) may raise
    NotConverged.
    """
    if which != "LM" or v0 is not None or solver is not None:
        raise UnsupportedError("svds finds the largest values (which='LM'), from random directions, by its own method: "
                               "which, v0 and solver are not supported otherwise")
    if passes is not None and (tol or maxiter is not None):
        raise ValueError("passes takes so many whatever the residuals are, and tol as many as it needs, up to maxiter: "
                         "give passes alone, or these")
    if return_singular_vectors not in (True, False, "u", "vh"):
        raise ValueError(f"return_singular_vectors is {return_singular_vectors!r}: True, False, 'u' or 'vh'")
    left, right = return_singular_vectors in (True, "u"), return_singular_vectors in (True, "vh")
    sigma, U, V, *_, dtype = _triplets("svds", A, k, tol, passes, block, ncv, maxiter, seed, False, False, False, left,
                                       right)
    s = np.ascontiguousarray(sigma[::-1]).astype(dtype)
    if return_singular_vectors is False:
        return s
    return (np.ascontiguousarray(U[:, ::-1]) if left else None), s, (
        np.ascontiguousarray(V[:, ::-1].T) if right else None)


class PCA:
    """Principal components of the rows of a sparse matrix, which stays sparse; the attributes are scikit-learn's.

    ``components_`` (k x variables), ``explained_variance_``, ``explained_variance_ratio_``, ``singular_values_``,
    ``mean_``, and ``scale_`` where columns were divided by their standard deviations; scores, the rows in terms of the
    components.
    """

    def __init__(self, components, singular_values, samples, variance, mean, scale, scores):
        self.components_ = components
        self.singular_values_ = singular_values
        explained = np.square(singular_values, dtype=np.float64) / max(samples - 1, 1)  # squares of float32 may be inf
        ratio = explained / variance if variance > 0 else 0 * explained
        with np.errstate(over="ignore", under="ignore"):
            self.explained_variance_ = explained.astype(singular_values.dtype)
        self.explained_variance_ratio_ = ratio.astype(singular_values.dtype)
        self.mean_ = mean
        self.scale_ = scale
        self.scores = scores
        self.n_components_ = len(singular_values)
        self.n_samples_ = samples

    def transform(self, X):
        """Rows of X, with the same variables, in terms of the components."""
        shape = np.shape(X) if not hasattr(X, "shape") else tuple(X.shape)
        if len(shape) != 2 or shape[1] != len(self.mean_):
            raise ValueError(f"X is of shape {shape}: rows of {len(self.mean_)} variables are required")
        factor = self.components_.T if self.scale_ is None else self.components_.T / self.scale_[:, None]
        return np.asarray(X @ factor) - self.mean_ @ factor

    def __repr__(self):
        return f"<tulle.PCA of {self.n_samples_} samples: {self.n_components_} components>"


@reporting
def pca(A, n_components=50, *, scale=False, passes=None, tol=None, block=None, seed=1, scores=True):
    """The principal components of the rows (samples) of a sparse A: a PCA.

    A: a sparse matrix, or the name of a file, as of svds. Columns are taken without their means, and with scale over
    their standard deviations, but never made dense. passes: 4 unless tol is given, from n_components + 10 random
    directions; two more find means and scores. tol: until ||S^T u - s v|| <= tol s for all, S the centred matrix.
    scores False: only the components are kept.
    """
    if tol is not None and passes is not None:
        raise ValueError("passes takes so many whatever the residuals are, and tol as many as it needs: give one of them")
    sigma, U, V, mean, deviation, report, dtype = _triplets(
        "pca", A, n_components, tol or 0, 4 if tol is None and passes is None else passes, block, None, None, seed, True,
        bool(scale), True, bool(scores), True)
    samples = report["rows"]
    divided = np.where(deviation > 0, deviation, 1) if scale else None
    return PCA(np.ascontiguousarray(V.T), sigma.astype(dtype), samples, report["variance"], mean, divided, U)
