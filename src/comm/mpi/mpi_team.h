/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the module `mpi`: a team of processes, its two windows, and the two ways to access a
 * segment. The module is compiled once for each installed MPI; libtulle sees nothing of it.
 */
#ifndef TULLE_COMM_MPI_TEAM_H
#define TULLE_COMM_MPI_TEAM_H

#include <mpi.h>

#include "base/error.h"
#include "base/module/module.h"
#include "comm/shared_memory.h"

/* known_faults.c: what the MPI that runs must not be asked for. */
enum tulle__mpi_fault {
    TULLE__MPI_RDMA_SWAP_CRASHES, /* MPI_Compare_and_swap of osc/rdma, between processes of a node */
    TULLE__MPI_BLOCKS_ARE_LATE,   /* requests of gets of blocks are complete before the bytes are there */
    TULLE__MPI_REPLACE_HANGS,     /* MPI_Rget_accumulate with MPI_REPLACE */
};
int tulle__mpi_has_fault(enum tulle__mpi_fault fault);
/* The same of a text of MPI_Get_library_version. */
int tulle__mpi_has_fault_in(const char *text, enum tulle__mpi_fault fault);

/* libtulle's functions, set when it loads the module. */
extern const tulle__module_host *tulle__mpi_host;

/*
 * Get requests, and targets to flush, of one completion group; further ones wait for the earlier
 * ones.
 */
enum { TULLE__MPI_GETS = 64, TULLE__MPI_TARGETS = 8 };

/* The most bytes of one operation: counts are int in MPI 3. A power of two keeps pieces aligned. */
enum { TULLE__MPI_PIECE = 1 << 30 };

/*
 * A completion group. Gets have requests, in the order of their counts; a flush of targets
 * completes other transfers.
 */
typedef struct tulle__mpi_group {
    uint64_t count; /* of the last transfer */
    MPI_Request get[TULLE__MPI_GETS];
    uint64_t count_of[TULLE__MPI_GETS];
    int gets;
    uint64_t flush_from; /* first transfer that needs a flush; 0: none */
    /* targets to flush, for each window; more than fit: all PEs */
    int target[TULLE__SEGMENTS][TULLE__MPI_TARGETS];
    int targets[TULLE__SEGMENTS];
} tulle__mpi_group;

/* One end of a vector transfer: blocks of bytes, by addresses or by offsets in the remote block. */
typedef struct tulle__mpi_side {
    int n, capacity;
    int *length;
    MPI_Aint *at;
} tulle__mpi_side;

typedef struct tulle__mpi_link {
    tulle__shared_link shared; /* bases of the windows; NULL: by RMA only */
    tulle__engine_team *team;
    tulle__mpi_group group[TULLE__GROUPS];
    int error;                     /* first MPI error since the last wait */
    int polls;                     /* calls of progress in a row, */
    int64_t polled_ns;             /* and the time of the last */
    tulle__mpi_side local, remote; /* of the vector transfer being started */
} tulle__mpi_link;

typedef struct tulle__mpi_window {
    MPI_Win win;    /* MPI_WIN_NULL: the team's segments lie in files */
    MPI_Win shared; /* memory under win, shared within each node; MPI_WIN_NULL: win's own */
    int locked, shared_locked;
    size_t mapped; /* bytes of each segment without a window; 0: there is one */
    char **base;   /* base[rank]: that PE's segment if mapped; NULL: by RMA only */
} tulle__mpi_window;

struct tulle__engine_team {
    MPI_Comm comm;
    int rank, npes;
    int neighbours;            /* a node has several PEs */
    int shared;                /* loads and stores reach all segments, */
    int in_files;              /* which lie in files of the PEs, not in windows */
    int mixed;                 /* several nodes; loads and stores reach data segments within each */
    int crowded;               /* a node has more PEs than cores */
    int late;                  /* requests of gets of blocks are not enough: TULLE__MPI_BLOCKS_ARE_LATE */
    int no_replace;            /* TULLE__MPI_REPLACE_HANGS */
    int progress;              /* RMA progresses at this PE only while it is inside MPI */
    tulle__lifeline *lifeline; /* NULL: there is one process */
    tulle__mpi_window window[TULLE__SEGMENTS];
    tulle__mpi_link link;
};

/*
 * job.c: MPI itself, and agreement among processes. Waits yield the core: there may be more
 * processes than cores.
 */

/* Initialises MPI unless it is running; the exit of the process finalises it. */
tulle_status tulle__mpi_start(void);
/* 1: this MPI says that its calls take memory of CUDA devices. It has been started. */
int tulle__mpi_reaches_gpus(void);
/* Counts open teams: a process that exits with one open ends the job. */
void tulle__mpi_team_opened(int change);
tulle_status tulle__mpi_fail(int error, const char *what);
/* Waits nap from here on if so many processes share this node's cores. */
void tulle__mpi_crowd(int node_pes);
/*
 * One step of a wait, between calls of MPI: yields, or, on a crowded node, naps, as a scheduler may
 * give a core that was yielded to the same process again.
 */
void tulle__mpi_rest(int turns);
int tulle__mpi_await(int n, MPI_Request *request);
tulle_status tulle__mpi_allreduce_max(MPI_Comm comm, int n, uint64_t *value);
/* all[npes]: `bytes` of each process. */
tulle_status tulle__mpi_allgather(MPI_Comm comm, const void *mine, size_t bytes, void *all);
/*
 * The first failure by rank, with its message, on all processes. A PE's own failure comes before
 * one it was notified of.
 */
tulle_status tulle__mpi_agree(MPI_Comm comm, tulle_status mine);

/* node_memory.c: segments in files, of teams whose PEs are all on one node; collective. */

/* Sets *works if all PEs can map each other's. */
tulle_status tulle__mpi_can_map(MPI_Comm comm, int *works);
/*
 * Maps a segment of each PE, base[npes], to be freed after a failure, too. They are zero for all
 * after a further agreement.
 */
tulle_status tulle__mpi_map_segments(MPI_Comm comm, size_t bytes, char **base);
void tulle__mpi_unmap_segments(int npes, size_t bytes, char **base);

/* window.c */

/* The most bytes of all windows on this node. */
size_t tulle__mpi_capacity(void);
/* Collective; a lock epoch lasts as long as the windows. */
tulle_status tulle__mpi_windows_open(tulle__engine_team *team, const size_t bytes[TULLE__SEGMENTS]);
void tulle__mpi_windows_close(tulle__engine_team *team);

/* rma.c: operations by RMA, for teams that loads and stores do not reach entirely. */
extern const tulle__link_ops tulle__mpi_rma_ops;
/* The slot for the group's next get request. */
MPI_Request *tulle__mpi_request(tulle__mpi_link *mpi, int group);
/* Records that request, as part of transfer `count`. */
void tulle__mpi_requested(tulle__mpi_link *mpi, int group, uint64_t count);
/* Records that transfer `count` needs a flush of that PE. */
void tulle__mpi_target(tulle__mpi_link *mpi, int group, const tulle__place *place, uint64_t count);
/* Records an error; the next wait returns it. */
void tulle__mpi_note(tulle__mpi_link *mpi, int error);

/* ranges.c: vector transfers. */
uint64_t tulle__mpi_getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
uint64_t tulle__mpi_putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
/* Start one range by RMA, as part of transfer `count`. */
void tulle__mpi_get(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count);
void tulle__mpi_put(
    tulle__mpi_link *mpi, int group, const tulle__place *place, const tulle__range *range, uint64_t count);
void tulle__mpi_side_free(tulle__mpi_side *side);

/*
 * progress.c. Collective: tests whether RMA progresses at a PE that computes; uses the start of
 * both segments.
 */
tulle_status tulle__mpi_probe_progress(tulle__engine_team *team);

#endif
