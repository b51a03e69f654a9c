/* SPDX-License-Identifier: Apache-2.0 */
/* Square matrices in blocks that --blocks names, and what verbs on them share. */
#ifndef TULLE_TOOL_BLOCKED_H
#define TULLE_TOOL_BLOCKED_H

#include "verb.h"

#define OPTION_SQUARE_BLOCKS                                                                                           \
    {                                                                                                                  \
        .name = "blocks", .kind = KIND_WORD, .argument = "B|FILE",                                                     \
        .text =                                                                                                        \
            "size of the blocks of rows and columns, or a file of sizes, one a line; auto, the default: a generator's" \
    }
#define OPTION_FILTER                                                                                                  \
    {                                                                                                                  \
        .name = "filter", .kind = KIND_WORD, .argument = "EPS", .fallback = "0",                                       \
        .text = "leave out blocks off the diagonal with a Frobenius norm below EPS"                                    \
    }
#define OPTION_COMBINE                                                                                                 \
    {                                                                                                                  \
        .name = "combine", .group = GROUP_TUNING, .kind = KIND_WORD, .argument = "auto|none|N", .fallback = "auto",    \
        .text = "block columns that share a submatrix: those that save operations, none, or N neighbours"              \
    }
#define OPTION_SYMMETRIC                                                                                               \
    {                                                                                                                  \
        .name = "symmetric", .kind = KIND_FLAG, .text = "average the result with its transpose"                        \
    }

#define OPTION_ORDER                                                                                                   \
    {                                                                                                                  \
        .name = "order", .group = GROUP_TUNING, .kind = KIND_INT, .argument = "N", .fallback = "2", .low = 2,          \
        .high = 7, .text = "order of newton-schulz: each step takes 2, 3, 4, 4, 5, 5 products"                         \
    }

#define OPTION_PRECISION                                                                                               \
    {                                                                                                                  \
        .name = "precision", .kind = KIND_CHOICE, .argument = "full|mixed", .fallback = "full",                        \
        .text = "mixed: dense work of f64 values in f32; the report has the rounding"                                  \
    }
#define OPTION_SUBMATRIX_DEVICE                                                                                        \
    {                                                                                                                  \
        .name = "device", .kind = KIND_WORD, .argument = "SPEC", .fallback = "this host",                              \
        .text = "what decomposes submatrices, as cuda, limit:mem=1G+cpu; each PE opens it, PEs of a host share it"     \
    }
#define OPTION_CHECK_FUNCTION                                                                                          \
    {                                                                                                                  \
        .name = "check", .kind = KIND_FLAG, .text = "compute some columns again by another path, and compare"          \
    }

enum { CHECK_SAMPLES = 8 };

/* whole: of a method with the whole matrix. */
void blocked_check_text(int passed, int whole, double error, FILE *file);

/* The part that patterns and filters cut off; nan: it could not be measured. */
void blocked_truncation_text(double truncation, FILE *file);

/* Steps of iterations with whole matrices, as PE 0 has them. */
enum { HISTORY_MOST = 200 };
struct blocked_history {
    int count;
    tulle_matfun_iteration step[HISTORY_MOST];
};

/* A table, and (with a comma before) "history":[...]. counted: traces are electrons. */
void blocked_history_text(const struct blocked_history *h, int counted, FILE *file);
void blocked_history_json(const struct blocked_history *h, FILE *file);

/* --filter, --combine, --symmetric. */
tulle_status blocked_options(const struct options *options, tulle_matfun_options *matfun);

/* Collective: the square matrix of an operand, in blocks, with tiles of rows, one a PE. */
tulle_status blocked_load(const struct options *options, tulle_comm *comm, const char *operand,
    const tulle_read_options *reading, char *warnings, tulle_mat **V);

/*
 * Refuses, in the verb's name, memory that holds less than the operands from `first` on, in blocks, and copies of them:
 * submatrices, which only the patterns tell, are not counted.
 */
tulle_status blocked_check_needs(
    const struct options *options, const tulle_read_options *reading, int first, const char *verb);

/* Prints what both verbs report of a function's submatrices. */
void blocked_text(const tulle_matfun_report *r, FILE *file);
void blocked_json(const tulle_matfun_report *r, FILE *file);

#endif
