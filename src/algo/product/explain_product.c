/* SPDX-License-Identifier: Apache-2.0 */
/* The mechanisms of the kernel of sparse products, for a call that explains them. */
#include <inttypes.h>

#include <tulle/product.h>

#include "base/arg.h"
#include "base/error.h"
#include "device/cpu/cpu.h"
#include "device/cpu/spgemm_mechanisms.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "tile/tile_csr.h"

/* The instruction set whose kernels these are; -1: none of a processor's. */
static int isa_of(const tulle__kernels *kernels)
{
    int isa = TULLE__ISA_COUNT - 1;
    while (isa >= 0 && tulle__kernels_cpu_at((tulle__isa)isa) != kernels) isa--;
    return isa;
}

static tulle_status check(const tulle_mat *A, const tulle_mat *B)
{
    TULLE_CALL(tulle__wants_full(A));
    TULLE_CALL(tulle__wants_full(B));
    if (A->layout->n != B->layout->m || A->type != B->type)
        return tulle__fail(TULLE_ERR_ARG,
            "A is %" PRId64 " x %" PRId64 " and B %" PRId64 " x %" PRId64 ", of %s and %s", A->layout->m, A->layout->n,
            B->layout->m, B->layout->n, tulle_type_name(A->type), tulle_type_name(B->type));
    if (A->comm->size > 1 || A->kind != TULLE_CSR || B->kind != TULLE_CSR || A->layout->mt > 1 || A->layout->nt > 1 ||
        B->layout->nt > 1)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "mechanisms are explained on one PE, for A and B in CSR and one tile");
    return TULLE_OK;
}

tulle_status tulle_product_explain(const tulle_mat *A, const tulle_mat *B, int reps, tulle_product_mechanism *mechanism)
{
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__NULL(mechanism))
        return tulle__refuse(A ? A->comm : B ? B->comm : NULL);
    tulle_tile a, b;
    tulle__context *context = NULL;
    TULLE__ENTER(A->comm);
    TULLE_CALL(tulle_comm_agree(A->comm, TULLE_OK)); /* no PE passes NULL */
    TULLE_CALL(check(A, B));
    TULLE_CALL(tulle__mat_has_tiles(A));
    TULLE_CALL(tulle__mat_has_tiles(B));
    TULLE_CALL(tulle__context_get(A->comm, &context));
    TULLE_CALL(tulle_mat_tile(A, 0, 0, &a));
    TULLE_CALL(tulle_mat_tile(B, 0, 0, &b));
    const int isa = isa_of(context->kernels);
    if (isa < 0 || !a.nnz || !b.nnz) {
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "there is no product to explain: %s",
            isa < 0 ? "nothing is computed here" : "C is empty");
    }
    tulle__spgemm_pair pair = {.A = tulle__tile_csr(&a), .B = tulle__tile_csr(&b), .scale = 1};
    const tulle__spgemm_task task = {.type = A->type, .m = A->layout->m, .n = B->layout->n, .npairs = 1, .pair = &pair};
    return tulle__spgemm_explain((tulle__isa)isa, context->pool, &task, reps, mechanism);
}
