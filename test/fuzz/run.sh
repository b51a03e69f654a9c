#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target for SECONDS, one on each core, from its saved corpus; what it finds new stays in a folder of
# its own.
# usage: run.sh SECONDS [FOLDER of the fuzz_* programs, default build-fuzz/test/fuzz]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:?usage: run.sh SECONDS [FOLDER]}
programs=${2:-$here/../../build-fuzz/test/fuzz}
work=${TULLE_FUZZ_WORK:-$programs}
export here seconds programs work
# shellcheck disable=SC2016
find "$programs" -name 'fuzz_*' -type f -perm -u+x | sed 's/.*fuzz_//' | sort | xargs -P "$(nproc)" -I TARGET sh -c '
    mkdir -p "$work/new_TARGET"
    status=0
    "$programs/fuzz_TARGET" -max_total_time="$seconds" -max_len=2048 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/crash_TARGET_" "$work/new_TARGET" "$here/corpus/TARGET" >"$work/log_TARGET" 2>&1 || status=1
    grep -E "number_of_executed_units|SUMMARY|does not hold|ERROR" "$work/log_TARGET" | sed "s/^/TARGET: /"
    exit $status'
