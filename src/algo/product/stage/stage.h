/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: what lies between the caller's product and the plain one, which multiplies tiles of matching cuts into all of
 * C. A stage changes what lies below it sees as operands, or what happens around an execution; it tells the rest
 * through plan->ways and plan->like. Its struct is private to its file. The table (stages.c) has them outermost first,
 * and says which do not go together.
 *
 *   home        operands and results that stay on devices
 *   symmetric   one triangle of a symmetric C, which is mirrored at last
 *   half        all of a factor of which half is stored
 *   transposed  transposed copies of factors
 *   filter      products of blocks that are skipped, by the rows' numbers of blocks
 *   phases      ranges of C's columns, one an execution
 *   slices      parts of operands whose cuts do not match, or dealt to layers
 */
#ifndef TULLE_PRODUCT_STAGE_H
#define TULLE_PRODUCT_STAGE_H

#include "algo/product/plan/plan.h"

typedef struct tulle__stage tulle__stage;

/* Operations; NULL where there is nothing to do. Those with a status are collective and agreed, unless they say. */
typedef struct tulle__stage_ops {
    const char *name;
    size_t size; /* of its struct, which begins with a tulle__stage */
    /* Whether a plan gets one. */
    bool (*asked)(const tulle_product *plan);
    /* Whether it does anything in this plan, once it is settled. */
    bool (*in_effect)(const tulle_product *plan);
    /* The plan is made: operands become what lies below. */
    tulle_status (*open)(tulle__stage *stage);
    /* How tiles are read is known; operands may change once more. */
    tulle_status (*arrange)(tulle__stage *stage);
    /* The policy is known, and what it needs is there. */
    tulle_status (*settle)(tulle__stage *stage);
    /* An execution begins, with new values or a new structure; *copied grows by the bytes that it copies. */
    tulle_status (*renew)(tulle__stage *stage, int64_t *copied);
    /* All contributions to this PE's tiles of what lies below are there. No agreement. */
    tulle_status (*join)(tulle__stage *stage, struct tulle__exec *x);
    /* The execution ends, or has failed: nothing is under way any more. */
    void (*end)(tulle__stage *stage);
    /* All PEs have made their tiles. */
    tulle_status (*complete)(tulle__stage *stage, struct tulle__exec *x);
    /* The execution has failed on some PE. */
    void (*undo)(tulle__stage *stage);
    /* The caller gives the plan up, before a team does. */
    void (*close)(tulle__stage *stage);
    size_t (*bytes)(const tulle__stage *stage);
    void (*describe)(const tulle__stage *stage, tulle__description *text);
    /* Of what the struct holds; also after a failed open. */
    void (*free)(tulle__stage *stage);
} tulle__stage_ops;

struct tulle__stage {
    const tulle__stage_ops *ops;
    tulle_product *plan;
};

extern const tulle__stage_ops tulle__home_stage, tulle__symmetric_stage, tulle__half_stage, tulle__transposed_stage,
    tulle__filter_stage, tulle__phases_stage, tulle__slices_stage;

/* The plan's stage with these operations; NULL: it has none. */
tulle__stage *tulle__stage_of(const tulle_product *plan, const tulle__stage_ops *ops);

/* What follows calls an operation of all stages: outermost first, but join and complete outermost last. */
tulle_status tulle__stages_open(tulle_product *plan);
tulle_status tulle__stages_arrange(tulle_product *plan);
tulle_status tulle__stages_settle(tulle_product *plan);
tulle_status tulle__stages_renew(tulle_product *plan, int64_t *copied);
tulle_status tulle__stages_join(tulle_product *plan, struct tulle__exec *x);
void tulle__stages_end(tulle_product *plan);
tulle_status tulle__stages_complete(tulle_product *plan, struct tulle__exec *x);
void tulle__stages_undo(tulle_product *plan);
void tulle__stages_close(tulle_product *plan);
size_t tulle__stages_bytes(const tulle_product *plan);
void tulle__stages_describe(const tulle_product *plan, tulle__description *text);
void tulle__stages_free(tulle_product *plan);

/* Refuses what does not go together, when a plan is made, or (ranges) before a range of columns is. Local. */
tulle_status tulle__stages_go_together(const tulle_product *plan, bool ranges);

#endif
