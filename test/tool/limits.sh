#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every verb that computes where little may be mapped (ulimit -v, -d), in a control group of 500 MB, on one core: it
# works, or names the limit and what fits. limits.sh TULLE DATA [all]: with all, calibrate, which takes seconds, under
# each limit; else under one.
set -u
tulle=$1
data=$2
extent=${3:-}
. "$(dirname "$0")/workspace.sh"
matrix=$data/bcsstk16.mtx.gz
"$tulle" calibrate >/dev/null 2>&1 # once, without limits
engines="threads $("$tulle" info | sed -n 's/^\(mpi_[a-z]*\|shmem\|sim\): yes.*/\1/p' | xargs)"

verbs="calibrate
spgemm $matrix --check
spgemm $matrix --pes 4 --check
spmm $matrix --cols 16 --check
gemm --size 300 --check
solve $matrix --method cg --precond ic0 --check
eig $matrix -k 2 -w LA
svd $matrix -k 2
pca $matrix -k 2
matfun sqrt stencil2d:n=12 --blocks 1 --check
trisolve $matrix --from tril --check
density stencil2d:n=12 --blocks 1 --electrons 72 --check
predict $matrix --pes 4
stat $matrix
gen rmat:scale=8 -o $work/graph.mtx
convert $matrix $work/copy.mtx
info
stream $matrix"
for engine in $engines; do
    verbs="$verbs
spgemm $matrix --comm $engine --pes 2 --check"
done
for verb in $("$tulle" --help | sed -n '/VERB --help/q; s/^  \([a-z]*\)  *[A-Z].*/\1/p'); do
    [ "$verb" = plot ] || echo "$verbs" | grep -q "^$verb\( \|$\)"
    report $? "$verb is tried" # plot is gnuplot's
done

# LIMITED COMMAND...: all verbs succeed
all() {
    name=$1
    shift
    while read -r line; do
        case $extent$line$name in calibrate'one core' | all*) ;; calibrate*) continue ;; esac
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
# where next to nothing may be mapped, in which threads of OpenBLAS wait for ever: refused or done, but at an end
for limit in '-v 400000' '-v 150000' '-d 60000' '-d 20000'; do
    for line in "spgemm $matrix --check" "svd $matrix -k 2" 'density stencil2d:n=12 --blocks 1 --electrons 72' \
        "stat $matrix" "solve $matrix --precond block-jacobi:n=3 --check" 'matfun sqrt stencil2d:n=12 --blocks 1'; do
        # shellcheck disable=SC2086
        limited $limit timeout 100 "$tulle" $line >"$work/out" 2>"$work/err"
        status=$?
        [ $status = 0 ] || [ $status = 3 ]
        report $? "ulimit $limit: $line ends with $status"
    done
done
limited -v 1048576 timeout 100 "$tulle" matfun sqrt stencil2d:n=12 --blocks 1 --pes 6 >"$work/out" 2>"$work/err"
[ $? = 3 ] && grep -q 'OpenBLAS may map .* for each thread, .*(ulimit -v) leaves' "$work/err"
report $? "ulimit -v 1G, 6 PEs: $(head -n 1 "$work/err")"
# one thread of the BLAS, and no room for a buffer of each thread that calls it: the product is done without
OPENBLAS_NUM_THREADS=1 limited -v 480000 timeout 100 "$tulle" gemm --size 200 --check >"$work/out" 2>"$work/err"
report $? "ulimit -v 480000: gemm with one thread of OpenBLAS ends: $(head -n 1 "$work/err")"
limited -s 64 timeout 100 "$tulle" spgemm "$matrix" --check >"$work/out" 2>"$work/err"
[ $? = 3 ] && grep -q '(ulimit -s) is 64 KB' "$work/err"
report $? "ulimit -s 64 is refused: $(head -n 1 "$work/err")"
limited -Ss 64 timeout 100 "$tulle" spgemm "$matrix" --check >"$work/out" 2>"$work/err"
report $? "ulimit -Ss 64 is raised: $(head -n 1 "$work/err")"
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

# containers have 64 MB of /dev/shm: small jobs run there, and what does not fit is refused
small='mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"'
if unshare --mount sh -c "$small" sh true 2>/dev/null; then
    within() { unshare --mount sh -c "$small" sh timeout 100 "$@" >"$work/out" 2>"$work/err"; }
    for engine in $engines; do
        within "$tulle" spmm "$matrix" --cols 16 --pes 4 --comm "$engine" --check
        report $? "/dev/shm of 64 MB: $engine: $(head -n 1 "$work/err")"
        launcher=$("$tulle" info | sed -n "s/^$engine: yes (\\([^,)]*\\).*/\\1/p")
        case $engine in mpi_*) ;; *) continue ;; esac
        options='--oversubscribe --allow-run-as-root'
        [ $engine = mpi_openmpi ] || options=
        # shellcheck disable=SC2086
        within "$launcher" $options -n 4 "$tulle" spmm "$matrix" --cols 16 --comm "$engine" --check
        report $? "/dev/shm of 64 MB: $launcher -n 4: $(head -n 1 "$work/err")"
        within "$tulle" spmm "$matrix" --cols 16 --pes 4 --comm "$engine:direct=off" --memory 400M
        status=$?
        [ $status = 3 ] && grep -q 'of /dev/shm: give less memory or enlarge it' "$work/err"
        report $? "/dev/shm of 64 MB: $engine:direct=off with 400 MB is refused: $(head -n 1 "$work/err")"
    done
else
    echo "# no file system can be mounted here (as root): /dev/shm is not made small"
fi

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
