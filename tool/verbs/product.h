/* SPDX-License-Identifier: Apache-2.0 */
/* What spmm, spgemm and gemm share: distributing the operands, running each algorithm, showing the results. */
#ifndef TULLE_TOOL_PRODUCT_H
#define TULLE_TOOL_PRODUCT_H

#include "result.h"
#include "verb.h"

tulle_status run_product(const struct options *options, enum product_kind kind);

#define ALG_WORD(name, word, text) word ", "

/* Of a sparse A. */
#define OPTIONS_SPARSE_A                                                                                               \
    {.name = "cut",                                                                                                    \
        .kind = KIND_CHOICE,                                                                                           \
        .argument = "rows|nnz|flops",                                                                                  \
        .fallback = "spgemm flops, spmm nnz",                                                                          \
        .text = "what the tile rows of A have equal amounts of"},                                                      \
        OPTION_TRANSFERS

#define OPTIONS_PRODUCT(grid_fallback)                                                                                 \
    OPTION_PES, OPTION_COMM, OPTION_THREADS,                                                                           \
        {.name = "alg",                                                                                                \
            .letter = 'a',                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "NAME,..|all",                                                                                 \
            .fallback = "auto",                                                                                        \
            .text = TULLE_PRODUCT_ALG_LIST(ALG_WORD) "one or several, or all that the grid allows, in turn"},          \
        OPTION_TYPE,                                                                                                   \
        {.name = "grid",                                                                                               \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC|auto",                                                                                    \
            .fallback = grid_fallback,                                                                                 \
            .text = "grid of the PEs; auto: what the model expects to be the fastest"},                                \
        OPTION_MACHINE,                                                                                                \
        {.name = "tiles",                                                                                              \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles a PE in each direction"},                                                                   \
        {.name = "grid-b",                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC",                                                                                         \
            .fallback = "as A",                                                                                        \
            .text = "grid of the PEs for B alone: what cuts then do not match is multiplied in parts"},                \
        {.name = "tiles-b",                                                                                            \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "as A",                                                                                        \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles of B a PE in each direction"},                                                              \
        {.name = "grid-c",                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC",                                                                                         \
            .fallback = "as A and B",                                                                                  \
            .text = "grid of the PEs for C alone"},                                                                    \
        {.name = "tiles-c",                                                                                            \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "as A and B",                                                                                  \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles of C a PE in each direction"},                                                              \
        {.name = "replication",                                                                                        \
            .kind = KIND_WORD,                                                                                         \
            .argument = "L|auto",                                                                                      \
            .fallback = "1",                                                                                           \
            .text = "2.5D: layers of PEs, each with a share of the inner indices; auto: by volume and memory"},        \
        {.name = "cyclic", .kind = KIND_FLAG, .text = "deal tiles out in turn instead of in blocks"},                  \
        {.name = "lookahead",                                                                                          \
            .kind = KIND_INT,                                                                                          \
            .argument = "D",                                                                                           \
            .low = 0,                                                                                                  \
            .high = 1000,                                                                                              \
            .text = "jobs whose tiles are fetched ahead (default: 4 for stationary-c of a dense C, else 2)"},          \
        {.name = "no-offset", .kind = KIND_FLAG, .text = "without the iteration offset, to measure it"},               \
        {.name = "deterministic", .kind = KIND_FLAG, .text = "the same bits whatever the timing"},                     \
        {.name = "reps",                                                                                               \
            .letter = 'r',                                                                                             \
            .kind = KIND_INT,                                                                                          \
            .argument = "R",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 1,                                                                                                  \
            .high = 1000,                                                                                              \
            .text = "timed runs; more than one follow a warm-up, and that of the median time is shown"},               \
        OPTION_MEMORY, {.name = "check", .letter = 'c', .kind = KIND_FLAG, .text = "verify the result independently"}, \
        {.name = "json", .kind = KIND_FLAG, .text = "one JSON object a run instead of the table"},                     \
        {.name = "trace", .kind = KIND_WORD, .argument = "FILE", .text = "write a timeline that Perfetto opens"},      \
        {.name = "seed",                                                                                               \
            .kind = KIND_INT,                                                                                          \
            .argument = "S",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 0,                                                                                                  \
            .high = INT64_MAX,                                                                                         \
            .text = "of random dense operands"},                                                                       \
        {.name = "output", .letter = 'o', .kind = KIND_WORD, .argument = "FILE", .text = "write C"}, OPTIONS_READING,  \
        OPTION_QUIET, OPTION_HELP,                                                                                     \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#endif
