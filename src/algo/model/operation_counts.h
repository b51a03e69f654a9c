/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of operation counts: the operands as the policies see them, and the multiplications of
 * each tile product. Counts of matrices in their layouts come from the directories alone. Counts
 * for hypothetical layouts have operands of their own: matrices without comm and memory, whose
 * directories describe the tiles.
 */
#ifndef TULLE_MODEL_OPERATION_COUNTS_H
#define TULLE_MODEL_OPERATION_COUNTS_H

#include <tulle/model.h>

#include "algo/chain/policy.h"

struct tulle_counts {
    tulle__operands operands;
    tulle_mat *shadow[3]; /* operands created here: matrices without tiles */
    int own;              /* the operands belong to this object */
    int pes, sparse;
    tulle_type type;
    double *work;   /* [M * K * N]: multiplications of tile product (i, k, j) */
    double *result; /* [M * N]: entries of C */
    /*
     * [M * K * N], at the first tile product of each job under stationary A and B: entries of its
     * result; NULL: not counted
     */
    int64_t *partial[2];
    int64_t *partial_blocks[2]; /* the same in blocks, if C is in blocks */
    int batch;                  /* most tile products of the jobs that were counted */
    /* [M * K]: fraction of the rows of B[k,*] that A[i,k] requires, then [M * K]: runs of these; NULL: not counted */
    double *named;
    /*
     * [M * K * N]: values of the blocks of A[i,k], and of B[k,j], that some product reads which a filter
     * leaves; NULL: no filter. Those of B are an upper bound if several PEs share the rows of a tile
     */
    double *needed[2];
    double height, inner, width; /* mean sizes of blocks: rows, inner indices, columns; 1 without blocks */
    double block_flops[TULLE_BLOCK_SIZES];
    double multiplications, entries;
    /*
     * effective width of C: the number of columns over which the products of a row would be
     * uniform; small for a band, else n
     */
    double effective_cols;
};

static inline int64_t tulle__unit_index(const tulle_counts *counts, int i, int k, int j)
{
    const tulle__operands *o = &counts->operands;
    return ((int64_t)i * o->K + k) * o->N + j;
}

/* Counts for matrices as they are: exact for SpMM; for SpGEMM entries are assumed uniform. */
tulle_status tulle__counts_of(const tulle__operands *operands, int pes, tulle_counts **counts);

/*
 * tulle_predict_best among candidates, of which bit alg stands for an algorithm; 0: all. best->suits is 0 if none
 * suits.
 */
tulle_status tulle__predict_best_of(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, uint64_t candidates, tulle_prediction *best);

/* The tile products of C tile (i, j) in the order of PEs and jobs: k, and the first k of its job. */
typedef struct tulle__job_order {
    int n;
    int *k, *first; /* [K] */
} tulle__job_order;

/* Under stationary A (which = 0) or B (1). */
void tulle__counts_job_order(const tulle_counts *counts, int which, int i, int j, tulle__job_order *order);

/* Entries expected in C tile (i, j) for so many multiplications. */
double tulle__counts_expected(const tulle_counts *counts, int i, int j, double products);

/*
 * The effective width at which so many products of m rows of n columns are expected to give so many
 * entries.
 */
double tulle__find_effective_cols(double m, double n, double products, double entries);

/*
 * Computes `named` of A, with its runs, for the tiles of another layout, or its own. Collective over the comm of A,
 * agreed. The caller frees it. It is an upper bound if several PEs share the rows of a tile.
 */
tulle_status tulle__counts_count_named(const tulle_mat *A, const tulle_layout *layout, double **named);

/*
 * Counts multiplications and samples the effective width. Collective over the comm of A, no
 * agreement.
 */
tulle_status tulle__counts_count_work(tulle_counts *counts, const tulle_mat *A, const tulle_mat *B);

/*
 * Counts the entries of partial results for the operands of `counts`. Collective over the comm of
 * A, no agreement.
 */
tulle_status tulle__counts_count_result(tulle_counts *counts, const tulle_mat *A, const tulle_mat *B);

/* ---- products of two matrices of blocks (block_counts.c) ---- */

/*
 * Counts multiplications, and the blocks of C, of the products that a filter leaves (0: all); with a filter
 * also the values that they need; partials: also those of partial results, if A has tiles of whole rows.
 * Entries of C are counted if A has them. Collective over the comm of A, no agreement.
 */
tulle_status tulle__counts_count_blocks(
    tulle_counts *counts, const tulle_mat *A, const tulle_mat *B, double filter, bool partials);

/* Counts the blocks and values of X in the tiles of `shadow`, over all PEs. Collective, no agreement. */
tulle_status tulle__counts_count_tiles(const tulle_mat *X, tulle_mat *shadow);

#endif
