# SPDX-License-Identifier: Apache-2.0
"""The team that calls run on: one of this process with all its cores, unless another is opened."""
import contextlib
import ctypes

from . import _core
from ._errors import UnsupportedError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_current = []  # type: list[_core.Team]


def bytes_of(size):
    """A number of bytes from a number or a text such as "2G"."""
    if size is None:
        return 0
    if isinstance(size, str):
        text = size.strip().upper().removesuffix("IB").removesuffix("B")
        unit = text[-1:] if text[-1:] in _UNITS else ""
        try:
            return int(float(text[: len(text) - len(unit)]) * _UNITS[unit])
        except ValueError:
            raise ValueError(f"{size!r} is no size: write 2G, 500M or a number of bytes") from None
    return int(size)


def part(count):
    """The rows of all processes together, if this one has `count`, and those before its own. Collective."""
    team = current()
    return (count, 0) if team.size == 1 else team.rows(count)


def alone(what):
    """An error where several processes make the call."""
    if current().size > 1:
        raise UnsupportedError(f"{what} is not supported over several processes")


def current():
    """The team of this process's calls; opened by the first."""
    if not _current:
        _current.append(_core.Team("", 0, 0))
    return _current[-1]


@contextlib.contextmanager
def threads(number=0, *, memory=None, spec=None):
    """Within the block calls run on `number` threads (0: all cores) and `memory` bytes at most.

    memory is a number or a text such as "2G"; spec is the spec of a team, such as "check+threads".
    """
    if number < 0:
        raise ValueError(f"{number} threads")
    _current.append(_core.Team(spec or "", number, bytes_of(memory)))
    try:
        yield
    finally:
        _current.pop()


def _family(version):
    """The family of an MPI library, whose module is loaded."""
    return "openmpi" if version.startswith("Open MPI") else "mpich"


@contextlib.contextmanager
def mpi(comm=None, *, threads=0, memory=None, spec="mpi"):
    """Within the block calls are collective over the processes of an mpi4py communicator.

    comm None: MPI.COMM_WORLD. Each process passes its rows of matrices and of vectors, those of rank
    0 first, and receives its rows of the results: those that it has of A, or about equally many
    where there is no A. threads: of each process; memory: of all processes together; spec: that of a
    team whose engine is mpi. Matrices, plans and solvers that are made in the block end with it;
    results stay.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD if comm is None else comm
    # the function tells the library that mpi4py uses from another copy of it
    library = ctypes.cast(ctypes.CDLL(MPI.__file__).MPI_Comm_size, ctypes.c_void_p).value
    handed = _family(MPI.Get_library_version()), MPI._sizeof(comm), MPI._addressof(comm), library
    team = _core.Team(spec, threads, bytes_of(memory), handed)
    _current.append(team)
    try:
        yield comm
    finally:
        _current.remove(team)
        team.close()
