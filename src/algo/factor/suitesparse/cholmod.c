/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cholesky by CHOLMOD: by its simplicial part, which is under the LGPL, unless the module may use
 * the supernodal one.
 */
#include <inttypes.h>
#include <string.h>

#include <cholmod.h>

#include "algo/factor/suitesparse/suitesparse.h"
#include "base/error.h"

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "SuiteSparse's long integers are 64-bit");

static tulle_status failed(const tulle__module_host *host, const cholmod_common *common)
{
    switch (common->status) {
    case CHOLMOD_OUT_OF_MEMORY:
        return host->fail(TULLE_ERR_MEMORY, "CHOLMOD is out of memory with %zu bytes", common->memory_inuse);
    case CHOLMOD_TOO_LARGE:
        return host->fail(TULLE_ERR_OVERFLOW, "CHOLMOD cannot count the entries of the factor");
    default:
        return host->fail(TULLE_ERR_ARG, "CHOLMOD refuses the matrix (status %d)", common->status);
    }
}

/* Copies L, which CHOLMOD has packed by columns. */
static tulle_status take(const tulle__module_host *host, const cholmod_factor *L, tulle__direct_work *work)
{
    const int64_t *ptr = L->p, *row = L->i;
    const double *val = L->x;
    size_t n = (size_t)work->n, nnz = (size_t)ptr[n];
    TULLE_CALL(tulle__columns_reserve(host, work->n, (int64_t)nnz, &work->L));
    TULLE_CALL(host->alloc(n, sizeof *work->row, "a permutation", &work->row));
    TULLE_CALL(host->alloc(n, sizeof *work->col, "a permutation", &work->col));
    memcpy(work->L.ptr, ptr, (n + 1) * sizeof *ptr);
    memcpy(work->L.row, row, nnz * sizeof *row);
    memcpy(work->L.val, val, nnz * sizeof *val);
    memcpy(work->row, L->Perm, n * sizeof *work->row);
    memcpy(work->col, L->Perm, n * sizeof *work->col);
    return TULLE_OK;
}

static tulle_status factorise(
    const tulle__module_host *host, tulle__direct_work *work, cholmod_sparse *A, cholmod_common *common)
{
    cholmod_factor *L = cholmod_l_analyze(A, common);
    void *charge = NULL;
    tulle_status status = L ? tulle__factors_charge(host, common->lnz, &charge) : TULLE_OK;
    int made = L && status == TULLE_OK && cholmod_l_factorize(A, L, common);
    if (status != TULLE_OK)
        ;
    else if (!made)
        status = failed(host, common);
    else if (common->status == CHOLMOD_NOT_POSDEF)
        status = host->fail(TULLE_ERR_ARG,
            "Cholesky: the matrix is not positive definite: the pivot of row " TULLE__AT " is not positive",
            (int64_t)((SuiteSparse_long *)L->Perm)[L->minor]);
    else
        status = take(host, L, work);
    cholmod_l_free_factor(&L, common);
    host->free(charge);
    return status;
}

tulle_status tulle__cholmod(const tulle__module_host *host, tulle__direct_work *work, int supernodal)
{
    cholmod_common common;
    size_t n = (size_t)work->n;
    cholmod_sparse A = {.nrow = n,
        .ncol = n,
        .nzmax = (size_t)work->A.ptr[n],
        .p = work->A.ptr,
        .i = work->A.row,
        .x = work->A.val,
        .stype = 1,
        .itype = CHOLMOD_LONG,
        .xtype = CHOLMOD_REAL,
        .dtype = CHOLMOD_DOUBLE,
        .sorted = 1,
        .packed = 1};
    if (!cholmod_l_start(&common)) return host->fail(TULLE_ERR_MEMORY, "CHOLMOD failed to start");
    common.supernodal = supernodal ? CHOLMOD_SUPERNODAL : CHOLMOD_SIMPLICIAL;
    common.final_asis = 0;
    common.final_super = 0;
    common.final_ll = 1;
    common.final_pack = 1;
    common.print = 0;
    common.nmethods = 1;
    common.method[0].ordering = work->elimination == TULLE_ELIMINATE_NATURAL ? CHOLMOD_NATURAL : CHOLMOD_AMD;
    common.postorder = work->elimination != TULLE_ELIMINATE_NATURAL;
    tulle_status status = factorise(host, work, &A, &common);
    cholmod_l_finish(&common);
    return status;
}
