/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LU by KLU, as a single block: the entries above the blocks of its block triangular form would be
 * in no factor. Values are scaled by the largest of their row.
 */
#include <inttypes.h>

#include <klu.h>

#include <btf.h>

#include "algo/factor/suitesparse/suitesparse.h"
#include "base/error.h"

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "SuiteSparse's long integers are 64-bit");

typedef SuiteSparse_long whole;

/*
 * A column that a maximum matching leaves without a row, if there is one; else the column where KLU
 * found no pivot.
 */
static tulle_status singular(const tulle__module_host *host, const tulle__direct_work *work, int64_t column)
{
    whole n = (whole)work->n, *match = NULL, *scratch = NULL;
    double done;
    tulle_status status = host->alloc((size_t)n, sizeof *match, "a matching", &match);
    if (status == TULLE_OK) status = host->alloc(5 * (size_t)n, sizeof *scratch, "a matching", &scratch);
    if (status != TULLE_OK) goto out;
    if (btf_l_maxtrans(n, n, (whole *)work->A.ptr, (whole *)work->A.row, 0, &done, match, scratch) == n) {
        status =
            host->fail(TULLE_ERR_ARG, "LU: the matrix is singular: the pivot of column " TULLE__AT " is 0", column);
        goto out;
    }
    for (whole c = 0; c < n; c++) scratch[c] = 0;
    for (whole r = 0; r < n; r++)
        if (match[r] >= 0) scratch[match[r]] = 1;
    for (column = 0; scratch[column];) column++;
    status = host->fail(TULLE_ERR_ARG,
        "LU: the matrix is structurally singular: column " TULLE__AT " can have no pivot beside those of others",
        column);
out:
    host->free(match);
    host->free(scratch);
    return status;
}

static tulle_status failed(const tulle__module_host *host, const tulle__direct_work *work, const klu_l_common *common)
{
    switch (common->status) {
    case KLU_SINGULAR:
        return singular(host, work, common->singular_col);
    case KLU_OUT_OF_MEMORY:
        return host->fail(TULLE_ERR_MEMORY, "KLU is out of memory with %zu bytes", common->memusage);
    case KLU_TOO_LARGE:
        return host->fail(TULLE_ERR_OVERFLOW, "KLU cannot count the entries of the factors");
    default:
        return host->fail(TULLE_ERR_ARG, "KLU refuses the matrix (status %d)", (int)common->status);
    }
}

static tulle_status take(const tulle__module_host *host, tulle__direct_work *work, klu_l_symbolic *symbolic,
    klu_l_numeric *numeric, klu_l_common *common)
{
    size_t n = (size_t)work->n;
    TULLE_CALL(tulle__columns_reserve(host, work->n, numeric->lnz, &work->L));
    TULLE_CALL(tulle__columns_reserve(host, work->n, numeric->unz, &work->U));
    TULLE_CALL(host->alloc(n, sizeof *work->row, "a permutation", &work->row));
    TULLE_CALL(host->alloc(n, sizeof *work->col, "a permutation", &work->col));
    TULLE_CALL(host->alloc(n, sizeof *work->scale, "scales of rows", &work->scale));
    if (klu_l_extract(numeric, symbolic, (whole *)work->L.ptr, (whole *)work->L.row, work->L.val, (whole *)work->U.ptr,
            (whole *)work->U.row, work->U.val, NULL, NULL, NULL, (whole *)work->row, (whole *)work->col, work->scale,
            NULL, common))
        return TULLE_OK;
    return failed(host, work, common);
}

tulle_status tulle__klu(const tulle__module_host *host, tulle__direct_work *work)
{
    klu_l_common common;
    klu_l_symbolic *symbolic = NULL;
    klu_l_numeric *numeric = NULL;
    void *charge = NULL;
    tulle_status status = TULLE_OK;
    whole n = (whole)work->n, *ptr = (whole *)work->A.ptr, *row = (whole *)work->A.row;
    klu_l_defaults(&common);
    common.btf = 0;
    common.tol = work->threshold;
    common.scale = 2;
    common.ordering = work->elimination == TULLE_ELIMINATE_COLAMD;
    symbolic = work->elimination == TULLE_ELIMINATE_NATURAL ? klu_l_analyze_given(n, ptr, row, NULL, NULL, &common)
                                                            : klu_l_analyze(n, ptr, row, &common);
    if (symbolic) status = tulle__factors_charge(host, symbolic->lnz + symbolic->unz, &charge);
    if (symbolic && status == TULLE_OK) numeric = klu_l_factor(ptr, row, work->A.val, symbolic, &common);
    if (status == TULLE_OK)
        status = numeric ? take(host, work, symbolic, numeric, &common) : failed(host, work, &common);
    if (numeric) klu_l_free_numeric(&numeric, &common);
    if (symbolic) klu_l_free_symbolic(&symbolic, &common);
    host->free(charge);
    return status;
}
