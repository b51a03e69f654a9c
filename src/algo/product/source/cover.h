/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covers: which entries of A are multiplied where, so that the fewest bytes move. PE p has a tile
 * of A and the tile of C above it, PE q has the tile of B. An entry of A can be multiplied at p:
 * then the row of B that its column names comes from q. Or it is multiplied at q: then q needs the
 * values of that row of A, and sends the row's products as a partial row of C.
 *
 * The entries are the edges of a bipartite graph between rows and columns. What moves the fewest
 * bytes is the minimum weighted vertex cover of this graph (vertex_cover.h), with these weights in
 * bytes:
 *
 *   column  the row of B: values, and indices if B is sparse
 *   row     the partial row of C, with at most as many entries as there are products or columns,
 *           and the values of the row of A, which may change between executions
 */
#ifndef TULLE_PRODUCT_COVER_H
#define TULLE_PRODUCT_COVER_H

#include "algo/product/source/vertex_cover.h"
#include "kernel/kernel.h"

/* Cost of moving one row of a tile of B, or of a result that it takes part in. */
typedef struct tulle__row_terms {
    int64_t width;         /* columns of the tile */
    size_t size;           /* bytes of a value */
    const int64_t *rowptr; /* of the tile of B if it is sparse, else NULL */
} tulle__row_terms;

/* Division of a tile of A: delegated rows, whole, and the rest, which is multiplied here. */
typedef struct tulle__cut {
    int64_t rows; /* delegated, numbers ascending in row[] */
    int64_t *row;
    int64_t given; /* their entries */
    int64_t bytes; /* of their partial rows and values, as weighed */
    size_t size;   /* of a value */
    /*
     * in arrays of its own: all rows of the tile, delegated ones empty; values by tulle__cut_fill
     */
    tulle__csr rest;
    int64_t *rest_rowptr;
    int32_t *rest_colind;
    char *rest_val;
} tulle__cut;

/* Figures of a cover, used or not. */
typedef struct tulle__cover_weight {
    int64_t weight, bound;
    int exact;
} tulle__cover_weight;

/*
 * Local. Which rows of A the best cover delegates; *cut = NULL: none, or the cover weighs `limit`
 * or more. quick: one is looked for by flow only if there is a greedy one below the limit. Of very
 * many entries it stays the greedy one.
 */
tulle_status tulle__cut_new(const tulle__csr *A, const tulle__row_terms *terms, double limit, int quick,
    tulle__cut **cut, tulle__cover_weight *weight);
void tulle__cut_free(tulle__cut *cut);

/* Makes the values of the rest those of A now. */
void tulle__cut_fill(tulle__cut *cut, const tulle__csr *A);

/* Bytes; cut may be NULL. */
size_t tulle__cut_held(const tulle__cut *cut);

#endif
