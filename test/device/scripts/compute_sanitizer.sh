#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# compute_sanitizer.sh TOOL BUILD: the kernels' suites on a GPU under a tool of NVIDIA's compute-sanitizer (memcheck,
# racecheck, synccheck, initcheck). 77: there is no such program, or no GPU.
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
    "$sanitizer" --tool "$tool" --error-exitcode 9 "$build/test/$program" $arguments >"$build/$tool.log" 2>&1 || {
        cat "$build/$tool.log"
        echo "$tool: $program $arguments"
        status=1
    }
done <<SUITES
device/test_device_slabs cuda:kernels=own
device/test_device_sparse_products cuda
trisolve/test_trisolve threads 1 1 device=cuda
krylov/test_krylov_home cuda
SUITES
exit $status
