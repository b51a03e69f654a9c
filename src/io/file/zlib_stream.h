/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of zlib whose memory is charged to the PE. For deflate.c and unpack_gzip.c alone. */
#ifndef TULLE_IO_ZLIB_STREAM_H
#define TULLE_IO_ZLIB_STREAM_H

#include <zlib.h>

#include "base/error.h"
#include "base/memory.h"

static inline void *tulle__zlib_alloc(void *opaque, unsigned count, unsigned size)
{
    void *block;
    (void)opaque;
    return tulle__alloc(count, size, "zlib's state", &block) == TULLE_OK ? block : NULL;
}

static inline void tulle__zlib_free(void *opaque, void *block)
{
    (void)opaque;
    tulle__free(block);
}

static inline tulle_status tulle__zlib_new(z_stream **stream)
{
    TULLE_CALL(tulle__alloc_zero(1, sizeof **stream, "zlib's state", stream));
    (*stream)->zalloc = tulle__zlib_alloc;
    (*stream)->zfree = tulle__zlib_free;
    return TULLE_OK;
}

#endif
