#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles by itself, as C11, C++11 and C++20, without a warning.
# headers.sh SOURCE_DIR BUILD_DIR CC [CXX]
set -u
top=$1 build=$2 cc=$3 cxx=${4:-}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
. "$top/test/tool/tap.sh"
compile() { # name command...
    name=$1
    shift
    "$@" -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only -I "$top/include" -I "$build/include" \
        $system 2>"$work/messages"
    report $? "$name"
    sed 's/^/# /' "$work/messages"
}
newest= # a compiler that has C++20
echo >"$work/none.cpp"
if [ -n "$cxx" ] && "$cxx" -std=c++20 -fsyntax-only "$work/none.cpp" 2>/dev/null; then newest=$cxx; fi
system=
if command -v mpicc >/dev/null 2>&1; then
    for word in $(mpicc -show); do
        case $word in -I*) system="$system -isystem ${word#-I}" ;; esac
    done
fi
for header in "$top"/include/tulle/*.h; do
    name=$(basename "$header")
    if [ "$name" = mpi.h ] && ! command -v mpicc >/dev/null 2>&1; then
        report 0 "mpi.h # SKIP there is no MPI"
        continue
    fi
    # twice, so that a missing guard is seen, and as a file, so that nothing is called the main file
    printf '#include <tulle/%s>\n#include <tulle/%s>\nextern int something;\n' "$name" "$name" >"$work/one.c"
    cp "$work/one.c" "$work/one.cpp"
    compile "$name as C" "$cc" -std=c11 -pedantic "$work/one.c"
    if [ -n "$cxx" ]; then compile "$name as C++" "$cxx" -std=c++11 "$work/one.cpp"; fi
    if [ -n "$newest" ]; then compile "$name as C++ of 2020" "$newest" -std=c++20 "$work/one.cpp"; fi
done
[ -n "$cxx" ] || echo "# there is no C++ compiler: headers were compiled as C only"
report_end
