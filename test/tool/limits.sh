#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every verb that computes where little may be mapped (ulimit -v, -d), in a control group of 500 MB, on one core: it
# works, or names the limit and what fits. limits.sh TULLE DATA
set -u
tulle=$1
data=$2
. "$(dirname "$0")/workspace.sh"
matrix=$data/bcsstk16.mtx.gz
"$tulle" calibrate >/dev/null 2>&1 # once, without limits
case $("$tulle" info) in *"mpi_openmpi: yes"*) mpi=mpi_openmpi ;; *"mpi_mpich: yes"*) mpi=mpi_mpich ;; *) mpi= ;; esac

verbs="spgemm $matrix --check
spgemm $matrix --pes 4 --check
spmm $matrix --cols 16 --check
gemm --size 300 --check
solve $matrix --method cg --precond ic0 --check
matfun sqrt stencil2d:n=12 --blocks 1 --check
stream $matrix"
[ -z "$mpi" ] || verbs="$verbs
spgemm $matrix --comm $mpi --pes 2 --check"

# LIMITED COMMAND...: all verbs succeed
all() {
    name=$1
    shift
    while read -r line; do
        # shellcheck disable=SC2086
        "$@" timeout 100 "$tulle" $line >"$work/out" 2>"$work/err"
        status=$?
        [ $status = 0 ] || sed 's/^/# /' "$work/err"
        report $status "$name: $(echo "$line" | sed "s|$data/||")"
    done <<EOF
$verbs
EOF
}
limited() { # OPTION AMOUNT COMMAND...
    option=$1 amount=$2
    shift 2
    (ulimit "$option" "$amount" && exec "$@")
}
all 'one core' taskset -c 0
all 'ulimit -v 1G' limited -v 1048576
all 'ulimit -d 1G' limited -d 1048576
for option in -v -d; do
    limited $option 1048576 "$tulle" spgemm "$matrix" --pes 4 --memory 800M >"$work/out" 2>"$work/err"
    status=$?
    fits=$(sed -n 's/.*(ulimit '$option').* \([0-9]*\) MB of memory fit.*/\1/p' "$work/err")
    [ $status = 3 ] && [ -n "$fits" ]
    report $? "ulimit $option 1G, --memory 800M: the limit is named, and $fits MB would fit"
    limited $option 1048576 "$tulle" spgemm "$matrix" --pes 4 --memory "${fits:-0}M" >"$work/out" 2>"$work/err"
    report $? "ulimit $option 1G: --memory ${fits}M works"
done
[ "$(taskset -c 0 "$tulle" info | sed -n 's/^cores: //p')" = 1 ]
report $? "taskset: one core"
[ "$(OMP_NUM_THREADS=1 "$tulle" info | sed -n 's/^cores: //p')" = 1 ]
report $? "OMP_NUM_THREADS: one core"

group=/sys/fs/cgroup/memory/tulle.$$
if mkdir "$group" 2>/dev/null && echo 500000000 2>/dev/null >"$group/memory.limit_in_bytes"; then
    trap 'rmdir "$group" 2>/dev/null; rm -rf "$work"' EXIT
    within() { (sh -c 'echo $PPID' >"$group/cgroup.procs" && exec "$@"); }
    all 'a group of 500 MB' within
else
    rmdir "$group" 2>/dev/null
    echo "# no control group of v1 can be made here: base/limits reads the files of some"
fi
report_end
