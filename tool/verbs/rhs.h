/* SPDX-License-Identifier: Apache-2.0 */
/* The right-hand sides that --rhs of verbs that solve asks for. */
#ifndef TULLE_TOOL_RHS_H
#define TULLE_TOOL_RHS_H

#include "option.h"

#define OPTION_RHS                                                                                                     \
    {                                                                                                                  \
        .name = "rhs", .kind = KIND_WORD, .argument = "FILE|ones|load|random:K", .fallback = "random",                 \
        .text = "the right-hand sides: a dense file, one of ones, what pulls at a cantilever, or K random ones"        \
    }
#define OPTION_SEED                                                                                                    \
    {                                                                                                                  \
        .name = "seed", .kind = KIND_INT, .argument = "S", .fallback = "1", .low = 0, .high = INT32_MAX,               \
        .text = "of random right-hand sides"                                                                           \
    }

/* How many columns B has, which must have `rows` rows, those of `whose`. Local; nothing is read but what describes it.
 */
tulle_status rhs_columns(const struct options *options, const tulle_read_options *reading, tulle_gidx rows,
    const char *whose, tulle_gidx *cols);

/* Collective: B of `rows` rows, those of `whose`: cut as `like`, or with NULL in one tile of PE 0's. */
tulle_status read_rhs(const struct options *options, const tulle_read_options *reading, tulle_comm *comm,
    tulle_gidx rows, const char *whose, const tulle_layout *like, tulle_mat **B);

#endif
