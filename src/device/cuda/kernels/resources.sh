#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# resources.sh NVCC SOURCE_DIRECTORY BUILD_DIRECTORY [--write]: what each kernel takes of an H100 or H200 (sm_90), as the
# compiler said when it was built (compile.sh), or says now where it was built for other GPUs only: registers, stack, spilled bytes, static shared memory, and how many of a multiprocessor's 64 warps fit in blocks of 128
# threads. Compared with resources.txt; --write writes it anew. With another release of nvcc than the table's only spills
# and stack, which must be none, are compared.
set -u
nvcc=$1
src=$2
build=$3
table=$src/device/cuda/kernels/resources.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\), V\([0-9.]*\).*/\2/p')
: >"$work/ptxas"
for file in "$src"/device/cuda/kernels/*.cu; do
    said=$build/src/device/cuda/$(basename "$file" .cu).ptxas
    if grep -q "for 'sm_90'" "$said" 2>/dev/null; then
        cat "$said" >>"$work/ptxas"
        continue
    fi
    "$nvcc" -std=c++17 -O3 -arch=sm_90 -Xptxas -v -I"$src" -c "$file" -o "$work/o" 2>>"$work/ptxas" || {
        cat "$work/ptxas"
        exit 1
    }
done
if command -v c++filt >/dev/null 2>&1; then c++filt <"$work/ptxas" >"$work/named"; else cp "$work/ptxas" "$work/named"; fi
awk '
/Compiling entry function/ {
    wanted = $0 ~ /sm_90/
    name = $0
    sub(/.*entry function ./, "", name); sub(/. for .*/, "", name)
    gsub(/\(anonymous namespace\)::/, "", name); sub(/^void /, "", name); sub(/\(.*/, "", name); gsub(/ /, "", name)
}
/bytes stack frame/ && wanted { stack = $1; spills = $5 + $9 }
/Used [0-9]+ registers/ && wanted {
    registers = shared = 0
    for (i = 1; i < NF; i++) {
        if ($(i + 1) ~ /^registers/) registers = $i
        if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) shared = $i
    }
    each = int((registers * 32 + 255) / 256) * 256      # registers are dealt out 256 a warp
    warps = int(int(65536 / 4 / each) * 4 / 4) * 4      # in blocks of four warps
    if (warps > 64) warps = 64
    if (shared > 0 && int(228 * 1024 / (shared + 1024)) * 4 < warps) warps = int(228 * 1024 / (shared + 1024)) * 4
    printf "%-34s %9d %5d %6d %6d %5d\n", name, registers, stack, spills, shared, warps
}' "$work/named" | sort >"$work/rows"
{
    echo "# What kernels take on sm_90: registers, bytes of stack, bytes spilled, bytes of static shared memory, warps of 64 that fit."
    echo "# Written by resources.sh --write; a change belongs in the commit that makes it. nvcc $release"
    printf '%-34s %9s %5s %6s %6s %5s\n' '# kernel' registers stack spills shared warps
    cat "$work/rows"
} >"$work/table"
if [ "${4:-}" = --write ]; then
    cp "$work/table" "$table"
    exit 0
fi
cat "$work/table"
if awk '$3 != 0 || $4 != 0 { print "spills or stack: " $0; bad = 1 } END { exit bad }' "$work/rows"; then :; else exit 1; fi
if ! grep -q "nvcc $release\$" "$table"; then
    echo "the table is of another nvcc than $release: registers are not compared"
    exit 0
fi
if diff "$table" "$work/table"; then echo "as in the table"; else
    echo "kernels take something else than resources.txt says: write it anew by resources.sh --write if that is meant"
    exit 1
fi
