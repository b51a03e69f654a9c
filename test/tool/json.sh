#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What --json prints is JSON whatever the numbers and the names of files are: numbers that are not finite are null, and
# texts are quoted. json.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 99

banner='%%MatrixMarket matrix coordinate real general'
diagonal() { printf '%s\n3 3 3\n1 1 %s\n2 2 %s\n3 3 %s\n' "$banner" "$2" "$3" "$4" >"$1.mtx"; }
diagonal odd 2 3 nan
diagonal infinite 2 inf 4
diagonal huge 1e200 3e200 4e200
diagonal large 800 -700 900
diagonal zero 0 0 0
printf '%s\n3 3 0\n' "$banner" >none.mtx
printf '%s\n0 0 0\n' "$banner" >empty.mtx
quoted=$(printf 'q"u\\o\377.mtx')
diagonal plain 2 3 4
cp plain.mtx "$quoted"

# json NAME COMMAND...: what it prints, if anything, has no nan and no inf beside a comma, a colon or a bracket
json() {
    name=$1
    shift
    "$tulle" "$@" --json --pes 1 >"$work/out" 2>"$work/err"
    got=$?
    [ $got -le 2 ] && ! grep -q -i -E '[:,[] *-?(nan|inf)' "$work/out"
    report $? "$* of $name -> $got"
}
for name in odd infinite huge large zero none empty; do
    m=$name.mtx
    for command in "stat $m" "stat $m --blocks 1" "spmm $m --cols 2 --check" "spgemm $m --check" \
        "spgemm $m --blocks 1 --filter 1e-3" "spgemm $m --top 1 --cosine" "trisolve $m --check" \
        "trisolve $m --rhs known:1 --check" "solve $m --check" "solve $m --method cg --rhs ones" \
        "solve $m --method lsqr --max-iterations 3 --check" "stream $m --check" "eig $m -k 1" "svd $m -k 1" \
        "pca $m -k 1 --scale" "matfun exp $m --blocks 1 --check" "matfun sign:mu=5e3 $m --blocks 1" \
        "matfun inverse $m --blocks 1 --check" "matfun sign $m --blocks 1 --method newton-schulz --check" \
        "density $m --blocks 1 --electrons 2 --check" "density $m --blocks 1 --mu 1 --method newton-schulz --check" \
        "predict $m --machine summit" "predict $m --machine summit --blocks 1 --filter 1e-5"; do
        # shellcheck disable=SC2086
        json "$name" $command
    done
done
for command in stat spmm spgemm trisolve solve stream eig svd pca 'predict --pes 8 --machine summit'; do
    # shellcheck disable=SC2086
    "$tulle" $command "$quoted" --json >"$work/out" 2>"$work/err"
    grep -q -F '"q\"u\\o\ufffd.mtx"' "$work/out"
    report $? "$command quotes the name of a file: $(head -c 60 "$work/out")"
done
"$tulle" solve odd.mtx --history h.json -q >"$work/out" 2>&1
! grep -q nan h.json && grep -q '"residual":null' h.json
report $? 'a history in JSON has null for nan'

report_end
