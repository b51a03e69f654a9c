/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef TULLE_HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "io/file/inflate.h"
#include "io/file/regular.h"

/* Lengths of records without what follows them; the longest directory that is read. */
enum { END = 22, END64 = 56, LOCATOR64 = 20, ENTRY = 46, LOCAL = 30, COMMENT = 65535, DIRECTORY = 1 << 20 };

struct tulle__zip {
    tulle__regular file;
    unsigned char *directory;
    size_t length;
};

struct tulle__zip_stream {
    const tulle__zip *zip;
    tulle__zip_member member;
    tulle__inflate *inflate; /* NULL: stored */
    int64_t at;              /* in the member */
    int skipped;
    uint32_t crc; /* of what was read */
    int64_t read;
};

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t x = 0;
    for (int b = 0; b < bytes; b++) x |= (uint64_t)p[b] << 8 * b;
    return x;
}

static int is(const unsigned char *p, uint32_t signature)
{
    return little(p, 4) == signature;
}

/* ---- the directory ---- */

/*
 * Reads the directory's position from the zip64 end record, to which a locator before `end` points.
 */
static tulle_status read_end64(const tulle__zip *zip, int64_t end, uint64_t *size, uint64_t *offset)
{
    unsigned char locator[LOCATOR64], record[END64];
    tulle_status status = TULLE_OK;
    if (end < LOCATOR64) goto none;
    TULLE_TRY(tulle__regular_read(&zip->file, locator, LOCATOR64, end - LOCATOR64));
    if (!is(locator, 0x07064b50)) goto none;
    uint64_t at = little(locator + 8, 8);
    if (at > (uint64_t)(end - LOCATOR64) || (uint64_t)(end - LOCATOR64) - at < END64) goto none;
    TULLE_TRY(tulle__regular_read(&zip->file, record, END64, (int64_t)at));
    if (!is(record, 0x06064b50)) goto none;
    *size = little(record + 40, 8);
    *offset = little(record + 48, 8);
out:
    return status;
none:
    return tulle__fail(TULLE_ERR_FORMAT, "%s: the zip64 record of the directory's end is missing", zip->file.path);
}

/* Finds the record at the end of the file, which a comment may follow. */
static tulle_status find_end(const tulle__zip *zip, unsigned char *record, int64_t *end)
{
    TULLE__SCOPED unsigned char *tail = NULL;
    size_t length = zip->file.bytes < END + COMMENT ? (size_t)zip->file.bytes : END + COMMENT;
    TULLE_CALL(tulle__alloc(length, 1, "the end of a zip file", &tail));
    TULLE_CALL(tulle__regular_read(&zip->file, tail, length, zip->file.bytes - (int64_t)length));
    for (size_t i = length >= END ? length - END + 1 : 0; i-- > 0;)
        if (is(tail + i, 0x06054b50) && i + END + little(tail + i + 20, 2) == length) {
            memcpy(record, tail + i, END);
            *end = zip->file.bytes - (int64_t)(length - i);
            return TULLE_OK;
        }
    return tulle__fail(
        TULLE_ERR_FORMAT, "%s: is no zip file, or a truncated one: there is no directory at its end", zip->file.path);
}

static tulle_status read_directory(tulle__zip *zip)
{
    unsigned char record[END];
    int64_t end = 0;
    tulle_status status = TULLE_OK;
    TULLE_CALL(find_end(zip, record, &end));
    uint64_t size = little(record + 12, 4), offset = little(record + 16, 4), entries = little(record + 10, 2);
    if (little(record + 4, 2) != 0 && little(record + 4, 2) != 0xffff)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: zip files in several parts are not supported", zip->file.path);
    if (size == 0xffffffff || offset == 0xffffffff || entries == 0xffff) {
        status = read_end64(zip, end, &size, &offset);
        if (status != TULLE_OK) return status;
    }
    if (offset > (uint64_t)end || size > (uint64_t)end - offset)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the directory lies outside the file", zip->file.path);
    if (size > DIRECTORY)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: a directory of %" PRIu64 " bytes is longer than that of any matrix", zip->file.path, size);
    status = tulle__alloc((size_t)size, 1, "the directory of a zip file", &zip->directory);
    zip->length = (size_t)size;
    return status == TULLE_OK ? tulle__regular_read(&zip->file, zip->directory, zip->length, (int64_t)offset) : status;
}

tulle_status tulle__zip_open(const char *path, tulle__zip **zip)
{
    tulle__zip *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__zip_present(path));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a zip file", &made));
    made->file.fd = -1;
    TULLE_TRY(tulle__regular_open(path, &made->file));
    TULLE_TRY(read_directory(made));
    *zip = made;
    return TULLE_OK;
out:
    tulle__zip_close(made);
    return status;
}

void tulle__zip_close(tulle__zip *zip)
{
    if (!zip) return;
    tulle__regular_close(&zip->file);
    tulle__free(zip->directory);
    tulle__free(zip);
}

/* Reads sizes and offset that do not fit 32 bits from the extra field of kind 1, in this order. */
static int widen(const unsigned char *extra, size_t length, uint64_t *value[3])
{
    int wanted = 0;
    for (int v = 0; v < 3; v++) wanted += *value[v] == 0xffffffff;
    for (size_t i = 0; wanted && i + 4 <= length;) {
        size_t n = (size_t)little(extra + i + 2, 2);
        const unsigned char *p = extra + i + 4;
        if (n > length - i - 4) return 0;
        i += 4 + n;
        if (little(p - 4, 2) != 1) continue;
        for (int v = 0; v < 3; v++) {
            if (*value[v] != 0xffffffff) continue;
            if (n < 8) return 0;
            *value[v] = little(p, 8);
            p += 8;
            n -= 8;
        }
        return 1;
    }
    return !wanted;
}

static tulle_status damaged(const tulle__zip *zip)
{
    return tulle__fail(TULLE_ERR_FORMAT, "%s: the directory of the zip file is damaged", zip->file.path);
}

/*
 * The start of the member's data: after its own header, whose lengths may differ from those in the
 * directory.
 */
static tulle_status find_data(const tulle__zip *zip, uint64_t header, tulle__zip_member *member)
{
    unsigned char local[LOCAL];
    tulle_status status = TULLE_OK;
    if (header > (uint64_t)zip->file.bytes || (uint64_t)zip->file.bytes - header < LOCAL) return damaged(zip);
    TULLE_TRY(tulle__regular_read(&zip->file, local, LOCAL, (int64_t)header));
    if (!is(local, 0x04034b50))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: its header is not where the directory says", member->what);
    member->at = (int64_t)header + LOCAL + (int64_t)little(local + 26, 2) + (int64_t)little(local + 28, 2);
    if (member->at > zip->file.bytes || member->packed_bytes > zip->file.bytes - member->at)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: lies outside the file, which may be truncated", member->what);
out:
    return status;
}

static tulle_status take_entry(
    const tulle__zip *zip, const unsigned char *entry, size_t name, size_t extra, tulle__zip_member *member)
{
    uint64_t bytes = little(entry + 24, 4), packed = little(entry + 20, 4), header = little(entry + 42, 4);
    uint64_t *value[3] = {&bytes, &packed, &header};
    int flags = (int)little(entry + 8, 2), method = (int)little(entry + 10, 2);
    if (!widen(entry + ENTRY + name, extra, value) || bytes > INT64_MAX || packed > INT64_MAX) return damaged(zip);
    *member = (tulle__zip_member){.packed = method == 8,
        .packed_bytes = (int64_t)packed,
        .bytes = (int64_t)bytes,
        .crc = (uint32_t)little(entry + 16, 4)};
    snprintf(member->what, sizeof member->what, "%.220s: member %.*s", zip->file.path, name < 64 ? (int)name : 64,
        (const char *)entry + ENTRY);
    if (flags & 1) return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: is encrypted", member->what);
    if (method != 0 && method != 8)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is packed by method %d; those that are read are none (0) and deflate (8)", member->what, method);
    if (method == 0 ? bytes != packed : bytes / 1040 > packed) /* deflate packs 1032 to 1 at best */
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: %" PRIu64 " bytes cannot lie in %" PRIu64, member->what, bytes, packed);
    return find_data(zip, header, member);
}

tulle_status tulle__zip_find(const tulle__zip *zip, const char *name, int *found, tulle__zip_member *member)
{
    *found = 0;
    for (size_t i = 0; i < zip->length;) {
        const unsigned char *entry = zip->directory + i;
        if (zip->length - i < ENTRY || !is(entry, 0x02014b50)) return damaged(zip);
        size_t n = (size_t)little(entry + 28, 2), extra = (size_t)little(entry + 30, 2);
        size_t all = ENTRY + n + extra + (size_t)little(entry + 32, 2);
        if (all > zip->length - i) return damaged(zip);
        i += all;
        if (n != strlen(name) || memcmp(entry + ENTRY, name, n) != 0) continue;
        *found = 1;
        return take_entry(zip, entry, n, extra, member);
    }
    return TULLE_OK;
}

/* ---- members ---- */

tulle_status tulle__zip_stream_open(const tulle__zip *zip, const tulle__zip_member *member, tulle__zip_stream **stream)
{
    tulle__zip_stream *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a member of a zip file", &made));
    made->zip = zip;
    made->member = *member;
    if (member->packed)
        TULLE_TRY(tulle__inflate_open_raw(
            zip->file.fd, member->what, NULL, member->at, member->packed_bytes, &made->inflate));
    *stream = made;
    return TULLE_OK;
out:
    tulle__zip_stream_close(made);
    return status;
}

void tulle__zip_stream_close(tulle__zip_stream *stream)
{
    if (!stream) return;
    tulle__inflate_close(stream->inflate);
    tulle__free(stream);
}

static tulle_status take(tulle__zip_stream *s, void *to, size_t bytes)
{
    size_t got = bytes;
    int64_t consumed;
    TULLE_CALL(s->inflate ? tulle__inflate_read(s->inflate, to, bytes, &got, &consumed)
                          : tulle__regular_read(&s->zip->file, to, bytes, s->member.at + s->at));
    s->at += (int64_t)got;
    if (got == bytes) return TULLE_OK;
    return tulle__fail(TULLE_ERR_FORMAT, "%s: unpacks to %" PRId64 " bytes instead of %" PRId64, s->member.what, s->at,
        s->member.bytes);
}

static tulle_status check_workspace(const tulle__zip_stream *s, int64_t bytes)
{
    if (bytes <= s->member.bytes - s->at) return TULLE_OK;
    return tulle__fail(
        TULLE_ERR_FORMAT, "%s: has %" PRId64 " bytes, which are too few", s->member.what, s->member.bytes);
}

tulle_status tulle__zip_read(tulle__zip_stream *s, void *to, size_t bytes)
{
    TULLE_CALL(check_workspace(s, (int64_t)bytes));
    TULLE_CALL(take(s, to, bytes));
    s->crc = tulle__zip_crc(s->crc, to, bytes);
    s->read += (int64_t)bytes;
    return TULLE_OK;
}

tulle_status tulle__zip_skip(tulle__zip_stream *s, int64_t bytes)
{
    char piece[1 << 14];
    tulle_status status = check_workspace(s, bytes);
    s->skipped |= bytes > 0;
    if (!s->inflate && status == TULLE_OK) s->at += bytes;
    while (s->inflate && bytes && status == TULLE_OK) {
        size_t n = bytes < (int64_t)sizeof piece ? (size_t)bytes : sizeof piece;
        status = take(s, piece, n);
        bytes -= (int64_t)n;
    }
    return status;
}

static tulle_status wrong_sum(const tulle__zip_member *member)
{
    return tulle__fail(TULLE_ERR_FORMAT, "%s: is damaged: its checksum is wrong", member->what);
}

tulle_status tulle__zip_end(tulle__zip_stream *s)
{
    char more;
    size_t got = 0;
    int64_t consumed;
    if (s->inflate) TULLE_CALL(tulle__inflate_read(s->inflate, &more, 1, &got, &consumed));
    if (got || s->at < s->member.bytes)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: has more than the %" PRId64 " bytes that belong to its array",
            s->member.what, s->at);
    return s->skipped || s->crc == s->member.crc ? TULLE_OK : wrong_sum(&s->member);
}

tulle__zip_sum tulle__zip_sum_of(const tulle__zip_stream *s)
{
    return (tulle__zip_sum){s->read, s->crc};
}

/* ---- checksums ---- */

#ifdef TULLE_HAVE_ZLIB
uint32_t tulle__zip_crc(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}

tulle_status tulle__zip_check(const tulle__zip_member *member, int n, const tulle__zip_sum *sum)
{
    uint32_t crc = 0;
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) {
        crc = (uint32_t)crc32_combine(crc, sum[i].crc, (z_off_t)sum[i].bytes);
        bytes += sum[i].bytes;
    }
    return bytes == member->bytes && crc == member->crc ? TULLE_OK : wrong_sum(member);
}

tulle_status tulle__zip_present(const char *path)
{
    (void)path;
    return TULLE_OK;
}
#else
uint32_t tulle__zip_crc(uint32_t crc, const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    return crc;
}

tulle_status tulle__zip_check(const tulle__zip_member *member, int n, const tulle__zip_sum *sum)
{
    (void)n, (void)sum;
    return tulle__zip_present(member->what);
}

tulle_status tulle__zip_present(const char *path)
{
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: this build has no zlib, which .npz files need", path);
}
#endif
