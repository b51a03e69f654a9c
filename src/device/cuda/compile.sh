#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles by nvcc and keeps what its assembler says that kernels take, for resources.sh: compile.sh LOG NVCC ARGUMENT...
# Everything else that it says is shown.
log=$1
shift
"$@" >"$log" 2>&1
status=$?
grep -v '^ptxas info\|^ptxas \. *\|bytes stack frame, .* bytes spill\|^$' "$log" >&2
exit $status
