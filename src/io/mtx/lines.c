/* SPDX-License-Identifier: Apache-2.0 */
#include "io/mtx/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/file/ahead.h"

enum { DEFAULT_BLOCK = 1 << 18 }; /* fits the second-level cache between the read and the parser */

struct tulle__lines {
    tulle__text text;
    size_t block;
    int part, nparts;
    int64_t from;
    int64_t begin; /* of a plain file: where the part begins */
    /* lines that begin here or later belong to the next part; INT64_MAX: not known yet (packed) */
    int64_t limit;
    tulle__ahead *ahead; /* packed files */
    int64_t position;    /* of the next byte to be read */
    int aligned;         /* the next byte begins a line of this part; else skip past a newline */
    int started;         /* the range of this part has begun */
    int ended;           /* nothing more to read */
    char *buffer;
    size_t capacity; /* bytes that buffer holds, PAD not counted; grows up to LINE_MAX + 1 + block */
    size_t used;     /* bytes in the buffer, of which */
    size_t done;     /* so many were handed out */
    int64_t offset;  /* of buffer[0] */
};

const char *tulle__text_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

tulle__packed_file tulle__text_packed(const tulle__text *text)
{
    return (tulle__packed_file){.fd = text->fd,
        .path = text->path,
        .packing = text->packing,
        .engine = text->engine,
        .member = text->archive,
        .from = text->member.from,
        .bytes = text->member.bytes};
}

tulle_status tulle__text_head(const tulle__text *text, void *to, size_t want, size_t *got)
{
    *got = 0;
    if (!text->packed) {
        const ssize_t n = pread(text->fd, to, want, 0);
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", text->path, strerror(errno));
        *got = (size_t)n;
        return TULLE_OK;
    }
    tulle__inflate *inflate;
    int64_t consumed;
    tulle__packed_file file = tulle__text_packed(text);
    if (file.member && file.bytes < (int64_t)want) want = (size_t)file.bytes; /* the rest of the archive is not read */
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__inflate_open(&file, &inflate));
    if (want) status = tulle__inflate_read(inflate, to, want, got, &consumed);
    tulle__inflate_close(inflate);
    return status;
}

/* Chooses the member if it is an archive. */
static tulle_status look_inside(tulle__text *text, const char *member)
{
    unsigned char head[TULLE__TAR_BLOCK];
    size_t got = 0;
    text->packed = text->packing != NULL;
    tulle_status status = tulle__text_head(text, head, sizeof head, &got);
    /* faults of packed data are reported by the reader of all of them, with the place */
    if (status != TULLE_OK && (status == TULLE_ERR_FORMAT && !member)) return TULLE_OK;
    if (status != TULLE_OK) return status;
    if (!tulle__tar_begins(head, got))
        return member ? tulle__fail(TULLE_ERR_IO, "%s: is no archive, and so has no member %s", text->path, member)
                      : TULLE_OK;
    text->packed = 1;
    if (!text->packing) text->packing = &tulle__not_packed;
    const tulle__packed_file file = tulle__text_packed(text);
    status = tulle__tar_find(&file, member, &text->member);
    text->archive = status == TULLE_OK;
    return status;
}

/* Opens ARCHIVE of ARCHIVE/MEMBER: *member is the rest; below 0 with errno if there is no such file. */
static int open_archive(const char *path, char *archive, size_t size, const char **member)
{
    struct stat info;
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        if ((size_t)snprintf(archive, size, "%.*s", (int)(slash - path), path) >= size) break;
        if (stat(archive, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        *member = slash + 1;
        return open(archive, O_RDONLY | O_CLOEXEC);
    }
    errno = ENOTDIR;
    return -1;
}

tulle_status tulle__text_open(const char *path, tulle__text *text)
{
    int standard = strcmp(path, "-") == 0;
    char archive[4096];
    const char *member = NULL, *given = tulle__text_name(path);
    memset(text, 0, sizeof *text);
    text->path = given;
    text->threads = 1;
    text->fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (text->fd < 0 && errno == ENOTDIR) {
        text->fd = open_archive(path, archive, sizeof archive, &member);
        if (member) text->path = archive; /* until its member is found */
    }
    if (text->fd < 0) return tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", given, strerror(errno));
    tulle_status status = TULLE_OK;
    struct stat info;
    unsigned char magic[6] = {0};
    ssize_t n = 0;
    if (fstat(text->fd, &info) != 0)
        status = tulle__fail(TULLE_ERR_IO, "%s: cannot be examined: %s", given, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = tulle__fail(TULLE_ERR_IO, "%s: is a directory", given);
    else if (!S_ISREG(info.st_mode))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is not a regular file, and no pipe of the command: parts of it are read at once", given);
    else if ((n = pread(text->fd, magic, sizeof magic, 0)) < 0)
        status = tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", given, strerror(errno));
    text->bytes = (int64_t)info.st_size;
    if (status == TULLE_OK) {
        text->packing = tulle__packing_of(magic, (size_t)n);
        status = look_inside(text, member);
    }
    text->path = given;
    if (status != TULLE_OK) tulle__text_close(text);
    return status;
}

void tulle__text_close(tulle__text *text)
{
    if (text->fd >= 0) close(text->fd);
    text->fd = -1;
}

/* floor(total * part / nparts) without overflow. */
static int64_t share(int64_t total, int part, int nparts)
{
    return (int64_t)((__int128)total * part / nparts);
}

tulle_status tulle__lines_open(const tulle__text *text, int64_t from, int part, int nparts, tulle__lines **lines)
{
    tulle__lines *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a reader of lines", &made));
    made->text = *text;
    made->block = text->block ? text->block : DEFAULT_BLOCK;
    made->part = part;
    made->nparts = nparts;
    made->from = from;
    made->capacity = made->block + made->block / 4 + 1;
    TULLE_TRY(tulle__alloc(made->capacity + TULLE__LINES_PAD, 1, "a buffer of lines", &made->buffer));
    if (text->packed) {
        made->limit = INT64_MAX;
        const tulle__packed_file file = tulle__text_packed(text);
        TULLE_TRY(tulle__ahead_open(&file, made->block, text->threads, &made->ahead));
    } else {
        int64_t body = text->bytes > from ? text->bytes - from : 0;
        int64_t begin = from + share(body, part, nparts);
        made->begin = begin;
        made->limit = part == nparts - 1 ? INT64_MAX : from + share(body, part + 1, nparts);
        made->aligned = begin == from;
        made->position = made->offset = begin - !made->aligned; /* the byte before shows whether a line begins */
        made->started = 1;
        made->ended = begin >= made->limit;
        (void)posix_fadvise(text->fd, (off_t)made->position, 0, POSIX_FADV_SEQUENTIAL);
    }
    *lines = made;
    return TULLE_OK;
out:
    tulle__lines_close(made);
    return status;
}

void tulle__lines_close(tulle__lines *lines)
{
    if (!lines) return;
    tulle__ahead_close(lines->ahead);
    tulle__free(lines->buffer);
    tulle__free(lines);
}

/* Makes room for one more block, and a newline behind it. */
static tulle_status make_room(tulle__lines *l)
{
    if (l->used + l->block + 1 <= l->capacity) return TULLE_OK;
    size_t capacity = 2 * l->capacity > l->used + l->block + 1 ? 2 * l->capacity : l->used + l->block + 1;
    TULLE_CALL(tulle__realloc(capacity + TULLE__LINES_PAD, 1, "a buffer of lines", &l->buffer));
    l->capacity = capacity;
    return TULLE_OK;
}

/* Appends a block of a plain file to the buffer. */
static tulle_status read_plain(tulle__lines *l)
{
    TULLE_CALL(tulle__attend());
    for (;;) {
        ssize_t n = pread(l->text.fd, l->buffer + l->used, l->block, (off_t)l->position);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", l->text.path, strerror(errno));
        if (n == 0 && l->position < l->text.bytes)
            return tulle__fail(TULLE_ERR_IO, "%s: has shrunk from %" PRId64 " to %" PRId64 " bytes while it was read",
                l->text.path, l->text.bytes, l->position);
        l->ended = n == 0;
        l->used += (size_t)n;
        l->position += n;
        tulle__progress_meter_set(l->text.meter, (l->position - l->begin) * l->nparts, l->text.bytes);
        return TULLE_OK;
    }
}

static int owner(const tulle__lines *l, int64_t consumed)
{
    if (l->text.bytes <= 0) return l->nparts - 1;
    int64_t p = (int64_t)((__int128)consumed * l->nparts / l->text.bytes);
    return p >= l->nparts ? l->nparts - 1 : (int)p;
}

/* Appends a block of a packed file; of another part's block, only notes how it ended. */
static tulle_status read_packed(tulle__lines *l)
{
    const char *data;
    size_t bytes;
    int64_t consumed;
    TULLE_CALL(tulle__attend());
    TULLE_CALL(tulle__ahead_next(l->ahead, &data, &bytes, &consumed));
    l->ended = bytes == 0;
    if (l->ended) return TULLE_OK;
    tulle__progress_meter_set(l->text.meter, consumed, l->text.bytes);
    int64_t begin = l->position;
    l->position += (int64_t)bytes;
    if (l->position <= l->from) return TULLE_OK;
    int whose = owner(l, consumed);
    if (!l->started && whose >= l->part) {
        l->started = 1;
        if (begin <= l->from) {
            data += l->from - begin;
            bytes -= (size_t)(l->from - begin);
            begin = l->from;
            l->aligned = 1;
        }
        l->offset = begin;
        l->used = 0;
    }
    if (whose > l->part && l->limit == INT64_MAX) l->limit = begin;
    if (!l->started) {
        l->aligned = data[bytes - 1] == '\n';
        return TULLE_OK;
    }
    memcpy(l->buffer + l->used, data, bytes);
    l->used += bytes;
    return TULLE_OK;
}

/* A line does not fit: an error of its own, or the symptom of another. */
static tulle_status too_long(const tulle__lines *l)
{
    int64_t line = tulle__text_line_number(&l->text, l->offset);
    if (memchr(l->buffer, '\r', l->used))
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s:%" PRId64 ": lines end in a carriage return alone (old Mac text); they must end in a line feed",
            l->text.path, line);
    return tulle__fail(
        TULLE_ERR_FORMAT, "%s:%" PRId64 ": the line is longer than %d bytes", l->text.path, line, (int)TULLE__LINE_MAX);
}

tulle_status tulle__lines_next(tulle__lines *l, char **begin, char **end, int64_t *offset)
{
    size_t seen = 0; /* bytes known to hold no newline */
    if (l->done) {
        l->used -= l->done;
        memmove(l->buffer, l->buffer + l->done, l->used);
        l->offset += (int64_t)l->done;
        l->done = 0;
        seen = l->used; /* all whole lines before the limit were passed on */
    }
    for (;;) {
        if (l->offset >= l->limit && l->started) break;
        char *first = l->buffer, *last = NULL;
        if (l->used > seen) last = memrchr(l->buffer + seen, '\n', l->used - seen);
        if (last && !l->aligned) { /* the end of a line of the part before */
            first = memchr(l->buffer, '\n', l->used);
            first++;
            size_t skipped = (size_t)(first - l->buffer);
            l->aligned = 1;
            l->used -= skipped;
            memmove(l->buffer, first, l->used);
            l->offset += (int64_t)skipped;
            seen = 0;
            continue;
        }
        if (last) {
            char *stop = last + 1;
            /* the last line is the one that holds the byte before the limit */
            if (l->limit - l->offset < stop - l->buffer) {
                size_t before = (size_t)(l->limit - 1 - l->offset);
                stop = memchr(l->buffer + before, '\n', l->used - before);
                stop++;
                l->limit = l->offset; /* that was all */
            }
            l->done = (size_t)(stop - l->buffer);
            *begin = l->buffer;
            *end = stop;
            *offset = l->offset;
            return TULLE_OK;
        }
        if (l->ended) {
            if (l->used == 0 || !l->aligned) break;
            l->buffer[l->used++] = '\n';
            continue;
        }
        seen = l->used;
        if (l->used > TULLE__LINE_MAX) {
            if (l->aligned) return too_long(l);
            l->offset += (int64_t)l->used; /* another part reports it */
            l->used = seen = 0;
        }
        TULLE_CALL(make_room(l));
        TULLE_CALL(l->text.packed ? read_packed(l) : read_plain(l));
    }
    *begin = *end = l->buffer;
    *offset = l->offset;
    return TULLE_OK;
}

int64_t tulle__text_line_number(const tulle__text *text, int64_t offset)
{
    char message[TULLE_MESSAGE_MAX]; /* counting may fail too; the first message is the important one */
    memcpy(message, tulle__error_marked(), strlen(tulle__error_marked()) + 1);
    tulle__lines *l;
    int64_t number = 1, at = 0;
    tulle_status status = tulle__lines_open(text, 0, 0, 1, &l);
    if (status == TULLE_OK) {
        l->aligned = 1;
        while (at < offset && !l->ended && status == TULLE_OK) {
            l->used = 0;
            status = l->text.packed ? read_packed(l) : read_plain(l);
            for (size_t i = 0; i < l->used && at < offset; i++, at++) number += l->buffer[i] == '\n';
        }
        tulle__lines_close(l);
    }
    tulle__error_set(message);
    return status == TULLE_OK ? number : 0;
}
