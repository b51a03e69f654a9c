#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Verbs with hypersparse matrices: a result, or a refusal that names the cause. hypersparse.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1
# file NAME KIND SIZE ENTRY...
file() {
    name=$1 kind=$2 size=$3
    shift 3
    { echo "%%MatrixMarket matrix coordinate real $kind" && echo "$size $#" && printf '%s\n' "$@"; } >"$name.mtx"
}
H=8589934592
file tall general "$H 2" '1 1 1.5' "$H 2 -2" '8 2 3'
file square general "$H $H" '1 1 1.5' '6 4294967303 3' '4294967303 6 4' "$H $H -2"
file half symmetric "$H $H" '1 1 1.5' "$H 6 -2"
file nan general "$H $H" '1 1 nan' "$H 2 1"
file none general "$H 2"
file below general '10000000 10000000' '9 1 4'
file lower general "$H $H" "$H 6 4" "$H $H 1"
# exit status, pattern, and what is tried
while IFS='|' read -r status pattern line; do
    for pes in 1 3; do
        # shellcheck disable=SC2086 # words
        expect "$status" "$pattern" $line --pes $pes
    done
done <<'TABLE'
0|8589934589 empty rows|stat tall.mtx
0|8589934592 empty rows|stat none.mtx
0|symmetry  *symmetric|stat half.mtx
0|10000001 entries, 2 levels, the widest of 9999999 rows|stat below.mtx
0|8589934593 entries, 2 levels, the widest of 8589934591 rows|stat lower.mtx
2|hypersparse matrix, 8589934592 x 2|stat tall.mtx --grid 1x3
0|3 entries|convert tall.mtx tall.npz
0|3 entries|convert half.mtx half2.mtx
0|3 entries|convert half.mtx full.mtx --general
2|hypersparse matrix, 8589934592 x 2|convert tall.mtx tall.petsc
0|passed|spgemm square.mtx --check
0|passed|spgemm tall.mtx --check --cut nnz
0|passed|spgemm tall.mtx --transpose-b --check --cut flops --tiles 2
0|passed|spgemm square.mtx square.mtx --finite --check --grid auto
0|passed|spgemm nan.mtx nan.mtx --check
2|'nan' is not finite|spgemm nan.mtx --finite
0|passed|spgemm square.mtx --check --top 1 -o c.mtx
3|needs at least|spgemm square.mtx --blocks 4 --memory 1G
3|needs at least|spgemm square.mtx --permute random --memory 1G
3|needs at least|spmm tall.mtx --memory 1G
3|needs at least|trisolve square.mtx --memory 1G
3|needs at least|solve square.mtx --memory 1G
3|needs at least|eig half.mtx --memory 1G
3|needs at least|svd tall.mtx --memory 1G
3|needs at least|stream tall.mtx --memory 1G
3|needs at least|matfun exp half.mtx --blocks 2 --memory 1G
3|needs at least|density half.mtx --blocks 2 --mu 0 --memory 1G
0|stationary-c|predict square.mtx --machine summit
0|stationary-c|predict tall.mtx --machine summit
TABLE
grep -q '^8589934592 8589934592 2$' half2.mtx
report $? 'one triangle stays one'
grep -q '^8589934592 6 -2$' full.mtx && grep -q '^6 8589934592 -2$' full.mtx
report $? 'and becomes both'
report_end
