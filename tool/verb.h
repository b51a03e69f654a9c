/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subcommands, one file each. Help and man pages are made from it. */
#ifndef TULLE_TOOL_VERB_H
#define TULLE_TOOL_VERB_H

#include "option.h"
#include "process/exit_status.h"

struct verb {
    const char *name;
    const char *operands; /* for the usage line */
    const char *summary;
    const char *description; /* paragraphs separated by empty lines */
    const char *examples;    /* command lines, one a line */
    const struct option *options;
    int least, most; /* operands */
    int inputs;      /* number of leading operands that are matrices to read */
    tulle_status (*run)(const struct options *options);
};

extern const struct verb verb_info, verb_calibrate, verb_gen, verb_convert, verb_stat, verb_spmm, verb_spgemm,
    verb_gemm, verb_trisolve, verb_solve, verb_eig, verb_svd, verb_pca, verb_stream, verb_matfun, verb_density,
    verb_predict, verb_plot;

#define OPTION_HELP                                                                                                    \
    {                                                                                                                  \
        .name = "help", .letter = 'h', .kind = KIND_FLAG, .text = "show this and exit"                                 \
    }

/* Options that several verbs share. */
#define OPTION_PES                                                                                                     \
    {                                                                                                                  \
        .name = "pes", .letter = 'p', .kind = KIND_INT, .argument = "N", .fallback = "the cores", .low = 1,            \
        .high = 32768, .text = "number of processing elements"                                                         \
    }
#define OPTION_COMM                                                                                                    \
    {                                                                                                                  \
        .name = "comm", .kind = KIND_WORD, .argument = "SPEC", .fallback = "threads; mpi or shmem under its launcher", \
        .text = "engine and wrappers, as in mpi, shmem, check+threads, net:latency=2us,bw=12G+threads, "               \
                "sim:platform=summit"                                                                                  \
    }
#define OPTION_THREADS                                                                                                 \
    {                                                                                                                  \
        .name = "threads", .letter = 't', .kind = KIND_INT, .argument = "T", .fallback = "cores / PEs", .low = 1,      \
        .high = 1024, .text = "threads of each PE's kernels"                                                           \
    }
#define OPTION_TYPE                                                                                                    \
    {                                                                                                                  \
        .name = "type", .kind = KIND_CHOICE, .argument = "f32|f64", .fallback = "f64", .text = "type of the values"    \
    }
#define OPTION_MACHINE                                                                                                 \
    {                                                                                                                  \
        .name = "machine", .group = GROUP_EXPERIMENTS, .kind = KIND_WORD, .argument = "FILE|summit|dgx2|here",         \
        .fallback = "here",                                                                                            \
        .text = "the machine of the model; here: what --comm simulates, or this one; a file: by calibrate"             \
    }
#define TRANSFERS_TEXT(name, word, text) "; " word ": " text
#define OPTION_TRANSFERS                                                                                               \
    {                                                                                                                  \
        .name = "transfers", .group = GROUP_TUNING, .kind = KIND_WORD, .argument = "NAME", .fallback = "auto",         \
        .text = "what is transferred of remote tiles of B" TULLE_TRANSFERS_LIST(TRANSFERS_TEXT)                        \
    }
#define OPTION_MEMORY                                                                                                  \
    {                                                                                                                  \
        .name = "memory", .kind = KIND_SIZE, .argument = "SIZE", .fallback = "what is free",                           \
        .text = "memory that the run may use, all PEs together, as in 4G; a lower limit than needed is refused"        \
    }
#define OPTION_OUTPUT(words)                                                                                           \
    {                                                                                                                  \
        .name = "output", .letter = 'o', .kind = KIND_WORD, .argument = "FILE", .text = words                          \
    }
#define OPTION_JSON(words)                                                                                             \
    {                                                                                                                  \
        .name = "json", .kind = KIND_FLAG, .text = words                                                               \
    }
#define OPTION_TRACE                                                                                                   \
    {                                                                                                                  \
        .name = "trace", .group = GROUP_EXPERIMENTS, .kind = KIND_WORD, .argument = "FILE",                            \
        .text = "write a timeline that Perfetto opens"                                                                 \
    }
#define OPTION_SEED(words)                                                                                             \
    {                                                                                                                  \
        .name = "seed", .group = GROUP_EXPERIMENTS, .kind = KIND_INT, .argument = "S", .fallback = "1", .low = 0,      \
        .high = INT32_MAX, .text = words                                                                               \
    }
#define OPTION_WIDE                                                                                                    \
    {                                                                                                                  \
        .name = "wide", .kind = KIND_FLAG, .text = "all columns of the table, also on a narrow terminal"               \
    }
#define OPTION_QUIET                                                                                                   \
    {                                                                                                                  \
        .name = "quiet", .letter = 'q', .kind = KIND_FLAG, .text = "no warnings and no progress"                       \
    }
#define OPTIONS_READING                                                                                                \
    {.name = "lenient",                                                                                                \
        .group = GROUP_READING,                                                                                        \
        .kind = KIND_FLAG,                                                                                             \
        .text = "accept a Matrix Market banner with blanks before or words after it"},                                 \
        {.name = "zero-based",                                                                                         \
            .group = GROUP_READING,                                                                                    \
            .kind = KIND_FLAG,                                                                                         \
            .text = "indices in Matrix Market files begin at 0"},                                                      \
        {.name = "finite", .group = GROUP_READING, .kind = KIND_FLAG, .text = "refuse nan and inf"},                   \
        {.name = "drop-zeros", .group = GROUP_READING, .kind = KIND_FLAG, .text = "omit stored zeros"},                \
        {.name = "assume",                                                                                             \
            .group = GROUP_READING,                                                                                    \
            .kind = KIND_WORD,                                                                                         \
            .argument = "BANNER",                                                                                      \
            .text = "banner of a file without one, as in 'matrix coordinate real general'"},                           \
    {                                                                                                                  \
        .name = "duplicates", .group = GROUP_READING, .kind = KIND_CHOICE, .argument = "sum|error|last",               \
        .fallback = "sum", .text = "how duplicate entries are combined"                                                \
    }

tulle_status reading_options(const struct options *options, tulle_read_options *reading);

/* tulle_mat_load of one more operand: its warnings follow those that are there, of TULLE_WARNINGS_MAX bytes. */
tulle_status load_operand(tulle_comm *comm, const char *operand, const tulle_layout *layout, tulle_kind kind,
    const tulle_read_options *reading, char *warnings, tulle_mat **A);

/*
 * Opens the team that --comm, --pes, --memory and --threads describe, unless `status` is a failure.
 * All processes return the same status.
 */
tulle_status open_team(const struct options *options, const char *prefix, tulle_status before, tulle_team **team);

/* tulle_team_run, with progress on stderr if that is a terminal, unless --quiet. */
tulle_status run_team(const struct options *options, tulle_team *team, tulle_body body, void *arg);

/* A line on stderr that is rewritten in place, on a terminal and unless --quiet. */
struct line {
    int length; /* of the current text */
};
int line_wanted(const struct options *options);
void line_show(struct line *line, const char *text);
void line_clear(struct line *line);

/* Prints warnings to stderr, line by line, unless --quiet. */
void show_warnings(const struct options *options, const char *warnings);

#endif
