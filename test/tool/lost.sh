#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A lost PE ends the job, whatever the launcher does: one process is killed, or, of two hosts, one falls silent. Each
# process is the child of a script that the launcher watches in its place, and that does not end before the others, so
# that they have nobody but each other to learn it from. All end with status 4, and the host is named.
# lost.sh TULLE FAMILY one|two LAUNCHER OPTION... ; FAMILY: openmpi, mpich, oshmem, or the PMI of srun
set -u
tulle=$1
family=$2
hosts=$3
launcher=$4
shift 4
unset TULLE_ROSTER
. "$(dirname "$0")/workspace.sh"
. "$(dirname "$0")/namespaces.sh"
clean() {
    [ -z "${job-}" ] || kill -9 "$job" 2>/dev/null
    unmake_hosts
    for process in $(cat "$work"/process.* 2>/dev/null); do kill -9 "$process" 2>/dev/null; done
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
pes=3
if [ "$hosts" = two ]; then
    make_hosts 2 >"$work/out" || {
        echo "1..0 # SKIP $(cat "$work/out")"
        exit 77
    }
    launch_line "$family" "$launcher" 2
    launcher=$work/launch
    pes=4
    set --
elif [ "$launcher" != srun ]; then # whose options have their number
    set -- "$@" -n $pes
fi
spec=mpi
[ "$family" != oshmem ] || spec=shmem

cat >"$work/task" <<EOF
#!/bin/sh
trap '' TERM
rank=\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-\$PMIX_RANK}}
"\$@" &
echo \$! >"$work/process.\$rank"
wait \$!
echo \$? >"$work/status.\$rank"
tries=600
while [ \$tries -gt 0 ] && [ "\$(find "$work" -name 'status.*' | wc -l)" -lt $pes ]; do
    sleep 0.1
    tries=\$((tries - 1))
done
EOF
chmod +x "$work/task"

computes() { # RANK: its process has used half a second of processor time
    [ -s "$work/process.$1" ] &&
        [ "$(awk '{ print int(($14 + $15) / 50) }' "/proc/$(cat "$work/process.$1")/stat" 2>/dev/null || echo 0)" -ge 1 ]
}
# begin OPTION...: a product without end, which computes
begin() {
    rm -f "$work"/process.* "$work"/status.*
    "$launcher" "$@" "$work/task" "$tulle" spgemm rmat:scale=12,edgefactor=8 --reps 1000 -q --threads 1 \
        --memory $((pes * 200))M --comm "$spec" -o "$work/c.mtx" >"$work/out" 2>"$work/err" &
    job=$!
    tries=1200
    while [ $tries -gt 0 ] && [ ! -e "$work/status.0" ] && ! computes $((pes - 1)); do
        sleep 0.1
        tries=$((tries - 1))
    done
    computes $((pes - 1))
    report $? "$spec: $pes PEs compute"
}
# ends TEXT SURVIVORS PATTERN: these end with 4, the cause is said as PATTERN, and no process is left
ends() {
    tries=600
    while [ $tries -gt 0 ] && [ "$(find "$work" -name 'status.*' | wc -l)" -lt $pes ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    said=""
    wrong=""
    for rank in $2; do
        [ "$(cat "$work/status.$rank" 2>/dev/null)" = 4 ] || wrong="$wrong $rank:$(cat "$work/status.$rank" 2>/dev/null)"
        said="$said $rank"
    done
    [ -z "$wrong" ]
    report $? "$spec, $1:$said end with status 4$wrong"
    # a launcher that has lost its own half on the other host may wait for it
    tries=100
    while [ $tries -gt 0 ] && kill -0 "$job" 2>/dev/null; do
        sleep 0.1
        tries=$((tries - 1))
    done
    kill -9 "$job" 2>/dev/null
    wait "$job"
    job=""
    cat "$work/out" "$work/err" | grep -aq "$3"
    report $? "and say so: $(cat "$work/out" "$work/err" | grep -a 'was lost' | tr '\n' ' ')"
}
kill_pe() { # RANK
    process=$(cat "$work/process.$1")
    others=$(i=0 && while [ $i -lt $pes ]; do
        [ $i = "$1" ] || printf '%s ' $i
        i=$((i + 1))
    done)
    kill -9 "$process"
}
if [ "$hosts" = one ]; then
    here=$(hostname)
    for rank in 0 2; do
        begin "$@"
        kill_pe $rank
        ends "$rank is killed" "$others" "PE $rank was lost (process $process on $here)"
    done
else
    for rank in 0 3; do
        begin "$@"
        kill_pe $rank
        ends "$rank is killed" "$others" "PE $rank was lost (process $process on n$((rank / 2)))"
    done
    TULLE_PATIENCE=3
    export TULLE_PATIENCE
    begin "$@"
    ip -n "$net-n1" link set eth0 down
    ends "n1 falls silent" "0 1 2 3" "the host n1 (PE 2 and 1 more) was lost: it has not answered n0 for 3 s"
fi
report_end
