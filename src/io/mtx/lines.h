/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text file, plain, packed or a member of a tar archive, as runs of whole lines, divided into parts for
 * several readers.
 *
 * Part k of n holds the lines whose first byte lies in its range. Ranges are consecutive, so the
 * parts in order are the file in order. In a plain file the ranges have equal bytes, and a part
 * reads only its own. A packed file can only be unpacked from its start: every part unpacks from
 * there, skips blocks of other parts, and stops after its last; ranges are equal in packed bytes.
 * The last part reaches the end of the file and so detects truncation and junk. The text is read,
 * not mapped: a file that shrinks while it is mapped kills the process. Private to one thread.
 */
#ifndef TULLE_IO_LINES_H
#define TULLE_IO_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#include "base/progress_meter.h"
#include "io/file/tar.h"

enum { TULLE__LINE_MAX = 1 << 20, TULLE__LINES_PAD = 64 };

/* An open file. */
typedef struct tulle__text {
    int fd;
    int packed;                    /* it is read through an unpacker */
    const tulle__packing *packing; /* of a packed one */
    int archive;                   /* 1: a member of a tar archive */
    tulle__tar_member member;      /* which one */
    int64_t bytes;                 /* of the file as it lies there */
    const char *path;              /* the caller's; must outlive the text */
    const char *engine;            /* of tulle__inflate_open; for gzip */
    size_t block;                  /* bytes a read, 0: a good default */
    int threads;                   /* 1: unpack in a helper thread */
    tulle__progress_meter *meter;  /* advanced by the bytes of the file read; NULL: none */
} tulle__text;

/*
 * "-" is standard input, which must be a regular file like all others. An archive's matrix is opened, or
 * its member NAME if the path is ARCHIVE/NAME.
 */
tulle_status tulle__text_open(const char *path, tulle__text *text);

/* The name used in messages. */
const char *tulle__text_name(const char *path);
void tulle__text_close(tulle__text *text);

/* The file as an unpacker reads it. */
tulle__packed_file tulle__text_packed(const tulle__text *text);

/* The first bytes, unpacked; *got < want: that is all. */
tulle_status tulle__text_head(const tulle__text *text, void *to, size_t want, size_t *got);

/* A sweep over one part. */
typedef struct tulle__lines tulle__lines;

/* `from`: the (unpacked) offset of the first line; earlier bytes belong to no part. */
tulle_status tulle__lines_open(const tulle__text *text, int64_t from, int part, int nparts, tulle__lines **lines);

/*
 * Returns the next run of whole lines, [*begin, *end). It ends with a newline (added if the file's
 * last line has none) and has TULLE__LINES_PAD readable bytes after it; *begin = *end at the part's
 * end. *offset is that of *begin. The bytes are the caller's, also for writing, until the next
 * call. A line longer than TULLE__LINE_MAX bytes fails.
 */
tulle_status tulle__lines_next(tulle__lines *lines, char **begin, char **end, int64_t *offset);
void tulle__lines_close(tulle__lines *lines);

/*
 * The line number (from 1) of the byte at `offset`, counted from the start of the file; 0: unknown.
 */
int64_t tulle__text_line_number(const tulle__text *text, int64_t offset);

#endif
