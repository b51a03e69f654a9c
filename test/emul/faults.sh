#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# faults.sh PROGRAM "FAULT ..." REGEX: the program, given these words, ends badly, and says what matches; none: well.
set -u
output=$("$1" $2 2>&1) # words
status=$?
printf '%s\n' "$output" | tail -40
if [ "$2" = none ]; then exit $status; fi
if [ $status = 0 ]; then
    echo "the planted fault '$2' was not found"
    exit 1
fi
if [ $status -ge 128 ]; then output="$output
signal $((status - 128))"; fi
printf '%s\n' "$output" | grep -Eq -e "$3" && exit 0
echo "status $status, but nothing matches '$3'"
exit 1
