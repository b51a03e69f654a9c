/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/stage/transposed_stage.h"

#include <stdio.h>

#include "algo/product/stage/stage.h"
#include "base/error.h"
#include "mat/reshape/transposed.h"

struct transposes {
    tulle__stage stage;
    tulle__transposed A, B; /* mat NULL: the factor is used as it is */
};

/* Halves are transposed as they are expanded. */
static bool is_transposed(const tulle_mat *X, tulle_op op)
{
    return X->symmetry == TULLE_GENERAL && op == TULLE_OP_T;
}

static bool asked(const tulle_product *plan)
{
    return is_transposed(plan->A, plan->options.op_a) || is_transposed(plan->B, plan->options.op_b);
}

static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    struct transposes *t = (struct transposes *)stage;
    tulle_product *plan = stage->plan;
    int64_t *copied = &plan->ways.copied;
    const tulle__operands *o = &plan->operands;
    tulle_status status = TULLE_OK;
    if (is_transposed(plan->A, plan->options.op_a)) TULLE_TRY(tulle__transposed_renew(plan->A, &t->A, copied));
    if (is_transposed(plan->B, plan->options.op_b)) TULLE_TRY(tulle__transposed_renew(plan->B, &t->B, copied));
    tulle__plan_sees(plan, t->A.mat ? t->A.mat : o->A, t->B.mat ? t->B.mat : o->B, o->C);
out:
    return status;
}

static tulle_status open(tulle__stage *stage)
{
    return renew(stage, NULL);
}

static size_t bytes(const tulle__stage *stage)
{
    const struct transposes *t = (const struct transposes *)stage;
    return tulle__transposed_bytes(&t->A) + tulle__transposed_bytes(&t->B);
}

static void describe(const tulle__stage *stage, tulle__description *text)
{
    const struct transposes *t = (const struct transposes *)stage;
    if (t->A.mat) snprintf(text->a, sizeof text->a, ", A transposed");
    if (t->B.mat) snprintf(text->b, sizeof text->b, ", B transposed");
}

static void drop(tulle__stage *stage)
{
    struct transposes *t = (struct transposes *)stage;
    tulle__transposed_drop(&t->A);
    tulle__transposed_drop(&t->B);
}

const tulle__stage_ops tulle__transposed_stage = {.size = sizeof(struct transposes),
    .asked = asked,
    .in_effect = asked,
    .open = open,
    .at = {[TULLE__STAGE_RENEW] = renew},
    .bytes = bytes,
    .describe = describe,
    .free = drop};

const tulle_mat *tulle__transposed_factor(const tulle_product *plan, bool of_a)
{
    const struct transposes *t = (const struct transposes *)tulle__stage_of(plan, &tulle__transposed_stage);
    return !t ? NULL : of_a ? t->A.mat : t->B.mat;
}
