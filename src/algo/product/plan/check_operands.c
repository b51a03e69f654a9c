/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/checks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "algo/chain/policy.h"
#include "algo/option_values.h"
#include "base/error.h"
#include "base/memory.h"
#include "mat/overlap.h"

static const tulle_gidx *cuts(const tulle_mat *A, tulle_op op, int rows, int *parts)
{
    int of_rows = rows == (op == TULLE_OP_N);
    *parts = of_rows ? A->layout->mt : A->layout->nt;
    return of_rows ? A->layout->row_cut : A->layout->col_cut;
}

static const tulle__block_cuts *block_cuts(const tulle_mat *X, tulle_op op, int rows)
{
    return rows == (op == TULLE_OP_N) ? &X->layout->row_blocks : &X->layout->col_blocks;
}

tulle_status tulle_product_layout(
    const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b, tulle_layout **layout)
{
    if (TULLE__NULL(A) || TULLE__NULL(B) || TULLE__OUTSIDE(op_a, TULLE_OP_T) || TULLE__OUTSIDE(op_b, TULLE_OP_T) ||
        TULLE__NULL(layout))
        return TULLE_ERR_ARG;
    int M, N, K;
    const tulle_gidx *row_cut = cuts(A, op_a, 1, &M), *col_cut = cuts(B, op_b, 0, &N);
    (void)cuts(A, op_a, 0, &K);
    TULLE__SCOPED int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)M * (size_t)N, sizeof *owner, "owners", &owner));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int k = (int)((int64_t)j * K / N); /* the A tile that lies where the C tile lies */
            owner[i * N + j] =
                op_a == TULLE_OP_N ? tulle__layout_owner(A->layout, i, k) : tulle__layout_owner(A->layout, k, i);
        }
    tulle_layout_spec spec = {.m = row_cut[M],
        .n = col_cut[N],
        .tile_rows = M,
        .tile_cols = N,
        .row_cut = row_cut,
        .col_cut = col_cut,
        .owner = owner};
    if (A->format->in_blocks && B->format->in_blocks) {
        spec.row_blocks = tulle__block_cuts_view(block_cuts(A, op_a, 1));
        spec.col_blocks = tulle__block_cuts_view(block_cuts(B, op_b, 0));
    }
    return tulle_layout_new(&spec, INT32_MAX, layout);
}

int tulle__is_bulk(tulle_product_alg alg)
{
    return alg != TULLE_PRODUCT_AUTO && tulle__policy_of(alg)->arrival != TULLE__ARRIVAL_SINGLY;
}

tulle_status tulle__check_replication(const tulle_product_options *options, int pes)
{
    int layers = options->replication, given = options->layer_rows || options->layer_cols;
    if (given && (layers < 2 || options->layer_rows < 1 || options->layer_cols < 1 ||
                     (__int128)layers * options->layer_rows * options->layer_cols > pes))
        return tulle__fail(TULLE_ERR_ARG, "%d layers of %d x %d PEs: at least 2 x 1 x 1, and at most the team's %d",
            layers, options->layer_rows, options->layer_cols, pes);
    if (layers == TULLE_AUTO || layers == 0 || layers == 1) return TULLE_OK;
    if (layers < 0 || layers > pes || (pes % layers && !given))
        return tulle__fail(TULLE_ERR_ARG, "a replication of %d for %d PEs, of which it must be a divisor", layers, pes);
    if (tulle__is_bulk(options->alg))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s, whose steps are of all PEs, with a replication of %d",
            tulle_product_alg_name(options->alg), layers);
    return TULLE_OK;
}

/* Checks a product in blocks that multiplies one triangle. */
static tulle_status check_symmetric(const tulle_mat *C, const tulle_product_options *options)
{
    if (!tulle__block_cuts_same(&C->layout->row_blocks, &C->layout->col_blocks))
        return tulle__fail(TULLE_ERR_ARG, "a symmetric C whose row blocks are not its column blocks");
    if (options->devices->resident)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "one triangle of a symmetric C that is device-resident");
    if (options->replication > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "one triangle of a symmetric C with a replication of %d: without one",
            options->replication);
    if (options->phases > 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "one triangle of a symmetric C in ranges of columns");
    if (options->keep_pattern)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "one triangle of a symmetric C that keeps its pattern");
    return TULLE_OK;
}

/* Checks a product with halves. */
static tulle_status check_halves(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C)
{
    if (A->symmetry == TULLE_GENERAL && B->symmetry == TULLE_GENERAL) return TULLE_OK;
    if (!A->format->in_blocks || !B->format->in_blocks || !C->format->in_blocks) {
        const tulle_status status = tulle__wants_full(A);
        return status == TULLE_OK ? tulle__wants_full(B) : status;
    }
    return TULLE_OK;
}

/* Checks a product of two matrices of blocks. */
static tulle_status check_blocks(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options)
{
    if (C->kind != TULLE_VBSR)
        return tulle__fail(TULLE_ERR_ARG, "A and B are in blocks, so C must be vbsr, not %s", tulle_kind_name(C->kind));
    if (!tulle__block_cuts_same(block_cuts(A, options->op_a, 0), block_cuts(B, options->op_b, 1)))
        return tulle__fail(TULLE_ERR_ARG, "the block columns of op(A) are not the block rows of op(B)");
    if (!tulle__block_cuts_same(block_cuts(A, options->op_a, 1), block_cuts(C, TULLE_OP_N, 1)) ||
        !tulle__block_cuts_same(block_cuts(B, options->op_b, 0), block_cuts(C, TULLE_OP_N, 0)))
        return tulle__fail(TULLE_ERR_ARG, "C's blocks are not those of op(A) op(B)");
    if (options->filter > 0 && (A->kind != TULLE_VBSR || B->kind != TULLE_VBSR))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a filter for bsr, whose blocks have no norms; tulle_mat_to_vbsr");
    if (options->keep_pattern && options->phases > 1)
        return tulle__fail(TULLE_ERR_ARG, "ranges of columns of a C that keeps its pattern");
    if (options->symmetric_c) {
        TULLE_CALL(check_symmetric(C, options));
    }
    if (tulle__is_shape_only(C->comm))
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "products of two matrices of blocks without their values");
    return TULLE_OK;
}

static tulle_status check_kinds(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options)
{
    bool blocks = A->format->in_blocks && B->format->in_blocks;
    if (!(options->filter >= 0) || isinf(options->filter))
        return tulle__fail(TULLE_ERR_ARG, "a filter of %g: it is a number, at least 0", options->filter);
    if ((options->filter > 0 || options->keep_pattern) && !blocks)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "a filter and a kept pattern are for products of two matrices of blocks");
    if (options->symmetric_c && !blocks)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "one triangle of a symmetric C is for products of matrices of blocks");
    if (blocks) return TULLE_OK;
    if (B->format->in_blocks || C->format->in_blocks)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a %s matrix times a %s one into a %s one; both factors are in blocks, "
            "or A alone with a dense B and C",
            tulle_kind_name(A->kind), tulle_kind_name(B->kind), tulle_kind_name(C->kind));
    if (B->kind != TULLE_DENSE && B->kind != A->kind)
        return tulle__fail(
            TULLE_ERR_UNSUPPORTED, "a %s matrix times a %s one", tulle_kind_name(A->kind), tulle_kind_name(B->kind));
    if (B->kind != C->kind)
        return tulle__fail(TULLE_ERR_ARG, "B is %s, so C must be", B->kind == TULLE_DENSE ? "dense" : "sparse");
    return TULLE_OK;
}

/* Refuses options that products of these kinds do not read. */
static tulle_status check_unread(const tulle_mat *A, const tulle_mat *C, const tulle_product_options *options)
{
    const char *block = tulle__blocks_given(options->blocks);
    if (block && A->kind != TULLE_DENSE)
        return tulle__fail(TULLE_ERR_ARG, "options.%s is read by products of dense matrices only: A is %s", block,
            tulle_kind_name(A->kind));
    if (options->unordered && C->kind != TULLE_CSR)
        return tulle__fail(
            TULLE_ERR_ARG, "options.unordered is read where C is csr only, not %s", tulle_kind_name(C->kind));
    if (options->unordered && options->devices->resident)
        return tulle__fail(
            TULLE_ERR_ARG, "options.unordered is not read with devices.resident: rows that stay on devices ascend");
    return TULLE_OK;
}

tulle_status tulle__check_operands(
    const tulle_mat *A, const tulle_mat *B, const tulle_mat *C, const tulle_product_options *options)
{
    int am, ak, bk, bn;
    const tulle_gidx *a_row = cuts(A, options->op_a, 1, &am), *a_col = cuts(A, options->op_a, 0, &ak);
    const tulle_gidx *b_row = cuts(B, options->op_b, 1, &bk), *b_col = cuts(B, options->op_b, 0, &bn);
    if (A->comm != B->comm || A->comm != C->comm)
        return tulle__fail(TULLE_ERR_ARG, "the three matrices must belong to one comm");
    if (A->kind == TULLE_DENSE && B->kind != TULLE_DENSE)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a dense matrix times a sparse one; its transpose, C^T = B^T A^T, is a sparse one times a dense one");
    TULLE_CALL(check_kinds(A, B, C, options));
    TULLE_CALL(check_unread(A, C, options));
    TULLE_CALL(check_halves(A, B, C));
    if (C->symmetry != TULLE_GENERAL && !options->symmetric_c) {
        return tulle__fail(TULLE_ERR_ARG,
            "C is half of a matrix: options.symmetric_c says that op(A) op(B) has its symmetry, or "
            "tulle_mat_to_full makes all of it");
    }
    if (A->type != B->type || A->type != C->type)
        return tulle__fail(TULLE_ERR_ARG, "the types differ: %s, %s, %s", tulle_type_name(A->type),
            tulle_type_name(B->type), tulle_type_name(C->type));
    if (A == C || B == C) return tulle__fail(TULLE_ERR_ARG, "C must not be a factor");
    TULLE_CALL(tulle__mat_check_apart(C, "C", A, "A"));
    TULLE_CALL(tulle__mat_check_apart(C, "C", B, "B"));
    if (a_col[ak] != b_row[bk])
        return tulle__fail(TULLE_ERR_ARG,
            "op(A) is %" PRId64 " x %" PRId64 " and op(B) %" PRId64 " x %" PRId64 ": the inner sizes differ", a_row[am],
            a_col[ak], b_row[bk], b_col[bn]);
    if (C->layout->m != a_row[am] || C->layout->n != b_col[bn])
        return tulle__fail(TULLE_ERR_ARG, "C is %" PRId64 " x %" PRId64 ", the product %" PRId64 " x %" PRId64,
            C->layout->m, C->layout->n, a_row[am], b_col[bn]);
    if (B->format->in_blocks) TULLE_CALL(check_blocks(A, B, C, options));
    return TULLE_OK;
}
