#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three hosts: namespaces for network, host name, IPC and /dev/shm, joined by a bridge. Products over TCP with their
# results checked, and a PE killed in the middle of one. hosts.sh TULLE DATA FAMILY LAUNCHER PES_PER_HOST CONFORMANCE
set -u
tulle=$1
data=$2
family=$3
launcher=$4
near=$5
conformance=$6
skip() {
    echo "1..0 # SKIP $*"
    exit 77
}
if [ "$family" = mpich ]; then
    version=$("$launcher" --version 2>/dev/null | sed -n 's/^ *Version: *\([0-9]*\.[0-9]*\).*/\1/p')
    case $version in
    3.* | 4.0 | 4.1) skip "MPICH $version hangs in MPI_Finalize between hosts over TCP (pmodels/mpich#6596)" ;;
    esac
fi
work=$(mktemp -d)
. "$(dirname "$0")/namespaces.sh"
clean() {
    unmake_hosts
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
make_hosts 3 >"$work/out" || skip "$(cat "$work/out")"
pes=$((3 * near))
launch_line "$family" "$launcher" "$near"
set -- "$work/launch"
unset TULLE_ROSTER
export XDG_CACHE_HOME="$work/cache"
. "$(dirname "$0")/tap.sh"
received() { # bytes that n1 has got from other hosts
    ip netns exec $net-n1 cat /sys/class/net/eth0/statistics/rx_bytes
}
# run TEXT PATTERN ARGUMENTS...: a job on all hosts
run() {
    text=$1 pattern=$2
    shift 2
    before=$(received)
    timeout -k 5 240 "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ $got = 0 ] && grep -q -e "$pattern" "$work/out"
    report $? "$text -> $got, n1 received $((($(received) - before) / 1000)) kB: $(head -c 300 "$work/err" | tr '\n' ' ')"
}

run "the hosts" '^n2$' "$@" hostname
[ "$(sort -u "$work/out" | tr '\n' ' ')" = "n0 n1 n2 " ]
report $? "all are used: $(sort "$work/out" | tr '\n' ' ')"
for alg in stationary-c stationary-a steal-local-c summa; do
    run "$alg on a real matrix" "^$alg .* passed" "$@" "$tulle" spgemm "$data/bcsstk16.mtx.gz" -q --threads 1 --check \
        --memory 2400M --alg $alg
done
run "a dense factor" ' passed' "$@" "$tulle" spmm "$data/west0067.mtx.gz" -q --threads 1 --check --memory 2400M
run "a product written" '' "$@" "$tulle" spgemm "$data/bcsstk16.mtx.gz" -q --threads 1 --memory 2400M -o "$work/far.mtx"
[ $(($(received) - before)) -gt 1000000 ]
report $? "came over the network"
"$tulle" spgemm "$data/bcsstk16.mtx.gz" -q --threads 1 --comm threads:direct=off --pes $pes -o "$work/near.mtx" >/dev/null
[ -s "$work/near.mtx" ] && cmp -s "$work/near.mtx" "$work/far.mtx"
report $? "and is, bit by bit, what threads compute"

run "the conformance suite" '^ok' "$@" "$conformance" mpi $pes
! grep -q '^not ok' "$work/out"
report $? "passes: $(grep '^not ok' "$work/out" | head -3 | tr '\n' ' ')"
if [ "$near" -gt 1 ]; then
    moved() { # bytes copied, with PEs of a host that share memory or do not
        timeout -k 5 120 "$@" -q --threads 1 --memory 2400M --alg stationary-c --json 2>/dev/null |
            sed 's/.*"bytes_moved":\([0-9.e+]*\).*/\1/' | head -1
    }
    with=$(moved "$@" "$tulle" spgemm "$data/bcsstk16.mtx.gz" --comm mpi)
    without=$(moved "$@" "$tulle" spgemm "$data/bcsstk16.mtx.gz" --comm mpi:direct=off)
    [ "${with:-0}" -gt 0 ] && [ "$with" -lt "${without:-0}" ]
    report $? "PEs of one host share memory: $with bytes are copied, $without without"
    # what several PEs of a host need of another comes to it once: the bytes are those of nodes of threads
    once=$("$tulle" spgemm "$data/bcsstk16.mtx.gz" --comm threads:node=$near --pes $pes -q --threads 1 --memory 2400M \
        --alg stationary-c --json | sed 's/.*"bytes_moved":\([0-9.e+]*\).*/\1/')
    [ "${once:-0}" -gt 0 ] && [ "$with" = "$once" ]
    report $? "rows come once a host: $with bytes, $once between nodes of threads"
fi

# a product without end, one of whose PEs is killed
processes() { # those of the job on all hosts: in their network namespaces
    for i in 0 1 2; do ip netns pids $net-n$i; done
}
killed() { # HOST
    "$@" "$tulle" spgemm rmat:scale=12,edgefactor=8 --reps 1000 -q --threads 1 --memory 2400M \
        -o "$work/killed.mtx" >"$work/out" 2>"$work/err" &
    job=$!
    victim=""
    tries=300
    while [ $tries -gt 0 ] && [ -z "$victim" ]; do
        sleep 0.1
        for process in $(ip netns pids $net-n1); do
            [ "$(readlink "/proc/$process/exe")" = "$(readlink -f "$tulle")" ] &&
                [ "$(awk '{ print int(($14 + $15) / 50) }' "/proc/$process/stat" 2>/dev/null || echo 0)" -ge 1 ] &&
                victim=$process
        done
        tries=$((tries - 1))
    done
    [ -n "$victim" ] && kill -9 "$victim"
    report $? "process $victim on n1 is killed while it computes"
    start=$(date +%s)
    tries=1200
    while [ $tries -gt 0 ] && kill -0 $job 2>/dev/null; do
        sleep 0.1
        tries=$((tries - 1))
    done
    [ $tries -gt 0 ] || kill -9 $job
    wait $job
    got=$?
    [ $got != 0 ] && [ $tries -gt 0 ]
    report $? "the job ends with $got within $(($(date +%s) - start)) s"
    tries=600
    while [ $tries -gt 0 ] && [ -n "$(processes)" ]; do
        sleep 0.1
        tries=$((tries - 1))
    done
    [ -z "$(processes)" ] && [ -z "$(find "$work" -name 'killed*')" ]
    report $? "no process and no file is left: $(processes | tr '\n' ' ')"
}
killed "$@"

report_end
