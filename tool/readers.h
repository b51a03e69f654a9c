/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that only some algorithms or methods of a verb read: one table. An option that nothing would read is
 * refused, with the names of those that do; automatic choice is among those that read all options given. Help and
 * man pages list the table.
 */
#ifndef TULLE_TOOL_READERS_H
#define TULLE_TOOL_READERS_H

#include "option.h"

struct reader {
    const char *verb, *option;
    const char *by;    /* the option that chooses, "alg"; NULL: all read it */
    const char *words; /* of that option: those that read this one, separated by commas */
    const char *with;  /* NULL, or read only with this option */
    const char *all;   /* NULL, or a value that all words follow */
    int refused;       /* the library refuses it, too, and says why: `all` shows that */
};

/* Row i of a verb; NULL past its last. */
const struct reader *reader_of(const char *verb, int i);

/* Prints the verb's rows, in lines of at most 80 columns, or as mdoc. */
void readers_print(const char *verb, int mdoc, FILE *file);

/* The first option given that `word` of option `by` does not read; NULL: it reads all. */
const struct reader *unread_by(const struct options *options, const char *verb, const char *by, const char *word);

/*
 * TULLE_ERR_ARG, with the readers' names, if an option is given without the one that it goes with, or beside one with
 * which nothing reads it, or if one of the words of option `by` (fallback: where it is not given) does not read it.
 * `auto` and `all` stand for those words that do: TULLE_ERR_ARG if no word reads all options.
 */
tulle_status check_readers(const struct options *options, const char *verb, const char *by, const char *fallback);

/*
 * The word of option `by`, or its fallback; `auto` becomes the first word that reads all options given, if it
 * does not itself.
 */
const char *chosen_word(
    const struct options *options, const char *verb, const char *by, const char *fallback, char word[32]);

#endif
