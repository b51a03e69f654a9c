/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/submatrices.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algo/matfun/combine.h"
#include "base/error.h"

void tulle__submatrices_fini(tulle__submatrices *s)
{
    if (s->claims.comm) tulle__weighted_fini(&s->claims);
    tulle__block_rows_fini(&s->pattern);
    tulle__free(s->sub);
    tulle__free(s->index);
    *s = (tulle__submatrices){.count = 0};
}

static tulle_gidx window_begin(tulle_gidx window)
{
    return window * TULLE__COLUMN_WINDOW;
}

static int window_columns(tulle_gidx columns, tulle_gidx window)
{
    tulle_gidx rest = columns - window_begin(window);
    return (int)(rest < TULLE__COLUMN_WINDOW ? rest : TULLE__COLUMN_WINDOW);
}

static tulle_status reserve(tulle__submatrices *s, int64_t more)
{
    TULLE_CALL(tulle__grow(s->count, &s->capacity, 64, sizeof *s->sub, "submatrices", &s->sub));
    if (s->nindex + more > s->index_capacity) {
        int64_t capacity = s->nindex + more + s->index_capacity / 2;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *s->index, "rows of submatrices", &s->index));
        s->index_capacity = capacity;
    }
    return TULLE_OK;
}

/* The patterns of a window's own columns. */
static tulle_status require_window(tulle__submatrices *s, tulle_gidx first, int count)
{
    int32_t list[TULLE__COLUMN_WINDOW];
    for (int c = 0; c < count; c++) list[c] = (int32_t)(first + c);
    return tulle__block_rows_require(&s->pattern, count, list);
}

static int compare_rows(const void *left, const void *right)
{
    const int32_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Appends the submatrix of the columns c, from `first` on, with group[c] = g. */
static tulle_status append(tulle__submatrices *s, tulle_gidx first, int count, const int *group, int g, int64_t *mark)
{
    const tulle_gidx *cut = tulle__block_rows_cut(&s->pattern);
    int64_t most = 0, stamp = ++s->stamp;
    for (int c = g; c < count; c++)
        if (group[c] == g) most += 1 + tulle__block_row_of(&s->pattern, first + c)->count;
    TULLE_CALL(reserve(s, most));
    tulle__submatrix *sub = &s->sub[s->count];
    *sub = (tulle__submatrix){.cols = s->nindex, .column = (int32_t)(first + g)};
    for (int c = g; c < count; c++)
        if (group[c] == g) {
            s->index[sub->cols + sub->ncols++] = (int32_t)(first + c);
            sub->b += cut[first + c + 1] - cut[first + c];
        }
    sub->rows = sub->cols + sub->ncols;
    int32_t *row = s->index + sub->rows;
    for (int64_t c = 0; c < sub->ncols; c++) {
        const tulle__block_row *column = tulle__block_row_of(&s->pattern, s->index[sub->cols + c]);
        for (int64_t e = 0; e < column->count; e++) {
            if (mark[column->col[e]] == stamp) continue;
            mark[column->col[e]] = stamp;
            row[sub->nrows++] = column->col[e];
        }
    }
    qsort(row, (size_t)sub->nrows, sizeof *row, compare_rows);
    for (int64_t k = 0; k < sub->nrows; k++) sub->n += cut[row[k] + 1] - cut[row[k]];
    s->nindex = sub->rows + sub->nrows;
    s->count++;
    return TULLE_OK;
}

/* Appends the submatrices of a window. */
static tulle_status form(tulle__submatrices *s, tulle_gidx window, int combine, int64_t *mark)
{
    int group[TULLE__COLUMN_WINDOW];
    tulle_gidx first = window_begin(window);
    int count = window_columns(s->pattern.A->layout->row_blocks.count, window);
    TULLE_CALL(require_window(s, first, count));
    TULLE_CALL(tulle__combine(&s->pattern, first, count, combine, s->most, group));
    for (int g = 0; g < count; g++)
        if (group[g] == g) TULLE_CALL(append(s, first, count, group, g, mark));
    return TULLE_OK;
}

static double work_since(const tulle__submatrices *s, int64_t first)
{
    double work = 0;
    for (int64_t k = first; k < s->count; k++) work += tulle__submatrix_work((double)s->sub[k].n);
    return work;
}

/* Keeps those submatrices from `first` on whose middle, in units of work, is in [begin, end). */
static void choose(tulle__submatrices *s, int64_t first, double before, double begin, double end)
{
    int64_t kept = first;
    for (int64_t k = first; k < s->count; k++) {
        double work = tulle__submatrix_work((double)s->sub[k].n), middle = before + work / 2;
        before += work;
        if (middle < begin || middle >= end) continue;
        s->own_work += work;
        s->rows_sum += (double)s->sub[k].n;
        s->sub[kept++] = s->sub[k];
    }
    s->count = kept;
}

/* The largest submatrix of this PE. */
static double largest_of(const tulle__submatrices *s)
{
    double most = 0;
    for (int64_t k = 0; k < s->count; k++) {
        const double work = tulle__submatrix_work((double)s->sub[k].n);
        if (work > most) most = work;
    }
    return most;
}

/* Work of all windows, then of the largest submatrix; the PE measures windows begin ... end - 1. Collective. */
static tulle_status measure(tulle__submatrices *s, tulle_gidx windows, int combine, double *work, int64_t *mark)
{
    double largest = 0;
    tulle_status status = TULLE_OK;
    tulle_comm *comm = s->pattern.A->comm;
    tulle_gidx begin = windows * comm->rank / comm->size, end = windows * (comm->rank + 1) / comm->size;
    memset(work, 0, (size_t)windows * sizeof *work);
    for (tulle_gidx w = begin; w < end && status == TULLE_OK; w++) {
        s->count = s->nindex = 0;
        status = form(s, w, combine, mark);
        work[w] = status == TULLE_OK ? work_since(s, 0) : 0;
        largest = fmax(largest, largest_of(s));
    }
    s->count = s->nindex = 0;
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK && comm->size > 1) status = tulle_comm_reduce_real(comm, TULLE_SUM, (int)windows, work);
    if (status == TULLE_OK && comm->size > 1) status = tulle_comm_reduce_real(comm, TULLE_MAX, 1, &largest);
    work[windows] = largest;
    return status;
}

static double sum_of(const double *work, tulle_gidx windows)
{
    double sum = 0;
    for (tulle_gidx w = 0; w < windows; w++) sum += work[w];
    return sum;
}

/* Operations until all PEs are done, at least: an equal share each, and no submatrix on two of them. */
static double makespan(const tulle__submatrices *s, const double *work, tulle_gidx windows)
{
    return fmax(sum_of(work, windows) / s->pattern.A->comm->size, work[windows]);
}

/*
 * Limits what is combined to the share of a PE, where the largest submatrix would keep all others waiting and that
 * ends earlier. Less combined, the shares are larger, and so may the limit be. Collective; all PEs decide alike.
 */
static tulle_status limit(tulle__submatrices *s, tulle_gidx windows, int combine, double *work, int64_t *mark)
{
    enum { TRIES = 3 };
    double best = makespan(s, work, windows), share = sum_of(work, windows) / s->pattern.A->comm->size, most = s->most;
    for (int t = 0; t < TRIES && share < best; t++) {
        s->most = share;
        TULLE_CALL(measure(s, windows, combine, work, mark));
        share = sum_of(work, windows) / s->pattern.A->comm->size;
        if (makespan(s, work, windows) >= best) continue;
        best = makespan(s, work, windows);
        most = s->most;
    }
    if (most == s->most) return TULLE_OK;
    s->most = most;
    return measure(s, windows, combine, work, mark);
}

/*
 * Rows of all submatrices: a block (c, j) of an own column needs row c, which has the block (j, c).
 */
static tulle_status require_rows(tulle__submatrices *s)
{
    for (int64_t k = 0; k < s->count; k++)
        TULLE_CALL(tulle__block_rows_require(&s->pattern, s->sub[k].nrows, s->index + s->sub[k].rows));
    for (int64_t k = 0; k < s->count; k++)
        for (int64_t c = 0; c < s->sub[k].ncols; c++) {
            int32_t j = s->index[s->sub[k].cols + c];
            const tulle__block_row *row = tulle__block_row_of(&s->pattern, j);
            for (int64_t e = 0; e < row->count; e++)
                if (tulle__block_row_find(tulle__block_row_of(&s->pattern, row->col[e]), j) < 0)
                    return tulle__fail(TULLE_ERR_ARG,
                        "the pattern is not symmetric: block (" TULLE__AT ", " TULLE__AT ") exists, (" TULLE__AT
                        ", " TULLE__AT ") does not" TULLE__COUNTED,
                        (int64_t)j, (int64_t)row->col[e], (int64_t)row->col[e], (int64_t)j);
        }
    return TULLE_OK;
}

/*
 * Publishes data by which other PEs compute own submatrices: their number is in the claims, sub, index.
 * Collective.
 */
static tulle_status publish(tulle__submatrices *s)
{
    size_t subs = (size_t)s->count * sizeof *s->sub, indices = (size_t)s->nindex * sizeof *s->index;
    TULLE__SCOPED double *weight = NULL;
    TULLE__SCOPED char *description = NULL;
    TULLE_CALL(tulle__alloc((size_t)s->count, sizeof *weight, "weights of submatrices", &weight));
    TULLE_CALL(tulle__alloc(subs + indices, 1, "descriptions of submatrices", &description));
    for (int64_t k = 0; k < s->count; k++) weight[k] = tulle__submatrix_work((double)s->sub[k].n);
    if (subs) memcpy(description, s->sub, subs);
    if (indices) memcpy(description + subs, s->index, indices);
    return tulle__weighted_init(&s->claims, s->pattern.A->comm, s->count, weight, subs + indices, description);
}

tulle_status tulle__submatrices_steal(
    tulle__submatrices *s, int owner, int64_t first, int64_t end, tulle__submatrices *stolen)
{
    size_t size = sizeof *stolen->sub, subs = (size_t)s->claims.count[owner] * size;
    *stolen = (tulle__submatrices){.count = end - first};
    TULLE_CALL(tulle__block_rows_init(&stolen->pattern, s->pattern.A));
    TULLE_CALL(tulle__alloc((size_t)stolen->count, size, "stolen submatrices", &stolen->sub));
    TULLE_CALL(
        tulle__weighted_describe(&s->claims, owner, (size_t)first * size, (size_t)stolen->count * size, stolen->sub));
    const tulle__submatrix *last = &stolen->sub[stolen->count - 1];
    int64_t from = stolen->sub[0].cols;
    stolen->nindex = last->rows + last->nrows - from;
    TULLE_CALL(
        tulle__alloc((size_t)stolen->nindex, sizeof *stolen->index, "rows of stolen submatrices", &stolen->index));
    TULLE_CALL(tulle__weighted_describe(&s->claims, owner, subs + (size_t)from * sizeof *stolen->index,
        (size_t)stolen->nindex * sizeof *stolen->index, stolen->index));
    for (int64_t k = 0; k < stolen->count; k++) {
        stolen->sub[k].cols -= from;
        stolen->sub[k].rows -= from;
    }
    return require_rows(stolen);
}

tulle_status tulle__submatrices_init(tulle__submatrices *s, const tulle_mat *A, int combine)
{
    tulle_status status;
    tulle_comm *comm = A->comm;
    tulle_gidx columns = A->layout->row_blocks.count,
               windows = (columns + TULLE__COLUMN_WINDOW - 1) / TULLE__COLUMN_WINDOW;
    double *work = NULL, before = 0;
    int64_t *mark = NULL;
    *s = (tulle__submatrices){.count = 0, .most = INFINITY};
    TULLE_TRY(tulle__block_rows_init(&s->pattern, A));
    TULLE_TRY(tulle__alloc_zero((size_t)windows + 1, sizeof *work, "work of windows", &work));
    TULLE_TRY(tulle__alloc_zero((size_t)columns, sizeof *mark, "marks of block rows", &mark));
out:
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = measure(s, windows, combine, work, mark);
    if (status == TULLE_OK && combine == 0) status = limit(s, windows, combine, work, mark);
    for (tulle_gidx w = 0; status == TULLE_OK && w < windows; w++) s->work += work[w];
    double begin = s->work * comm->rank / comm->size, end = s->work * (comm->rank + 1) / comm->size;
    if (comm->rank + 1 == comm->size) end = 2 * s->work + 1;
    for (tulle_gidx w = 0; status == TULLE_OK && w < windows; before += work[w++]) {
        if (before + work[w] < begin || before >= end) continue;
        int64_t first = s->count;
        status = form(s, w, combine, mark);
        if (status == TULLE_OK) choose(s, first, before, begin, end);
    }
    if (status == TULLE_OK) status = require_rows(s);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK && comm->size > 1) status = publish(s);
    tulle__free(work);
    tulle__free(mark);
    return status;
}
