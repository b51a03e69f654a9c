#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A library of a later release, whose options structs have one more field each, is built; a program of this release must
# run with it and a program of that release with this library. abidiff must accept the step, and refuse a lost function.
# abi.sh SOURCE BUILD CC
set -eu
source=$1
build=$2
cc=$3
here=$source/test/abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/test/tool/tap.sh"

mkdir "$work/later"
cp -r "$source/CMakeLists.txt" "$source/cmake" "$source/src" "$source/include" "$work/later"
for header in "$source"/include/tulle/*.h; do
    awk -f "$here/grow.awk" "$header" >"$work/later/include/tulle/${header##*/}"
done
grown=$(grep -l added_later "$work"/later/include/tulle/*.h | wc -l)
[ "$grown" -ge 10 ]
report 0 "headers of a later release ($grown have structs with a size)"
cmake -S "$work/later" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DTULLE_TOOL=OFF -DTULLE_TESTS=OFF -DTULLE_WITH_MPI=OFF \
    -DTULLE_WITH_SHMEM=OFF -DTULLE_WITH_SIMGRID=OFF -DTULLE_WITH_CUDA=OFF -DTULLE_WITH_OPENACC=OFF \
    -DTULLE_WITH_SUITESPARSE=OFF -DTULLE_WITH_SCALAPACK=OFF -DTULLE_WITH_HDF5=OFF >/dev/null
cmake --build "$work/build" -j 2 --target tulle >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

for name in now later; do
    includes="-I$source/include -I$build/include"
    [ $name = now ] || includes="-I$work/later/include -I$work/build/include -DADDED"
    # shellcheck disable=SC2086
    "$cc" -std=c11 $includes "$here/old_program.c" -L"$build/src" -ltulle -o "$work/$name.out"
done
LD_LIBRARY_PATH=$build/src "$work/now.out" >"$work/expected"
LD_LIBRARY_PATH=$work/build/src "$work/now.out" >"$work/got" || { cat "$work/got"; exit 1; }
diff "$work/expected" "$work/got"
report 0 "a program of this release runs with the later library"
LD_LIBRARY_PATH=$build/src "$work/later.out" >"$work/got" || { cat "$work/got"; exit 1; }
diff "$work/expected" "$work/got"
report 0 "a program of the later release runs with this library, which refuses options that it does not know"

if command -v abidiff >/dev/null 2>&1; then
    abidiff --headers-dir1 "$source/include" --headers-dir2 "$work/later/include" --suppressions "$here/options.abignore" \
        "$build/src/libtulle.so" "$work/build/src/libtulle.so" >"$work/abidiff" || { cat "$work/abidiff"; exit 1; }
    report 0 "abidiff accepts the later library"
    sed -i 's/tulle_array_free;//; s/    local:/    local: tulle_array_free;/' "$work/later/src/tulle.map"
    cmake --build "$work/build" -j 2 --target tulle >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    if abidiff --suppressions "$here/options.abignore" "$build/src/libtulle.so" "$work/build/src/libtulle.so" >"$work/abidiff"; then
        echo "not ok - abidiff accepts a library without tulle_array_free"
        exit 1
    fi
    grep -q tulle_array_free "$work/abidiff"
    report 0 "abidiff refuses a library that lost a function"
else
    report 0 "# SKIP abidiff is not installed (abigail-tools)"
fi
echo "1..$count"
