/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of factors, which each execution renews: all of one of which half is stored, or the transpose of another. */
#include "algo/product/stage/copied_stage.h"

#include <stdio.h>

#include "algo/product/stage/stage.h"
#include "base/error.h"
#include "mat/half/expanded.h"
#include "mat/reshape/transposed.h"

struct copy {
    tulle_mat *whole; /* of a half; NULL: the factor is none */
    uint64_t of;
    tulle__transposed transposed; /* mat NULL: the factor is not transposed, or a half, which is as it is expanded */
};

struct copies {
    tulle__stage stage;
    struct copy A, B;
};

static tulle_mat *made(const struct copy *copy)
{
    return copy->whole ? copy->whole : copy->transposed.mat;
}

static bool is_copied(const tulle_mat *X, tulle_op op)
{
    return X->symmetry != TULLE_GENERAL || op == TULLE_OP_T;
}

static bool asked(const tulle_product *plan)
{
    return is_copied(plan->A, plan->options.op_a) || is_copied(plan->B, plan->options.op_b);
}

static tulle_status renew_copy(const tulle_mat *X, tulle_op op, struct copy *copy, int64_t *copied)
{
    if (!is_copied(X, op)) return TULLE_OK;
    return X->symmetry == TULLE_GENERAL ? tulle__transposed_renew(X, &copy->transposed, copied)
                                        : tulle__expanded_renew(X, op, &copy->whole, &copy->of, copied);
}

static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    struct copies *c = (struct copies *)stage;
    tulle_product *plan = stage->plan;
    int64_t *copied = &plan->ways.copied;
    const tulle__operands *o = &plan->operands;
    TULLE_CALL(renew_copy(plan->A, plan->options.op_a, &c->A, copied));
    TULLE_CALL(renew_copy(plan->B, plan->options.op_b, &c->B, copied));
    tulle__plan_sees(plan, made(&c->A) ? made(&c->A) : o->A, made(&c->B) ? made(&c->B) : o->B, o->C);
    return TULLE_OK;
}

static tulle_status open(tulle__stage *stage)
{
    return renew(stage, NULL);
}

static size_t copy_bytes(const struct copy *copy)
{
    return copy->whole ? tulle__mat_own_bytes(copy->whole) : tulle__transposed_bytes(&copy->transposed);
}

static size_t bytes(const tulle__stage *stage)
{
    const struct copies *c = (const struct copies *)stage;
    return copy_bytes(&c->A) + copy_bytes(&c->B);
}

static void describe(const tulle__stage *stage, tulle__description *text)
{
    const struct copies *c = (const struct copies *)stage;
    if (made(&c->A)) snprintf(text->a, sizeof text->a, "%s", c->A.whole ? ", A a half" : ", A transposed");
    if (made(&c->B)) snprintf(text->b, sizeof text->b, "%s", c->B.whole ? ", B a half" : ", B transposed");
}

static void drop_copy(struct copy *copy)
{
    tulle__mat_drop(copy->whole);
    tulle__transposed_drop(&copy->transposed);
}

static void drop(tulle__stage *stage)
{
    struct copies *c = (struct copies *)stage;
    drop_copy(&c->A);
    drop_copy(&c->B);
}

const tulle__stage_ops tulle__copied_stage = {.size = sizeof(struct copies),
    .asked = asked,
    .in_effect = asked,
    .open = open,
    .at = {[TULLE__STAGE_RENEW] = renew},
    .bytes = bytes,
    .describe = describe,
    .free = drop};

const tulle_mat *tulle__copied_factor(const tulle_product *plan, bool of_a)
{
    const struct copies *c = (const struct copies *)tulle__stage_of(plan, &tulle__copied_stage);
    return !c ? NULL : of_a ? made(&c->A) : made(&c->B);
}
