/* SPDX-License-Identifier: Apache-2.0 */
/* --blocks: the block cuts of the factors of a product. */
#ifndef TULLE_TOOL_BLOCK_SIZES_H
#define TULLE_TOOL_BLOCK_SIZES_H

#include "verb.h"

#define OPTION_BLOCKS                                                                                                  \
    {                                                                                                                  \
        .name = "blocks", .kind = KIND_WORD, .argument = "B|FILE,..",                                                  \
        .text = "A, and a sparse B, as dense blocks: their size, or a file of sizes, one a line; for the rows of A, "  \
                "its columns, the columns of B; what is left out is as the first. auto: a generator's"                 \
    }

/* Blocks of the rows of A, the inner indices, the columns of B. */
struct block_sizes {
    tulle_block_cuts cut[3];
    tulle_gidx *workspace[3];
    int even; /* one size, of which rows and inner indices are multiples; 0: other sizes */
};

/*
 * Collective: reads the files of the option's list of at most `most` words (NULL: it is not given; all zero then) on
 * PE 0, for indices 0 .. n[d] - 1 in each direction. "auto": known[d], the sizes that the operands know; 0: none.
 */
tulle_status block_sizes_read(
    const char *list, int most, tulle_comm *comm, const tulle_gidx n[3], const int known[3], struct block_sizes *sizes);
void block_sizes_free(struct block_sizes *sizes);

#define OPTION_BLOCK_FILTER                                                                                            \
    {                                                                                                                  \
        .name = "filter", .kind = KIND_WORD, .argument = "EPS",                                                        \
        .text = "with --blocks: skip products of blocks whose norms are too small to matter, and remove blocks of C "  \
                "with a norm below EPS; the error of each block of C is at most 2 EPS"                                 \
    }

#define OPTION_SYMMETRIC_C                                                                                             \
    {                                                                                                                  \
        .name = "symmetric-c", .kind = KIND_FLAG,                                                                      \
        .text = "with --blocks: C is known to be symmetric, as A A of a symmetric A and A A^T are: one of two blocks " \
                "that mirror each other is multiplied, the other is its transpose"                                     \
    }

#define OPTION_HALF                                                                                                    \
    {                                                                                                                  \
        .name = "half", .kind = KIND_FLAG,                                                                             \
        .text = "with --blocks: store half of the blocks of symmetric factors, or of antisymmetric ones if the file "  \
                "says so, and with --symmetric-c of C"                                                                 \
    }

/* True if --half or another flag of that name is given; false for verbs without it. */
bool block_flag(const struct options *options, const char *name);

/* --filter, 0 if it is not given, or no option of the verb; checks that it, --symmetric-c and --half have blocks. */
tulle_status filter_option(const struct options *options, double *filter);

/*
 * The sizes of the blocks of which generators make the factors; 0: not known. Collective, agreed. sparse: B is
 * the second operand, or the first.
 */
tulle_status block_sizes_known(
    const struct options *options, const tulle_read_options *reading, int sparse, tulle_comm *comm, int known[3]);

/* Blocks of one: the columns of a dense matrix. *workspace is the caller's. */
tulle_status block_sizes_ones(tulle_gidx n, tulle_block_cuts *cuts, tulle_gidx **workspace);

#endif
