/* SPDX-License-Identifier: Apache-2.0 */
/* The right-hand sides of --rhs, for verbs that solve. */
#ifndef TULLE_TOOL_RHS_H
#define TULLE_TOOL_RHS_H

#include "option.h"

#define OPTION_RHS                                                                                                     \
    {                                                                                                                  \
        .name = "rhs", .kind = KIND_WORD, .argument = "FILE|ones|load|random:K", .fallback = "random",                 \
        .text = "the right-hand sides: a dense file, a column of ones, the load of a cantilever, or K random columns"  \
    }

/*
 * The number of columns of B, which must have `rows` rows, those of `whose`. Local; reads headers
 * only.
 */
tulle_status rhs_columns(const struct options *options, const tulle_read_options *reading, tulle_gidx rows,
    const char *whose, tulle_gidx *cols);

/*
 * Collective: B with `rows` rows, those of `whose`, in the layout of `like`, or, if that is NULL,
 * in one tile on PE 0. warnings: as load_operand takes them.
 */
tulle_status read_rhs(const struct options *options, const tulle_read_options *reading, tulle_comm *comm,
    tulle_gidx rows, const char *whose, const tulle_layout *like, char *warnings, tulle_mat **B);

#endif
