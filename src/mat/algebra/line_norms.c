/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/line_norms.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"

/* The largest magnitude of each line, or sums of squares of values times scale, a power of two. */
struct lines {
    bool rows;
    double *largest, *squares;
    const double *scale;
};

static void add_value(const struct lines *l, tulle_gidx line, double value)
{
    if (!l->squares) {
        if (fabs(value) > l->largest[line]) l->largest[line] = fabs(value);
        return;
    }
    const double x = value * l->scale[line];
    l->squares[line] += x * x;
}

static void sweep_tile(const struct lines *l, const tulle_tile *t, tulle_gidx row, tulle_gidx col)
{
    const float *f32 = t->val;
    const double *f64 = t->val;
    for (tulle_gidx r = 0; r < t->m && t->nnz; r++)
        for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++)
            add_value(l, l->rows ? row + r : col + t->colind[e], t->type == TULLE_F32 ? (double)f32[e] : f64[e]);
}

static void sweep(const struct lines *lines, const tulle_mat *A)
{
    const tulle_layout *l = A->layout;
    TULLE__EACH_OWN_TILE(A, i, j) {
        const tulle_tile t = tulle__tile_in_place(A, i, j);
        sweep_tile(lines, &t, l->row_cut[i], l->col_cut[j]);
    }
}

static tulle_status reduce(tulle_comm *comm, tulle_reduction how, double *value, tulle_gidx n)
{
    enum { PIECE = 1 << 20 }; /* values of one reduction */
    for (tulle_gidx from = 0; from < n; from += PIECE)
        TULLE_CALL(tulle_comm_agree(
            comm, tulle_comm_reduce_real(comm, how, (int)(n - from < PIECE ? n - from : PIECE), value + from)));
    return TULLE_OK;
}

/* The power of two that brings x near 1, where its square could overflow or lose digits; else 1. */
static double scale_of(double x)
{
    return x == 0 || isinf(x) || (x > 0x1p-400 && x < 0x1p400) ? 1 : ldexp(1, x < 1 ? 600 : -600);
}

tulle_status tulle__mat_line_norms(const tulle_mat *A, bool rows, double *norm)
{
    const tulle_gidx n = rows ? A->layout->m : A->layout->n;
    double *scale = NULL;
    struct lines l = {.rows = rows, .largest = norm};
    tulle_status status = tulle__alloc_zero((size_t)n, sizeof *scale, "scales of lines", &scale);
    TULLE_TRY(tulle_comm_agree(A->comm, status));
    for (tulle_gidx i = 0; i < n; i++) norm[i] = 0;
    sweep(&l, A);
    TULLE_TRY(reduce(A->comm, TULLE_MAX, norm, n));
    for (tulle_gidx i = 0; i < n; i++) scale[i] = scale_of(norm[i]);
    for (tulle_gidx i = 0; i < n; i++) norm[i] = 0;
    l.squares = norm;
    l.scale = scale;
    sweep(&l, A);
    TULLE_TRY(reduce(A->comm, TULLE_SUM, norm, n));
    for (tulle_gidx i = 0; i < n; i++) norm[i] = sqrt(norm[i]) / scale[i];
out:
    tulle__free(scale);
    return status;
}
