# SPDX-License-Identifier: Apache-2.0
"""Sparse and dense linear algebra over one-sided communication.

    C = tulle.matmul(A, B)                      # scipy.sparse, NumPy, torch
    plan = tulle.matmul_plan(A, B); C = plan()  # structure kept
    C = tulle.top_products(X, X.T, 10, cosine=True)
    x, info = tulle.cg(A, b, M=tulle.ic0(A))
    x = tulle.triangular(L).solve(b)
    y = tulle.stream("A.bsp.h5", memory="2G") @ x
    w, v = tulle.eigsh(A, k=10, which="SA")
    parts = tulle.pca("cells.h5ad", 50)         # read once a pass
    F = tulle.matfun("sign", A, blocks=6, filter=1e-5)
    D = tulle.density(H, S, electrons=2048, blocks=6)
    print(tulle.report())                       # what the last call did
    print(tulle.build())                        # what is in this build
"""
from ._binsparse import from_binsparse
from ._blocks import block_matmul, block_range_add
from ._build import build
from ._core import version as _version
from ._errors import CheckFailed, Error, FormatError, NotConverged, UnsupportedError
from ._functions import density, matfun
from ._inside_scipy import inside_scipy
from ._interchange import as_binsparse
from ._io import generate, read, write
from ._krylov import Preconditioner, Step, block_cg, cg, gmres, ic0, ilu0, jacobi, minres
from ._least_squares import lsmr, lsqr
from ._linear_operator import aslinearoperator
from ._products import Plan, gemm, matmul, matmul_plan, sddmm
from ._report import Report, report
from ._spectrum import PCA, eigsh, lobpcg, pca, svds
from ._stream import Stream, stream
from ._team import mpi, threads
from ._threadpool import register as _register
from ._top_products import top_products
from ._triangular import Triangular, solve_triangular, triangular
from ._warnings import TulleWarning

__version__ = _version()
__all__ = [
    "CheckFailed", "Error", "FormatError", "NotConverged", "PCA", "Plan", "Preconditioner", "Report", "Step",
    "Stream", "Triangular", "TulleWarning", "UnsupportedError", "as_binsparse", "aslinearoperator", "block_cg",
    "block_matmul", "block_range_add", "build", "cg", "density", "eigsh", "from_binsparse", "gemm", "generate",
    "gmres", "ic0", "ilu0", "inside_scipy", "jacobi", "lobpcg", "lsmr", "lsqr", "matfun", "matmul", "matmul_plan",
    "minres", "mpi", "pca", "read", "report", "sddmm", "solve_triangular", "stream", "svds", "threads", "top_products",
    "triangular", "write",
]
_register()
