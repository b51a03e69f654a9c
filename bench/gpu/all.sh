#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# all.sh PART BUILD OUT [SCALE]: measures Tulle on a GPU, in parts of at most ten minutes; lines of JSON go to OUT/PART.
# `all.sh parts` lists them. SCALE (1; 0: sizes of a smoke test) multiplies the nodes of the grids.
#   slabs      matrices that stay on the GPU: our kernels beside cuSPARSE's, one to 64 columns
#   stream     matrices that pass through: half and full blocks, the rate of the link beside them
#   products   SpMM, SpGEMM and GEMM, tiles copied to the GPU and back
#   blocks     products of blocks of 5 to 32 rows
#   functions  the submatrix method, submatrices decomposed on the GPU and, beside it, by the host's threads
#   solves     triangular solves, one and 16 right-hand sides; CG with its vectors on the GPU
#   rivals     copies and the link; cuSPARSE's SpMM, SpGEMM, and SpSV with its analysis apart (BUILD/gpu_rivals)
#   sign       signs of dense matrices by Pade's iteration in f64, f32, TF32 and f16 (BUILD/gpu_sign)
# `all.sh table BUILD OUT` writes what OUT has into doc/performance.md (table.py, by Python 3; OUT may come from another machine).
set -eu
parts="slabs stream products blocks functions solves rivals sign"
if [ "${1:-}" = parts ] || [ $# -lt 3 ]; then
    echo "$parts"
    [ "${1:-}" = parts ] && exit 0
    exit 2
fi
part=$1 tulle=$2/tulle out=$3 scale=${4:-1}
if [ "$part" = table ]; then
    here=$(dirname "$0")
    exec python3 "$here/table.py" "$out" "$here/../../doc/performance.md"
fi
: "${TULLE_MODULE_PATH:=$2/modules}"
export TULLE_MODULE_PATH
mkdir -p "$out"
: >"$out/$part"
if ! "$tulle" info | grep '^device cuda: yes' >"$out/device"; then
    "$tulle" info | grep '^device cuda' >&2
    exit 77
fi
status=0
end=$(($(date +%s) + 570))

# nodes of a grid at this scale
nodes() { if [ "$scale" = 0 ]; then echo 5; else echo $(($1 * scale)); fi; }

measure() {
    if [ "$(date +%s)" -ge "$end" ]; then
        echo "$part: ten minutes are over; left out: $*" >&2
        status=1
        return 0
    fi
    "$tulle" "$@" --pes 1 --json >>"$out/$part" || {
        echo "$part: failed: $*" >&2
        status=1
    }
}

case $part in
slabs)
    for kernels in library own; do
        for format in csr bsr:b=3; do
            for cols in 1 2 4 8 16 32 64; do
                measure stream "fem:nodes=$(nodes 64),dof=3" --device "cuda:kernels=$kernels" --format $format --cols $cols --products 5
            done
        done
    done
    for cols in 1 8; do
        measure stream "fem:nodes=$(nodes 64),dof=3" --device cuda --format bsr:b=3,half --cols $cols --products 5
    done
    ;;
stream)
    for format in csr bsr:b=3 bsr:b=3,half; do
        for cols in 1 8 32; do
            measure stream "fem:nodes=$(nodes 96),dof=3" --device cuda --format $format --cols $cols --slabs 24 --products 3
        done
    done
    ;;
products)
    for kernels in library own; do
        measure spmm "fem:nodes=$(nodes 64),dof=3" --cols 64 --device "cuda:kernels=$kernels" --reps 3
    done
    measure spgemm "fem:nodes=$(nodes 32),dof=1" --device cuda --reps 3
    measure spgemm "fem:nodes=$(nodes 16),dof=3" --device cuda --reps 3
    measure gemm --size $(($(nodes 64) * 128)) --tiles 8 --device cuda --reps 3
    ;;
blocks)
    for size in 5 6 13 23 32; do
        measure spgemm "fem:nodes=$(nodes 12),dof=$size" --blocks $size --device cuda --reps 3
    done
    ;;
functions)
    side=$((8 * scale))
    [ "$scale" = 0 ] && side=2
    for filter in 1e-3 1e-5 1e-7; do
        for function in sign fermi:mu=0.1,kT=0.01; do
            measure matfun $function water:n=$side --filter $filter --method submatrix --device cuda --reps 3
            measure matfun $function water:n=$side --filter $filter --method submatrix --reps 3
        done
    done
    ;;
solves)
    for rhs in random:1 random:16; do
        measure trisolve "fem:nodes=$(nodes 64),dof=1" --from tril --device cuda --method serial,levels \
            --rhs $rhs --reps 5
    done
    measure solve "fem:nodes=$(nodes 64),dof=3" --method cg --device cuda
    measure solve "fem:nodes=$(nodes 64),dof=3" --method cg --precond jacobi --device cuda
    measure solve "fem:nodes=$(nodes 64),dof=3" --method block-cg --rhs random:8 --device cuda
    ;;
rivals)
    rivals=$2/gpu_rivals matrix=$out/rivals.mtx
    if [ ! -x "$rivals" ]; then
        echo "$part: there is no $rivals" >&2
        exit 77
    fi
    "$rivals" rates >>"$out/$part" || status=1
    for operand in "fem:nodes=$(nodes 64),dof=1" "fem:nodes=$(nodes 20),dof=3"; do
        "$tulle" gen "$operand" -o "$matrix" -q
        echo "{\"matrix\":\"$operand\"}" >>"$out/$part"
        "$rivals" "$matrix" 64 >>"$out/$part" || status=1
    done
    rm -f "$matrix"
    ;;
sign)
    sign=$2/gpu_sign matrix=$out/sign.mtx
    if [ ! -x "$sign" ]; then
        echo "$part: there is no $sign" >&2
        exit 77
    fi
    side=$((8 * scale))
    [ "$scale" = 0 ] && side=2
    "$tulle" gen "water:n=$side" -o "$matrix" -q
    "$sign" "$matrix" $((3 * side * side * side)) 0.1 >>"$out/$part" || status=1
    rm -f "$matrix"
    ;;
*)
    echo "all.sh: the parts are $parts" >&2
    exit 2
    ;;
esac
exit $status
