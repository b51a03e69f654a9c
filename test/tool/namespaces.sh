# SPDX-License-Identifier: Apache-2.0
# Hosts n0, n1, ... on this machine: namespaces for network, host name, IPC and /dev/shm, joined by a bridge. To be read
# by `.` where $work is a folder of the script's own; what ends the script calls unmake_hosts.
net=tulle$$
made=0

# make_hosts N: fails with the reason on standard output. Then $work/enter HOST COMMAND... runs it on that host, and
# $work/rsh OPTIONS HOST COMMAND... does so as launchers call ssh.
make_hosts() {
    [ "$(id -u)" = 0 ] || { echo "namespaces need root" && return 1; }
    for command in ip unshare mount; do
        command -v $command >/dev/null 2>&1 ||
            { echo "there is no command '$command' (iproute2, util-linux, mount)" && return 1; }
    done
    ip netns add $net-hub 2>"$work/err" || { echo "namespaces are not allowed here: $(cat "$work/err")" && return 1; }
    made=$1
    {
        ip netns exec $net-hub unshare --uts --ipc --mount true &&
            ip -n $net-hub link add br0 type bridge && ip -n $net-hub link set br0 up
    } 2>"$work/err" || { echo "bridges or namespaces are not allowed here: $(cat "$work/err")" && return 1; }
    echo "127.0.0.1 localhost" >"$work/hosts"
    i=0
    while [ $i -lt "$made" ]; do
        {
            ip netns add $net-n$i && ip -n $net-hub link add to$i type veth peer name eth0 netns $net-n$i &&
                ip -n $net-hub link set to$i master br0 up &&
                ip -n $net-n$i addr add 10.77.0.$((i + 1))/24 dev eth0 &&
                ip -n $net-n$i link set eth0 up && ip -n $net-n$i link set lo up
        } 2>"$work/err" || { echo "virtual links are not allowed here: $(cat "$work/err")" && return 1; }
        echo "10.77.0.$((i + 1)) n$i" >>"$work/hosts"
        i=$((i + 1))
    done
    cat >"$work/enter" <<EOF
#!/bin/sh
host=\$1
shift
exec ip netns exec $net-\$host unshare --uts --ipc --mount sh -c '
    hostname "\$1" && mount -t tmpfs -o size=2g none /dev/shm && mount --bind "$work/hosts" /etc/hosts || exit 125
    shift
    exec "\$@"' sh "\$host" "\$@"
EOF
    cat >"$work/rsh" <<EOF
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec "$work/enter" "\$host" sh -c "\$*"
EOF
    chmod +x "$work/enter" "$work/rsh"
}

unmake_hosts() {
    i=0
    while [ $i -lt "$made" ]; do
        for process in $(ip netns pids $net-n$i 2>/dev/null); do kill -9 "$process"; done
        ip netns del $net-n$i 2>/dev/null
        i=$((i + 1))
    done
    [ "$made" = 0 ] || ip netns del $net-hub
}

# launch_line FAMILY LAUNCHER NEAR: $work/launch COMMAND... starts NEAR processes of it on each host. The hosts share this
# machine's cores, which no process of theirs can see: waits yield.
launch_line() {
    list=n0:$3
    i=1
    while [ $i -lt "$made" ]; do
        list=$list,n$i:$3
        i=$((i + 1))
    done
    words="-n $((made * $3))"
    case $1-$("$2" --version 2>/dev/null | sed -n 's/^[^0-9]*\([0-9]*\)\..*/\1/p' | head -n 1) in
    openmpi-4)
        words="--allow-run-as-root --host $list --mca plm_rsh_agent $work/rsh --mca oob_tcp_if_include eth0 \
--mca btl_tcp_if_include eth0 --bind-to none --mca osc pt2pt,sm -x UCX_NET_DEVICES=eth0 -x TULLE_MODULE_PATH \
-x TULLE_PATIENCE $words"
        ;;
    openmpi-*)
        words="--allow-run-as-root --host $list --prtemca plm_ssh_agent $work/rsh --prtemca prte_if_include eth0 \
--mca btl_tcp_if_include eth0 --mca osc ^ucx --mca mpi_yield_when_idle 1 --bind-to none -x TULLE_MODULE_PATH \
-x TULLE_PATIENCE $words"
        ;;
    mpich-*)
        words="-launcher ssh -envall -launcher-exec $work/rsh -hosts $list -iface eth0 $words"
        ;;
    esac
    cat >"$work/launch" <<EOF
#!/bin/sh
export TULLE_PATIENCE=\${TULLE_PATIENCE-7}
exec "$work/enter" n0 "$2" $words "\$@"
EOF
    chmod +x "$work/launch"
}
