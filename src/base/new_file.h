/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file being written: it has no name until it is complete, or, where the file system wants one, a temporary name
 * beside its own, then takes its name in one step; a writer that fails, is aborted or dies leaves the old file as it
 * was. What is not a regular file (a pipe, a device) is written to directly. One thread's private object.
 */
#ifndef TULLE_BASE_NEW_FILE_H
#define TULLE_BASE_NEW_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__new_file {
    char *path;       /* what it will be called */
    char *temporary;  /* what it is called until then; NULL: it is written to directly */
    char unnamed[32]; /* not empty: it has no name yet, and this leads to it */
    int replaces;     /* there is a file of that name */
    int fd;
} tulle__new_file;

/* TULLE_OK if open would succeed now, else its failure. Nothing is changed or left behind, also of a pipe's readers. */
tulle_status tulle__new_file_try(const char *path);

/* After a failure nothing is to be closed. */
tulle_status tulle__new_file_open(const char *path, tulle__new_file *file);

/* Standard output, written to directly. */
tulle_status tulle__new_file_standard(tulle__new_file *file);

/* Gives the file a temporary name, for what is written by another library: who dies then leaves it behind. */
const char *tulle__new_file_name(tulle__new_file *file);

/* The next bytes; those at an offset, of a regular file. */
tulle_status tulle__new_file_write(tulle__new_file *file, const void *data, size_t bytes);
tulle_status tulle__new_file_overwrite(tulle__new_file *file, int64_t offset, const void *data, size_t bytes);

/* A message for what failed with errno, and what is left of the file. */
tulle_status tulle__new_file_fail(const tulle__new_file *file, const char *what);

/* Gives the complete file its name (sync: and waits until it is on disk); after a failure it is aborted. */
tulle_status tulle__new_file_close(tulle__new_file *file, int sync);

/* Removes what was written. */
void tulle__new_file_abort(tulle__new_file *file);

#endif
