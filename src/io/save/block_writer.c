/* SPDX-License-Identifier: Apache-2.0 */
#include "io/save/block_writer.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse.h"
#include "io/operand.h"

/* One thread's share of the rows at hand. */
struct part {
    tulle__csr csr;
    tulle__tile_row rows;
    tulle__blocks_plan plan;
};

struct tulle__block_writer {
    tulle__pool *pool;
    tulle__block_shape shape;
    tulle__binsparse_writer *file;
    int64_t *rowptr;      /* of blocks, [block rows + 1] */
    int64_t lines, taken; /* block rows counted so far, and written so far */
    int64_t span;
    struct part *part; /* [threads] */
    /* arrays for the rows at hand, with their capacities in blocks and block rows */
    int64_t capacity, line_capacity;
    int32_t *colind;
    char *val;
    int64_t *scratch; /* row pointers that are discarded */
};

tulle_status tulle__file_format(const char *path, const char *format, tulle_type type, tulle__block_wanted *wanted)
{
    TULLE_CALL(tulle__block_wanted_parse(format, type, wanted));
    if (wanted->plain) return TULLE_OK;
    if (tulle__operand_format(path) != TULLE__FORMAT_BINSPARSE)
        return tulle__fail(TULLE_ERR_ARG, "%s: the format '%s' needs a Binsparse file (NAME.bsp.h5)", path, format);
    if (wanted->index_bytes == 2)
        return tulle__fail(TULLE_ERR_ARG, "%s: index=2: files have column indices of 4 bytes", path);
    return TULLE_OK;
}

tulle_status tulle__block_writer_new(tulle__pool *pool, const tulle__block_shape *shape, tulle__block_writer **out)
{
    tulle__block_writer *w = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *w, "a writer of blocks", &w));
    w->pool = pool;
    w->shape = *shape;
    TULLE_TRY(tulle__alloc_zero((size_t)tulle__blocks_over(shape->m, shape->block) + 1, sizeof *w->rowptr,
        "row pointers of blocks", &w->rowptr));
    TULLE_TRY(tulle__alloc_zero((size_t)tulle__pool_size(pool), sizeof *w->part, "parts of rows", &w->part));
    *out = w;
    return TULLE_OK;
out:
    tulle__block_writer_free(w);
    return status;
}

void tulle__block_writer_free(tulle__block_writer *w)
{
    if (!w) return;
    tulle__binsparse_writer_abort(w->file);
    for (int t = 0; w->part && t < tulle__pool_size(w->pool); t++) tulle__blocks_fini(&w->part[t].plan);
    tulle__free(w->part);
    tulle__free(w->rowptr);
    tulle__free(w->colind);
    tulle__free(w->val);
    tulle__free(w->scratch);
    tulle__free(w);
}

/* Splits the rows at hand among the threads. */
static void split_rows(tulle__block_writer *w, const tulle__tile_row *rows)
{
    int nthreads = tulle__pool_size(w->pool);
    int64_t b = w->shape.block, lines = tulle__blocks_over(rows->m, b);
    for (int t = 0; t < nthreads; t++) {
        const int64_t until = lines * (t + 1) / nthreads * b;
        tulle__blocks_part(
            rows, lines * t / nthreads * b, until < rows->m ? until : rows->m, &w->part[t].csr, &w->part[t].rows);
    }
}

static tulle_status count_part(void *arg, int thread, int nthreads)
{
    tulle__block_writer *w = arg;
    struct part *part = &w->part[thread];
    (void)nthreads;
    return tulle__blocks_count(&part->rows, w->shape.block, w->shape.half, &part->plan);
}

tulle_status tulle__block_writer_count(tulle__block_writer *w, const tulle__tile_row *rows)
{
    split_rows(w, rows);
    tulle_status status = tulle__pool_run(w->pool, count_part, w);
    for (int t = 0; t < tulle__pool_size(w->pool); t++) {
        tulle__blocks_plan *plan = &w->part[t].plan;
        for (int64_t i = 0; i < plan->m && status == TULLE_OK; i++, w->lines++)
            w->rowptr[w->lines + 1] = w->rowptr[w->lines] + plan->rowptr[i + 1] - plan->rowptr[i];
        if (plan->span > w->span) w->span = plan->span;
        tulle__blocks_fini(plan);
    }
    return status;
}

tulle_status tulle__block_writer_open(tulle__block_writer *w, const char *path)
{
    const tulle__block_shape *s = &w->shape;
    tulle__binsparse_sparse sparse = {.rows = s->m,
        .cols = s->n,
        .count = w->rowptr[w->lines],
        .type = s->values,
        .structure = s->half ? TULLE__BINSPARSE_SYMMETRIC_UPPER : TULLE__BINSPARSE_GENERAL,
        .block = s->block > 1 ? s->block : 0,
        .nnz = s->nnz,
        .span = w->span};
    TULLE_CALL(tulle__binsparse_writer_open(path, &sparse, &w->file));
    return tulle__binsparse_write_pointers(w->file, 0, w->lines + 1, w->rowptr);
}

static tulle_status make_room(tulle__block_writer *w, int64_t blocks, int64_t lines)
{
    size_t area = (size_t)(w->shape.block * w->shape.block) * tulle_type_size(w->shape.values);
    if (blocks > w->capacity) {
        w->capacity = 0;
        TULLE_CALL(tulle__realloc((size_t)blocks, sizeof *w->colind, "columns of blocks", &w->colind));
        TULLE_CALL(tulle__realloc((size_t)blocks, area, "values of blocks", &w->val));
        w->capacity = blocks;
    }
    if (lines > w->line_capacity) {
        w->line_capacity = 0;
        TULLE_CALL(tulle__realloc((size_t)lines, sizeof *w->scratch, "row pointers of blocks", &w->scratch));
        w->line_capacity = lines;
    }
    return TULLE_OK;
}

static tulle_status fill_part(void *arg, int thread, int nthreads)
{
    tulle__block_writer *w = arg;
    const struct part *part = &w->part[thread];
    const tulle__block_shape *s = &w->shape;
    int64_t first = part->rows.first / s->block, m = tulle__blocks_over(part->rows.m, s->block);
    int64_t before = w->rowptr[first] - w->rowptr[w->taken];
    size_t area = (size_t)(s->block * s->block) * tulle_type_size(s->values);
    tulle__blocks_plan plan = {.block = s->block,
        .symmetric = s->half,
        .first = first,
        .m = m,
        .n = tulle__blocks_over(s->n, s->block),
        .rowptr = w->rowptr + first};
    tulle__blocks_arrays to = {.type = s->values,
        .index_bytes = sizeof(int32_t),
        .rowptr = w->scratch + first - w->taken + thread,
        .colind = w->colind + before,
        .val = w->val + (size_t)before * area};
    tulle__bsr slab;
    (void)nthreads;
    return tulle__blocks_fill(&part->rows, &plan, 0, m, &to, &slab);
}

tulle_status tulle__block_writer_put(tulle__block_writer *w, const tulle__tile_row *rows)
{
    int64_t area = (int64_t)w->shape.block * w->shape.block, lines = tulle__blocks_over(rows->m, w->shape.block);
    int64_t before = w->rowptr[w->taken], blocks = w->rowptr[w->taken + lines] - before;
    split_rows(w, rows);
    TULLE_CALL(make_room(w, blocks, lines + tulle__pool_size(w->pool)));
    TULLE_CALL(tulle__pool_run(w->pool, fill_part, w));
    TULLE_CALL(tulle__binsparse_write_columns(w->file, before, blocks, w->colind));
    TULLE_CALL(tulle__binsparse_write_values(w->file, before * area, blocks * area, w->val));
    w->taken += lines;
    return TULLE_OK;
}

tulle_status tulle__block_writer_close(tulle__block_writer *w)
{
    tulle_status status = tulle__binsparse_writer_close(w->file, TULLE_OK);
    w->file = NULL;
    tulle__block_writer_free(w);
    return status;
}
