#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Figures of a machine: kept by its kind, measured for long work only, those of its kind of processor where there is no
# place for them. calibration.sh TULLE
set -u
tulle=$1
. "$(dirname "$0")/workspace.sh"
export XDG_CACHE_HOME="$work/own" # nobody has measured
unset TULLE_MACHINE

asked() { # the member "calibrated" of a product's JSON, and what was said
    "$tulle" spmm rmat:scale=8 --json "$@" 2>"$work/said" | grep -o '"calibrated":[a-z]*'
}
files() { find "$work/own" -name 'machine-*' | wc -l; }

[ "$(asked)" = '"calibrated":false' ] && [ ! -s "$work/said" ] && [ "$(files)" = 0 ]
report $? "short work measures nothing: $(cat "$work/said")"
"$tulle" spmm rmat:scale=8 2>/dev/null | grep -q 'by figures of this kind of processor; `tulle calibrate`'
report $? 'the report says so'
# 3 10^7 multiplications of entries, some tens of milliseconds
awk 'BEGIN { n = 3000; print "%%MatrixMarket matrix coordinate pattern general\n" n, n, 100 * n;
    for (i = 0; i < n; i++) for (j = 0; j < 100; j++) print i + 1, (i + j) % n + 1 }' >"$work/band.mtx"
"$tulle" spgemm "$work/band.mtx" --json 2>"$work/said" | grep -q '"calibrated":false' && [ ! -s "$work/said" ] && [ "$(files)" = 0 ]
report $? "a short sparse product measures nothing: $(cat "$work/said")"
mkdir "$work/file" && : >"$work/file/tulle" # no folder can be made there
[ "$(XDG_CACHE_HOME=$work/file asked --machine here)" = '"calibrated":false' ] && grep -q 'this machine is not measured: ' "$work/said"
report $? "no place to keep figures: $(cat "$work/said")"
[ "$(asked --machine here)" = '"calibrated":true' ] && grep -q 'measuring this machine' "$work/said" && [ "$(files)" = 1 ]
report $? '--machine here measures, once'
[ "$(asked)" = '"calibrated":true' ] && [ ! -s "$work/said" ]
report $? 'kept figures are used'
grep -q '^kind .* cores=[0-9]* .*memory=[0-9]*G tulle=' "$work/own/tulle/"machine-*
report $? 'the file names the kind of machine'
if unshare -u true 2>/dev/null; then
    # shellcheck disable=SC2016
    [ "$(unshare -u sh -c 'hostname another && "$0" spmm rmat:scale=8 --json 2>/dev/null' "$tulle" |
        grep -o '"calibrated":[a-z]*')" = '"calibrated":true' ]
    report $? 'another node of the kind uses them'
else
    report 0 'another node of the kind # SKIP host names cannot be changed here'
fi
system=$("$tulle" info | sed -n 's/^calibration of all users: \(.*\)\/machine-.*/\1/p')
if [ -n "$system" ] && unshare -m sh -c 'mkdir -p "$0" && mount -t tmpfs none "$0"' "$system" 2>/dev/null; then
    cp "$work/own/tulle/"machine-* "$work/kept"
    sed -i 's/^stream .*/stream 123456789/' "$work/kept"
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs none "$1" && cp "$2" "$1/$3" && "$0" info' "$tulle" "$system" "$work/kept" \
        "$(basename "$work/own/tulle/"machine-*)" | grep -q 'memory 0.1 GB/s'
    report $? 'the file of all users is read first'
else
    report 0 'the file of all users # SKIP file systems cannot be mounted here'
fi
report_end
