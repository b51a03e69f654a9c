/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a wave to dense submatrices, and columns of their functions to rows of the result. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "algo/matfun/sweep_state.h"
#include "base/error.h"

/* Block of A, or of the plan's S. */
static const char *block_of(const struct tulle__sweep_state *w, bool of_S, const tulle__block_row *row, int64_t e)
{
    const void *val = row->val;
    if (val && of_S) val = tulle__tile_in_place(w->plan->S, row->tile, 0).val;
    if (val) return (const char *)val + (size_t)row->offset[e] * w->size;
    return w->copies[of_S] + (size_t)w->at[w->first[w->s->pattern.slot[row->row]] + e] * w->size;
}

/* A line of values, of the dense work's type or the matrix's. */
static void copy_line(char *to, tulle_type to_type, const char *from, tulle_type from_type, tulle_gidx n)
{
    const void *source = from;
    void *target = to;
    if (to_type == from_type)
        memcpy(target, source, (size_t)n * tulle_type_size(to_type));
    else if (to_type == TULLE_F32)
        for (tulle_gidx i = 0; i < n; i++) ((float *)target)[i] = (float)((const double *)source)[i];
    else
        for (tulle_gidx i = 0; i < n; i++) ((double *)target)[i] = (double)((const float *)source)[i];
}

static bool is_finite(const void *block, int64_t count, size_t size)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += 0 * (size == sizeof(float) ? (double)((const float *)block)[k] : ((const double *)block)[k]);
    return sum == 0; /* 0 inf and 0 nan are nan */
}

/* First elements of block rows, and the wanted columns. */
void tulle__sweep_find_columns(
    const struct tulle__sweep_state *w, const tulle__submatrix *sub, struct tulle__sweep_thread *t)
{
    const int32_t *R = w->s->index + sub->rows;
    int64_t at = 0, wanted = 0, b = 0;
    for (int64_t i = 0; i < sub->nrows; i++) {
        t->start[i] = at;
        if (wanted < sub->ncols && w->s->index[sub->cols + wanted] == R[i]) {
            for (tulle_gidx x = 0; x < tulle__sweep_height(w, R[i]); x++) t->column[b++] = at + x;
            wanted++;
        }
        at += tulle__sweep_height(w, R[i]);
    }
}

/* The lower triangle in columns, which is the upper one in rows, of A or S. */
tulle_status tulle__sweep_gather(const struct tulle__sweep_state *w, bool of_S, const tulle__submatrix *sub,
    const struct tulle__sweep_thread *t, int64_t ld)
{
    const int32_t *R = w->s->index + sub->rows;
    size_t n = (size_t)sub->n, lines = (size_t)ld, size = tulle_type_size(t->eigen.type);
    char *A = of_S ? t->eigen.S : t->eigen.A;
    for (size_t i = 0; i < n; i++) memset(A + (i * lines + i) * size, 0, (n - i) * size);
    for (int64_t i = 0; i < sub->nrows; i++) {
        const tulle__block_row *row = tulle__sweep_row(w, R[i]);
        tulle_gidx h = tulle__sweep_height(w, R[i]);
        for (int64_t e = tulle__block_row_find(row, R[i]), q = i; e < row->count && q < sub->nrows;) {
            if (row->col[e] < R[q]) {
                e++;
            } else if (row->col[e] > R[q]) {
                q++;
            } else {
                tulle_gidx line = tulle__sweep_height(w, R[q]);
                const char *from = block_of(w, of_S, row, e);
                if (!is_finite(from, row->offset[e + 1] - row->offset[e], w->size))
                    return tulle__fail(TULLE_ERR_ARG,
                        "block (" TULLE__AT ", " TULLE__AT ") of the matrix is not finite" TULLE__COUNTED,
                        (int64_t)R[i], (int64_t)R[q]);
                for (tulle_gidx x = 0; x < h; x++)
                    copy_line(A + ((size_t)(t->start[i] + x) * lines + (size_t)t->start[q]) * size, t->eigen.type,
                        from + (size_t)(x * line) * w->size, w->s->pattern.A->type, line);
                e++;
                q++;
            }
        }
    }
    return TULLE_OK;
}

static double element(const struct tulle__sweep_state *w, const char *block, int64_t k)
{
    return w->size == sizeof(float) ? (double)((const float *)(const void *)block)[k]
                                    : ((const double *)(const void *)block)[k];
}

/* Own blocks below the diagonal against their transposes. */
tulle_status tulle__sweep_compare(const struct tulle__sweep_state *w, const tulle__submatrix *sub, double largest)
{
    double tolerance = (w->size == sizeof(float) ? 1e-3 : 1e-6) * largest;
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c];
        const tulle__block_row *row = tulle__sweep_row(w, j);
        tulle_gidx h = tulle__sweep_height(w, j);
        for (int64_t e = 0; e < row->count && row->col[e] <= j; e++) {
            const tulle__block_row *other = tulle__sweep_row(w, row->col[e]);
            const char *x = block_of(w, false, row, e), *y = block_of(w, false, other, tulle__block_row_find(other, j));
            tulle_gidx width = tulle__sweep_height(w, row->col[e]);
            for (tulle_gidx i = 0; i < h; i++)
                for (tulle_gidx k = 0; k < width; k++)
                    if (!(fabs(element(w, x, i * width + k) - element(w, y, k * h + i)) <= tolerance))
                        return tulle__fail(TULLE_ERR_ARG,
                            "the matrix is not symmetric: block (" TULLE__AT ", " TULLE__AT
                            ") is not the transpose of block (" TULLE__AT ", " TULLE__AT ")" TULLE__COUNTED,
                            (int64_t)j, (int64_t)row->col[e], (int64_t)row->col[e], (int64_t)j);
        }
    }
    return TULLE_OK;
}

/* Wanted columns to rows of F, or to where they are put from. */
void tulle__sweep_place(
    struct tulle__sweep_state *w, const tulle__submatrix *sub, int64_t k, const struct tulle__sweep_thread *t)
{
    const int32_t *R = w->s->index + sub->rows;
    char *buffer = w->results ? w->results + (size_t)w->result[k - w->begin] * w->size : NULL;
    size_t n = (size_t)sub->n, size = tulle_type_size(t->eigen.type), column = 0;
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c];
        const tulle__block_row *row = tulle__sweep_row(w, j);
        tulle_gidx h = tulle__sweep_height(w, j);
        char *to = buffer;
        if (tulle__tile_mapped(w->F, row->tile, 0))
            to = (char *)tulle__own_tile_in_place(w->F, row->tile, 0).val + (size_t)row->offset[0] * w->size;
        else
            buffer += (size_t)(row->offset[row->count] - row->offset[0]) * w->size;
        for (int64_t e = 0, q = 0; e < row->count; e++) {
            while (R[q] < row->col[e]) q++;
            tulle_gidx line = tulle__sweep_height(w, R[q]);
            for (tulle_gidx x = 0; x < h; x++, to += (size_t)line * w->size)
                copy_line(to, w->s->pattern.A->type,
                    (const char *)t->eigen.X + ((column + (size_t)x) * n + (size_t)t->start[q]) * size, t->eigen.type,
                    line);
        }
        column += (size_t)h;
    }
}
