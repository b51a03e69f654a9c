# SPDX-License-Identifier: Apache-2.0
"""Messages of calls that run out of memory."""
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

PROGRAM = """
import resource, sys, time
import numpy as np, scipy.sparse as sp, tulle
from scipy.sparse.linalg import LinearOperator
n = 20000
A = sp.diags([np.arange(1.0, n + 1), np.ones(n - 1), np.ones(n - 1)], [0, 1, -1], format="csr")
given = A if sys.argv[1] == "matrix" else LinearOperator(A.shape, matmat=lambda X: A @ X, matvec=lambda x: A @ x, dtype=float)
tulle.eigsh(A[:100, :100], 2)  # the team is open
time.sleep(0.5)  # and its threads have begun: the C library ends a program where a new one finds no room for its own data
with open("/proc/self/status") as lines:
    used = next(int(line.split()[1]) for line in lines if line.startswith("VmData"))
failures = 0
for more in (*range(0, 2000, 250), *range(2000, 90000, 9000)):
    resource.setrlimit(resource.RLIMIT_DATA, ((used + more) * 1024, resource.RLIM_INFINITY))
    try:
        tulle.eigsh(given, 60, which="LA", method="lanczos", maxiter=20)
    except tulle.NotConverged:
        pass
    except MemoryError as failure:
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        failures += 1
        text = str(failure).lower()
        assert "out of memory" in text or "unable to allocate" in text, (more, repr(failure))
        assert any(digit.isdigit() for digit in text) or "beside the library's" in text, (more, repr(failure))
print(failures)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize("given", ["matrix", "operator"])
def test_what_could_not_be_allocated_is_named(given):
    run = subprocess.run([sys.executable, "-c", PROGRAM, given], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 8
