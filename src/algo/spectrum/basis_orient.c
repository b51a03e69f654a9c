/* SPDX-License-Identifier: Apache-2.0 */
/* The last steps of a basis: columns orthogonal in order, and signs that do not depend on how it was found. */
#include <math.h>

#include "algo/spectrum/basis.h"
#include "base/error.h"
#include "tile/element.h"

/* The largest element of each own column, in magnitude, and the number of its row. */
static void find_largest(const tulle__basis *basis, double *value, int64_t *row)
{
    const tulle__space *space = &basis->multi.space;
    for (int c = 0; c < basis->columns; c++) {
        value[c] = 0;
        row[c] = INT64_MAX;
        for (int64_t r = 0; r < space->rows; r++) {
            const int64_t at = r * basis->capacity + c;
            const double x = tulle__element(space->type, basis->V, at);
            if (fabs(x) <= fabs(value[c])) continue;
            value[c] = x;
            row[c] = space->first + r;
        }
    }
}

static void flip(const tulle__basis *basis, const double *sign)
{
    const tulle__space *space = &basis->multi.space;
    for (int64_t r = 0; r < space->rows; r++)
        for (int c = 0; c < basis->columns; c++) {
            const int64_t at = r * basis->capacity + c;
            if (sign[c] >= 0) continue;
            if (space->type == TULLE_F32)
                ((float *)basis->V)[at] = -((float *)basis->V)[at];
            else
                ((double *)basis->V)[at] = -((double *)basis->V)[at];
        }
}

tulle_status tulle__basis_orient(tulle__basis *basis, double *sign)
{
    const int n = basis->columns;
    tulle_comm *comm = basis->multi.space.comm;
    double *value = NULL, *most = NULL;
    int64_t *row = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *value, "signs", &value));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *most, "signs", &most));
    TULLE_TRY(tulle__alloc((size_t)n, sizeof *row, "signs", &row));
    find_largest(basis, value, row);
out:
    status = tulle_comm_agree(comm, status);
    for (int c = 0; c < n && status == TULLE_OK; c++) most[c] = fabs(value[c]);
    if (status == TULLE_OK && comm->size > 1) {
        status = tulle_comm_reduce_real(comm, TULLE_MAX, n, most);
        for (int c = 0; c < n && status == TULLE_OK; c++)
            if (fabs(value[c]) < most[c]) row[c] = INT64_MAX;
        for (int c = 0; c < n && status == TULLE_OK; c++) most[c] = (double)row[c];
        if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_MIN, n, row);
        for (int c = 0; c < n && status == TULLE_OK; c++) most[c] = most[c] == (double)row[c] && value[c] < 0 ? -1 : 0;
        if (status == TULLE_OK) status = tulle_comm_reduce_real(comm, TULLE_SUM, n, most);
        for (int c = 0; c < n && status == TULLE_OK; c++) value[c] = most[c];
        status = tulle_comm_agree(comm, status);
    }
    if (status == TULLE_OK) flip(basis, value);
    for (int c = 0; sign && c < n && status == TULLE_OK; c++) sign[c] = value[c] < 0 ? -1 : 1;
    tulle__free(row);
    tulle__free(most);
    tulle__free(value);
    return status;
}

/* Y = L^-T of G = L L^T, both n x n and column-major; false: G is not positive definite. */
static bool invert_cholesky(int n, double *G, double *Y)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double x = G[(int64_t)j * n + i];
            for (int k = 0; k < j; k++) x -= G[(int64_t)k * n + i] * G[(int64_t)k * n + j];
            if (i == j && !(x > 0)) return false;
            G[(int64_t)j * n + i] = i == j ? sqrt(x) : x / G[(int64_t)j * n + j];
        }
    for (int c = 0; c < n; c++)
        for (int r = n - 1; r >= 0; r--) {
            double x = r == c;
            for (int k = r + 1; k < n; k++) x -= G[(int64_t)r * n + k] * Y[(int64_t)c * n + k];
            Y[(int64_t)c * n + r] = x / G[(int64_t)r * n + r];
        }
    return true;
}

tulle_status tulle__basis_in_order(tulle__basis *basis)
{
    const int n = basis->columns;
    tulle_comm *comm = basis->multi.space.comm;
    TULLE__SCOPED double *G = NULL, *Y = NULL;
    tulle_status status = tulle__alloc((size_t)n * (size_t)n, sizeof *G, "inner products", &G);
    if (status == TULLE_OK) status = tulle__alloc((size_t)n * (size_t)n, sizeof *Y, "inner products", &Y);
    TULLE_CALL(tulle_comm_agree(comm, status));
    TULLE_CALL(tulle__basis_gram(basis, G));
    if (!invert_cholesky(n, G, Y))
        return tulle__fail(TULLE_ERR_CONVERGENCE, "the vectors of a last step depend on one another");
    return tulle_comm_agree(comm, tulle__basis_rotate(basis, Y, n));
}
