# SPDX-License-Identifier: Apache-2.0
"""Threads of Python, forks and signals: a row of a table for each name of tulle, or it fails."""
import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import tulle

ROUNDS = int(os.environ.get("TULLE_THREAD_ROUNDS", "3"))  # of each thread; 200 in check-all
THREADS = 4
N = 60


def matrix(seed):
    A = sp.random(N, N, 0.1, "csr", random_state=seed)
    return sp.csr_matrix(A + A.T + 12 * sp.identity(N))


A = matrix(0)
OTHERS = [sp.csr_matrix((A.data * (1 + k), A.indices, A.indptr), A.shape) for k in range(THREADS)]
X = [np.random.default_rng(k).standard_normal((N, 3)) for k in range(THREADS)]


def bits(result):
    """The bits that two results must share."""
    if isinstance(result, tuple):
        return tuple(bits(part) for part in result)
    if hasattr(result, "tocsr"):
        C = result.tocsr()
        return C.shape, C.data.tobytes(), C.indices.tobytes(), C.indptr.tobytes()
    if hasattr(result, "numpy"):
        result = result.detach().numpy()
    return result.tobytes() if isinstance(result, np.ndarray) else result


def of_file(k):
    path = f"threads-{os.getpid()}-{k}-{threading.get_ident()}.mtx"
    try:
        tulle.write(path, OTHERS[k])
        return tulle.read(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def in_scipy(k):
    with tulle.inside_scipy(1):
        return OTHERS[k] @ X[k]


def in_block(k):
    with tulle.threads(1 + k % 2):
        return tulle.matmul(OTHERS[k], A)


def reported(k):
    tulle.matmul(OTHERS[k], X[k][:, : 1 + k % 3])
    return tulle.report()["flops"]


class plain:
    """A row of calls that share nothing."""

    def __init__(self, call):
        self.call = call

    def __call__(self):
        return self.call


# a function that makes what threads share, and returns what thread k does with it: the same each time
ROWS = {
    "Plan": lambda: (lambda plan: lambda k: plan(OTHERS[k], A))(tulle.matmul_plan(A, A.copy())),
    "matmul_plan": lambda: (lambda plan: lambda k: plan(OTHERS[k], X[k]))(tulle.matmul_plan(A, X[0])),
    "Preconditioner": lambda: (lambda M: lambda k: tulle.cg(A, X[k], M=M))(tulle.jacobi(A)),
    "ic0": lambda: (lambda M: lambda k: tulle.cg(A, X[k], M=M))(tulle.ic0(A)),
    "ilu0": lambda: (lambda M: lambda k: tulle.gmres(A, X[k][:, 0], M=M))(tulle.ilu0(A)),
    "jacobi": lambda: (lambda M: lambda k: tulle.gmres(A, X[k][:, 0], M=M))(tulle.jacobi(A, block=4)),
    "Stream": lambda: (lambda S: lambda k: tulle.cg(S, X[k]))(tulle.stream(A, columns=3)),
    "stream": lambda: (lambda S: lambda k: S @ X[k])(tulle.stream(A, columns=3)),
    "Triangular": lambda: (lambda T: lambda k: T.solve(X[k]))(tulle.triangular(A, lower=False)),
    "triangular": lambda: (lambda T: lambda k: T.solve(X[k][:, 0]))(tulle.triangular(A)),
    "Report": plain(lambda k: (tulle.matmul(A, X[k]), sorted(tulle.report()))),
    "report": plain(reported),
    "Step": plain(lambda k: tulle.cg(A, X[k], callback=lambda step: step.residual, callback_type="step")),
    "aslinearoperator": lambda: (lambda op: lambda k: op @ X[k])(tulle.aslinearoperator(tulle.ic0(A))),
    "as_binsparse": plain(lambda k: tulle.matmul(tulle.as_binsparse(OTHERS[k]), X[k])),
    "from_binsparse": plain(lambda k: tulle.from_binsparse(tulle.as_binsparse(OTHERS[k]))),
    "build": plain(lambda k: (tulle.matmul(A, X[k]), sorted(tulle.build()["features"]))),
    "block_cg": plain(lambda k: tulle.block_cg(OTHERS[k], X[k])),
    "block_matmul": plain(lambda k: tulle.block_matmul(OTHERS[k], blocks=6)),
    "block_range_add": plain(lambda k: tulle.block_range_add(OTHERS[k], A[:12, :12], 6, 0, blocks=6)),
    "cg": plain(lambda k: tulle.cg(OTHERS[k], X[k])),
    "density": plain(lambda k: tulle.density(OTHERS[k], blocks=6, electrons=N, filter=1e-9)),
    "eigsh": plain(lambda k: tulle.eigsh(OTHERS[k], 3)),
    "gemm": plain(lambda k: tulle.gemm(X[k], X[0].T)),
    "generate": plain(lambda k: tulle.generate(f"band:n={N + k},lower=2")),
    "gmres": plain(lambda k: tulle.gmres(OTHERS[k], X[k])),
    "inside_scipy": plain(in_scipy),
    "lobpcg": plain(lambda k: tulle.lobpcg(OTHERS[k], X[k])),
    "lsmr": plain(lambda k: tulle.lsmr(OTHERS[k], X[k])),
    "lsqr": plain(lambda k: tulle.lsqr(OTHERS[k], X[k], damp=.1)),
    "matfun": plain(lambda k: tulle.matfun("inverse", OTHERS[k], blocks=6)),
    "matmul": plain(lambda k: tulle.matmul(OTHERS[k], X[k])),
    "minres": plain(lambda k: tulle.minres(OTHERS[k], X[k])),
    "PCA": plain(lambda k: tulle.pca(OTHERS[k], 3).transform(A)),
    "pca": plain(lambda k: tulle.pca(OTHERS[k], 3).scores),
    "read": plain(of_file),
    "sddmm": plain(lambda k: tulle.sddmm(OTHERS[k], X[k], X[0])),
    "solve_triangular": plain(lambda k: tulle.solve_triangular(OTHERS[k], X[k])),
    "svds": plain(lambda k: tulle.svds(OTHERS[k], 3)),
    "threads": plain(in_block),
    "top_products": plain(lambda k: tulle.top_products(OTHERS[k], A, 2 + k, cosine=True)),
    "write": plain(of_file),
}
# the same by functions of Python, which use the library again; and of torch
ROWS["matfun of a function"] = plain(lambda k: tulle.matfun(lambda x: x * x + k, OTHERS[k], blocks=6))
ROWS["operators that are functions"] = plain(lambda k: tulle.cg(
    LinearOperator(A.shape, matvec=lambda x: tulle.matmul(A, x), matmat=lambda x: tulle.matmul(A, x), dtype=float), X[k],
    callback=lambda x: tulle.matmul(OTHERS[k], x)))
# classes that calls raise, and what needs MPI (over_mpi.py)
NO_OBJECTS = {"CheckFailed", "Error", "FormatError", "NotConverged", "TulleWarning", "UnsupportedError", "mpi"}

try:
    import torch

    import tulle.torch
except ImportError:
    pass
else:
    def differentiated(S):
        def use(k):
            values = (S.values * (1 + k)).requires_grad_()
            dense = torch.from_numpy(X[k]).requires_grad_()
            Y = S.matmul(dense, values)
            Y.sum().backward()
            return Y, values.grad, dense.grad

        return use

    ROWS["torch.Sparse"] = lambda: differentiated(tulle.torch.Sparse(A))

    def operated(call):
        """Results and gradients of an operator by values and dense factors of thread k."""
        def use(k):
            values = torch.from_numpy(OTHERS[k].data.copy()).requires_grad_()
            dense = torch.from_numpy(X[k]).requires_grad_()
            result = call(tulle.torch.Graph(*structure, N), values, dense)
            result.sum().backward()
            return tuple(part for part in (result, values.grad, dense.grad) if part is not None)

        return plain(use)

    structure = torch.from_numpy(A.indptr), torch.from_numpy(A.indices)
    if "spmm" in tulle.torch.__all__:
        ROWS |= {
            "torch.Graph": operated(lambda G, v, x: tulle.torch.spmm(G.T, x, G.T.permuted(v))),
            "torch.spmm": operated(lambda G, v, x: tulle.torch.spmm(G, x, v, reduce="max") + tulle.torch.spmm(G, x, v)),
            "torch.sddmm": operated(lambda G, v, x: tulle.torch.sddmm(G, x, x) * v),
            "torch.spgemm": operated(lambda G, v, x: tulle.torch.spgemm(G, G, v, v)[1]),
            "torch.softmax": operated(lambda G, v, x: tulle.torch.softmax(G, v / 100) * v),
            "torch.at_rows": operated(lambda G, v, x: tulle.torch.at_rows(G, x) * v[:, None]),
            "torch.at_columns": operated(lambda G, v, x: tulle.torch.at_columns(G, x) * v[:, None]),
        }


def test_every_name_has_a_row():
    assert set(tulle.__all__) == {name for name in ROWS if name.isidentifier()} | NO_OBJECTS
    if "torch" in sys.modules:
        assert set(tulle.torch.__all__) == {name.removeprefix("torch.") for name in ROWS if name.startswith("torch.")}


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def at_once(use, serial, place=contextlib.nullcontext):
    """Each thread does its own, again and again, inside and outside of a block of its own."""
    wrong, start = [], threading.Barrier(THREADS)

    def work(k):
        start.wait()
        for turn in range(ROUNDS):
            with place(k) if turn % 2 else contextlib.nullcontext():
                if bits(use(k)) != serial[k]:
                    wrong.append((k, turn))

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(work, k) for k in range(THREADS)]:
            done.result(timeout=300)
    assert not wrong


def in_one(use):
    def there(k):
        with tulle.threads(1):
            return use(k)

    return there


@pytest.mark.parametrize("name", ROWS)
def test_four_threads(name):
    with tulle.threads(1):
        use = ROWS[name]()
        serial = [bits(use(k)) for k in range(THREADS)]
        assert [bits(use(k)) for k in range(THREADS)] == serial
    # the block has ended: handles keep their team; calls without one are made in blocks like it
    if isinstance(ROWS[name], plain):
        at_once(in_one(use), serial, lambda k: tulle.threads(2))
    else:
        at_once(use, serial, lambda k: tulle.threads(1 + k % 2))


@pytest.mark.parametrize("name", ROWS)
def test_the_same_team(name):
    """Outside of blocks all threads share the team of the process."""
    use = ROWS[name]()
    serial = [bits(use(k)) for k in range(THREADS)]
    at_once(use, serial)


def in_child(work):
    """The result of work in a child that is forked, as text; or that it does not end."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the library: this is the test
        child = os.fork()
    if child == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__mro__[1].__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    end = time.monotonic() + 60
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hangs"
        time.sleep(0.001)
    with os.fdopen(reading) as pipe:
        return pipe.read()


@pytest.mark.parametrize("name", [name for name in ROWS if "torch" not in name])
def test_fork(name):
    use = ROWS[name]()
    serial = bits(use(1))
    shared = in_child(lambda: bits(use(1)) == serial)
    handle = not isinstance(ROWS[name], plain)
    assert ("RuntimeError" in shared and "forked" in shared) if handle else shared == "True"
    assert in_child(lambda: bits(ROWS[name]()(1)) == serial) == "True"  # made in the child
    with tulle.threads(1):
        serial = bits(ROWS[name]()(1))
        assert in_child(lambda: bits(ROWS[name]()(1)) == serial) == "True"  # also in the block of the parent
    assert bits(use(1)) is not None  # the parent goes on


def test_fork_while_others_work():
    """A child is forked while another thread is inside a call."""
    serial, going = bits(tulle.matmul(A, A)), [True]

    def work():
        while going:
            tulle.matmul(A, A)

    with ThreadPoolExecutor(2) as pool:
        pool.submit(work), pool.submit(work)
        try:
            for _ in range(5):
                assert in_child(lambda: bits(tulle.matmul(A, A)) == serial) == "True"
        finally:
            going.clear()


def test_teams_of_blocks():
    from tulle._team import current

    outside = current()
    with tulle.threads(1):
        one = current()
        with tulle.threads(2):
            assert current() is not one
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(current).result() is outside
        assert current() is one

        def generate():
            with tulle.threads(2):
                yield

        suspended = generate()
        next(suspended)
        with tulle.threads(2):
            mine = current()
            suspended.close()
            assert current() is mine
        assert current() is one

        with pytest.raises(ZeroDivisionError), tulle.threads(2):
            1 / 0
        assert current() is one

    async def task(number):
        with tulle.threads(number):
            mine = current()
            for _ in range(3):
                await asyncio.sleep(0)
                assert current() is mine
                tulle.matmul(A, A)
        assert current() is outside

    async def tasks():
        await asyncio.gather(*(task(1 + k % 2) for k in range(6)))

    asyncio.run(tasks())
    assert current() is outside

    def dies():
        tulle.threads(1).__enter__()

    thread = threading.Thread(target=dies)
    thread.start()
    thread.join()
    assert current() is outside and tulle.matmul(A, A).nnz


def test_handles_of_different_teams():
    with tulle.threads(1):
        S = tulle.stream(A)
    with tulle.threads(1):
        M = tulle.jacobi(A)
    with pytest.raises(ValueError, match="A and M belong to different teams"):
        tulle.cg(S, X[0][:, 0], M=M)


def test_freed_by_another_thread():
    """Plans end in other threads than they began in, while others use theirs."""
    def work(k):
        for _ in range(10 * ROUNDS):
            with tulle.threads(1):
                plan = tulle.matmul_plan(OTHERS[k], X[k])
            gone.append(plan)
            reference = weakref.ref(plan)
            plan()
            del plan
            if len(gone) > 3:
                gone.pop(0)
            gc.collect(0)
        return reference

    gone = []
    with ThreadPoolExecutor(THREADS) as pool:
        references = list(pool.map(work, range(THREADS)))
    gone.clear()
    gc.collect()
    assert all(reference() is None for reference in references)


def test_freed_while_it_is_used():
    """The last name of a plan, a preconditioner or a solver goes while a call in progress uses it."""
    expected = bits(tulle.matmul(A, X[0]))
    for _ in range(10 * ROUNDS):
        named, started = [tulle.matmul_plan(A, X[0]), tulle.triangular(A)], threading.Barrier(3)

        def use(call):
            started.wait()
            return bits(call())

        with ThreadPoolExecutor(2) as pool:
            product = pool.submit(use, named[0].__call__)
            solution = pool.submit(use, lambda solve=named[1].solve: solve(X[0]))
            reference = weakref.ref(named[0])
            started.wait()
            named.clear()
            gc.collect(0)
            tulle.matmul(A, A)  # frees what is gone
            assert product.result(60) == expected and solution.result(60)
        del product, solution
        assert reference() is None

    held = [tulle.ic0(A)]
    usual = bits(tulle.cg(A, X[0], M=held[0]))

    def drop(x):
        held.clear()
        gc.collect(0)
        tulle.matmul(A, A)

    assert bits(tulle.cg(A, X[0], M=held[0], callback=drop)) == usual and not held


def test_functions_that_wait_for_threads():
    """A callback that waits for another thread's call on the same team, which works."""
    with ThreadPoolExecutor(1) as pool:
        expected = bits(tulle.matmul(A, A))
        seen = []
        x, info = tulle.cg(A, X[0][:, 0],
                           callback=lambda x: seen.append(pool.submit(tulle.matmul, A, A).result(60)))
        assert info == 0 and seen and all(bits(C) == expected for C in seen)
        # a function that the library's threads run is told
        with pytest.raises(RuntimeError):
            tulle.matfun(lambda x: pool.submit(tulle.matmul, A, A).result(60).nnz, A, blocks=6)
        with pytest.raises(RuntimeError, match="in progress in this thread"):
            tulle.matfun(lambda x: tulle.matmul(A, A).nnz, A, blocks=6)
    assert bits(tulle.matmul(A, A)) == expected

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tulle.cg(A, X[0], callback=fails)
    assert bits(tulle.matmul(A, A)) == expected


# ---- signals ----

LONG = sp.csr_matrix(sp.diags([-1.0, 2.000000001, -1], [-1, 0, 1], shape=(100000, 100000)))


def seconds_long(name):
    """A call of some seconds, or of minutes: signals end them."""
    if name == "gemm":
        G = np.ones((5000, 5000))
        return lambda: tulle.gemm(G, G)
    if name == "waits for another thread":
        def wait():
            other = threading.Thread(target=lambda: tulle.cg(LONG, np.ones(LONG.shape[0]), rtol=1e-15, maxiter=4000))
            other.start()
            time.sleep(0.1)
            try:
                while other.is_alive():
                    tulle.matmul(A, A)
            finally:
                other.join()
        return wait
    return lambda: tulle.cg(LONG, np.ones(LONG.shape[0]), rtol=1e-15, maxiter=10**6)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals are the main thread's")
@pytest.mark.parametrize("name", ["cg", "gemm"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM, signal.SIGTERM])
def test_signals(name, number):
    """Handlers run during the call, which goes on if they return, and ends with their exception."""
    class Enough(Exception):
        pass

    calls = []

    def handler(received, frame):
        calls.append(received)
        if len(calls) == 3:
            raise Enough
        threading.Timer(0.1, os.kill, (os.getpid(), number)).start()

    call = seconds_long(name)
    before = signal.signal(number, handler)
    try:
        threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
        with pytest.raises(Enough):
            call()
    finally:
        signal.signal(number, before)
    assert calls == [number] * 3
    assert bits(tulle.matmul(A, A)) == bits(tulle.matmul(A, A))


def test_handler_that_calls():
    """A handler may not use the team whose call it interrupts, and is told; it may use another."""
    seen = []

    def handler(received, frame):
        with tulle.threads(1):
            seen.append(tulle.matmul(A, A).nnz)
        tulle.matmul(A, A)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGALRM)).start()
        with pytest.raises(RuntimeError, match="a call is in progress in this thread"):
            seconds_long("cg")()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen


@pytest.mark.parametrize("what", ["tulle.matmul(A, A)", "plan()", "tulle.cg(A, b, callback=lambda x: None)"])
def test_daemon_at_exit(what):
    """A daemon thread inside a call ends with the program, which ends well."""
    program = f"""
import sys, threading, time, numpy as np, scipy.sparse as sp, tulle
A = sp.csr_matrix(sp.random(200, 200, .05, 'csr', random_state=0) + 20 * sp.identity(200))
A, b, plan = A + A.T, np.ones(200), tulle.matmul_plan(A, A)
def work():
    while True: {what}
for _ in range(2): threading.Thread(target=work, daemon=True).start()
time.sleep(.2)
"""
    for _ in range(ROUNDS if ROUNDS < 10 else 10):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd="/")
        assert done.returncode == 0 and not done.stderr, done.stderr
