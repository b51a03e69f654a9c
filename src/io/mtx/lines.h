/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text file, plain or packed by gzip, as runs of whole lines, cut into parts for several readers.
 *
 * Part k of n holds the lines whose first byte lies in its range; the ranges follow one another, so the parts in order
 * are the file in order. Of a plain file each part is an equal range of bytes, and only these are read. A packed file
 * can only be unpacked from its start: every part unpacks from there, ignores the blocks that are not its own, and
 * stops behind its last; the ranges are equal in packed bytes. The last part reaches the end of the file and so finds
 * truncation and junk. The text comes by read, not by mapping, since a file that shrinks while it is mapped kills the
 * process. One thread's private objects.
 */
#ifndef TULLE_IO_LINES_H
#define TULLE_IO_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "base/progress_meter.h"

enum { TULLE__LINE_MAX = 1 << 20, TULLE__LINES_PAD = 64 };

/* An open file. */
typedef struct tulle__text {
    int fd;
    int packed;
    int64_t bytes;                /* of the file as it lies there */
    const char *path;             /* the caller's; must outlive the text */
    const char *engine;           /* of tulle__inflate_open */
    size_t block;                 /* bytes a read, 0: a good default */
    int threads;                  /* 1: unpack in a helper thread */
    tulle__progress_meter *meter; /* told of the bytes of the file that have been read; NULL: none */
} tulle__text;

/* "-" is standard input, which must be a regular file as all others. */
tulle_status tulle__text_open(const char *path, tulle__text *text);

/* What messages call it. */
const char *tulle__text_name(const char *path);
void tulle__text_close(tulle__text *text);

/* A pass over one part. */
typedef struct tulle__lines tulle__lines;

/* `from`: the (unpacked) offset of the first line; what lies before belongs to no part. */
tulle_status tulle__lines_open(const tulle__text *text, int64_t from, int part, int nparts, tulle__lines **lines);

/*
 * The next run of whole lines, [*begin, *end), ended by a newline (one is added if the file's last line has none), with
 * TULLE__LINES_PAD readable bytes behind; *begin = *end at the part's end. *offset: that of *begin. The bytes belong to
 * the caller until the next call, who may write to them. A line over TULLE__LINE_MAX bytes fails.
 */
tulle_status tulle__lines_next(tulle__lines *lines, char **begin, char **end, int64_t *offset);
void tulle__lines_close(tulle__lines *lines);

/* The number, from 1, of the line that holds the byte at `offset`, by counting from the start of the file; 0: unknown.
 */
int64_t tulle__text_line_number(const tulle__text *text, int64_t offset);

#endif
