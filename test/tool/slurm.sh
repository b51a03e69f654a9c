#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Slurm of this host's, of two tasks: without PMI each works alone, and is refused; with pmi2 and pmix they are one
# team, of the MPI that Slurm starts so, and a task that is killed ends the others. slurm.sh TULLE DATA
set -u
tulle=$1
data=$2
skip() {
    echo "1..0 # SKIP $*"
    exit 77
}
for command in slurmctld slurmd srun; do
    command -v $command >/dev/null 2>&1 || skip "there is no command '$command' (slurmctld, slurmd, slurm-client)"
done
[ "$(id -u)" = 0 ] || skip "slurmd needs root"
. "$(dirname "$0")/workspace.sh"
clean() {
    for daemon in slurmd slurmctld; do
        [ -s "$work/$daemon.pid" ] && kill "$(cat "$work/$daemon.pid")" 2>/dev/null
    done
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM
host=$(hostname -s)
port=$((20000 + $$ % 10000 * 2))
mkdir "$work/state" "$work/spool"
cat >"$work/slurm.conf" <<EOF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
SlurmctldPort=$port
SlurmdPort=$((port + 1))
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
export SLURM_CONF="$work/slurm.conf"
{ slurmctld && slurmd -N "$host"; } >"$work/out" 2>&1 || skip "Slurm does not start here: $(cat "$work/out")"
for _ in 1 2 3 4 5 6 7 8 9 10; do
    sinfo -h -o %t 2>/dev/null | grep -q '^idle' && break
    sleep 1
done
sinfo -h -o %t 2>/dev/null | grep -q '^idle' || skip "Slurm's node does not come up: $(tail -n 3 "$work/slurmd.log")"

run() { # PMI ARGUMENT...
    pmi=$1
    shift
    timeout 120 srun --mpi="$pmi" --overcommit -n 2 "$tulle" spgemm "$data/bcsstk01.mtx" -o "$work/c.mtx" --check "$@" \
        >"$work/out" 2>"$work/err"
}
has() { "$tulle" info | grep -q "^$1: yes"; }
refused() { # ARGUMENT...: of `run`
    rm -f "$work/c.mtx"
    run "$@"
    [ $? = 2 ] && [ ! -s "$work/out" ] && [ ! -e "$work/c.mtx" ] && [ "$(grep -c 'has started 2 processes' "$work/err")" = 1 ]
}
together() {
    rm -f "$work/c.mtx"
    run "$@" && [ "$(grep -c ' 2 PEs ' "$work/out")" = 1 ] && [ -s "$work/c.mtx" ]
}
refused none
report $? "srun without PMI: refused"
refused none --comm mpi
report $? "srun without PMI: the engine mpi is refused before its MPI starts"
rm -f "$work/c.mtx"
run none --comm threads && [ "$(grep -c passed "$work/out")" = 2 ]
report $? "srun without PMI: threads by name, two copies are meant"
for pair in pmi2:mpi_mpich:mpi_openmpi pmix:mpi_openmpi:mpi_mpich; do
    pmi=${pair%%:*} others=${pair#*:}
    own=${others%:*} other=${others#*:}
    srun --mpi=list 2>&1 | grep -q "^[[:space:]]*$pmi" && has "$own" || continue
    together "$pmi"
    report $? "srun --mpi=$pmi: one team of two processes"
    together "$pmi" --comm "$own"
    report $? "srun --mpi=$pmi: one team of the engine $own"
    TULLE_TEST_CACHE=$XDG_CACHE_HOME sh "$(dirname "$0")/lost.sh" "$tulle" "$pmi" one srun --mpi="$pmi" --overcommit \
        -n 3 >"$work/lost" 2>&1
    report $? "srun --mpi=$pmi: a lost PE ends the others: $(grep -v '^ok' "$work/lost" | tr '\n' ' ')"
    has "$other" || continue
    rm -f "$work/c.mtx"
    ! run "$pmi" --comm "$other" && [ ! -s "$work/out" ] && [ ! -e "$work/c.mtx" ]
    report $? "srun --mpi=$pmi: $other, which it does not start, fails"
done
[ $bad = 0 ] || cat "$work/err"
report_end
