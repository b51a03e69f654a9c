/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the engine `shmem`: the process, its symmetric heap, a team, and the operations by
 * OpenSHMEM.
 */
#ifndef TULLE_COMM_SHMEM_TEAM_H
#define TULLE_COMM_SHMEM_TEAM_H

#include <shmem.h>

#include "base/lifeline.h"
#include "comm/shared_memory.h"

typedef struct tulle__shmem_gather tulle__shmem_gather;

typedef struct tulle__shmem_link {
    tulle__shared_link shared;        /* bases of mapped segments; NULL: by OpenSHMEM only */
    char *symmetric[TULLE__SEGMENTS]; /* own segments: an address in them names the same block of every PE */
    tulle__shmem_gather *gather;      /* NULL: lists of ranges are a get each */
    uint64_t count;                   /* of the last transfer, counted over all groups */
    uint64_t quiet_from;              /* first transfer that needs a quiet; 0: none */
} tulle__shmem_link;

struct tulle__engine_team {
    int rank, npes;
    tulle__lifeline *lifeline; /* NULL: there is one process */
    size_t segment_bytes[TULLE__SEGMENTS];
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    tulle__shmem_link link;
};

/* symmetric_heap.c: a process has one heap, whose size is set before OpenSHMEM starts. */

/*
 * Refuses a /dev/shm too small for the library, which would crash. Local: no other process is
 * involved yet.
 */
tulle_status tulle__shmem_heap_refuse(int node_pes);
/*
 * Sets the heap's size for a team of npes PEs, `node_pes` of them on this node, with `memory` in
 * all; 0: this node's share. On failure a small one, enough to notify the others.
 */
tulle_status tulle__shmem_heap_announce(int npes, int node_pes, size_t memory);
/* Memory in the heap for a PE of one more team. */
size_t tulle__shmem_heap_left(void);
/* Collective; page-aligned, contents undefined. NULL: it does not fit. */
void *tulle__shmem_heap_take(size_t bytes);
void tulle__shmem_heap_give(void *block, size_t bytes);

/* process.c: OpenSHMEM itself, and agreement among processes outside of bodies. */

/* PEs on this node according to the launcher, known before OpenSHMEM starts. */
int tulle__shmem_node_pes(int npes);
/* Starts OpenSHMEM unless it runs. */
tulle_status tulle__shmem_start(void);
int tulle__shmem_runs(void);
/* Counts open teams: a process that exits with one open ends the job. */
void tulle__shmem_team_opened(int change);
/* Maximum of each of at most 8 values over all PEs; a barrier if n = 0. */
void tulle__shmem_allreduce_max(int n, uint64_t *value);
/*
 * The first failure by rank, with its message, on all processes. A PE's own failure comes before
 * one it was notified of.
 */
tulle_status tulle__shmem_agree(tulle_status mine);
/* Drives the progress of other PEs' transfers. */
void tulle__shmem_progress(void);

/* help.c. Collective: whether gets need a call by their target; uses the start of both segments. */
int tulle__shmem_needs_help(tulle__engine_team *team);

/* gather.c: vector gets that the target packs. */

/* Bytes of symmetric memory. */
size_t tulle__shmem_gather_bytes(int npes);
/* Collective: all PEs return before the first list. The caller agrees on the status. */
tulle_status tulle__shmem_gather_new(tulle__shmem_link *link, tulle__shmem_gather **gather);
/* Collective. */
void tulle__shmem_gather_free(tulle__shmem_gather *gather);
/* 0: not started, as the list has fewer than two ranges worth packing, or for lack of memory. */
int tulle__shmem_gather_start(tulle__shmem_gather *gather, int group, uint64_t count, const tulle__place *place, int n,
    const tulle__range *range);
/* Polls the group's lists up to count: 1 all have arrived. It also serves other PEs. */
int tulle__shmem_gather_ready(tulle__shmem_gather *gather, int group, uint64_t count);
/* Blocks until they have arrived; group -1: those of all groups. */
void tulle__shmem_gather_await(tulle__shmem_gather *gather, int group, uint64_t count);
/* Drops lists in flight at the end of a run. */
void tulle__shmem_gather_drop(tulle__shmem_gather *gather);
/* Answers other PEs' requests; part of tulle__shmem_progress. */
void tulle__shmem_gather_serve(void);

/* shmem_rma.c: operations by OpenSHMEM, for teams that loads and stores do not reach entirely. */
extern const tulle__link_ops tulle__shmem_rma_ops;
/* Starts one range by OpenSHMEM, as part of transfer `count`. */
void tulle__shmem_get(tulle__shmem_link *link, const tulle__place *place, const tulle__range *range, uint64_t count);

#endif
