#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of some thirty lines against an installed copy, moved after installation: by pkg-config (shared and static)
# and by CMake. Also the man pages, and that only public symbols are visible. install.sh SOURCE BUILD
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/test/tool/tap.sh"

DESTDIR=$work/stage cmake --install "$build" --prefix /opt/tulle >/dev/null
mv "$work/stage/opt/tulle" "$work/moved"
prefix=$work/moved
lib=$(dirname "$(find "$prefix" -name libtulle.a)")
report 0 "installs into DESTDIR and can be moved"

cp "$source/examples/from_arrays.c" "$work/program.c"
if command -v pkg-config >/dev/null 2>&1; then
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    # shellcheck disable=SC2046
    cc -std=c11 "$work/program.c" $(pkg-config --cflags --libs tulle) -o "$work/shared"
    LD_LIBRARY_PATH=$lib "$work/shared" >"$work/out"
    [ "$(head -1 "$work/out")" = "1 -1" ]
    report 0 "pkg-config, shared"
    # shellcheck disable=SC2046
    cc -std=c11 "$work/program.c" $(pkg-config --cflags tulle) "$lib/libtulle.a" \
        $(pkg-config --libs --static tulle | sed 's/-ltulle//') -o "$work/static"
    "$work/static" >"$work/out"
    [ "$(head -1 "$work/out")" = "1 -1" ]
    report 0 "pkg-config, static"
else
    report 0 "# SKIP pkg-config is not installed"
fi

mkdir "$work/project"
cp "$work/program.c" "$work/project/"
cat >"$work/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(Tulle 0.1 REQUIRED)
add_executable(user program.c)
target_link_libraries(user PRIVATE Tulle::tulle)
EOF
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/project/build" >/dev/null
"$work/project/build/user" >"$work/out"
[ "$(head -1 "$work/out")" = "1 -1" ]
report 0 "find_package(Tulle)"

hidden=$(nm -D --defined-only "$lib/libtulle.so" | awk '$2 ~ /[TDBR]/ {print $3}' | grep -v '^tulle_[a-z]' || true)
[ -z "$hidden" ] || { echo "not ok - visible: $hidden"; exit 1; }
report 0 "only tulle_* is visible"

verbs=$(sed -n 's/^ *\(.*&verb_.*\)$/\1/p' "$source/tool/main.c" | grep -o '&verb_[a-z]*' | sed 's/&verb_/tulle-/')
for page in tulle $verbs; do
    [ -s "$prefix/share/man/man1/$page.1" ]
    if command -v mandoc >/dev/null 2>&1; then mandoc -W error "$prefix/share/man/man1/$page.1" >/dev/null; fi
done
report 0 "man pages"
bash -c '. "$0/share/bash-completion/completions/tulle"; COMP_WORDS=(tulle spmm a.mtx --ty) COMP_CWORD=3; _tulle
    [ "${COMPREPLY[*]}" = --type ]; COMP_WORDS=(tulle spmm --type f) COMP_CWORD=3; _tulle
    [ "${COMPREPLY[*]}" = "f32 f64" ]; COMP_WORDS=(tulle spg) COMP_CWORD=1; _tulle; [ "${COMPREPLY[*]}" = spgemm ]' "$prefix"
if command -v zsh >/dev/null 2>&1; then zsh -n "$prefix/share/zsh/site-functions/_tulle"; fi
report 0 "completion of command lines"
[ -s "$prefix/share/doc/tulle/guide.md" ]
[ -s "$prefix/share/doc/tulle/tutorial-c.md" ]
cmake -S "$prefix/share/doc/tulle/examples" -B "$work/examples" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/examples" -j 2 >/dev/null
"$work/examples/example_from_arrays" >/dev/null
report 0 "documents, and examples that build as they lie there"
if command -v readelf >/dev/null 2>&1; then
    readelf -d "$lib/libtulle.so" "$prefix/bin/tulle" | grep -q NEEDED
    found=$(find "$prefix" -type f \( -name '*.so*' -o -perm -u+x \) -exec readelf -d {} + 2>/dev/null | grep -E 'R(UN)?PATH' | grep -v '\$ORIGIN' || true)
    [ -z "$found" ] || { echo "not ok - paths of this machine: $found"; exit 1; }
    ! grep -rl "$build" "$lib/cmake" "$lib/pkgconfig" || { echo 'not ok - paths of the build tree'; exit 1; }
    report 0 "no paths of this machine"
    # what cmake takes out of a library when it is installed still counts in its build id
    found=$(find "$build" -name '*.so*' -type f -exec readelf -d {} + 2>/dev/null | grep -E 'R(UN)?PATH' | grep -F "$build" || true)
    [ -z "$found" ] || { echo "not ok - libraries that depend on where they were built: $found"; exit 1; }
    report 0 "libraries do not depend on where they were built"
fi
if command -v nm >/dev/null 2>&1; then
    for module in "$lib"/tulle/tulle_*.so; do
        found=$(nm -D --defined-only "$module" | awk '$NF != "tulle_module_entry" { print $NF }' | head -3)
        [ -z "$found" ] || { echo "not ok - symbols of $module: $found"; exit 1; }
    done
    report 0 "a module has one symbol"
fi
"$prefix/bin/tulle" --version | grep -q '^tulle [0-9]'
report 0 "the command runs from where it was moved"
echo "1..$count"
