#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# says.sh REGEX PROGRAM ARGUMENT...: the program succeeds, and a line of what it prints matches. (PASS_REGULAR_EXPRESSION
# of ctest takes no notice of the exit status.)
set -u
regex=$1
shift
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
[ $status = 0 ] || { echo "$1: exit status $status"; exit 1; }
printf '%s\n' "$output" | grep -Eq -e "$regex" || { echo "no line matches '$regex'"; exit 1; }
