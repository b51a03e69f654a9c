/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/overlap.h"

#include "base/error.h"
#include "mat/mat.h"

tulle__window tulle__window_dense(
    const void *val, tulle_order order, tulle_gidx m, tulle_gidx n, int64_t ld, size_t size)
{
    const int by_row = order == TULLE_ROW_MAJOR;
    tulle__window w = {.rows = by_row ? n : m, .cols = by_row ? m : n, .size = size, .step = (size_t)ld * size};
    if (w.rows <= 0 || w.cols <= 0) return (tulle__window){.first = NULL};
    if (w.cols == 1 || ld == w.rows) /* without gaps: one long column */
        return tulle__window_flat(val, w.rows * w.cols, size);
    w.first = val;
    return w;
}

static uintptr_t end_of(const tulle__window *w)
{
    return (uintptr_t)w->first + (size_t)(w->cols - 1) * w->step + (size_t)w->rows * w->size;
}

/* Columns ascend in both. */
int tulle__windows_overlap(const tulle__window *x, const tulle__window *y)
{
    if (!x->first || !y->first) return 0;
    if ((uintptr_t)x->first >= end_of(y) || (uintptr_t)y->first >= end_of(x)) return 0;
    for (int64_t i = 0, j = 0; i < x->cols && j < y->cols;) {
        uintptr_t a = (uintptr_t)x->first + (size_t)i * x->step, b = (uintptr_t)y->first + (size_t)j * y->step;
        uintptr_t a_end = a + (size_t)x->rows * x->size, b_end = b + (size_t)y->rows * y->size;
        if (a < b_end && b < a_end) return 1;
        if (a_end <= b_end)
            i++;
        else
            j++;
    }
    return 0;
}

int tulle__window_lists_overlap(const tulle__window *x, int nx, const tulle__window *y, int ny)
{
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            if (tulle__windows_overlap(&x[i], &y[j])) return 1;
    return 0;
}

int tulle__mat_windows(const tulle_mat *A, tulle__window window[TULLE__WINDOWS])
{
    const tulle_mat *of = A->whole ? A->whole : A;
    const tulle__borrowed *arrays = of->borrowed;
    const size_t size = tulle_type_size(of->type);
    int count = 0;
    for (int i = 0; arrays && i < of->layout->mt; i++)
        for (int j = 0; j < of->layout->nt && !count; j++) {
            if (!tulle__tile_is_mine(of, i, j)) continue;
            const int64_t nnz = of->directory[tulle__tile_index(of, i, j)].nnz;
            const tulle_gidx m = tulle__tile_rows(of, i), n = tulle__tile_cols(of, j);
            if (of->kind == TULLE_DENSE) {
                window[count++] = tulle__window_dense(arrays->val, of->order, m, n, arrays->ld, size);
                continue;
            }
            window[count++] = tulle__window_flat(arrays->val, arrays->val ? nnz : 0, size);
            if (!arrays->narrowed) window[count++] = tulle__window_flat(arrays->colind, nnz, sizeof *arrays->colind);
            if (!arrays->widened) window[count++] = tulle__window_flat(arrays->rowptr, m + 1, sizeof *arrays->rowptr);
        }
    return count;
}

tulle_status tulle__mat_check_apart(
    const tulle_mat *result, const char *result_name, const tulle_mat *operand, const char *operand_name)
{
    tulle__window x[TULLE__WINDOWS], y[TULLE__WINDOWS];
    if (result == operand) return TULLE_OK;
    if (!tulle__window_lists_overlap(x, tulle__mat_windows(result, x), y, tulle__mat_windows(operand, y)))
        return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_ARG, "%s and %s have memory in common: a result needs arrays of its own", result_name, operand_name);
}
