/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file being written. It has no name until it is complete or, if the file system needs one, a
 * temporary name beside its own; then it takes its name in one step. A writer that fails, is
 * aborted or dies leaves the old file unchanged. Pipes, devices and other files are written
 * directly. One thread's object.
 */
#ifndef TULLE_BASE_NEW_FILE_H
#define TULLE_BASE_NEW_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__new_file {
    char *path;       /* its final name */
    char *temporary;  /* its temporary name; NULL: written directly */
    char unnamed[32]; /* not empty: it is unnamed, and this path leads to it */
    int replaces;     /* a file of that name exists */
    int fd;
} tulle__new_file;

/*
 * TULLE_OK if open would succeed now, else its failure. Changes nothing, and disturbs no pipe's
 * reader.
 */
tulle_status tulle__new_file_try(const char *path);

/* After a failure there is nothing to close. */
tulle_status tulle__new_file_open(const char *path, tulle__new_file *file);

/* Standard output, written directly. */
tulle_status tulle__new_file_standard(tulle__new_file *file);

/*
 * Gives the file a temporary name, for another library that writes it. A writer that dies then
 * leaves it behind.
 */
const char *tulle__new_file_name(tulle__new_file *file);

/* Writes the next bytes; bytes at an offset, of a regular file. */
tulle_status tulle__new_file_write(tulle__new_file *file, const void *data, size_t bytes);
tulle_status tulle__new_file_overwrite(tulle__new_file *file, int64_t offset, const void *data, size_t bytes);

/* Sets a message for a failure with errno, and deletes the file. */
tulle_status tulle__new_file_fail(const tulle__new_file *file, const char *what);

/* Gives the complete file its name; on failure it aborts. */
tulle_status tulle__new_file_close(tulle__new_file *file);

/* Deletes what was written. */
void tulle__new_file_abort(tulle__new_file *file);

#endif
