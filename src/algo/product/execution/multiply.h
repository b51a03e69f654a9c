/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of jobs. A sink says where rows of a product go (tulle__tile_output); the runner fills them here, and the
 * sink takes them over.
 */
#ifndef TULLE_PRODUCT_MULTIPLY_H
#define TULLE_PRODUCT_MULTIPLY_H

#include "algo/product/execution/execution.h"
#include "kernel/row_selection.h"

/* Memory for rows first .. first + rows - 1 of the product of a job, which is a part of tile (i, j) of C. */
typedef struct tulle__tile_output {
    int i, j;
    tulle__target *target; /* NULL: the tile is another PE's */
    tulle_gidx first, rows;
    bool none; /* nothing is to be multiplied */
    bool more; /* the job has an output after this one */

    /* A dense C: element (r, c) of these rows is to[r * c_row + c * c_col]. */
    void *to;
    int64_t c_row, c_col;
    double beta;
    bool last;     /* no other job here adds to them */
    bool complete; /* they are read as soon as the sink has them: the runner finishes first */

    /* A sparse C: `find` gets memory, with the output as its context, once the entries are counted. */
    tulle__csr_place find, trim;
    const tulle__row_selection *select; /* NULL: all entries */
    tulle__csr_result result;           /* what was made; the arrays of a known structure */
    bool known;                         /* the structure is: values alone are made */
    bool counts;                        /* of these, multiplications are counted */
    bool tile;                          /* all of an own tile */
    bool whole;                         /* of the caller's C, too */
    bool adds_old;                      /* beta C is a summand */
    bool unsorted;

    /* The sink's. */
    int64_t start;   /* of the kernel */
    int band, bands; /* of rows */
    tulle__panel panel;
    char *block;       /* a private block; NULL: the tile, or the panel */
    tulle__sent *sent; /* stores it for the next execution */
    tulle__sent once;
    tulle__part *part;
    const tulle_product *plan;
} tulle__tile_output;

/* Rows of a job into an output. The runner may still write into a dense one, unless it is to be complete. */
tulle_status tulle__multiply_dense(tulle__exec *x, const tulle__job *job, tulle__tile_output *output);
tulle_status tulle__multiply_sparse(tulle__exec *x, const tulle__job *job, tulle__tile_output *output);

/* ---- sums of parts of a sparse C, by this host ---- */

tulle_status tulle__reserve_pairs(tulle__exec *x, int pairs);

/* Adds rows of beta C to the summands in x->pair, if there are any; returns how many there are then. */
int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs);

/* The sum of x->pair into a sparse output. Additions are no multiplications of the product. */
tulle_status tulle__sum_pairs(tulle__exec *x, int pairs, tulle__tile_output *output);

#endif
