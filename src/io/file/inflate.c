/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/inflate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef TULLE_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef TULLE_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "base/error.h"
#include "base/memory.h"

enum { INPUT = 1 << 17, PATH = 512 };

/* The outcome of a step of an engine. */
enum step { STEP_GOES_ON, STEP_MEMBER_ENDS, STEP_DAMAGED, STEP_NO_MEMORY };

struct engine {
    const char *name;
    tulle_status (*open)(int raw, void **state);
    /* Decompresses from [*in, *in + *nin) to [*out, *out + *nout) and advances all four. */
    enum step (*step)(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout);
    void (*next_member)(void *state);
    void (*close)(void *state);
};

struct tulle__inflate {
    const struct engine *engine;
    void *state;
    unsigned char *input;
    const unsigned char *in;
    size_t nin;
    int64_t offset, limit; /* the file offset after the input; the file offset after the data */
    int fd;
    int input_ended, between; /* between: a member has ended, no other has begun */
    int raw, ended;           /* ended: the raw data have */
    char path[PATH];
};

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

static void zlib_close(void *state)
{
    if (state) inflateEnd(state);
    tulle__free(state);
}

static tulle_status zlib_open(int raw, void **state)
{
    z_stream *stream;
    tulle_status status = tulle__alloc_zero(1, sizeof *stream, "zlib's state", &stream);
    if (status != TULLE_OK) return status;
    stream->zalloc = zlib_alloc;
    stream->zfree = zlib_free;
    if (inflateInit2(stream, raw ? -15 : 15 + 16) != Z_OK) { /* 16: gzip wrapping */
        tulle__free(stream);
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory for zlib's state");
    }
    *state = stream;
    return TULLE_OK;
}

static enum step zlib_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    z_stream *stream = state;
    stream->next_in = (unsigned char *)(uintptr_t)*in; /* zlib's pointer is not const, but it does not write */
    stream->avail_in = (unsigned)*nin;
    stream->next_out = *out;
    stream->avail_out = (unsigned)*nout;
    int code = inflate(stream, Z_NO_FLUSH);
    *in = stream->next_in;
    *nin = stream->avail_in;
    *out = stream->next_out;
    *nout = stream->avail_out;
    if (code == Z_STREAM_END) return STEP_MEMBER_ENDS;
    if (code == Z_MEM_ERROR) return STEP_NO_MEMORY;
    return code == Z_OK || code == Z_BUF_ERROR ? STEP_GOES_ON : STEP_DAMAGED;
}

static void zlib_next(void *state)
{
    inflateReset(state);
}
#endif

#ifdef TULLE_HAVE_ISAL
static tulle_status isal_open(int raw, void **state)
{
    struct inflate_state *stream;
    tulle_status status = tulle__alloc(1, sizeof *stream, "ISA-L's state", &stream);
    if (status != TULLE_OK) return status;
    isal_inflate_init(stream);
    stream->crc_flag = raw ? ISAL_DEFLATE : ISAL_GZIP;
    *state = stream;
    return TULLE_OK;
}

static enum step isal_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    struct inflate_state *stream = state;
    stream->next_in = (uint8_t *)(uintptr_t)*in;
    stream->avail_in = (uint32_t)*nin;
    stream->next_out = *out;
    stream->avail_out = (uint32_t)*nout;
    int code = isal_inflate(stream);
    *in = stream->next_in;
    *nin = stream->avail_in;
    *out = stream->next_out;
    *nout = stream->avail_out;
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) return STEP_DAMAGED;
    return stream->block_state == ISAL_BLOCK_FINISH ? STEP_MEMBER_ENDS : STEP_GOES_ON;
}

static void isal_next(void *state)
{
    struct inflate_state *stream = state;
    isal_inflate_reset(stream);
    stream->crc_flag = ISAL_GZIP;
}
#endif

static const struct engine engines[] = {
#ifdef TULLE_HAVE_ISAL
    {"isa-l", isal_open, isal_step, isal_next, tulle__free},
#endif
#ifdef TULLE_HAVE_ZLIB
    {"zlib", zlib_open, zlib_step, zlib_next, zlib_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};

static const char *const engine_names[] = {
#ifdef TULLE_HAVE_ISAL
    "isa-l",
#endif
#ifdef TULLE_HAVE_ZLIB
    "zlib",
#endif
    NULL,
};

const char *const *tulle__inflate_engines(void)
{
    return engine_names;
}

static tulle_status open_stream(int fd, const char *path, const char *engine, int raw, tulle__inflate **inflate)
{
    const struct engine *e = engines;
    while (engine && e->name && strcmp(e->name, engine) != 0) e++;
    if (!e->name)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is compressed with gzip, and this build has no %s: unpack it first", path, engine ? engine : "zlib");
    tulle__inflate *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "an unpacker", &made));
    made->engine = e;
    made->fd = fd;
    made->between = !raw;
    made->raw = raw;
    made->limit = INT64_MAX;
    snprintf(made->path, sizeof made->path, "%s", path);
    TULLE_TRY(tulle__alloc(INPUT, 1, "an unpacker's input", &made->input));
    TULLE_TRY(e->open(raw, &made->state));
    *inflate = made;
    return TULLE_OK;
out:
    tulle__inflate_close(made);
    return status;
}

tulle_status tulle__inflate_open(int fd, const char *path, const char *engine, tulle__inflate **inflate)
{
    return open_stream(fd, path, engine, 0, inflate);
}

tulle_status tulle__inflate_open_raw(
    int fd, const char *path, const char *engine, int64_t offset, int64_t bytes, tulle__inflate **inflate)
{
    tulle_status status = open_stream(fd, path, engine, 1, inflate);
    if (status != TULLE_OK) return status;
    (*inflate)->offset = offset;
    (*inflate)->limit = offset + bytes;
    return TULLE_OK;
}

void tulle__inflate_close(tulle__inflate *inflate)
{
    if (!inflate) return;
    if (inflate->state) inflate->engine->close(inflate->state);
    tulle__free(inflate->input);
    tulle__free(inflate);
}

/* Refills the input: moves the rest to the front. */
static tulle_status refill(tulle__inflate *f)
{
    if (f->nin) memmove(f->input, f->in, f->nin);
    f->in = f->input;
    while (f->nin < INPUT && !f->input_ended) {
        int64_t left = f->limit - f->offset;
        size_t room = INPUT - f->nin;
        if (left < (int64_t)room) room = (size_t)left;
        ssize_t n = pread(f->fd, f->input + f->nin, room, (off_t)f->offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", f->path, strerror(errno));
        f->input_ended = n == 0;
        f->nin += (size_t)n;
        f->offset += n;
    }
    return TULLE_OK;
}

/* Examines the bytes after a member: *ended = 1 at the end. */
static tulle_status begin_member(tulle__inflate *f, int *ended)
{
    tulle_status status;
    if (f->nin < 4) {
        status = refill(f);
        if (status != TULLE_OK) return status;
    }
    *ended = f->nin == 0;
    if (*ended) return TULLE_OK;
    int64_t at = f->offset - (int64_t)f->nin;
    if (f->in[0] != 0x1f || (f->nin > 1 && f->in[1] != 0x8b))
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: bytes that are not gzip data follow the compressed data, from byte %" PRId64 " on", f->path, at);
    /* the engines differ in what they accept */
    if ((f->nin > 2 && f->in[2] != 8) || (f->nin > 3 && (f->in[3] & 0xe0)))
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: the compressed data are of an unknown kind, at byte %" PRId64, f->path, at + 2);
    if (at) f->engine->next_member(f->state);
    f->between = 0;
    return TULLE_OK;
}

tulle_status tulle__inflate_read(tulle__inflate *f, void *to, size_t want, size_t *got, int64_t *consumed)
{
    unsigned char *out = to;
    size_t room = want;
    int ended = 0;
    tulle_status status = TULLE_OK;
    /* between members, continue even without room: trailing junk must be found */
    while ((room || f->between) && !f->ended) {
        if (f->between) {
            TULLE_TRY(begin_member(f, &ended));
            if (ended || !room) break;
        }
        if (f->nin == 0) TULLE_TRY(refill(f));
        size_t before_in = f->nin, before_room = room;
        enum step step = f->engine->step(f->state, &f->in, &f->nin, &out, &room);
        int64_t at = f->offset - (int64_t)f->nin;
        if (step == STEP_NO_MEMORY) return tulle__fail(TULLE_ERR_MEMORY, "%s: out of memory for unpacking", f->path);
        if (step == STEP_DAMAGED)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: the compressed data are damaged near byte %" PRId64, f->path, at);
        if (step == STEP_MEMBER_ENDS && f->raw) {
            f->ended = 1;
            if (at < f->limit)
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: the compressed data end before their last byte, at byte %" PRId64, f->path, at);
        } else if (step == STEP_MEMBER_ENDS) {
            f->between = 1;
        } else if (f->nin == before_in && room == before_room) {
            if (f->input_ended || f->nin == INPUT)
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: the compressed data end early, at byte %" PRId64 ": truncated?", f->path, at);
            TULLE_TRY(refill(f));
        }
    }
    *got = want - room;
    *consumed = f->offset - (int64_t)f->nin;
out:
    return status;
}
