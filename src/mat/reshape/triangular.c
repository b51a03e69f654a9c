/* SPDX-License-Identifier: Apache-2.0 */
/* The triangle of a matrix. Each PE extracts it from its own tiles. */
#include <string.h>

#include "base/arg.h"
#include "base/attend.h"
#include "base/error.h"
#include "mat/compressed.h"

/* The entries to extract from a row: columns low .. high - 1, global. */
static void columns_of(tulle_gidx row, tulle_uplo uplo, tulle_diag diag, tulle_gidx *low, tulle_gidx *high)
{
    int diagonal = diag == TULLE_DIAG_STORED;
    *low = uplo == TULLE_LOWER ? 0 : row + !diagonal;
    *high = uplo == TULLE_LOWER ? row + diagonal : INT64_MAX;
}

/* Copies the entries of a tile within the triangle to `to`; NULL: only counts them. */
static int64_t copy_triangle(const tulle_mat *A, int i, int j, const tulle_tile *from, tulle_uplo uplo, tulle_diag diag,
    const tulle_own_tile *to)
{
    int64_t count = 0, passed = 0;
    size_t size = tulle_type_size(A->type);
    if (to) to->rowptr[0] = 0;
    for (tulle_gidx r = 0; r < from->m; r++) {
        tulle_gidx low, high;
        (void)tulle__attend_each(1024, &passed); /* an interruption is met by the operation */
        columns_of(A->layout->row_cut[i] + r, uplo, diag, &low, &high);
        for (int64_t e = from->rowptr[r]; e < from->rowptr[r + 1]; e++) {
            tulle_gidx column = A->layout->col_cut[j] + from->colind[e];
            if (column < low || column >= high) continue;
            if (to) {
                to->colind[count] = from->colind[e];
                memcpy((char *)to->val + (size_t)count * size, (const char *)from->val + (size_t)e * size, size);
            }
            count++;
        }
        if (to) to->rowptr[r + 1] = count;
    }
    return count;
}

static tulle_status extract(const tulle_mat *A, tulle_uplo uplo, tulle_diag diag, tulle_mat *T)
{
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile from;
        tulle_own_tile to;
        TULLE_CALL(tulle_mat_tile(A, i, j, &from));
        int64_t nnz = from.nnz ? copy_triangle(A, i, j, &from, uplo, diag, NULL) : 0;
        if (!nnz) continue;
        TULLE_CALL(tulle__mat_place(T, i, j, nnz, &to));
        (void)copy_triangle(A, i, j, &from, uplo, diag, &to);
    }
    return TULLE_OK;
}

/* *square: A on one axis of all lines. */
static tulle_status map_square(const tulle_mat *A, tulle__compressed *parts, tulle_mat **square)
{
    TULLE_CALL(tulle__axis_copy(&parts->rows, &parts->cols));
    return tulle__compressed_map(A, &parts->rows, &parts->cols, false, square);
}

/* The triangle on such an axis. Collective, agreed. */
static tulle_status triangle_compressed(const tulle_mat *A, tulle_uplo uplo, tulle_diag diag, tulle_mat **out)
{
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    TULLE__SCOPED_BY(tulle__mat_drop_scoped) tulle_mat *square = NULL;
    TULLE_CALL(tulle_mat_order((tulle_mat *)(uintptr_t)A)); /* logically const */
    TULLE_CALL(tulle__compressed_axis(A, true, A, false, &parts.rows));
    TULLE_CALL(tulle_comm_agree(A->comm, map_square(A, &parts, &square)));
    TULLE_CALL(tulle_mat_triangle(square, uplo, diag, &parts.inner));
    return tulle__compressed_finish(A->comm, A->layout, A->type, TULLE_OK, &parts, out);
}

tulle_status tulle_mat_triangle(const tulle_mat *A, tulle_uplo uplo, tulle_diag diag, tulle_mat **out)
{
    if (TULLE__NULL(A) || TULLE__OUTSIDE(uplo, TULLE_UPPER) || TULLE__OUTSIDE(diag, TULLE_DIAG_UNIT) ||
        TULLE__NULL_AS(out, "T"))
        return tulle__refuse(A ? A->comm : NULL);
    tulle_mat *T = NULL;
    tulle_status status = TULLE_OK;
    if (A->kind != TULLE_CSR || A->layout->m != A->layout->n)
        status = tulle__fail(TULLE_ERR_ARG, "a triangle needs a square sparse matrix");
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    if (A->compressed) return triangle_compressed(A, uplo, diag, out);
    TULLE_CALL(tulle__mat_order(A));
    TULLE_CALL(tulle_mat_new_csr(A->comm, A->layout, A->type, &T));
    return tulle__mat_finish(A->comm, extract(A, uplo, diag, T), T, out);
}
