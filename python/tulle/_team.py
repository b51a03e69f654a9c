# SPDX-License-Identifier: Apache-2.0
"""The team that calls run on: one of this process with all its cores, unless another is opened."""
import contextlib

from . import _core

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_current = []


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
