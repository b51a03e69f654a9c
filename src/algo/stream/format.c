/* SPDX-License-Identifier: Apache-2.0 */
/* The format of slabs: the requested one, or the one with the fewest bytes to transfer. */
#include <stdio.h>

#include "algo/stream/stream.h"
#include "base/error.h"
#include "mat/blocks/block_format.h"

/*
 * If slabs are read in place, half of the bytes pay for a kernel that also writes only with
 * single entries and few columns.
 */
static int half_of_entries_pays(const struct tulle_stream *s)
{
    enum { FEW = 4 };
    int in_place = s->device->ops->borrow && !s->options.slabs && !s->options.memory;
    return !in_place || s->options.cols <= FEW;
}

/* Takes over the format of the file. */
static void take_format_of_rows(struct tulle_stream *s)
{
    int64_t columns = tulle__blocks_over(s->n, s->rows->block);
    s->format = (tulle__stream_format){.block = s->rows->block,
        .symmetric = s->rows->half,
        .span = s->rows->span < columns ? s->rows->span : columns,
        .index_bytes = sizeof(int32_t),
        .values = s->rows->values};
}

tulle_status tulle__stream_choose_format(struct tulle_stream *s)
{
    tulle__block_wanted w;
    tulle__block_choice choice;
    tulle_status status = tulle__block_wanted_parse(s->options.format, s->type, &w);
    if (status == TULLE_OK && s->rows && !w.plain && !(w.automatic && w.bare))
        status = tulle__fail(TULLE_ERR_UNSUPPORTED,
            "a file streams in the format that it is written in; `tulle convert --format %s` writes another",
            s->options.format);
    TULLE_CALL(tulle_comm_agree(s->comm, status));
    s->format = (tulle__stream_format){.block = 1, .index_bytes = sizeof(int32_t), .values = s->type};
    if (s->rows) take_format_of_rows(s);
    if (s->rows || w.plain) return TULLE_OK;
    TULLE_CALL(tulle__block_choose(s->A, &w, half_of_entries_pays(s), &choice));
    if (!choice.pays) return TULLE_OK;
    s->format = (tulle__stream_format){
        .packed = 1, .block = choice.block, .symmetric = choice.half, .index_bytes = w.index_bytes, .values = w.values};
    return TULLE_OK;
}

const char *tulle__stream_format_text(const tulle__stream_format *f, char *text, size_t size)
{
    char block[32] = "csr";
    if (f->block > 1) snprintf(block, sizeof block, "bsr %d x %d", f->block, f->block);
    snprintf(text, size, "%s%s, %s, %d-byte columns", block, f->symmetric ? ", half" : "", tulle_type_name(f->values),
        f->index_bytes);
    return text;
}
