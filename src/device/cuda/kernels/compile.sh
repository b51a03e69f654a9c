#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles by nvcc and keeps what its assembler says that kernels take, for resources.sh, and the code for sm_90 if that is
# among what is made, for sass.sh: compile.sh LOG NVCC ARGUMENT... Everything else that it says is shown.
log=$1
cubin=${log%.ptxas}.sm_90.cubin
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"$@" --keep --keep-dir "$work" >"$log" 2>&1
status=$?
grep -v '^ptxas info\|^ptxas \. *\|bytes stack frame, .* bytes spill\|^$' "$log" >&2
rm -f "$cubin"
for made in "$work"/*.sm_90.cubin; do
    if [ -f "$made" ]; then mv "$made" "$cubin"; fi
done
exit $status
