#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The engine mpi under MPIs newer than Debian's: Open MPI 5 and MPICH 5, from Python's packages, in an environment of
# this script's own, and MPICH 5 once more by MPI 5's own binary interface, which no Open MPI has yet. The conformance
# suite on one host and on two; `all`: also lost PEs on both, the command, and products on three hosts. What cannot be
# fetched, or made, is said. mpi5.sh BUILD [all]
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
what=${2:-brief}
openmpi=5.0.11
mpich=5.0.2
work=$(mktemp -d)
. test/tool/namespaces.sh
clean() {
    unmake_hosts
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
bad=0
export XDG_CACHE_HOME="$work/cache" OMPI_MCA_osc=^ucx # UCX, which the package brings, complains where there is no network
unset TULLE_ROSTER

# run TEXT COMMAND...: right if it ends well, with tests of which none failed; 77: it says why it ran none
run() {
    text=$1
    shift
    status=0
    timeout -k 5 "$patience" "$@" >"$work/out" 2>"$work/err" || status=$?
    tests=$(grep -c '^ok' "$work/out") || tests=0
    if [ $status = 77 ] && grep -q '^1\.\.0 # SKIP' "$work/out"; then
        echo "ok - $text # SKIP $(sed -n 's/^1\.\.0 # SKIP //p' "$work/out")"
    elif [ $status = 0 ] && [ "$tests" -gt 0 ] && ! grep -q '^not ok' "$work/out"; then
        echo "ok - $text: $tests tests"
    else
        echo "not ok - $text: status $status, $tests tests, $(grep '^not ok' "$work/out" | head -n 3 | tr '\n' ' ')" \
            "$(tail -n 3 "$work/err" | tr '\n' ' ')"
        bad=1
    fi
}

if make_hosts 2 >"$work/why"; then two=1; else two=; fi
for family in openmpi mpich abi; do
    package=$family compiler=mpicc
    [ $family != abi ] || package=mpich compiler=mpicc_abi
    eval "version=\$$package"
    env=$work/$package
    if ! python3 -m venv "$env" >"$work/out" 2>&1 ||
        ! "$env/bin/pip" install --quiet --disable-pip-version-check "$package==$version" >"$work/out" 2>&1; then
        echo "ok - $family $version # SKIP it could not be fetched: $(tail -n 1 "$work/out")"
        continue
    fi
    mkdir "$work/modules-$family"
    "$env/bin/$compiler" -shared -fPIC -O2 -std=gnu11 -D_GNU_SOURCE -fvisibility=hidden -DOMPI_SKIP_MPICXX -Isrc -Iinclude \
        -I"$build/include" src/comm/mpi/*.c src/comm/shared_memory.c -Wl,-rpath,"$env/lib" \
        -o "$work/modules-$family/tulle_mpi_$family.so"
    export TULLE_MODULE_PATH="$work/modules-$family"
    launcher=$env/bin/mpiexec
    options=
    [ $package = mpich ] || options='--oversubscribe --allow-run-as-root'
    patience=120
    suite=$build/test/comm/test_conformance
    for spec in mpi mpi:direct=off; do
        # shellcheck disable=SC2086
        run "$family $version, $spec, 3 PEs" "$launcher" $options -n 3 "$suite" $spec 3
    done
    if [ -n "$two" ]; then
        launch_line $package "$launcher" 1
        run "$family $version, two hosts" "$work/launch" "$suite" mpi 2
    else
        echo "ok - $family $version, two hosts # SKIP $(cat "$work/why")"
    fi
    [ "$what" = all ] && [ $family != abi ] || continue
    patience=600
    # shellcheck disable=SC2086
    run "$family $version, a lost PE" sh test/tool/lost.sh "$build/tulle" $package one "$launcher" $options
    run "$family $version, a lost PE or host of two" sh test/tool/lost.sh "$build/tulle" $package two "$launcher"
    for near in 1 2; do
        run "$family $version, three hosts of $near" sh test/tool/hosts.sh "$build/tulle" test/data $package "$launcher" \
            $near "$suite"
    done
done
exit $bad
