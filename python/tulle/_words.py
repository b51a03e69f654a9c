# SPDX-License-Identifier: Apache-2.0
"""Messages of the library in Python's words: a C function or an option of the command is what Python has for it."""
import contextlib
import contextvars
import re

# (as in the library's sources, as in Python); python/test/test_messages.py holds them against the sources
WORDS = (
    ("; 0 is the default, TULLE_NONE none", ""),
    ("a number, 0 or TULLE_NONE", "'auto', 'none' or a number"),
    (": tulle_matfun_update makes it anew", ": call matfun again"),
    (", each made by tulle_product_next", ": give more memory, or multiply by ranges of B's columns"),
    ("; tulle_mat_to_vbsr", ""),
    (": options.symmetric_c says that op(A) op(B) has its symmetry, or tulle_mat_to_full makes all of it",
     ": symmetric_c=True says that A B has its symmetry"),
    ("the rows and owners of tulle_stream_layout", "the stream's rows"),
    (": open it by tulle_team_new", ": threads has no such spec"),
    (": tulle_mat_symmetrise first", ""),
    (": tulle_layout_square", ""),
    (": tulle_mat_to_full", ""),
    (": TULLE_GENERAL", ""),
    ("TULLE_GENERAL is", "none is"),
    ("by tulle_mat_replace_blocks", "by blocks"),
    (" (--tiles)", ""),
    (" (as by `solve --precond ilu0:floor=auto`)", " (floor=\"auto\" of ilu0)"),
    (", as by `solve --precond ilu0:floor=auto`", " (floor=\"auto\" of ilu0)"),
    (", as by `solve --precond ic0:shift=auto`", " (shift=\"auto\" of ic0)"),
    ("; `tulle convert --format %s` writes another", "; tulle.write(path, A, format=\"%s\") writes another"),
    (" (--comm sim)", ""),
)
_FUNCTION = re.compile(r"\btulle_\w+: ")
_TABLE = tuple((re.compile(re.escape(ours).replace("%s", r"(\S+)")), theirs.replace("%s", r"\1"))
               for ours, theirs in WORDS)


_ARGUMENTS: contextvars.ContextVar[dict[re.Pattern[str], str]] = contextvars.ContextVar("arguments", default={})


@contextlib.contextmanager
def arguments(**names):
    """Messages name the caller's arguments, as H="A" for the H of the library."""
    token = _ARGUMENTS.set({re.compile(rf"\b{ours}\b"): theirs for ours, theirs in names.items()})
    try:
        yield
    finally:
        _ARGUMENTS.reset(token)


def in_words(message):
    """A message of the library without names that Python does not have."""
    for ours, theirs in _ARGUMENTS.get().items():
        message = ours.sub(theirs, message)
    for ours, theirs in _TABLE:
        message = ours.sub(theirs, message)
    return _FUNCTION.sub("", message)
