# SPDX-License-Identifier: Apache-2.0
"""Warnings of the library as Python's."""
import os
import sys
import warnings

from . import _core
from ._team import current

_HERE = os.path.dirname(__file__) + os.sep


class TulleWarning(UserWarning):
    """A file that was read, or a result, is odd but harmless."""


def _level():
    """The stacklevel, in the function that asks, of the code that called the package."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


def say_copies():
    """Warns where a launcher of MPI has started several processes, each of which computes alone."""
    claim = _core.launched()
    if claim is None or "WORLD_SIZE" in os.environ:
        return  # processes of torch's launchers meet elsewhere
    name, size, rank = claim
    if rank == 0:
        text = (
            f"{name} has started {size or 'several'} processes, and each makes these calls alone: `with tulle.mpi():` "
            "makes one team of them; `with tulle.threads():`, or TULLE_ALONE=1, says that this is meant"
        )
        warnings.warn(text, TulleWarning, stacklevel=_level())


def say(lines):
    """Warns of each line, where the caller of the package is; over several processes the first one warns."""
    if lines and current().rank == 0:
        level = _level()
        for line in lines:
            warnings.warn(line, TulleWarning, stacklevel=level)
