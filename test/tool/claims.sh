#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Environments of launchers, one a line: processes that are started as one of several, and work alone, say so and end
# with status 2. claims.sh TULLE DATA
set -u
tulle=$1
data=$2
. "$(dirname "$0")/workspace.sh"
matrix=$data/bcsstk01.mtx

# name ; variables of process R of 2 ; its variable with their number, which is 1 for a job of one process
environments='mpirun of Open MPI ; OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=R PMIX_RANK=R ; OMPI_COMM_WORLD_SIZE
mpirun of Open MPI ; OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=R SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 ; OMPI_COMM_WORLD_SIZE
mpiexec of MPICH ; PMI_SIZE=2 PMI_RANK=R MPI_LOCALNRANKS=2 MPI_LOCALRANKID=R ; PMI_SIZE
mpiexec of MPICH ; MPI_LOCALNRANKS=2 MPI_LOCALRANKID=R ; MPI_LOCALNRANKS
mpirun_rsh of MVAPICH ; MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=R PMI_SIZE=2 PMI_RANK=R ; MV2_COMM_WORLD_SIZE
mpiexec of PALS ; PALS_NRANKS=2 PALS_RANKID=R PMI_RANK=R ; PALS_NRANKS
flux run ; FLUX_JOB_SIZE=2 FLUX_TASK_RANK=R PMI_SIZE=2 PMI_RANK=R ; FLUX_JOB_SIZE
jsrun ; JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_RANK=R PMIX_RANK=R ; JSM_NAMESPACE_SIZE
srun ; SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=R SLURM_NTASKS=2 ; SLURM_STEP_NUM_TASKS
srun --mpi=pmi2 ; SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=R PMI_SIZE=2 PMI_RANK=R ; SLURM_STEP_NUM_TASKS
srun --mpi=pmix ; SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=R PMIX_RANK=R ; SLURM_STEP_NUM_TASKS
prterun ; PMIX_RANK=R PMIX_NAMESPACE=job ; -
torchrun ; RANK=R WORLD_SIZE=2 LOCAL_RANK=R ; WORLD_SIZE'

# ENVIRONMENT COMMAND...: only that of the launcher, and what programs want
as() {
    here=$1
    shift
    # shellcheck disable=SC2086
    env -i PATH="$PATH" HOME="$work" XDG_CACHE_HOME="$XDG_CACHE_HOME" $here timeout 60 "$@"
}

# A simulation finds one process, whatever the launcher.
refused() { # NAME ENVIRONMENT RANK
    as "$(echo "$2" | sed "s/=R/=$3/g")" "$tulle" spgemm --comm "$engine" --pes 2 "$matrix" -o "$work/c.mtx" >"$work/out" 2>"$work/err"
    [ $? = 2 ] && [ ! -s "$work/out" ] && [ ! -e "$work/c.mtx" ] || return 1
    if [ "$3" = 0 ]; then
        grep -q "$1 has started" "$work/err" && grep -q "TULLE_ALONE=1" "$work/err"
    else
        [ ! -s "$work/err" ] # one process speaks for all
    fi
}

engine=sim:platform=dgx2
"$tulle" info 2>/dev/null | grep -q '^sim: yes' || engine=
while IFS=';' read -r name variables number; do
    name=${name% } variables=${variables# } number=${number# }
    first=$(echo "$variables" | sed 's/=R/=0/g') second=$(echo "$variables" | sed 's/=R/=1/g')
    if [ -n "$engine" ]; then
        refused "$name" "$variables" 0 && refused "$name" "$variables" 1
        report $? "$name: two processes that simulate alone are refused ($variables)"
    fi
    as "$second" "$tulle" spgemm --comm threads "$matrix" -o "$work/c.mtx" 2>"$work/err" >/dev/null && [ -s "$work/c.mtx" ]
    report $? "$name: threads by name are meant"
    rm -f "$work/c.mtx"
    as "$second TULLE_ALONE=1" "$tulle" spgemm "$matrix" -o "$work/c.mtx" 2>"$work/err" >/dev/null && [ -s "$work/c.mtx" ]
    report $? "$name: TULLE_ALONE=1 is meant"
    rm -f "$work/c.mtx"
    [ "$number" = - ] && continue
    as "$(echo "$first" | sed "s/$number=2/$number=1/; s/PMI_SIZE=2/PMI_SIZE=1/")" "$tulle" spgemm "$matrix" \
        >"$work/out" 2>"$work/err" && [ -s "$work/out" ]
    report $? "$name: a job of one process works"
done <<EOF
$environments
EOF
for variables in 'SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0' 'RANK=0 WORLD_SIZE=2'; do
    for comm in '' '--comm mpi'; do
        # shellcheck disable=SC2086
        as "$variables" "$tulle" spgemm $comm "$matrix" >"$work/out" 2>"$work/err"
        [ $? = 2 ] && [ ! -s "$work/out" ] && grep -q 'has started 2 processes' "$work/err"
        report $? "$variables, which starts no MPI: refused${comm:+, $comm}"
    done
done
report_end
