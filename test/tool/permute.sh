#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --permute: results in the order of the input, whatever the order of the work. permute.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1
# near A B TEXT: two Matrix Market files of the same entries, up to 1e-9
near() {
    awk 'NF && $0 !~ /^%/ { print }' "$1" >one && awk 'NF && $0 !~ /^%/ { print }' "$2" >two
    paste one two | awk '{ n = NF / 2; d = $n - $NF; if (n != int(n) || d > 1e-9 || d < -1e-9) bad = 1
        for (i = 1; i < n; i++) if ($i != $(i + n)) bad = 1 } END { exit bad || NR < 2 }'
    report $? "$3"
}
"$tulle" gen er:n=40,degree=3 -o a.mtx -q
"$tulle" gen er:m=30,n=20,degree=3 -o w.mtx -q
"$tulle" gen stencil2d:n=7 -o s.mtx -q
"$tulle" gen dense:m=40,n=2 -o X.npy -q
"$tulle" gen dense:m=20,n=2 -o W.npy -q
"$tulle" gen dense:m=49,n=2 -o B.npy -q
"$tulle" spgemm a.mtx -o c.mtx -q >out && "$tulle" spgemm w.mtx -o cw.mtx -q >out && "$tulle" spgemm a.mtx a.mtx -o ca.mtx -q >out
"$tulle" spmm a.mtx X.npy -o y.mtx -q >out && "$tulle" spmm w.mtx W.npy -o yw.mtx -q >out
"$tulle" spmm a.mtx --cols 2 -o yr.mtx -q >out
"$tulle" solve s.mtx -m cg --tol 1e-13 --rhs B.npy -o x.mtx -q >out
for order in random rcm amd; do
    for pes in 1 3; do
        expect 0 passed spgemm a.mtx --permute $order --pes $pes -c -o c1.mtx
        near c.mtx c1.mtx "A A by $order on $pes"
        expect 0 passed spgemm a.mtx a.mtx --permute $order --pes $pes -c -o c1.mtx
        near ca.mtx c1.mtx "A B by $order on $pes"
        expect 0 passed spmm a.mtx X.npy --permute $order --pes $pes -c -o y1.mtx
        near y.mtx y1.mtx "A X by $order on $pes"
        expect 0 passed spmm a.mtx --cols 2 --permute $order --pes $pes -o y1.mtx -c
        near yr.mtx y1.mtx "A times a random X by $order on $pes"
        expect 0 passed stream a.mtx X.npy --permute $order --pes $pes -c -o y1.mtx
        near y.mtx y1.mtx "a stream by $order on $pes"
        expect 0 passed solve s.mtx -m cg --tol 1e-13 --rhs B.npy --permute $order --pes $pes -c -o x1.mtx
        near x.mtx x1.mtx "a solve by $order on $pes"
    done
done
"$tulle" convert x.mtx guess.npy -q
expect 0 '^ *1  *[0-2] ' solve s.mtx -m cg --rhs B.npy --guess guess.npy --permute rcm
for pes in 1 3; do
    expect 0 passed spgemm w.mtx --permute random --pes $pes -c -o c1.mtx
    near cw.mtx c1.mtx "A A^T, rows by random on $pes"
    expect 0 passed spmm w.mtx W.npy --permute random --pes $pes -c -o y1.mtx
    near yw.mtx y1.mtx "rows alone, X as it is, on $pes"
done
for verb in 'spgemm a.mtx' 'spmm a.mtx' 'stream a.mtx' 'solve s.mtx -m cg'; do
    # shellcheck disable=SC2086
    expect 0 '^ordering by rcm: [0-9.e-]* s$' $verb --permute rcm
    # shellcheck disable=SC2086
    expect 0 '"ordering":{"name":"amd","seconds":[0-9.e-]*}' $verb --permute amd --json
    # shellcheck disable=SC2086
    "$tulle" $verb --json 2>/dev/null | grep -q ordering && report 1 "$verb has no order"
done
expect 2 'rcm orders a square matrix, not one of 30 x 20' spgemm w.mtx --permute rcm
expect 2 'amd orders a square matrix' spmm w.mtx --permute amd
expect 2 'without --blocks' spmm a.mtx --blocks 2 --permute amd
expect 0 passed stream a.mtx X.npy --permute rcm --format bsr:b=3 -c -o y1.mtx
near y.mtx y1.mtx 'a stream of padded blocks, by rcm'
expect 2 'without --blocks' spgemm a.mtx --blocks 2 --permute amd
expect 2 'in memory, not --source file' solve s.mtx --source file --permute rcm
expect 2 'in memory, not --source file' stream s.mtx --source file --permute rcm
expect 2 'there are random, rcm and amd' spmm a.mtx --permute metis
report_end
