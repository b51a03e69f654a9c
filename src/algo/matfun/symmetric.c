/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix in blocks against its transpose, by a copy of it in the same layout. */
#include <inttypes.h>
#include <math.h>

#include <tulle/algebra.h>

#include "algo/matfun/matfun_plan.h"
#include "base/error.h"
#include "tile/element.h"

/* F is the sum of its symmetric part and an antisymmetric one, which are orthogonal. */
tulle_status tulle__symmetrise(tulle_mat **F, double *asymmetry)
{
    TULLE__SCOPED_MAT tulle_mat *symmetric = NULL;
    double all = 0, part = 0;
    if (asymmetry) TULLE_CALL(tulle_mat_norm(*F, TULLE_NORM_FROBENIUS, &all));
    TULLE_CALL(tulle_mat_symmetrise(*F, TULLE_SYMMETRIC, &symmetric));
    if (asymmetry) TULLE_CALL(tulle_mat_norm(symmetric, TULLE_NORM_FROBENIUS, &part));
    if (asymmetry) *asymmetry = part < all ? 2 * sqrt((1 - part / all) * (1 + part / all)) : 0;
    tulle_mat_free(*F);
    *F = symmetric;
    symmetric = NULL;
    return TULLE_OK;
}

/* Block (row, column) of the first tile against the same block of the second one, e. */
static tulle_status same_block(
    const tulle_tile *a, int64_t e, const tulle_tile *b, int64_t f, double tolerance, int64_t row)
{
    const int64_t column = a->colind[e];
    if (f < 0)
        return tulle__fail(TULLE_ERR_ARG,
            "the pattern is not symmetric: block (" TULLE__AT ", " TULLE__AT ") exists, (" TULLE__AT ", " TULLE__AT
            ") does not" TULLE__COUNTED,
            row, column, column, row);
    for (int64_t k = 0; k < a->offset[e + 1] - a->offset[e]; k++)
        if (!(fabs(tulle__tile_element(a, a->offset[e] + k) - tulle__tile_element(b, b->offset[f] + k)) <= tolerance))
            return tulle__fail(TULLE_ERR_ARG,
                "the matrix is not symmetric: block (" TULLE__AT ", " TULLE__AT
                ") is not the transpose of block (" TULLE__AT ", " TULLE__AT ")" TULLE__COUNTED,
                row, column, column, row);
    return TULLE_OK;
}

static tulle_status same_tile(const tulle_tile *a, const tulle_tile *b, tulle_gidx first, double tolerance)
{
    for (int64_t r = 0; r < a->block_rows; r++) {
        int64_t f = b->rowptr ? b->rowptr[r] : 0, end = b->rowptr ? b->rowptr[r + 1] : 0;
        for (int64_t e = a->rowptr[r]; e < a->rowptr[r + 1]; e++) {
            while (f < end && b->colind[f] < a->colind[e]) f++;
            bool there = f < end && b->colind[f] == a->colind[e];
            TULLE_CALL(same_block(a, e, b, there ? f : -1, tolerance, first + r));
        }
    }
    return TULLE_OK;
}

tulle_status tulle__check_symmetric(const tulle_mat *A, const tulle_layout *rows)
{
    tulle_mat *T = NULL, *a = NULL, *b = NULL;
    double largest = 0;
    tulle_status status;
    TULLE_TRY(tulle_mat_norm(A, TULLE_NORM_MAX, &largest));
    TULLE_TRY(tulle_mat_transpose(A, &T));
    TULLE_TRY(tulle_mat_redistribute(T, rows, &b));
    TULLE_TRY(tulle_mat_redistribute(A, rows, &a));
    for (int i = 0; i < rows->mt; i++) {
        int64_t index = tulle__tile_index(a, i, 0);
        if (!tulle__tile_is_mine(a, i, 0) || !a->directory[index].place.length) continue;
        tulle_tile x = tulle__tile_in_place(a, i, 0), y = tulle__tile_in_place(b, i, 0);
        if (!b->directory[index].place.length) y.rowptr = NULL;
        TULLE_TRY(same_tile(&x, &y, rows->row_blocks.first[i], (A->type == TULLE_F32 ? 1e-3 : 1e-6) * largest));
    }
out:
    status = tulle_comm_agree(A->comm, status);
    tulle_mat_free(a);
    tulle_mat_free(b);
    tulle_mat_free(T);
    return status;
}
