/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/launch.h>

#include <stdlib.h>
#include <string.h>

#include "comm/launcher.h"
#include "comm/module.h"

/* The build knows what they are called, if it found them. */
#ifndef TULLE_LAUNCH_openmpi
#define TULLE_LAUNCH_openmpi "mpiexec.openmpi"
#endif
#ifndef TULLE_LAUNCH_mpich
#define TULLE_LAUNCH_mpich "mpiexec.mpich"
#endif

static const tulle_launcher launchers[] = {
    {"openmpi", "mpi_openmpi", TULLE_LAUNCH_openmpi},
    {"mpich", "mpi_mpich", TULLE_LAUNCH_mpich},
};

enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

/* What each launcher tells the processes it starts: how many there are, or which one this is. */
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

const tulle_launcher *tulle_launched_by(void)
{
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

int tulle_launcher_usable(const tulle_launcher *launcher)
{
    char path[4096];
    return tulle__module_find(launcher->module, path, sizeof path) == TULLE_OK;
}

const char *tulle__launcher_module(const char *family)
{
    const tulle_launcher *by = family ? find(family) : tulle_launched_by();
    if (by) return by->module;
    for (int i = 0; i < LAUNCHERS; i++)
        if (tulle_launcher_usable(&launchers[i])) return launchers[i].module;
    return launchers[0].module;
}
