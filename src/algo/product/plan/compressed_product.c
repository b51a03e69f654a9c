/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/compressed_product.h"

#include "base/error.h"
#include "base/memory.h"
#include "mat/compressed.h"
#include "mat/reshape/dense_lines.h"

enum { OF_A, OF_B, FACTORS };

struct tulle__compressed_product {
    tulle_product *inner;
    tulle__axis rows, between, cols; /* rows of C; columns of op(A); columns of C, where it is sparse */
    tulle_mat *mat[FACTORS];         /* A and B on the axes */
    uint64_t of[FACTORS];            /* their structures */
    tulle_mat *C;                    /* on the axes: `dense`, or of `next`, then of the plan's C */
    tulle_mat *dense;                /* NULL: C is sparse */
    tulle__compressed *next;         /* NULL: the plan's C has it, or C is dense */
};

bool tulle__compressed_takes(const tulle_mat *A, const tulle_mat *B, const tulle_mat *C)
{
    return (A->compressed || B->compressed || C->compressed) && A->kind == TULLE_CSR && B->kind == C->kind &&
           (B->kind == TULLE_CSR || B->kind == TULLE_DENSE);
}

static void drop_axes(tulle__compressed_product *p)
{
    tulle__axis_fini(&p->rows);
    tulle__axis_fini(&p->between);
    tulle__axis_fini(&p->cols);
}

static tulle_status make_axes(const tulle_product *plan, const tulle_mat *C, tulle__compressed_product *p)
{
    const bool a = plan->options.op_a == TULLE_OP_N, b = plan->options.op_b == TULLE_OP_N;
    TULLE_CALL(tulle__compressed_axis(plan->A, a, C, true, &p->rows)); /* C NULL: it is not added to */
    TULLE_CALL(tulle__compressed_axis(plan->A, !a, plan->B, b, &p->between));
    if (plan->sparse) TULLE_CALL(tulle__compressed_axis(plan->B, !b, C, false, &p->cols));
    return TULLE_OK;
}

/* X on the axes, made anew unless it is known. */
static tulle_status map(
    const tulle_mat *X, const tulle__axis *rows, const tulle__axis *cols, bool known, tulle_mat **made)
{
    if (X->kind == TULLE_CSR) return tulle__compressed_map(X, rows, cols, known, made);
    if (!known) TULLE_CALL(tulle__dense_lines_new(X, rows, cols, made));
    return tulle__dense_lines_gather(X, rows, cols, *made);
}

/* A factor on the axes, as it is stored. */
static tulle_status map_factor(const tulle_product *plan, int which, bool known, tulle__compressed_product *p)
{
    const bool plain = (which == OF_A ? plan->options.op_a : plan->options.op_b) == TULLE_OP_N;
    const tulle__axis *of_c = plan->sparse ? &p->cols : NULL, *rows = which == OF_A ? &p->rows : &p->between,
                      *cols = which == OF_A ? &p->between : of_c;
    return map(which == OF_A ? plan->A : plan->B, plain ? rows : cols, plain ? cols : rows, known, &p->mat[which]);
}

/* C on the axes, with its entries or empty, and the parts by which C gets it later. */
static tulle_status map_result(const tulle_product *plan, bool filled, tulle__compressed_product *p)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    if (!plan->sparse) {
        TULLE_TRY(tulle__dense_lines_new(plan->C, &p->rows, NULL, &p->dense));
        tulle__pe_disown(&p->dense->owned);
        p->C = p->dense;
        return TULLE_OK;
    }
    TULLE_TRY(tulle__alloc_zero(1, sizeof *p->next, "a hypersparse matrix", &p->next));
    TULLE_TRY(tulle__axis_copy(&p->rows, &p->next->rows));
    TULLE_TRY(tulle__axis_copy(&p->cols, &p->next->cols));
    if (filled) {
        TULLE_TRY(tulle__compressed_map(plan->C, &p->rows, &p->cols, false, &p->next->inner));
    } else {
        TULLE_TRY(tulle__compressed_layout(plan->C->layout, &p->rows, &p->cols, &layout));
        TULLE_TRY(
            tulle__mat_make_empty(plan->comm, layout, TULLE_CSR, plan->C->type, TULLE_ROW_MAJOR, &p->next->inner));
        TULLE_TRY(tulle__mat_publish(p->next->inner));
    }
    tulle__pe_disown(&p->next->inner->owned);
    p->C = p->next->inner;
out:
    tulle_layout_free(layout);
    return status;
}

/* Frees axes, matrices and plan. */
static void drop(tulle__compressed_product *p)
{
    tulle__plan_drop(p->inner);
    for (int f = OF_A; f <= OF_B; f++) tulle__mat_drop(p->mat[f]);
    if (p->next) tulle__compressed_drop(p->next);
    tulle__free(p->next);
    tulle__mat_drop(p->dense);
    drop_axes(p);
    *p = (tulle__compressed_product){.inner = NULL};
}

/* Axes and matrices. Collective, agreed. */
static tulle_status make_matrices(const tulle_product *plan, bool filled, tulle__compressed_product *p)
{
    tulle_status status = make_axes(plan, filled ? plan->C : NULL, p);
    if (status != TULLE_OK) return status;
    for (int f = OF_A; f <= OF_B; f++) {
        TULLE_TRY(map_factor(plan, f, false, p));
        tulle__pe_disown(&p->mat[f]->owned);
    }
    TULLE_TRY(map_result(plan, filled, p));
out:
    return tulle_comm_agree(plan->comm, status);
}

/* Axes, matrices and the plan. */
static tulle_status make(const tulle_product *plan, bool filled, tulle__compressed_product *p)
{
    TULLE_CALL(make_matrices(plan, filled, p));
    TULLE_CALL(tulle_product_new(p->mat[OF_A], p->mat[OF_B], p->C, &plan->options, &p->inner));
    tulle__pe_disown(&p->inner->owned);
    p->of[OF_A] = tulle__structure_of(plan->A);
    p->of[OF_B] = tulle__structure_of(plan->B);
    return TULLE_OK;
}

/* Makes the state anew, or leaves the plan's as it is. */
static tulle_status remake(tulle_product *plan, bool filled)
{
    tulle__compressed_product made = {.inner = NULL};
    const tulle_status status = make(plan, filled, &made);
    drop(status == TULLE_OK ? plan->stages.compressed : &made);
    if (status == TULLE_OK) *plan->stages.compressed = made;
    return status;
}

tulle_status tulle__compressed_product_new(tulle_product *plan)
{
    tulle_status status = tulle__alloc_zero(1, sizeof *plan->stages.compressed, "a plan", &plan->stages.compressed);
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    return remake(plan, false);
}

/* Rows ascend before they are mapped. */
static tulle_status order(const tulle_mat *X)
{
    return tulle__mat_order(X->compressed ? X->compressed->inner : X);
}

static tulle_status renew_factors(const tulle_product *plan, tulle__compressed_product *p)
{
    for (int f = OF_A; f <= OF_B; f++) TULLE_CALL(map_factor(plan, f, true, p));
    return TULLE_OK;
}

tulle_status tulle__compressed_product_renew(tulle_product *plan, double beta, tulle_product **inner)
{
    tulle__compressed_product *p = plan->stages.compressed;
    TULLE_CALL(order(plan->A));
    TULLE_CALL(order(plan->B));
    if (beta != 0) TULLE_CALL(order(plan->C));
    const bool is_ours = tulle__compressed_product_has_result(plan);
    if (p->of[OF_A] != tulle__structure_of(plan->A) || p->of[OF_B] != tulle__structure_of(plan->B) ||
        (!is_ours && (beta != 0 || !p->next)))
        TULLE_CALL(remake(plan, beta != 0));
    else
        TULLE_CALL(tulle_comm_agree(plan->comm, renew_factors(plan, p)));
    if (!plan->sparse && beta != 0)
        TULLE_CALL(tulle_comm_agree(plan->comm, tulle__dense_lines_gather(plan->C, &p->rows, NULL, p->dense)));
    *inner = p->inner;
    return TULLE_OK;
}

bool tulle__compressed_product_has_result(const tulle_product *plan)
{
    const tulle__compressed_product *p = plan->stages.compressed;
    return p->dense || (plan->C->compressed && plan->C->compressed->inner == p->C);
}

tulle_status tulle__compressed_product_taken(tulle_product *plan, double beta)
{
    tulle__compressed_product *p = plan->stages.compressed;
    /* values that would stay on devices are wanted here, and those of the next execution come from here */
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_product_sync(p->inner));
    if (!plan->sparse)
        return tulle_comm_agree(plan->comm, tulle__dense_lines_scatter(p->dense, &p->rows, NULL, beta, plan->C));
    if (p->next) {
        tulle__mat_clear(plan->C);
        plan->C->compressed = p->next;
        p->next = NULL;
    }
    plan->C->nnz = p->C->nnz;
    plan->C->structure++;
    return status;
}

tulle_status tulle__compressed_check(double alpha, const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b,
    const tulle_mat *C, double *error)
{
    const tulle_product asked = {.comm = C->comm,
        .options = {.op_a = op_a, .op_b = op_b},
        .A = A,
        .B = B,
        .C = (tulle_mat *)(uintptr_t)C, /* is only read */
        .sparse = true};
    tulle__compressed_product p = {.inner = NULL};
    tulle_status status;
    TULLE_TRY(order(A));
    TULLE_TRY(order(B));
    TULLE_TRY(order(C));
    TULLE_TRY(make_matrices(&asked, true, &p));
    TULLE_TRY(tulle_product_check_matrices(alpha, p.mat[OF_A], op_a, p.mat[OF_B], op_b, p.C, error));
out:
    drop(&p);
    return status;
}

tulle_product *tulle__compressed_product_inner(const tulle_product *plan)
{
    return plan->stages.compressed->inner;
}

void tulle__compressed_product_free(tulle_product *plan)
{
    if (plan->stages.compressed) drop(plan->stages.compressed);
    tulle__free(plan->stages.compressed);
}
