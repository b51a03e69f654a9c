/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One execution of a plan, as the files that share it see it: where jobs come from (feed), who runs
 * them, what becomes of their results (sink).
 */
#ifndef TULLE_PRODUCT_EXECUTION_H
#define TULLE_PRODUCT_EXECUTION_H

#include "algo/chain/band.h"
#include "algo/product/execution/partial.h"
#include "algo/product/execution/schedule.h"
#include "algo/product/plan/plan.h"
#include "algo/product/run/run_tiles.h"
#include "mat/fetch.h"

/* A job: products of tiles, C[i,j] += sum_k A[i,k] B[k,j], that are multiplied together. */
typedef struct tulle__job {
    int i, j, nk;
    int units;           /* products of tiles, or bands of one or of a chain */
    int band, bands, of; /* bands band .. band + bands - 1 of `of`; of = 0: all rows */
    int step;            /* of SUMMA and Cannon, that its tiles come with; the chunk of blocks */
    int amount;          /* of work, as progress counts it */
    int remote;          /* not all of its tiles are read in place */
    int done;            /* factors whose tiles no other job reads for now (TULLE__DONE_A, ...) */
    int64_t number;
    int *k; /* [group] */
    /* rows of A that another PE has delegated to this one; NULL: tiles */
    const struct tulle__delegation *delegation;
    tulle__fetch *a, *b; /* [group] */
} tulle__job;

/* The next product of tiles of the steps. */
typedef struct tulle__step_unit {
    int step, k, target;
} tulle__step_unit;

struct tulle__feed_ops;
struct tulle__sink;

typedef struct tulle__exec {
    tulle_product *plan;
    const struct tulle__feed_ops *feed; /* where jobs come from (feed.h) */
    const struct tulle__sink *sink;     /* what becomes of them (sink/sink.h) */
    tulle__inbox inbox;
    tulle__schedule schedule;
    tulle__step_unit unit;
    int reused;       /* no symbolic work is done */
    bool publishes;   /* C has a new structure then, which goes to all PEs */
    tulle__job *ring; /* [depth]: jobs started; the head is the next to be multiplied */
    int depth, head, filled;
    /* remote jobs, rows of others that were started and not yet waited for */
    int ahead, delegations_ahead;
    int64_t jobs, delegations;         /* started; of these, rows of others */
    int64_t units, own_units;          /* multiplied here; of these, into own tiles of C */
    tulle_tile *a, *b_tile;            /* [group]: what a job multiplies, all columns of B */
    tulle__csr *b;                     /* [group]: of a sparse C, the current columns of B */
    tulle__chain_workspace *workspace; /* [group]: for the kernel of a dense C */
    tulle__spgemm_pair *pair;          /* [capacity] */
    int pair_capacity;
    /* [group]: what the job after it multiplies, where that is at hand */
    tulle_tile *next_a, *next_b;
    void **slice;        /* [group]: the current columns of B */
    tulle__band_cut cut; /* the bands of the job that was cut last */
    int64_t copied;      /* bytes, by stages before it began */
    int64_t compute_ns, communicate_ns, wait_ns, multiplications, stolen, probes;
    int64_t skipped, filtered;              /* products of blocks, blocks: by the filter */
    int64_t by_kernel[TULLE_BLOCK_KERNELS]; /* multiplications of blocks */
    double largest;                         /* multiplications of a unit */
    tulle_device_work devices_before;       /* what devices had done when it began */
} tulle__exec;

/* The rows of C tile i, block rows if C is in blocks, of a job whose tiles are in x->a: first .. first + rows - 1. */
tulle_status tulle__job_rows(tulle__exec *x, const tulle__job *job, tulle_gidx *first, tulle_gidx *rows);

/* Description of a job for a runner, whose rows are those from `row` on; last: no other adds to them here. */
tulle__run_tiles tulle__job_tiles(const tulle__exec *x, const tulle__job *job, int64_t row, bool last);

/* Ends a kernel that began at `start`, as computing. */
void tulle__computed(tulle__exec *x, const char *what, int64_t start);

#endif
