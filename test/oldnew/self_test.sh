#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# oldnew.py on one build against itself, and against builds that are wrong: a value that differs by one bit, an entry
# that is missing, another exit status. self_test.sh PYTHON OLDNEW TULLE
set -u
. "$(dirname "$0")/../tool/tap.sh"
python=$1 oldnew=$2 tulle=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" # where oldnew.py keeps the inputs of what differs

"$python" "$oldnew" "$tulle" "$tulle" --cases 20 >"$work/out" 2>&1
report $? "a build equals itself: $(tail -n 1 "$work/out")"
grep -q ' 0 different' "$work/out"
report $? "the summary says so"

# wrong NAME PATTERN: a build that fails as the Python program on standard input makes it, given the file of C; the
# difference is reported as PATTERN says
wrong() {
    cat >"$work/$1.py"
    cat >"$work/$1" <<EOF
#!/bin/sh
"$tulle" "\$@" || exit
for last; do :; done
exec "$python" "$work/$1.py" "\$last"
EOF
    chmod +x "$work/$1"
    "$python" "$oldnew" "$tulle" "$work/$1" --cases 4 --seed 3 >"$work/out" 2>&1
    [ $? = 1 ] && grep -q "$2" "$work/out" && grep -q "^ .*$work/$1 sp[mg].* -o new.mtx" "$work/out"
    report $? "$1 is reported, with its command: $(grep -m 1 differs "$work/out")"
}

wrong last_bit 'C(.*) is .*, and' <<'EOF'
import math, sys
lines = open(sys.argv[1]).read().splitlines()
words = lines[-1].split()
words[-1] = repr(math.nextafter(float(words[-1]), math.inf))
open(sys.argv[1], "w").write("\n".join(lines[:-1] + [" ".join(words)]) + "\n")
EOF
wrong entry_missing 'stored by one of them only' <<'EOF'
import sys
lines = open(sys.argv[1]).read().splitlines()
if "coordinate" in lines[0] and len(lines) > 2:
    lines = lines[:-1]
    size = lines[1].split()
    lines[1] = f"{size[0]} {size[1]} {int(size[2]) - 1}"
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
EOF
wrong beyond_rounding 'further apart than' <<'EOF'
import sys
lines = open(sys.argv[1]).read().splitlines()
words = lines[-1].split()
words[-1] = repr(float(words[-1]) * (1 + 1e-3) + 1e-3)
open(sys.argv[1], "w").write("\n".join(lines[:-1] + [" ".join(words)]) + "\n")
EOF
wrong status 'exit 0 .*, and 3' <<'EOF'
import sys
sys.exit(3)
EOF
report_end
