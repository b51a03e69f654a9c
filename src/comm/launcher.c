/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/launch.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arg.h"
#include "base/module.h"
#include "comm/launcher.h"
#include "comm/shmem/shmem.h"

/* The names that the build found. */
#ifndef TULLE_LAUNCH_openmpi
#define TULLE_LAUNCH_openmpi "mpiexec.openmpi"
#endif
#ifndef TULLE_LAUNCH_mpich
#define TULLE_LAUNCH_mpich "mpiexec.mpich"
#endif
#ifndef TULLE_LAUNCH_oshmem
#define TULLE_LAUNCH_oshmem "oshrun"
#endif

static const tulle_launcher launchers[] = {
    {"openmpi", "mpi_openmpi", TULLE_LAUNCH_openmpi, NULL},
    {"mpich", "mpi_mpich", TULLE_LAUNCH_mpich, NULL},
    {"oshmem", "shmem", TULLE_LAUNCH_oshmem, TULLE__PROGRAM_SHMEM},
};

enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* What each launcher sets in its processes' environment: their number, or this one's rank. */
static const struct {
    const char *variable, *family;
} marks[] = {
    {"OMPI_COMM_WORLD_SIZE", "openmpi"},
    {"MPI_LOCALNRANKS", "mpich"},
    {"PMI_RANK", "mpich"},
    {"PMIX_RANK", "openmpi"},
};

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
    const char *nodes = getenv("OMPI_MCA_orte_num_nodes");
    if (!nodes || atoi(nodes) != 1) return 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    int told = fscanf(file, "%63s", name) == 1;
    fclose(file);
    return told && (strcmp(name, "oshrun") == 0 || strcmp(name, "shmemrun") == 0);
}

const tulle_launcher *tulle_launched_by(void)
{
    if (under_oshrun()) return find("oshmem");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (getenv(marks[i].variable)) return find(marks[i].family);
    return NULL;
}

static int first_number(const char *const *variable, int n, int fallback)
{
    for (int i = 0; i < n; i++) {
        const char *value = getenv(variable[i]);
        if (value) return atoi(value);
    }
    return fallback;
}

int tulle_launched_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    return first_number(variables, 3, 0);
}

int tulle_launched_size(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
    return tulle_launched_by() ? first_number(variables, 3, 1) : 1;
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
    if (by) return by->program ? launchers[0].module : by->module; /* oshrun belongs to Open MPI, too */
    for (int i = 0; i < LAUNCHERS; i++)
        if (!launchers[i].program && tulle_launcher_usable(&launchers[i])) return launchers[i].module;
    return launchers[0].module;
}
