/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of MPIs as they name themselves, and what the engine mpi knows of them. known_faults here:
 * the faults of the installed one, as faults.c names what shows them.
 */
#include <stdio.h>

#include "comm/mpi/mpi_team.h"
#include "tap.h"

const tulle__module_host *tulle__mpi_host;

static const struct {
    const char *text;
    int rdma, late, replace;
} versions[] = {
    {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4", 1, 0, 1},
    {"Open MPI v4.1.6, package: Open MPI x", 1, 0, 1},
    {"Open MPI v4.1.7, package: Open MPI x", 0, 0, 1},
    {"Open MPI v4.2.0rc1", 0, 0, 0},
    {"Open MPI v5.0.7, package: Debian OpenMPI", 0, 0, 0},
    {"Open MPI v5.0.11", 0, 0, 0},
    {"Open MPI v3.1.6", 0, 0, 0},
    {"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022", 0, 1, 0},
    {"MPICH Version:      4.0.3", 0, 1, 0},
    {"MPICH Version:\t4.1.3", 0, 0, 0},
    {"MPICH Version:\t4.2.1", 0, 1, 0},
    {"MPICH Version:\t4.2.3", 0, 0, 0},
    {"MPICH Version:\t5.0.2", 0, 0, 0},
    {"MPICH Version:\t3.4.3", 0, 0, 0},
    {"CRAY MPICH version 8.1.27.26 (ANL base 3.4a2)", 0, 0, 0},
    {"", 0, 0, 0},
};

static int show_here(void)
{
    if (tulle__mpi_has_fault(TULLE__MPI_RDMA_SWAP_CRASHES)) puts("cas");
    if (tulle__mpi_has_fault(TULLE__MPI_BLOCKS_ARE_LATE)) puts("early");
    if (tulle__mpi_has_fault(TULLE__MPI_REPLACE_HANGS)) puts("replace");
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) return show_here();
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const char *text = versions[i].text;
        ok(tulle__mpi_has_fault_in(text, TULLE__MPI_RDMA_SWAP_CRASHES) == versions[i].rdma &&
                tulle__mpi_has_fault_in(text, TULLE__MPI_BLOCKS_ARE_LATE) == versions[i].late &&
                tulle__mpi_has_fault_in(text, TULLE__MPI_REPLACE_HANGS) == versions[i].replace,
            "%.24s", text);
    }
    return tap_done();
}
