/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner products at the entries of a sparse matrix. Owners of S compute; tiles of rows of X and Y are fetched. Rows of
 * Y are split where its tiles are: a row of S goes through them with a cursor, as its columns ascend.
 */
#include <inttypes.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/context.h"
#include "mat/fetch.h"
#include "mat/mat.h"
#include "mat/overlap.h"

static tulle_status check(const tulle_mat *X, const tulle_mat *Y, const tulle_mat *S)
{
    const tulle_layout *x = X->layout, *y = Y->layout, *s = S->layout;
    if (S->kind != TULLE_CSR || X->kind != TULLE_DENSE || Y->kind != TULLE_DENSE)
        return tulle__fail(TULLE_ERR_ARG, "S must be CSR, and X and Y dense");
    if (X->type != S->type || Y->type != S->type)
        return tulle__fail(TULLE_ERR_ARG, "X, Y and S are of %s, %s and %s", tulle_type_name(X->type),
            tulle_type_name(Y->type), tulle_type_name(S->type));
    if (x->m != s->m || y->m != s->n || x->n != y->n)
        return tulle__fail(TULLE_ERR_ARG,
            "X Y^T of %" PRId64 " x %" PRId64 " and %" PRId64 " x %" PRId64 " has not the shape of S, %" PRId64
            " x %" PRId64,
            x->m, x->n, y->m, y->n, s->m, s->n);
    TULLE_CALL(tulle__mat_check_apart(S, "S", X, "X"));
    TULLE_CALL(tulle__mat_check_apart(S, "S", Y, "Y"));
    return tulle__wants_values(S->comm, "inner products");
}

/* Whole rows, one tile for each of `like`'s tile rows (NULL: one a PE), with the owners of its first tile column. */
static tulle_status rows_layout(const tulle_mat *A, const tulle_layout *like, tulle_layout **layout)
{
    TULLE__SCOPED int *owner = NULL;
    tulle_layout_spec spec = {.m = A->layout->m, .n = A->layout->n, .tile_rows = A->comm->size, .tile_cols = 1};
    if (like) {
        spec.tile_rows = like->mt;
        spec.row_cut = like->row_cut;
    }
    TULLE_CALL(tulle__alloc((size_t)spec.tile_rows, sizeof *owner, "owners", &owner));
    for (int i = 0; i < spec.tile_rows; i++) owner[i] = like ? tulle__layout_owner(like, i, 0) : i;
    spec.owner = owner;
    return tulle_layout_new(&spec, A->comm->size, layout);
}

/* A with whole rows in row-major tiles: itself, or *copy, which the caller frees. Collective. */
static tulle_status in_rows(const tulle_mat *A, const tulle_layout *like, const tulle_mat **rows, tulle_mat **copy)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    *copy = NULL;
    *rows = A;
    if (A->order == TULLE_ROW_MAJOR && A->layout->nt == 1 && !like) return TULLE_OK;
    TULLE_CALL(tulle_comm_agree(A->comm, rows_layout(A, like, &layout)));
    if (A->order == TULLE_ROW_MAJOR && tulle__layout_equal(A->layout, layout)) return TULLE_OK;
    if (A->order == TULLE_ROW_MAJOR) {
        TULLE_CALL(tulle_mat_redistribute(A, layout, copy));
    } else {
        TULLE__SCOPED_MAT tulle_mat *zero = NULL;
        TULLE_CALL(tulle_mat_new_dense(A->comm, layout, A->type, TULLE_ROW_MAJOR, &zero));
        TULLE_CALL(tulle_mat_add(1, zero, 1, A, copy));
    }
    *rows = *copy;
    return TULLE_OK;
}

/* One tile of S: its task, and the cursors of its rows (NULL: Y has one tile row). */
struct tile_job {
    tulle__sddmm_task task;
    tulle_own_tile tile;
    int64_t *from, *to; /* [m] */
};

static tulle_status open_job(
    const tulle_mat *S, int i, int j, int parts, double alpha, tulle_gidx k, struct tile_job *job)
{
    job->tile = tulle__own_tile_in_place((tulle_mat *)(uintptr_t)S, i, j);
    const tulle_own_tile *t = &job->tile;
    job->task = (tulle__sddmm_task){.type = t->type,
        .m = t->rowptr ? t->m : 0,
        .k = k,
        .from = t->rowptr,
        .to = t->rowptr + (t->rowptr != NULL),
        .colind = t->colind,
        .alpha = alpha,
        .val = t->val};
    if (parts == 1 || !t->rowptr) return TULLE_OK;
    TULLE_CALL(tulle__alloc((size_t)t->m, sizeof *job->from, "cursors of rows", &job->from));
    TULLE_CALL(tulle__alloc((size_t)t->m, sizeof *job->to, "cursors of rows", &job->to));
    for (tulle_gidx r = 0; r < t->m; r++) job->to[r] = t->rowptr[r];
    job->task.from = job->from;
    job->task.to = job->to;
    return TULLE_OK;
}

/* Moves the cursors on to the entries of columns below `end`. */
static void advance(struct tile_job *job, tulle_gidx end)
{
    for (tulle_gidx r = 0; job->from && r < job->task.m; r++) {
        int64_t e = job->from[r] = job->to[r];
        while (e < job->tile.rowptr[r + 1] && job->tile.colind[e] < end) e++;
        job->to[r] = e;
    }
}
static void job_fini(struct tile_job *job)
{
    tulle__free(job->from);
    tulle__free(job->to);
}

static tulle_status compute_tile(const tulle__context *context, const tulle_mat *X, const tulle_mat *Y,
    const tulle_mat *S, int i, int j, double alpha)
{
    const tulle_gidx *col = S->layout->col_cut, *cut = Y->layout->row_cut;
    TULLE__SCOPED_BY(job_fini) struct tile_job job = {.from = NULL};
    TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
    tulle_tile x, y;
    TULLE_CALL(open_job(S, i, j, Y->layout->mt, alpha, X->layout->n, &job));
    TULLE_CALL(tulle__fetch_read(X, i, 0, &fetch, &x));
    for (int t = 0; t < Y->layout->mt; t++) {
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch part = {.group = -1};
        if (cut[t + 1] <= col[j] || cut[t] >= col[j + 1]) continue;
        advance(&job, cut[t + 1] - col[j]);
        TULLE_CALL(tulle__fetch_read(Y, t, 0, &part, &y));
        job.task.X = x.val;
        job.task.ldx = x.ld;
        job.task.Y = y.val;
        job.task.ldy = y.ld;
        job.task.first = cut[t] - col[j];
        if (job.task.m) TULLE_CALL(context->kernels->sddmm(context->pool, &job.task));
    }
    return TULLE_OK;
}

tulle_status tulle_mat_sddmm(double alpha, const tulle_mat *X, const tulle_mat *Y, tulle_mat *S)
{
    if (TULLE__NULL(X)) return tulle__refuse(S ? S->comm : Y ? Y->comm : NULL);
    if (TULLE__NULL(Y) || TULLE__NULL(S)) return tulle__refuse(X->comm);
    TULLE__ENTER(X->comm);
    const tulle_mat *x = NULL, *y = NULL;
    tulle_mat *x_copy = NULL, *y_copy = NULL;
    tulle__context *context = NULL;
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(S->comm, check(X, Y, S)));
    TULLE_TRY(tulle__mat_order(S));
    TULLE_TRY(tulle_comm_agree(S->comm, tulle__context_get(S->comm, &context)));
    TULLE_TRY(in_rows(X, S->layout, &x, &x_copy));
    TULLE_TRY(in_rows(Y, NULL, &y, &y_copy));
    TULLE_TRY(tulle_comm_barrier(S->comm)); /* X and Y are complete everywhere */
    for (int i = 0; i < S->layout->mt; i++)
        for (int j = 0; j < S->layout->nt; j++)
            if (tulle__tile_is_mine(S, i, j)) TULLE_TRY(compute_tile(context, x, y, S, i, j, alpha));
out:
    status = tulle_comm_agree(S->comm, status);
    tulle_mat_free(x_copy);
    tulle_mat_free(y_copy);
    return status;
}
