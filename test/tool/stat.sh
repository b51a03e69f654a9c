#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Symmetry, levels and columns as stat reports them: stat.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1

# says NAME SIZES ENTRIES FIELD...: fields of the JSON of a matrix with these entries (row column value; ...), on 1 and 3 PEs
says() {
    name=$1 sizes=$2 entries=$3
    shift 3
    echo '%%MatrixMarket matrix coordinate real general' >a.mtx
    echo "$sizes $(echo "$entries" | tr ';' '\n' | grep -c .)" >>a.mtx
    echo "$entries" | tr ';' '\n' | grep . >>a.mtx
    for pes in 1 3; do
        "$tulle" stat a.mtx --pes $pes --json -q >out 2>err
        for field in "$@"; do
            grep -q "$field[,}]" out
            report $? "$name, $pes PEs: $field"
        done
    done
}

says 'symmetric' '3 3' '1 2 5;2 1 5;3 3 1;2 3 -1;3 2 -1' '"pattern_symmetric":true' '"symmetric":true'
says 'one value differs' '3 3' '1 2 5;2 1 5;2 3 -1;3 2 -1.0000000000000002' '"pattern_symmetric":true' '"symmetric":false'
says 'skew' '3 3' '1 2 5;2 1 -5' '"pattern_symmetric":true' '"symmetric":false'
says 'two values swapped' '4 4' '1 2 5;2 1 6;3 4 6;4 3 5' '"pattern_symmetric":true' '"symmetric":false'
says 'one entry elsewhere' '4 4' '1 2 5;3 1 5' '"pattern_symmetric":false' '"symmetric":false'
says 'one triangle' '3 3' '2 1 5;3 1 5' '"pattern_symmetric":false' '"levels":2' '"widest_level":2' '"lower_nnz":5'
says 'zeros of both signs' '2 2' '1 2 0;2 1 -0.0' '"symmetric":true' '"zeros":2'
says 'nan' '2 2' '1 1 nan;1 2 1;2 1 1' '"pattern_symmetric":true' '"symmetric":false'
says 'no entry' '5 5' '' '"symmetric":true' '"levels":1' '"widest_level":5' '"empty_cols":5'
says 'a chain' '5 5' '2 1 1;3 2 1;4 3 1;5 4 1' '"levels":5' '"widest_level":1' '"col_max":1' '"empty_cols":1'
says 'a wide matrix' '2 400' '1 400 1;2 400 1;2 1 1' '"col_max":2' '"empty_cols":398' '"symmetric":false'
report_end
