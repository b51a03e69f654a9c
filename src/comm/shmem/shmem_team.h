/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the engine `shmem`: the process, its symmetric heap, a team, and the operations that OpenSHMEM does. */
#ifndef TULLE_COMM_SHMEM_TEAM_H
#define TULLE_COMM_SHMEM_TEAM_H

#include <shmem.h>

#include "comm/shared_memory.h"

typedef struct tulle__shmem_gather tulle__shmem_gather;

typedef struct tulle__shmem_link {
    tulle__shared_link shared;        /* base: where loads and stores reach a segment; NULL: by OpenSHMEM only */
    char *symmetric[TULLE__SEGMENTS]; /* the own segments: an address in them names the same place of every PE */
    tulle__shmem_gather *gather;      /* NULL: lists of ranges are a get each */
    uint64_t count;                   /* of the last transfer, of all groups together */
    uint64_t quiet_from;              /* the first transfer that the next quiet completes; 0: there is none */
} tulle__shmem_link;

struct tulle__engine_team {
    int rank, npes;
    size_t segment_bytes[TULLE__SEGMENTS];
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    tulle__shmem_link link;
};

/* symmetric_heap.c: a process has one, and says how large it is before OpenSHMEM starts. */

/*
 * Refuses a /dev/shm that is too small for the library itself, which would die of it. Not agreed on: nothing runs yet.
 */
tulle_status tulle__shmem_heap_refuse(int node_pes);
/*
 * Announces a heap for a team of npes PEs, `node_pes` of them on this node, that together have `memory`; 0: this node's
 * share. On failure a small one, which does for telling the others.
 */
tulle_status tulle__shmem_heap_announce(int npes, int node_pes, size_t memory);
/* The memory that a PE of one more team can have in this process's heap. */
size_t tulle__shmem_heap_left(void);
/* Collective; aligned to pages, of undefined contents. NULL: it does not fit. */
void *tulle__shmem_heap_take(size_t bytes);
void tulle__shmem_heap_give(void *block, size_t bytes);

/* process.c: OpenSHMEM itself, and agreement among processes outside of bodies. */

/* Processes of this node, by the launcher's word, which is known before anything has started. */
int tulle__shmem_node_pes(int npes);
/* Starts OpenSHMEM unless it runs. */
tulle_status tulle__shmem_start(void);
int tulle__shmem_runs(void);
/* Counts the open teams: a process that exits while one is open ends the job. */
void tulle__shmem_team_opened(int change);
/* value[i] = the largest of all, of at most 8; a barrier if n = 0. */
void tulle__shmem_allreduce_max(int n, uint64_t *value);
/* The first failure by rank, with its message, on all; one that was only told of another's comes last. */
tulle_status tulle__shmem_agree(tulle_status mine);
/* Lets transfers of others go on. */
void tulle__shmem_progress(void);

/* help.c. Collective: whether gets need a call of their target; uses the start of both segments. */
int tulle__shmem_needs_help(tulle__engine_team *team);

/* gather.c: vector gets that their target packs. */

/* Symmetric memory that it takes. */
size_t tulle__shmem_gather_bytes(int npes);
/* Collective: all must have come back before the first list. The caller agrees on the status. */
tulle_status tulle__shmem_gather_new(tulle__shmem_link *link, tulle__shmem_gather **gather);
/* Collective. */
void tulle__shmem_gather_free(tulle__shmem_gather *gather);
/* 0: not started, as the list has fewer than two ranges that are worth packing, or for lack of memory. */
int tulle__shmem_gather_start(tulle__shmem_gather *gather, int group, uint64_t count, const tulle__place *place, int n,
    const tulle__range *range);
/* Whether the lists of the group up to count have come; looks for replies, and answers others. */
int tulle__shmem_gather_ready(tulle__shmem_gather *gather, int group, uint64_t count);
/* Until they have come; group -1: those of all groups. */
void tulle__shmem_gather_await(tulle__shmem_gather *gather, int group, uint64_t count);
/* At the end of a run: nobody waits for what is left, nor may it arrive. */
void tulle__shmem_gather_drop(tulle__shmem_gather *gather);
/* Answers the requests of others; part of tulle__shmem_progress. */
void tulle__shmem_gather_serve(void);

/* shmem_rma.c: operations where loads and stores do not reach all. */
extern const tulle__link_ops tulle__shmem_rma_ops;
/* One range, as part of transfer `count`, where loads and stores do not reach. */
void tulle__shmem_get(tulle__shmem_link *link, const tulle__place *place, const tulle__range *range, uint64_t count);

#endif
