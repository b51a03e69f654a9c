/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/deflate.h"

#include <stdint.h>
#include <string.h>

#ifdef TULLE_HAVE_ZLIB
#include "io/file/zlib_stream.h"
#endif
#ifdef TULLE_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

#include "base/error.h"
#include "base/memory.h"

/*
 * Bytes of a member before and after its blocks, and before a stored block, which holds at most
 * STORED bytes.
 */
enum { HEAD = 10, TAIL = 8, BLOCK = 5, STORED = 65535 };

struct engine {
    const char *name;
    tulle_status (*open)(void **state);
    /* Raw deflate (RFC 1951); 0 if it does not fit. */
    size_t (*pack)(void *state, const unsigned char *data, size_t bytes, unsigned char *to, size_t capacity);
    uint32_t (*crc)(const unsigned char *data, size_t bytes);
    void (*close)(void *state);
};

struct tulle__deflate {
    const struct engine *engine;
    void *state;
};

#ifdef TULLE_HAVE_ZLIB
static void zlib_close(void *state)
{
    if (state) deflateEnd(state);
    tulle__free(state);
}

static tulle_status zlib_open(void **state)
{
    z_stream *stream;
    TULLE_CALL(tulle__zlib_new(&stream));
    if (deflateInit2(stream, Z_BEST_SPEED, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) { /* negative: raw */
        tulle__free(stream);
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory for zlib's state");
    }
    *state = stream;
    return TULLE_OK;
}

static size_t zlib_pack(void *state, const unsigned char *data, size_t bytes, unsigned char *to, size_t capacity)
{
    z_stream *stream = state;
    deflateReset(stream);
    stream->next_in = (unsigned char *)(uintptr_t)data; /* zlib's pointer is not const, but it does not write */
    stream->avail_in = (unsigned)bytes;
    stream->next_out = to;
    stream->avail_out = (unsigned)capacity;
    return deflate(stream, Z_FINISH) == Z_STREAM_END ? capacity - stream->avail_out : 0;
}

static uint32_t zlib_crc(const unsigned char *data, size_t bytes)
{
    return (uint32_t)crc32(0, data, (unsigned)bytes);
}
#endif

#ifdef TULLE_HAVE_ISAL
struct isal {
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

static tulle_status isal_open(void **state)
{
    struct isal *isal;
    TULLE_CALL(tulle__alloc(1, sizeof *isal, "ISA-L's state", &isal));
    *state = isal;
    return TULLE_OK;
}

static size_t isal_pack(void *state, const unsigned char *data, size_t bytes, unsigned char *to, size_t capacity)
{
    struct isal *isal = state;
    /*
     * isal_deflate_stateless_init leaves much of the stream as it was, and about one block in 4000
     * depends on that (ISA-L 2.30). 80 KiB: under 1 % of the time that a block takes.
     */
    memset(&isal->stream, 0, sizeof isal->stream);
    isal_deflate_stateless_init(&isal->stream);
    isal->stream.next_in = (uint8_t *)(uintptr_t)data;
    isal->stream.avail_in = (uint32_t)bytes;
    isal->stream.next_out = to;
    isal->stream.avail_out = (uint32_t)capacity;
    isal->stream.end_of_stream = 1;
    isal->stream.level = 1;
    isal->stream.level_buf = isal->level;
    isal->stream.level_buf_size = sizeof isal->level;
    return isal_deflate_stateless(&isal->stream) == COMP_OK ? capacity - isal->stream.avail_out : 0;
}

static uint32_t isal_crc(const unsigned char *data, size_t bytes)
{
    return crc32_gzip_refl(0, data, bytes);
}
#endif

/* The best first. */
static const struct engine engines[] = {
#ifdef TULLE_HAVE_ISAL
    {"isa-l", isal_open, isal_pack, isal_crc, tulle__free},
#endif
#ifdef TULLE_HAVE_ZLIB
    {"zlib", zlib_open, zlib_pack, zlib_crc, zlib_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};

tulle_status tulle__deflate_present(const char *path)
{
    if (engines[0].name) return TULLE_OK;
    return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s: this build has no zlib and cannot write packed files", path);
}

tulle_status tulle__deflate_open(const char *path, tulle__deflate **deflate)
{
    const tulle_status found = tulle__deflate_present(path);
    if (found != TULLE_OK) return found;
    tulle__deflate *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *made, "a packer", &made));
    made->engine = engines;
    TULLE_TRY(engines->open(&made->state));
    *deflate = made;
    return TULLE_OK;
out:
    tulle__deflate_close(made);
    return status;
}

void tulle__deflate_close(tulle__deflate *deflate)
{
    if (!deflate) return;
    if (deflate->state) deflate->engine->close(deflate->state);
    tulle__free(deflate);
}

static size_t stored_blocks(size_t bytes)
{
    return bytes ? (bytes + STORED - 1) / STORED : 1;
}

size_t tulle__deflate_bound(size_t bytes)
{
    return HEAD + bytes + BLOCK * stored_blocks(bytes) + TAIL;
}

static unsigned char *put_little(unsigned char *to, uint64_t x, int bytes)
{
    for (int b = 0; b < bytes; b++) *to++ = (unsigned char)(x >> 8 * b);
    return to;
}

/* Without name, time and system, so that equal input gives equal bytes. */
static unsigned char *put_head(unsigned char *to)
{
    static const unsigned char head[HEAD] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    memcpy(to, head, HEAD);
    return to + HEAD;
}

static unsigned char *put_tail(const struct engine *engine, const void *data, size_t bytes, unsigned char *to)
{
    to = put_little(to, engine->crc(data, bytes), 4);
    return put_little(to, bytes, 4);
}

size_t tulle__deflate_stored(tulle__deflate *deflate, const void *data, size_t bytes, void *to)
{
    const unsigned char *p = data;
    unsigned char *out = put_head(to);
    for (size_t left = bytes, blocks = stored_blocks(bytes); blocks; blocks--) {
        size_t n = left < STORED ? left : STORED;
        *out++ = blocks == 1; /* the last block, stored */
        out = put_little(out, n, 2);
        out = put_little(out, ~(uint64_t)n, 2);
        memcpy(out, p, n);
        out += n;
        p += n;
        left -= n;
    }
    return (size_t)(put_tail(deflate->engine, data, bytes, out) - (unsigned char *)to);
}

size_t tulle__deflate_member(tulle__deflate *deflate, const void *data, size_t bytes, void *to)
{
    unsigned char *out = put_head(to);
    size_t capacity = tulle__deflate_bound(bytes) - HEAD - TAIL;
    size_t packed = deflate->engine->pack(deflate->state, data, bytes, out, capacity);
    if (!packed) return tulle__deflate_stored(deflate, data, bytes, to);
    return (size_t)(put_tail(deflate->engine, data, bytes, out + packed) - (unsigned char *)to);
}
