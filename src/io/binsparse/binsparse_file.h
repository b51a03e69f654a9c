/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the Binsparse reader. */
#ifndef TULLE_IO_BINSPARSE_FILE_H
#define TULLE_IO_BINSPARSE_FILE_H

#include "io/binsparse/binsparse.h"

struct tulle__binsparse {
    tulle__binsparse_header header;
    char *path, *group; /* group NULL: the root */
    int fd;
    int64_t bytes; /* of the file */
    tulle__hdf5_sets *sets;
    tulle__progress_meter *meter;
    int64_t wanted, done; /* values: expected by the progress meter, and read */
};

/*
 * Fills in the header, whose arrays are known, from the JSON text, and checks both against each
 * other.
 */
tulle_status tulle__binsparse_describe(const char *path, const char *json, tulle__binsparse_header *header);

enum { TULLE__BINSPARSE_PIECE = 1 << 15 }; /* numbers read at a time */

/* Integers first .. first + count - 1, at most a piece; raw has room for them. */
tulle_status tulle__binsparse_piece(
    const tulle__binsparse *file, int which, int64_t first, int64_t count, char *raw, int64_t *to);

/* The JSON text of a CSR, BSR or dense file; freed by tulle__free. */
tulle_status tulle__binsparse_text(const tulle__binsparse_header *header, char **json);

#endif
