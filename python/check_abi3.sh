#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the one wheel for Python 3.12 and later, by the first such Python, around the installed copy that check.sh
# made, and tests it with each that is found: on PATH, of pyenv, or in $TULLE_PYTHONS (paths). check_abi3.sh BUILD
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(cd "$1" && pwd)-python
[ -d "$work/prefix" ] || { echo "$0: check.sh $1 installs what the wheel is built around; it has not run" >&2; exit 2; }

later() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null
}

pythons=
of_pyenv=$(pyenv root 2>/dev/null || echo /nowhere)
for python in ${TULLE_PYTHONS:-} python3.12 python3.13 python3.14 "$of_pyenv"/versions/3.*/bin/python3; do
    later "$python" && pythons="$pythons $python"
done
if [ -z "$pythons" ]; then
    echo 'there is no Python 3.12 or later: the wheel for all of them (abi3) is left out'
    exit 0
fi

wheel= seen=
for python in $pythons; do
    env=$work/env-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case " $seen " in *" $env "*) continue ;; esac
    seen="$seen $env"
    [ -x "$env/bin/pip" ] || "$python" -m venv "$env"
    pip="$env/bin/pip --disable-pip-version-check"
    if ! $pip install --quiet nanobind scikit-build-core ninja numpy scipy pytest threadpoolctl; then
        echo "Python packages could not be fetched for $python: it is left out"
        continue
    fi
    if [ -z "$wheel" ]; then
        rm -rf "$work/abi3"
        PATH=$env/bin:$PATH $pip wheel --quiet --no-build-isolation --no-deps "$source" -w "$work/abi3" \
            -C build-dir="$work/wheel-abi3" -C cmake.define.TULLE_INSTALLED=ON -C cmake.define.Tulle_ROOT="$work/prefix"
        wheel=$(echo "$work"/abi3/tulle-*-abi3-*.whl)
        [ -f "$wheel" ] || { echo "no abi3 wheel was made:" "$work"/abi3/*; exit 1; }
    fi
    $pip install --quiet --force-reinstall --no-deps "$wheel"
    echo "$(basename "$wheel") with $("$python" --version)"
    (cd "$source" && "$env/bin/pytest" -q -p no:cacheprovider -m 'not long')
done
