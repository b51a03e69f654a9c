# SPDX-License-Identifier: Apache-2.0
"""What each process of test_mpi.py runs: calls over mpi4py's processes, compared with scipy's on whole matrices."""
import sys

import numpy as np
import scipy.sparse as sp
from mpi4py import MPI

import tulle

comm = MPI.COMM_WORLD
random = np.random.default_rng(1)


def own(X):
    """This process's rows: few for the first process, many for the last."""
    m, size, rank = X.shape[0], comm.size, comm.rank
    return X[m * rank**2 // size**2 : m * (rank + 1) ** 2 // size**2]


def whole(X):
    parts = comm.allgather(X)
    return sp.vstack(parts).tocsr() if sp.issparse(X) else np.concatenate(parts)


def close(X, Y, tolerance=1e-12):
    X = whole(X)
    difference = abs(X - Y).max() if not sp.issparse(X) else abs((X - Y).toarray()).max()
    assert X.shape == Y.shape and difference <= tolerance, difference


def matrix(m, n, kind=sp.csr_array):
    return kind(sp.random(m, n, density=0.2, random_state=np.random.RandomState(m + n), format="csr"))


def refused(call):
    try:
        call()
    except tulle.UnsupportedError as error:
        assert "several processes" in str(error), error
    else:
        raise AssertionError("not refused")


def products():
    A, B, X = matrix(40, 30), matrix(30, 50), random.random((30, 3))
    mine = own(A)
    C = tulle.matmul(mine, own(B))
    assert isinstance(C, sp.csr_array) and C.shape == (mine.shape[0], 50)
    close(C, A @ B)
    close(tulle.matmul(mine.tocsc(), own(B).tocoo()), A @ B)
    close(tulle.matmul(mine, own(X)), A @ X)
    close(tulle.matmul(mine, own(X[:, 0])), A @ X[:, 0])
    close(tulle.matmul(mine.astype(np.float32), own(X.astype(np.float32))), A @ X, 1e-5)
    close(tulle.gemm(own(X), own(np.eye(3))), X)
    plan = tulle.matmul_plan(mine, own(X))
    close(plan(), A @ X)
    mine.data *= 2
    close(plan(mine, own(X + 1)), 2 * A @ (X + 1))
    for wrong in (lambda: tulle.matmul(own(X), own(sp.csr_array(np.eye(3)))), lambda: tulle.sddmm(mine, A @ X, X)):
        if comm.size > 1:
            refused(wrong)
    return C


def solves():
    n = 60
    A = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    b = random.random((n, 2))
    for call, M in ((tulle.cg, tulle.ic0(own(A))), (tulle.gmres, tulle.jacobi(own(A))), (tulle.block_cg, None)):
        x, info = call(own(A), own(b), rtol=1e-12, M=M)
        assert info == 0
        close(x, sp.linalg.spsolve(A.tocsc(), b), 1e-9)
    inverse = sp.diags_array(1 / A.diagonal()).tocsr()
    x, info = tulle.cg(own(A), own(b), rtol=1e-12, M=own(inverse))
    assert info == 0
    close(x, sp.linalg.spsolve(A.tocsc(), b), 1e-9)
    residuals = []
    tulle.cg(own(A), own(b[:, 0]), callback=residuals.append, callback_type="pr_norm")
    assert residuals[-1] <= 1e-8 if comm.rank == 0 else not residuals  # the first process's
    whole_operator, ones = sp.linalg.aslinearoperator(own(A)), own(b)
    for wrong in (lambda: tulle.cg(whole_operator, ones), lambda: tulle.cg(own(A).toarray(), ones),
                  lambda: tulle.cg(own(A), ones, M=whole_operator),
                  lambda: tulle.cg(own(A), ones, callback=print)):
        if comm.size > 1:
            refused(wrong)

    def stop(step):
        raise KeyError("enough")

    try:
        tulle.cg(own(A), own(b), callback=stop, callback_type="step")
    except KeyError:
        assert comm.rank == 0
    except tulle.Error as error:
        assert comm.rank > 0 and "interrupted" in str(error)
    else:
        raise AssertionError("the callback's exception was lost")
    L = sp.tril(A).tocsr()
    x = tulle.triangular(own(L)).solve(own(b[:, 0]))
    close(x, sp.linalg.spsolve_triangular(L, b[:, 0]))
    close(tulle.solve_triangular(own(L), own(b)), sp.linalg.spsolve_triangular(L, b))
    F = tulle.matfun("inverse", own(A), blocks=5)
    assert abs(whole(F).trace() - np.trace(np.linalg.inv(A.toarray()))) < 1e-2


def files(path):
    A = matrix(20, 15)
    tulle.write(path, own(A))
    close(tulle.read(path), A)
    G = whole(tulle.generate("stencil2d:n=6"))
    assert G.shape == (36, 36) and G.nnz == 156 and abs(G - G.T).max() == 0


def many_objects():
    """Objects that go at other times in each process are freed once they are gone in all."""
    A, kept = matrix(20, 20), []
    for turn in range(30):
        plan = tulle.matmul_plan(own(A), own(A))
        if (turn + comm.rank) % 3 == 0:
            kept.append(plan)
        if turn % 7 == comm.rank:
            kept.clear()
        close(plan(), A @ A)


with tulle.mpi(comm, spec=sys.argv[2]):
    result = products()
    solves()
    files(sys.argv[1])
    many_objects()
    plan = tulle.matmul_plan(own(matrix(9, 9)), own(matrix(9, 9)))
close(result, matrix(40, 30) @ matrix(30, 50))
try:
    plan()
except tulle.Error as error:
    assert "has been closed" in str(error)
else:
    raise AssertionError("a plan of a closed team")
# this process alone again
assert abs(tulle.matmul(matrix(9, 9), np.ones(9)) - matrix(9, 9) @ np.ones(9)).max() < 1e-12
comm.Barrier()
print(f"process {comm.rank} done")
