# SPDX-License-Identifier: Apache-2.0
"""Calls over several processes by mpi4py, with each MPI whose launcher is installed."""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tulle import _team

pytest.importorskip("mpi4py")
PROGRAM = pathlib.Path(__file__).with_name("over_mpi.py")
OPTIONS = {"openmpi": ["--oversubscribe", "--allow-run-as-root"], "mpich": []}


@pytest.mark.parametrize("family, processes, spec", [("openmpi", 1, "mpi"), ("openmpi", 3, "mpi"), ("mpich", 2, "mpi"),
                                                     ("openmpi", 2, "check+mpi:direct=off")])
def test_processes(family, processes, spec, tmp_path):
    launcher = shutil.which(f"mpiexec.{family}")
    if not launcher:
        pytest.skip(f"there is no mpiexec.{family}")
    env = {**os.environ, "MPI4PY_MPIABI": family, "OMPI_MCA_osc": "^rdma"}
    if family == "mpich":  # mpi4py loads libmpi.so.12, which has a name of its own in Debian
        installed = next(pathlib.Path("/usr/lib").glob("*/libmpich.so.12"), None)
        if installed:
            (tmp_path / "libmpi.so.12").symlink_to(installed)
            env["LD_LIBRARY_PATH"] = str(tmp_path)
    done = subprocess.run([launcher, *OPTIONS[family], "-n", str(processes), sys.executable, str(PROGRAM),
                           str(tmp_path / "a.mtx"), spec], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("done") == processes


@pytest.mark.parametrize("version, file, family", [
    ("Open MPI v4.1.4, package: Debian", "/usr/lib/x86_64-linux-gnu/libmpi.so.40", "openmpi"),
    ("Open MPI v6.0.0", "/opt/openmpi/lib/libmpi_abi.so.0", "abi"), ("MPICH Version: 5.0.0", "libmpi_abi.so.1", "abi"),
    ("MPICH Version: 4.0.2", "/opt/libmpi_abi.so.d/libmpich.so.12", "mpich"), ("Intel(R) MPI Library 2021.9", "", "mpich")])
def test_family(version, file, family):
    assert _team._family(version, file) == family


def test_file_of_a_function():
    function = ctypes.cast(ctypes.CDLL("libm.so.6").cos, ctypes.c_void_p).value
    assert os.path.basename(_team._file_of(function)) == "libm.so.6"
    assert _team._file_of(1) == ""


LOCAL = """
import sys, warnings, numpy as np, scipy.sparse as sp, tulle
A = sp.identity(4, format="csr")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    if sys.argv[1] == "block":
        with tulle.threads(1):
            C = tulle.matmul(A, A)
    else:
        C = tulle.matmul(A, A)
        C = tulle.matmul(A, C)
assert (C != A).nnz == 0
print(len(said), *(str(warning.message) for warning in said if warning.category is tulle.TulleWarning), file=sys.stderr)
"""
CLAIMS = {
    "mpirun of Open MPI": {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"},
    "mpiexec of MPICH": {"PMI_SIZE": "2", "PMI_RANK": "0"},
    "srun": {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"},
    "prterun": {"PMIX_RANK": "0"},
}


def local_calls(where, env, *launcher):
    done = subprocess.run([*launcher, sys.executable, "-c", LOCAL, where], env={**os.environ, **env}, cwd=os.sep,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize("name", CLAIMS)
def test_local_calls_of_a_job(name):
    claim = CLAIMS[name]
    said = local_calls("default", claim)
    assert said.startswith(f"1 {name} has started ") and "tulle.mpi()" in said
    assert local_calls("block", claim) == "0\n"
    assert local_calls("default", {**claim, "TULLE_ALONE": "1"}) == "0\n"
    assert local_calls("default", {**claim, "RANK": "0", "WORLD_SIZE": "2"}) == "0\n"
    rank = next(key for key in claim if "RANK" in key or "PROCID" in key)
    assert local_calls("default", {**claim, rank: "1"}) == "0\n"


def test_local_calls_under_torchrun():
    assert local_calls("default", {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}) == "0\n"


def test_local_calls_under_mpiexec():
    launcher = shutil.which("mpiexec.openmpi")
    if not launcher:
        pytest.skip("there is no mpiexec.openmpi")
    said = local_calls("default", {}, launcher, *OPTIONS["openmpi"], "-n", "2")
    assert said.count("mpirun of Open MPI has started 2 processes") == 1
