/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The performance model of products: section 4 of Brock, Buluc, Yelick, "RDMA-based algorithms for
 * sparse matrix multiplication on GPUs", ICS 2024 ("the paper"), with counts in place of its
 * averages. Operation counts hold the multiplications of each tile product A[i,k] B[k,j] in given
 * layouts. From these and a machine the model predicts the transfers and the time of each
 * algorithm, for any number of PEs, without a run.
 *
 * Seconds of one PE:
 *   kernel     flops / min(peak, intensity x bandwidth, measured rate): tulle_roofline_spmm,
 *              tulle_roofline_spgemm, tulle_roofline_gemm; products of blocks: by their size
 *   transfer   latency + bytes / bandwidth of the tier between the two PEs
 *   asynchronous algorithms   max(transfers of all tiles, all kernels) + accumulation; under stealing,
 *              tile products go to idle PEs, one after the other
 *   SUMMA, Cannon   the sum over the steps of the longest transfer plus the longest kernels of a PE,
 *              or of the larger of the two if transfers overlap
 *
 * A product takes as long as the slowest PE, or as a PE whose memory all others read at its
 * bandwidth. Of a tile of B only the rows required by the tile of A are counted, if that is on the
 * PE (transfers in the options). Under stationary C a PE may multiply several k at once: fewer
 * contributions to a sparse C are merged then, but less of the fetching is hidden. The fastest
 * number is part of the prediction, and plans use it.
 */
#ifndef TULLE_MODEL_H
#define TULLE_MODEL_H

#include <tulle/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rooflines, per PE ---- */

typedef struct tulle_roofline {
    double intensity; /* flops a byte */
    double rate;      /* flops a second: the smaller of peak and intensity x bandwidth (the paper prints the larger) */
} tulle_roofline;

/*
 * Not collective. The local roofline of SpMM of an m x k tile of nnz entries by n columns, values
 * of w bytes, indices of 4, row pointers of 8: 2 nnz n flops by nnz (w + 4) + 8 (m + 1) + w (m n +
 * min(k, nnz) n) bytes: the paper's formula, with only the required rows of B. threads: of the PE.
 */
TULLE_API tulle_roofline tulle_roofline_spmm(
    const tulle_machine *machine, int threads, tulle_type type, double m, double k, double nnz, double n);

/*
 * Not collective. The local roofline of SpGEMM with compression factor cf, multiplications per
 * entry of C: Gu, Moreira, Edelsohn, Azad 2020, as in the paper: cf / ((3 + 2 cf) b)
 * multiplications a byte, b = w + 4 bytes an entry; 2 flops each.
 */
TULLE_API tulle_roofline tulle_roofline_spgemm(const tulle_machine *machine, int threads, tulle_type type, double cf);

/*
 * Not collective. The local roofline of a dense product, m x k times k x n, values of w bytes:
 * 2 m k n flops by w (m k + k n + m n) bytes.
 */
TULLE_API tulle_roofline tulle_roofline_gemm(
    const tulle_machine *machine, int threads, tulle_type type, double m, double k, double n);

/*
 * Not collective. The roofline of a PE that moves `bytes` for `flops`: the smaller of `local` and
 * intensity x bandwidth.
 */
TULLE_API tulle_roofline tulle_roofline_network(
    const tulle_machine *machine, int pes, double local, double flops, double bytes);

/* ---- counting ---- */

typedef struct tulle_counts tulle_counts;

typedef enum tulle_counting {
    TULLE_COUNT_FLOPS, /* exact multiplications of each tile product; entries of C are estimated from some rows */
    TULLE_COUNT_RESULT /* also the entries of C and of each partial result; takes as long as a symbolic product */
} tulle_counting;

/*
 * A hypothetical product: layouts of A, B and C as for tulle_product_new, for `pes` PEs that need
 * not exist.
 */
typedef struct tulle_counts_spec {
    const tulle_layout *a, *b, *c;
    int pes;
    tulle_type type;
    tulle_counting counting;
    bool in_place; /* every PE reads every tile in place (a partial result then belongs to a whole chain) */
    /* VBSR: as in tulle_product_options, with alpha = 1; blocks that it removes at the end are counted */
    double filter;
} tulle_counts_spec;

/*
 * Collective over the comm of A. A and B are CSR, or both in blocks, in any layouts, with tiles of
 * whole rows if entries of C are to be counted; each PE counts its own entries of A; B NULL: dense.
 * The layouts of a product of blocks have the block cuts of A and B; multiplications are then those
 * that the filter leaves. The matrices are not changed. TULLE_ERR_LIMIT if there are too many tile
 * products.
 */
TULLE_API tulle_status tulle_counts_new(
    const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *spec, tulle_counts **counts);
TULLE_API void tulle_counts_free(tulle_counts *counts);

/* Not collective. */
TULLE_API double tulle_counts_flops(const tulle_counts *counts);   /* 2 x multiplications */
TULLE_API double tulle_counts_entries(const tulle_counts *counts); /* of C; dense: m n */

/*
 * Not collective. The flops of products of blocks by size, flops[TULLE_BLOCK_SIZES]: flops[s] of
 * products with 8^s to below 8^(s + 1) multiplications, so of cubes of 2^s to 2^(s + 1); the last one
 * of all larger. All 0 if the factors are not in blocks.
 */
enum { TULLE_BLOCK_SIZES = 8 };
TULLE_API void tulle_counts_block_flops(const tulle_counts *counts, double *flops);

/* ---- predicting ---- */

typedef struct tulle_model_options {
    size_t size;        /* of this struct; 0: as in the first release */
    int threads;        /* of each PE; 0: 1 */
    int lookahead;      /* as in tulle_product_options */
    bool deterministic; /* as there */
    /*
     * as there: bytes of WHOLE are exact, those of rows of B an estimate. Partial rows of C, and
     * rows fetched once a node, are not counted: a run may move less than predicted
     */
    tulle_transfers transfers;
    bool asynchronous; /* choose among the algorithms without steps only, not SUMMA or Cannon */
    size_t panel;      /* bytes of a panel of partial results; 0: 8 MiB */
    double capacity;   /* bytes for fetched tiles on a PE; 0: unlimited */
    bool symmetric_c;  /* as there: half of the multiplications of each tile; a mirrored C is not counted */
} tulle_model_options;

typedef struct tulle_prediction {
    tulle_product_alg alg;
    /* false: the algorithm does not support these layouts; the other fields are 0 then */
    bool suits;
    int batch;                   /* most k that a PE multiplies at once */
    double seconds;              /* of an execution, the slowest PE */
    tulle_imbalance compute;     /* the same phases as in a report */
    tulle_imbalance communicate; /* what is not hidden behind kernels */
    tulle_imbalance accumulate;
    tulle_imbalance wait;
    double load_imbalance; /* max / mean of the multiplications of each PE */
    /*
     * as in the report of a first execution; exact for static algorithms, if entries were counted
     */
    double bytes_moved, messages, partials;
    double roofline; /* seconds of a product at the local roofline, on equally loaded PEs */
} tulle_prediction;

/* Not collective. options may be NULL. alg is not AUTO. */
TULLE_API tulle_status tulle_predict(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, tulle_prediction *prediction);

/*
 * Not collective: the algorithm that AUTO chooses, with the shortest predicted time; within 2 % the
 * first in the list.
 */
TULLE_API tulle_status tulle_predict_best(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, tulle_prediction *best);

/*
 * Not collective: multiplications[pes] and transferred bytes[pes] of each PE under alg. UNSUPPORTED
 * if it does not suit.
 */
TULLE_API tulle_status tulle_predict_loads(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, double *multiplications, double *bytes);

/* ---- devices ---- */

/* The devices of each PE, which need not exist. */
typedef struct tulle_device_model {
    size_t size;   /* of this struct; 0: as in the first release */
    int devices;   /* 0: 1 */
    double memory; /* bytes of each */
    double link;   /* bytes a second of each, up and down at the same time; 0: copies take no time */
    double peer;   /* from another device of the PE; 0: everything comes from the host */
    double flops;  /* a second of each; 0: all of a PE are as fast as its threads */
} tulle_device_model;

typedef struct tulle_device_prediction {
    /* false: of an algorithm that steals, or whose results leave in parts (stationary A and B); all else is 0 then */
    bool suits;
    /*
     * true: bytes are those of the first execution of a run, as no tile makes room for another, and each
     * sparse tile of C is one job's; else an estimate
     */
    bool exact;
    int64_t bytes[3];       /* of all PEs: up, down, between devices of a PE; as in tulle_device_work */
    int64_t memory;         /* largest use of a device */
    double copy_seconds[3]; /* of the slowest device */
    double seconds;         /* the largest of these, of kernels and of transfers that are not hidden */
} tulle_device_prediction;

/*
 * Not collective: what a predicted product of CSR matrices, or of one with a dense one, copies to and
 * from devices. TULLE_ERR_LIMIT if these do not hold the tiles of one product of tiles;
 * TULLE_ERR_UNSUPPORTED for blocks.
 */
TULLE_API tulle_status tulle_predict_devices(const tulle_counts *counts, const tulle_prediction *prediction,
    const tulle_device_model *devices, tulle_device_prediction *out);

#ifdef __cplusplus
}
#endif
#endif
