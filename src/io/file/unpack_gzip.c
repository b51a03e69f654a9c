/* SPDX-License-Identifier: Apache-2.0 */
/* gzip by ISA-L and by zlib. */
#include <string.h>

#ifdef TULLE_HAVE_ZLIB
#include "io/file/zlib_stream.h"
#endif
#ifdef TULLE_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#endif

#include "base/error.h"
#include "base/memory.h"
#include "io/file/unpacker.h"

#ifdef TULLE_HAVE_ZLIB
static void zlib_close(void *state)
{
    if (state) inflateEnd(state);
    tulle__free(state);
}

static tulle_status zlib_open(int raw, void **state)
{
    z_stream *stream;
    TULLE_CALL(tulle__zlib_new(&stream));
    if (inflateInit2(stream, raw ? -15 : 15 + 16) != Z_OK) { /* 16: gzip wrapping */
        tulle__free(stream);
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory for zlib's state");
    }
    *state = stream;
    return TULLE_OK;
}

static enum tulle__step zlib_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
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

static tulle_status zlib_next(void *state)
{
    inflateReset(state);
    return TULLE_OK;
}
#endif

#ifdef TULLE_HAVE_ISAL
static tulle_status isal_open(int raw, void **state)
{
    struct inflate_state *stream;
    TULLE_CALL(tulle__alloc(1, sizeof *stream, "ISA-L's state", &stream));
    isal_inflate_init(stream);
    stream->crc_flag = raw ? ISAL_DEFLATE : ISAL_GZIP;
    *state = stream;
    return TULLE_OK;
}

static enum tulle__step isal_step(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
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

static tulle_status isal_next(void *state)
{
    struct inflate_state *stream = state;
    isal_inflate_reset(stream);
    stream->crc_flag = ISAL_GZIP;
    return TULLE_OK;
}
#endif

const tulle__unpacker tulle__unpackers_gzip[] = {
#ifdef TULLE_HAVE_ISAL
    {"isa-l", isal_open, isal_step, isal_next, tulle__free},
#endif
#ifdef TULLE_HAVE_ZLIB
    {"zlib", zlib_open, zlib_step, zlib_next, zlib_close},
#endif
    {NULL, NULL, NULL, NULL, NULL},
};
