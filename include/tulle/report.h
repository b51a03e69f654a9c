/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a run. Seconds are wall-clock, or virtual in a simulation (tulle_team_virtual);
 * sums over PEs are exact, maxima and means are over the PEs of the comm.
 */
#ifndef TULLE_REPORT_H
#define TULLE_REPORT_H

#include <stdbool.h>

#include <tulle/gemm_blocks.h>
#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_imbalance {
    double max, mean;
} tulle_imbalance;

/*
 * Products that the device's library (cuSPARSE) did not support, so that Tulle's own kernels made
 * them: bits.
 */
typedef enum tulle_refused {
    TULLE_REFUSED_CSR = 1,       /* slabs of single entries */
    TULLE_REFUSED_BSR = 2,       /* slabs of blocks */
    TULLE_REFUSED_TILE = 4,      /* sparse tiles times dense ones */
    TULLE_REFUSED_TRANSPOSED = 8 /* the same, with a column-major dense tile */
} tulle_refused;

/*
 * Work that the devices of a product have done. Copies of tiles: uploads [0], downloads [1], and copies
 * [2] that came from another device of the same PE.
 */
typedef struct tulle_device_work {
    int devices;                 /* of each PE; 0: the host multiplied, all else is 0 */
    int64_t copies[3], bytes[3]; /* of all PEs */
    int64_t kernels;
    int64_t hits;           /* operands that lay on their device already */
    double copy_seconds[3]; /* that links were at work, all devices together */
    double kernel_seconds;  /* that kernels were at work */
    int refused;            /* bits of tulle_refused, so far */
} tulle_device_work;

/* The kernels that multiply blocks: Tulle's own, LIBXSMM's, the BLAS. */
typedef enum tulle_block_kernel {
    TULLE_BLOCK_OWN,
    TULLE_BLOCK_LIBXSMM,
    TULLE_BLOCK_BLAS,
    TULLE_BLOCK_KERNELS
} tulle_block_kernel;

typedef struct tulle_product_report {
    double seconds;              /* of the call, the slowest PE */
    tulle_imbalance compute;     /* local kernels */
    tulle_imbalance communicate; /* starting transfers and waiting for them: communication that was not hidden */
    tulle_imbalance accumulate;  /* draining, adding and merging partial results */
    tulle_imbalance wait;        /* for other PEs at the end: load imbalance in time */
    double load_imbalance;       /* max / mean over the PEs of the multiplications done by each */
    int64_t flops;               /* 2 x multiplications */
    int64_t bytes_moved;         /* bytes of gets and puts of all PEs; reads in place are not counted */
    int64_t messages;            /* number of these gets and puts */
    int64_t partials;            /* partial results sent */
    int64_t units;               /* tile products, or bands of their rows under stealing */
    int64_t stolen;              /* stolen ones among these */
    /*
     * multiplications of the largest of these, over a PE's mean: what stealing cannot balance; tile
     * products multiplied together count with their mean
     */
    double largest_unit;
    int64_t probes; /* steal attempts, each one atomic on another PE's memory */
    int64_t nnz_c;  /* CSR: entries of C; dense: m n */
    /*
     * Pairs of a tile of A and a remote one of B for which a transfer was chosen (tulle_transfers):
     * B whole, rows of B, partly partial rows of C; and covers not found by flow. Stationary C and
     * A; all 0 with whole tiles.
     */
    int64_t whole_pairs, rows_pairs, cover_pairs, greedy_pairs;
    int64_t pair_bytes; /* bytes of those pairs in a first execution; for a sparse C at most */
    /* a lower bound on the bytes of any cover of those pairs, by the dual of its linear program */
    int64_t cover_bound;
    bool reused;     /* no symbolic work was done, except for stolen items */
    int phases;      /* ranges of columns of C so far (tulle_product_next); 1: all at once */
    int dropped;     /* ranges that did not fit in memory and were repeated in halves */
    int replication; /* layers of the plan; 1: none */
    bool unordered;  /* rows of C may be unordered (tulle_mat_ordered) */
    /*
     * of one execution, by the model; 0: no prediction, as with layouts that do not match and with
     * layers
     */
    double predicted_seconds;
    tulle_device_work device; /* of the execution */
    /* with a filter: products of blocks that were skipped, blocks that were removed from C */
    int64_t skipped_products, filtered_blocks;
    /*
     * A dense product in blocks on devices: PE 0's blocks; copies and bytes are those that the model
     * predicts for `device`, of all PEs. All 0: not in blocks
     */
    tulle_gemm_blocks blocks;
    /*
     * with a filter: blocks of remote tiles that stayed where they are, as no product of them survives,
     * and the bytes of their values. Norms come first (static algorithms, tiles one by one)
     */
    int64_t unfetched_blocks, unfetched_bytes;
    int64_t kernel_flops[TULLE_BLOCK_KERNELS]; /* in blocks, on the host: of each kernel (tulle_machine, block_from) */
} tulle_product_report;

/*
 * Local: adds one more execution, of the next range of columns of the same plan, to *sum, which
 * describes none if it is all zeros. Seconds and counts add up, including those of the slowest PE:
 * all PEs meet between ranges, so max is at least the largest sum of a PE. load_imbalance and
 * largest_unit become those of the work of all ranges. Properties of the plan (pairs, cover_bound,
 * replication, predicted_seconds) stay; phases and dropped are those of the last.
 */
TULLE_API void tulle_product_report_add(tulle_product_report *sum, const tulle_product_report *one);

#ifdef __cplusplus
}
#endif
#endif
