/* SPDX-License-Identifier: Apache-2.0 */
/* All of factors of which half is stored, in a copy that each execution renews. */
#include <stdio.h>

#include "algo/product/stage/stage.h"
#include "base/error.h"
#include "mat/half/expanded.h"

struct whole {
    tulle_mat *mat; /* NULL: the factor is not a half */
    uint64_t of;
};

struct half {
    tulle__stage stage;
    struct whole A, B;
};

static bool asked(const tulle_product *plan)
{
    return plan->A->symmetry != TULLE_GENERAL || plan->B->symmetry != TULLE_GENERAL;
}

static tulle_status renew_factor(const tulle_mat *X, tulle_op op, struct whole *made, int64_t *copied)
{
    return X->symmetry == TULLE_GENERAL ? TULLE_OK : tulle__expanded_renew(X, op, &made->mat, &made->of, copied);
}

static tulle_status renew(tulle__stage *stage, struct tulle__exec *x)
{
    (void)x;
    struct half *h = (struct half *)stage;
    tulle_product *plan = stage->plan;
    int64_t *copied = &plan->ways.copied;
    const tulle__operands *o = &plan->operands;
    tulle_status status;
    TULLE_TRY(renew_factor(plan->A, plan->options.op_a, &h->A, copied));
    TULLE_TRY(renew_factor(plan->B, plan->options.op_b, &h->B, copied));
    tulle__plan_sees(plan, h->A.mat ? h->A.mat : o->A, h->B.mat ? h->B.mat : o->B, o->C);
out:
    return status;
}

static tulle_status open(tulle__stage *stage)
{
    return renew(stage, NULL);
}

static size_t bytes(const tulle__stage *stage)
{
    const struct half *h = (const struct half *)stage;
    return (h->A.mat ? tulle__mat_own_bytes(h->A.mat) : 0) + (h->B.mat ? tulle__mat_own_bytes(h->B.mat) : 0);
}

static void describe(const tulle__stage *stage, tulle__description *text)
{
    const struct half *h = (const struct half *)stage;
    if (h->A.mat) snprintf(text->a, sizeof text->a, ", A a half");
    if (h->B.mat) snprintf(text->b, sizeof text->b, ", B a half");
}

static void drop(tulle__stage *stage)
{
    struct half *h = (struct half *)stage;
    tulle__mat_drop(h->A.mat);
    tulle__mat_drop(h->B.mat);
}

const tulle__stage_ops tulle__half_stage = {.size = sizeof(struct half),
    .asked = asked,
    .in_effect = asked,
    .open = open,
    .at = {[TULLE__STAGE_RENEW] = renew},
    .bytes = bytes,
    .describe = describe,
    .free = drop};
