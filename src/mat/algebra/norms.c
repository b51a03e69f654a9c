/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that describe a matrix: norms, the diagonal, the trace, bounds of eigenvalues. */
#include <inttypes.h>
#include <math.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/algebra/elements.h"
#include "mat/compressed.h"
#include "mat/mat_resident.h"
#include "mat/sweep/apply.h"

/* Visits an entry of the inner matrix by its place in the whole. */
struct numbered {
    const tulle__compressed *parts;
    void (*visit)(void *context, tulle_gidx row, tulle_gidx col, double value);
    void *context;
};

static void visit_numbered(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    const struct numbered *n = context;
    n->visit(n->context, n->parts->rows.number[row], n->parts->cols.number[col], value);
}

void tulle__each_own_entry(
    const tulle_mat *A, void (*visit)(void *context, tulle_gidx row, tulle_gidx col, double value), void *context)
{
    if (A->compressed) {
        struct numbered n = {A->compressed, visit, context};
        tulle__each_own_entry(A->compressed->inner, visit_numbered, &n);
        return;
    }
    const tulle_layout *l = A->layout;
    TULLE__EACH_OWN_TILE(A, i, j) {
        const tulle_tile t = tulle__tile_in_place(A, i, j);
        const bool half = A->symmetry != TULLE_GENERAL;
        const double sign = A->symmetry == TULLE_SKEW ? -1 : 1;
        for (tulle_gidx r = 0; r < t.m && t.nnz; r++)
            for (tulle__entry_cursor at = tulle__entries_of_row(r); tulle__entry_next(A, &t, &at);) {
                const tulle_gidx row = l->row_cut[i] + r, col = l->col_cut[j] + at.column;
                const double value = tulle__element(t.type, t.val, at.value);
                visit(context, row, col, value);
                if (half && !tulle__in_diagonal_block(A, row, col)) visit(context, col, row, sign * value);
            }
    }
}

static void keep_diagonal(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    if (row == col) ((double *)context)[row] = value;
}

enum { PIECE = 1 << 20 }; /* values of one reduction */

static tulle_status sum_all(tulle_comm *comm, double *value, tulle_gidx n)
{
    for (tulle_gidx from = 0; from < n; from += PIECE)
        TULLE_CALL(tulle_comm_agree(
            comm, tulle_comm_reduce_real(comm, TULLE_SUM, (int)(n - from < PIECE ? n - from : PIECE), value + from)));
    return TULLE_OK;
}

tulle_status tulle_mat_diagonal(const tulle_mat *A, double *diagonal)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NULL(diagonal)) return tulle__refuse(A->comm);
    const tulle_gidx n = A->layout->m < A->layout->n ? A->layout->m : A->layout->n;
    for (tulle_gidx i = 0; i < n; i++) diagonal[i] = 0;
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__wants_values(A->comm, "a diagonal")));
    tulle__each_own_entry(A, keep_diagonal, diagonal);
    return sum_all(A->comm, diagonal, n);
}

static void add_diagonal(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    if (row == col) *(double *)context += value;
}

static void find_infinite(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    (void)row, (void)col;
    if (!isfinite(value)) *(int64_t *)context = 1;
}

static tulle_status count_infinite_rows(const tulle_mat *A, int64_t *rows)
{
    TULLE__SCOPED unsigned char *kinds = NULL;
    int64_t found = 0;
    TULLE_CALL(tulle__wants_values(A->comm, "rows that are not finite"));
    if (tulle__mat_resident_of(A)) TULLE_CALL(tulle__mat_resident_bring(A));
    tulle__each_own_entry(A, find_infinite, &found);
    TULLE_CALL(tulle_comm_reduce_int(A->comm, TULLE_MAX, 1, &found));
    if (!found) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero((size_t)A->layout->m, 1, "kinds of rows", &kinds));
    TULLE_CALL(tulle__row_kinds(A, TULLE_OP_N, NULL, kinds));
    for (tulle_gidx r = 0; r < A->layout->m; r++) *rows += (kinds[r] & (TULLE__HAS_NAN | TULLE__HAS_INF)) != 0;
    return TULLE_OK;
}

tulle_status tulle_mat_infinite_rows(const tulle_mat *A, int64_t *rows)
{
    if (TULLE__NULL(A) || TULLE__NULL(rows)) return tulle__refuse(A ? A->comm : NULL);
    if (A->compressed) return tulle_mat_infinite_rows(A->compressed->inner, rows);
    *rows = 0;
    return tulle_comm_agree(A->comm, count_infinite_rows(A, rows));
}

tulle_status tulle_mat_trace(const tulle_mat *A, double *trace)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NULL(trace)) return tulle__refuse(A->comm);
    double sum = 0;
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__wants_values(A->comm, "a trace")));
    tulle__each_own_entry(A, add_diagonal, &sum);
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_comm_reduce_real(A->comm, TULLE_SUM, 1, &sum)));
    *trace = sum;
    return TULLE_OK;
}

/* Sums of each row the diagonal element, and the sum of the other magnitudes. */
static void add_disc(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    double *disc = (double *)context + 2 * row;
    if (row == col)
        disc[0] = value;
    else
        disc[1] += fabs(value);
}

static tulle_status add_discs(const tulle_mat *A, double **disc)
{
    const tulle_gidx n = A->layout->m;
    TULLE_CALL(tulle__wants_values(A->comm, "bounds of eigenvalues"));
    if (n != A->layout->n)
        return tulle__fail(
            TULLE_ERR_ARG, "eigenvalues of %" PRId64 " x %" PRId64 ": the matrix is not square", n, A->layout->n);
    TULLE_CALL(tulle__alloc_zero(2 * (size_t)n, sizeof **disc, "discs of rows", disc));
    tulle__each_own_entry(A, add_disc, *disc);
    return TULLE_OK;
}

tulle_status tulle_mat_gershgorin(const tulle_mat *A, double *least, double *most)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NULL(least) || TULLE__NULL(most)) return tulle__refuse(A->comm);
    const tulle_gidx n = A->layout->m;
    TULLE__SCOPED double *disc = NULL;
    double low = INFINITY, high = -INFINITY;
    TULLE_CALL(tulle_comm_agree(A->comm, add_discs(A, &disc)));
    TULLE_CALL(sum_all(A->comm, disc, 2 * n));
    for (tulle_gidx i = 0; i < n; i++) {
        const double from = disc[2 * i] - disc[2 * i + 1], to = disc[2 * i] + disc[2 * i + 1];
        if (!(from >= low)) low = from; /* NaN stays */
        if (!(to <= high)) high = to;
        if (isnan(from)) break;
    }
    *least = n ? low : 0;
    *most = n ? high : 0;
    return TULLE_OK;
}

/* Sums of magnitudes by rows or columns, the largest magnitude, and the sum of squares over its square. */
struct sums {
    double *line; /* NULL: none */
    int by_row;
    double largest, squares;
    int nan;
};

static void add_magnitude(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    struct sums *s = context;
    const double x = fabs(value);
    if (s->line) s->line[s->by_row ? row : col] += x;
    if (x > s->largest) s->largest = x;
    s->nan |= isnan(value) != 0;
}

static void add_square(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    struct sums *s = context;
    (void)row, (void)col;
    const double x = value / s->largest;
    s->squares += x * x;
}

static tulle_status largest_line(const tulle_mat *A, int by_row, struct sums *s)
{
    const tulle_gidx n = by_row ? A->layout->m : A->layout->n;
    TULLE__SCOPED double *line = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__alloc_zero((size_t)n, sizeof *line, "sums of magnitudes", &line)));
    s->line = line;
    s->by_row = by_row;
    tulle__each_own_entry(A, add_magnitude, s);
    TULLE_CALL(sum_all(A->comm, line, n));
    s->largest = 0;
    for (tulle_gidx i = 0; i < n; i++)
        if (line[i] > s->largest) s->largest = line[i];
    return TULLE_OK;
}

static tulle_status frobenius(const tulle_mat *A, struct sums *s)
{
    if (s->largest == 0 || isinf(s->largest)) return TULLE_OK;
    tulle__each_own_entry(A, add_square, s);
    const tulle_status status = tulle_comm_agree(A->comm, tulle_comm_reduce_real(A->comm, TULLE_SUM, 1, &s->squares));
    s->largest *= sqrt(s->squares);
    return status;
}

tulle_status tulle_mat_norm(const tulle_mat *A, tulle_norm norm, double *value)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__OUTSIDE(norm, TULLE_NORM_MAX) || TULLE__NULL(value)) return tulle__refuse(A->comm);
    if (A->compressed) return tulle_mat_norm(A->compressed->inner, norm, value); /* other lines are zeros */
    struct sums s = {.line = NULL};
    TULLE_CALL(tulle_comm_agree(A->comm, tulle__wants_values(A->comm, "a norm")));
    if (norm == TULLE_NORM_ONE || norm == TULLE_NORM_INFINITY)
        TULLE_CALL(largest_line(A, norm == TULLE_NORM_INFINITY, &s));
    else
        tulle__each_own_entry(A, add_magnitude, &s);
    double most[2] = {s.largest, s.nan};
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_comm_reduce_real(A->comm, TULLE_MAX, 2, most)));
    s.largest = most[0];
    if (norm == TULLE_NORM_FROBENIUS && most[1] == 0) TULLE_CALL(frobenius(A, &s));
    *value = most[1] != 0 ? NAN : s.largest;
    return TULLE_OK;
}
