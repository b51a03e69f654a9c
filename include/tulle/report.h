/* SPDX-License-Identifier: Apache-2.0 */
/* What a run tells. Seconds are wall-clock, or virtual where the engine simulates (tulle_team_virtual); sums over PEs
 * are exact, maxima and means are over the PEs of the comm. */
#ifndef TULLE_REPORT_H
#define TULLE_REPORT_H

#include <stdbool.h>

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_imbalance {
    double max, mean;
} tulle_imbalance;

/* What the devices of a product have done. Copies of tiles: uploads [0] and downloads [1]. */
typedef struct tulle_device_work {
    int devices;                 /* of each PE; 0: the host multiplied, all else is 0 */
    int64_t copies[2], bytes[2]; /* of all PEs */
    int64_t kernels;
    int64_t hits;           /* operands that lay on their device already */
    double copy_seconds[2]; /* that links were at work, all devices together */
    double kernel_seconds;  /* that kernels were at work */
} tulle_device_work;

typedef struct tulle_product_report {
    double seconds;              /* of the call, the slowest PE */
    tulle_imbalance compute;     /* local kernels */
    tulle_imbalance communicate; /* starting transfers and waiting for them: what was not hidden */
    tulle_imbalance accumulate;  /* draining, adding and merging partial results */
    tulle_imbalance wait;        /* for other PEs at the end: load imbalance in time */
    double load_imbalance;       /* max / mean over the PEs of the multiplications done by each */
    int64_t flops;               /* 2 x multiplications */
    int64_t bytes_moved;         /* got and put by all PEs; what is read in place does not move */
    int64_t messages;            /* gets and puts that this took */
    int64_t partials;            /* partial results sent */
    int64_t units;               /* products of an A tile and a B tile, or of a band of its rows under stealing */
    int64_t stolen;              /* of them, those that a PE took from another's share */
    double largest_unit;         /* multiplications of the largest unit that was done, over a PE's mean: what stealing
                                    cannot balance; of units done together their mean */
    int64_t probes;              /* attempts to take some, each one atomic on another PE's memory */
    int64_t nnz_c;               /* CSR: entries of C; dense: m n */
    /* Pairs of a tile of A and a remote one of B where it was chosen what moves (tulle_transfers): B whole, by rows, in
       part partial rows of C; of which the cover was not found by flow. Stationary C and A; all 0 where all is whole.
     */
    int64_t whole_pairs, rows_pairs, cover_pairs, greedy_pairs;
    int64_t pair_bytes;       /* that those pairs move in a first execution: of a sparse C at most */
    int64_t cover_bound;      /* what every cover of those pairs moves at least, by the dual of its linear program */
    bool reused;              /* no symbolic work was done, but for what was stolen */
    int phases;               /* ranges of columns that C was made in so far (tulle_product_next); 1: all at once */
    int dropped;              /* ranges that did not fit in memory and were made again in halves */
    int replication;          /* layers of the plan; 1: none */
    bool unordered;           /* the rows of C may be in no order (tulle_mat_ordered) */
    double predicted_seconds; /* of one execution, by the model; 0: nothing was predicted, as of layouts that do not
                                 match and of layers */
    tulle_device_work device; /* of the execution */
} tulle_product_report;

/*
 * Local: *sum becomes the report of the executions that it describes and of one more, of the next range of columns of
 * the same plan. A *sum that is all zeros describes none. Seconds and counts add up; of the slowest PE too, as all PEs
 * meet between ranges, so that max is at least the largest sum of a PE. load_imbalance and largest_unit become those of
 * the work of all ranges. What is a property of the plan (pairs, cover_bound, replication, predicted_seconds) stays,
 * and phases and dropped are those of the last.
 */
TULLE_API void tulle_product_report_add(tulle_product_report *sum, const tulle_product_report *one);

#ifdef __cplusplus
}
#endif
#endif
