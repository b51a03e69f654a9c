# SPDX-License-Identifier: Apache-2.0
"""The team that calls run on: one of this process with all its cores, unless another is opened."""
import contextlib
import contextvars
import ctypes
import functools
import os
import threading as _threading

from . import _core
from ._errors import UnsupportedError

last = _threading.local()  # .report: a Report of this thread's last call, or a call and the function of its figures

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_THREADS_MOST = 1024  # of a team


class _Place:
    """A place of calls: a team, and how it is opened again in a child that was forked; None: never."""

    __slots__ = ("_team", "_how", "_forks")

    def __init__(self, team, how=None):
        self._team, self._how, self._forks = team, how, _process.forks

    @property
    def team(self):
        if self._forks != _process.forks and self._how is not None:
            with _process.lock:
                if self._forks != _process.forks:
                    self._team, self._forks = _core.Team(*self._how), _process.forks
        return self._team


def _warnings():
    from . import _warnings as module  # it asks for teams itself

    return module


class _Process:
    """Shared by the threads of this process: the team of calls outside of any block."""

    def __init__(self):
        self.forks = 0
        self.threads = 0  # all cores
        self.forked()
        os.register_at_fork(after_in_child=self.forked)

    def forked(self):
        self.forks += 1
        self.lock = _threading.Lock()
        self.default = None

    def team(self):
        if self.default is None:
            with self.lock:
                if self.default is None:
                    _warnings().say_copies()
                    self.default = _core.Team("threads", self.threads, 0)
        return self.default

    def set_threads(self, number):
        with self.lock:
            if number != self.threads:
                self.threads, self.default = number, None


_process = _Process()
# of this thread, or of this task: the innermost block's last; blocks may end in any order
_places = contextvars.ContextVar("tulle", default=())  # type: contextvars.ContextVar[tuple[_Place, ...]]


def default_threads():
    """The number of threads of calls outside of blocks."""
    return _process.threads or len(os.sched_getaffinity(0))


def set_default_threads(number):
    """Calls outside of blocks run on so many threads from now on; what was made before keeps its own.

    More than a team may have count as that, as a BLAS takes them.
    """
    if number < 1:
        raise ValueError(f"{number} threads")
    _process.set_threads(min(int(number), _THREADS_MOST))


def bytes_of(size):
    """A number of bytes from a number or a text such as "2G"."""
    if size is None:
        return 0
    text = str(size).strip().upper().removesuffix("IB").removesuffix("B")
    unit = text[-1:] if text[-1:] in _UNITS else ""
    try:
        number = int(float(text[: len(text) - len(unit)]) * _UNITS[unit])
    except (OverflowError, ValueError):
        number = -1
    if not 0 <= number < 2**63:
        raise ValueError(f"{size!r} is no size: write 2G, 500M or a number of bytes")
    return number


def part(count):
    """The rows of all processes together, if this one has `count`, and those before its own. Collective."""
    team = current()
    return (count, 0) if team.size == 1 else team.rows(count)


def alone(what):
    """An error where several processes make the call."""
    if current().size > 1:
        raise UnsupportedError(f"{what} is not supported over several processes")


def current():
    """The team of the calls of this thread, or of this task; outside of blocks that of the process."""
    places = _places.get()
    return places[-1].team if places else _process.team()


def _enter(place):
    _places.set((*_places.get(), place))


def _leave(place):
    _places.set(tuple(other for other in _places.get() if other is not place))


class Handle:
    """An object that is made on a team, and used there wherever that is, by one thread at a time."""

    def __init__(self):
        self._team = current()
        self._home = (_Place(self._team),)


def at_home(method):
    """A method of a Handle whose calls are on the handle's team, and none of another thread comes between them."""

    @functools.wraps(method)
    def call(self, *args, **kwargs):
        team, outer = self._team, _places.get()
        team.enter()
        _places.set(self._home)
        try:
            return method(self, *args, **kwargs)
        finally:
            _places.set(outer)
            team.leave()

    return call


@contextlib.contextmanager
def home_of(**handles):
    """Within the block calls are on the team of those that are handles, which must be one, or the current one."""
    homes = {name: value for name, value in handles.items() if isinstance(value, Handle)}
    teams = {id(value._team) for value in homes.values()}
    if len(teams) > 1:
        raise ValueError(f"{' and '.join(homes)} belong to different teams: make them in the same block")
    outer = _places.get()
    if homes:
        _places.set(next(iter(homes.values()))._home)
    try:
        yield
    except MemoryError as failure:
        if str(failure):
            raise
        raise MemoryError("out of memory: Python, or NumPy, for objects beside the library's arrays") from failure
    finally:
        _places.set(outer)


@contextlib.contextmanager
def threads(number=0, *, memory=None, spec=None):
    """Within the block calls run on `number` threads (0: all cores) and `memory` bytes at most.

    memory is a number or a text such as "2G"; spec is the spec of a team, such as "check+threads". The block is of
    this thread, and of asyncio tasks that it makes: threads that are started in it have blocks of their own. What is
    made in it (plans, solvers, streams) keeps its threads, and may be used after it.
    """
    if number < 0:
        raise ValueError(f"{number} threads")
    how = spec or "threads", number, bytes_of(memory)
    place = _Place(_core.Team(*how), how)
    _enter(place)
    try:
        yield
    finally:
        _leave(place)


class _Origin(ctypes.Structure):
    """Dl_info of dladdr."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


def _file_of(function):
    """The file of the library that has the function at this address."""
    origin = _Origin()
    known = ctypes.CDLL(None).dladdr(ctypes.c_void_p(function), ctypes.byref(origin))
    return os.fsdecode(origin.file) if known and origin.file else ""


def _family(version, file):
    """The family of an MPI library, whose module is loaded, by its version and its file.

    A library of MPI 5's binary interface has the version of its implementation's other library.
    """
    if os.path.basename(file).startswith("libmpi_abi."):
        return "abi"
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
    handed = _family(MPI.Get_library_version(), _file_of(library)), MPI._sizeof(comm), MPI._addressof(comm), library
    team = _core.Team(spec, threads, bytes_of(memory), handed)
    place = _Place(team)
    _enter(place)
    try:
        yield comm
    finally:
        _leave(place)
        team.close()
