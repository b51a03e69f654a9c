#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demonstration behind `make demo`: demo.sh BUILD. Multiplies a real matrix (bcsstk16: the stiffness of a dam, from
# the SuiteSparse Matrix Collection) on four PEs with every algorithm, checks each result, and draws one picture.
set -eu
build=$(cd "${1:-build}" && pwd)
cd "$(dirname "$0")/.."
tulle=$build/tulle
matrix=test/data/bcsstk16.mtx.gz

"$tulle" stat "$matrix" --grid 2x2
echo
"$tulle" spgemm "$matrix" --pes 4 --threads 1 --grid 2x2 --alg all --check --reps 3
echo
"$tulle" spmm "$matrix" --cols 128 --pes 4 --threads 1 --grid 2x2 --alg all --check --reps 3 --trace "$build/demo.trace.json"
echo
# the same over a slow network, where what is hidden and what is not shows; what both say is told once
said=$build/demo.said
trap 'sort -u "$said" >&2; rm -f "$said"' EXIT
for op in "spgemm" "spmm --cols 128"; do
    # shellcheck disable=SC2086
    "$tulle" $op "$matrix" --pes 2 --threads 1 --grid 1x2 --tiles 2 --alg all --check --reps 3 --comm net:latency=5us,bw=1G+threads --json
done >"$build/demo.json" 2>"$said"

if "$tulle" plot breakdown "$build/demo.json" -o "$build/demo.svg" \
    --title "bcsstk16, 2 PEs over a network of 1 GB/s: where the time goes"; then
    echo "picture:  $build/demo.svg"
fi
echo "timeline: $build/demo.trace.json (open it in ui.perfetto.dev)"
