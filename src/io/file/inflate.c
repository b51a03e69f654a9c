/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/inflate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/file/unpacker.h"

enum { INPUT = 1 << 17, PATH = 512, LONGEST_MAGIC = 6 };

struct tulle__inflate {
    const tulle__packing *packing;
    const tulle__unpacker *engine;
    void *state;
    unsigned char *input;
    const unsigned char *in;
    size_t nin;
    int64_t offset, limit; /* the file offset after the input; the file offset after the data */
    int fd;
    int input_ended, between; /* between: a member has ended, no other has begun */
    int raw, ended;           /* ended: raw or stored data have */
    int64_t skip, left;       /* of a window: bytes before it, and in it, to come; left below 0: none, all is read */
    char path[PATH];
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

static const tulle__unpacker *find_engine(const tulle__packing *packing, const char *name)
{
    const tulle__unpacker *e = packing->unpackers;
    while (name && e->name && strcmp(e->name, name) != 0) e++;
    return e->name ? e : NULL;
}

static tulle_status open_stream(
    int fd, const char *path, const tulle__packing *packing, const char *engine, int raw, tulle__inflate **inflate)
{
    const tulle__unpacker *e = find_engine(packing, engine);
    if (!e)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: is compressed with %s, and this build has no %s: unpack it first", path, packing->name,
            engine ? engine : packing->package);
    tulle__inflate *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "an unpacker", &made));
    made->packing = packing;
    made->engine = e;
    made->fd = fd;
    made->between = !raw;
    made->raw = raw;
    made->limit = INT64_MAX;
    made->left = -1;
    snprintf(made->path, sizeof made->path, "%s", path);
    TULLE_TRY(tulle__alloc(INPUT, 1, "an unpacker's input", &made->input));
    TULLE_TRY(e->open(raw, &made->state));
    *inflate = made;
    return TULLE_OK;
out:
    tulle__inflate_close(made);
    return status;
}

tulle_status tulle__inflate_open(const tulle__packed_file *file, tulle__inflate **inflate)
{
    const tulle__packing *packing = file->packing ? file->packing : tulle__packing_at(0);
    tulle_status status =
        open_stream(file->fd, file->path, packing, packing == tulle__packing_at(0) ? file->engine : NULL, 0, inflate);
    if (status != TULLE_OK || !file->member) return status;
    (*inflate)->skip = file->from;
    (*inflate)->left = file->bytes;
    return TULLE_OK;
}

tulle_status tulle__inflate_open_raw(
    int fd, const char *path, const char *engine, int64_t offset, int64_t bytes, tulle__inflate **inflate)
{
    TULLE_CALL(open_stream(fd, path, tulle__packing_at(0), engine, 1, inflate));
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
        size_t capacity = INPUT - f->nin;
        if (left < (int64_t)capacity) capacity = (size_t)left;
        ssize_t n = pread(f->fd, f->input + f->nin, capacity, (off_t)f->offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", f->path, strerror(errno));
        f->input_ended = n == 0;
        f->nin += (size_t)n;
        f->offset += n;
    }
    return TULLE_OK;
}

/* Zeros between members, in whole groups. */
static tulle_status skip_padding(tulle__inflate *f)
{
    static const unsigned char zeros[8] = {0};
    const size_t group = (size_t)f->packing->padding;
    while (group && f->nin >= group && memcmp(f->in, zeros, group) == 0) {
        f->in += group;
        f->nin -= group;
        if (f->nin < LONGEST_MAGIC) TULLE_CALL(refill(f));
    }
    return TULLE_OK;
}

/* Examines the bytes after a member: *ended = 1 at the end. */
static tulle_status begin_member(tulle__inflate *f, int *ended)
{
    tulle_status status = f->nin < LONGEST_MAGIC ? refill(f) : TULLE_OK;
    int64_t at = f->offset - (int64_t)f->nin;
    if (status == TULLE_OK && at) status = skip_padding(f);
    if (status != TULLE_OK) return status;
    *ended = f->nin == 0;
    if (*ended) return TULLE_OK;
    const char *why = f->packing->member(f->in, f->nin);
    if (why)
        return tulle__fail(
            TULLE_ERR_FORMAT, "%s: %s, from byte %" PRId64 " on", f->path, why, f->offset - (int64_t)f->nin);
    if (at) status = f->engine->next_member(f->state);
    f->between = 0;
    return status;
}

/* Reads the unpacked stream, without the window. */
static tulle_status read_stream(tulle__inflate *f, void *to, size_t want, size_t *got, int64_t *consumed)
{
    unsigned char *out = to;
    size_t capacity = want;
    int ended = 0;
    /* between members, continue even without room: trailing junk must be found */
    while ((capacity || f->between) && !f->ended) {
        if (f->between) {
            TULLE_CALL(begin_member(f, &ended));
            if (ended || !capacity) break;
        }
        if (f->nin == 0) TULLE_CALL(refill(f));
        if (f->nin == 0 && f->packing == &tulle__not_packed) {
            f->ended = 1;
            break;
        }
        size_t before_in = f->nin, before_capacity = capacity;
        enum tulle__step step = f->engine->step(f->state, &f->in, &f->nin, &out, &capacity);
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
        } else if (f->nin == before_in && capacity == before_capacity) {
            if (f->input_ended || f->nin == INPUT)
                return tulle__fail(TULLE_ERR_FORMAT,
                    "%s: the compressed data end early, at byte %" PRId64 ": truncated?", f->path, at);
            TULLE_CALL(refill(f));
        }
    }
    *got = want - capacity;
    *consumed = f->offset - (int64_t)f->nin;
    return TULLE_OK;
}

/* Reads and drops n bytes, by pieces of at most `capacity` at `to`. */
static tulle_status drop(tulle__inflate *f, int64_t n, void *to, size_t capacity, int64_t *consumed)
{
    size_t got = 1;
    tulle_status status = TULLE_OK;
    while (n && got && status == TULLE_OK) {
        const size_t piece = (int64_t)capacity < n ? capacity : (size_t)n;
        status = read_stream(f, to, piece, &got, consumed);
        n -= (int64_t)got;
    }
    return status;
}

/* A window has been left: the rest is read, too, as only its end shows that nothing is damaged. */
static tulle_status read_rest(tulle__inflate *f, int64_t *consumed)
{
    char *scratch;
    TULLE_CALL(tulle__alloc(INPUT, 1, "an unpacker's rest", &scratch));
    tulle_status status = drop(f, INT64_MAX, scratch, INPUT, consumed);
    tulle__free(scratch);
    return status;
}

tulle_status tulle__inflate_read(tulle__inflate *f, void *to, size_t want, size_t *got, int64_t *consumed)
{
    tulle_status status;
    *got = 0;
    if (f->left < 0) return read_stream(f, to, want, got, consumed);
    if (f->skip) TULLE_TRY(drop(f, f->skip, to, want, consumed));
    f->skip = 0;
    const size_t most = f->left < (int64_t)want ? (size_t)f->left : want;
    TULLE_TRY(read_stream(f, to, most, got, consumed));
    f->left -= (int64_t)*got;
    if (*got < most)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the archive ends within this member: truncated?", f->path);
    else if (most < want)
        status = read_rest(f, consumed);
out:
    return status;
}
