#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel around an installed copy of a build tree and tests it, in an environment of its own: check.sh BUILD
set -eu
[ $# = 1 ] || { echo "usage: $0 BUILD" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$build-python
mkdir -p "$work"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo 'python3 has no venv (python3-venv): the tests of the Python package are left out'
    exit 0
fi
[ -x "$work/env/bin/pip" ] || python3 -m venv "$work/env"
if ! "$work/env/bin/pip" install --quiet --disable-pip-version-check nanobind scikit-build-core ninja numpy scipy pytest; then
    echo 'Python packages could not be fetched: the tests of the Python package are left out'
    exit 0
fi
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
PATH=$work/env/bin:$PATH
pip install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps "$here" \
    -C build-dir="$work/wheel" -C cmake.define.TULLE_INSTALLED=ON -C cmake.define.Tulle_ROOT="$work/prefix"
cd "$here"
exec pytest -q -p no:cacheprovider -rs
