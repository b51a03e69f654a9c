/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as a table: name, kind, default, a sentence. Parsing, --help and the man pages follow
 * from it.
 */
#ifndef TULLE_TOOL_OPTION_H
#define TULLE_TOOL_OPTION_H

#include <stdio.h>

#include <tulle/tulle.h>

/*
 * KIND_CHOICE: one of the words of `argument`, separated by |, in any case; returned as spelled
 * there.
 */
enum kind { KIND_FLAG, KIND_INT, KIND_SIZE, KIND_WORD, KIND_CHOICE };

/* Under which heading --help lists an option. */
enum group { GROUP_USUAL, GROUP_TUNING, GROUP_READING, GROUP_EXPERIMENTS, GROUPS };

struct option {
    const char *name; /* "pes": --pes N or --pes=N */
    enum group group;
    char letter; /* 0 or a short form: -o */
    enum kind kind;
    const char *argument; /* the value's name in --help */
    const char *fallback; /* the default in --help; NULL: none */
    const char *text;
    int64_t low, high; /* KIND_INT */
};

enum { OPTIONS_MAX = 64, OPERANDS_MAX = 16, CHOICE_MAX = 16 };

/* Option values; absent ones keep `given` 0. */
struct options {
    const struct option *table;
    int count;
    struct {
        int given;
        int64_t number;
        double size;
        const char *word;
        char choice[CHOICE_MAX];
    } value[OPTIONS_MAX];
    const char *operand[OPERANDS_MAX];
    int noperands, inputs; /* inputs: number of leading operands that are matrices to read */
};

/*
 * TULLE_ERR_ARG for unknown options (with the nearest name), malformed values, or too many
 * operands.
 */
tulle_status options_parse(const struct option *table, int argc, char **argv, struct options *options);

/* True if the table has this option, given or not. */
int options_has(const struct options *options, const char *name);

int options_flag(const struct options *options, const char *name);
int64_t options_int(const struct options *options, const char *name, int64_t fallback);
double options_size(const struct options *options, const char *name, double fallback);
const char *options_word(const struct options *options, const char *name, const char *fallback);

/* The place of a given option's word, to replace it; NULL: it was not given. */
const char **options_place(struct options *options, const char *name);

/* True if two words are the same, ignoring case. */
int same_word(const char *given, const char *word);

/* Calls read(word, arg) for each word of a comma-separated list, until the first failure. */
tulle_status options_each(const char *list, tulle_status (*read)(const char *word, void *arg), void *arg);

#endif
