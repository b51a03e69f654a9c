#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two PEs start by a unique id, where there are GPUs: nvshmem.sh PROGRAM. Status 3: there are none, and it says so.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
timeout 120 "$1" 1 2 "$work/id" &
timeout 120 "$1" 0 2 "$work/id"
first=$?
wait $!
second=$?
# no GPU is what both say: else whoever failed counts
if [ $first = $second ]; then exit $first; fi
echo "PE 0 ended with $first, PE 1 with $second"
exit 1
