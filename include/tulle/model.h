/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The performance model of products: section 4 of Brock, Buluc, Yelick, "RDMA-based algorithms for sparse matrix
 * multiplication on GPUs", ICS 2024 ("the paper"), with counts in place of its averages. A census holds how many
 * multiplications each unit (A[i,k] times B[k,j]) of a product in given layouts takes; from it and from a machine
 * follows what each algorithm moves and how long it takes, for any number of PEs, without running them.
 *
 * Seconds of one PE:
 *   kernel     flops / min(peak, intensity x bandwidth, measured rate): tulle_roofline_spmm, tulle_roofline_spgemm
 *   transfer   latency + bytes / bandwidth of the tier between the two PEs
 *   asynchronous algorithms   max(transfers of all tiles, all kernels) + accumulation; under stealing units go to who
 *                             would otherwise be idle, one after the other
 *   SUMMA, Cannon             sum over the steps of the longest transfer and the longest kernels of a PE, or of the
 *                             larger of the two where the next step's tiles come meanwhile
 * and the product takes as long as the slowest PE, or as a PE whose memory all others read at its bandwidth.
 * Of a tile of B only those rows count that the tile of A names, if that lies on the PE (transfers in the options).
 * Under stationary C a PE may multiply several k at once: fewer summands of a sparse C are then to be merged, but less
 * of the fetching is hidden. The number that takes the least time is part of the prediction, and what a plan goes by.
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
 * Not collective. The local roof of SpMM of an m x k tile of nnz entries by n columns, values of w bytes, indices of 4,
 * row pointers of 8: 2 nnz n flops by nnz (w + 4) + 8 (m + 1) + w (m n + min(k, nnz) n) bytes; the paper's formula,
 * with only those rows of B that any entry asks for. threads: of the PE.
 */
TULLE_API tulle_roofline tulle_roofline_spmm(
    const tulle_machine *machine, int threads, tulle_type type, double m, double k, double nnz, double n);

/*
 * Not collective. The local roof of SpGEMM of compression factor cf, multiplications for an entry of C: Gu, Moreira,
 * Edelsohn, Azad 2020, as the paper uses it: cf / ((3 + 2 cf) b) multiplications a byte, b = w + 4 bytes an entry; 2
 * flops each.
 */
TULLE_API tulle_roofline tulle_roofline_spgemm(const tulle_machine *machine, int threads, tulle_type type, double cf);

/* Not collective. The roof of a PE that moves `bytes` for `flops`: the smaller of `local` and intensity x bandwidth. */
TULLE_API tulle_roofline tulle_roofline_network(
    const tulle_machine *machine, int pes, double local, double flops, double bytes);

/* ---- counting ---- */

typedef struct tulle_counts tulle_counts;

typedef enum tulle_counting {
    TULLE_COUNT_FLOPS, /* multiplications of each unit exactly; entries of C estimated from some rows */
    TULLE_COUNT_RESULT /* also the entries of C and of each partial result: takes as long as a symbolic product */
} tulle_counting;

/* What a product would be: layouts of A, B and C as for tulle_product_new, for `pes` PEs that need not exist. */
typedef struct tulle_counts_spec {
    const tulle_layout *a, *b, *c;
    int pes;
    tulle_type type;
    tulle_counting counting;
    bool in_place; /* every tile is read in place by every PE (then a partial result is that of a whole chain) */
} tulle_counts_spec;

/*
 * Collective over the comm of A. A and B are CSR in any layouts, of whole rows if entries of C are to be counted; each
 * PE counts the entries of A that it has; B NULL: dense. The matrices stay as they are. TULLE_ERR_LIMIT if there are
 * too many units to keep.
 */
TULLE_API tulle_status tulle_counts_new(
    const tulle_mat *A, const tulle_mat *B, const tulle_counts_spec *spec, tulle_counts **census);
TULLE_API void tulle_counts_free(tulle_counts *census);

/* Not collective. */
TULLE_API double tulle_counts_flops(const tulle_counts *census);   /* 2 x multiplications */
TULLE_API double tulle_counts_entries(const tulle_counts *census); /* of C; dense: m n */

/* ---- predicting ---- */

typedef struct tulle_model_options {
    size_t size;               /* of this struct; 0: as in the first release */
    int threads;               /* of each PE; 0: 1 */
    int lookahead;             /* as in tulle_product_options */
    bool deterministic;        /* as there */
    tulle_transfers transfers; /* as there: bytes of WHOLE are exact, else those of B's rows an estimate. Partial rows
                                  of C instead of them, and rows that come once for a node, are not counted: a run may
                                  move less than is predicted */
    bool asynchronous;         /* the best is chosen of the algorithms without steps, so not SUMMA or Cannon */
    size_t panel;              /* bytes of the panels that partial results travel in; 0: 8 MiB */
    double room;               /* bytes that fetched tiles may take on a PE; 0: any */
} tulle_model_options;

typedef struct tulle_prediction {
    tulle_product_alg alg;
    bool suits;                  /* false: the algorithm cannot work with these layouts; all else is 0 then */
    int batch;                   /* most k that a PE multiplies at once */
    double seconds;              /* of an execution, the slowest PE */
    tulle_imbalance compute;     /* the same phases as in a report */
    tulle_imbalance communicate; /* what is not hidden behind kernels */
    tulle_imbalance accumulate;
    tulle_imbalance wait;
    double load_imbalance; /* max / mean of the multiplications of each PE */
    /* what a report of a first execution counts; of the static algorithms exactly, if entries were counted */
    double bytes_moved, messages, partials;
    double roofline; /* seconds of a product at the local roof, all PEs alike */
} tulle_prediction;

/* Not collective. options may be NULL. alg is not AUTO. */
TULLE_API tulle_status tulle_predict(const tulle_counts *census, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, tulle_prediction *prediction);

/* Not collective: what AUTO becomes, the algorithm whose prediction is the shortest; within 2 % the first of the list.
 */
TULLE_API tulle_status tulle_predict_best(const tulle_counts *census, const tulle_machine *machine,
    const tulle_model_options *options, tulle_prediction *best);

/* Not collective: what each PE multiplies and moves under alg, multiplications[pes] and bytes[pes]. UNSUPPORTED if it
 * does not suit. */
TULLE_API tulle_status tulle_predict_loads(const tulle_counts *census, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, double *multiplications, double *bytes);

#ifdef __cplusplus
}
#endif
#endif
