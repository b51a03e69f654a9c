/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: what lies between the caller's product and the plain one, which multiplies tiles of matching cuts into all of
 * C. A stage changes what lies below it sees as operands, or what happens around an execution; it tells the rest
 * through plan->ways and plan->like. Its struct is private to its file. The table (stages.c) has them outermost first,
 * and says which do not go together.
 *
 *   resident    operands and results that stay on devices
 *   selection   entries of rows of C that are kept
 *   symmetric   one triangle of a symmetric C, which is mirrored at last
 *   copied      all of a factor of which half is stored, and transposes of others
 *   filter      products of blocks that are skipped, by the rows' numbers of blocks
 *   phases      ranges of C's columns, one an execution
 *   slices      parts of operands whose cuts do not match, or dealt to layers
 */
#ifndef TULLE_PRODUCT_STAGE_H
#define TULLE_PRODUCT_STAGE_H

#include "algo/product/plan/plan.h"

typedef struct tulle__stage tulle__stage;

/* When a stage has something to do. Collective and agreed, unless they say. */
typedef enum tulle__moment {
    TULLE__STAGE_ARRANGE,  /* a plan: how tiles are read is known; operands may change once more */
    TULLE__STAGE_READY,    /* a plan: the policy is known, and what it needs is there */
    TULLE__STAGE_RENEW,    /* an execution begins, with new values or structures; ways.copied grows by bytes copied */
    TULLE__STAGE_JOIN,     /* all contributions to this PE's tiles of what lies below are there; no agreement */
    TULLE__STAGE_END,      /* it ends, or has failed here: nothing is under way any more; local, without a failure */
    TULLE__STAGE_COMPLETE, /* all PEs have made their tiles */
    TULLE__STAGE_UNDO,     /* it has failed on some PE; local, without a failure */
    TULLE__STAGE_CLOSE,    /* the caller frees the plan, before a team does; the same */
    TULLE__MOMENTS
} tulle__moment;

/* Pieces of a plan's text. */
typedef struct tulle__description {
    char parts[64], a[24], b[24], kept[96];
} tulle__description;

/* NULL where there is nothing to do. */
typedef struct tulle__stage_ops {
    size_t size; /* of its struct, which begins with a tulle__stage */
    /* True if a plan gets one. */
    bool (*asked)(const tulle_product *plan);
    /* True if it does anything in this plan, once it is settled. */
    bool (*in_effect)(const tulle_product *plan);
    /* The plan is made: operands become what lies below. Collective, agreed. */
    tulle_status (*open)(tulle__stage *stage);
    /* x: of the execution, NULL where there is none. */
    tulle_status (*at[TULLE__MOMENTS])(tulle__stage *stage, struct tulle__exec *x);
    size_t (*bytes)(const tulle__stage *stage);
    void (*describe)(const tulle__stage *stage, tulle__description *text);
    /* Frees what the struct holds; also after a failed open. */
    void (*free)(tulle__stage *stage);
} tulle__stage_ops;

struct tulle__stage {
    const tulle__stage_ops *ops;
    tulle_product *plan;
};

extern const tulle__stage_ops tulle__resident_stage, tulle__symmetric_stage, tulle__copied_stage, tulle__filter_stage,
    tulle__phases_stage, tulle__slices_stage, tulle__selection_stage;

/* The plan's stage with these operations; NULL: it has none. */
tulle__stage *tulle__stage_of(const tulle_product *plan, const tulle__stage_ops *ops);

tulle_status tulle__stages_open(tulle_product *plan);
/* All stages, outermost first; to join and to complete outermost last. */
tulle_status tulle__stages_at(tulle_product *plan, tulle__moment moment, struct tulle__exec *x);
size_t tulle__stages_bytes(const tulle_product *plan);
void tulle__stages_describe(const tulle_product *plan, tulle__description *text);
void tulle__stages_free(tulle_product *plan);

/* Refuses what does not go together, when a plan is made, or (ranges) before a range of columns is. Local. */
tulle_status tulle__stages_go_together(const tulle_product *plan, bool ranges);

#endif
