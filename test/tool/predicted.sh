#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Predictions of eig, lobpcg, svd and pca beside runs with the same options, drawn by a seed: both refuse, or the method,
# the block and the basis are those of the run, and its passes lie within the bounds. predicted.sh TULLE DATA [SEED [CASES]]
set -u
. "$(dirname "$0")/expect.sh"
seed=${3:-1} cases=${4:-90}
cd "$work" || exit 1

# a matrix of one entry a line: rows, columns, kind
draw() {
    awk -v m="$1" -v n="$2" -v kind="$3" -v seed="$4" 'BEGIN {
        srand(seed)
        print "%%MatrixMarket matrix coordinate real", kind == 1 ? "symmetric" : "general"
        for (i = 1; i <= m; i++)
            for (j = 1; j <= (kind == 1 ? i : n); j++)
                if (rand() < (m < 12 ? .6 : .15) || i == j) line[k++] = i " " j " " (kind == 2 ? i - 2 * j : 2 * rand() - 1)
        print m, n, k
        for (i = 0; i < k; i++) print line[i]
    }' >drawn.mtx
}

# "rows columns kind word options": kind 0: any values, 1: symmetric, 2: rank 2
cases_of() {
    awk -v seed="$1" -v cases="$2" 'function pick(list,   w, c) { c = split(list, w, "|"); return w[1 + int(c * rand())] }
    BEGIN {
        srand(seed)
        for (c = 0; c < cases; c++) {
            word = pick("eig|eig|eig|lobpcg|svd|svd|pca")
            m = 1 + int(rand() < .5 ? 9 * rand() : 90 * rand())
            n = word ~ /eig|lobpcg/ && rand() < .95 ? m : 1 + int(40 * rand())
            kind = word ~ /eig|lobpcg/ ? rand() < .9 : rand() < .3 ? 2 : 0
            k = 1 + int(rand() < .7 ? (m < n ? m : n) * rand() : 80 * rand())
            o = rand() < .8 ? "-k " k : ""
            if (rand() < .5) o = o " --block " pick("1|2|3|4|9|64")
            if (rand() < .2) o = o " --basis " 1 + int(60 * rand())
            if (rand() < .5) o = o " -w " pick("LM|LA|SA|SA|BE")
            if (word == "eig" && rand() < .5) o = o " --method " pick("lanczos|chebyshev|chebyshev|auto")
            if (rand() < .15) o = o " --degree " 2 + int(20 * rand())
            if (word ~ /svd|pca/ && rand() < .5) o = o " --passes " 1 + int(5 * rand())
            if (rand() < .2) o = o " --tol " pick("1e-2|1e-5|1e-12|3")
            if (rand() < .1) o = o " --memory " pick("90M|120M|1G")
            print m, n, kind, word, o
        }
    }'
}

# field NAME < JSON
field() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([a-z0-9]*\).*/\1/p"
}

# Differences between a prediction and a run; nothing if they agree. The passes of a filter are known by its degree.
compare() {
    word=$1 bounds=$2
    shift 2
    case $word in
    lobpcg) "$tulle" eig drawn.mtx --method lobpcg "$@" --json -q --pes 1 >run.json 2>run.err ;;
    *) "$tulle" "$word" drawn.mtx "$@" --json -q --pes 1 >run.json 2>run.err ;;
    esac
    ran=$?
    # shellcheck disable=SC2086
    "$tulle" predict "$word" drawn.mtx "$@" $bounds --json --pes 1 --machine summit >predicted.json 2>predicted.err
    foretold=$?
    # not all have converged, or the values of the matrix are refused: these are not in its header
    if [ $ran = 1 ] && [ -s run.json ]; then ran=0; fi
    if [ $ran != 0 ] && [ -z "$bounds" ] && grep -q 'is not symmetric' run.err; then return; fi
    if [ $ran != $foretold ] || { [ $ran != 0 ] && [ $ran != 2 ]; }; then
        echo "exit status $ran, and $foretold is predicted: $(cat run.err predicted.err)"
        return
    fi
    [ $ran = 0 ] || return
    echo . >>compared
    for name in method block basis degree; do
        was=$(field "$name" <run.json) told=$(field "$name" <predicted.json)
        case $word.$name in
        eig.method | *.block | eig.basis) [ "$was" = "$told" ] || echo "$name $was, and $told is predicted" ;;
        eig.degree) [ -z "$bounds" ] || [ "$was" = "$told" ] || [ -z "$was" ] || [ "$was" = 0 ] ||
            echo "degree $was, and $told is predicted" ;;
        esac
    done
    passes=$(field passes <run.json) least=$(field passes_least <predicted.json) most=$(field passes_most <predicted.json)
    if ! { [ "$passes" -ge "$least" ] && [ "$passes" -le "$most" ]; }; then
        echo "$passes passes, and $least to $most are predicted"
    fi
}

cases_of "$seed" "$cases" >cases
agreed=0
: >compared
while read -r m n kind word rest; do
    draw "$m" "$n" "$kind" "$seed$m$n"
    bounds=
    [ "$word" != eig ] || [ $((m % 2)) = 0 ] || bounds=--bounds
    # shellcheck disable=SC2086
    wrong=$(compare "$word" "$bounds" $rest)
    if [ -z "$wrong" ]; then
        agreed=$((agreed + 1))
    else
        report 1 "$word $rest of $m x $n, kind $kind $bounds: $wrong"
    fi
done <cases
compared=$(wc -l <compared)
[ "$agreed" = "$cases" ] && [ "$compared" -gt $((cases / 3)) ]
report $? "$agreed of $cases predictions agree with runs, $compared of them of runs that are not refused, seed $seed"
report_end
