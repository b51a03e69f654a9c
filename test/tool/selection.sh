#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Entries that spgemm keeps: selection.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1

# rows (3 . . 4 | . . 0 0 | -1 -1 -1 -1 | . . . .) times 1; ties, a stored zero, negative values, an empty row
cat >a.mtx <<'END'
%%MatrixMarket matrix coordinate real general
4 4 8
1 1 3
1 4 4
2 3 0
2 4 0
3 1 -1
3 2 -1
3 3 -1
3 4 -1
END
cat >one.mtx <<'END'
%%MatrixMarket matrix coordinate real general
4 4 4
1 1 1
2 2 1
3 3 1
4 4 1
END

# keeps NAME WORDS OPTIONS: entries "row column value" of A times 1, in order, on one and on several PEs
keeps() {
    name=$1 want=$2
    shift 2
    for how in '--pes 1' '--pes 3' '--pes 4 --grid 2x2 --alg summa' '--pes 4 --grid 2x2 --alg steal-local-a'; do
        # shellcheck disable=SC2086 # words
        "$tulle" spgemm a.mtx one.mtx $how "$@" -q --check -o c.mtx >/dev/null 2>err
        got=$(grep -v '^%' c.mtx | sed 1d | sort -n -k1,1 -k2,2 | tr '\n' ';')
        [ "$got" = "$want" ]
        report $? "$name, $how: $got"
    done
}

keeps 'the largest entry, of equal ones the first' '1 4 4;2 3 0;3 1 -1;' --top 1
keeps 'two of a row' '1 1 3;1 4 4;2 3 0;2 4 0;3 1 -1;3 2 -1;' --top 2
keeps 'no entry' '' --top 0
keeps 'entries above a number, not at it' '1 4 4;' --above 3
keeps 'the largest of those above a number' '1 4 4;2 3 0;' --above -1 --top 1
keeps 'cosines; a row of zeros has none' '1 1 0.6;1 4 0.8;3 1 -0.5;3 2 -0.5;' --cosine --top 2 --transpose-b

"$tulle" spgemm a.mtx --transpose-b --cosine --top 1 -q -o c.mtx >/dev/null 2>&1 &&
    [ "$(grep -v '^%' c.mtx | sed 1d | cut -d' ' -f1,2 | tr '\n' ';')" = '1 1;3 3;' ]
report $? "each row is most similar to itself"
"$tulle" spgemm a.mtx --transpose-b --permute random -q --top 1 --above 0 -o d.mtx >/dev/null 2>&1 &&
    [ "$(grep -v '^%' d.mtx | sed 1d | tr '\n' ';')" = '1 1 25;3 3 4;' ]
report $? "A A^T of a square A whose rows are permuted"
expect 2 "'x' is not a whole number" spgemm a.mtx --top x
expect 2 "'nan' is not a number" spgemm a.mtx --above nan
expect 2 'both are csr' spgemm a.mtx --blocks 2 --top 1
expect 2 'on a device' spgemm a.mtx --device cpu --top 1

# --explain: the chosen mechanism is one of the list, and all that are tried take time
"$tulle" spgemm a.mtx --pes 1 --explain --reps 2 >explained 2>/dev/null &&
    [ "$(sed -n 2,11p explained | grep -c '^[a-z]* *\** ')" = 10 ] && [ "$(grep -c '^[a-z]* *\* ' explained)" = 1 ] &&
    ! grep -q '^chosen *\*' explained
report $? "ten mechanisms, of which one is chosen"
"$tulle" spgemm a.mtx --pes 1 --explain --json 2>/dev/null | head -10 >explained &&
    [ "$(grep -c '"mechanism":"[a-z]*","chosen":\(true\|false\)' explained)" = 10 ] &&
    [ "$(grep -c '"chosen":true' explained)" = 1 ] && grep -q '"mechanism":"chosen".*"fresh_s":0.0*[1-9]' explained
report $? "the same in JSON"
expect 2 'explain is of one PE' spgemm a.mtx --pes 2 --explain
report_end
