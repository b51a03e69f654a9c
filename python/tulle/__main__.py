# SPDX-License-Identifier: Apache-2.0
"""The command `tulle`: `python -m tulle`, and the script that pip installs."""
import os
import shutil
import sys


def program():
    """The path of the command: of this package, or where it has none, the one that is installed beside."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tulle")
    if os.access(own, os.X_OK):
        return own
    script = os.path.realpath(sys.argv[0])
    for folder in os.get_exec_path():
        found = shutil.which("tulle", path=folder)
        if found and os.path.realpath(found) != script:
            return found
    raise FileNotFoundError("this package has no command of its own, and there is no tulle on PATH")


def main():
    """Becomes the command: signals, launchers and standard streams are its own."""
    try:
        path = program()
    except FileNotFoundError as failure:
        sys.exit(f"tulle: {failure}")
    os.execv(path, ["tulle", *sys.argv[1:]])


if __name__ == "__main__":
    main()
