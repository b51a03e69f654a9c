# SPDX-License-Identifier: Apache-2.0
"""A process of test_signals.py: one call of the table for some seconds, under signals. signalled.py NAME SIZE"""
import os
import signal
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

import tulle

random = np.random.default_rng(1)


def spread(m, n, k):
    """CSR with k entries a row, one in each of k ranges of columns."""
    columns = np.arange(k) * (n // k) + random.integers(0, n // k, (m, k))
    return sp.csr_matrix((random.standard_normal(m * k), columns.ravel(), np.arange(m + 1) * k), shape=(m, n))


def band(n, below, above, diagonal=None):
    """CSR with a full band; diagonal: that many times the sum of the others, or as they come."""
    columns = np.arange(n)[:, np.newaxis] + np.arange(-below, above + 1)
    inside = (columns >= 0) & (columns < n)
    values = random.uniform(-1, 1, columns.shape)
    if diagonal is not None:
        values[:, below] = diagonal * (below + above + 1)
    pointers = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    return sp.csr_matrix((values[inside], columns[inside].astype(np.int32), pointers.astype(np.int32)), shape=(n, n))


def symmetric(n, width):
    A = band(n, 0, width, 2.0)
    return sp.csr_matrix(A + sp.triu(A, 1).T)


def laplacian(n):
    return sp.csr_matrix(sp.diags([-1.0, 2.000000001, -1], [-1, 0, 1], shape=(n, n)))


def dense(m, n):
    return random.standard_normal((m, n))


def number(size, most):
    return max(int(size * most), 1)


# ---- a call for each name: a function of its size, 1 for some seconds on two cores ----

def gemm(size):
    n = number(size ** (1 / 3), 6000)
    A, B = dense(n, n), dense(n, n)
    return lambda: tulle.gemm(A, B)


def spmm(size):
    A, X = spread(20000, 20000, 200), dense(20000, number(size, 2500))
    return lambda: tulle.matmul(A, X)


def dense_by_sparse(size):
    A, X = spread(20000, 20000, 200), dense(number(size, 2500), 20000)
    return lambda: tulle.matmul(X, A)


def spgemm(size):
    A = band(number(size, 25000), 150, 150)
    return lambda: tulle.matmul(A, A)


def spgemm_of_rmat(size):
    B = sp.csr_matrix(tulle.generate("rmat:scale=17"))
    A = sp.csr_matrix(B[:number(size, B.shape[0])])
    return lambda: tulle.matmul(A, B)


def top_products(size):
    A = band(number(size, 25000), 150, 150)
    return lambda: tulle.top_products(A, A, 10, cosine=True)


def sddmm(size):
    S, X, Y = spread(20000, 20000, 200), dense(20000, number(size, 1500)), dense(20000, number(size, 1500))
    return lambda: tulle.sddmm(S, X, Y)


def matmul_of_coo(size):
    A = spread(number(size, 1200000), 20000, 40).tocoo()
    x = dense(20000, 1)
    return lambda: tulle.matmul(A, x)


def matmul_of_csc(size):
    A = spread(number(size, 1200000), 20000, 40).tocsc()
    X = dense(20000, 8)  # a line of the cache: one panel, which one thread makes
    return lambda: tulle.matmul(A, X)


def matmul_into_csc(size):
    A, B = band(number(size, 25000), 100, 100).tocsc(), sp.identity(number(size, 25000), format="csc")
    return lambda: [tulle.matmul(A, B) for _ in range(20)]


def matmul_plan(size):
    A = band(number(size, 25000), 100, 100)

    def call():
        plan = tulle.matmul_plan(A, A)
        plan()
        plan(A, A)

    return call


def matmul_plan_dense(size):
    A, X = spread(20000, 20000, 200), dense(20000, number(size, 800))

    def call():
        plan = tulle.matmul_plan(A, X)
        for _ in range(3):
            plan(A, X)

    return call


def block_matmul(size):
    A = band(number(size, 12000), 150, 150)
    return lambda: [tulle.block_matmul(A, blocks=6) for _ in range(5)]


def block_range_add(size):
    A = band(number(size, 20000), 100, 100)
    P = sp.csr_matrix(A[:1200, :1200])
    return lambda: [tulle.block_range_add(A, P, 0, 0, blocks=6) for _ in range(4)]


def solves(method, **more):
    def make(size):
        A = laplacian(200000)
        b = np.ones(A.shape[0])
        return lambda: getattr(tulle, method)(A, b, rtol=1e-15, maxiter=number(size, more["maxiter"]))

    return make


def block_cg(size):
    A, B = symmetric(100000, 10), dense(100000, 24)
    A.setdiag(np.abs(A).sum(axis=1).A1 / 2)
    return lambda: tulle.block_cg(A, B, rtol=1e-15, maxiter=number(size, 60))


def lsqr(size):
    A = laplacian(200000)
    b = np.arange(A.shape[0]) % 7.0
    return lambda: tulle.lsqr(A, b, atol=0, btol=1e-15, iter_lim=number(size, 2000))


def lsmr(size):
    A = laplacian(200000)
    b = np.arange(A.shape[0]) % 7.0
    return lambda: tulle.lsmr(A, b, atol=0, btol=1e-15, maxiter=number(size, 800))


def unconverged(call):
    """Pairs are as good as the passes that they were given: the call takes as long as it should."""
    try:
        return call()
    except tulle.NotConverged:
        return None


def eigsh(passes, pairs, n=200000):
    def make(size):
        A = laplacian(n)
        return lambda: unconverged(lambda: tulle.eigsh(A, pairs, which="SA", maxiter=number(size, passes)))

    return make


def eigsh_sigma(size):
    A = tulle.generate(f"stencil3d:n={number(size ** (1 / 6), 28)}")
    return lambda: tulle.eigsh(A, 2, sigma=1.0)


def lobpcg(size):
    A, X = laplacian(200000), dense(200000, 8)
    return lambda: unconverged(lambda: tulle.lobpcg(A, X, largest=False, maxiter=number(size, 40)))


def of_rows(name, passes, **options):
    def make(size):
        A = spread(100000, 10000, 20)
        return lambda: unconverged(lambda: getattr(tulle, name)(A, 40, passes=number(size, passes), **options))

    return make


def cg_preconditioned(kind):
    def make(size):
        A = laplacian(200000)
        b, M = np.ones(A.shape[0]), getattr(tulle, kind)(A)
        return lambda: tulle.cg(A, b, rtol=1e-15, maxiter=number(size, 1000), M=M)

    return make


def cg_of_dense(size):
    A, b = dense(5000, 5000), dense(5000, 1)[:, 0]
    A = A @ A.T
    return lambda: tulle.cg(A, b, rtol=1e-15, maxiter=number(size, 200))


def ic0(size):
    A = symmetric(number(size, 60000), 250)
    return lambda: tulle.ic0(A)


def ilu0(size):
    A = band(number(size, 40000), 200, 200, 1.0)
    return lambda: tulle.ilu0(A)


def triangular(method, columns):
    def make(size):
        L, B = band(20000, 400, 0, 1.0), dense(20000, number(size, columns))
        T = tulle.triangular(L, method=method)
        return lambda: T.solve(B)

    return make


def triangular_new(size):
    L = band(number(size, 300000), 150, 0, 1.0)
    return lambda: tulle.triangular(L)


def triangular_new_spread(size):
    n = number(size, 600000)
    L = sp.csr_matrix(sp.tril(spread(n, n, 40), -1) + sp.identity(n))
    return lambda: tulle.triangular(L)


def solve_triangular(size):
    L, B = band(20000, 400, 0, 1.0), dense(20000, number(size, 1500))
    return lambda: tulle.solve_triangular(L, B)


def matfun(function, n=60000, **options):
    def make(size):
        A = symmetric(number(size, n), 60)
        return lambda: tulle.matfun(function, A, blocks=6, **options)

    return make


def matfun_of_one_submatrix(size):
    n = number(size ** (1 / 3), 2400)
    A = symmetric(n, n - 1)
    return lambda: tulle.matfun("sign", A, blocks=n)


def density(n, **options):
    def make(size):
        H = symmetric(number(size, n), 40)
        return lambda: tulle.density(H, blocks=6, electrons=number(size, n), filter=1e-3, **options)

    return make


folder = tempfile.TemporaryDirectory()


def path(ending):
    return os.path.join(folder.name, f"A{ending}")


def written(ending, most, repeats=1):
    def make(size):
        A = spread(number(size, most), 100000, 20)
        return lambda: [tulle.write(path(ending), A) for _ in range(repeats)]

    return make


def read(ending, most, repeats=1):
    def make(size):
        tulle.write(path(ending), spread(number(size, most), 100000, 20))
        return lambda: [tulle.read(path(ending)) for _ in range(repeats)]

    return make


def dense_written(size):
    X = dense(number(size, 20000), 4000)
    return lambda: [tulle.write(path(".npy"), X) for _ in range(2)]


def dense_read(size):
    tulle.write(path(".npy"), dense(number(size, 20000), 4000))
    return lambda: [tulle.read(path(".npy")) for _ in range(4)]


def generate(size):
    return lambda: tulle.generate(f"rmat:scale={20 if size == 1 else 17}")


def stream_of_file(size):
    tulle.write(path(".bsp.h5"), spread(number(size, 300000), 100000, 40))
    S = tulle.stream(path(".bsp.h5"), memory="64M", columns=8)
    X = dense(100000, 8)
    return lambda: [S @ X for _ in range(40)]


def stream_of_matrix(size):
    S = tulle.stream(spread(number(size, 300000), 100000, 40), columns=128)
    X = dense(100000, 128)
    return lambda: [S @ X for _ in range(2)]


def inside_scipy(size):
    A = band(number(size, 25000), 150, 150)

    def call():
        with tulle.inside_scipy():
            return A @ A

    return call


CALLS = {
    "gemm": gemm, "matmul: sparse by dense": spmm, "matmul: dense by sparse": dense_by_sparse,
    "matmul: sparse by sparse": spgemm, "matmul: rmat": spgemm_of_rmat,
    "matmul: coo": matmul_of_coo, "matmul: csc": matmul_of_csc, "matmul: into csc": matmul_into_csc,
    "matmul_plan": matmul_plan, "matmul_plan: dense": matmul_plan_dense, "sddmm": sddmm,
    "top_products": top_products,
    "block_matmul": block_matmul, "block_range_add": block_range_add,
    "cg": solves("cg", maxiter=3000), "gmres": solves("gmres", maxiter=40), "block_cg": block_cg,
    "minres": solves("minres", maxiter=2000), "lsqr": lsqr, "lsmr": lsmr,
    "eigsh": eigsh(150, 10), "eigsh: many pairs": eigsh(1000, 500, 3000), "eigsh: sigma": eigsh_sigma, "lobpcg": lobpcg,
    "svds": of_rows("svds", 30), "pca": of_rows("pca", 30),
    "cg: ic0": cg_preconditioned("ic0"), "cg: ilu0": cg_preconditioned("ilu0"), "cg: jacobi": cg_preconditioned("jacobi"),
    "cg: dense": cg_of_dense,
    "ic0": ic0, "ilu0": ilu0,
    "triangular": triangular_new, "triangular: spread": triangular_new_spread,
    "solve_triangular": solve_triangular,
    **{f"triangular: {method}": triangular(method, columns)
       for method, columns in [("auto", 2000), ("serial", 1000), ("levels", 1000), ("p2p", 2000), ("growlocal", 2000), ("supernodal", 2000)]},
    "matfun: sign": matfun("sign"), "matfun: function": matfun(lambda x: x * x),
    "matfun: newton-schulz": matfun("sign", 3000, method="newton-schulz"), "matfun: one submatrix": matfun_of_one_submatrix,
    "density": density(30000), "density: tc2": density(3000, method="tc2"),
    "generate": generate,
    "write: mtx": written(".mtx", 1200000), "write: mtx.gz": written(".mtx.gz", 1000000),
    "write: npz": written(".npz", 2000000), "write: bsp.h5": written(".bsp.h5", 1200000, 3),
    "write: petsc": written(".petsc", 1200000, 3),
    "read: mtx": read(".mtx", 1200000), "read: mtx.gz": read(".mtx.gz", 800000),
    "read: npz": read(".npz", 2000000), "read: bsp.h5": read(".bsp.h5", 500000, 5),
    "read: petsc": read(".petsc", 1000000, 3), "write: npy": dense_written, "read: npy": dense_read,
    "stream: file": stream_of_file, "stream: matrix": stream_of_matrix,
    "inside_scipy": inside_scipy,
}


def say(*words):
    """A line, whole: handlers say theirs between others."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def largest_gap(times):
    return max(later - earlier for earlier, later in zip(times, times[1:]))


def under_ticks(call):
    """Runs the call under a timer's signals every 20 ms; others are sent meanwhile."""
    ticks = []

    def now():
        return time.monotonic(), time.process_time()

    def received(number, frame):
        say("handler", signal.Signals(number).name, time.monotonic())

    signal.signal(signal.SIGALRM, lambda number, frame: ticks.append(now()))
    signal.signal(signal.SIGTERM, received)
    signal.signal(signal.SIGUSR1, received)
    ticks.append(now())
    say("begins")
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    call()
    ticks.append(now())
    signal.setitimer(signal.ITIMER_REAL, 0)
    wall, processor = zip(*ticks)
    say("ended", wall[-1] - wall[0], processor[-1] - processor[0], largest_gap(wall), largest_gap(processor))


def interrupted(call):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    say("begins")
    try:
        call()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the call was faster than before
        say("ended", time.monotonic())
    except KeyboardInterrupt:
        say("interrupted", time.monotonic())


def main():
    call = CALLS[sys.argv[1]](float(sys.argv[2]))
    under_ticks(call)
    interrupted(call)
    A = spread(50, 50, 5)
    X = dense(50, 3)
    assert np.allclose(tulle.matmul(A, X), A.toarray() @ X)
    say("usable")


if __name__ == "__main__":
    main()
