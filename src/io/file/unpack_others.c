/* SPDX-License-Identifier: Apache-2.0 */
/* bzip2, xz and zstd by their own libraries. */
#include <string.h>

#ifdef TULLE_HAVE_BZIP2
#include <bzlib.h>
#endif
#ifdef TULLE_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef TULLE_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "io/file/unpacker.h"

#ifdef TULLE_HAVE_BZIP2
struct bzip2 {
    bz_stream stream;
    int open;
};

static void *bzip2_alloc(void *opaque, int count, int size)
{
    void *block;
    (void)opaque;
    return tulle__alloc((size_t)count, (size_t)size, "bzip2's state", &block) == TULLE_OK ? block : NULL;
}

static void bzip2_free(void *opaque, void *block)
{
    (void)opaque;
    tulle__free(block);
}

/* Begins a member. */
static tulle_status bzip2_next(void *state)
{
    struct bzip2 *b = state;
    if (b->open) BZ2_bzDecompressEnd(&b->stream);
    b->stream = (bz_stream){.bzalloc = bzip2_alloc, .bzfree = bzip2_free};
    b->open = BZ2_bzDecompressInit(&b->stream, 0, 0) == BZ_OK;
    return b->open ? TULLE_OK : tulle__fail(TULLE_ERR_MEMORY, "out of memory for bzip2's state");
}

static void bzip2_close(void *state)
{
    struct bzip2 *b = state;
    if (b && b->open) BZ2_bzDecompressEnd(&b->stream);
    tulle__free(b);
}

static tulle_status bzip2_open(int raw, void **state)
{
    struct bzip2 *b;
    (void)raw;
    tulle_status status = tulle__alloc_zero(1, sizeof *b, "bzip2's state", &b);
    if (status == TULLE_OK) status = bzip2_next(b);
    if (status == TULLE_OK)
        *state = b;
    else
        bzip2_close(b);
    return status;
}

static enum tulle__step bzip2_step(
    void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    bz_stream *stream = &((struct bzip2 *)state)->stream;
    stream->next_in = (char *)(uintptr_t)*in; /* its pointer is not const, but it does not write */
    stream->avail_in = (unsigned)*nin;
    stream->next_out = (char *)*out;
    stream->avail_out = (unsigned)*nout;
    int code = BZ2_bzDecompress(stream);
    *in = (const unsigned char *)stream->next_in;
    *nin = stream->avail_in;
    *out = (unsigned char *)stream->next_out;
    *nout = stream->avail_out;
    return code == BZ_STREAM_END  ? STEP_MEMBER_ENDS
           : code == BZ_MEM_ERROR ? STEP_NO_MEMORY
           : code == BZ_OK        ? STEP_GOES_ON
                                  : STEP_DAMAGED;
}
#endif

const tulle__unpacker tulle__unpackers_bzip2[] = {
#ifdef TULLE_HAVE_BZIP2
    {"bzip2", bzip2_open, bzip2_step, bzip2_next, bzip2_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};

#ifdef TULLE_HAVE_LZMA
struct xz {
    lzma_stream stream;
    lzma_allocator allocator;
};

static void *xz_alloc(void *opaque, size_t count, size_t size)
{
    void *block;
    (void)opaque;
    return tulle__alloc(count, size, "liblzma's state", &block) == TULLE_OK ? block : NULL;
}

static void xz_free(void *opaque, void *block)
{
    (void)opaque;
    tulle__free(block);
}

/* Begins a member. The account limits the memory. */
static tulle_status xz_next(void *state)
{
    struct xz *x = state;
    return lzma_stream_decoder(&x->stream, UINT64_MAX, 0) == LZMA_OK
               ? TULLE_OK
               : tulle__fail(TULLE_ERR_MEMORY, "out of memory for liblzma's state");
}

static void xz_close(void *state)
{
    struct xz *x = state;
    if (x) lzma_end(&x->stream);
    tulle__free(x);
}

static tulle_status xz_open(int raw, void **state)
{
    struct xz *x;
    (void)raw;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *x, "liblzma's state", &x));
    x->stream = (lzma_stream)LZMA_STREAM_INIT;
    x->allocator = (lzma_allocator){.alloc = xz_alloc, .free = xz_free};
    x->stream.allocator = &x->allocator;
    tulle_status status = xz_next(x);
    if (status == TULLE_OK)
        *state = x;
    else
        xz_close(x);
    return status;
}

static enum tulle__step xz_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    lzma_stream *stream = &((struct xz *)state)->stream;
    stream->next_in = *in;
    stream->avail_in = *nin;
    stream->next_out = *out;
    stream->avail_out = *nout;
    lzma_ret code = lzma_code(stream, LZMA_RUN);
    *in = stream->next_in;
    *nin = stream->avail_in;
    *out = stream->next_out;
    *nout = stream->avail_out;
    return code == LZMA_STREAM_END                                 ? STEP_MEMBER_ENDS
           : code == LZMA_MEM_ERROR || code == LZMA_MEMLIMIT_ERROR ? STEP_NO_MEMORY
           : code == LZMA_OK || code == LZMA_BUF_ERROR             ? STEP_GOES_ON
                                                                   : STEP_DAMAGED;
}
#endif

const tulle__unpacker tulle__unpackers_xz[] = {
#ifdef TULLE_HAVE_LZMA
    {"liblzma", xz_open, xz_step, xz_next, xz_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};

#ifdef TULLE_HAVE_ZSTD
/* The library takes its memory from malloc: up to the window of a frame, 128 MB at most by its own limit. */
static tulle_status zstd_open(int raw, void **state)
{
    (void)raw;
    *state = ZSTD_createDStream();
    return *state ? TULLE_OK : tulle__fail(TULLE_ERR_MEMORY, "out of memory for zstd's state");
}

static void zstd_close(void *state)
{
    ZSTD_freeDStream(state);
}

static tulle_status zstd_next(void *state)
{
    (void)state; /* it goes on by itself */
    return TULLE_OK;
}

static enum tulle__step zstd_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    ZSTD_inBuffer from = {*in, *nin, 0};
    ZSTD_outBuffer to = {*out, *nout, 0};
    size_t code = ZSTD_decompressStream(state, &to, &from);
    *in += from.pos;
    *nin -= from.pos;
    *out += to.pos;
    *nout -= to.pos;
    if (ZSTD_isError(code))
        return ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation ? STEP_NO_MEMORY : STEP_DAMAGED;
    return code == 0 ? STEP_MEMBER_ENDS : STEP_GOES_ON;
}
#endif

const tulle__unpacker tulle__unpackers_zstd[] = {
#ifdef TULLE_HAVE_ZSTD
    {"zstd", zstd_open, zstd_step, zstd_next, zstd_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};
