/* SPDX-License-Identifier: Apache-2.0 */
/* State kept between executions: the plain product, and the stages above it (stage/stage.h). */
#ifndef TULLE_PRODUCT_PLAN_H
#define TULLE_PRODUCT_PLAN_H

#include "algo/chain/policy.h"
#include "algo/product/plan/target.h"

struct tulle__context;
struct tulle__runner;
struct tulle__stage;
struct tulle__exec;
struct tulle__sources;
struct tulle__block_order;
struct tulle__queue;
struct tulle__arena;

enum { TULLE__STAGES_MOST = 7 };

typedef struct tulle__stages {
    int count;
    struct tulle__stage *at[TULLE__STAGES_MOST];  /* outermost first */
    struct tulle__compressed_product *compressed; /* NULL, or the plan of hypersparse operands, which does all */
} tulle__stages;

/* Facts that stages tell the plain product. */
typedef struct tulle__ways {
    bool whole;     /* all columns of C are made in this execution, so that structures may be kept for the next */
    bool in_parts;  /* operands are cut further than the caller's: several jobs read a tile */
    bool reshaped;  /* C is changed after the product: it has no structure for the next one */
    int layers;     /* partial results of C, which a stage sums; 1: none */
    int64_t copied; /* bytes, before the execution at hand */
    /* Rows of a target below `rows` are complete; NULL: no PE waits for them. */
    void (*put)(struct tulle__exec *x, tulle__target *target, int64_t rows);
    /* Seconds that a stage adds to a dense product whose jobs take `compute`; NULL: nothing that is predicted. */
    tulle_status (*seconds)(
        const tulle_product *plan, const struct tulle_machine *machine, double compute, double *seconds);
} tulle__ways;

/* State of the execution at hand. */
typedef struct tulle__scalars {
    double alpha, beta;
    double job_beta; /* that jobs apply: 0 where layers are summed, which applies beta then */
} tulle__scalars;

/* Data shared by all sparse tasks of a plan: kernels, triangle, filter of the rows of all of C. */
typedef struct tulle__like {
    tulle__spgemm_task task;
    tulle__block_kernels kernels; /* by block size */
} tulle__like;

/* Partial results between PEs. */
typedef struct tulle__exchange {
    bool travels;               /* they may, between some PEs */
    struct tulle__queue *queue; /* NULL: none travels on any PE */
    struct tulle__arena *arena;
    void *scratch; /* a panel's worth, where panels are not read in place */
} tulle__exchange;

/* Figures for reports: the plan's, and those of its last execution with symbolic work. */
typedef struct tulle__figures {
    double predicted;        /* seconds; 0: not asked for */
    int64_t multiplications; /* by this PE */
    double largest;          /* of a unit of it */
    char text[352];
} tulle__figures;

struct tulle_product {
    tulle__owned owned;
    tulle_comm *comm;
    struct tulle__context *context;
    tulle_product_options options;
    const tulle_mat *A, *B; /* the caller's */
    tulle_mat *C;
    bool sparse;              /* C is CSR or in blocks */
    tulle__stages stages;     /* what lies above */
    tulle__ways ways;         /* as they say */
    tulle__operands operands; /* what they leave */
    tulle__scalars scalars;
    const tulle__policy *asked;  /* of the algorithm that was asked for, or chosen */
    const tulle__policy *policy; /* in effect (band.h) */
    bool direct;                 /* every tile of A and B can be read in place by every PE */
    int group;                   /* most k in one job */
    int lookahead;
    struct tulle__block_order *order; /* of jobs; NULL: the policy's */
    struct tulle__sources *sources;   /* of tiles, and of jobs that are claimed */
    struct tulle__runner *runner;     /* who multiplies */
    tulle__like like;
    tulle__targets targets;
    tulle__exchange exchange;
    tulle__known_structures known;
    tulle__figures figures;
};

/* Operands of what lies below. */
static inline void tulle__plan_sees(tulle_product *plan, const tulle_mat *A, const tulle_mat *B, tulle_mat *C)
{
    tulle__operands *o = &plan->operands;
    o->A = A;
    o->B = B;
    o->C = C;
    o->M = A->layout->mt;
    o->K = A->layout->nt;
    o->N = B->layout->nt;
}

/* Rows of an operand, or C, ascend; those of a half always do. Collective, agreed. */
static inline tulle_status tulle__order_operand(const tulle_mat *X)
{
    return X->symmetry == TULLE_GENERAL ? tulle__mat_order(X) : TULLE_OK;
}

/* True if stationary C makes it in blocks on devices. After the runner is there. */
bool tulle__plan_may_block(const tulle_product *plan);

void tulle__plan_drop(tulle_product *plan); /* local; NULL is allowed */
/* Forgets structures: parts and sent blocks. */
void tulle__plan_forget(tulle_product *plan);

/* A dense tile times beta, in place. */
tulle_status tulle__scale_tile(tulle_product *plan, const tulle_own_tile *tile, double beta);

#endif
