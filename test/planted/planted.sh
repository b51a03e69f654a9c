#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One fault of faults.txt: prints its line, and passes if the test finds the fault as the line says; of the fault `none`,
# if the test passes. planted.sh FAULT "WHAT GOES WRONG" "PATTERN" PROGRAM [ARGUMENT...]
set -u
fault=$1 what=$2 pattern=$3
shift 3
name=$(basename "$1")
name=test_${name#planted_}
if [ "$fault" = none ]; then
    echo "no fault: $name passes"
    unset TULLE_FAULT
    exec "$@"
fi
echo "fault $fault: $what"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkfifo "$work/lines"
# The first failure is enough: what follows it may take long, or for ever. PEs that wait for what never
# comes use their processors, so a test without an end is one that uses up its seconds of them, however
# busy the machine is. A test that is to fail gets more of them than one that is to hang.
case $pattern in *'no end'*) seconds=5 ;; *) seconds=30 ;; esac
(ulimit -S -t $seconds && TULLE_FAULT=$fault exec "$@") >"$work/lines" 2>&1 &
program=$!
found=$(grep -m 1 '^not ok' "$work/lines")
[ -z "$found" ] || kill -9 $program 2>/dev/null
wait $program 2>/dev/null
[ $? != 152 ] || found="no end" # SIGXCPU
shift
echo "found by: $name $*"
if [ -z "$found" ]; then
    echo "NOT FOUND: the test ends without a failure although the fault is on"
    exit 1
fi
echo "shows as: $found"
echo "$found" | grep -q -e "$pattern" && exit 0
echo "which is not what the table says: $pattern"
exit 1
