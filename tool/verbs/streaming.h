/* SPDX-License-Identifier: Apache-2.0 */
/* The options of verbs that stream a matrix through a device, and the stream that they ask for. */
#ifndef TULLE_TOOL_STREAMING_H
#define TULLE_TOOL_STREAMING_H

#include "needs.h"

#define OPTIONS_STREAMING                                                                                              \
    {.name = "device",                                                                                                 \
        .kind = KIND_WORD,                                                                                             \
        .argument = "SPEC",                                                                                            \
        .fallback = "cpu",                                                                                             \
        .text = "what A is streamed through: cpu, ref, cuda:0, openacc, limit:mem=2G,link=12G,latency=2us+cpu; "       \
                "`tulle info` tells which there are"},                                                                 \
        {.name = "source",                                                                                             \
            .kind = KIND_CHOICE,                                                                                       \
            .argument = "memory|spread|file",                                                                          \
            .fallback = "memory",                                                                                      \
            .text =                                                                                                    \
                "where slabs come from: a PE's own rows in memory; rows dealt out by entries, from the PEs where "     \
                "they lie; a .bsp.h5 file, which is never in memory as a whole; of f32 values, vectors have --type"},  \
        {.name = "format",                                                                                             \
            .kind = KIND_WORD,                                                                                         \
            .argument = "SPEC",                                                                                        \
            .fallback = "auto; csr with --source spread",                                                              \
            .text =                                                                                                    \
                "of slabs: csr, as rows lie; bsr:b=3, blocks of 3 x 3, bsr of the size that suits; auto, what "        \
                "takes fewest bytes; each with half (of a symmetric matrix), index=2|4, values=f32: bsr:b=3,half"},    \
        {.name = "budget",                                                                                             \
            .kind = KIND_SIZE,                                                                                         \
            .argument = "SIZE",                                                                                        \
            .fallback = "what the device has",                                                                         \
            .text = "memory of its device that a PE may use"},                                                         \
        {.name = "slabs",                                                                                              \
            .kind = KIND_WORD,                                                                                         \
            .argument = "S|auto",                                                                                      \
            .fallback = "auto",                                                                                        \
            .text = "slabs of a PE; auto: what measured times make the fastest, or none if the matrix fits"},          \
        {.name = "ring",                                                                                               \
            .kind = KIND_INT,                                                                                          \
            .argument = "N",                                                                                           \
            .fallback = "3, or fewer if only they fit",                                                                \
            .low = 1,                                                                                                  \
            .high = 8,                                                                                                 \
            .text = "buffers that slabs go through"},                                                                  \
    {                                                                                                                  \
        .name = "hide", .kind = KIND_CHOICE, .argument = "on|off", .fallback = "on",                                   \
        .text = "off: a slab is copied when the one before has been multiplied"                                        \
    }

/* options are those of the stream; from_file and, of the others, what A is. */
struct streaming {
    tulle_stream_options options;
    int from_file;
};

tulle_status streaming_options(const struct options *options, struct streaming *streaming);

/* Members of a JSON object, each after a comma. */
void streaming_json(const tulle_stream_plan *plan, FILE *file);

/* Collective: a file that streams, with vectors of that type. */
tulle_status streaming_open(tulle_comm *comm, const char *operand, tulle_type type, tulle_rows **rows);

/*
 * Bytes that a stream of a matrix of so many bytes and rows takes at least, beside X and Y: row pointers, slabs, what
 * is read ahead; of a matrix in memory a copy in another format.
 */
double streaming_needs(const struct streaming *s, const struct needs *n, double matrix, double rows);

#endif
