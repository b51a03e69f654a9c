# SPDX-License-Identifier: Apache-2.0
"""Warnings of the library as Python's."""
import os
import sys
import warnings

from ._team import current

_HERE = os.path.dirname(__file__) + os.sep


class TulleWarning(UserWarning):
    """What is odd but harmless: of a file that was read, or of a result."""


def _level():
    """The stacklevel, in the function that asks, of the code that called the package."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        frame, level = frame.f_back, level + 1
    return level


def say(lines):
    """Warns of each line, where the caller of the package is; over several processes the first one warns."""
    if lines and current().rank == 0:
        level = _level()
        for line in lines:
            warnings.warn(line, TulleWarning, stacklevel=level)
