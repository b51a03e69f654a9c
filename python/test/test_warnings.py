# SPDX-License-Identifier: Apache-2.0
"""Warnings of the library: each reaches Python, at the caller's line, in the words of the command."""
import os
import pathlib
import re
import subprocess
import tarfile
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
COMMAND = os.environ.get("TULLE_COMMAND", "")
REAL = "%%MatrixMarket matrix coordinate real general\n"

# files with an oddity: what is in them, and options of the reader
FILES = {
    "words": ("%%MatrixMarket matrix coordinate real general and more\n1 1 1\n1 1 2\n", ["lenient"]),
    "blanks": ("  " + REAL + "1 1 1\n1 1 2\n", ["lenient"]),
    "one per cent": (REAL[1:] + "1 1 1\n1 1 2\n", ["lenient"]),
    "hermitian": ("%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 3\n", []),
    "type": (REAL + "%%GraphBLAS type nothing\n1 1 1\n1 1 2\n", []),
    "upper": ("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 3\n", []),
    "pattern": ("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 3\n", []),
    "nan": (REAL + "2 2 1\n1 2 nan\n", []),
    "inf": (REAL + "2 2 2\n1 2 inf\n2 2 -inf\n", []),
    "overflow": (REAL + "2 2 1\n1 2 1e400\n", []),
    "underflow": (REAL + "2 2 1\n1 2 1e-400\n", []),
    "rounded": ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 9007199254740993\n", []),
    "repeated": (REAL + "2 2 2\n1 2 1\n1 2 5\n", []),
}


def chain(n, width, seed=5):
    """A symmetric chain of blocks of 2, whose coupling decays slowly."""
    A = np.random.default_rng(seed).standard_normal((n, n))
    near = np.abs(np.arange(n)[:, None] // 2 - np.arange(n) // 2)
    return sp.csr_matrix((A + A.T) / 2 * (near <= width))


def without_diagonal():
    A = chain(12, 2).tolil()
    A[:2, :2] = 0
    A[4:6, 4:6] = 0
    return sp.csr_matrix(A)


def two_groups(gap, n=24, penalty=None):
    """Two groups of levels around 0, coupled along a chain of blocks of 2."""
    levels = np.tile([-gap / 2, gap / 2], n // 2)
    A = sp.diags([np.full(n - 2, 0.02), levels, np.full(n - 2, 0.02)], [-2, 0, 2]).tolil()
    if penalty is not None:
        A[0, 0] = penalty
    return sp.csr_matrix(A)


# matrices for which functions warn: the verb, the matrix, options alike in Python and in the command
RESULTS = {
    "one inserted": ("matfun", "exp", lambda: sp.csr_matrix(np.diag([0.0, 1, 1, 1])), {"blocks": 1}),
    "inserted": ("matfun", "exp", without_diagonal, {"blocks": 2}),
    "inserted H": ("density", None, without_diagonal, {"blocks": 2, "mu": 0.05}),
    "gap": ("density", None, lambda: two_groups(0.001), {"blocks": 2, "electrons": 24}),
}
# those of iterations that are slow, and of a narrow window of tolerances; they arrive as the other line of their text
IN_TEST_MATFUN_WARNINGS = ("auto gave an iteration up", "the stored D holds")


def said(call):
    """The warnings of a call, which are at this file's lines."""
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("always")
        call()
    for warning in all:
        assert warning.category is tulle.TulleWarning and warning.filename == __file__
    return [str(warning.message) for warning in all]


def command(*arguments):
    """The warnings of the command."""
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    return [line.partition("warning: ")[2] for line in lines if line.startswith("tulle: warning: ")]


def write_odd_files(folder):
    for name, (text, options) in FILES.items():
        path = folder / (name.replace(" ", "-") + ".mtx")
        path.write_text(text)
        yield path, options, {option: True for option in options}
    path = folder / "repeated.mtx"
    yield path, ["duplicates=last"], {"duplicates": "last"}
    banner = "matrix coordinate real symmetric"
    yield folder / "words.mtx", ["lenient", f"assume={banner}"], {"lenient": True, "assume": banner}
    for k in range(2):
        tulle.write(folder / f"{k}.petsc", sp.identity(3, format="csr"))
    path = folder / "two.petsc"
    path.write_bytes((folder / "0.petsc").read_bytes() + (folder / "1.petsc").read_bytes())
    yield path, [], {}
    path = folder / "collected.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("collected.mtx", "collected_b.mtx"):
            tulle.write(folder / name, sp.identity(3, format="csr"))
            archive.add(folder / name, f"collected/{name}")
    yield path, [], {}


def run(name, folder=None):
    """Runs a call of RESULTS; with a folder also the command's line."""
    verb, function, make, options = RESULTS[name]
    A = make()
    if verb == "matfun":
        tulle.matfun(function, A, **options)
    else:
        tulle.density(A, **options)
    if folder is None:
        return []
    tulle.write(folder / "A.mtx", A)
    words = [part for key, value in options.items() for part in (f"--{key}", value)]
    return [verb, *([function] if function else []), folder / "A.mtx", *words]


@pytest.mark.parametrize("name", RESULTS)
def test_results_warn(name):
    lines = said(lambda: run(name))
    assert lines and tulle.report()["warnings"] == lines
    assert lines[0] in str(tulle.report())
    assert not any(re.search(r"--\w|tulle_", line) for line in lines)


def test_every_warning_of_the_library_arrives(tmp_path):
    if not SOURCES.is_dir():
        pytest.skip("the sources of the library are not here")
    formats = []
    for path in SOURCES.rglob("*.c"):
        for call in re.findall(r"tulle__warn\(([^;]*);", path.read_text()):
            text = re.sub(r'"\s*(PRI\w+)?\s*"', "", "".join(re.findall(r'"(?:[^"\\]|\\.|"\s*(?:PRI\w+\s*)?")*"', call)[:1]))
            formats.append(text.strip('"'))
    assert len(formats) > 15
    formats = [text for text in formats if not text.startswith(IN_TEST_MATFUN_WARNINGS)]
    heard = [line for path, _, options in write_odd_files(tmp_path) for line in said(lambda: tulle.read(path, **options))]
    heard += [line for name in RESULTS for line in said(lambda: run(name))]
    for text in formats:
        pattern = ".*".join(map(re.escape, re.split(r"%[.*\d]*[a-zA-Z]?", text.replace("%%", "%"))))
        assert any(re.search(pattern, line) for line in heard), text


def test_a_stream_from_a_file_warns(tmp_path):
    A = sp.identity(4, format="csr")
    A.data[2] = np.nan
    try:
        tulle.write(tmp_path / "a.bsp.h5", A)
    except tulle.UnsupportedError as cause:
        pytest.skip(f"no HDF5: {cause}")
    stream = tulle.stream(tmp_path / "a.bsp.h5")
    assert [line.partition(": ")[2] for line in said(lambda: stream @ np.ones(4))] == ["1 value is nan"]
    assert said(lambda: stream @ np.ones(4)) == []


def test_each_is_said_once():
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("default")
        for _ in range(3):
            run("one inserted")
    assert len(all) == 1


def test_warnings_become_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", tulle.TulleWarning)
        with pytest.raises(tulle.TulleWarning, match="1 diagonal block is missing"):
            run("one inserted")


@pytest.mark.skipif(not COMMAND, reason="TULLE_COMMAND does not name the command")
def test_the_command_says_the_same(tmp_path):
    for path, options, words in write_odd_files(tmp_path):
        lines = said(lambda: tulle.read(path, **words))
        flags = ["--" + option for option in options]
        assert lines and command("stat", path, *flags) == lines, path
    for name in RESULTS:
        line = []
        lines = said(lambda: line.extend(run(name, tmp_path)))
        heard = command(*line)
        without_time = [[re.sub(r"\([\d.e-]+ s\)", "", text) for text in texts] for texts in (lines, heard)]
        assert without_time[0] == without_time[1], name


def test_wide_spectra_do_not_warn():
    """A penalty level far away does not make a gap small."""
    assert said(lambda: tulle.density(two_groups(0.5), blocks=2, electrons=24)) == []
    assert said(lambda: tulle.density(two_groups(0.5, penalty=1e4), blocks=2, electrons=22)) == []
