/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams within an MPI program. Not part of tulle.h: it needs <mpi.h>. The program links its own MPI
 * and libtulle; the module for that MPI is loaded with the first team, and refuses communicators of
 * another MPI.
 */
#ifndef TULLE_MPI_H
#define TULLE_MPI_H

#include <mpi.h>

#include <tulle/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Libraries of one family have the same binary interface; "abi" is MPI 5's own, of any library. */
#if defined MPI_ABI_VERSION
#define TULLE_MPI_FAMILY "abi"
#elif defined OMPI_MAJOR_VERSION
#define TULLE_MPI_FAMILY "openmpi"
#elif defined MPICH_VERSION || defined MPICH
#define TULLE_MPI_FAMILY "mpich"
#else
#error "neither Open MPI nor a descendant of MPICH"
#endif

/*
 * Opens a team whose PEs are the processes of comm, in its order; spec ends in the engine `mpi`.
 * Collective over comm, after MPI_Init. All processes must make all calls on the team, in the
 * thread that called MPI_Init, and call tulle_team_free before MPI_Finalize. comm stays the
 * caller's.
 */
static inline tulle_status tulle_team_new_mpi(
    const char *spec, MPI_Comm comm, const tulle_team_options *options, tulle_team **team)
{
    tulle_communicator communicator = {TULLE_MPI_FAMILY, sizeof comm, &comm, (void (*)(void))MPI_Comm_size};
    return tulle_team_new_over(spec, &communicator, options, team);
}

#ifdef __cplusplus
}
#endif
#endif
