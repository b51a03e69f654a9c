/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/only_beta.h"

#include "algo/product/run/runner.h"
#include "mat/algebra/elements.h"
#include "mat/mat_resident.h"
#include "tile/tile_blocks.h"

static void scale_tile(const tulle_mat *C, const tulle_own_tile *own, double beta)
{
    const tulle_tile t = tulle__tile_of(own);
    for (tulle_gidx r = 0; r < t.m && t.nnz; r++)
        for (tulle__entry_cursor at = tulle__entries_of_row(r); tulle__entry_next(C, &t, &at);)
            tulle__element_set(
                t.type, own->val, at.value, beta == 0 ? 0 : beta * tulle__element(t.type, t.val, at.value));
    if (t.nnz) tulle__blocks_renew_norms(own);
}

/* Entries of own tiles; elements of dense ones. */
static int64_t scale(tulle_mat *C, double beta)
{
    int64_t entries = 0;
    TULLE__EACH_OWN_TILE(C, i, j) {
        const tulle_own_tile own = tulle__own_tile_in_place(C, i, j);
        entries += own.nnz;
        if (beta != 1 && !tulle__is_shape_only(C->comm)) scale_tile(C, &own, beta);
    }
    return entries;
}

tulle_status tulle__product_only_beta(tulle_product *plan, double beta, tulle_product_report *report)
{
    tulle_mat *C = plan->C;
    const int64_t start = tulle__now(plan->comm);
    const bool device = tulle__mat_resident_of(C) != NULL;
    tulle_status status = device && beta != 0 ? tulle__mat_resident_bring(C) : TULLE_OK;
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    C->resident = NULL; /* what a device holds is not C any more */
    plan->runner->stale = true;
    int64_t entries = scale(C, beta);
    status = tulle_comm_agree(plan->comm, tulle_comm_reduce_int(plan->comm, TULLE_SUM, 1, &entries));
    double seconds = (double)(tulle__now(plan->comm) - start) * 1e-9;
    if (status == TULLE_OK)
        status = tulle_comm_agree(plan->comm, tulle_comm_reduce_real(plan->comm, TULLE_MAX, 1, &seconds));
    if (status == TULLE_OK && report)
        *report =
            (tulle_product_report){.seconds = seconds, .nnz_c = entries, .phases = 1, .replication = plan->ways.layers};
    return status;
}
