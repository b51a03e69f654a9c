/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs of a copy of this PE's rows in another format (blocks, the upper half, short indices), made
 * together with the stream. The copy lies in memory from which the device copies fast, so slabs are
 * read in place. All threads of the PE make it: each counts the blocks of a range of block rows in
 * each tile, and fills them in once their position is known.
 */
#include "algo/stream/stream.h"
#include "base/error.h"
#include "mat/blocks/blocks.h"
#include "mat/context.h"

/* The block rows of a tile that one thread packs. */
struct part {
    tulle__tile_row rows;
    tulle__csr csr;
    tulle_gidx col;
    tulle__blocks_plan plan;
    int64_t line, entry; /* block rows and blocks before these */
};

struct tulle__packed {
    struct part *part;
    int nparts;
    tulle__pool *pool;
    const struct tulle_stream *stream;
    tulle__device *device;
    char *array[TULLE__ARRAYS];
};

void tulle__packed_free(tulle__packed *packed)
{
    if (!packed) return;
    for (int i = 0; i < packed->nparts; i++) tulle__blocks_fini(&packed->part[i].plan);
    for (int a = 0; a < TULLE__ARRAYS; a++)
        if (packed->array[a]) packed->device->ops->host_free(packed->device, packed->array[a]);
    tulle__free(packed->part);
    tulle__free(packed);
}

/* In a half, lines and columns count from this PE's first one, like its own lines of Y. */
static void make_parts(struct tulle_stream *s, tulle__packed *packed, int nthreads)
{
    const tulle_mat *A = s->A;
    tulle_gidx b = s->format.block, shift = s->format.symmetric ? s->first_row : 0;
    for (int i = 0; i < A->layout->mt; i++) {
        if (!tulle__tile_is_mine(A, i, 0)) continue;
        tulle_gidx first = A->layout->row_cut[i], rows = tulle__tile_rows(A, i);
        tulle_tile tile = tulle__tile_in_place(A, i, 0);
        tulle__csr csr = tulle__tile_csr(&tile);
        const int64_t lines = tulle__blocks_over(rows, b);
        for (int t = 0; t < nthreads; t++) {
            struct part *part = &packed->part[packed->nparts++];
            tulle_gidx from = lines * t / nthreads * b, until = lines * (t + 1) / nthreads * b;
            tulle__tile_row all = {.type = s->type,
                .first = first - shift,
                .m = rows,
                .n = s->x_lines - shift,
                .ntiles = 1,
                .tile = &csr,
                .col = &part->col};
            part->col = -shift;
            tulle__blocks_part(&all, from, until < rows ? until : rows, &part->csr, &part->rows);
        }
    }
}

static tulle_status count_parts(void *arg, int thread, int nthreads)
{
    tulle__packed *packed = arg;
    const tulle__stream_format *f = &packed->stream->format;
    for (int i = thread; i < packed->nparts; i += nthreads)
        TULLE_CALL(tulle__blocks_count(&packed->part[i].rows, f->block, f->symmetric, &packed->part[i].plan));
    return TULLE_OK;
}

/* Concatenates the row pointers of all parts, and computes the reach of the whole. */
static tulle_status join_parts(struct tulle_stream *s, tulle__packed *packed)
{
    int64_t spread = 0, span = 0, entries = 0, lines = 0;
    for (int i = 0; i < packed->nparts; i++) lines += packed->part[i].plan.m;
    TULLE_CALL(tulle__alloc((size_t)lines + 1, sizeof *s->rowptr, "row pointers of blocks", &s->rowptr));
    s->rowptr[0] = 0;
    for (int i = 0; i < packed->nparts; i++) {
        struct part *part = &packed->part[i];
        const tulle__blocks_plan *plan = &part->plan;
        part->line = s->lines;
        part->entry = entries;
        for (int64_t r = 1; r <= plan->m; r++) s->rowptr[s->lines + r] = entries + plan->rowptr[r];
        s->lines += plan->m;
        entries += plan->rowptr[plan->m];
        if (plan->span > span) span = plan->span;
        if (plan->row_extent > spread) spread = plan->row_extent;
    }
    s->entries = entries;
    s->format.span = span;
    tulle__spill_set(s);
    int narrow = spread <= UINT16_MAX;
    if (s->format.index_bytes == 2 && !narrow)
        return tulle__fail(TULLE_ERR_ARG, "index=2: a row extends over %lld block columns, but 2 bytes count to 65535",
            (long long)spread);
    if (!s->format.index_bytes) s->format.index_bytes = narrow ? 2 : 4;
    s->range[0] = (tulle__row_range){.tile = -1, .rows = s->lines};
    s->nranges = 1;
    return TULLE_OK;
}

tulle_status tulle__packed_new(struct tulle_stream *s)
{
    tulle__context *context = NULL;
    tulle__packed *packed = NULL;
    int tiles = 0, nthreads;
    TULLE_CALL(tulle__context_get(s->comm, &context));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *packed, "packed rows", &packed));
    s->packed = packed;
    packed->pool = context->pool;
    packed->stream = s;
    nthreads = tulle__pool_size(context->pool);
    for (int i = 0; i < s->A->layout->mt; i++) {
        if (!tulle__tile_is_mine(s->A, i, 0)) continue;
        if (!tiles++) s->first_row = tulle__blocks_over(s->A->layout->row_cut[i], s->format.block) * s->format.block;
        s->nnz += s->A->directory[tulle__tile_index(s->A, i, 0)].nnz;
    }
    TULLE_CALL(tulle__alloc(1, sizeof *s->range, "pieces", &s->range));
    TULLE_CALL(
        tulle__alloc_zero((size_t)tiles * (size_t)nthreads, sizeof *packed->part, "parts to pack", &packed->part));
    make_parts(s, packed, nthreads);
    TULLE_CALL(tulle__pool_run(packed->pool, count_parts, packed));
    return join_parts(s, packed);
}

/* ---- filling ---- */

static tulle_status fill_parts(void *arg, int thread, int nthreads)
{
    tulle__packed *packed = arg;
    const struct tulle_stream *s = packed->stream;
    for (int i = thread; i < packed->nparts; i += nthreads) {
        struct part *part = &packed->part[i];
        char *at[TULLE__ARRAYS];
        tulle__bsr slab;
        for (int a = 0; a < TULLE__ARRAYS; a++)
            at[a] = packed->array[a] + tulle__array_bytes(s, a, part->line, part->entry);
        tulle__blocks_arrays to = {.type = s->format.values,
            .index_bytes = s->format.index_bytes,
            .rowptr = part->plan.rowptr,
            .colind = at[TULLE__COLIND],
            .base = (int32_t *)(void *)at[TULLE__BASE],
            .val = at[TULLE__VAL]};
        TULLE_CALL(tulle__blocks_fill(&part->rows, &part->plan, 0, part->plan.m, &to, &slab));
    }
    return TULLE_OK;
}

static size_t buffer_bytes(const tulle__producer *producer, int64_t entries)
{
    (void)producer;
    (void)entries;
    return 0;
}

static tulle_status wait(tulle__producer *producer, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived)
{
    const tulle__packed *packed = producer->stream->packed;
    (void)slot;
    for (int a = 0; a < TULLE__ARRAYS; a++)
        arrived->array[a] = packed->array[a] + tulle__array_bytes(producer->stream, a, slab->line, slab->entry);
    return TULLE_OK;
}

static void drop(tulle__producer *producer)
{
    tulle__free(producer);
}

static const tulle__producer_ops ops = {.staging_bytes = buffer_bytes, .wait = wait, .free = drop};

tulle_status tulle__producer_of_packed(struct tulle_stream *s, tulle__producer **out)
{
    tulle__packed *packed = s->packed;
    tulle__producer *producer = NULL;
    packed->device = s->device;
    for (int a = 0; a < TULLE__ARRAYS; a++)
        TULLE_CALL(s->device->ops->host_new(
            s->device, tulle__array_bytes(s, a, s->lines, s->entries), "rows in another format", &packed->array[a]));
    TULLE_CALL(tulle__pool_run(packed->pool, fill_parts, packed));
    TULLE_CALL(tulle__alloc_zero(1, sizeof *producer, "a producer of slabs", &producer));
    *producer = (tulle__producer){.ops = &ops, .stream = s};
    *out = producer;
    for (int i = 0; i < packed->nparts; i++) tulle__blocks_fini(&packed->part[i].plan);
    packed->nparts = 0;
    tulle__free(packed->part);
    packed->part = NULL;
    return TULLE_OK;
}
