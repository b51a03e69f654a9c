/* SPDX-License-Identifier: Apache-2.0 */
/* A regular file that is read at any place. Private to one thread. */
#ifndef TULLE_IO_REGULAR_H
#define TULLE_IO_REGULAR_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__regular {
    int fd; /* below 0: it is not open */
    int64_t bytes;
    char *path;
} tulle__regular;

/* On failure, too, *file can be closed. */
tulle_status tulle__regular_open(const char *path, tulle__regular *file);
void tulle__regular_close(tulle__regular *file);
/* TULLE_ERR_IO, with the place, if the file ends early. */
tulle_status tulle__regular_read(const tulle__regular *file, void *to, size_t bytes, int64_t offset);

#endif
