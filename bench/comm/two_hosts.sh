#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
set -u
usage() {
    cat <<END
two_hosts.sh [OPTIONS] BUILD KIND [COMMAND...]

Runs a job of two processes on two hosts that are network namespaces of this machine, joined by a link of a chosen
bandwidth and latency. KIND is openmpi, mpich or oshmem. Without COMMAND it runs BUILD/bench/comm/bench_ranges, which
compares vector gets with one get a range; with one, that is run instead, as a process of the job.
BUILD is a build folder configured with -DTULLE_BENCH=ON. Needs root, iproute2 and util-linux, and two idle cores
beside one for the link.

  --bandwidth B    bytes a second of each direction (default 1e9)
  --latency S      seconds of each direction (default 20e-6)
  --osc NAME       component of Open MPI for one-sided calls (default pt2pt)
  --repeat N       how often the job is run (default 1)
  --help           prints this

The link is a program, bench_wire, between two TAP devices, so it works where the kernel has no netem. Host names, IPC
and /dev/shm of the two hosts are their own. A job is ended after 60 s: MPICH up to 4.1 may hang once its work is done
(src/comm/mpi/README.md).
Example: bench/comm/two_hosts.sh build openmpi
END
}
bandwidth=1e9 latency=20e-6 osc=pt2pt repeat=1
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage; exit 0 ;;
    --bandwidth | --latency | --osc | --repeat)
        [ $# -gt 1 ] || { echo "two_hosts.sh: $1 wants a value" >&2; exit 2; }
        eval "${1#--}=\$2"
        shift 2
        ;;
    -*) echo "two_hosts.sh: no option '$1'; --help lists them" >&2; exit 2 ;;
    *) break ;;
    esac
done
[ $# -ge 2 ] || { usage >&2; exit 2; }
build=$(cd "$1" && pwd) || exit 2
kind=$2
shift 2
fail() {
    echo "two_hosts.sh: $*" >&2
    exit 1
}
[ "$(id -u)" = 0 ] || fail "namespaces need root"
wire=$build/bench/comm/bench_wire
[ -x "$wire" ] || fail "there is no $wire: configure with -DTULLE_BENCH=ON and build"
net=tulle$$
work=$(mktemp -d) || exit 1
clean() {
    for i in 0 1; do
        for process in $(ip netns pids $net-n$i 2>/dev/null); do kill -9 "$process"; done
        ip netns del $net-n$i 2>/dev/null
    done
    [ -z "${wire_process:-}" ] || kill "$wire_process" 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

"$wire" w0$$ w1$$ "$bandwidth" "$latency" >"$work/wire" &
wire_process=$!
tries=50
while [ ! -s "$work/wire" ]; do
    kill -0 $wire_process 2>/dev/null && [ $tries -gt 0 ] || fail "the link could not be made"
    tries=$((tries - 1))
    sleep 0.1
done
echo "127.0.0.1 localhost" >"$work/hosts"
for i in 0 1; do
    ip netns add $net-n$i && ip link set w$i$$ netns $net-n$i && ip -n $net-n$i link set w$i$$ name eth0 &&
        ip -n $net-n$i addr add 10.77.0.$((i + 1))/24 dev eth0 && ip -n $net-n$i link set eth0 mtu 9000 up &&
        ip -n $net-n$i link set lo up || fail "namespaces are not allowed here"
    echo "10.77.0.$((i + 1)) n$i" >>"$work/hosts"
done
cat >"$work/enter" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec $net-\$host unshare --uts --ipc --mount sh -c '
    hostname "\$1" && mount -t tmpfs -o size=1g none /dev/shm && mount --bind "$work/hosts" /etc/hosts || exit 125
    shift
    exec "\$@"' sh "\$host" "\$@"
END
cat >"$work/rsh" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec "$work/enter" "\$host" sh -c "\$*"
END
chmod +x "$work/enter" "$work/rsh"

[ -n "${TULLE_MODULE_PATH:-}" ] || TULLE_MODULE_PATH=$build/modules
export TULLE_MODULE_PATH
command_of() { # of Debian's names and the plain one, the first that is there
    for name in "$@"; do
        command -v "$name" && return
    done
    fail "there is no command $1"
}
case $kind in
openmpi | oshmem)
    if [ $kind = openmpi ]; then launcher=$(command_of mpiexec.openmpi mpiexec); else launcher=$(command_of oshrun); fi
    [ $# -gt 0 ] || if [ $kind = openmpi ]; then
        set -- "$build/bench/comm/bench_ranges" mpi 2
    else
        set -- "$build/bench/comm/bench_ranges_shmem" shmem 2
    fi
    set -- "$launcher" --allow-run-as-root --host n0:1,n1:1 --mca plm_rsh_agent "$work/rsh" \
        --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --bind-to none --mca osc "$osc,sm" \
        -x UCX_NET_DEVICES=eth0 -x TULLE_MODULE_PATH -n 2 "$@"
    ;;
mpich)
    launcher=$(command_of mpiexec.mpich mpiexec.hydra)
    [ $# -gt 0 ] || set -- "$build/bench/comm/bench_ranges" mpi 2
    set -- "$launcher" -launcher ssh -envall -launcher-exec "$work/rsh" -hosts n0:1,n1:1 -iface eth0 -n 2 "$@"
    ;;
*) fail "KIND is openmpi, mpich or oshmem, not '$kind'" ;;
esac
echo "# $kind: two hosts, $bandwidth bytes/s and $latency s each way"
got=0
while [ "$repeat" -gt 0 ] && [ $got = 0 ]; do
    timeout -k 5 60 "$work/enter" n0 "$@"
    got=$?
    repeat=$((repeat - 1))
done
exit $got
