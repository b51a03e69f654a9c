/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kind of a file, by its first bytes: a reader of ours, whatever the file is called, or a name and
 * what to do with it. One table; the ending decides about contents that are not in it.
 */
#ifndef TULLE_IO_CONTENT_H
#define TULLE_IO_CONTENT_H

#include <stddef.h>

#include "io/operand.h"

enum { TULLE__CONTENT_HEAD = 4096 };

typedef struct tulle__content {
    const char *name; /* "a MATLAB file" */
    int (*begins)(const unsigned char *head, size_t n);
    const char *advice;   /* NULL: it is read, as */
    tulle__format format; /* this; with advice: files with this one's ending are left to its reader */
    int assumable;        /* text that a reader accepts if a banner is assumed, or in a .csr file */
} tulle__content;

/* The table; NULL past its last row. */
const tulle__content *tulle__content_at(int i);

/* The first row that fits; NULL: none does. */
const tulle__content *tulle__content_of(const unsigned char *head, size_t n);

/*
 * The format of an input: a generator's spec, else by content, else by the ending. Local. assume: a
 * banner that the reader is to assume, or NULL. TULLE_ERR_UNSUPPORTED, with what to do, for contents that
 * are not read.
 */
tulle_status tulle__input_format(const char *operand, const char *assume, tulle__format *format);

#endif
