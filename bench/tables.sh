#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh [TABLE...]: the tables of doc/performance.md, or some of them, measured anew on this machine, which has to be
# quiet: one to two hours on two cores. In the root of the source tree, after a build with -DTULLE_BENCH=ON and
# bench/rivals/setup.sh.
#
# A table's rows go to bench/results when all are there; what a benchmark says goes to $LOGS (build/tables), and a table
# that has been finished there is not begun again: remove NAME.done to measure it anew. Then doc/performance.md is made
# of them, with the machine's own line.
#
# BUILD (build), RIVALS (bench/rivals/build), PYTHON (python3, one that has the package, scipy, MKL and GraphBLAS),
# BLAS (libopenblas.so.0), TULLE_MATRICES (../shared/matrices).
set -eu
BUILD=${BUILD:-build} RIVALS=${RIVALS:-bench/rivals/build} PYTHON=${PYTHON:-python3} BLAS=${BLAS:-libopenblas.so.0}
LOGS=${LOGS:-$BUILD/tables}
TULLE_MATRICES=${TULLE_MATRICES:-../shared/matrices}
export TULLE_MATRICES
tulle=$BUILD/tulle
mkdir -p "$LOGS"

compare() { python3 bench/compare.py "$@" --build "$RIVALS" --data "$LOGS/data" --tulle "$tulle"; }
# NAME OF COMMAND...: stores the first table that a command prints, if the command ends well
stored() {
    name=$1 of=$2
    shift 2
    "$@" >"$LOGS/$name.out" && python3 bench/stored_lines.py "$name" "$of" <"$LOGS/$name.out"
}

measure() {
    case $1 in
    spgemm) compare bench/cases/products.list --rivals tulle,graphblas,mkl,petsc --ops spgemm --store spgemm ;;
    spmm-f64) compare bench/cases/widths.list --rivals tulle,graphblas,mkl,petsc --store spmm-f64 ;;
    two-ranks) compare bench/cases/two_ranks.list --rivals tulle,petsc,combblas --limit 40 --store two-ranks \
        --tulle-args "--comm mpi --pes 2 --threads 1" ;;
    python) "$PYTHON" bench/python_products.py --store ;;
    trisolve) stored trisolve 'Triangular solves' python3 bench/solves.py --tulle "$tulle" --rivals "$RIVALS" ;;
    krylov) stored krylov 'Krylov methods' python3 bench/krylov.py --tulle "$tulle" --rivals "$RIVALS" --few ;;
    gemm) stored gemm 'Dense products' python3 bench/gemm.py --tulle "$tulle" --threads 2 --blas "$BLAS" ;;
    block-products) stored block-products 'Products of two matrices of blocks' python3 bench/block_products.py \
        --bench "$BUILD/bench/products/bench_block_products" --rivals "$RIVALS" --rounds 2 ;;
    matfun-cp2k) stored matfun-cp2k 'Matrix functions' python3 bench/submatrix.py --tulle "$tulle" --cp2k 6 1e-3 1e-5 1e-7 ;;
    machine) python3 bench/stored_lines.py --machine ;;
    *) echo "tables.sh: there is no table $1" >&2; return 2 ;;
    esac
}

failed=0
[ $# -gt 0 ] || set -- spgemm spmm-f64 trisolve python gemm krylov two-ranks block-products matfun-cp2k machine
for table; do
    [ ! -e "$LOGS/$table.done" ] || continue
    began=$(date +%s)
    if measure "$table" >"$LOGS/$table.log" 2>&1; then
        echo "$table: $(($(date +%s) - began)) s" | tee "$LOGS/$table.done"
    else
        echo "$table: failed after $(($(date +%s) - began)) s, see $LOGS/$table.log"
        failed=1
    fi
done
python3 bench/performance.py doc/performance.md
exit $failed
