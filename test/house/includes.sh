#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may include whom (doc/design.md, section 2): arrows point down only. Also: an SPDX line in every source, file names
# unique in the tree, each planted fault with a test, no writable file-scope variable in the library's objects.
# includes.sh SOURCE_DIR LIBRARY.a
set -eu
top=$1
library=$2
cd "$top"
bad=0
count=0
say() {
    count=$((count + 1))
    echo "not ok $count - $*"
    bad=$((bad + 1))
}

# layer: the layers it may see besides itself
allowed() {
    case $1 in
    base) echo "" ;;
    comm) echo "base" ;;
    device) echo "base" ;;
    mat) echo "base comm device" ;;
    io) echo "base comm device mat" ;;
    algo) echo "base comm device mat" ;;
    esac
}
for layer in base comm device mat io algo; do
    for file in $(find src/$layer -name '*.[ch]'); do
        for seen in $(sed -n 's/^ *#include "\([a-z_0-9]*\)\/.*/\1/p' "$file" | sort -u); do
            case " $layer $(allowed $layer) " in
            *" $seen "*) ;;
            *) say "$file includes from $seen" ;;
            esac
        done
        # private headers are named from the root of src
        for header in $(sed -n 's/^ *#include "\([^"]*\)".*/\1/p' "$file"); do
            [ -f "src/$header" ] || say "$file: \"$header\" is not named from src/"
        done
    done
done
for file in $(find tool examples -name '*.[ch]'); do
    for header in $(sed -n 's/^ *#include "\([^"]*\)".*/\1/p' "$file"); do
        [ -f "${file%%/*}/$header" ] || say "$file includes the private $header"
    done
done
echo "ok $((count += 1)) - arrows point down"

for file in $(git ls-files '*.c' '*.h' '*.cpp' '*.sh' '*.cmake' '*CMakeLists.txt' '*.py' Makefile 2>/dev/null); do
    head -3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || say "$file lacks its SPDX line"
done
echo "ok $((count += 1)) - SPDX lines"

twins=$(find src tool include -name '*.[ch]' -exec basename {} \; | sort | uniq -d |
    while read -r name; do
        # a public header and the private one that completes it share their noun
        [ "$(find src tool -name "$name" | wc -l)" -gt 1 ] && echo "$name"
    done || true)
[ -z "$twins" ] || say "file names that occur twice: $twins"
echo "ok $((count += 1)) - file names are unique"

# a fault that is planted has its line in the table of tests that find it, and a line its fault
in_source=$(grep -rhoE 'TULLE__PLANTED\([a-z_0-9]+\)' src --include='*.c' | sed 's/.*(//; s/)//' | sort -u)
in_table=$(sed -n 's/^\([a-z_0-9]*\) |.*/\1/p' test/planted/faults.txt | sort)
[ "$in_source" = "$in_table" ] || say "planted faults and test/planted/faults.txt differ:" \
    $(printf '%s\n' "$in_source" "$in_table" | sort | uniq -u)
echo "ok $((count += 1)) - each planted fault has its test"

# .data and .bss are writable; tables of pointers lie in .data.rel.ro, thread-local variables in .tbss and .tdata. Two
# are allowed: the memory account of the process, and the lock of a library that is not safe for threads (HDF5).
if command -v objdump >/dev/null 2>&1; then
    for name in $(objdump -t "$library" | awk 'NF > 3 && ($(NF-2) == ".data" || $(NF-2) == ".bss") {if ($NF !~ /^\./) print $NF}' | sort -u); do
        case $name in
        process_account | hdf5_lock) ;;
        __asan* | __tsan* | __sanitizer* | __odr_asan*) ;;
        *) say "writable file-scope variable $name" ;;
        esac
    done
    echo "ok $((count += 1)) - no writable file-scope variables"
fi
echo "1..$count"
[ "$bad" = 0 ]
