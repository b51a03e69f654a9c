/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/sweep/apply.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/axis.h"
#include "mat/blocks/blocks.h"
#include "mat/sweep/rows_sweep.h"
#include "tile/element.h"

enum { PIECE = 1 << 18 }; /* values reduced over PEs at a time */

/*
 * Visits each entry of the own tiles of op(X), also those that a half implies; inlined with the visitor. longest: NULL,
 * or as in tulle__mat_apply.
 */
static inline __attribute__((always_inline)) tulle_status visit_entries(
    const tulle_mat *X, tulle_op op, tulle__entry_visit *visit, void *context, double *longest)
{
    const tulle__compressed *stored = X->compressed;
    if (stored) X = stored->inner;
    const tulle_layout *l = X->layout;
    const bool half = X->symmetry != TULLE_GENERAL, plain = op == TULLE_OP_N;
    const double sign = X->symmetry == TULLE_SKEW ? -1 : 1;
    TULLE__EACH_OWN_TILE(X, i, j) {
        tulle_tile t;
        TULLE_CALL(tulle_mat_tile(X, i, j, &t));
        for (tulle_gidx r = 0; t.nnz && r < t.m; r++) {
            int64_t entries = X->format->entries_before(&t, r + 1) - X->format->entries_before(&t, r);
            if (longest && (double)entries * l->nt > *longest) *longest = (double)entries * l->nt;
            if (longest && half) *longest = (double)l->n; /* the other entries of the row are in other tiles */
            for (tulle__entry_run run = {.row = r}; X->format->next(&t, &run);)
                for (int64_t e = 0; e < run.count; e++) {
                    tulle_gidx col = l->col_cut[j] + run.column + e, row = l->row_cut[i] + r;
                    double v = tulle__tile_element(&t, run.value + e * run.step);
                    if (stored) row = stored->rows.number[row], col = stored->cols.number[col];
                    visit(context, plain ? row : col, plain ? col : row, v);
                    if (half && !tulle__in_diagonal_block(X, row, col))
                        visit(context, plain ? col : row, plain ? row : col, sign * v);
                }
        }
    }
    return TULLE_OK;
}

/* ---- files ---- */

struct file_visit {
    tulle__entry_visit *visit;
    void *context;
    double *longest;
};

static tulle_status visit_piece(void *context, const tulle_rows *rows, const tulle__rows_piece *piece)
{
    const struct file_visit *v = context;
    const int b = rows->block, narrow = rows->values == TULLE_F32;
    for (tulle_gidx r = 0; r < piece->rows; r++) {
        const tulle_gidx line = piece->row + r;
        const double entries = (double)(piece->pointers[r + 1] - piece->pointers[r]) * b;
        if (v->longest && entries > *v->longest) *v->longest = entries;
        if (v->longest && rows->half) *v->longest = (double)rows->n; /* the others are in rows above */
        for (int64_t e = piece->pointers[r]; e < piece->pointers[r + 1]; e++)
            for (int k = 0; k < b * b; k++) {
                const tulle_gidx row = line * b + k / b, col = (tulle_gidx)piece->colind[e] * b + k % b;
                const int64_t at = e * b * b + k;
                const double x = narrow ? (double)((const float *)(const void *)piece->val)[at]
                                        : ((const double *)(const void *)piece->val)[at];
                if (row >= rows->m || col >= rows->n) continue;
                v->visit(v->context, row, col, x);
                if (rows->half && piece->colind[e] > line) v->visit(v->context, col, row, x);
            }
    }
    return TULLE_OK;
}

/* This PE's even share of the rows. */
static tulle_status visit_file(tulle_rows *rows, tulle__entry_visit *visit, void *context, double *longest)
{
    struct file_visit v = {visit, context, longest};
    const tulle_gidx lines = tulle__blocks_over(rows->m, rows->block);
    const int rank = rows->comm->rank, size = rows->comm->size;
    return tulle__rows_sweep(rows, (tulle_gidx)((__int128)lines * rank / size),
        (tulle_gidx)((__int128)lines * (rank + 1) / size), "checking", visit_piece, &v);
}

struct narrowed {
    tulle__entry_visit *visit;
    void *context;
};

static void visit_narrowed(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    const struct narrowed *n = context;
    n->visit(n->context, row, col, (double)(float)value);
}

static tulle_status visit_factor(
    const tulle__operand *F, tulle_op op, tulle__entry_visit *visit, void *context, double *longest)
{
    struct narrowed narrowed = {visit, context};
    if (F->rows && op != TULLE_OP_N)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: is read by rows, not transposed", F->rows->name);
    if (F->rows) return visit_file(F->rows, visit, context, longest);
    if (F->narrow) return visit_entries(F->mat, op, visit_narrowed, &narrowed, longest);
    return visit_entries(F->mat, op, visit, context, longest);
}

tulle_status tulle__operand_visit(const tulle__operand *F, tulle_op op, tulle__entry_visit *visit, void *context)
{
    return visit_factor(F, op, visit, context, NULL);
}

/* ---- sums ---- */

struct sums {
    const double *x, *w;
    double *y, *z, *count;
};

static void add(void *context, tulle_gidx row, tulle_gidx col, double v)
{
    const struct sums *s = context;
    if (s->count && row == col) return;
    if (s->count) s->count[row]++;
    s->y[row] += v * s->x[col];
    s->z[row] += fabs(v) * s->w[col];
}

static void add_finite(void *context, tulle_gidx row, tulle_gidx col, double v)
{
    if (isfinite(v)) add(context, row, col, v);
}

static tulle_status reduce_sums(tulle_comm *comm, tulle_gidx rows, const struct sums *s)
{
    for (tulle_gidx at = 0; at < rows; at += PIECE) {
        int piece = (int)(rows - at < PIECE ? rows - at : PIECE);
        TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, piece, s->y + at));
        TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, piece, s->z + at));
        if (s->count) TULLE_CALL(tulle_comm_reduce_real(comm, TULLE_SUM, piece, s->count + at));
    }
    return TULLE_OK;
}

static tulle_gidx rows_of(const tulle_mat *X, tulle_op op)
{
    return op == TULLE_OP_N ? X->layout->m : X->layout->n;
}

tulle_status tulle__mat_apply(const tulle_mat *X, tulle_op op, const double *x, const double *w, double *y, double *z,
    double *longest, double *count)
{
    struct sums s = {x, w, y, z, count};
    TULLE_CALL(visit_entries(X, op, add, &s, longest));
    return reduce_sums(X->comm, rows_of(X, op), &s);
}

tulle_status tulle__operand_apply(const tulle__operand *F, tulle_op op, bool finite, const double *x, const double *w,
    double *y, double *z, double *longest)
{
    struct sums s = {x, w, y, z, NULL};
    if (F->mat && !F->narrow && !finite) return tulle__mat_apply(F->mat, op, x, w, y, z, longest, NULL);
    tulle_status status = visit_factor(F, op, finite ? add_finite : add, &s, longest);
    if (F->rows) status = tulle_comm_agree(F->rows->comm, status); /* one PE alone may fail to read */
    if (status == TULLE_OK && F->rows) return reduce_sums(F->rows->comm, F->rows->m, &s);
    return status == TULLE_OK ? reduce_sums(F->mat->comm, rows_of(F->mat, op), &s) : status;
}

/* ---- kinds ---- */

tulle_status tulle__flags_reduce(tulle_comm *comm, tulle_gidx rows, unsigned char *flags)
{
    enum { FLAGS = 8 };
    TULLE__SCOPED int64_t *word = NULL;
    TULLE_CALL(tulle_comm_agree(comm, tulle__alloc(PIECE, sizeof *word, "flags of rows", &word)));
    for (tulle_gidx at = 0; at < rows; at += PIECE / FLAGS) {
        int piece = (int)(rows - at < PIECE / FLAGS ? rows - at : PIECE / FLAGS);
        for (int r = 0; r < piece; r++)
            for (int f = 0; f < FLAGS; f++) word[r * FLAGS + f] = flags[at + r] >> f & 1;
        TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_MAX, piece * FLAGS, word));
        for (int r = 0; r < piece; r++)
            for (int f = 0; f < FLAGS; f++) flags[at + r] |= (unsigned char)(word[r * FLAGS + f] << f);
    }
    return TULLE_OK;
}

struct kinds {
    const double *look;
    unsigned char *kinds;
};

static void add_kind(void *context, tulle_gidx row, tulle_gidx col, double v)
{
    const struct kinds *k = context;
    if (k->look && k->look[col] == 0) return;
    k->kinds[row] |= (unsigned char)(isnan(v)   ? TULLE__HAS_NAN
                                     : isinf(v) ? TULLE__HAS_INF
                                     : v == 0   ? TULLE__HAS_ZERO
                                                : TULLE__HAS_FINITE);
}

tulle_status tulle__row_kinds(const tulle_mat *X, tulle_op op, const double *look, unsigned char *kinds)
{
    struct kinds k = {look, kinds};
    TULLE_CALL(visit_entries(X, op, add_kind, &k, NULL));
    return tulle__flags_reduce(X->comm, rows_of(X, op), kinds);
}

tulle_status tulle__column_gather(const tulle_mat *B, tulle_gidx c, double *b)
{
    const tulle_layout *l = B->layout;
    tulle_status status = TULLE_OK;
    int j = tulle__layout_find(l->col_cut, l->nt, c);
    for (int i = 0; i < l->mt && status == TULLE_OK; i++) {
        tulle_fetch *fetch;
        tulle_tile t;
        TULLE_CALL(tulle_mat_get_tile(B, i, j, &fetch));
        status = tulle_fetch_wait(fetch, &t);
        for (tulle_gidx r = 0; status == TULLE_OK && t.nnz && r < t.m; r++)
            b[l->row_cut[i] + r] = tulle__dense_element(&t, r, c - l->col_cut[j]);
        tulle_fetch_free(fetch);
    }
    return status;
}
