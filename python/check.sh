#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel around an installed copy of a build tree and tests it, in an environment of its own: check.sh BUILD,
# or check.sh BUILD all, with the long tests and later Pythons
set -eu
case $# in
1) tests='not long' ;;
2) tests='' TULLE_THREAD_ROUNDS=200 && export TULLE_THREAD_ROUNDS ;;
*) echo "usage: $0 BUILD [all]" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=$build-python
mkdir -p "$work"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo 'python3 has no venv (python3-venv): the tests of the Python package are left out'
    exit 0
fi
[ -x "$work/env/bin/pip" ] || python3 -m venv "$work/env"
if ! "$work/env/bin/pip" install --quiet --disable-pip-version-check nanobind scikit-build-core ninja numpy scipy pytest mpi4py \
    matplotlib mypy; then
    echo 'Python packages could not be fetched: the tests of the Python package are left out'
    exit 0
fi
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
PATH=$work/env/bin:$PATH
pip install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps "$here" \
    -C build-dir="$work/wheel" -C cmake.define.TULLE_INSTALLED=ON -C cmake.define.Tulle_ROOT="$work/prefix"
cd "$here"
TULLE_COMMAND=$work/prefix/bin/tulle pytest -q -p no:cacheprovider -rs -m "$tests"

# types: the stubs are of what is there; tulle.torch has its own, and is imported where torch is
echo 'tulle\.torch' >"$work/allowed"
cd "$work"
python -m mypy.stubtest tulle --concise --ignore-missing-stub --allowlist allowed --ignore-unused-allowlist \
    --mypy-config-file "$here/pyproject.toml"
python -m mypy --config-file "$here/pyproject.toml" -p tulle

# what the documents show
source=$(cd "$here/.." && pwd)
python "$source/doc/site/blocks.py" "$source" "$build" "${CC:-cc}" "$work/env/bin/python"

# torch is Debian's, of Debian's Python, for which this wheel is if both are of one version
tag='import sys; print(sys.implementation.cache_tag)'
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import pytest, scipy, torch' 2>/dev/null &&
    [ "$(/usr/bin/python3 -c "$tag")" = "$(python -c "$tag")" ]; then
    mkdir -p "$work/torch"
    ln -sfn "$(cd / && python -c 'import os, tulle; print(os.path.dirname(tulle.__file__))')" "$work/torch/tulle"
    cd "$work"
    PYTHONPATH=$work/torch /usr/bin/python3 -m pytest -q -p no:cacheprovider --import-mode=importlib -c /dev/null \
        --rootdir="$work" -k torch "$here/test/test_torch.py" "$here/test/test_threads.py"
    PYTHONPATH=$work/torch /usr/bin/python3 "$source/doc/site/blocks.py" "$source" "$build" "${CC:-cc}" /usr/bin/python3 \
        python/README.md
else
    echo 'there is no torch (python3-torch, python3-scipy, python3-pytest): its tests are left out'
fi

[ -n "$tests" ] || "$here/check_abi3.sh" "$build"
