/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/launch.h>

#include <stdlib.h>
#include <string.h>

#include "comm/launch.h"
#include "comm/module.h"

static const tulle_launcher launchers[] = {
    {"openmpi", "mpi_openmpi", "mpirun.openmpi"},
    {"mpich", "mpi_mpich", "mpiexec.mpich"},
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

int tulle_launched_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value) return atoi(value);
    }
    return 0;
}

int tulle_launcher_usable(const tulle_launcher *launcher)
{
    char path[4096];
    return tulle__module_find(launcher->module, path, sizeof path) == TULLE_OK;
}

const char *tulle__launch_module(const char *family)
{
    const tulle_launcher *by = family ? find(family) : tulle_launched_by();
    if (by) return by->module;
    for (int i = 0; i < LAUNCHERS; i++)
        if (tulle_launcher_usable(&launchers[i])) return launchers[i].module;
    return launchers[0].module;
}
