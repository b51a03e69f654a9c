/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/launch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/module/module.h"
#include "comm/launcher.h"
#include "comm/shmem/shmem.h"

/* The names that the build found. */
#ifndef TULLE_LAUNCH_openmpi
#define TULLE_LAUNCH_openmpi "mpiexec.openmpi"
#endif
#ifndef TULLE_LAUNCH_mpich
#define TULLE_LAUNCH_mpich "mpiexec.mpich"
#endif
#ifndef TULLE_LAUNCH_abi
#define TULLE_LAUNCH_abi "mpiexec"
#endif
#ifndef TULLE_LAUNCH_oshmem
#define TULLE_LAUNCH_oshmem "oshrun"
#endif

static const tulle_launcher launchers[] = {
    {"openmpi", "mpi_openmpi", TULLE_LAUNCH_openmpi, NULL},
    {"mpich", "mpi_mpich", TULLE_LAUNCH_mpich, NULL},
    {"abi", "mpi_abi", TULLE_LAUNCH_abi, NULL}, /* of any MPI 5 */
    {"oshmem", "shmem", TULLE_LAUNCH_oshmem, TULLE__PROGRAM_SHMEM},
};

enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/*
 * Variables that launchers set in the environment of their processes, those that run closest to a process first:
 * mpiexec starts its own helpers by srun, and torchrun is started by either. A launcher that tells no number has
 * started several.
 */
static const struct claim {
    const char *size, *rank; /* NULL: it does not tell */
    const char *name;
    const char *family; /* of the MPI whose processes it starts; NULL: of none */
    const char *together;
} claims[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun of Open MPI", "openmpi", "the engine mpi_openmpi"},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "mpirun_rsh of MVAPICH", "mpich", "the engine mpi_mpich"},
    {"PALS_NRANKS", "PALS_RANKID", "mpiexec of PALS", "mpich", "the engine mpi_mpich, with Cray MPICH"},
    {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK", "jsrun", "openmpi", "the engine mpi_openmpi, with Spectrum MPI"},
    {"FLUX_JOB_SIZE", "FLUX_TASK_RANK", "flux run", "mpich",
        "the engine mpi, with an MPI of Flux (flux run -o mpi=...)"},
    {"SLURM_STEP_NUM_TASKS", "PMI_RANK", "srun --mpi=pmi2", "mpich", "the engine mpi_mpich"},
    {"PMI_SIZE", "PMI_RANK", "mpiexec of MPICH", "mpich", "the engine mpi_mpich"},
    {"MPI_LOCALNRANKS", "MPI_LOCALRANKID", "mpiexec of MPICH", "mpich", "the engine mpi_mpich"},
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK", "srun --mpi=pmix", "openmpi", "the engine mpi_openmpi"},
    {NULL, "PMIX_RANK", "prterun", "openmpi", "the engine mpi_openmpi, with Open MPI 5"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", NULL,
        "srun --mpi=pmi2 with MPICH, or --mpi=pmix with Open MPI (srun --mpi=list says what there is)"},
    {"WORLD_SIZE", "RANK", "torchrun", NULL, "mpirun in the place of torchrun"},
};

enum { CLAIMS = sizeof claims / sizeof *claims };

/* The claim of the launcher of this process; NULL: none. */
static const struct claim *claim(void)
{
    for (int i = 0; i < CLAIMS; i++)
        if ((!claims[i].size || secure_getenv(claims[i].size)) && secure_getenv(claims[i].rank)) return &claims[i];
    return NULL;
}

/* The user's word that each process works alone, whatever started it. */
static bool meant_alone(void)
{
    const char *word = secure_getenv("TULLE_ALONE");
    return word && *word && strcmp(word, "0") != 0;
}

static int number_of(const char *variable, int fallback)
{
    const char *text = variable ? secure_getenv(variable) : NULL;
    return text ? atoi(text) : fallback;
}

static const tulle_launcher *find(const char *family)
{
    for (int i = 0; i < LAUNCHERS; i++)
        if (strcmp(launchers[i].family, family) == 0) return &launchers[i];
    return NULL;
}

const tulle_launcher *tulle_launcher_list(int i)
{
    return i >= 0 && i < LAUNCHERS ? &launchers[i] : NULL;
}

/*
 * Open MPI's mpirun and oshrun are one program, which sets the same variables under either name. On
 * one node it is the processes' parent and can be asked. On several nodes each has a daemon, and
 * all processes must decide alike.
 */
static int under_oshrun(void)
{
    char path[64], name[64] = "";
    const char *nodes = secure_getenv("OMPI_MCA_orte_num_nodes");
    if (!nodes || atoi(nodes) != 1) return 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int read = fscanf(file, "%63s", name) == 1;
    fclose(file);
    return read && (strcmp(name, "oshrun") == 0 || strcmp(name, "shmemrun") == 0);
}

const tulle_launcher *tulle_launched_by(void)
{
    if (under_oshrun()) return find("oshmem");
    const struct claim *by = claim();
    return by && by->family ? find(by->family) : NULL;
}

int tulle_launched_rank(void)
{
    const struct claim *by = meant_alone() ? NULL : claim();
    return by ? number_of(by->rank, 0) : 0;
}

int tulle_launched_size(void)
{
    const struct claim *by = meant_alone() ? NULL : claim();
    return by ? number_of(by->size, 0) : 1;
}

const char *tulle_launched_name(void)
{
    const struct claim *by = claim();
    return by ? by->name : NULL;
}

tulle_status tulle_launched_check(int processes)
{
    const struct claim *by = meant_alone() ? NULL : claim();
    if (TULLE__NEGATIVE(processes)) return TULLE_ERR_ARG;
    if (!by) return TULLE_OK;
    const int claimed = number_of(by->size, 0);
    if (claimed ? claimed <= processes : processes > 1) return TULLE_OK;
    char number[32] = "several";
    if (claimed) snprintf(number, sizeof number, "%d", claimed);
    return tulle__fail(TULLE_ERR_ARG,
        "%s has started %s processes (%s), but this one %s%.0d%s, and each would do all of the work: %s joins them; "
        "the "
        "engine threads by name, or TULLE_ALONE=1, if each is meant to work alone",
        by->name, number, by->size ? by->size : by->rank, processes > 1 ? "sees only " : "works alone",
        processes > 1 ? processes : 0, processes > 1 ? " of them" : "", by->together);
}

bool tulle__is_threads(const char *spec)
{
    const char *engine = strrchr(spec, '+');
    return strncmp(engine ? engine + 1 : spec, "threads", strlen("threads")) == 0;
}

tulle_status tulle__launcher_check(const char *spec, int processes)
{
    return tulle__is_threads(spec) ? TULLE_OK : tulle_launched_check(processes);
}

bool tulle_launcher_usable(const tulle_launcher *launcher)
{
    if (TULLE__NULL(launcher)) return 0;
    char path[4096];
    return (launcher->program ? tulle_launcher_program(launcher, path, sizeof path)
                              : tulle__module_find(launcher->module, path, sizeof path)) == TULLE_OK;
}

tulle_status tulle_launcher_program(const tulle_launcher *launcher, char *path, size_t size)
{
    if (TULLE__NULL(launcher) || TULLE__NULL(path)) return TULLE_ERR_ARG;
    if (size) *path = '\0';
    if (!launcher->program || &tulle__engine_shmem) return TULLE_OK;
    return tulle__module_find_file(launcher->program, path, size);
}

const char *tulle__launcher_module(const char *family)
{
    const tulle_launcher *by = family ? find(family) : tulle_launched_by();
    if (by && !family && !by->program && !tulle_launcher_usable(by) && tulle_launcher_usable(find("abi")))
        by = find("abi");
    if (by) return by->program ? launchers[0].module : by->module; /* oshrun belongs to Open MPI, too */
    for (int i = 0; i < LAUNCHERS; i++)
        if (!launchers[i].program && tulle_launcher_usable(&launchers[i])) return launchers[i].module;
    return launchers[0].module;
}
