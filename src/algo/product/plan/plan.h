/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan keeps between executions. */
#ifndef TULLE_PRODUCT_PLAN_H
#define TULLE_PRODUCT_PLAN_H

#include "algo/chain/block_order.h"
#include "algo/chain/policy.h"
#include "algo/product/plan/result_size.h"
#include "algo/product/plan/slice.h"
#include "algo/product/run/runner.h"
#include "algo/product/source/last_job.h"
#include "algo/product/source/norm_source.h"
#include "algo/product/source/operand_cache.h"
#include "algo/product/source/panel.h"
#include "algo/product/source/required_source.h"
#include "algo/steal/steal.h"
#include "comm/arena.h"
#include "comm/queue.h"
#include "mat/context.h"
#include "mat/fetch.h"
#include "mat/reshape/transposed.h"

/*
 * One summand of a sparse C tile: the result of one job, mine or another PE's. Parts are added in
 * the order of keys, and of one key in the order of ranks.
 */
typedef struct tulle__part {
    int key;     /* the first k of the job: no two jobs of a PE and a tile share one and a row */
    int rank;    /* who made it */
    int64_t row; /* of C's tile, as all rows of a sparse result: block rows if C is in blocks */
    tulle__result_size size;
    char *block; /* arrays as in a tile of C; NULL: nothing came yet */
    /* of delegated rows: their row pointers as a whole tile has them; NULL until merged */
    int64_t *spread;
} tulle__part;

/* An own tile of C and what is to be added into it. */
typedef struct tulle__target {
    int i, j;
    int units; /* that it is the sum of */
    int nparts, room;
    tulle__part *part; /* sparse C with more than one contribution */
    int made;          /* units that were multiplied here into it in this execution */
    int scaled;        /* dense C: beta has been applied in this execution */
    int64_t put;       /* rows that are on their way to the owner of C, of a layer's result */
    int placed;        /* sparse C: one job was all, its result is in the tile */
} tulle__target;

/*
 * The structure of a partial result that this PE sends, kept so that later executions send values
 * only.
 */
typedef struct tulle__sent {
    tulle__result_size size;
    char *block;
} tulle__sent;

/*
 * The columns of C that are made at a time (phase.h). Of a tile column of n columns these are [n lo
 * / of, n hi / of), so that each range has work for all PEs. Ranges follow each other from 0 to
 * `of`, the widest tile column.
 */
typedef struct tulle__phases {
    tulle_gidx lo, hi, of; /* in C now, or being made */
    /* 1: all of them, so that structures may be kept for the next execution */
    int whole;
    int guessed;     /* 1: its width follows from what an entry is thought to take */
    int number;      /* of the range, from 0 */
    tulle_gidx next; /* where the next range begins */
    int expected;    /* ranges, when the plan was made */
    int fixed;       /* as many as the caller asked for; 0: as many as memory demands */
    /* bytes for a range on each PE, and bytes that an entry of C takes while it is made */
    double room, entry;
    tulle_gidx width; /* of the next range, as what the last one took suggests */
    tulle_gidx *end;  /* [known]: where ranges ended that fitted */
    int known, room_known;
    int dropped; /* ranges that did not fit, since the last execution began */
} tulle__phases;

struct tulle_product {
    tulle__owned owned;
    tulle_comm *comm;
    tulle__context *context;
    tulle_product_options options;
    const tulle__policy *asked;  /* of the algorithm that was asked for, or chosen */
    const tulle__policy *policy; /* in effect (band.h) */
    const tulle_mat *A, *B;      /* the caller's */
    tulle_mat *C;
    tulle__transposed At, Bt; /* transposed copies, or all of halves; mat NULL: the operand is used as it is */
    tulle__slices slices;     /* of operands whose cuts do not match */
    tulle__operands operands;
    double alpha, beta; /* of the execution at hand */
    double job_beta;    /* that jobs apply: 0 where layers are summed, which applies beta then */
    int sparse;         /* C is CSR or in blocks */
    double *least;      /* [block rows of C]: of tulle__spgemm_task, for one tile after the other; NULL: no filter */
    uint64_t counted_blocks;            /* A's structure that it is of */
    double counted_alpha;               /* and alpha */
    tulle__block_kernels block_kernels; /* by block size */
    int direct;                         /* every tile of A and B can be read in place by every PE */
    int group;                          /* most k in one job */
    int lookahead;
    bool blocked;              /* jobs come in blocks of C */
    tulle__block_order blocks; /* then */
    tulle__queue *queue;       /* NULL: no partial result travels on any PE */
    tulle__arena *arena;
    void *scratch; /* a panel's worth, where panels are not read in place */
    int ntargets;
    tulle__target *target;
    /* [tiles of operands.C]: index into target, -1: not mine */
    int *target_of;
    int *column;   /* [tile columns of C]: their numbers among those that are mine */
    int *chain;    /* [K]: room to walk through one */
    double *share; /* [PEs]: room to weigh all */
    /* of all own tiles of C: what must have come before an execution ends */
    int64_t units;
    int travels;                         /* partial results may travel between some PEs */
    uint64_t counted_A, counted_B;       /* structures that the units were counted for */
    tulle__steal *steal;                 /* claims; NULL: all PEs keep to their own chains */
    tulle__source *source;               /* of tiles: the top of a stack of the following */
    tulle__single_tiles single_tiles;    /* each tile is fetched by itself */
    tulle__panels *panels;               /* NULL: not so in steps */
    tulle__required *required;           /* NULL: tiles are fetched whole */
    tulle__required_source by_rows;      /* over it */
    tulle__operand_cache *operand_cache; /* NULL: each job fetches what it reads */
    tulle__last_job *last_job;           /* NULL: nor from the job before */
    tulle__norm_source *norms;           /* NULL: blocks are fetched with their tiles */
    tulle__transfer_costs prices;        /* that it goes by */
    tulle__runner *runner;               /* who multiplies */
    int64_t njobs, sent_room;
    tulle__sent *sent; /* [njobs] */
    tulle__phases phases;
    double predicted;        /* seconds; 0: not asked for */
    int64_t multiplications; /* by this PE, of the last execution with symbolic work */
    double largest;          /* of a unit of it */
    /* structures for which no symbolic work is needed; 0: none yet */
    uint64_t known_A, known_B, known_C;
    char text[256];
};

/* Rows of an operand, or C, ascend; those of a half always do. Collective, agreed. */
static inline tulle_status tulle__order_operand(const tulle_mat *X)
{
    return X->symmetry == TULLE_GENERAL ? tulle__mat_order(X) : TULLE_OK;
}

/*
 * Of symmetric_c, the squares of blocks of a half. On one PE there is one square, so that its lower triangle is made:
 * runs of blocks are longest then.
 */
static inline int tulle__plan_half_shift(const tulle_product *plan)
{
    enum { ONE = 62 };
    return plan->comm->size == 1 && plan->C->symmetry == TULLE_GENERAL
               ? ONE
               : tulle__half_shift(plan->C->layout->row_blocks.count);
}

/*
 * Whether kernels may leave the rows of C in no order: not where its parts are cut or merged
 * afterwards.
 */
static inline int tulle__plan_unordered(const tulle_product *plan)
{
    return plan->options.unordered && plan->C->kind == TULLE_CSR && plan->operands.C == plan->C &&
           !plan->slices.layer_of && !plan->options.home_on_device; /* operands of other plans there ascend */
}

/*
 * Transposed operands become what the operands are now. Collective, agreed. *copied: as of
 * tulle__transposed_renew.
 */
tulle_status tulle__plan_transpose(tulle_product *plan, int64_t *copied);

/*
 * Counts units anew if the structure of a factor has changed. Local, with the same outcome on all
 * PEs.
 */
void tulle__plan_count(tulle_product *plan);

/* Queue, arena and reservations, collective with agreement. */
tulle_status tulle__plan_connect(tulle_product *plan);
void tulle__plan_disconnect(tulle_product *plan);

/* Forgets structures: parts and sent blocks. */
void tulle__plan_forget(tulle_product *plan);
void tulle__target_drop_parts(tulle__target *target);

/* A dense tile times beta, in place. */
tulle_status tulle__scale_tile(tulle_product *plan, const tulle_own_tile *tile, double beta);

#endif
