/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip files (PKWARE's APPNOTE) as NumPy writes them: members that are stored or deflated, with or
 * without zip64 sizes. Members are found through the directory at the end and read from their
 * start; skipped bytes of a stored one are not read. Encryption, other methods and multi-part files
 * are refused. Messages name file and member. Private to one thread.
 */
#ifndef TULLE_IO_ZIP_H
#define TULLE_IO_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__zip tulle__zip;

typedef struct tulle__zip_member {
    char what[320]; /* "FILE: member NAME" */
    int packed;
    int64_t at, packed_bytes; /* where in the file, and how many there */
    int64_t bytes;
    uint32_t crc;
} tulle__zip_member;

/* TULLE_ERR_UNSUPPORTED without zlib. */
tulle_status tulle__zip_open(const char *path, tulle__zip **zip);
void tulle__zip_close(tulle__zip *zip);

/* *found = 0: no member of this name. */
tulle_status tulle__zip_find(const tulle__zip *zip, const char *name, int *found, tulle__zip_member *member);

/* A member being read once, from its start. The zip must outlive it. */
typedef struct tulle__zip_stream tulle__zip_stream;
tulle_status tulle__zip_stream_open(const tulle__zip *zip, const tulle__zip_member *member, tulle__zip_stream **stream);
void tulle__zip_stream_close(tulle__zip_stream *stream);

/* Reads, or skips, the next bytes: all of them, or a failure. */
tulle_status tulle__zip_read(tulle__zip_stream *stream, void *to, size_t bytes);
tulle_status tulle__zip_skip(tulle__zip_stream *stream, int64_t bytes);

/* Checks that the member ends here, and its checksum if nothing was skipped. */
tulle_status tulle__zip_end(tulle__zip_stream *stream);

/*
 * The checksum and length of the bytes read since the stream was opened; and whether the sums of n
 * consecutive pieces combine to the member's own.
 */
typedef struct tulle__zip_sum {
    int64_t bytes;
    uint32_t crc;
} tulle__zip_sum;
tulle__zip_sum tulle__zip_sum_of(const tulle__zip_stream *stream);
tulle_status tulle__zip_check(const tulle__zip_member *member, int n, const tulle__zip_sum *sum);

/* Checksum of output: extends crc (at first 0) by `bytes` bytes. */
uint32_t tulle__zip_crc(uint32_t crc, const void *data, size_t bytes);

/* TULLE_ERR_UNSUPPORTED without zlib; path is for the message. */
tulle_status tulle__zip_present(const char *path);

#endif
