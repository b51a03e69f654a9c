#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/readme.sh writes no run whose prediction is off by more than 1.25, nor one that was not checked: with a command
# that prints what it is told, in a copy of what it reads. readme_refuses.sh SOURCES
set -u
sources=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$sources/test/tool/tap.sh"

mkdir -p "$work/doc/images" "$work/examples" "$work/test/data"
cp "$sources/README.md" "$work"
cp "$sources/doc/readme.sh" "$sources/doc/performance.md" "$work/doc"
cp "$sources/examples/square.c" "$work/examples"
: >"$work/test/data/bcsstk16.mtx.gz"
cat >"$work/tulle" <<'END'
#!/bin/sh
case $1 in
spgemm) [ "${2#bcs}" = "$2" ] || cat "$FAKE" ;;
esac
END
chmod +x "$work/tulle"

# run SECONDS PREDICTED CHECK: whether the script ends well, and whether README.md then shows that run
run() {
    {
        echo "spgemm bcsstk16.mtx.gz"
        echo "algorithm seconds reused predicted GF/s check"
        echo "stationary-c $1 $1 $2 4.33 $3"
    } >"$work/fake"
    cp "$sources/README.md" "$work"
    FAKE=$work/fake sh "$work/doc/readme.sh" "$work/tulle" >"$work/out" 2>&1
}
refused() {
    [ $? -ne 0 ] && grep -q 'stays as it is' "$work/out" && cmp -s "$sources/README.md" "$work/README.md"
}
run 0.010 0.013 passed
refused
report $? "1.3 times the time: refused, README.md stays"
run 0.010 0.0076 passed
refused
report $? "0.76 of it: refused"
run 0.010 0.010 failed
refused
report $? "a run that did not pass: refused"
run 0.010 0.0124 passed && grep -q 'stationary-c 0.010 0.010 0.0124' "$work/README.md"
report $? "1.24 times: README.md shows it"
report_end
