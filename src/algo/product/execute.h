/* SPDX-License-Identifier: Apache-2.0 */
/* One execution of a plan, as the files that share it see it: who runs the jobs, and who multiplies. */
#ifndef TULLE_PRODUCT_EXECUTE_H
#define TULLE_PRODUCT_EXECUTE_H

#include "algo/chain/band.h"
#include "algo/product/partial.h"
#include "algo/product/plan/plan.h"
#include "algo/product/schedule.h"
#include "algo/steal/steal.h"

typedef struct tulle__job {
    int i, j, nk;
    int units;           /* products of tiles, or bands of one or of a chain */
    int band, bands, of; /* bands band .. band + bands - 1 of `of`; of = 0: all rows */
    int remote;          /* not all of its tiles are read in place */
    int64_t number;
    int *k;                              /* [group] */
    const tulle__delegation *delegation; /* rows of A that another PE has given to this one; NULL: tiles */
    tulle__fetch *a, *b;                 /* [group] */
} tulle__job;

typedef struct tulle__exec {
    tulle_product *plan;
    tulle__inbox inbox;
    tulle__schedule schedule;
    int reused;       /* no symbolic work is done */
    tulle__job *ring; /* [depth]: jobs started; the head is the next to be multiplied */
    int depth, head, filled;
    int ahead, delegations_ahead; /* remote jobs, rows of others that were started and not yet waited for */
    int64_t jobs, delegations;    /* started; of these, rows of others */
    int64_t units, own_units;     /* multiplied here; of these, into own tiles of C */
    tulle_tile *a, *b_tile;       /* [group]: what a job multiplies, all columns of B */
    tulle__csr *b;                /* [group]: of a sparse C, the current columns of B */
    tulle__run_tiles of;          /* tiles that x->pair are of; nk = 0: they are parts of C, which the host adds up */
    tulle__chain_room *room;      /* [group]: for the kernel of a dense C */
    tulle__spgemm_pair *pair;     /* [room] */
    int pair_room;
    tulle_tile *next_a, *next_b; /* [group]: what the job after it multiplies, where that is at hand */
    void **slice;                /* [group]: the current columns of B */
    tulle__band_cut cut;         /* the bands of the job that was cut last */
    int64_t compute_ns, communicate_ns, wait_ns, multiplications, stolen, probes;
    double largest;                   /* multiplications of a unit */
    tulle_device_work devices_before; /* what devices had done when it began */
} tulle__exec;

/* Multiplies a job whose tiles are in x->a and x->b_tile, of a sparse C x->b, and sees to where its result goes. */
tulle_status tulle__multiply_job(tulle__exec *x, const tulle__job *job);

/* Dense C: beta C, once an execution. */
tulle_status tulle__scale_target(tulle__exec *x, tulle__target *target);

/* What is left when all contributions to own tiles of C are there: merging, or adding what was kept. */
tulle_status tulle__multiply_finish(tulle__exec *x);

#endif
