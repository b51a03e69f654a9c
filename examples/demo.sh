#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demonstration behind `make demo`: demo.sh BUILD. Multiplies a real matrix (bcsstk16: the stiffness of a dam, from
# the SuiteSparse Matrix Collection) on four PEs with every algorithm, checks each result, and draws one picture.
set -eu
build=${1:-build}
tulle=$build/tulle
matrix=$(dirname "$0")/../test/data/bcsstk16.mtx.gz

"$tulle" stat "$matrix" --grid 2x2
echo
"$tulle" spgemm "$matrix" --pes 4 --threads 1 --grid 2x2 --alg all --check --reps 3
echo
"$tulle" spmm "$matrix" --cols 128 --pes 4 --threads 1 --grid 2x2 --alg all --check --reps 3 --trace "$build/demo.trace.json"
echo
# the same over a slow network, where what is hidden and what is not shows
for op in "spgemm" "spmm --cols 128"; do
    # shellcheck disable=SC2086
    "$tulle" $op "$matrix" --pes 2 --threads 1 --grid 1x2 --tiles 2 --alg all --check --reps 3 --comm net:latency=5us,bw=1G+threads --json
done >"$build/demo.json"

# op, algorithm, then the mean seconds of each phase
sed -n 's/.*"op":"\([a-z]*\)","alg":"\([a-z-]*\)".*"compute":{"max":\([^,]*\),.*"communicate":{"max":\([^,]*\),.*"accumulate":{"max":\([^,]*\),.*"wait":{"max":\([^,]*\),.*/"\1 \2" \3 \4 \5 \6/p' \
    "$build/demo.json" >"$build/demo.dat"

if command -v gnuplot >/dev/null 2>&1; then
    gnuplot <<EOF
set terminal svg size 760,420 font "sans,12" background "white"
set output "$build/demo.svg"
set title "bcsstk16, 2 PEs over a network of 1 GB/s: where the time goes (ms, slowest PE)"
set style data histograms
set style histogram rowstacked
set style fill solid 0.9 border -1
set boxwidth 0.6
set ylabel "milliseconds"
set key outside right top reverse Left
set xtics rotate by -20
set grid ytics
plot "$build/demo.dat" using (\$2*1e3):xtic(1) title "compute", \
     '' using (\$3*1e3) title "communicate", \
     '' using (\$4*1e3) title "accumulate", \
     '' using (\$5*1e3) title "wait"
EOF
    echo "picture:  $build/demo.svg"
else
    echo "no picture: gnuplot is not installed"
fi
echo "timeline: $build/demo.trace.json (open it in ui.perfetto.dev)"
