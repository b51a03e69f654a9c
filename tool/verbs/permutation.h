/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --permute: rows and columns of A in another order, P A P^T, or rows alone if A is not square. What goes with them
 * is permuted alike, and results come back in the caller's order.
 */
#ifndef TULLE_TOOL_PERMUTATION_H
#define TULLE_TOOL_PERMUTATION_H

#include "option.h"
#include "report/result.h"

#define ORDERING_TEXT(name, word, text) "; " word ": " text
#define OPTION_PERMUTE                                                                                                 \
    {                                                                                                                  \
        .name = "permute", .group = GROUP_TUNING, .kind = KIND_CHOICE, .argument = "random|rcm|amd",                   \
        .text = "order rows and columns of A first (rows alone if it is not square, by random); results are in the "   \
                "order of the input" TULLE_ORDERING_LIST(                                                              \
                    ORDERING_TEXT) ". For rcm and amd PE 0 gathers the pattern of A, "                                 \
                                   "in its memory, and orders it; the report has the time, which is part of no other"  \
    }

/* Empty (NULL arrays) without the option; the same on all PEs. */
struct permutation {
    tulle_gidx *order, *inverse; /* of A's rows: order[new] = old */
    int square;                  /* columns, too */
    struct ordered ordered;
};

/* Collective: the order of A, which becomes A in that order. */
tulle_status permute_operand(const struct options *options, tulle_mat **A, struct permutation *p);

/* Collective: a matrix that has the rows of A, into A's order. */
tulle_status permute_rows(const struct permutation *p, tulle_mat **X);

/* Collective: a result, of A's rows and, if cols, its columns, back into the caller's order. */
tulle_status permute_back(const struct permutation *p, int cols, tulle_mat **C);

void permutation_free(struct permutation *p);

#endif
