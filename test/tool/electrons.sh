#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Numbers of electrons by the command, of systems whose levels are equal, or lie on bounds: right, or refused.
# electrons.sh TULLE DATA [PES...]
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 99
if "$tulle" info 2>/dev/null | grep -q 'LAPACK: *no'; then
    echo '1..0 # SKIP functions of matrices need LAPACK'
    exit
fi
at=$data/electrons
shift 2
teams=${*:-1 3}

# numbers ARGUMENTS...: electrons, stored electrons and the energy of a result
numbers() {
    "$tulle" density "$@" --check --json >"$work/out" 2>"$work/err"
    got=$?
    sed -n 's/.*"electrons":\([^,]*\),"stored_electrons":\([^,]*\),"energy":\([^,]*\),.*/\1 \2 \3/p' "$work/out"
    return $got
}
# right ELECTRONS ENERGY ARGUMENTS...
right() {
    electrons=$1 energy=$2
    shift 2
    if numbers "$@" | awk -v n="$electrons" -v e="$energy" '
        function off(x, y) { return x > y ? x - y : y - x }
        { good = off($1, n) < 1e-6 && off($2, n) < 1e-6 && off($3, e) < 1e-6 }
        END { exit !good }'; then
        report 0 "$*: $electrons electrons, energy $energy"
    else
        report 1 "$*: not $electrons electrons with energy $energy: $(head -c 300 "$work/out" "$work/err")"
    fi
}

for pes in $teams; do
    for comm in threads threads:direct=off; do
        on="--pes $pes --comm $comm"
        # shellcheck disable=SC2086
        {
            right 28 -32 "$at/pshells.mtx" --blocks 3 --electrons 28 $on
            right 20 -20 "$at/atoms.mtx" --blocks 1 --electrons 20 $on
            right 12 42 "$at/levels.mtx" --blocks 1 --electrons 12 $on
            right 2 2 "$at/levels.mtx" --blocks 1 --electrons 2 $on
            right 12 -8 "$at/dimers.mtx" --blocks 2 --electrons 12 $on
        }
    done
    on="--pes $pes"
    # shellcheck disable=SC2086
    {
        for method in tc2 trs4 auto; do
            right 28 -32 "$at/pshells.mtx" --blocks 3 --electrons 28 --method $method $on
            right 20 -20 "$at/atoms.mtx" --blocks 1 --electrons 20 --method $method $on
            right 12 42 "$at/levels.mtx" --blocks 1 --electrons 12 --method $method $on
            right 2 2 "$at/levels.mtx" --blocks 1 --electrons 2 --method $method $on
            right 0 0 "$at/dimers.mtx" --blocks 2 --electrons 0 --method $method $on
        done
        # five equal levels hold two states more than there are electrons for: purification has no gap
        expect 1 'is there a gap' density "$at/dimers.mtx" --blocks 2 --electrons 12 --method tc2 $on
        expect 1 'is there a gap' density "$at/dimers.mtx" --blocks 2 --electrons 12 --method trs4 $on
    }
done
right 12 -8 "$at/dimers.mtx" --blocks 2 --electrons 12 --method auto
expect 0 'HOMO -1, LUMO 1, gap 2' density "$at/dimers.mtx" --blocks 2 --electrons 10
expect 0 '"below":-1,"above":1,"filled":0,"gap":2,' density "$at/pshells.mtx" --blocks 3 --electrons 28 --json
expect 0 '"mu":0.5,' density "$at/dimers.mtx" --blocks 2 --mu 0.5 --json
expect 0 'electrons  *18.005767' density "$at/star_H.mtx" "$at/star_S.mtx" --blocks 1 --electrons 18.005767034693886 --kT 0.001 --check
expect 2 'fills whole states' density "$at/levels.mtx" --blocks 1 --electrons 3 --method tc2
# a matrix without rows
printf '%%%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n' >none.mtx
for how in '--electrons 0' '--mu 0' '--electrons 0 --kT 1' '--mu 0 --kT 1' '--electrons 0 --method trs4' '--mu 0 --method mcweeny'; do
    # shellcheck disable=SC2086
    briefly right 0 0 none.mtx --blocks 1 $how --pes 2
done
briefly right 0 0 none.mtx none.mtx --blocks 1 --electrons 0 --nonorthogonal
report_end
