#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command under MPI or OpenSHMEM: started by itself and by its launcher, with PEs that are killed.
# launch.sh TULLE DATA FAMILY LAUNCHER...
set -u
tulle=$1
data=$2
family=$3
shift 3
unset TULLE_ROSTER
. "$(dirname "$0")/workspace.sh"
# expect STATUS PATTERN COMMAND...
expect() {
    status=$1 pattern=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    cat "$work/out" "$work/err" >"$work/both"
    [ $got = "$status" ] && grep -q -e "$pattern" "$work/both"
    report $? "$(basename "$1") ... $* -> $got (wanted $status, '$pattern'): $(head -c 300 "$work/both" | tr '\n' ' ')"
}
lines() { # COUNT TEXT: so many lines on standard output
    [ "$(wc -l <"$work/out")" = "$1" ]
    report $? "$2: $(wc -l <"$work/out") lines"
}
mpi=mpi_$family
[ "$family" = oshmem ] && mpi=shmem

expect 0 '"passed":true' "$tulle" spgemm "$data/west0067.mtx.gz" --comm "$mpi" --pes 3 --check --json
lines 1 "one report from three processes"
expect 0 'passed' "$tulle" spmm rmat:scale=8 --comm "check+$mpi:direct=off" --pes 2 --check --alg all
[ "$(grep -c '^stationary-c ' "$work/out")" = 1 ]
report $? "one table"
TERM=xterm "$tulle" spmm rmat:scale=8 -q --comm "$mpi" --pes 2 --check >"$work/out"
! grep -q "$(printf '\033')" "$work/out" && grep -q 'compute' "$work/out"
report $? "all columns, and no colour, in a file"
expect 0 'symmetry' "$tulle" stat rmat:scale=8 --comm "$mpi" --pes 2
expect 0 'entries' "$tulle" gen rmat:scale=8 -o "$work/two.mtx" --comm "$mpi" --pes 2
"$tulle" gen rmat:scale=8 -q -o "$work/one.mtx" --pes 1
cmp -s "$work/one.mtx" "$work/two.mtx"
report $? "the file does not depend on the engine"
exact=rmat:scale=13,values=integer # in whatever order it is added up
"$tulle" spgemm $exact -q --pes 1 -o "$work/whole.mtx" >/dev/null
for form in "mtx.gz zlib" "bsp.h5 HDF5"; do
    if "$tulle" info | grep -q "${form#* }: yes"; then
        phases="$work/phases.${form% *}"
        expect 0 '"phases_of_columns":[2-9]' "$tulle" spgemm $exact --comm "$mpi" --pes 2 --memory 146M --json -q -o "$phases"
        "$tulle" convert "$phases" "$work/again.mtx" -q --pes 1 && cmp -s "$work/whole.mtx" "$work/again.mtx"
        report $? "nor does one that is made in phases, .${form% *}"
    else # only if it says so itself
        "$tulle" info | grep -q "${form#* }: no"
        report $? "# SKIP ${form#* } is not built in"
    fi
done
[ -z "$(ls "$work" | grep part)" ]
report $? "nothing else is left"
# standard input reaches one process, standard output comes from one
expect 2 'standard input, or a pipe, reaches only one of several processes' "$tulle" spgemm - --comm "$mpi" --pes 2 <"$work/whole.mtx"
expect 0 '^%%MatrixMarket' "$tulle" gen rmat:scale=8 -q -o - --comm "$mpi" --pes 2
cmp -s "$work/one.mtx" "$work/out"
report $? "a matrix on standard output, and nothing else"
expect 0 '^%%MatrixMarket' "$tulle" spgemm "$data/west0067.mtx.gz" -o - --comm "$mpi" --pes 2
grep -q stationary "$work/err" && ! grep -q stationary "$work/out"
report $? "the report is on standard error"
expect 0 '^%%MatrixMarket' "$tulle" convert - - --comm "$mpi" --pes 1 -q <"$work/one.mtx"
cmp -s "$work/one.mtx" "$work/out"
report $? "one process reads standard input"
expect 2 'No such file' "$tulle" spgemm "$data/west0067.mtx.gz" -o "$work/no/x.mtx" --comm "$mpi" --pes 2
expect 2 'is also the input' "$tulle" spgemm "$work/one.mtx" --trace "$work/one.mtx" --comm "$mpi" --pes 2
expect 0 'passed' "$tulle" spmm rmat:scale=8 --comm "$mpi" --pes 2 --check --trace "$work/trace.json"
grep -q '"pid":0\|"tid":0' "$work/trace.json" && grep -q '"tid":1\|"pid":1' "$work/trace.json" &&
    [ "$(tail -1 "$work/trace.json")" = "]}" ]
report $? "a timeline with the spans of both"

expect 2 'cannot be opened' "$tulle" spgemm "$work/absent.mtx" --comm "$mpi" --pes 3
[ "$(grep -c 'cannot be opened' "$work/err")" = 1 ]
report $? "told once"
expect 2 'grid of 3x3' "$tulle" spgemm rmat:scale=6 --comm "$mpi" --pes 2 --grid 3x3
expect 3 'MB' "$tulle" spgemm rmat:scale=12,edgefactor=16 --comm "$mpi" --pes 2 --memory 1M
expect 2 'direct' "$tulle" spgemm rmat:scale=6 --comm "$mpi:direkt=off" --pes 2

expect 0 '"pes":3' "$@" -n 3 "$tulle" spgemm rmat:scale=8 --json -q
lines 1 "no option of ours is needed under a launcher"
"$@" -n 3 "$tulle" spgemm "$work/absent.mtx" >"$work/out" 2>"$work/err"
[ $? != 0 ] && [ "$(grep -c 'cannot be opened' "$work/err")" = 1 ]
report $? "nor for a failure to be told once"

# what jobs put into /tmp
mkdir "$work/tmp"
export TMPDIR="$work/tmp"

# A product without end, which would write a file: begin NAME COMMAND... starts it, and returns when its last process has
# computed for half a second; pe NAME RANK is a process of it.
begin() {
    name=$1
    shift
    "$@" rmat:scale=12,edgefactor=8 --reps 1000 -q --threads 1 -o "$work/$name.mtx" >"$work/out" 2>"$work/err" &
    job=$!
    tries=1200
    while [ $tries -gt 0 ] && ! computes "$(pe "$name" 2)"; do
        sleep 0.1
        tries=$((tries - 1))
    done
}
computes() { # PROCESS: it has used half a second of processor time
    [ -n "$1" ] && [ "$(awk '{ print int(($14 + $15) / 50) }' "/proc/$1/stat" 2>/dev/null || echo 0)" -ge 1 ]
}
pe() {
    for process in $(pgrep -f "$work/$1"); do
        tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null |
            grep -q -E "^(PMI_RANK|OMPI_COMM_WORLD_RANK)=$2\$" && echo "$process"
    done
}
# ends NAME STATUS: the job, which computes on and on by itself, ends with it, and leaves no process, no file and no
# shared memory
ends() {
    start=$(date +%s)
    wait $job
    got=$?
    [ $got = "$2" ] || { [ "$2" = failure ] && [ $got != 0 ]; }
    report $? "$1: ends with $got within $(($(date +%s) - start)) s"
    tries=600
    until is_over "$1" || [ $tries = 0 ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    [ $tries -gt 0 ]
    report $? "$1: no process, file or shared memory is left: $(pgrep -f "$work/$1" | tr '\n' ' ') $(left)\
$(find "$TMPDIR" -mindepth 1 | tr '\n' ' ')"
}
is_over() {
    ! pgrep -f "$work/$1" >/dev/null && [ -z "$(find "$work" -name "$1*")" ] && [ -z "$(left)" ] &&
        [ -z "$(find "$TMPDIR" -mindepth 1)" ]
}
# shared memory that no process has mapped: another job's is not ours to judge
shared() {
    find /dev/shm -name 'mpich_shar*' -o -name 'vader*' -o -name 'ucx_*' | sort | while read -r file; do
        grep -qsF "$file" /proc/[0-9]*/maps || printf '%s ' "$file"
    done
    awk 'NR > 1 && $7 == 0 { print $2 }' /proc/sysvipc/shm | sort | tr '\n' ' ' # of System V, attached by nobody
}
shared_before=$(shared)
# such that was not there before: what a job beside this one has just given up vanishes soon
left() {
    for file in $(shared); do
        case " $shared_before " in *" $file "*) ;; *) printf '%s ' "$file" ;; esac
    done
}

for rank in 0 2; do
    begin "killed$rank" "$tulle" spgemm --comm "$mpi" --pes 3
    lost=$(pe "killed$rank" $rank)
    kill -9 "$lost"
    ends "killed$rank" 4
    # what Open MPI 5 says of its transports before that is its own
    grep -q "PE $rank was lost (process $lost on $(hostname)): signal 9" "$work/err" &&
        [ "$(grep -vc '^\[.*/mca/btl/' "$work/err")" = 1 ]
    report $? "and it is named: $(cat "$work/err")"
    lines 0 "nothing on standard output"
done
begin interrupted "$tulle" spgemm --comm "$mpi" --pes 3
kill -TERM $job
kill -TERM $job # which must not keep it from cleaning up
ends interrupted 143
begin quit env --default-signal=QUIT "$tulle" spgemm --comm "$mpi" --pes 3
kill -QUIT $job
ends quit 131
begin orphaned "$tulle" spgemm --comm "$mpi" --pes 3
kill -9 $job
ends orphaned 137
# while it writes: the file has no name yet (where the file system can do that)
"$tulle" gen rmat:scale=19,edgefactor=8 --comm "$mpi" --pes 2 -q -o "$work/written.mtx.gz" >"$work/out" 2>"$work/err" &
job=$!
writing=""
tries=600
while [ $tries -gt 0 ] && [ -z "$writing" ] && kill -0 $job 2>/dev/null; do
    for process in $(pe written 0); do
        for file in /proc/"$process"/fd/*; do
            case $(readlink "$file") in "$work/#"*) writing=$process ;; esac
        done
    done
    tries=$((tries - 1))
    [ -n "$writing" ] || sleep 0.05
done
if [ -n "$writing" ]; then
    kill -9 "$writing"
    ends written 4
else
    wait $job
    echo "ok $((count += 1)) - # SKIP no file without a name was seen in $work"
fi
begin foreign "$@" -n 3 "$tulle" spgemm
kill -9 "$(pe foreign 1)"
ends foreign failure

# Open MPI's own files: too small a file system is refused, in place of a wait without end
if [ "$family" != mpich ] && mkdir -p "$work/small" && unshare -m mount -t tmpfs -o size=4M none "$work/small" 2>/dev/null; then
    # shellcheck disable=SC2016
    expect 3 'small has 4.2 MB left.*TMPDIR' unshare -m sh -c 'mount -t tmpfs -o size=4M none "$1" && TMPDIR=$1 && export TMPDIR &&
        exec "$0" spmm rmat:scale=8 --comm "$2" --pes 2' "$tulle" "$work/small" "$mpi"
fi
report_end
