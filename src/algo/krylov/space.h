/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vector space of a Krylov method: vectors in a layout, of which each PE holds its rows as an
 * array, their inner products and linear combinations.
 *
 * An inner product is summed over blocks of rows, and these along the binary tree over all blocks,
 * independent of the cuts. A PE contributes the sums of the largest subtrees within its rows; an
 * allgather distributes them, and each PE completes the tree. A block that a cut divides is the sum
 * of its pieces, so its bits depend on that cut.
 */
#ifndef TULLE_KRYLOV_SPACE_H
#define TULLE_KRYLOV_SPACE_H

#include "mat/context.h"
#include "mat/layout.h"

/* Rows of a block, such that there are at most 1024 blocks. */
int64_t tulle__space_block(tulle_gidx n);

/* A sum that a PE contributes: of a subtree, or of a piece of a block. */
typedef struct tulle__subtree {
    tulle_gidx at, size;
    int rank, slot;
} tulle__subtree;

struct tulle__resident_vectors;

typedef struct tulle__space {
    tulle_comm *comm;
    struct tulle__resident_vectors *resident; /* the vectors while they lie on a device; NULL: on the host */
    const tulle__kernels *kernels;
    tulle__pool *pool; /* NULL: this thread alone */
    tulle_type type;
    tulle_gidx n, first;
    int64_t rows, block; /* rows of this PE, from first */
    int64_t npieces;     /* blocks, whole or divided, in own rows */
    int most;            /* sums at a time */
    double *piece_sums;  /* [npieces * dots] */
    tulle__subtree *subtree;
    int nsubtrees, slots; /* subtrees of all PEs, by rows; the most of a PE */
    double *mine, *all;   /* [slots * most], of this PE and of all */
    double *levels;       /* sums on the way down the tree */
    int64_t reductions, dots_ns, vectors_ns;
} tulle__space;

/*
 * The largest subtree of at most `most` rows that begins at a row and ends by `end`, or the piece
 * of a block up to there.
 */
tulle_gidx tulle__space_subtree(const tulle__space *space, tulle_gidx at, tulle_gidx end, tulle_gidx most);

/*
 * Local; except for memory the outcome is the same on all PEs. The layout has at most one non-empty
 * tile a PE. dots: inner products at a time; sums: at least dots, numbers of a reduction.
 */
tulle_status tulle__space_init(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, int dots, int sums, tulle__space *space);
void tulle__space_fini(tulle__space *space);

/*
 * result[d] = x[d]^T y[d], d < count <= dots. Consecutive products with the same y, or with the
 * same two y and the same x, are computed together. Collective; the same status on all PEs.
 */
tulle_status tulle__space_dots(
    tulle__space *space, int count, const void *const *x, const void *const *y, double *result);

/*
 * result[d] from the contributions of all PEs in `mine`, by slots, `count` <= most sums each.
 * Collective.
 */
tulle_status tulle__space_meet(tulle__space *space, int count, double *result);

/*
 * result[c] = the sum of squares of column c of lines of `ld` values, c < count <= TULLE__SPACE_LINES, dots.
 * Collective.
 */
enum { TULLE__SPACE_LINES = 64 };
tulle_status tulle__space_squares(tulle__space *space, int count, const void *lines, int64_t ld, double *result);

/* y = beta y + the sum of coef[v] x[v], v < count; y may be x[0], if alone. */
void tulle__space_combine(
    tulle__space *space, int count, const double *coef, const void *const *x, double beta, void *y);

/*
 * Several combinations in order, some rows of all at a time; sets the type and rows of the tasks.
 */
void tulle__space_combine_all(tulle__space *space, int count, const tulle__combine_task *combination);

/* y = coef x. */
void tulle__space_scale(tulle__space *space, double coef, const void *x, void *y);

#endif
