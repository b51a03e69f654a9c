/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest value. Means and squared deviations of columns in one pass. Those of a piece follow from two loops over
 * it, its mean first, and are merged by the formula of Chan, Golub and LeVeque (1983): large means lose nothing.
 */
#include <math.h>
#include <string.h>

#include "algo/spectrum/row_passes.h"
#include "base/error.h"
#include "tile/element.h"

struct moments {
    tulle_type type;
    tulle_gidx n;
    int64_t rows;           /* so far */
    double *mean, *squares; /* [n], of these rows */
    double *sum, *part;     /* [n], of a piece */
    int64_t *present;       /* [n]: its stored entries */
    tulle_gidx *last;       /* [n]: the last row with one, or -1 */
    const char *name;       /* of the matrix */
};

/* Adds the moments of `rows` more rows, whose mean and squares are given. */
static void merge(struct moments *x, int64_t rows, const double *mean, const double *squares)
{
    const double all = (double)(x->rows + rows), share = rows ? (double)rows / all : 0;
    for (tulle_gidx c = 0; c < x->n; c++) {
        const double apart = mean[c] - x->mean[c];
        x->mean[c] += apart * share;
        x->squares[c] += squares[c] + apart * apart * share * (double)x->rows;
    }
    x->rows += rows;
}

static tulle_status take(void *arg, const tulle__row_piece *piece)
{
    struct moments *x = arg;
    const int64_t entries = piece->ptr[piece->rows] - piece->ptr[0], rows = piece->rows;
    memset(x->sum, 0, (size_t)x->n * sizeof *x->sum);
    memset(x->part, 0, (size_t)x->n * sizeof *x->part);
    memset(x->present, 0, (size_t)x->n * sizeof *x->present);
    for (int64_t e = 0; e < entries; e++) x->sum[piece->col[e]] += tulle__element(x->type, piece->val, e);
    for (tulle_gidx c = 0; c < x->n && rows; c++) x->sum[c] /= (double)rows;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t e = piece->ptr[r] - piece->ptr[0]; e < piece->ptr[r + 1] - piece->ptr[0]; e++) {
            const tulle_lidx c = piece->col[e];
            const double off = tulle__element(x->type, piece->val, e) - x->sum[c];
            if (x->last[c] == piece->first + r)
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: entry (" TULLE__AT ", " TULLE__AT ") occurs more than once" TULLE__COUNTED, x->name,
                    piece->first + r, (int64_t)c);
            x->last[c] = piece->first + r;
            x->part[c] += off * off;
            x->present[c]++;
        }
    for (tulle_gidx c = 0; c < x->n; c++) x->part[c] += (double)(rows - x->present[c]) * x->sum[c] * x->sum[c];
    merge(x, rows, x->sum, x->part);
    return TULLE_OK;
}

/* Merges the moments of all PEs, in their order. Collective, agreed. */
static tulle_status meet(tulle_comm *comm, struct moments *x)
{
    const size_t n = (size_t)x->n, bytes = (2 * n + 1) * sizeof(double);
    double *mine = NULL, *all = NULL;
    tulle_status status;
    if (comm->size == 1) return TULLE_OK;
    TULLE_TRY(tulle__alloc(2 * n + 1, sizeof *mine, "moments of columns", &mine));
    TULLE_TRY(tulle__alloc((2 * n + 1) * (size_t)comm->size, sizeof *all, "moments of columns", &all));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) {
        memcpy(mine, x->mean, n * sizeof *mine);
        memcpy(mine + n, x->squares, n * sizeof *mine);
        mine[2 * n] = (double)x->rows;
        status = tulle_comm_agree(comm, tulle_comm_allgather(comm, mine, bytes, all));
    }
    if (status == TULLE_OK) {
        memset(x->mean, 0, n * sizeof *mine);
        memset(x->squares, 0, n * sizeof *mine);
        x->rows = 0;
        for (int pe = 0; pe < comm->size; pe++) {
            const double *part = all + (2 * n + 1) * (size_t)pe;
            if (part[2 * n] > 0) merge(x, (int64_t)part[2 * n], part, part + n);
        }
    }
    tulle__free(all);
    tulle__free(mine);
    return status;
}

/* ---- the largest value ---- */

static tulle_status look(void *arg, const tulle__row_piece *piece)
{
    struct moments *x = arg;
    for (int64_t e = 0; e < piece->ptr[piece->rows] - piece->ptr[0]; e++) {
        const double value = fabs(tulle__element(x->type, piece->val, e));
        if (isfinite(value) && value > *x->mean) *x->mean = value;
    }
    return TULLE_OK;
}

tulle_status tulle__largest_value(tulle__row_passes *p, double *most)
{
    struct moments x = {.type = p->values, .mean = most};
    *most = 0;
    TULLE_CALL(tulle_comm_agree(p->comm, tulle__row_passes_run(p, look, &x)));
    return tulle_comm_agree(p->comm, tulle_comm_reduce_real(p->comm, TULLE_MAX, 1, most));
}

/* ---- means and deviations ---- */

tulle_status tulle__column_moments(tulle__row_passes *p, double *mean, double *deviation, double *variance)
{
    const size_t n = (size_t)p->n;
    const double epsilon = 0x1p-52;
    struct moments x = {.type = p->values, .n = p->n, .mean = mean, .squares = deviation};
    x.name = p->rows ? p->rows->name : "the matrix";
    tulle_status status;
    TULLE_TRY(tulle__alloc(n, sizeof *x.sum, "moments of columns", &x.sum));
    TULLE_TRY(tulle__alloc(n, sizeof *x.part, "moments of columns", &x.part));
    TULLE_TRY(tulle__alloc(n, sizeof *x.present, "moments of columns", &x.present));
    TULLE_TRY(tulle__alloc(n, sizeof *x.last, "moments of columns", &x.last));
    for (size_t c = 0; c < n; c++) x.last[c] = -1;
    memset(mean, 0, n * sizeof *mean);
    memset(deviation, 0, n * sizeof *deviation);
    TULLE_TRY(tulle__row_passes_run(p, take, &x));
out:
    status = tulle_comm_agree(p->comm, status);
    if (status == TULLE_OK) status = meet(p->comm, &x);
    tulle__free(x.last);
    tulle__free(x.present);
    tulle__free(x.part);
    tulle__free(x.sum);
    *variance = 0;
    for (tulle_gidx c = 0; c < p->n && status == TULLE_OK; c++) {
        const double square = p->m > 1 ? deviation[c] / (double)(p->m - 1) : 0,
                     noise = (double)p->m * epsilon * mean[c];
        deviation[c] =
            square <= noise * noise ? 0 : sqrt(square); /* equal values leave what their mean was rounded by */
        *variance += deviation[c] * deviation[c];
    }
    return status;
}
