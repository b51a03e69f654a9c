/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Destinations of the product of a job: it goes into C in place, or into a part that is merged at
 * the end, or through panels to the owner of the C tile (partial.h), who takes it in. A sink names
 * the memory and takes products over; it multiplies none. It is one row of a table; an execution
 * chooses it once.
 *
 *   C       sums                 own jobs            other PEs' tiles      what comes in
 *   dense   as they come         added               panels                added
 *   dense   in a fixed order     added, or kept      panels                kept, added at the end
 *   dense   whole rows           written             panels                written
 *   sparse  anew                 the tile, or parts  blocks, kept          parts, merged at the end
 *   sparse  anew, claimed        the tile, or parts  made in panels        parts, merged at the end
 *   sparse  structure known      values              values                values
 */
#ifndef TULLE_PRODUCT_SINK_H
#define TULLE_PRODUCT_SINK_H

#include "algo/product/execution/multiply.h"

/* Outputs for the products of jobs, one after the other (tulle__tile_output.more). */
typedef struct tulle__outputs {
    tulle_status (*next)(tulle__exec *x, const tulle__job *job, tulle__tile_output *output);
    /* The product is there; after a failure, which is returned, the memory is given back. */
    tulle_status (*taken)(tulle__exec *x, const tulle__job *job, tulle__tile_output *output, tulle_status made);
} tulle__outputs;

typedef struct tulle__sink {
    /* An execution begins: own tiles of C become what is added to. */
    tulle_status (*begin)(tulle__exec *x);
    /* Tiles of the n-th summand of a job are there, in x->a and x->b_tile. Frees by drop. */
    tulle_status (*take)(tulle__exec *x, const tulle__job *job, int n);
    void (*drop)(tulle__exec *x, const tulle__job *job);
    const tulle__outputs *own;  /* of jobs of own tiles of C */
    const tulle__outputs *away; /* of jobs of other PEs' tiles: these time their kernels */
    /* A panel of a partial result has come. */
    tulle__receive *receive;
    /* All contributions to own tiles are there. */
    tulle_status (*finish)(tulle__exec *x);
    bool publishes; /* C has a new structure then, which goes to all PEs */
    /* the next execution has the same jobs, so that it can use parts of this one */
    bool same_jobs;
} tulle__sink;

/* Sink of the plan, for an execution with values only (reuse) or not. */
const tulle__sink *tulle__dense_sink(const tulle_product *plan);
const tulle__sink *tulle__sparse_sink(const tulle_product *plan, int reuse);

#endif
