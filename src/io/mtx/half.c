/* SPDX-License-Identifier: Apache-2.0 */
#include "io/mtx/half.h"

#include <inttypes.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "mat/algebra/elements.h"

/*
 * Sums over entries: order-independent hashes of (i, j, value) below the diagonal and of (j, i,
 * mirrored value) above it, which are equal if and only if the halves are, up to a collision of
 * 2^-64.
 */
struct sums {
    uint64_t below, above;
    int64_t nbelow, ndiagonal, wrong; /* wrong: what is not zero on the diagonal of a skew-symmetric matrix */
    bool skew;
};

int tulle__half_parse(const char *word, tulle__mtx_symmetry *symmetry)
{
    static const tulle__mtx_symmetry all[] = {TULLE__MTX_GENERAL, TULLE__MTX_SYMMETRIC, TULLE__MTX_SKEW};
    for (int s = 0; s < 3; s++) {
        *symmetry = all[s];
        if (strcmp(word ? word : "general", tulle__mtx_symmetry_name(all[s])) == 0) return 1;
    }
    return 0;
}

/* Zeros of both signs are one. */
static uint64_t mark(int64_t i, int64_t j, double x)
{
    uint64_t bits;
    x += 0;
    memcpy(&bits, &x, sizeof bits);
    return tulle__random_at((uint64_t)i, (uint64_t)j, bits);
}

static void add(void *context, tulle_gidx i, tulle_gidx j, double x)
{
    struct sums *sums = context;
    if (i > j) {
        sums->below += mark(i, j, x);
        sums->nbelow++;
    } else if (i < j) {
        sums->above += mark(j, i, sums->skew ? -x : x);
    } else {
        sums->ndiagonal++;
        sums->wrong += sums->skew && x != 0;
    }
}

tulle_status tulle__half_count(const tulle_mat *A, tulle__mtx_symmetry symmetry, const char *path, int64_t *stored)
{
    struct sums here = {.skew = symmetry == TULLE__MTX_SKEW}, sum = {0}, *all = NULL;
    tulle_comm *comm = A->comm;
    tulle_status status;
    *stored = A->kind == TULLE_DENSE ? A->layout->m * A->layout->n : A->nnz;
    if (symmetry == TULLE__MTX_GENERAL) return TULLE_OK;
    if (A->layout->m != A->layout->n)
        return tulle__fail(TULLE_ERR_ARG, "%s: a %s matrix must be square, but this is %" PRId64 " x %" PRId64, path,
            tulle__mtx_symmetry_name(symmetry), A->layout->m, A->layout->n);
    tulle__each_own_entry(A, add, &here);
    status = tulle__alloc((size_t)comm->size, sizeof *all, "sums of halves", &all);
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_allgather(comm, &here, sizeof here, all));
    for (int p = 0; p < comm->size; p++) {
        sum.below += all[p].below;
        sum.above += all[p].above;
        sum.nbelow += all[p].nbelow;
        sum.ndiagonal += all[p].ndiagonal;
        sum.wrong += all[p].wrong;
    }
    if (sum.below != sum.above || sum.wrong)
        status = tulle__fail(TULLE_ERR_ARG, "%s: the matrix is not %s bit by bit, so its half cannot represent it",
            path, tulle__mtx_symmetry_name(symmetry));
    *stored = sum.nbelow + (here.skew ? 0 : sum.ndiagonal);
out:
    tulle__free(all);
    return status;
}

int64_t tulle__half_of_row(tulle__mtx_symmetry symmetry, int64_t row, int64_t n, int64_t base, const int32_t *col)
{
    if (symmetry == TULLE__MTX_GENERAL) return n;
    int64_t end = symmetry == TULLE__MTX_SYMMETRIC ? row + 1 : row, low = 0, high = n;
    /* the first column that is not before end */
    TULLE__PARTITION_POINT(low, high, middle, base + col[middle] < end);
    return low;
}
