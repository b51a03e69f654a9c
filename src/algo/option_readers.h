/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that only some algorithms or methods read. One that nothing would read is refused, with the
 * names of those that do; automatic choice is among those that read all options given.
 */
#ifndef TULLE_ALGO_OPTION_READERS_H
#define TULLE_ALGO_OPTION_READERS_H

#include <stdbool.h>

#include <tulle/status.h>

/* A field of an options struct. */
typedef struct tulle__option_reader {
    const char *option;
    bool given;       /* it has another value than its default */
    unsigned readers; /* bit m: method m reads it */
} tulle__option_reader;

enum { TULLE__NO_AUTO = -1 };

/*
 * method: the one that is named; `automatic` stands for any. *readers: the methods, of those in it, that
 * read all options given. TULLE_ERR_ARG if the method is none of them, or if there is none. Local.
 */
tulle_status tulle__option_readers(const tulle__option_reader *options, int count, const char *(*name)(int method),
    int method, int automatic, unsigned *readers);

#endif
