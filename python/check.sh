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
source=$(cd "$here/.." && pwd)
build=$(cd "$1" && pwd)
work=$build-python
mkdir -p "$work"
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    echo 'python3 has no venv (python3-venv): the tests of the Python package are left out'
    exit 0
fi
[ -x "$work/env/bin/pip" ] || python3 -m venv "$work/env"
if ! "$work/env/bin/pip" install --quiet --disable-pip-version-check nanobind scikit-build-core ninja numpy scipy pytest mpi4py \
    matplotlib mypy h5py hypothesis threadpoolctl array-api-strict joblib; then
    echo 'Python packages could not be fetched: the tests of the Python package are left out'
    exit 0
fi
[ -n "$tests" ] || "$work/env/bin/pip" install --quiet --disable-pip-version-check anndata ||
    echo 'anndata could not be fetched: its tests are left out'
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
PATH=$work/env/bin:$PATH
pip install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps "$source" \
    -C build-dir="$work/wheel" -C cmake.define.TULLE_INSTALLED=ON -C cmake.define.Tulle_ROOT="$work/prefix"
cd "$source"
TULLE_COMMAND=$work/prefix/bin/tulle pytest -q -p no:cacheprovider -rs -m "$tests"

# types: the stubs are of what is there; the modules of torch have their own, and are imported where torch is
printf '%s\n' 'tulle\.torch' 'tulle\.geometric' 'tulle\._torch_.*' >"$work/allowed"
cd "$work"
python -m mypy.stubtest tulle --concise --ignore-missing-stub --allowlist allowed --ignore-unused-allowlist \
    --mypy-config-file "$source/pyproject.toml"
python -m mypy --config-file "$source/pyproject.toml" -p tulle

# what the documents show
python "$source/doc/site/blocks.py" "$source" "$build" "${CC:-cc}" "$work/env/bin/python"

# the wheel is for Pythons of one version: Debian's with its torch, and environments with torch and PyG of PyPI, the
# oldest that is supported and the newest, which "all" makes
tag='import sys; print(sys.implementation.cache_tag)'
mkdir -p "$work/torch"
ln -sfn "$(cd / && python -c 'import os, tulle; print(os.path.dirname(tulle.__file__))')" "$work/torch/tulle"
test_torch() {
    cd "$work"
    PYTHONPATH=$work/torch "$1" -m pytest -q -rs -p no:cacheprovider --import-mode=importlib -c /dev/null --rootdir="$work" \
        -m "$tests" -o 'markers=long: half a minute' -k 'torch or geometric' "$here/test/test_torch.py" \
        "$here/test/test_torch_operators.py" "$here/test/test_geometric.py" "$here/test/test_threads.py"
    for document in python/README.md doc/site/tutorial-graph.md; do
        PYTHONPATH=$work/torch "$1" "$source/doc/site/blocks.py" "$source" "$build" "${CC:-cc}" "$1" "$document"
    done
}
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import pytest, scipy, torch' 2>/dev/null &&
    [ "$(/usr/bin/python3 -c "$tag")" = "$(python -c "$tag")" ]; then
    test_torch /usr/bin/python3
else
    echo 'there is no torch of the system (python3-torch, python3-scipy, python3-pytest): its tests are left out'
fi
for torch in 'torch==2.4.*' torch; do
    env=$work/env-$(echo "$torch" | tr -dc 'a-z0-9.')
    if [ -z "$tests" ] && [ ! -e "$env/complete" ]; then
        python3 -m venv "$env"
        if "$env/bin/pip" install --quiet --disable-pip-version-check "$torch" torch-geometric numpy scipy pytest; then
            : >"$env/complete"
        fi
    fi
    if [ -e "$env/complete" ]; then
        test_torch "$env/bin/python"
    else
        echo "there is no $torch of PyPI with torch-geometric ($0 BUILD all fetches them): its tests are left out"
    fi
done

[ -n "$tests" ] || "$here/check_abi3.sh" "$build"
