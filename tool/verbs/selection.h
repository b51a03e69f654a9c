/* SPDX-License-Identifier: Apache-2.0 */
/* Options of spgemm for the entries of C that are kept. */
#ifndef TULLE_TOOL_SELECTION_H
#define TULLE_TOOL_SELECTION_H

#include "option.h"

#define OPTIONS_SELECTION                                                                                              \
    {.name = "transpose-b",                                                                                            \
        .kind = KIND_FLAG,                                                                                             \
        .text = "multiply by the transpose of B, or of A if it is alone: C = A B^T, A A^T"},                           \
        {.name = "top",                                                                                                \
            .kind = KIND_INT,                                                                                          \
            .argument = "K",                                                                                           \
            .low = 0,                                                                                                  \
            .high = INT64_MAX,                                                                                         \
            .text = "keep the K largest entries of each row of C, of equal ones those with the lowest columns"},       \
        {.name = "above",                                                                                              \
            .kind = KIND_WORD,                                                                                         \
            .argument = "X",                                                                                           \
            .text = "keep the entries of C that are greater than X; with --top the largest of these"},                 \
    {                                                                                                                  \
        .name = "cosine", .kind = KIND_FLAG,                                                                           \
        .text = "divide each entry of C by the 2-norms of its row of A and its column of B, before entries are kept"   \
    }

/* *asked: one of --top, --above and --cosine was given, or the verb has none of them. */
tulle_status selection_read(const struct options *options, tulle_selection *selection, bool *asked);

#endif
