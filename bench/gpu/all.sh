#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# all.sh PART BUILD OUT [SCALE]: measures Tulle on a GPU, and NVIDIA's libraries on the same inputs beside it, in parts
# of at most ten minutes; lines of JSON go to OUT/PART. `all.sh parts` lists them. SCALE (1; 0: a smoke test) multiplies
# the nodes of the grids.
#   rates      copies on the GPU and over the link
#   slabs      matrices that stay on the GPU, in rows and blocks, one to 64 columns; cuSPARSE's SpMV and SpMM
#   stream     matrices that pass through: half and full blocks
#   spmm       SpMM, f64 and f32, on bench/cases/widths.list; cuSPARSE's
#   spgemm     SpGEMM, f64 and f32, on bench/cases/products.list; cuSPARSE's
#   gemm       GEMM, f64 and f32, tiles copied to the GPU and back; cuBLAS, whole in memory
#   blocks     products of blocks of 5 to 32 rows; cuSPARSE's SpGEMM by entries
#   functions  the submatrix method, submatrices decomposed on the GPU and, beside it, by the host's threads
#   solves     triangular solves, one and 16 right-hand sides, cuSPARSE's SpSV and SpSM; CG with its vectors on the GPU
#   sign       signs of dense matrices by Pade's iteration in f64, f32, TF32 and f16
# What fails, or is cut off, is a line `left_out`, and the status is 1. Inputs @NAME are $TULLE_MATRICES/NAME.mtx.gz.
# PART_SECONDS (570) limits a part, RUN_SECONDS (120) a run of it; GPU_PROGRAMS (BUILD) has gpu_rivals and gpu_sign.
# `all.sh table BUILD OUT` writes what OUT has into doc/performance.md (table.py, by Python 3; OUT may come from another
# machine).
set -eu
parts="rates slabs stream spmm spgemm gemm blocks functions solves sign"
if [ "${1:-}" = parts ] || [ $# -lt 3 ]; then
    echo "$parts"
    [ "${1:-}" = parts ] && exit 0
    exit 2
fi
part=$1 tulle=$2/tulle out=$3 scale=${4:-1}
here=$(dirname "$0")
if [ "$part" = table ]; then
    exec python3 "$here/table.py" "$out" "$here/../../doc/performance.md"
fi
: "${TULLE_MODULE_PATH:=$2/modules}"
export TULLE_MODULE_PATH
rivals=${GPU_PROGRAMS:-$2}/gpu_rivals sign=${GPU_PROGRAMS:-$2}/gpu_sign
mkdir -p "$out"
: >"$out/$part"
if ! "$tulle" info | grep '^device cuda: yes' >"$out/device"; then
    "$tulle" info | grep '^device cuda' >&2
    exit 77
fi
status=0 matrix=$out/$part.petsc
end=$(($(date +%s) + ${PART_SECONDS:-570}))
trap 'rm -f "$matrix" "$out/$part.new" "$out/$part.err"' EXIT

# WHY COMMAND...
left_out() {
    why=$(echo "$1" | tr -d '"\134') program=$(basename "$2")
    shift 2
    echo "$part: left out: $program $*: $why" >&2
    printf '{"left_out":"%s","why":"%s"}\n' "$(echo "$program $*" | tr -d '"\134')" "$why" >>"$out/$part"
}

# Runs a command within the time that is left: whole lines of JSON go to OUT/PART.
run() {
    seconds=$((end - $(date +%s))) code=0
    [ "$seconds" -lt "${RUN_SECONDS:-120}" ] || seconds=${RUN_SECONDS:-120}
    if [ "$seconds" -le 0 ]; then
        left_out "the part's time is over" "$@"
        status=1
        return 0
    fi
    timeout -k 5 "$seconds" "$@" >"$out/$part.new" 2>"$out/$part.err" </dev/null || code=$?
    grep '}$' "$out/$part.new" >>"$out/$part" || :
    [ "$code" = 0 ] && return 0
    status=1
    case $code in
    124 | 137) left_out "cut off after $seconds seconds" "$@" ;;
    *) left_out "status $code: $(tail -n 1 "$out/$part.err")" "$@" ;;
    esac
}

measure() { run "$tulle" "$@" --pes 1 --json; }

# What is at this scale, or in a smoke test.
pick() { if [ "$scale" = 0 ]; then echo "$2"; else echo "$1"; fi; }
nodes() { pick $(($1 * scale)) 5; }

# Lines INPUT OP...: of a list of bench/cases, its operations of one kind.
cases() {
    awk -v kind="$2" '{ sub(/#.*/, ""); ops = ""; for (i = 3; i <= NF; i++) if ($i ~ "^" kind) ops = ops " " $i }
        ops != "" { print $2 ops }' "$here/../cases/$(pick "$1" smoke).list"
}

# Sets `input` to what the programs read; 1: it is not here.
find_input() {
    case $1 in
    @*) input=${TULLE_MATRICES:-}/${1#@}.mtx.gz ;;
    *) input=$1 && return 0 ;;
    esac
    [ ! -r "$input" ] || return 0
    left_out "TULLE_MATRICES has no ${1#@}.mtx.gz" "$part" "$1"
    return 1
}

# NAME TYPE OP...: the rival with `input`, which is converted once.
rival() {
    if [ "${converted:-}" != "$input" ]; then
        rm -f "$matrix"
        run "$tulle" convert "$input" "$matrix" -q
        converted=$input
    fi
    [ ! -f "$matrix" ] || run "$rivals" "$matrix" "$@"
}

need() {
    [ -x "$1" ] && return 0
    echo "$part: there is no $1" >&2
    exit 77
}

[ "$part" = stream ] || [ "$part" = functions ] || [ "$part" = sign ] || need "$rivals"
case $part in
rates)
    run "$rivals" rates "$(pick 256 1)"
    ;;
slabs)
    input="fem:nodes=$(nodes 64),dof=3" columns=$(pick "1 2 4 8 16 32 64" "1 4") ops=
    for cols in $columns; do
        for kernels in library own; do
            for format in csr bsr:b=3; do
                measure stream "$input" --device "cuda:kernels=$kernels" --format $format --cols "$cols" --products 5
            done
        done
        measure stream "$input" --device cuda:kernels=own --format bsr:b=3,half --cols "$cols" --products 5
        ops="$ops bsr:3:$cols spmm:$cols"
    done
    # shellcheck disable=SC2086
    rival "$input" f64 $ops
    ;;
stream)
    for format in csr bsr:b=3 bsr:b=3,half; do
        for cols in 1 8 32; do
            measure stream "fem:nodes=$(nodes 96),dof=3" --device cuda --format $format --cols $cols \
                --slabs "$(pick 24 5)" --products 3
        done
    done
    ;;
spmm)
    while read -r name ops; do
        find_input "$name" || continue
        for type in f64 f32; do
            for op in $ops; do
                measure spmm "$input" --cols "${op#spmm:}" --type $type --device cuda:kernels=own --reps 3
            done
            # shellcheck disable=SC2086
            rival "${name#@}" $type $ops
        done
    done <<CASES
$(cases widths spmm)
CASES
    ;;
spgemm)
    while read -r name op; do
        find_input "$name" || continue
        for type in f64 f32; do
            measure spgemm "$input" --type $type --device cuda --reps 3
            rival "${name#@}" $type "$op"
        done
    done <<CASES
$(cases products spgemm)
CASES
    ;;
gemm)
    for size in $(pick "4096 8192 16384" "48 60"); do
        for type in f64 f32; do
            measure gemm --size "$size" --type $type --tiles "$(pick 8 3)" --device cuda --reps 3
            run "$rivals" gemm $type "$size"
        done
    done
    ;;
blocks)
    for size in 5 6 13 23 32; do
        input="fem:nodes=$(pick 12 2),dof=$size"
        measure spgemm "$input" --blocks $size --device cuda --reps 3
        rival "$input" f64 spgemm
    done
    ;;
functions)
    input="water:n=$(pick $((8 * scale)) 2)"
    for filter in 1e-3 1e-5 1e-7; do
        for function in sign fermi:mu=0.1,kT=0.01; do
            for device in "--device cuda" ""; do
                # shellcheck disable=SC2086
                measure matfun $function "$input" --filter $filter --method submatrix $device --reps 3
            done
        done
    done
    ;;
solves)
    files=$(pick "@mfem_bracket_thermal_p2 @mfem_bracket_elasticity" @494_bus)
    for name in "fem:nodes=$(nodes 64),dof=1" "fem:nodes=$(nodes 40),dof=3" $files; do
        find_input "$name" || continue
        for cols in 1 16; do
            measure trisolve "$input" --from tril --device cuda --method serial,levels \
                --rhs random:$cols --reps 5
        done
        rival "${name#@}" f64 trisolve:1 trisolve:16
    done
    for method in "cg" "cg --precond jacobi" "block-cg --rhs random:8"; do
        # shellcheck disable=SC2086
        measure solve "fem:nodes=$(nodes 64),dof=3" --method $method --device cuda
    done
    ;;
sign)
    need "$sign"
    side=$(pick $((8 * scale)) 2) matrix=$out/$part.mtx
    run "$tulle" gen "water:n=$side" -o "$matrix" -q
    [ ! -f "$matrix" ] || run "$sign" "$matrix" $((3 * side * side * side)) 0.1
    ;;
*)
    echo "all.sh: the parts are $parts" >&2
    exit 2
    ;;
esac
exit $status
