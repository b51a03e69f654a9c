/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = alpha op(A) op(B) + beta C for a sparse A and a dense (SpMM) or sparse (SpGEMM) B, by the asynchronous one-sided
 * algorithms of Brock, Buluc, Yelick, "RDMA-based algorithms for sparse matrix multiplication on GPUs", ICS 2024,
 * section 3, and by the bulk-synchronous ones that they are compared with. A plan is made once for three matrices and
 * executed any number of times, with whatever values they hold then; as long as the structure of A and B stays, no
 * symbolic work is repeated.
 *
 * Layouts may be any of the right sizes, and which PE owns which tile is free. Where two matrices cut the same index
 * differently the plan works on the parts between all cuts: of dense tiles in place, of sparse ones in copies that
 * their owners make of their own tiles for each execution (slice.h). Layouts that match, the column cuts of op(A) the
 * row cuts of op(B) and C with the row cuts of op(A) and the column cuts of op(B), save that.
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
    X(AUTO, "auto", "what the model expects to be the fastest")                                                        \
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

/* X(name, word, text): what moves where a tile of A lies on the PE that multiplies it and the tile of B does not. */
#define TULLE_TRANSFERS_LIST(X)                                                                                        \
    X(AUTO, "auto", "for each pair of tiles what the model expects to take the least time")                            \
    X(WHOLE, "whole", "tiles of B whole")                                                                              \
    X(ROWS, "rows", "the rows of B that A has entries for; whole tiles where the model expects less time")             \
    X(COVER, "cover", "rows of B or partial rows of C, by the vertex cover of the fewest bytes")

typedef enum tulle_transfers {
#define TULLE_TRANSFERS_ENUM(name, word, text) TULLE_TRANSFERS_##name,
    TULLE_TRANSFERS_LIST(TULLE_TRANSFERS_ENUM)
#undef TULLE_TRANSFERS_ENUM
        TULLE_TRANSFERS_COUNT
} tulle_transfers;

TULLE_API const char *tulle_transfers_name(tulle_transfers transfers);
TULLE_API tulle_status tulle_transfers_parse(const char *name, tulle_transfers *transfers);

typedef struct tulle_product_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_op op_a, op_b;
    tulle_product_alg alg;
    int lookahead;             /* jobs with remote tiles that are fetched ahead; 0: 2, or 4 where a dense C stays where
                                  it is made; TULLE_NONE: none. SUMMA and Cannon: the tiles of a step come while the
                                  one before is multiplied, unless it is TULLE_NONE */
    tulle_transfers transfers; /* what of a remote tile of B moves */
    bool no_offset;     /* all walk k (i, j) from 0, to measure what the iteration offset of section 3.3 brings */
    bool deterministic; /* the same bits for the same input and layout, whatever the timing. SpGEMM always is, but
                          under stealing, where what is summed first by itself follows from who takes what */
    int replication;    /* the 2.5D layers that the PEs form, each with the part of A and B for a share of the inner
                           indices, whose partial results are summed: 0 or 1: none; a divisor of the number of PEs; or
                           TULLE_AUTO, as many as memory allows where the owners of C are expected to read
                           clearly less with them. Not for SUMMA and Cannon */
    bool unordered;     /* a sparse C may have the columns of a row in any order, which takes less time. Who reads C by
                           tulle_mat_tile sees that; all else puts it in order first (tulle_mat_ordered) */
    int phases;         /* SpGEMM: ranges of columns (tulle_product_next); 0: as many as memory demands */
    /* What AUTO, transfers and the report's prediction go by: PE 0's; NULL on all PEs: they take the figures of an
       ordinary core and network, and nothing is predicted. The census is of the same layouts; NULL: entries are taken
       as if scattered evenly over each tile. Both are only used while the plan is made. */
    const struct tulle_machine *machine;
    const struct tulle_counts *census;
    /* Devices that tiles are multiplied on, as of tulle_device_probe ("cuda:0", "limit:mem=1G,link=12G+cpu"): operands
       are copied to them, results back. NULL: the host multiplies, where the matrices lie. The same on all PEs. */
    const char *device;
    int devices; /* that each PE opens, by the same spec; 0: 1. Tiles of one column of C go through one of them */
} tulle_product_options;

typedef struct tulle_product tulle_product;

/* Not collective: the layout for C that A and B imply, owned as A and B are distributed. Free it. */
TULLE_API tulle_status tulle_product_layout(
    const tulle_mat *A, tulle_op op_a, const tulle_mat *B, tulle_op op_b, tulle_layout **layout);

/*
 * Collective. C is CSR if B is, else dense. options may be NULL. The matrices stay the caller's and must outlive the
 * plan. TULLE_ERR_LIMIT with the figure if the product cannot fit in memory in any number of phases;
 * TULLE_ERR_UNSUPPORTED, and what it wants, if the algorithm cannot work with these layouts (Cannon).
 */
TULLE_API tulle_status tulle_product_new(const tulle_mat *A, const tulle_mat *B, tulle_mat *C,
    const tulle_product_options *options, tulle_product **product);

/*
 * Collective: C = alpha op(A) op(B) + beta C, all of it; with beta = 0 what C holds is not read. alpha and beta are the
 * same on all PEs. report may be NULL. TULLE_ERR_LIMIT, and C without entries, if the result does not fit in memory at
 * once: then tulle_product_next makes it a range of columns at a time.
 */
TULLE_API tulle_status tulle_product_execute(
    tulle_product *product, double alpha, double beta, tulle_product_report *report);

/* A range of the columns of C: of each tile column of n columns those from n from / of up to n to / of. */
typedef struct tulle_columns {
    int number;              /* of the range, from 0 */
    bool last;               /* with this one all columns have been made */
    tulle_gidx from, to, of; /* all columns: from = 0, to = of */
} tulle_columns;

/*
 * Collective: C = alpha op(A) op(B) for the next range of C's columns; C then holds these only. All ranges together are
 * the product; one after the last is the first again, also after a failure. A range is as wide as memory allows, all
 * columns if they fit: how many there will be is not known before. One that turns out not to fit is dropped on all PEs
 * and made again half as wide, until TULLE_ERR_LIMIT if a single column of each tile does not fit. columns and report
 * may be NULL.
 *
 *     do {
 *         status = tulle_product_next(product, alpha, &columns, &report);
 *         ... C ...
 *     } while (status == TULLE_OK && !columns.last);
 */
TULLE_API tulle_status tulle_product_next(
    tulle_product *product, double alpha, tulle_columns *columns, tulle_product_report *report);

/* Not collective: how many ranges the plan expects; 1: it tries all columns at once. */
TULLE_API int tulle_product_phases(const tulle_product *product);

TULLE_API tulle_product_alg tulle_product_alg_of(const tulle_product *product); /* what auto became */
TULLE_API int tulle_product_replication(const tulle_product *product);          /* layers; 1: none */
TULLE_API size_t tulle_product_bytes(const tulle_product *product);             /* what the plan holds on this PE */
/* One line: algorithm, tiles, what is kept. Lives as long as the plan. */
TULLE_API const char *tulle_product_describe(const tulle_product *product);

/* Collective; NULL is allowed on all PEs. */
TULLE_API void tulle_product_free(tulle_product *product);

/*
 * Collective: checks what the last execution has put into C, and only those columns, independently of how it was made.
 * For a vector x of +-1: |C x - alpha A (B x)| <= gamma |A| |B| |x| in every row, gamma the rounding bound of C's type;
 * and, for a sparse C, that all rows ascend and that sampled rows have exactly the structure of the product. *error is
 * the largest ratio of the left to the right side; TULLE_ERR_CHECK, with the row, if it is over 1 or the structure is
 * wrong. TULLE_ERR_UNSUPPORTED after an execution with another beta than 0, as the old C is gone.
 */
TULLE_API tulle_status tulle_product_check(tulle_product *product, double *error);

/* Collective: the same of any three matrices: C = alpha op(A) op(B). */
TULLE_API tulle_status tulle_product_check_matrices(double alpha, const tulle_mat *A, tulle_op op_a, const tulle_mat *B,
    tulle_op op_b, const tulle_mat *C, double *error);

#ifdef __cplusplus
}
#endif
#endif
