#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figures of a machine measured again: the better of two stays, whatever the machine is doing meanwhile.
# recalibrate.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

export TULLE_MACHINE="$work/machine"
kind=$("$tulle" calibrate --threads 1 --pes 1 --json 2>/dev/null | sed 's/.*"kind":"\([^"]*\)".*/\1/')
figures() { # RATE THREADS KIND: a file of before, but for the kernels
    printf 'kind %s\nthreads %s\nstream %s\ncache %s\nfma_f32 1\nfma_f64 1\n' "$3" "$2" "$1" "$1" >"$TULLE_MACHINE"
}
figures 1e17 1 "$kind"
expect 0 '2 earlier figures are better and are kept' calibrate --threads 1 --pes 1
grep -q 'memory (triad) *100000000.0 GB/s, repetitions differ by [0-9]* %; the earlier figure is kept, this time it is' "$work/out" &&
    grep -q '^repetitions differ by up to [0-9]* %, load [0-9.]* threads a processor' "$work/out" &&
    grep -q '^stream 1e+17$' "$TULLE_MACHINE" && ! grep -q '^fma_f64 1$' "$TULLE_MACHINE" && grep -q '^spmm [1-9]' "$TULLE_MACHINE"
report $? "better figures of before stay, worse ones go"
figures 1e17 1 "$kind"
expect 0 '"earlier_kept":2,"load":[0-9.-]*,"spread":{"stream":' calibrate --threads 1 --pes 1 --json
expect 0 '"earlier_kept":0,' calibrate --threads 1 --pes 1 --json --force
! grep -q '^stream 1e+17$' "$TULLE_MACHINE"
report $? "--force replaces them"
figures 1e17 1 elsewhere
expect 0 '"earlier_kept":0,' calibrate --threads 1 --pes 1 --json
figures 1e17 2 "$kind"
expect 0 '"earlier_kept":0,' calibrate --threads 1 --pes 1 --json
# and that which a product begins with where there is none, as of kernels there is not
figures 1e17 1 "$kind"
expect 0 'tulle: repetitions differ by up to' spgemm rmat:scale=6 --pes 1 --threads 1 --machine here
grep -q 'tulle: 2 earlier figures are better' "$work/out" && grep -q '^stream 1e+17$' "$TULLE_MACHINE" && grep -q '^spmm [1-9]' "$TULLE_MACHINE"
report $? "a product that calibrates keeps the better figures too"
grep -q '^block_kernels [1-9]' "$TULLE_MACHINE" && grep -q '^block_from 0 [1-9]' "$TULLE_MACHINE"
report $? "kernels of blocks are compared"
expect 0 '"kernel_flops":{"own":[1-9][0-9]*,"libxsmm":0,"blas":0}.*"passed":true' \
    spgemm water:n=2 --blocks auto --symmetric-c --check --pes 1 --threads 1 --json
expect 0 'flops of blocks by Tulle.s own kernel 100 %' spgemm band:n=20 --blocks 5 --pes 1 --threads 1
expect 2 'give --blocks as well' spgemm band:n=20 --symmetric-c --pes 1

# links between PEs, and a prediction for the machine of a file
rm "$TULLE_MACHINE"
expect 0 'PEs of the same node .* us a range of a list' calibrate --threads 1 --pes 2
expect 0 '"spgemm":\[' calibrate --threads 1 --pes 1 --json
expect 0 '"same_node_range":[0-9.e-]*,"other_node_range":0,' calibrate --threads 1 --pes 2 --json
expect 0 'stationary-c' predict rmat:scale=6 --pes 4 --machine "$work/machine"
report_end
