/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis of the methods by columns. */
#include "algo/trisolve/baselines/scatter.h"

#include <string.h>

#include "base/error.h"

static int is_mine(const tulle__triangle *t, int tile)
{
    return tulle__layout_owner(t->distributed, tile, 0) == t->T->comm->rank;
}

/* Numbers own rows as lines, task by task, and divides the shared arrays. */
static tulle_status number_rows(const tulle__triangle *t, tulle__scatter *s)
{
    int64_t line = 0;
    for (int i = 0; i < t->ntiles; i++)
        if (is_mine(t, i)) s->nown += t->cut[i + 1] - t->cut[i];
    TULLE_CALL(tulle__alloc((size_t)t->tasks + 1, sizeof *s->task, "tasks", &s->task));
    TULLE_CALL(tulle__alloc((size_t)s->nown, sizeof *s->row, "rows", &s->row));
    TULLE_CALL(tulle__alloc((size_t)s->n, sizeof *s->line, "own rows", &s->line));
    TULLE_CALL(tulle__alloc((size_t)s->comm->size + 1, sizeof *s->first, "parts of the sums", &s->first));
    for (tulle_gidx r = 0; r < s->n; r++) s->line[r] = -1;
    for (int step = 0; step < t->ntiles; step++) {
        int i = t->upper ? t->ntiles - 1 - step : step;
        if (!is_mine(t, i)) continue;
        s->task[s->ntasks++] = line;
        for (tulle_gidx k = 0; k < t->cut[i + 1] - t->cut[i]; k++, line++) {
            tulle_gidx row = t->upper ? t->cut[i + 1] - 1 - k : t->cut[i] + k;
            s->row[line] = (int32_t)row;
            s->line[row] = (int32_t)line;
        }
    }
    s->task[s->ntasks] = line;
    for (int p = 0; p <= s->comm->size; p++) s->first[p] = t->cut[p * t->tasks];
    return TULLE_OK;
}

/* Counts own rows, which the triangle stores as rows. */
static tulle_status count_in_degrees(const tulle__triangle *t, tulle__scatter *s)
{
    int cursor = 0;
    TULLE_CALL(tulle__alloc_zero((size_t)s->nown, sizeof *s->near, "in-degrees", &s->near));
    TULLE_CALL(tulle__alloc_zero((size_t)s->nown, sizeof *s->far, "in-degrees", &s->far));
    for (int64_t l = 0; l < s->nown; l++) {
        tulle__triangle_span span = tulle__triangle_at(t, s->row[l], &cursor);
        for (int64_t e = span.from; e < span.to; e++)
            ++*(s->line[span.tile->colind[e]] >= 0 ? &s->near[l] : &s->far[l]);
    }
    return TULLE_OK;
}

/*
 * Copies own columns from a matrix that stores them as rows, partitioned like the triangle's rows.
 */
static tulle_status take_columns(const tulle__triangle *t, const tulle_mat *columns, tulle__scatter *s)
{
    size_t size = tulle_type_size(s->type);
    int64_t stored = t->head || t->tail, at = 0, line = 0;
    for (int i = 0; i < t->ntiles; i++)
        if (is_mine(t, i)) {
            tulle_tile tile = tulle__tile_in_place(columns, i, 0);
            s->nnz += tile.nnz - stored * (t->cut[i + 1] - t->cut[i]);
        }
    TULLE_CALL(tulle__alloc((size_t)s->nown + 1, sizeof *s->colptr, "column pointers", &s->colptr));
    TULLE_CALL(tulle__alloc((size_t)s->nnz, sizeof *s->rowind, "row indices", &s->rowind));
    TULLE_CALL(tulle__alloc((size_t)s->nnz, size, "values", &s->val));
    if (!t->unit) TULLE_CALL(tulle__alloc((size_t)s->nown, size, "inverse pivots", &s->inverse));
    for (int step = 0; step < t->ntiles; step++) {
        int i = t->upper ? t->ntiles - 1 - step : step;
        if (!is_mine(t, i)) continue;
        tulle_tile tile = tulle__tile_in_place(columns, i, 0);
        for (tulle_gidx k = 0; k < t->cut[i + 1] - t->cut[i]; k++, line++) {
            tulle_gidx column = s->row[line], local = column - t->cut[i];
            s->colptr[line] = at;
            for (int64_t e = tile.nnz ? tile.rowptr[local] : 0; tile.nnz && e < tile.rowptr[local + 1]; e++)
                if (tile.colind[e] != column) s->rowind[at++] = tile.colind[e];
        }
    }
    s->colptr[line] = at;
    return TULLE_OK;
}

static void take_values(const tulle__triangle *t, const tulle_mat *columns, tulle__scatter *s)
{
    size_t size = tulle_type_size(s->type);
    int64_t line = 0, at = 0;
    for (int step = 0; step < t->ntiles; step++) {
        int i = t->upper ? t->ntiles - 1 - step : step;
        if (!is_mine(t, i)) continue;
        tulle_tile tile = tulle__tile_in_place(columns, i, 0);
        for (tulle_gidx k = 0; k < t->cut[i + 1] - t->cut[i]; k++, line++) {
            tulle_gidx column = s->row[line], local = column - t->cut[i];
            for (int64_t e = tile.nnz ? tile.rowptr[local] : 0; tile.nnz && e < tile.rowptr[local + 1]; e++) {
                const char *from = (const char *)tile.val + (size_t)e * size;
                if (tile.colind[e] != column)
                    memcpy((char *)s->val + (size_t)at++ * size, from, size);
                else if (s->inverse && s->type == TULLE_F32)
                    ((float *)s->inverse)[line] = 1 / *(const float *)(const void *)from;
                else if (s->inverse)
                    ((double *)s->inverse)[line] = 1 / *(const double *)(const void *)from;
            }
        }
    }
}

/* op(T) by columns, with the PEs of its rows. */
static tulle_status transpose(const tulle__triangle *t, tulle_mat **columns)
{
    TULLE__SCOPED_MAT tulle_mat *transposed = NULL;
    TULLE_CALL(tulle_mat_transpose(t->own, &transposed));
    return tulle_mat_redistribute(transposed, t->distributed, columns);
}

static tulle_status count_owed(tulle__scatter *s)
{
    TULLE_CALL(tulle__alloc_zero((size_t)s->n, sizeof *s->owed, "in-degrees", &s->owed));
    for (int64_t e = 0; e < s->nnz; e++)
        if (s->line[s->rowind[e]] < 0) s->owed[s->rowind[e]]++;
    return TULLE_OK;
}

tulle_status tulle__scatter_init(const tulle__triangle *t, int shared, tulle__scatter *s)
{
    tulle_comm *comm = t->T->comm;
    tulle_mat *columns = NULL;
    *s = (tulle__scatter){.comm = comm, .type = t->T->type, .shared = shared, .upper = t->upper, .n = t->n, .cols = -1};
    tulle_status status = number_rows(t, s);
    if (status == TULLE_OK) status = count_in_degrees(t, s);
    for (int what = 0; what < 2 && status == TULLE_OK; what++) {
        status = tulle__alloc((size_t)comm->size, sizeof **s->place, "places of sums", &s->place[what]);
        if (status == TULLE_OK)
            status = tulle__alloc((size_t)comm->size, sizeof **s->direct, "places of sums", &s->direct[what]);
    }
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(transpose(t, &columns));
    status = take_columns(t, columns, s);
    if (status == TULLE_OK) take_values(t, columns, s);
    if (status == TULLE_OK && !shared) status = count_owed(s);
    status = tulle_comm_agree(comm, status);
out:
    tulle_mat_free(columns);
    return status;
}

tulle_status tulle__scatter_update(const tulle__triangle *t, tulle__scatter *s)
{
    TULLE__SCOPED_MAT tulle_mat *columns = NULL;
    TULLE_CALL(transpose(t, &columns));
    take_values(t, columns, s);
    return TULLE_OK;
}

void tulle__scatter_fini(tulle__scatter *s)
{
    if (!s->comm) return;
    tulle__remote_sums_close(s);
    for (int what = 0; what < 2; what++) {
        tulle__free(s->place[what]);
        tulle__free(s->direct[what]);
    }
    tulle__free(s->task);
    tulle__free(s->row);
    tulle__free(s->line);
    tulle__free(s->first);
    tulle__free(s->colptr);
    tulle__free(s->rowind);
    tulle__free(s->val);
    tulle__free(s->inverse);
    tulle__free(s->near);
    tulle__free(s->far);
    tulle__free(s->owed);
    *s = (tulle__scatter){.comm = NULL};
}

size_t tulle__scatter_bytes(const tulle__scatter *s)
{
    size_t size = tulle_type_size(s->type);
    return (size_t)s->nnz * (size + sizeof *s->rowind) +
           (size_t)s->nown * ((s->inverse ? size : 0) + sizeof *s->colptr + 3 * sizeof *s->row) +
           (size_t)s->n * (sizeof *s->line + (s->owed ? sizeof *s->owed : 0));
}
