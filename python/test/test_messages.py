# SPDX-License-Identifier: Apache-2.0
"""Messages of exceptions: in Python's words, with rows, columns and blocks from 0."""
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

import tulle
from tulle._words import WORDS, in_words

TREE = pathlib.Path(__file__).resolve().parents[2]
# what Python does not have: functions and constants of C, options of the command
FOREIGN = re.compile(r"\btulle__?[a-z]\w*\b(?!\.so)|\bTULLE_(?!MACHINE\b|MODULE_PATH\b|ALONE\b|PATIENCE\b)[A-Z]\w*|"
                     r"(?<![\w-])--(?!mpi)[a-z]")
# no message of Python's: names in tables, options of other programs, what a module exports
OTHERS = {"tulle_module_entry", "%s is no Tulle module: it has no tulle_module_entry"}
N = 12
A = sp.csr_matrix(sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(N, N)))


def literals():
    """The texts of the library's sources, adjacent ones joined; numbers of PRI macros are %d."""
    for path in [*(TREE / "src").rglob("*.[ch]"), *(TREE / "src").rglob("*.cpp"), *(TREE / "python" / "src").glob("*")]:
        if "scalapack" in path.parts:  # its callers are Fortran's and C's
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        text = re.sub(r"^\s*#\s*(include|error).*$", "", text, flags=re.MULTILINE)
        text = re.sub(r'%"\s*PRI\w+', '%d"', text).replace("TULLE__AT", '"%d"').replace("TULLE__COUNTED", '""')
        for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
            yield re.sub(r'"\s*"', "", match.group(0))[1:-1]


@pytest.mark.skipif(not (TREE / "src").is_dir(), reason="the sources of the library are not here")
def test_messages_of_the_sources():
    all = set(literals())
    assert len(all) > 1500
    for text in all - OTHERS:
        if text.startswith("--cfg=") or "docker run --shm-size" in text:
            continue
        shown = in_words(text.replace("%s: %s", "x: y"))
        assert not FOREIGN.search(shown), text
    for ours, theirs in WORDS:
        assert any(ours in text for text in all), f"no message has {ours!r}"
        assert not FOREIGN.search(theirs)


def without(row):
    """A without its entry on that row's diagonal."""
    made = A.tolil()
    made[row, row] = 0
    return sp.csr_matrix(made)


def changed(row, col, value):
    made = A.copy()
    made[row, col] = value
    return made


# calls that fail at a known place, and the words of their messages
PLACES = {
    "pattern": (lambda: tulle.matfun("exp", sp.triu(A, format="csr"), blocks=3), r"block \(0, 1\) exists, \(1, 0\) does not$"),
    "values": (lambda: tulle.matfun("exp", changed(3, 2, 9), blocks=3), r"block \((0, 1|1, 0)\) is not the transpose of"),
    "domain": (lambda: tulle.matfun("sqrt", changed(7, 7, -9), blocks=3, combine="none"), r"of block column 1$|of block column 2$"),
    "finite": (lambda: tulle.density(changed(5, 5, np.nan), blocks=3, mu=4.5), r"entry \(5, 5\) is nan$"),
    "diagonal": (lambda: tulle.triangular(sp.tril(without(7), format="csr")), r"^row 7 has no entry on the diagonal"),
    "column": (lambda: tulle.triangular(sp.tril(without(7), format="csr"), transposed=True), r"^column 7 has no entry"),
    "ilu0": (lambda: tulle.ilu0(without(3)), r"row 3 has no entry on the diagonal"),
    "ic0": (lambda: tulle.ic0(changed(4, 4, -1)), r"row 4 has no positive entry on the diagonal"),
    "pivot": (lambda: tulle.ic0(changed(4, 4, 0.1)), r"the pivot of row 4 is"),
    "jacobi": (lambda: tulle.cg(A, np.ones(N), M=tulle.jacobi(without(6))), r"^row 6 has a zero or missing diagonal entry"),
}


@pytest.mark.parametrize("name", PLACES)
def test_places_are_from_0(name):
    call, words = PLACES[name]
    with pytest.raises(ValueError) as failed:
        call()
    message = str(failed.value)
    assert re.search(words, message), message
    assert "from 1" not in message and not FOREIGN.search(message)


def test_files_count_from_1(tmp_path):
    path = tmp_path / "A.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n")
    with pytest.raises(tulle.FormatError, match=r"A\.mtx:3:1: row index 3"):
        tulle.read(path)


# calls with arguments that the library refuses
REFUSED = {
    "filter": lambda: tulle.matfun("exp", A, blocks=3, filter=-1.0),
    "filter of density": lambda: tulle.density(A, blocks=3, mu=4.5, filter=-1.0),
    "electrons": lambda: tulle.density(A, blocks=3, electrons=-1.0),
    "degeneracy": lambda: tulle.density(A, blocks=3, electrons=2, degeneracy=-1.0),
    "order": lambda: tulle.matfun("sign", A, blocks=3, method="newton-schulz", order=9),
    "block": lambda: tulle.jacobi(A, block=0),
    "format": lambda: tulle.stream(A, format="nothing"),
    "algorithm": lambda: tulle.matmul(A, A, algorithm="nothing"),
    "device": lambda: tulle.matmul(A, A, device="nothing"),
    "method": lambda: tulle.triangular(sp.tril(A, format="csr"), method="nothing"),
    "shift": lambda: tulle.ic0(A, shift=-1.0),
    "generator": lambda: tulle.generate("band:n=-3"),
    "team": lambda: tulle.threads(spec="nothing").__enter__(),
    "name": lambda: tulle.write("A.nothing", A),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_foreign_words(name):
    with pytest.raises((ValueError, tulle.Error, OSError)) as failed:
        REFUSED[name]()
    assert str(failed.value) and not FOREIGN.search(str(failed.value)), str(failed.value)
