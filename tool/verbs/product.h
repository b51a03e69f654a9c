/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by spmm, spgemm and gemm: distributing the operands, running each algorithm, showing the
 * results.
 */
#ifndef TULLE_TOOL_PRODUCT_H
#define TULLE_TOOL_PRODUCT_H

#include "report/result.h"
#include "verb.h"
#include "verbs/permutation.h"

tulle_status run_product(const struct options *options, enum product_kind kind);

#define ALG_WORD(name, word, text) word ", "

/* Options for a sparse A. */
#define OPTIONS_SPARSE_A                                                                                               \
    {.name = "cut",                                                                                                    \
        .group = GROUP_TUNING,                                                                                         \
        .kind = KIND_CHOICE,                                                                                           \
        .argument = "rows|nnz|flops",                                                                                  \
        .fallback = "spgemm flops, spmm nnz",                                                                          \
        .text = "what the cuts of A's tile rows balance; of a hypersparse A, flops are nnz"},                          \
        OPTION_PERMUTE, OPTION_TRANSFERS

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
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC|auto",                                                                                    \
            .fallback = grid_fallback,                                                                                 \
            .text = "grid of the PEs; auto: the fastest by the model"},                                                \
        OPTION_MACHINE,                                                                                                \
        {.name = "tiles",                                                                                              \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles of a PE in each direction; gemm --device: as many as it takes until they fit"},             \
        {.name = "grid-b",                                                                                             \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC",                                                                                         \
            .fallback = "as A",                                                                                        \
            .text = "grid of the PEs for B alone; cuts need not match"},                                               \
        {.name = "tiles-b",                                                                                            \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "as A",                                                                                        \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles of B of a PE in each direction"},                                                           \
        {.name = "grid-c",                                                                                             \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_WORD,                                                                                         \
            .argument = "RxC",                                                                                         \
            .fallback = "as A and B",                                                                                  \
            .text = "grid of the PEs for C alone"},                                                                    \
        {.name = "tiles-c",                                                                                            \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "T",                                                                                           \
            .fallback = "as A and B",                                                                                  \
            .low = 1,                                                                                                  \
            .high = 256,                                                                                               \
            .text = "tiles of C of a PE in each direction"},                                                           \
        {.name = "replication",                                                                                        \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_WORD,                                                                                         \
            .argument = "L|auto",                                                                                      \
            .fallback = "1",                                                                                           \
            .text = "2.5D: layers of PEs, each with a share of the inner indices; auto: by volume and memory"},        \
        {.name = "cyclic",                                                                                             \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_FLAG,                                                                                         \
            .text = "distribute tiles cyclically instead of in blocks"},                                               \
        {.name = "lookahead",                                                                                          \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "D",                                                                                           \
            .low = 0,                                                                                                  \
            .high = 1000,                                                                                              \
            .text = "jobs whose tiles are fetched ahead (default: 4 for stationary-c of a dense C, else 2)"},          \
        {.name = "no-offset",                                                                                          \
            .group = GROUP_EXPERIMENTS,                                                                                \
            .kind = KIND_FLAG,                                                                                         \
            .text = "switch the iteration offset off, to measure its effect"},                                         \
        OPTION_WIDE,                                                                                                   \
        {.name = "deterministic",                                                                                      \
            .group = GROUP_EXPERIMENTS,                                                                                \
            .kind = KIND_FLAG,                                                                                         \
            .text = "bitwise reproducible, whatever the timing"},                                                      \
        {.name = "device",                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "SPEC",                                                                                        \
            .fallback = "this host",                                                                                   \
            .text = "what multiplies tiles, which are copied to it and back: cpu, cuda:0, limit:mem=1G,link=12G+cpu"}, \
        {.name = "devices",                                                                                            \
            .kind = KIND_INT,                                                                                          \
            .argument = "N",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 1,                                                                                                  \
            .high = 64,                                                                                                \
            .text = "devices of each PE; columns of tiles of C go through them in turn"},                              \
        {.name = "resident",                                                                                           \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_CHOICE,                                                                                       \
            .argument = "host|device",                                                                                 \
            .fallback = "host",                                                                                        \
            .text = "with --device: where tiles of A, B and C stay between the runs of a plan"},                       \
        {.name = "pin",                                                                                                \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_CHOICE,                                                                                       \
            .argument = "on|off",                                                                                      \
            .fallback = "on",                                                                                          \
            .text = "off: jobs go to devices in turn, whatever column of C they are of, to measure what that costs"},  \
        {.name = "reps",                                                                                               \
            .group = GROUP_EXPERIMENTS,                                                                                \
            .letter = 'r',                                                                                             \
            .kind = KIND_INT,                                                                                          \
            .argument = "R",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 1,                                                                                                  \
            .high = 1000,                                                                                              \
            .text = "number of timed runs; several follow a warm-up, and the one with the median time is shown"},      \
        OPTION_MEMORY, {.name = "check", .letter = 'c', .kind = KIND_FLAG, .text = "verify the result independently"}, \
        OPTION_JSON("one JSON object a run instead of the table"), OPTION_TRACE,                                       \
        {.name = "seed",                                                                                               \
            .group = GROUP_EXPERIMENTS,                                                                                \
            .kind = KIND_INT,                                                                                          \
            .argument = "S",                                                                                           \
            .fallback = "1",                                                                                           \
            .low = 0,                                                                                                  \
            .high = INT64_MAX,                                                                                         \
            .text = "columns and rows of random dense operands"},                                                      \
        OPTION_OUTPUT("write C"), OPTIONS_READING, OPTION_QUIET, OPTION_HELP,                                          \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

#endif
