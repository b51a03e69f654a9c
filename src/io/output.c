/* SPDX-License-Identifier: Apache-2.0 */
#include "io/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef TULLE_HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

enum { PACKED = 1 << 17 };

struct tulle__output {
    char *path;       /* what it will be called */
    char *temporary;  /* what it is called; NULL: written to directly */
    char unnamed[32]; /* not empty: it has no name yet, and this leads to it */
    int fd;
    int64_t bytes; /* given to be written */
#ifdef TULLE_HAVE_ZLIB
    z_stream *stream; /* NULL: plain */
    unsigned char *packed;
    struct {           /* the member that may be overwritten */
        int64_t begin; /* among the bytes given */
        off_t at;      /* in the file */
        size_t bytes;  /* 0: there is none */
        unsigned char text[TULLE__OUTPUT_OPEN];
    } open;
#endif
};

static tulle_status fail(const tulle__output *f, const char *what)
{
    return tulle__fail(TULLE_ERR_IO, "%s: %s failed: %s", f->path, what, strerror(errno));
}

static tulle_status copy_path(const char *path, size_t extra, char **copy)
{
    tulle_status status = tulle__alloc(strlen(path) + 1 + extra, 1, "a path", copy);
    if (status == TULLE_OK) memcpy(*copy, path, strlen(path) + 1);
    return status;
}

/*
 * A file without a name, in the folder of the target: whoever is killed while writing leaves nothing behind. Not every
 * file system has them.
 */
static int open_unnamed(tulle__output *f)
{
    const char *slash = strrchr(f->path, '/');
    size_t n = slash ? (size_t)(slash - f->path) + (slash == f->path) : 0;
    char folder[PATH_MAX];
    if (n >= sizeof folder) return -1;
    memcpy(folder, f->path, n);
    folder[n] = '\0';
    int fd = open(n ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    snprintf(f->unnamed, sizeof f->unnamed, "/proc/self/fd/%d", fd);
    if (access(f->unnamed, W_OK) == 0) return fd;
    f->unnamed[0] = '\0'; /* no /proc: it could not be named later */
    close(fd);
    return -1;
}

/* Creates a new file beside the target. Not mkstemp: the file shall have the rights that the umask leaves. */
static tulle_status create(tulle__output *f)
{
    enum { SUFFIX = 48, ATTEMPTS = 100 };
    struct stat info;
    int exists = stat(f->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) return tulle__fail(TULLE_ERR_IO, "%s: is a directory", f->path);
    if (exists && !S_ISREG(info.st_mode)) {
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
        return f->fd < 0 ? fail(f, "opening it for writing") : TULLE_OK;
    }
    if (exists) { /* the file that a link points to is replaced, not the link */
        char *real = realpath(f->path, NULL);
        if (real) {
            tulle__free(f->path);
            f->path = NULL;
            tulle_status status = copy_path(real, 0, &f->path);
            free(real);
            if (status != TULLE_OK) return status;
        }
        if (access(f->path, W_OK) != 0) return fail(f, "opening it for writing");
    }
    tulle_status status = copy_path(f->path, SUFFIX, &f->temporary);
    if (status != TULLE_OK) return status;
    size_t n = strlen(f->path);
    f->fd = open_unnamed(f);
    if (f->fd >= 0)
        snprintf(f->temporary + n, SUFFIX, ".part-%ld-%llx", (long)getpid(), (unsigned long long)tulle__clock_ns());
    for (int attempt = 0; f->fd < 0 && attempt < ATTEMPTS; attempt++) {
        snprintf(f->temporary + n, SUFFIX, ".part-%ld-%llx", (long)getpid(), (unsigned long long)tulle__clock_ns());
        f->fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST) break;
    }
    if (f->fd < 0) {
        status = fail(f, "creating a file beside it");
        tulle__free(f->temporary);
        f->temporary = NULL;
        return status;
    }
    if (exists) (void)fchmod(f->fd, info.st_mode & 07777);
    return TULLE_OK;
}

#ifdef TULLE_HAVE_ZLIB
static void *zlib_alloc(void *opaque, unsigned count, unsigned size)
{
    void *block;
    (void)opaque;
    return tulle__alloc(count, size, "zlib's state", &block) == TULLE_OK ? block : NULL;
}

static void zlib_free(void *opaque, void *block)
{
    (void)opaque;
    tulle__free(block);
}

static tulle_status start_packing(tulle__output *f, int level)
{
    tulle_status status;
    z_stream *stream = NULL;
    TULLE_TRY(tulle__alloc(PACKED, 1, "packed output", &f->packed));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *stream, "zlib's state", &stream));
    stream->zalloc = zlib_alloc;
    stream->zfree = zlib_free;
    if (deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        tulle__free(stream);
        return tulle__fail(TULLE_ERR_MEMORY, "%s: out of memory for zlib's state", f->path);
    }
    f->stream = stream;
out:
    return status;
}
#else
static tulle_status start_packing(tulle__output *f, int level)
{
    (void)level;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: this build has no zlib and cannot write packed files", f->path);
}
#endif

static void destroy(tulle__output *f)
{
    if (f->fd >= 0) close(f->fd);
#ifdef TULLE_HAVE_ZLIB
    if (f->stream) deflateEnd(f->stream);
    tulle__free(f->stream);
    tulle__free(f->packed);
#endif
    tulle__free(f->temporary);
    tulle__free(f->path);
    tulle__free(f);
}

void tulle__output_abort(tulle__output *f)
{
    if (!f) return;
    if (f->temporary && !f->unnamed[0]) (void)unlink(f->temporary);
    destroy(f);
}

tulle_status tulle__output_open(const char *path, int level, tulle__output **output)
{
    tulle__output *made;
    tulle_status status = tulle__alloc_zero(1, sizeof *made, "an output file", &made);
    if (status != TULLE_OK) return status;
    made->fd = -1;
    TULLE_TRY(copy_path(path, 0, &made->path));
    TULLE_TRY(create(made));
    if (level > 0) TULLE_TRY(start_packing(made, level > 9 ? 9 : level));
    *output = made;
    return TULLE_OK;
out:
    tulle__output_abort(made);
    return status;
}

/* A link cannot replace a file, a rename can: the temporary name comes first. */
static int name_it(tulle__output *f)
{
    if (!f->unnamed[0]) return 0;
    if (linkat(AT_FDCWD, f->unnamed, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) != 0) return -1;
    f->unnamed[0] = '\0';
    return 0;
}

const char *tulle__output_temporary(tulle__output *f)
{
    (void)name_it(f); /* if it fails, who opens the name will see */
    return f->temporary ? f->temporary : f->path;
}

static tulle_status write_all(tulle__output *f, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(f->fd, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(f, "writing");
        data += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

#ifdef TULLE_HAVE_ZLIB
static tulle_status pack(tulle__output *f, const unsigned char *data, size_t bytes, int last)
{
    z_stream *stream = f->stream;
    do {
        unsigned step = bytes > 1u << 30 ? 1u << 30 : (unsigned)bytes;
        stream->next_in = (unsigned char *)(uintptr_t)data;
        stream->avail_in = step;
        data += step;
        bytes -= step;
        int ends = last && bytes == 0;
        do {
            stream->next_out = f->packed;
            stream->avail_out = PACKED;
            deflate(stream, ends ? Z_FINISH : Z_NO_FLUSH);
            tulle_status status = write_all(f, (const char *)f->packed, PACKED - stream->avail_out);
            if (status != TULLE_OK) return status;
        } while (stream->avail_out == 0);
    } while (bytes);
    return TULLE_OK;
}
#endif

tulle_status tulle__output_write(tulle__output *f, const void *data, size_t bytes)
{
    f->bytes += (int64_t)bytes;
#ifdef TULLE_HAVE_ZLIB
    if (f->stream) return pack(f, data, bytes, 0);
#endif
    return write_all(f, data, bytes);
}

static tulle_status overwrite(tulle__output *f, off_t offset, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes) {
        ssize_t n = pwrite(f->fd, p, bytes, offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(f, "writing");
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

#ifdef TULLE_HAVE_ZLIB
static void put_little(unsigned char *to, uint64_t x, int bytes)
{
    for (int b = 0; b < bytes; b++) to[b] = (unsigned char)(x >> 8 * b);
}

/* A whole gzip member (RFC 1952) of one stored block (RFC 1951), at `at`. */
static tulle_status write_stored(tulle__output *f, off_t at)
{
    enum { HEAD = 10, BLOCK = 5, TAIL = 8 };
    unsigned char member[HEAD + BLOCK + TULLE__OUTPUT_OPEN + TAIL] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    unsigned char *p = member + HEAD;
    size_t n = f->open.bytes;
    p[0] = 1; /* the last block, stored */
    put_little(p + 1, n, 2);
    put_little(p + 3, ~n, 2);
    memcpy(p + BLOCK, f->open.text, n);
    put_little(p + BLOCK + n, crc32(0, f->open.text, (unsigned)n), 4);
    put_little(p + BLOCK + n + 4, n, 4);
    return overwrite(f, at, member, HEAD + BLOCK + n + TAIL);
}

static tulle_status write_open_member(tulle__output *f, const void *data, size_t bytes)
{
    tulle_status status = TULLE_OK;
    if (f->open.bytes || bytes > TULLE__OUTPUT_OPEN)
        return tulle__fail(TULLE_ERR_ARG, "%s: no more of a packed file can be left open", f->path);
    if (f->bytes) {
        TULLE_TRY(pack(f, NULL, 0, 1));
        deflateReset(f->stream);
    }
    f->open.begin = f->bytes;
    f->open.bytes = bytes;
    memcpy(f->open.text, data, bytes);
    f->open.at = lseek(f->fd, 0, SEEK_CUR);
    if (f->open.at < 0) TULLE_TRY(fail(f, "finding its end"));
    TULLE_TRY(write_stored(f, f->open.at));
    if (lseek(f->fd, 0, SEEK_END) < 0) TULLE_TRY(fail(f, "finding its end"));
    f->bytes += (int64_t)bytes;
out:
    return status;
}
#endif

int tulle__output_can_overwrite(const tulle__output *f)
{
    return f->temporary != NULL;
}

tulle_status tulle__output_write_open(tulle__output *f, const void *data, size_t bytes)
{
#ifdef TULLE_HAVE_ZLIB
    if (f->stream) return write_open_member(f, data, bytes);
#endif
    return tulle__output_write(f, data, bytes);
}

int64_t tulle__output_bytes(const tulle__output *f)
{
    return f->bytes;
}

tulle_status tulle__output_overwrite(tulle__output *f, int64_t offset, const void *data, size_t bytes)
{
#ifdef TULLE_HAVE_ZLIB
    if (f->stream) {
        int64_t from = offset - f->open.begin;
        if (from < 0 || from > (int64_t)f->open.bytes || bytes > f->open.bytes - (size_t)from)
            return tulle__fail(TULLE_ERR_ARG, "%s: what has been packed cannot be written again", f->path);
        memcpy(f->open.text + from, data, bytes);
        return write_stored(f, f->open.at);
    }
#endif
    return overwrite(f, (off_t)offset, data, bytes);
}

tulle_status tulle__output_read(const tulle__output *f, int64_t offset, void *to, size_t bytes)
{
    char *p = to;
    while (bytes) {
        ssize_t n = pread(f->fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(f, "reading back what was written");
        if (n == 0) return tulle__fail(TULLE_ERR_IO, "%s: what was written is not there", f->path);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

/* The name, too, shall be on disk. A file system that cannot do this has done what it can. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + (slash == path) : 0;
    char folder[PATH_MAX];
    if (n >= sizeof folder) return;
    memcpy(folder, path, n);
    folder[n] = '\0';
    int fd = open(n ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

tulle_status tulle__output_close(tulle__output *f, int sync)
{
    tulle_status status = TULLE_OK;
#ifdef TULLE_HAVE_ZLIB
    if (f->stream) TULLE_TRY(pack(f, NULL, 0, 1));
#endif
    if (sync && f->temporary && fsync(f->fd) != 0) TULLE_TRY(fail(f, "waiting for the disk"));
    if (name_it(f) != 0) TULLE_TRY(fail(f, "naming the finished file"));
    int code = close(f->fd);
    f->fd = -1;
    if (code != 0) TULLE_TRY(fail(f, "closing"));
    if (f->temporary && rename(f->temporary, f->path) != 0) TULLE_TRY(fail(f, "renaming the finished file"));
    if (sync && f->temporary) sync_folder(f->path);
    destroy(f);
    return TULLE_OK;
out:
    tulle__output_abort(f);
    return status;
}
