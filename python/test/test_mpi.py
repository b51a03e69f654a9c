# SPDX-License-Identifier: Apache-2.0
"""Calls over several processes by mpi4py, with each MPI whose launcher is installed."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

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
