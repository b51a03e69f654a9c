# SPDX-License-Identifier: Apache-2.0
# What the scripts here share, to be read by `.`: TAP lines, counted.
count=0
bad=0
report() { # condition-status text
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; bad=$((bad + 1)); fi
}
report_end() { # fails if any condition did
    echo "1..$count"
    [ $bad = 0 ]
}
