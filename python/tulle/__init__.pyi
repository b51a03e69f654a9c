# SPDX-License-Identifier: Apache-2.0
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

_Matrix: TypeAlias = Any  # of scipy.sparse, NumPy, torch, the Array API, or what exports DLPack or __binsparse__
_Array: TypeAlias = Any  # of NumPy; of torch, or of another namespace of the Array API, where one of these was given
_Operator: TypeAlias = Any  # a _Matrix, a Stream, or what has shape, dtype and matvec
_Blocks: TypeAlias = int | ArrayLike
_Size: TypeAlias = int | str | None

__version__: str
__all__: list[str]

class Error(RuntimeError): ...
class NotConverged(Error): ...
class CheckFailed(Error): ...
class FormatError(ValueError): ...
class UnsupportedError(NotImplementedError, ValueError): ...
class TulleWarning(UserWarning): ...

class Report(dict[str, Any]):
    def _repr_html_(self) -> str: ...
    def plot(self, ax: Any = None) -> Any: ...

class Step:
    column: int
    iteration: int
    residual: float
    norm: float
    def __init__(self, column: int, iteration: int, residual: float, norm: float) -> None: ...

class Plan:
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    def __init__(self, A: _Matrix, B: _Matrix, algorithm: str | None, device: str | None) -> None: ...
    def __call__(self, A: _Matrix | None = None, B: _Matrix | None = None, *, alpha: float = 1.0) -> _Matrix: ...

class Preconditioner:
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    def __init__(self, A: _Matrix, spec: str) -> None: ...

class Triangular:
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    def __init__(
        self, A: _Matrix, lower: bool, unit_diagonal: bool, transposed: bool, method: str, dtype: DTypeLike | None = None
    ) -> None: ...
    def solve(self, b: _Array) -> _Array: ...

class PCA:
    components_: np.ndarray[Any, Any]
    singular_values_: np.ndarray[Any, Any]
    explained_variance_: np.ndarray[Any, Any]
    explained_variance_ratio_: np.ndarray[Any, Any]
    mean_: np.ndarray[Any, Any]
    scale_: np.ndarray[Any, Any] | None
    scores: np.ndarray[Any, Any] | None
    n_components_: int
    n_samples_: int
    def __init__(
        self, components: Any, singular_values: Any, samples: int, variance: float, mean: Any, scale: Any, scores: Any
    ) -> None: ...
    def transform(self, X: _Matrix) -> np.ndarray[Any, Any]: ...

class Stream:
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    def __init__(
        self, A: str | os.PathLike[str] | _Matrix, device: str | None, memory: _Size, format: str | None, columns: int
    ) -> None: ...
    def __matmul__(self, X: _Array) -> _Array: ...

def matmul(A: _Matrix, B: _Matrix, *, alpha: float = 1.0, algorithm: str | None = None, device: str | None = None) -> _Matrix: ...
def top_products(
    A: _Matrix, B: _Matrix, k: int | None = None, *, above: float | None = None, cosine: bool = False,
    alpha: float = 1.0, algorithm: str | None = None,
) -> _Matrix: ...
def matmul_plan(A: _Matrix, B: _Matrix, *, algorithm: str | None = None, device: str | None = None) -> Plan: ...
def gemm(A: _Matrix, B: _Matrix, *, alpha: float = 1.0, algorithm: str | None = None, device: str | None = None) -> _Matrix: ...
def sddmm(S: _Matrix, X: _Array, Y: _Array, *, alpha: float = 1.0) -> _Matrix: ...
def cg(
    A: _Operator, b: _Array, x0: _Array | None = None, *, rtol: float | None = None, atol: float = 0.0,
    maxiter: int | None = None, M: Preconditioner | _Operator | None = None,
    callback: Callable[[Any], object] | None = None, callback_type: str = "x",
) -> tuple[_Array, int]: ...
def gmres(
    A: _Operator, b: _Array, x0: _Array | None = None, *, rtol: float | None = None, atol: float = 0.0,
    restart: int | None = None, maxiter: int | None = None, M: Preconditioner | _Operator | None = None,
    callback: Callable[[Any], object] | None = None, callback_type: str | None = None,
) -> tuple[_Array, int]: ...
def block_cg(
    A: _Operator, b: _Array, x0: _Array | None = None, *, rtol: float | None = None, atol: float = 0.0,
    maxiter: int | None = None, M: Preconditioner | _Operator | None = None,
    callback: Callable[[Any], object] | None = None, callback_type: str = "x",
) -> tuple[_Array, int]: ...
def minres(
    A: _Operator, b: _Array, x0: _Array | None = None, *, rtol: float | None = None, atol: float = 0.0, shift: float = 0.0,
    maxiter: int | None = None, M: Preconditioner | _Operator | None = None,
    callback: Callable[[Any], object] | None = None, callback_type: str = "x",
) -> tuple[_Array, int]: ...
def lsqr(
    A: str | os.PathLike[str] | _Matrix, b: _Array, damp: float = 0.0, atol: float | None = None,
    btol: float | None = None, conlim: float | None = None, iter_lim: int | None = None, show: bool = False,
    calc_var: bool = False, x0: _Array | None = None, *, callback: Callable[[Step], object] | None = None,
) -> Any: ...
def lsmr(
    A: str | os.PathLike[str] | _Matrix, b: _Array, damp: float = 0.0, atol: float | None = None,
    btol: float | None = None, conlim: float | None = None, maxiter: int | None = None, show: bool = False,
    x0: _Array | None = None, *, callback: Callable[[Step], object] | None = None,
) -> Any: ...
def eigsh(
    A: _Operator, k: int = 6, M: _Matrix | None = None, sigma: float | None = None, which: str = "LM", v0: None = None,
    ncv: int | None = None, maxiter: int | None = None, tol: float = 0, return_eigenvectors: bool = True, *,
    block: int | None = None, seed: int = 1, method: str = "auto",
) -> Any: ...
def lobpcg(
    A: _Operator, X: _Array, B: _Matrix | None = None, M: _Operator | None = None, Y: None = None,
    tol: float | None = None, maxiter: int | None = None, largest: bool = True, *,
    block: int | None = None, seed: int = 1,
) -> tuple[Any, Any]: ...
def svds(
    A: str | os.PathLike[str] | _Matrix, k: int = 6, ncv: int | None = None, tol: float = 0, which: str = "LM",
    v0: None = None, maxiter: int | None = None, return_singular_vectors: bool | str = True, solver: None = None, *,
    passes: int | None = None, block: int | None = None, seed: int = 1,
) -> Any: ...
def pca(
    A: str | os.PathLike[str] | _Matrix, n_components: int = 50, *, scale: bool = False, passes: int | None = None,
    tol: float | None = None, block: int | None = None, seed: int = 1, scores: bool = True,
) -> PCA: ...
def ic0(A: _Matrix, *, shift: float | str = 0.0) -> Preconditioner: ...
def ilu0(A: _Matrix, *, floor: float | str = 0.0) -> Preconditioner: ...
def jacobi(A: _Matrix, *, block: int = 1) -> Preconditioner: ...
def triangular(
    A: _Matrix, *, lower: bool = True, unit_diagonal: bool = False, transposed: bool = False, method: str = "auto"
) -> Triangular: ...
def solve_triangular(A: _Matrix, b: _Array, *, lower: bool = True, unit_diagonal: bool = False) -> _Array: ...
def block_matmul(
    A: _Matrix, B: _Matrix | None = None, *, blocks: _Blocks | tuple[_Blocks, ...], alpha: float = 1.0,
    filter: float = 0.0, symmetric_c: bool = False, half: bool = False, algorithm: str = "",
) -> _Matrix: ...
def block_range_add(
    C: _Matrix, P: _Matrix, row: int, col: int, *, blocks: _Blocks | tuple[_Blocks, ...],
    alpha: float = 1.0, beta: float = 1.0,
) -> _Matrix: ...
def matfun(
    function: str | Callable[[float], float], A: _Matrix, *, blocks: _Blocks | None = None, filter: float = 0.0,
    method: str = "submatrix", order: int = 2, combine: str | int = "auto", symmetric: bool = False,
    precision: str = "full", device: str | None = None, check: bool = False,
) -> _Matrix: ...
def density(
    H: _Matrix, S: _Matrix | None = None, *, blocks: _Blocks | None = None, electrons: float | None = None,
    mu: float | None = None, filter: float = 0.0, kT: float = 0.0, degeneracy: float = 2.0, method: str = "submatrix",
    order: int = 2, combine: str | int = "auto", nonorthogonal: bool = False, precision: str = "full",
    device: str | None = None, check: bool = False,
) -> _Matrix: ...
def stream(
    A: str | os.PathLike[str] | _Matrix, *, device: str | None = None, memory: _Size = None, format: str | None = None,
    columns: int = 1,
) -> Stream: ...
def read(
    path: str | os.PathLike[str],
    dtype: DTypeLike = ...,
    *,
    lenient: bool = False,
    zero_based: bool = False,
    finite: bool = False,
    drop_zeros: bool = False,
    assume: str | None = None,
    duplicates: str = "sum",
) -> _Matrix: ...
def write(path: str | os.PathLike[str], A: _Matrix, *, format: str | None = None) -> None: ...
def generate(spec: str, dtype: DTypeLike = ...) -> _Matrix: ...
def aslinearoperator(A: _Matrix | Stream | Preconditioner | Triangular) -> Any: ...
def as_binsparse(A: _Matrix) -> Any: ...
def from_binsparse(x: Any) -> _Matrix: ...
def build() -> dict[str, Any]: ...
def report() -> Report | None: ...
def mpi(comm: Any = None, *, threads: int = 0, memory: _Size = None, spec: str = "mpi") -> AbstractContextManager[Any]: ...
def threads(number: int = 0, *, memory: _Size = None, spec: str | None = None) -> AbstractContextManager[None]: ...
def inside_scipy(smallest: int = 10_000) -> AbstractContextManager[None]: ...
