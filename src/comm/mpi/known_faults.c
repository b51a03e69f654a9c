/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of MPIs that kill, hang or give wrong bytes, so that a program cannot try them: the one
 * table of them. Versions outside of it are used as they are. README.md says what was measured;
 * faults/faults.c shows each without Tulle.
 */
#include <stdio.h>
#include <string.h>

#include "comm/mpi/mpi_team.h"

enum { VERSION = 1000 }; /* a version is a number of three digits to this base */
#define AT(major, minor, patch) (((major)*VERSION + (minor)) * VERSION + (patch))

static const struct known {
    const char *library; /* its version follows in the library's text */
    int first, last;
    enum tulle__mpi_fault fault;
} known[] = {
    /* open-mpi/ompi#9146; seen in 4.1.4, not in 4.1.7, 4.1.8, 5.0.8 and 5.0.11 (faults cas) */
    {"Open MPI v", AT(4, 0, 0), AT(4, 1, 6), TULLE__MPI_RDMA_SWAP_CRASHES},
    /* seen in 4.0.2 and 4.2.1 over UCX, not in 4.1.3, 4.2.3, 4.3.2 and 5.0.2, nor in 4.0.3 over OFI (faults early) */
    {"MPICH Version:", AT(4, 0, 0), AT(4, 1, 2), TULLE__MPI_BLOCKS_ARE_LATE},
    {"MPICH Version:", AT(4, 2, 0), AT(4, 2, 2), TULLE__MPI_BLOCKS_ARE_LATE},
    /* MPI_Rget_accumulate with MPI_REPLACE, over InfiniBand (faults replace); 5.0 was not tried */
    {"Open MPI v", AT(4, 0, 0), AT(4, 1, 999), TULLE__MPI_REPLACE_HANGS},
};

/* The version behind the library's name in its text; 0: it is another one's. */
static int version_of(const char *library, const char *text)
{
    int major = 0, minor = 0, patch = 0;
    const char *at = strstr(text, library);
    if (!at || sscanf(at + strlen(library), " %d.%d.%d", &major, &minor, &patch) < 1) return 0;
    return AT(major, minor, patch);
}

int tulle__mpi_has_fault_in(const char *text, enum tulle__mpi_fault fault)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int version = known[i].fault == fault ? version_of(known[i].library, text) : 0;
        if (version && version >= known[i].first && version <= known[i].last) return 1;
    }
    return 0;
}

int tulle__mpi_has_fault(enum tulle__mpi_fault fault)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(text, &length); /* also before MPI has started */
    return tulle__mpi_has_fault_in(text, fault);
}
