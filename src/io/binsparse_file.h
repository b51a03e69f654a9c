/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the Binsparse reader share. */
#ifndef TULLE_IO_BINSPARSE_FILE_H
#define TULLE_IO_BINSPARSE_FILE_H

#include "io/binsparse.h"

struct tulle__binsparse {
    tulle__binsparse_header header;
    char *path, *group; /* group NULL: the root */
    int fd;
    int64_t bytes; /* of the file */
    tulle__meter *meter;
    int64_t wanted, done; /* values: of the meter's reader */
};

/* Fills header, whose arrays are known already, from the JSON text and holds both against each other. */
tulle_status tulle__binsparse_describe(const char *path, const char *json, tulle__binsparse_header *header);

/* The JSON text of a CSR or dense file; freed by tulle__free. */
tulle_status tulle__binsparse_text(const tulle__binsparse_header *header, char **json);

#endif
