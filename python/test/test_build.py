# SPDX-License-Identifier: Apache-2.0
"""What a build says of itself, and the command that comes with the package."""
import os
import re
import subprocess
import sys

import pytest

import tulle
from tulle import __main__ as command


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "tulle", *arguments], capture_output=True, text=True)


def test_build_says_what_the_command_says():
    built = tulle.build()
    said = dict(line.split(": ", 1) for line in run("info").stdout.splitlines() if ": " in line)
    assert built["version"] == tulle.__version__
    assert built["compiler"] == said["compiler"]
    for feature, name in {"zlib": "zlib", "bzip2": "libbz2", "lzma": "liblzma", "zstd": "libzstd", "hdf5": "HDF5",
                          "blas": "BLAS", "lapack": "LAPACK"}.items():
        assert built["features"][feature] == said[name].startswith("yes")
    assert (built["blas"] is None) == (not built["features"]["blas"])
    assert built["commit"] is None or re.fullmatch("[0-9a-f]{40}(-dirty)?", built["commit"])
    assert os.path.exists(built["library"])
    assert set(built["mpi"]) == {name[4:] for name in built["modules"] if name.startswith("mpi_")}


def test_command_is_the_library_of_the_package():
    assert run("info").stdout.splitlines()[0] == f"tulle {tulle.__version__}"
    wrong = run("no-such-verb")
    assert wrong.returncode == 2 and "no-such-verb" in wrong.stderr


def test_script_is_the_command():
    script = os.path.join(os.path.dirname(sys.executable), "tulle")
    if not os.path.exists(script):
        pytest.skip("the package was not installed by pip")
    for words in (["--version"], ["spmm", "--help"]):
        assert subprocess.run([script, *words], capture_output=True, text=True).stdout == run(*words).stdout


def test_command_is_looked_for_where_the_package_has_none(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "__file__", str(tmp_path / "tulle" / "__main__.py"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        command.program()
    own = tmp_path / "tulle"
    own.write_text("")
    own.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(own)])
    with pytest.raises(FileNotFoundError):  # it would start itself
        command.program()
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    assert command.program() == str(own)
