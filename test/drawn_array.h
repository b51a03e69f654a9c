/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn matrices as the library's arrays, and its results as the whole of theirs. */
#ifndef TULLE_TEST_DRAWN_ARRAY_H
#define TULLE_TEST_DRAWN_ARRAY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tulle/tulle.h>

/* This PE's rows of 2^exponent A [m x n], as CSR without zeros, over the caller's room. */
static inline void describe_rows(const double *A, int m, int n, int exponent, tulle_type type, int rank, int npes,
    tulle_array *a, int64_t *ptr, int *col, void *val)
{
    const int first = m * rank / npes, count = m * (rank + 1) / npes - first;
    ptr[0] = 0;
    for (int i = 0; i < count; i++) {
        ptr[i + 1] = ptr[i];
        for (int j = 0; j < n; j++) {
            const double x = ldexp(A[(first + i) * n + j], exponent);
            if (x == 0) continue;
            col[ptr[i + 1]] = j;
            if (type == TULLE_F32)
                ((float *)val)[ptr[i + 1]++] = (float)x;
            else
                ((double *)val)[ptr[i + 1]++] = x;
        }
    }
    *a = tulle_array_empty(TULLE_STORAGE_CSR, m, n, sizeof(double));
    a->type = type;
    a->first = first;
    a->count = count;
    a->ptr = ptr, a->ptr_bytes = 8;
    a->ind = col, a->ind_bytes = 4;
    a->val = val;
    a->nnz = ptr[count];
}

/* X in so many tiles, dealt out to the PEs by rows. Collective. */
static inline tulle_status deal_tiles(tulle_mat **X, int tile_rows, int tile_cols)
{
    const int pes = tulle_comm_size(tulle_mat_comm(*X));
    const tulle_layout_spec spec = {.m = tulle_mat_rows(*X),
        .n = tulle_mat_cols(*X),
        .grid_rows = pes,
        .grid_cols = 1,
        .tile_rows = tile_rows,
        .tile_cols = tile_cols,
        .map = TULLE_CYCLIC};
    tulle_layout *layout = NULL;
    tulle_mat *dealt = NULL;
    tulle_status status = tulle_layout_new(&spec, pes, &layout);
    if (status == TULLE_OK) status = tulle_mat_redistribute(*X, layout, &dealt);
    tulle_layout_free(layout);
    if (status != TULLE_OK) return status;
    tulle_mat_free(*X);
    *X = dealt;
    return TULLE_OK;
}

/* All of a dense X [rows x count] on each PE. */
static inline tulle_status collect_rows(tulle_comm *comm, tulle_mat *X, int rows, int count, double *all)
{
    tulle_array x = {.storage = TULLE_STORAGE_DENSE};
    tulle_status status = tulle_mat_to_array(X, TULLE_AUTO, &x);
    if (status != TULLE_OK) return status;
    memset(all, 0, (size_t)(rows * count) * sizeof *all);
    for (tulle_gidx i = 0; i < x.count; i++)
        for (int c = 0; c < count; c++)
            all[(x.first + i) * count + c] =
                x.type == TULLE_F32 ? (double)((float *)x.val)[i * x.ld + c] : ((double *)x.val)[i * x.ld + c];
    tulle_array_free(&x);
    return tulle_comm_reduce_real(comm, TULLE_SUM, rows * count, all);
}

#endif
