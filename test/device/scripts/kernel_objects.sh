#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is compiled for an instruction set leaves its files only under the set's name: a function of a shared header that
# left them under its own could be linked into code for other processors. kernel_objects.sh SET OBJECT...
set -u
. "$(dirname "$0")/../../tool/tap.sh"
set=$1
shift
for object; do
  symbols=$(nm --defined-only "$object") # fails with what cannot be read
  [ $? = 0 ] && ! printf '%s\n' "$symbols" | awk '$2 ~ /^[A-Zuvw]$/ {print $3}' | grep -v "_$set\$"
  report $? "$set/$(basename "$object"): every symbol that other files see ends in _$set"
  printf '%s\n' "$symbols" | grep -q "_$set\$"
  report $? "and there are some"
done
report_end
