#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Parts of `make check-all` (parts.list):
#   parts.sh list            a line a part, for `make help`
#   parts.sh run BUILD PART  the tests of a part, in a build folder; PART all: those of all parts
#   parts.sh check BUILD     whether each test of ctest is in one part
set -eu
here=$(dirname "$0")

# PART NUMBER: a field of its line
field() { awk -F ' ; ' -v part="$1" -v n="$2" '!/^#/ && $1 == part { print $n }' "$here/parts.list"; }
names() { awk -F ' ; ' '!/^#/ && NF { print $1 }' "$here/parts.list"; }
# What grep and ctest match nothing by stands for no exception.
but() { field "$1" 3 | sed 's/^-$/^$/'; }

case ${1:-} in
list)
    for part in $(names); do printf '                %-10s %s\n' "$part" "$(field "$part" 4)"; done
    ;;
run)
    set -- "$2" "$3" --test-dir "$2" --output-on-failure -j "${JOBS:-$(nproc)}"
    part=$2
    shift 2
    [ "$part" != all ] || exec ctest "$@"
    [ -n "$(field "$part" 2)" ] || {
        echo "there is no part $part; these are:" >&2
        "$0" list >&2
        exit 2
    }
    exec ctest "$@" -R "$(field "$part" 2)" -E "$(but "$part")"
    ;;
check)
    found=$(mktemp -d)
    trap 'rm -rf "$found"' EXIT
    ctest --test-dir "$2" -N | sed -n 's/^ *Test *#[0-9]*: //p' | sort >"$found/all"
    for part in $(names); do
        grep -E "$(field "$part" 2)" "$found/all" | grep -Ev "$(but "$part")" || echo "the part $part has no tests"
    done | sort >"$found/parts"
    if ! comm -3 "$found/parts" "$found/all" | grep . >"$found/wrong"; then
        echo "$(wc -l <"$found/all") tests, each in one part of test/parts.list"
        exit 0
    fi
    echo 'in two parts, or (indented) in none:'
    cat "$found/wrong"
    exit 1
    ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
