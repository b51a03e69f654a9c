#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernels.sh MODULE BUILD SUITES: every kernel that the module loads is launched by one of the suites, which pass.
set -u
. "$(dirname "$0")/../tool/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
module=$1 build=$2 suites=$3
export EMUL_KERNELS="$work/kernels"
while read -r tools program arguments; do
    [ "$tools" != '#' ] || continue
    # shellcheck disable=SC2086
    "$build/test/$program" $arguments >"$work/out" 2>&1 </dev/null
    report $? "$program $arguments: $(grep '^not ok' "$work/out" | head -1)"
done <"$suites"
for what in loaded launched; do sed -n "s/^$what //p" "$EMUL_KERNELS" | sort -u >"$work/$what"; done
all=$(wc -l <"$work/loaded")
comm -23 "$work/loaded" "$work/launched" >"$work/missing"
nm -C "$module" | sed 's/^0*//; s/(anonymous namespace):://g' >"$work/symbols"
while read -r place; do grep "^$place " "$work/symbols" || echo "a kernel at $place"; done <"$work/missing" | sed 's/^/# /'
[ "$all" -gt 100 ] && [ ! -s "$work/missing" ]
report $? "of $all kernels $(wc -l <"$work/missing") are not launched"
report_end
