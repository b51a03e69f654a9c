# SPDX-License-Identifier: Apache-2.0
"""Exceptions of failed calls."""


class Error(RuntimeError):
    """A failure for which Python has no exception of its own."""


class NotConverged(Error):
    """An iteration did not converge."""


class CheckFailed(Error):
    """A result failed its check."""


class FormatError(ValueError):
    """Malformed input; the message names the file and the line."""


class UnsupportedError(NotImplementedError, ValueError):
    """What this build, engine or format does not support."""


_OF_STATUS = {
    "TULLE_ERR_CHECK": CheckFailed,
    "TULLE_ERR_CONVERGENCE": NotConverged,
    "TULLE_ERR_ARG": ValueError,
    "TULLE_ERR_FORMAT": FormatError,
    "TULLE_ERR_UNSUPPORTED": UnsupportedError,
    "TULLE_ERR_OVERFLOW": OverflowError,
    "TULLE_ERR_IO": OSError,
    "TULLE_ERR_LIMIT": MemoryError,
    "TULLE_ERR_MEMORY": MemoryError,
}


def of_status(name):
    """The class for a status of the library."""
    return _OF_STATUS.get(name, Error)
