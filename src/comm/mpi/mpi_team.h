/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the module `mpi`: a team of processes, its two windows, and the two ways of reaching a segment. The module is
 * compiled once for each MPI that is installed; nothing here is seen by libtulle.
 */
#ifndef TULLE_COMM_MPI_TEAM_H
#define TULLE_COMM_MPI_TEAM_H

#include <mpi.h>

#include "base/error.h"
#include "base/module.h"
#include "comm/shared_memory.h"

/* What libtulle lent when it loaded the module. */
extern const tulle__module_host *tulle__mpi_host;

/* Requests of gets, and targets to flush, that one completion group can hold; more wait for the earlier ones. */
enum { TULLE__MPI_GETS = 64, TULLE__MPI_TARGETS = 8 };

/* Bytes of one operation at most: counts are int in MPI 3; a power of two keeps pieces aligned. */
enum { TULLE__MPI_PIECE = 1 << 30 };

/* Gets have requests, in the order of their counts; what a flush completes has targets. */
typedef struct tulle__mpi_group {
    uint64_t count; /* of the last transfer */
    MPI_Request get[TULLE__MPI_GETS];
    uint64_t count_of[TULLE__MPI_GETS];
    int gets;
    uint64_t flush_from; /* the first transfer that the next flush completes; 0: there is none */
    /* targets to flush, per window; more than fit: all */
    int target[TULLE__SEGMENTS][TULLE__MPI_TARGETS];
    int targets[TULLE__SEGMENTS];
} tulle__mpi_group;

/* Blocks of bytes, one end of a vector transfer: addresses, or offsets within a place. */
typedef struct tulle__mpi_side {
    int n, room;
    int *length;
    MPI_Aint *at;
} tulle__mpi_side;

typedef struct tulle__mpi_link {
    tulle__shared_link shared; /* bases are those of the windows; NULL: by RMA only */
    tulle__engine_team *team;
    tulle__mpi_group group[TULLE__GROUPS];
    int error;                     /* the first MPI error since the last wait */
    tulle__mpi_side local, remote; /* of the vector transfer that is being started */
} tulle__mpi_link;

typedef struct tulle__mpi_window {
    MPI_Win win;
    MPI_Win shared; /* the memory under win, shared within each node; MPI_WIN_NULL: it is win's own */
    int locked, shared_locked;
    char **base; /* base[rank]: where loads and stores reach that PE's segment, NULL: by RMA only */
} tulle__mpi_window;

struct tulle__engine_team {
    MPI_Comm comm;
    int rank, npes;
    int neighbours; /* some node has more than one PE */
    int shared;     /* all segments are reached by load and store */
    int mixed;      /* several nodes, within which data segments are reached by load and store */
    int crowded;    /* some node has more PEs than cores */
    int progress;   /* RMA at this PE advances only while it is inside MPI */
    tulle__mpi_window window[TULLE__SEGMENTS];
    tulle__mpi_link link;
};

/* job.c: MPI itself, and agreement among processes. Waiting yields the core: there may be more processes than cores. */

/* Initialises MPI unless that is done; finalised when the process exits. */
tulle_status tulle__mpi_start(void);
/* Counts the open teams: a process that exits while one is open ends the job. */
void tulle__mpi_team_opened(int change);
tulle_status tulle__mpi_fail(int error, const char *what);
int tulle__mpi_await(int n, MPI_Request *request);
tulle_status tulle__mpi_allreduce_max(MPI_Comm comm, int n, uint64_t *value);
/* The first failure by rank, with its message, on all; one that was only told of another's comes last. */
tulle_status tulle__mpi_agree(MPI_Comm comm, tulle_status mine);

/* window.c */

/* Bytes that the windows of the processes of this node may have together. */
size_t tulle__mpi_room(void);
/* Collective; the windows are locked for as long as they live. */
tulle_status tulle__mpi_windows_open(tulle__engine_team *team, const size_t bytes[TULLE__SEGMENTS]);
void tulle__mpi_windows_close(tulle__engine_team *team);

/* rma.c: operations where loads and stores do not reach all. */
extern const tulle__link_ops tulle__mpi_rma_ops;
/* Where the request of the group's next get belongs. */
MPI_Request *tulle__mpi_request(tulle__mpi_link *mpi, int group);
/* That request is there. The get is part of transfer `count`. */
void tulle__mpi_requested(tulle__mpi_link *mpi, int group, uint64_t count);
/* A flush of that PE completes transfer `count`. */
void tulle__mpi_target(tulle__mpi_link *mpi, int group, const tulle__place *place, uint64_t count);
/* An error sticks until a wait can return it. */
void tulle__mpi_note(tulle__mpi_link *mpi, int error);

/* ranges.c: vector transfers. */
uint64_t tulle__mpi_getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
uint64_t tulle__mpi_putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
/* One range, as part of transfer `count`, where loads and stores do not reach. */
void tulle__mpi_get(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count);
void tulle__mpi_put(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count);
void tulle__mpi_side_free(tulle__mpi_side *side);

/* progress.c. Collective: finds out whether RMA at a PE that computes goes on; uses the start of both segments. */
tulle_status tulle__mpi_probe_progress(tulle__engine_team *team);

#endif
