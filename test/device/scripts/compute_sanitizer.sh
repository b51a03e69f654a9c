#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compute_sanitizer.sh TOOL BUILD: suites that launch every kernel (suites.txt; test/emul/kernels.sh), on a GPU under a
# tool of NVIDIA's compute-sanitizer (memcheck, racecheck, synccheck, initcheck), ten minutes each at most. 77: there is
# no such program, or no GPU.
set -u
tool=$1
build=$2
export TULLE_MODULE_PATH=$build/modules
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || sanitizer=
if [ -z "$sanitizer" ]; then
    echo "there is no compute-sanitizer here"
    exit 77
fi
if ! "$build/tulle" info | grep -q '^device cuda: yes'; then
    "$build/tulle" info | grep '^device cuda'
    exit 77
fi
status=0
while read -r program arguments; do
    # shellcheck disable=SC2086
    timeout -k 10 600 "$sanitizer" --tool "$tool" --error-exitcode 9 "$build/test/$program" $arguments \
        >"$build/$tool.log" 2>&1 </dev/null || {
        code=$?
        cat "$build/$tool.log"
        echo "$tool: $program $arguments: status $code (9: it has found something; 124: ten minutes are over)"
        status=1
    }
done <"$(dirname "$0")/suites.txt"
exit $status
