#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for SECONDS, one after the other, from its saved corpus; what it finds new stays in a folder of
# its own. usage: run.sh SECONDS [FOLDER of the fuzz_* programs, default build-fuzz/test/fuzz]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:?usage: run.sh SECONDS [FOLDER]}
programs=${2:-$here/../../build-fuzz/test/fuzz}
work=${TULLE_FUZZ_WORK:-$programs}
failed=0
for target in number mtx gz npy binsparse spec; do
    mkdir -p "$work/new_$target"
    echo "== $target"
    "$programs/fuzz_$target" -max_total_time="$seconds" -max_len=2048 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/crash_${target}_" "$work/new_$target" "$here/corpus/$target" >"$work/log_$target" 2>&1 || failed=1
    grep -E 'number_of_executed_units|SUMMARY|does not hold|ERROR' "$work/log_$target" || true
done
exit $failed
