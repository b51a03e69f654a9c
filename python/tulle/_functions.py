# SPDX-License-Identifier: Apache-2.0
"""Functions of sparse symmetric matrices in dense blocks, and density matrices."""
import numpy as np

from . import _core
from ._arrays import describe, sparse_result
from ._errors import CheckFailed
from ._report import keep, reporting
from ._team import current
from ._values import common_type, whole

_STORAGE = _core.Storage
_TRUNCATION_MOST = 0.1  # as of tulle_matfun_truncation


def _cuts(blocks, n):
    """Rows before each block: of blocks of one size, or of the sizes given."""
    if np.ndim(blocks) == 0:
        size = whole("blocks", blocks)
        if n // size > np.iinfo(np.int32).max:
            raise MemoryError(f"{n} rows in blocks of {size}: there may be {np.iinfo(np.int32).max} blocks")
        return list(range(0, n, size)) + [n]
    sizes = np.asarray(blocks, dtype=np.int64)
    if (sizes < 1).any():
        raise ValueError(f"a block has {sizes.min()} rows: at least 1")
    cuts = np.concatenate([[0], np.cumsum(sizes)])
    if cuts[-1] != n:
        raise ValueError(f"the sizes of the blocks add up to {cuts[-1]}, not {n}")
    return [int(cut) for cut in cuts]


def _blocks_of(name, A, blocks):
    """The sizes of A's blocks: those given, else BSR's. Blocks that were guessed would change the result."""
    if blocks is not None:
        return blocks
    if getattr(A, "format", "") == "bsr" and A.blocksize[0] == A.blocksize[1]:
        return A.blocksize[0]
    raise TypeError(f"blocks is required, the size of all blocks or a list of sizes: {name} has none of its own, "
                    f"as a matrix in BSR has")


def _combined(combine):
    if combine in ("auto", "none"):
        return 0 if combine == "auto" else _core.NONE
    if int(combine) < 1:
        raise ValueError(f"combine is 'auto', 'none' or a number of block columns, not {combine}")
    return int(combine)


def _mixed(precision):
    if precision not in ("full", "mixed"):
        raise ValueError(f"precision is 'full' or 'mixed', not {precision!r}")
    return precision == "mixed"


def _square(name, A, dtype):
    x = describe(name, A, dtype)
    if x.dense:
        raise ValueError(f"{name} is dense: a function is of a sparse matrix")
    if x.shape[0] != x.shape[1]:
        raise ValueError(f"{name} is {x.shape[0]} x {x.shape[1]}: it must be square")
    return x


def _result(x, mat, A):
    storage = getattr(_STORAGE, x.storage if x.kind == "scipy" else "csr")
    C = sparse_result(_core.arrays(mat, storage, False, x.index_bytes, x.first, x.rows), x.kind, x.like)
    return C.tobsr(A.blocksize) if getattr(A, "format", "") == "bsr" else C


@reporting
def matfun(function, A, *, blocks=None, filter=0.0, method="submatrix", order=2, combine="auto", symmetric=False,
           precision="full", device=None, check=False):
    """F = f(A) of a sparse symmetric A in dense blocks, by the submatrix method: a matrix of A's class.

    function: "sign", "sign:mu=0.1", "inverse", "sqrt", "invsqrt", "root:p=-3", "exp",
    "fermi:mu=0.1,kT=0.01", or a Python function of an eigenvalue, which costs a call for each.
    blocks: the size of all blocks, or a list of sizes; of a BSR matrix None means its own. filter: blocks
    off the diagonal with a smaller Frobenius norm are left out. F has A's pattern of blocks; the method's error shrinks as it grows.
    method: "submatrix"; with the whole matrix "newton-schulz" (of an order from 2 to 7) or
    "coupled-newton"; or "auto". combine: "auto", "none", or a number of block columns that share a
    submatrix. symmetric: F is averaged with its transpose. precision: "mixed", submatrices of f64 values
    are computed in f32. device: one that decomposes the submatrices, such as "cuda". check: some
    columns are computed again by another path, and F times a vector is compared with f(A) times it, by
    the Lanczos method: CheckFailed if they differ; the report has error, tolerance and truncation, what the
    pattern and filter cut off. `report()` tells what was done.
    """
    if not isinstance(function, str) and not callable(function):
        raise TypeError("function is a name or a function of a number: matfun(function, A)")
    x = _square("A", A, common_type(A=A))
    blocks = _blocks_of("A", A, blocks)
    named = function if isinstance(function, str) else lambda value: float(function(value))
    result, figures = _core.matfun(_core.mat(current(), x.array), _cuts(blocks, x.shape[0]), named, filter, method,
                                   order, _combined(combine), symmetric, _mixed(precision),
                                   device or "", bool(check))
    keep("matfun", figures)
    return _result(x, result, A)


@reporting
def density(H, S=None, *, blocks=None, electrons=None, mu=None, filter=0.0, kT=0.0, degeneracy=2.0, method="submatrix",
            order=2, combine="auto", nonorthogonal=False, precision="full", device=None, check=False):
    """The density matrix D = S^(-1/2) f(K) S^(-1/2), K = S^(-1/2) H S^(-1/2), for one spin.

    H and S are sparse and symmetric, with the same blocks; S None: the identity. blocks: as of
    `matfun`; None: those of H in BSR. Either electrons or the chemical potential mu is given. kT:
    temperature of the occupations f; degeneracy: electrons a state. method: "submatrix", "newton-schulz", "mcweeny" (mu), "tc2", "trs4" (electrons), "auto".
    nonorthogonal: submatrices are of H and S together, without S^(-1/2). precision, device, check: as of `matfun`;
    truncation is how far D is from one that commutes with H and S, and is a projector at kT = 0.
    `report()` has mu, electrons, energy (and those of the stored D), below and above (HOMO and LUMO of the whole
    system), gap, filled (the occupation of a level that is filled in part), nonorthogonal (the pairs were used) and
    overlap_error (|Z S Z v - v| / |v| of Z = S^(-1/2)), iterations and times.
    """
    if (electrons is None) == (mu is None):
        raise ValueError("one of electrons and mu is required")
    if not degeneracy > 0:
        raise ValueError(f"degeneracy is {degeneracy}: electrons a state, more than 0")
    dtype = common_type(H=H, S=S)
    x = _square("H", H, dtype)
    team = current()
    overlap = None if S is None else _square("S", S, dtype)
    if S is not None and overlap.shape != x.shape:
        raise ValueError(f"H is {x.shape[0]} x {x.shape[1]} and S is {overlap.shape[0]} x {overlap.shape[1]}")
    blocks = _blocks_of("H", H, blocks)
    s = None if S is None else _core.mat(team, overlap.array)
    counted = electrons is not None
    result, figures = _core.density(_core.mat(team, x.array), s, _cuts(blocks, x.shape[0]), counted,
                                    float(electrons if counted else mu), filter, kT, degeneracy, method, order,
                                    _combined(combine), nonorthogonal, _mixed(precision), device or "", bool(check))
    keep("density", figures)
    if check and not figures["truncation"] <= _TRUNCATION_MOST:
        raise CheckFailed(f"the blocks that the pattern and the filter cut matter: the density matrix times a vector is "
                          f"off by {figures['truncation']:.3g}, more than {_TRUNCATION_MOST}")
    return _result(x, result, H)
