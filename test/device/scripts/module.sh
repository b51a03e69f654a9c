#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A module imports nothing from libtulle and has one symbol: module.sh tulle_NAME.so
set -u
. "$(dirname "$0")/../../tool/tap.sh"
foreign=$(nm -D --undefined-only "$1") # fails with the module that cannot be read
[ $? = 0 ] && ! printf '%s\n' "$foreign" | grep '[ U]tulle'
report $? "the module imports nothing of Tulle"
own=$(nm -D --defined-only "$1" | awk '{print $NF}' | grep '^tulle' | tr '\n' ' ')
[ "$own" = 'tulle_module_entry ' ]
report $? "and has one symbol: $own"
report_end
