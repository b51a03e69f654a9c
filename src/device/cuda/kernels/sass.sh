#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sass.sh NVCC NVDISASM SOURCE_DIRECTORY BUILD_DIRECTORY [--write]: the hot loops of kernels, as they were compiled for
# an H100 or H200 (sm_90): instructions, how many entries they are for, the widest load from global memory in bytes, and
# the instructions that have no place there: CCTL throws away L1, MEMBAR waits for all stores, LDL is a spill, LDC is a
# parameter that was not kept in a register. Compared with sass.txt; --write writes it anew. Without nvdisasm, or with
# another release of nvcc than the table's, nothing is compared: status 77, or 1 where TULLE_SASS=required says so.
set -u
nvcc=$1 nvdisasm=$2 src=$3 build=$4
here=$src/device/cuda/kernels
table=$here/sass.txt
skipped=77
[ "${TULLE_SASS:-}" = required ] && skipped=1
if [ ! -x "$nvdisasm" ]; then
    echo "there is no nvdisasm: the loops of kernels are not looked at (setup.sh fetches it; then configure anew)"
    exit $skipped
fi
release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\), V\([0-9.]*\).*/\2/p')
if [ "${5:-}" != --write ] && ! grep -q "nvcc $release\$" "$table"; then
    echo "the table is of another nvcc than $release: the loops of kernels are not compared"
    exit $skipped
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# kernel | its loop | opcodes that the loop has (!: has not) | opcode that is counted | of them in an entry
list() {
    for width in 8 16 32 64 128; do
        echo "multiply<team<double,$width>,double,true>|entry|SHFL&DMUL|SHFL|3"
        echo "multiply<team<float,$width>,float,true>|entry|SHFL&FMUL|SHFL|2"
    done
    echo 'multiply_blocks<team<double,128>,double>|entry|LDG&DMUL|DMUL|4'
    echo 'multiply_blocks<team<float,128>,float>|entry|LDG&FMUL|FMUL|4'
    for kind in 0 1; do # waits for rows; also for those of other PEs
        for kernel in solve_groups solve_columns; do
            echo "$kernel<double,$kind>|row-of-thread|LDG.*STRONG&DADD&!SHFL|DMUL|1"
            echo "$kernel<float,$kind>|row-of-thread|LDG.*STRONG&FADD&!SHFL|FMUL|1"
        done
        echo "solve_groups<double,$kind>|row-of-warp|SHFL&DADD&!LDG|DADD|1"
    done
    echo 'solve_groups<double,2>|row-of-thread|LDG&DADD&!SHFL|DMUL|1'
    echo 'solve_groups<float,2>|row-of-thread|LDG&FADD&!SHFL|FMUL|1'
    for type in double float; do
        case $type in double) letter=D ;; *) letter=F ;; esac
        echo "values_in_registers<8,$type>|sum|SHFL&${letter}ADD|${letter}ADD|1"
        echo "values_by_table<false,$type>|product|LDG&${letter}MUL&LDS|${letter}MUL|1"
        echo "values_by_windows<$type>|product|LDG&${letter}MUL&LDS|${letter}MUL|1"
    done
    echo 'structure_by_table<false>|product|LDG&ATOMS|LDG|1'
    echo 'structure_by_windows|product|LDG&ATOMS|LDG|1'
    for block in 1 2 3 6; do
        echo "multiply<double,double,$block,false>|block|LDG&DFMA|DFMA|$((block * block))"
        echo "multiply<float,float,$block,false>|block|LDG&DFMA|DFMA|$((block * block))"
    done
    for panel in 5,true,1,1,32:1 13,true,4,2,32:8 23,true,3,3,64:9 32,true,4,4,64:16 64,false,4,4,256:16; do
        echo "values_of_blocks<panel<${panel%:*}>,double>|column|LDS&DFMA|DFMA|${panel#*:}"
    done
}
list >"$work/list"

for file in "$here"/*.cu; do
    name=$(basename "$file" .cu)
    cubin=$build/src/device/cuda/$name.sm_90.cubin
    if [ ! -f "$cubin" ]; then # the build is for other GPUs
        cubin=$work/$name.cubin
        "$nvcc" -std=c++17 -O3 -lineinfo -arch=sm_90 -I"$src" -cubin "$file" -o "$cubin" || exit 1
    fi
    "$nvdisasm" -c "$cubin" >"$work/sass" || exit 1
    sed -n 's/^\.text\.\(.*\):$/kernel \1/p; /^\.L_x_/p; /^ *\/\*[0-9a-f]*\*\/ /p' "$work/sass" | c++filt | awk -f "$here/sass_loops.awk" "$work/list" - >>"$work/rows" || exit 1
done
{
    echo "# Hot loops of kernels on sm_90: instructions, entries, instructions an entry, bytes of the widest load, and"
    echo "# instructions that have no place there. Written by sass.sh --write; a change belongs in the commit that makes"
    echo "# it. nvcc $release"
    printf '%-40s %-16s %4s %7s %9s %5s %5s %6s %4s %4s\n' '# kernel' loop all entries 'an entry' load CCTL MEMBAR LDL LDC
    sort "$work/rows"
} >"$work/table"
if [ "${5:-}" = --write ]; then
    cp "$work/table" "$table"
    exit 0
fi
cat "$work/table"
status=0
if [ "$(grep -c . "$work/list")" != "$(grep -c . "$work/rows")" ] || grep 'there is no such loop' "$work/rows"; then
    echo "not every loop of the list was found"
    status=1
fi
if awk '$7 + $8 + $9 { print "no place in a loop: " $0; bad = 1 } END { exit bad }' "$work/rows"; then :; else status=1; fi
if diff "$table" "$work/table"; then [ $status = 0 ] && echo "as in the table"; else
    echo "loops are not what sass.txt says: write it anew by sass.sh --write if that is meant"
    status=1
fi
exit $status
