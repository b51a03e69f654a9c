#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The faults of the installed MPI that known_faults.c does not list are not there: each is tried as the engine would meet
# it, without Tulle. faults.sh FAULTS KNOWN LAUNCHER OPTION... ; FAULTS: src/comm/mpi/faults/faults.c, compiled
set -u
faults=$1
known=$("$2" here) || exit 1
launcher=$3
shift 3
. "$(dirname "$0")/../tool/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for fault in cas early replace; do
    if echo "$known" | grep -qx $fault; then
        report 0 "$fault is listed: not tried"
        continue
    fi
    osc= # as the library chooses
    [ $fault != cas ] || osc=rdma
    OMPI_MCA_osc=$osc timeout -k 5 60 "$launcher" "$@" -n 2 "$faults" $fault >"$work/out" 2>"$work/err"
    status=$?
    [ $status = 0 ] && grep -q -e 'has swapped' -e 'has replaced' -e '^0 of 1000 gets' "$work/out"
    report $? "$fault: status $status, $(head -n 1 "$work/out")"
done
report_end
