# SPDX-License-Identifier: Apache-2.0
"""Exceptions of failed calls."""
import errno
import os

from ._words import in_words


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


# causes of the system that Python has classes for, as FileNotFoundError
_CAUSES = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EPIPE, errno.EROFS,
           errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ELOOP, errno.ENAMETOOLONG, errno.EIO)


def of_status(name, message):
    """The exception for a status of the library, with its message in Python's words."""
    kind, message = _OF_STATUS.get(name, Error), in_words(message)
    if kind is OSError:
        for cause in _CAUSES:
            if message.lower().endswith(os.strerror(cause).lower()):
                return OSError(cause, message)
    return kind(message)
