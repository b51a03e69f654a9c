# SPDX-License-Identifier: Apache-2.0
# What the scripts here that try the command share, to be read by `.` with its path in $1 and that of the data in $2: a
# folder of their own, and expectations.
. "$(dirname "$0")/workspace.sh"
tulle=$1
data=$2
# briefly COMMAND...: with a tulle that may use 10 s of processor time only, however busy the machine is
printf '#!/bin/sh\nulimit -S -t 10\nexec "%s" "$@"\n' "$tulle" >"$work/brief" && chmod 755 "$work/brief"
briefly() {
    whole=$tulle
    tulle=$work/brief
    "$@"
    tulle=$whole
}
# expect STATUS PATTERN COMMAND...: exit status, and a pattern in what it prints on either stream
expect() {
    status=$1 pattern=$2
    shift 2
    "$tulle" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got = "$status" ] && grep -q -e "$pattern" "$work/out"; then
        report 0 "$* -> $got"
    else
        report 1 "$* -> $got instead of $status, or '$pattern' missing in: $(head -c 300 "$work/out")"
    fi
}
