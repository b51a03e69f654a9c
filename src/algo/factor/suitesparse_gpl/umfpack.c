/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LU by UMFPACK, which returns L by rows, with its ones, and row scales that either divide or
 * multiply.
 */
#include <inttypes.h>

#include <umfpack.h>

#include "algo/factor/suitesparse_gpl/suitesparse_gpl.h"
#include "base/error.h"

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "SuiteSparse's long integers are 64-bit");

typedef SuiteSparse_long whole;

static tulle_status failed(const tulle__module_host *host, whole outcome)
{
    switch (outcome) {
    case UMFPACK_ERROR_out_of_memory:
        return host->fail(TULLE_ERR_MEMORY, "UMFPACK is out of memory");
    default:
        return host->fail(TULLE_ERR_ARG, "UMFPACK refuses the matrix (status %d)", (int)outcome);
    }
}

/* Converts rows to columns. */
static void to_columns(int64_t n, const int64_t *ptr, const int64_t *col, const double *val, tulle__factor_columns *to)
{
    for (int64_t c = 0; c <= n; c++) to->ptr[c] = 0;
    for (int64_t e = 0; e < ptr[n]; e++) to->ptr[col[e]]++;
    for (int64_t c = 0, sum = 0; c <= n; c++) {
        int64_t count = to->ptr[c];
        to->ptr[c] = sum;
        sum += count;
    }
    for (int64_t r = 0; r < n; r++)
        for (int64_t e = ptr[r]; e < ptr[r + 1]; e++) {
            int64_t at = to->ptr[col[e]]++;
            to->row[at] = r;
            to->val[at] = val[e];
        }
    for (int64_t c = n; c > 0; c--) to->ptr[c] = to->ptr[c - 1];
    to->ptr[0] = 0;
}

static tulle_status take(const tulle__module_host *host, void *numeric, tulle__direct_work *work)
{
    size_t n = (size_t)work->n;
    whole lnz, unz, rows, cols, nonzero, reciprocal = 0, outcome;
    tulle__factor_columns rows_of_L = {.ptr = NULL};
    double *pivot = NULL;
    outcome = umfpack_dl_get_lunz(&lnz, &unz, &rows, &cols, &nonzero, numeric);
    if (outcome != UMFPACK_OK) return failed(host, outcome);
    tulle_status status = tulle__columns_reserve(host, work->n, lnz, &work->L);
    if (status == TULLE_OK) status = tulle__columns_reserve(host, work->n, lnz, &rows_of_L);
    if (status == TULLE_OK) status = tulle__columns_reserve(host, work->n, unz, &work->U);
    if (status == TULLE_OK) status = host->alloc(n, sizeof *work->row, "a permutation", &work->row);
    if (status == TULLE_OK) status = host->alloc(n, sizeof *work->col, "a permutation", &work->col);
    if (status == TULLE_OK) status = host->alloc(n, sizeof *work->scale, "scales of rows", &work->scale);
    if (status == TULLE_OK) status = host->alloc(2 * n, sizeof *pivot, "pivots", &pivot);
    if (status != TULLE_OK) goto out;
    double *scale = pivot + n;
    outcome = umfpack_dl_get_numeric((whole *)rows_of_L.ptr, (whole *)rows_of_L.row, rows_of_L.val,
        (whole *)work->U.ptr, (whole *)work->U.row, work->U.val, (whole *)work->row, (whole *)work->col, pivot,
        &reciprocal, scale, numeric);
    if (outcome != UMFPACK_OK) {
        status = failed(host, outcome);
        goto out;
    }
    for (size_t k = 0; k < n; k++) {
        double factor = scale[work->row[k]];
        work->scale[k] = reciprocal ? 1 / factor : factor;
        if (pivot[k] != 0) continue;
        status = host->fail(
            TULLE_ERR_ARG, "LU: the matrix is singular: the pivot of column " TULLE__AT " is 0", (int64_t)work->col[k]);
        goto out;
    }
    to_columns(work->n, rows_of_L.ptr, rows_of_L.row, rows_of_L.val, &work->L);
out:
    host->free(rows_of_L.ptr);
    host->free(rows_of_L.row);
    host->free(rows_of_L.val);
    host->free(pivot);
    return status;
}

tulle_status tulle__umfpack(const tulle__module_host *host, tulle__direct_work *work)
{
    double control[UMFPACK_CONTROL], info[UMFPACK_INFO];
    whole n = (whole)work->n, *ptr = (whole *)work->A.ptr, *row = (whole *)work->A.row;
    void *symbolic = NULL, *numeric = NULL;
    umfpack_dl_defaults(control);
    control[UMFPACK_PIVOT_TOLERANCE] = control[UMFPACK_SYM_PIVOT_TOLERANCE] = work->threshold;
    control[UMFPACK_ORDERING] =
        work->elimination == TULLE_ELIMINATE_NATURAL ? UMFPACK_ORDERING_NONE : UMFPACK_ORDERING_AMD;
    if (work->elimination == TULLE_ELIMINATE_COLAMD) control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_UNSYMMETRIC;
    whole outcome = umfpack_dl_symbolic(n, n, ptr, row, work->A.val, &symbolic, control, info);
    if (outcome == UMFPACK_OK) outcome = umfpack_dl_numeric(ptr, row, work->A.val, symbolic, &numeric, control, info);
    tulle_status status = outcome == UMFPACK_OK || outcome == UMFPACK_WARNING_singular_matrix
                              ? take(host, numeric, work)
                              : failed(host, outcome);
    umfpack_dl_free_symbolic(&symbolic);
    umfpack_dl_free_numeric(&numeric);
    return status;
}
