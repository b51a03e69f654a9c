/* SPDX-License-Identifier: Apache-2.0 */
/* Options of verbs that stream a matrix through a device. */
#ifndef TULLE_TOOL_STREAMING_H
#define TULLE_TOOL_STREAMING_H

#include "needs.h"

#define OPTIONS_STREAMING                                                                                              \
    {.name = "device",                                                                                                 \
        .kind = KIND_WORD,                                                                                             \
        .argument = "SPEC",                                                                                            \
        .fallback = "cpu",                                                                                             \
        .text = "the device of A's slabs: cpu, ref, cuda:0, openacc, limit:mem=2G,link=12G,latency=2us+cpu; "          \
                "`tulle info` lists them"},                                                                            \
        {.name = "source",                                                                                             \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_CHOICE,                                                                                       \
            .argument = "memory|rebalance|file",                                                                       \
            .fallback = "memory",                                                                                      \
            .text =                                                                                                    \
                "source of slabs: memory, a PE's own rows; rebalance, rows distributed by entries, from the PEs that " \
                "hold them; file, a .bsp.h5 file that is never in memory as a whole, with vectors of --type"},         \
        {.name = "format",                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "SPEC",                                                                                        \
            .fallback = "auto; csr with --source rebalance",                                                           \
            .text = "of slabs: csr; bsr:b=3, blocks of 3 x 3 (the last ones are padded), bsr with the best size; "     \
                    "auto, the format with the "                                                                       \
                    "fewest bytes; each with half (of a symmetric matrix), index=2|4, values=f32: bsr:b=3,half"},      \
        {.name = "budget",                                                                                             \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_SIZE,                                                                                         \
            .argument = "SIZE",                                                                                        \
            .fallback = "the device's memory",                                                                         \
            .text = "memory of its device that a PE may use"},                                                         \
        {.name = "slabs",                                                                                              \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_WORD,                                                                                         \
            .argument = "S|auto",                                                                                      \
            .fallback = "auto",                                                                                        \
            .text = "number of slabs of a PE; auto: the fastest by measured times, or resident if the matrix fits"},   \
        {.name = "ring",                                                                                               \
            .group = GROUP_TUNING,                                                                                     \
            .kind = KIND_INT,                                                                                          \
            .argument = "N",                                                                                           \
            .fallback = "3, or fewer if only they fit",                                                                \
            .low = 2,                                                                                                  \
            .high = 8,                                                                                                 \
            .text = "number of buffers of the ring"},                                                                  \
    {                                                                                                                  \
        .name = "overlap", .group = GROUP_TUNING, .kind = KIND_CHOICE, .argument = "on|off", .fallback = "on",         \
        .text = "off: a slab is copied only after the previous one was multiplied"                                     \
    }

/* The stream's options, the source, and the other options of A. */
struct streaming {
    tulle_stream_options options;
    int from_file;
};

/* 1: an option asks for streaming. */
int streaming_asked(const struct options *o, const struct streaming *s);

/* Refuses options of reading that are of a matrix in memory, for rows that stay in their file. */
tulle_status streaming_check_reading(const struct options *options);

tulle_status streaming_options(const struct options *options, struct streaming *streaming);

/* Prints members of a JSON object, each after a comma. */
void streaming_json(const tulle_stream_plan *plan, FILE *file);

/* A matrix in memory, or as the rows of a file; the other is NULL. */
struct streamed {
    tulle_mat *A;
    tulle_rows *rows;
    tulle_gidx m, n;
    int64_t nnz;
};

/*
 * Collective: loads A, or opens its file for streaming, with vectors of this type, and values checked as asked.
 * Warnings are those of a load.
 */
tulle_status streaming_open(tulle_comm *comm, const char *operand, const tulle_read_options *reading, int from_file,
    char *warnings, struct streamed *opened);

/* Appends the warnings about values that products have read. Collective; on every PE. */
tulle_status streaming_warnings(tulle_rows *rows, char *warnings);

/* Bytes that a check of a product with so many columns, or of a solve, takes on a PE while the stream is there. */
double streaming_check_needs(int from_file, double cols, double n, double m);

/*
 * The least bytes of a stream of a matrix with so many bytes and rows, without X and Y: row
 * pointers, slabs, read-ahead; for a matrix in memory also a copy in another format.
 */
double streaming_needs(const struct streaming *s, const struct needs *n, double matrix, double rows);

#endif
