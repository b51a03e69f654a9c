/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a sweep over submatrices, and what its waves fetch. */
#ifndef TULLE_ALGO_MATFUN_SWEEP_STATE_H
#define TULLE_ALGO_MATFUN_SWEEP_STATE_H

#include "algo/matfun/matfun_plan.h"
#include "kernel/pool.h"

/* A block that a wave fetches. */
struct tulle__needed_block {
    int32_t slot;  /* of its row */
    int32_t block; /* of the row */
    int32_t tile;
    int64_t place; /* block of the tile */
};

struct tulle__sweep_thread {
    tulle__eigen eigen;
    int64_t *start;  /* [rows]: first element of each block row of the submatrix */
    int64_t *column; /* [b]: of the wanted columns */
    double dense, least, most;
    char pad[64];
};

struct tulle__sweep_state {
    const tulle_matfun *plan;
    const tulle__submatrices *s;
    const tulle__visitor *visitor;
    tulle_mat *F;
    tulle_comm *comm;
    size_t size; /* of a value */
    /* fetched blocks: */
    int64_t *first; /* [known rows]: of a fetched row's blocks in `at`; -1: it is mapped */
    int64_t *at;    /* values of `copies` before a block; -1: not fetched */
    struct tulle__needed_block *needed;
    int64_t nneeded, needed_capacity;
    char *copies[2]; /* of A, and of S */
    /* results: */
    char *results;
    int64_t *result; /* [submatrices of the wave]: values of `results` before it */
    /* the wave: */
    int64_t begin, end, bound; /* submatrices; those of the claim end at the bound */
    int64_t base;              /* number of submatrix 0 for the visitor */
    int64_t *order;            /* [count]: those that are computed, the largest first */
    int64_t count, wide;       /* all threads compute the first `wide` of them together */
    int64_t next;              /* atomic */
    struct tulle__sweep_thread *thread;
    int threads;      /* that have a workspace; that of the first one does for any submatrix, */
    int64_t narrow;   /* the others for those of so many rows */
    bool can_be_wide; /* the BLAS's threads are this PE's alone */
    tulle__sweep *report;
};

static inline const tulle__block_row *tulle__sweep_row(const struct tulle__sweep_state *w, tulle_gidx row)
{
    return tulle__block_row_of(&w->s->pattern, row);
}

static inline tulle_gidx tulle__sweep_height(const struct tulle__sweep_state *w, tulle_gidx row)
{
    const tulle_gidx *cut = tulle__block_rows_cut(&w->s->pattern);
    return cut[row + 1] - cut[row];
}

static inline bool tulle__sweep_skips(const struct tulle__sweep_state *w, int64_t k)
{
    return w->visitor->skip && w->visitor->skip[w->base + k];
}

/* The decomposition of submatrix k of an earlier sweep; NULL: there is none. */
static inline const tulle__decomposition *tulle__sweep_decomposition(const struct tulle__sweep_state *w, int64_t k)
{
    tulle__decomposition *const *stored = w->visitor->decompositions;
    return stored && (*stored)[w->base + k].A ? &(*stored)[w->base + k] : NULL;
}

/* The reduction of submatrix k of an earlier sweep; NULL: there is none. */
static inline tulle__reduction *tulle__sweep_reduction(const struct tulle__sweep_state *w, int64_t k)
{
    tulle__reduction *const *reductions = w->visitor->reductions;
    return reductions && (*reductions)[w->base + k].d ? &(*reductions)[w->base + k] : NULL;
}

/* True if blocks of submatrix k are not needed. */
static inline bool tulle__sweep_restores(const struct tulle__sweep_state *w, int64_t k)
{
    const tulle__reduction *r = w->visitor->restore ? tulle__sweep_reduction(w, k) : NULL;
    return w->visitor->restore && (tulle__sweep_decomposition(w, k) || (r && r->A));
}

/* The places of fetched rows' blocks. */
tulle_status tulle__sweep_number_blocks(struct tulle__sweep_state *w);

/* As many submatrices from w->begin on as memory allows, at least one. */
tulle_status tulle__sweep_choose_wave(struct tulle__sweep_state *w, int64_t limit);

/* Fetches the blocks of a wave that are not mapped. Neighbouring blocks of a tile are one range. */
tulle_status tulle__sweep_fetch_wave(struct tulle__sweep_state *w);

/* Needed blocks from number `from` on are not needed any more. */
void tulle__sweep_forget(struct tulle__sweep_state *w, int64_t from);

/*
 * Rooms of threads: for as many of `most` as memory holds. If large submatrices do not fit several
 * times, all threads compute them together.
 */
tulle_status tulle__sweep_make_threads(struct tulle__sweep_state *w, int most);
void tulle__sweep_drop_threads(struct tulle__sweep_state *w);

/* The queue of a wave, for a pool of so many threads; and how many of it all threads compute together, if they have
 * workspaces. */
tulle_status tulle__sweep_order(struct tulle__sweep_state *w, int threads);
tulle_status tulle__sweep_choose_wide(struct tulle__sweep_state *w, int threads);

/* Computes the queue on the plan's device. It then has what the device has no memory for, and threads their workspaces.
 */
tulle_status tulle__sweep_on_device(struct tulle__sweep_state *w, tulle__pool *pool);

/* First elements of block rows, and the wanted columns. */
void tulle__sweep_find_columns(
    const struct tulle__sweep_state *w, const tulle__submatrix *sub, struct tulle__sweep_thread *t);
/* Then the lower triangle in columns, which begin `ld` values apart and are the upper one in rows, of A or S. */
tulle_status tulle__sweep_gather(const struct tulle__sweep_state *w, bool of_S, const tulle__submatrix *sub,
    const struct tulle__sweep_thread *t, int64_t ld);
/* Own blocks below the diagonal against their transposes; largest: magnitude of an eigenvalue. */
tulle_status tulle__sweep_compare(const struct tulle__sweep_state *w, const tulle__submatrix *sub, double largest);
/* Wanted columns to rows of F, or to where they are put from. */
void tulle__sweep_place(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, const struct tulle__sweep_thread *t);

/* Values of a submatrix's result rows that have to be put. */
int64_t tulle__sweep_result_values(const struct tulle__sweep_state *w, int64_t k);

#endif
