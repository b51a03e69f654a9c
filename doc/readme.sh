#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes anew what README.md shows of this machine: the table of a run, and the picture of where the time goes.
# readme.sh TULLE; behind `make readme`. Other pictures of doc/images: bench/figures.py, solves_sim.py and streams.py.
set -eu
tulle=$(realpath "${1:-build/tulle}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$PWD/test/data/bcsstk16.mtx.gz" "$work/bcsstk16.mtx.gz"

(cd "$work" && "$tulle" spgemm bcsstk16.mtx.gz --alg stationary-c --pes 2 --threads 1 --reps 25 --check -q) | head -3 | sed 's/^/    /; s/ *$//' >"$work/table"
awk -v table="$work/table" '
    /A run prints$/ { print; print ""; while ((getline line < table) > 0) print line; skip = 1; next }
    skip && (/^    / || /^$/) { next }
    skip { print ""; skip = 0 }
    { print }' README.md >"$work/README.md"
grep -q passed "$work/table" && cp "$work/README.md" README.md

for op in "spgemm" "spmm --cols 128"; do
    # shellcheck disable=SC2086
    "$tulle" $op "$work/bcsstk16.mtx.gz" --alg stationary-c,stationary-a,stationary-b --pes 2 --threads 1 --grid 1x2 --tiles 2 \
        --reps 25 --comm net:latency=5us,bw=1G+threads --json -q
done >"$work/phases.json"
"$tulle" plot breakdown "$work/phases.json" -o doc/images/phases.svg --title "bcsstk16, 2 PEs over a network of 1 GB/s: where the time goes"
