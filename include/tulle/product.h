/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = alpha op(A) op(B) + beta C for a sparse A and a dense (SpMM) or sparse (SpGEMM) B, by the asynchronous one-sided
 * algorithms of Brock, Buluc, Yelick, "RDMA-based algorithms for sparse matrix multiplication on GPUs", ICS 2024,
 * section 3, and by the bulk-synchronous ones that they are compared with. A plan is made once for three matrices and
 * executed any number of times, with their current values; while the structure of A and B stays, no symbolic work is
 * repeated.
 *
 * Layouts may be any of the right shapes, with any owners. Where two matrices cut the same index differently, the plan
 * works on the union of the cuts: on dense tiles in place, on copies of sparse ones that their owners make for each
 * execution. Matching layouts avoid this: the column cuts of op(A) equal the row cuts of op(B), and C has the row cuts
 * of op(A) and the column cuts of op(B).
 */
#ifndef TULLE_PRODUCT_H
#define TULLE_PRODUCT_H

#include <stdbool.h>

#include <tulle/mat.h>
#include <tulle/report.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, word, text): the algorithms. */
#define TULLE_PRODUCT_ALG_LIST(X)                                                                                      \
    X(AUTO, "auto", "the fastest by the model")                                                                        \
    X(STATIONARY_C, "stationary-c", "owners of C compute; tiles of A and B are fetched")                               \
    X(STATIONARY_A, "stationary-a", "owners of A compute; B is fetched, partial results travel to the owners of C")    \
    X(STATIONARY_B, "stationary-b", "owners of B compute; A is fetched, partial results travel to the owners of C")    \
    X(STEAL_RANDOM_A, "steal-random-a", "as stationary-a; idle PEs steal any remaining work")                          \
    X(STEAL_LOCAL_A, "steal-local-a", "as stationary-a; idle PEs steal work on tiles that they have, then any")        \
    X(STEAL_LOCAL_C, "steal-local-c",                                                                                  \
        "as stationary-c; idle PEs steal rows of other PEs' tiles of C, the nearest first")                            \
    X(SUMMA, "summa", "bulk-synchronous: tiles of A and B are broadcast step by step to the owners of C")              \
    X(CANNON, "cannon", "bulk-synchronous: tiles of A and B are shifted around a square grid of PEs")

typedef enum tulle_product_alg {
#define TULLE_PRODUCT_ALG_ENUM(name, word, text) TULLE_PRODUCT_##name,
    TULLE_PRODUCT_ALG_LIST(TULLE_PRODUCT_ALG_ENUM)
#undef TULLE_PRODUCT_ALG_ENUM
        TULLE_PRODUCT_ALG_COUNT
} tulle_product_alg;

TULLE_API const char *tulle_product_alg_name(tulle_product_alg alg);
TULLE_API tulle_status tulle_product_alg_parse(const char *name, tulle_product_alg *alg);

/* X(name, word, text): what is transferred for a local tile of A and a remote tile of B. */
#define TULLE_TRANSFERS_LIST(X)                                                                                        \
    X(AUTO, "auto", "the fastest by the model, for each pair of tiles")                                                \
    X(WHOLE, "whole", "whole tiles of B")                                                                              \
    X(ROWS, "rows", "the rows of B required by A; whole tiles where the model expects less time")                      \
    X(COVER, "cover", "rows of B or partial rows of C, by the vertex cover with the fewest bytes")

typedef enum tulle_transfers {
#define TULLE_TRANSFERS_ENUM(name, word, text) TULLE_TRANSFERS_##name,
    TULLE_TRANSFERS_LIST(TULLE_TRANSFERS_ENUM)
#undef TULLE_TRANSFERS_ENUM
        TULLE_TRANSFERS_COUNT
} tulle_transfers;

TULLE_API const char *tulle_transfers_name(tulle_transfers transfers);
TULLE_API tulle_status tulle_transfers_parse(const char *name, tulle_transfers *transfers);

/* Devices of a product. All zeros are the defaults. */
typedef struct tulle_product_devices {
    size_t size; /* of this struct; 0: as in the first release */
    int count;   /* that each PE opens, by the same spec; 0: 1 */
    /*
     * Jobs go to a PE's devices in turn. Not so: a column of tiles of C keeps to one device, the
     * PE's columns in turn, so that its tiles of B and C are on one device only.
     */
    bool unpinned;
    /*
     * Tiles of A and B stay on the devices from one execution to the next, as many as fit, and so do all of a dense C,
     * whose values on the host are undefined until tulle_product_sync. So executions copy nothing over the link but
     * what the first one uploads, C if its beta is not 0, and tiles that were evicted. Of a sparse C that is made at
     * once the structure comes to the host when it is made, norms of blocks each time, and values stay, in up to half
     * of each device: they are undefined on the host until tulle_product_sync, but products that have C as an operand
     * take them as they are, on devices of the same spec without the link (if these are peers); so do other PEs that
     * are threads of the process. What does not fit comes to the host each time. For a sparse or row-major C by
     * stationary C, without filter and layers, in layouts that match; otherwise TULLE_ERR_UNSUPPORTED. TULLE_ERR_LIMIT
     * if a PE's part of a dense C does not fit beside two tiles
     */
    bool resident;
} tulle_product_devices;

/*
 * Blocks of dense products by stationary C on devices (tulle/gemm_blocks.h), whose tiles are pinned and not
 * resident; 0: what loads the fewest bytes. options.lookahead is then also that of a device, in tiles of the inner
 * indices.
 */
typedef struct tulle_product_blocks {
    size_t size;              /* of this struct; 0: as in the first release */
    int rows, cols;           /* tiles of C in a block */
    int chunk;                /* tiles of the inner indices in a chunk */
    int host_rows, host_cols; /* tiles of C for which tiles of other PEs are kept; 0: by the memory left */
} tulle_product_blocks;

/*
 * Entries of a product of CSR matrices that C keeps; others are dropped when the sums of their row are complete, so
 * that C is never whole (but where an algorithm makes parts of sums, or layers). An entry is there where a product adds
 * to it, also if it is 0. C is complete after one execution, of alpha other than 0 and beta = 0, and its rows ascend.
 * TULLE_ERR_UNSUPPORTED for other kinds, and with a device
 */
typedef struct tulle_selection {
    size_t size; /* of this struct; 0: as in the first release */
    /* the first `top` of each row by numpy.argsort(-row, kind="stable"): the largest, equal ones by column, NaN last */
    bool by_rank;
    int64_t top;
    bool by_value; /* entries > above, rounded to C's type, which NaN never is; with by_rank the first of these */
    double above;
    /*
     * first divides entries by the 2-norms of their rows of op(A) and columns of op(B); where one is 0 there is none.
     * TULLE_ERR_UNSUPPORTED where products of such norms leave the range of C's type
     */
    bool cosine;
} tulle_selection;

/*
 * An option that the named algorithm does not read (transfers of parts, no_offset, a lookahead, blocks and chunks), or
 * nothing without a device (devices, blocks) or for these matrices (blocks, unordered), is TULLE_ERR_ARG; AUTO is among
 * those that read all.
 */
typedef struct tulle_product_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_op op_a, op_b;
    tulle_product_alg alg;
    /*
     * jobs whose remote tiles are fetched ahead; 0: 2, or 4 where a dense C stays in place; TULLE_NONE: none. SUMMA and
     * Cannon read 0, by which they fetch a step's tiles during the previous step, and TULLE_NONE
     */
    int lookahead;
    tulle_transfers transfers; /* what is transferred of a remote tile of B */
    /*
     * all sweeps over k (i, j) start at 0, to measure the benefit of the iteration offset of section 3.3
     */
    bool no_offset;
    /*
     * the same bits for the same input and layout, whatever the timing. SpGEMM always is, except
     * under stealing, where the grouping of sums depends on who steals what. TULLE_ERR_UNSUPPORTED for
     * SpMM on a device that chooses kernels by their times (cuda:kernels=measured)
     */
    bool deterministic;
    /*
     * number of 2.5D layers of PEs, each with the part of A and B for a share of the inner indices; their partial
     * results are summed. 0 or 1: none; a divisor of the number of PEs; or TULLE_AUTO, as many as memory allows if the
     * owners of C are expected to read clearly less with them. Not for SUMMA and Cannon
     */
    int replication;
    /*
     * rows of a CSR C may be unordered, which takes less time. Readers by tulle_mat_tile see that; all others sort
     * first (tulle_mat_ordered). TULLE_ERR_ARG for another C, a resident one, and with a selection
     */
    bool unordered;
    int phases; /* SpGEMM: number of ranges of columns (tulle_product_next); 0: as memory requires */
    /*
     * The basis of AUTO, transfers and the predicted time: PE 0's. NULL on all PEs: figures of an
     * ordinary core and network, and no prediction. The counts are those of the same layouts; NULL:
     * entries are assumed uniform within each tile. Both are used only while the plan is made.
     */
    const struct tulle_machine *machine;
    const struct tulle_counts *counts;
    /*
     * Devices that multiply tiles, as of tulle_device_probe ("cuda:0", "limit:mem=1G,link=12G+cpu"): operands are
     * copied to them, results back. NULL: the host multiplies, where the matrices lie. The same on all PEs.
     */
    const char *device;
    const struct tulle_product_devices *devices; /* with `device`: NULL: the defaults; read while the plan is made */
    const struct tulle_product_blocks *blocks;   /* the same, of dense products by stationary C */
    /*
     * the grid of PEs of each layer, with replication > 1, as of tulle_gemm_grid; other PEs are
     * idle. 0: all PEs, in the grid that moves the fewest bytes
     */
    int layer_rows, layer_cols;
    /*
     * VBSR: with filter = eps > 0, a product of blocks A_ik B_kj is skipped if |alpha| |A_ik| |B_kj| <
     * eps / n_i, n_i the blocks of block row i of op(A); blocks of C whose norm is below eps are
     * removed at the end. All norms are Frobenius norms, in double. Hence |error of C_ij| <= 2 eps.
     * With a replication n_i are the blocks of the row in all layers, and C is the sum of layers.
     * Values decide on the structure: executions with new ones repeat the symbolic work
     */
    double filter;
    bool keep_pattern; /* VBSR: C keeps its blocks and gets no others, also with beta = 0; none is removed */
    /*
     * VBSR: op(A) op(B) is known to be symmetric, as in A A^T and in polynomials of one symmetric matrix, and so is C
     * before a product with beta other than 0. Of the blocks (r, c) and (c, r) one is multiplied, that which a half
     * stores (tulle_half_stores; on one PE the lower one); the other is its transpose: C is symmetric bit by bit, also
     * with a filter. Or C is a half, symmetric or antisymmetric as the product, and keeps what is multiplied. Row and
     * column blocks of C are the same. TULLE_ERR_UNSUPPORTED with layers, ranges of columns, a kept pattern and
     * operands that stay on devices. After a failure C may have one of each two blocks
     */
    bool symmetric_c;
    /*
     * AUTO chooses among these only: bit number A of the sum for algorithm A, as in 1u << TULLE_PRODUCT_SUMMA;
     * 0: among all. TULLE_ERR_UNSUPPORTED if none of them suits the layouts
     */
    unsigned candidates;
    const tulle_selection *selection; /* NULL: all entries; read while the plan is made, the same on all PEs */
} tulle_product_options;

typedef struct tulle_product tulle_product;

/* Not collective: the layout for C that A and B imply, with owners according to theirs. Free it. */
TULLE_API tulle_status tulle_product_layout(
    const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b, tulle_layout **layout);

/*
 * Collective. C is CSR if B is, VBSR if A and B are BSR or VBSR, else dense. options may be NULL. The matrices stay the
 * caller's and must outlive the plan. TULLE_ERR_LIMIT, with the figure, if the product cannot fit in memory in any
 * number of phases; TULLE_ERR_UNSUPPORTED, with the requirement, if the algorithm does not support these layouts
 * (Cannon).
 */
TULLE_API tulle_status tulle_product_new(const tulle_mat *A, const tulle_mat *B, tulle_mat *C,
    const tulle_product_options *options, tulle_product **product);

/*
 * Collective: C = alpha op(A) op(B) + beta C, completely; with beta = 0 the old C is not read, and with alpha = 0, as
 * in BLAS, A and B are not: nan and inf in them do not matter, and C = beta C keeps its entries, whatever kinds A, B
 * and C are. alpha and beta are the same on all PEs. report may be NULL, on all PEs. TULLE_ERR_LIMIT, with an empty C,
 * if the result does not fit in memory at once: use tulle_product_next then.
 */
TULLE_API tulle_status tulle_product_execute(
    tulle_product *product, double alpha, double beta, tulle_product_report *report);

/*
 * Collective: ends what tulle_product_devices.resident keeps on the devices. C is on the host, and the next execution
 * reads A, B and C from there again: to be called before C is read, and after A or B has got other values. Without that
 * option it does nothing. tulle_product_free drops what was not synchronised, and a failed execution does.
 */
TULLE_API tulle_status tulle_product_sync(tulle_product *product);

/*
 * A range of the columns of C: columns from n from / of to n to / of of each tile column of n columns.
 */
typedef struct tulle_columns {
    int number;              /* index of the range, from 0 */
    bool last;               /* the last range of the product */
    tulle_gidx from, to, of; /* all columns: from = 0, to = of */
} tulle_columns;

/*
 * Collective: C = alpha op(A) op(B) for the next range of C's columns; C then holds these only. All
 * ranges together are the product; one after the last is the first again, also after a failure. A
 * range is as wide as memory allows, all columns if they fit: how many there will be is not known
 * before. One that turns out not to fit is dropped on all PEs and made again half as wide, until
 * TULLE_ERR_LIMIT if a single column of each tile does not fit. columns and report may be NULL, on
 * all PEs.
 *
 *     do {
 *         status = tulle_product_next(product, alpha, &columns, &report);
 *         ... C ...
 *     } while (status == TULLE_OK && !columns.last);
 */
TULLE_API tulle_status tulle_product_next(
    tulle_product *product, double alpha, tulle_columns *columns, tulle_product_report *report);

/* Not collective: the number of ranges that the plan expects; 1: it tries all columns at once. */
TULLE_API int tulle_product_phases(const tulle_product *product);

/* the algorithm that auto has chosen */
TULLE_API tulle_product_alg tulle_product_alg_of(const tulle_product *product);
TULLE_API int tulle_product_replication(const tulle_product *product); /* layers; 1: none */
/* bytes held by the plan on this PE */
TULLE_API size_t tulle_product_bytes(const tulle_product *product);
/* One line: algorithm, tiles, caches. Lives as long as the plan. */
TULLE_API const char *tulle_product_describe(const tulle_product *product);

/* Collective; NULL is allowed on all PEs. */
TULLE_API void tulle_product_free(tulle_product *product);

/*
 * Collective: verifies the columns of C computed by the last execution, independently of it. For a vector x of +-1: |C
 * x - alpha A (B x)| <= gamma |A| |B| |x| in every row, gamma the rounding bound of C's type; and, for a sparse C, that
 * all rows ascend and that sampled rows have exactly the structure of the product. Of a C in blocks, sampled block rows
 * are compared block by block, and the filter's error bound is added to all bounds (a C that keeps its pattern is
 * compared where it has blocks, for op_a = op_b = N). *error is the largest ratio of the left to the right side;
 * TULLE_ERR_CHECK, with the row, if it exceeds 1 or the structure is wrong. TULLE_ERR_UNSUPPORTED after an execution
 * with beta other than 0, as the old C is lost.
 */
TULLE_API tulle_status tulle_product_check(tulle_product *product, double *error);

/* Collective: the same for any three matrices: C = alpha op(A) op(B). */
TULLE_API tulle_status tulle_product_check_matrices(double alpha, const tulle_mat *A, tulle_op op_a, const tulle_mat *B,
    tulle_op op_b, const tulle_mat *C, double *error);

/* One way to make the rows of a sparse product on a processor. The first of a list is the kernel's own choice. */
typedef struct tulle_product_mechanism {
    char name[16];
    bool chosen;        /* it is what the kernel chooses; the name of the first is not */
    double estimate;    /* seconds, roughly; nan: there is no estimate */
    double fresh, kept; /* least seconds of the product, and of its values alone; 0: not measured, as what is hopeless */
} tulle_product_mechanism;

enum { TULLE_PRODUCT_MECHANISMS = 10 };

/*
 * Collective, on a team of one PE: what each mechanism is thought to take for A B, both in CSR and in one tile;
 * with reps > 0 also what it took, at its best of so many turns. Columns of C are in order. mechanism has room for
 * TULLE_PRODUCT_MECHANISMS. TULLE_ERR_UNSUPPORTED for other kinds, tiles and teams.
 */
TULLE_API tulle_status tulle_product_explain(
    const tulle_mat *A, const tulle_mat *B, int reps, tulle_product_mechanism *mechanism);

#ifdef __cplusplus
}
#endif
#endif
