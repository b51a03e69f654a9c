#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library beside that of the newest release with the same soname, which is built from its tag, or from an archive of
# `make dist`: abidiff accepts the step. released.sh SOURCE BUILD [ARCHIVE]
set -eu
source=$1
build=$2
archive=${3:-}
tag=${archive##*/}
[ -n "$archive" ] || tag=$(git -C "$source" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || tag=
if [ -z "$tag" ]; then
    echo '1..0 # SKIP there is no tag of a release yet'
    exit 77
fi
if ! command -v abidiff >/dev/null 2>&1; then
    echo '1..0 # SKIP abidiff is not installed (abigail-tools)'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/released"
if [ -n "$archive" ]; then
    tar -x -f "$archive" -C "$work/released" --strip-components 1
else
    git -C "$source" archive "$tag" | tar -x -C "$work/released"
fi
cmake -S "$work/released" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DTULLE_TOOL=OFF -DTULLE_TESTS=OFF >/dev/null
cmake --build "$work/build" -j 2 --target tulle >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
soname() { objdump -p "$1" | awk '$1 == "SONAME" {print $2}'; }
if [ "$(soname "$work/build/src/libtulle.so")" != "$(soname "$build/src/libtulle.so")" ]; then
    echo "1..0 # SKIP the soname is another than that of $tag"
    exit 77
fi
abidiff --headers-dir1 "$work/released/include" --headers-dir2 "$source/include" \
    --suppressions "$source/test/abi/options.abignore" "$work/build/src/libtulle.so" "$build/src/libtulle.so" >"$work/abidiff" ||
    { cat "$work/abidiff"; exit 1; }
echo "ok 1 - abidiff accepts the step from $tag"
echo 1..1
