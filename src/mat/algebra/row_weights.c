/* SPDX-License-Identifier: Apache-2.0 */
/* The work of each row, for choosing cuts. All PEs get the whole vector. */
#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "mat/fetch.h"
#include "mat/mat.h"

tulle_status tulle__sum_vector(tulle_comm *comm, int64_t n, int64_t *work)
{
    enum { PIECE = 1 << 20 };
    for (int64_t at = 0; at < n; at += PIECE) {
        TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_SUM, (int)(n - at < PIECE ? n - at : PIECE), work + at));
    }
    return TULLE_OK;
}

static tulle_status row_nnz(const tulle_mat *A, int64_t *work)
{
    const tulle_status full = tulle__wants_full(A);
    memset(work, 0, (size_t)A->layout->m * sizeof *work);
    if (full != TULLE_OK) return full;
    if (A->kind == TULLE_DENSE)
        return tulle__fail(TULLE_ERR_ARG, "the work per row is defined for sparse matrices only");
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile tile;
        TULLE_CALL(tulle_mat_tile(A, i, j, &tile));
        int64_t before = 0, until;
        for (tulle_gidx r = 0; tile.nnz && r < tile.m; r++, before = until) {
            until = A->format->entries_before(&tile, r + 1);
            work[A->layout->row_cut[i] + r] += until - before;
        }
    }
    return tulle__sum_vector(A->comm, A->layout->m, work);
}

tulle_status tulle_mat_row_nnz(const tulle_mat *A, int64_t *work)
{
    if (TULLE__NULL(A) || TULLE__NULL(work)) return tulle__refuse(A ? A->comm : NULL);
    tulle__set_up_begin(A->comm);
    tulle_status status = tulle__mat_has_tiles(A);
    if (status == TULLE_OK) status = tulle_comm_agree(A->comm, row_nnz(A, work));
    tulle__set_up_end(A->comm);
    return status;
}

enum { ROWS = 1024 }; /* that a thread takes at a time */

struct weights {
    const tulle__tile_format *format;
    const tulle_tile *tile;
    const int64_t *length; /* of rows of B, from the tile's first column on */
    int64_t *work;         /* of rows of A, from the tile's first row on */
};

static void add_lengths(void *arg, int64_t begin, int64_t end)
{
    const struct weights *w = arg;
    for (int64_t r = begin; r < end; r++) {
        int64_t sum = 0;
        for (tulle__entry_run run = {.row = r}; w->format->next(w->tile, &run);)
            for (int64_t e = 0; e < run.count; e++) sum += w->length[run.column + e];
        w->work[r] += sum;
    }
}

static tulle_status row_flops(const tulle_mat *A, const tulle_mat *B, int64_t *work)
{
    tulle_status status;
    int64_t *length = NULL;
    tulle__context *context;
    if ((status = tulle__wants_full(A)) != TULLE_OK) return status;
    if (A->layout->n != B->layout->m)
        return tulle__fail(TULLE_ERR_ARG,
            "the shapes do not match in a product of %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64,
            A->layout->m, A->layout->n, B->layout->m, B->layout->n);
    TULLE_TRY(tulle__context_get(A->comm, &context));
    TULLE_TRY(tulle__alloc((size_t)B->layout->m, sizeof *length, "row lengths", &length));
    TULLE_TRY(row_nnz(B, length));
    memset(work, 0, (size_t)A->layout->m * sizeof *work);
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile tile;
        TULLE_TRY(tulle_mat_tile(A, i, j, &tile));
        struct weights w = {.format = A->format,
            .tile = &tile,
            .length = length + A->layout->col_cut[j],
            .work = work + A->layout->row_cut[i]};
        if (tile.nnz) tulle__pool_blocks(context->pool, tile.m, ROWS, add_lengths, &w);
    }
    TULLE_TRY(tulle__sum_vector(A->comm, A->layout->m, work));
out:
    tulle__free(length);
    return status;
}

tulle_status tulle_mat_row_flops(const tulle_mat *A, const tulle_mat *B, int64_t *work)
{
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(work)) return tulle__refuse(A ? A->comm : B ? B->comm : NULL);
    tulle__set_up_begin(A->comm);
    tulle_status status = tulle__mat_has_tiles(A);
    if (status == TULLE_OK) status = tulle__mat_has_tiles(B);
    if (status == TULLE_OK) status = tulle_comm_agree(A->comm, row_flops(A, B, work));
    tulle__set_up_end(A->comm);
    return status;
}
