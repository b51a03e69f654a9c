/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/precond.h"

#include <limits.h>

#include "algo/option_readers.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "mat/mat.h"

static const char *name_of(int kind)
{
    return tulle_precond_kind_name((tulle_precond_kind)kind);
}

/* Refuses options that the preconditioner does not read. */
static tulle_status check_options(tulle_precond_kind precond, const tulle_precond_options *o)
{
    enum { ILU0 = 1u << TULLE_PRECOND_ILU0, IC0 = 1u << TULLE_PRECOND_IC0 };
    unsigned readers = UINT_MAX;
    const tulle__option_reader rows[] = {{"block", o->block != 0, 1u << TULLE_PRECOND_BLOCK_JACOBI},
        {"floor", o->floor != 0, ILU0}, {"shift", o->shift != 0, IC0}, {"solves", o->solves != 0, IC0 | ILU0}};
    return tulle__option_readers(rows, sizeof rows / sizeof *rows, name_of, (int)precond, TULLE__NO_AUTO, &readers);
}

static tulle_status check(const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options)
{
    if (A->kind != TULLE_CSR || A->layout->m != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "%s needs a square sparse matrix, but this one is %lld x %lld%s",
            precond == TULLE_PRECOND_NONE ? "a solve" : "a preconditioner", (long long)A->layout->m,
            (long long)A->layout->n, A->kind == TULLE_CSR ? "" : ", dense");
    if (precond < 0 || precond >= TULLE_PRECOND_KIND_COUNT)
        return tulle__fail(TULLE_ERR_ARG, "unknown preconditioner %d", (int)precond);
    TULLE_CALL(check_options(precond, options));
    if (precond == TULLE_PRECOND_BLOCK_JACOBI && (options->block < 1 || options->block > TULLE__BLOCK_MOST))
        return tulle__fail(
            TULLE_ERR_ARG, "blocks of block-jacobi have 1 to %d rows, not %d", TULLE__BLOCK_MOST, options->block);
#ifndef TULLE_HAVE_LAPACK
    if (precond == TULLE_PRECOND_BLOCK_JACOBI && options->block > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "block-jacobi needs LAPACK, which was not found when this was built (liblapack-dev)");
#endif
    return tulle__wants_values(A->comm, "a preconditioner");
}

tulle_status tulle_precond_new(
    const tulle_mat *A, tulle_precond_kind precond, const tulle_precond_options *options, tulle_operator *M)
{
    tulle_precond_options chosen;
    if (TULLE__NULL(A) || TULLE__NULL(M) || TULLE__OUTSIDE(precond, TULLE_PRECOND_KIND_COUNT - 1) ||
        TULLE__OPTIONS(options, &chosen, report))
        return tulle__refuse(A ? A->comm : NULL);
    if (chosen.block == 0 && precond == TULLE_PRECOND_BLOCK_JACOBI) chosen.block = 64;
    tulle_operator made = {.comm = NULL};
    TULLE_CALL(tulle_comm_agree(A->comm, check(A, precond, &chosen)));
    TULLE_CALL(tulle__mat_order(A));
    if (precond == TULLE_PRECOND_JACOBI) TULLE_CALL(tulle__jacobi_new(A, 1, &made));
    if (precond == TULLE_PRECOND_BLOCK_JACOBI) TULLE_CALL(tulle__jacobi_new(A, chosen.block, &made));
    if (precond == TULLE_PRECOND_IC0 || precond == TULLE_PRECOND_ILU0)
        TULLE_CALL(tulle__factored_new(A, precond, &chosen, &made));
    TULLE__OPTIONS_WRITE(M, &made, cols);
    return TULLE_OK;
}
