#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the rivals need (distribution packages, and a Python environment in .venv-bench beside this script for MKL
# and the newest SuiteSparse:GraphBLAS) and builds their programs into build/. What cannot be had is named at the end;
# the rest is built all the same. Exit status: 0 if all rivals are there, 1 if some are missing, 2 if none can be built.
#   bench/rivals/setup.sh [--no-install]
set -u
here=$(cd "$(dirname "$0")" && pwd)
install=1
[ "${1:-}" = --no-install ] && install=0
lacking=

apt_packages='cmake g++ python3-venv zlib1g-dev libopenmpi-dev openmpi-bin libpetsc-real-dev libslepc-real-dev libcombblas-dev
    libgraphblas-dev libsuitesparse-dev libdbcsr-dev gfortran liblapack-dev'
pip_packages='mkl mkl-devel suitesparse-graphblas'

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else return 1; fi
}

have() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

if [ $install = 1 ]; then
    wanted=
    if command -v apt-get >/dev/null 2>&1; then
        for package in $apt_packages; do
            # a compiler or cmake from elsewhere will do
            case $package in
            cmake) command -v cmake >/dev/null && continue ;;
            g++) command -v c++ >/dev/null && continue ;;
            esac
            have "$package" || wanted="$wanted $package"
        done
        if [ -n "$wanted" ]; then
            echo "installing:$wanted"
            as_root apt-get update -qq || echo 'apt-get update failed: trying with the lists at hand' >&2
            # shellcheck disable=SC2086 # one by one if not all at once, so that one absentee costs no other
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null ||
                for package in $wanted; do
                    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                        "$package" >/dev/null || lacking="$lacking
  $package: apt-get could not install it (not root and no sudo, no network, or no such package)"
                done
        fi
    else
        echo 'no apt-get here: the equivalents of these packages are yours to install:' "$apt_packages" >&2
    fi
    if [ ! -x "$here/.venv-bench/bin/pip" ]; then
        python3 -m venv "$here/.venv-bench" || lacking="$lacking
  .venv-bench: python3 -m venv failed (python3-venv)"
    fi
    if [ -x "$here/.venv-bench/bin/pip" ]; then
        for package in $pip_packages; do
            "$here/.venv-bench/bin/pip" install -q --disable-pip-version-check "$package" || lacking="$lacking
  $package: pip could not install it"
        done
    fi
fi

cmake -S "$here" -B "$here/build" >"$here/build.log" 2>&1 || { cat "$here/build.log"; exit 2; }
grep '^-- rival' "$here/build.log" | sed 's/^-- //'
missing=$(grep -c '^-- rival .*: missing' "$here/build.log")
# one that does not compile must not take the others with it
cmake --build "$here/build" -j "$(nproc)" -- -k >"$here/build.log" 2>&1 ||
    cmake --build "$here/build" -- -k 0 >>"$here/build.log" 2>&1 || {
    grep -E 'error|FAILED|Error' "$here/build.log" | head -20
    lacking="$lacking
  a program did not compile (see build.log)"
}
[ -x "$here/build/mkcsr" ] || {
    echo "mkcsr, which makes the inputs, did not compile (see $here/build.log)" >&2
    exit 2
}
(cd "$here/build" && echo built: bench_*)
if [ -n "$lacking" ] || [ "$missing" -gt 0 ]; then
    [ -n "$lacking" ] && echo "missing:$lacking"
    exit 1
fi
