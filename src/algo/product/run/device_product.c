/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products on a device: the result is made there and copied to where the host wants it. */
#include <string.h>

#include "algo/product/run/device_set.h"
#include "algo/product/run/tile_upload.h"
#include "base/error.h"
#include "base/memory.h"

/* A result while it is made. */
struct sparse {
    struct device_run *run;
    struct device *d;
    tulle__device_buffer *buffer, *bounds; /* bounds: of blocks, and their pattern */
    void *pointers;                        /* of the pattern, on their way */
    tulle__device_tile tile;
    tulle_type type;
    int64_t cols; /* of the tile, or block columns */
};

static tulle_status place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct sparse *s = context;
    int in_blocks = C->kind == TULLE_VBSR;
    tulle_tile shape = {.kind = C->kind, .type = s->type, .n = s->cols, .block_cols = s->cols};
    tulle_gidx cut = 0;
    if (in_blocks) shape.row_block = &cut;
    const tulle__tile_places p = in_blocks
                                     ? tulle__blocks_places_of(s->d->device, m, s->cols, nnz, nnz, C->values, s->type)
                                     : tulle__csr_places_of(s->d->device, m, nnz, s->type);
    tulle__device_tiles_give(s->d->tiles, s->buffer);
    s->buffer = NULL;
    TULLE_CALL(tulle__device_reserve(s->run, s->d, p.length, "a sparse result", &s->buffer));
    *C = tulle__tile_in(s->buffer, &shape, m, &p);
    s->tile = *C;
    return TULLE_OK;
}

static void fetch(const struct sparse *s, void *to, const tulle__device_place *from, size_t bytes)
{
    if (bytes) tulle__staging_download(s->d->staging, s->d->out, to, from, bytes);
}

/* resident: without values. */
static tulle_status fetch_result(
    struct sparse *s, int64_t m, bool resident, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    tulle_status status;
    const tulle__device_ops *ops = s->d->device->ops;
    int32_t *narrow = NULL;
    size_t nnz = (size_t)s->tile.nnz, rows = (size_t)m + 1;
    int is_narrow = s->d->device->rowptr_bytes == 4;
    C->values = s->tile.values;
    TULLE_TRY(place(context, m, s->tile.nnz, C));
    C->nnz = s->tile.nnz;
    C->values = s->tile.values;
    if (is_narrow) TULLE_TRY(tulle__alloc(rows, sizeof *narrow, "row pointers of a device", &narrow));
    ops->record(s->d->work, s->d->made);
    ops->join(s->d->out, s->d->made);
    fetch(s, is_narrow ? (void *)narrow : C->rowptr, &s->tile.rowptr, rows * (size_t)s->d->device->rowptr_bytes);
    fetch(s, C->colind, &s->tile.colind, nnz * sizeof(tulle_lidx));
    if (s->tile.offset.buffer) {
        fetch(s, C->offset, &s->tile.offset, (nnz + 1) * sizeof *C->offset);
        fetch(s, C->norm, &s->tile.norm, nnz * sizeof *C->norm);
    }
    if (!resident) fetch(s, C->val, &s->tile.val, tulle__device_value_bytes(&s->tile));
    status = ops->queue_wait(s->d->work);
    tulle_status come = ops->queue_wait(s->d->out);
    if (status == TULLE_OK) status = come;
    for (size_t r = 0; is_narrow && status == TULLE_OK && r < rows; r++) C->rowptr[r] = narrow[r];
out:
    tulle__free(narrow);
    return status;
}

/* The tile of which these are rows from `row` on. */
static tulle_tile whole_tile(const tulle__csr *csr, int64_t row, tulle_type type)
{
    return (tulle_tile){.kind = csr->row_block ? TULLE_VBSR : TULLE_CSR,
        .type = type,
        .m = csr->m + row,
        .n = csr->n,
        .rowptr = csr->rowptr - row,
        .colind = csr->colind,
        .val = csr->val,
        .block_rows = csr->m + row,
        .block_cols = csr->n,
        .row_block = csr->row_block ? csr->row_block - row : NULL,
        .col_block = csr->col_block,
        .offset = csr->offset,
        .norm = csr->norm};
}

/* Rows of a factor of the task, or of the old C, on the device; the norms of the old C are not read. */
static tulle_status hold_csr(struct device_run *run, struct device *d, const tulle__tile_key *key, tulle_type type,
    const tulle__csr *csr, tulle__device_tile *there)
{
    tulle_tile tile = whole_tile(csr, key->row, type);
    if (key->operand < 0) tile.norm = NULL;
    return tulle__device_hold(run, d, key, &tile, there);
}

/* 0: the pair adds nothing, and has no cuts. */
static int adds(const tulle__spgemm_pair *pair)
{
    return pair->B.rowptr && (pair->A.rowptr || pair->A.m);
}

tulle_status tulle__device_hold_pairs(struct device_run *run, struct device *d, const tulle__run_tiles *tiles,
    const tulle__spgemm_task *task, tulle__device_product *work, tulle__spgemm_pair *pairs)
{
    *work = (tulle__device_product){.type = task->type,
        .m = task->m,
        .n = task->n,
        .unsorted = task->unsorted,
        .half = task->half,
        .half_shift = task->half_shift,
        .first_row = task->first_row,
        .first_col = task->first_col};
    if (task->npairs > TULLE__DEVICE_SPARSE_PAIRS)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "a chain of %d products of tiles on a device, which takes %d",
            task->npairs, TULLE__DEVICE_SPARSE_PAIRS);
    for (int p = 0; p < task->npairs; p++) {
        const tulle__spgemm_pair *pair = &task->pair[p];
        int known = p < tiles->nk, k = known ? tiles->k[p] : 0, n = work->npairs;
        const tulle__tile_key a = {TULLE__OF_A, tiles->i, k, tiles->row, pair->A.m},
                              b = {known ? TULLE__OF_B : TULLE__TEMPORARY, k, tiles->j, 0, pair->B.m};
        if (!adds(pair)) continue;
        work->scale[n] = pair->scale;
        work->A[n] = (tulle__device_tile){.kind = TULLE_CSR, .type = task->type};
        if (pair->A.rowptr) TULLE_CALL(hold_csr(run, d, &a, task->type, &pair->A, &work->A[n]));
        TULLE_CALL(hold_csr(run, d, &b, task->type, &pair->B, &work->B[n]));
        pairs[work->npairs++] = *pair;
    }
    return TULLE_OK;
}

/* ---- blocks ---- */

/* The largest and the smallest of `count` blocks, beside those known. */
static void find_sizes(const tulle_gidx *cut, int64_t count, int64_t *largest, int64_t *smallest)
{
    for (int64_t b = 0; b < count; b++) {
        int64_t size = cut[b + 1] - cut[b];
        if (size > *largest) *largest = size;
        if (size < *smallest) *smallest = size;
    }
}

void tulle__device_describe_blocks(const tulle__spgemm_task *task, tulle__device_product *work)
{
    const tulle__spgemm_pair *first = &task->pair[0];
    const tulle__device_tile *rows = first->A.row_block && work->A[0].row_block.buffer ? &work->A[0] : &work->B[0];
    const tulle_gidx *cut = first->A.row_block ? first->A.row_block : first->B.row_block;
    work->in_blocks = 1;
    work->row_block = rows->row_block;
    work->col_block = work->B[0].col_block;
    for (int l = 0; l < 3; l++) work->smallest[l] = INT64_MAX;
    find_sizes(cut, task->m, &work->largest[0], &work->smallest[0]);
    find_sizes(first->B.col_block, task->n, &work->largest[1], &work->smallest[1]);
    for (int p = 0; p < task->npairs; p++) {
        const tulle__csr *A = &task->pair[p].A;
        if (A->rowptr) find_sizes(A->col_block, A->n, &work->largest[2], &work->smallest[2]);
    }
}

/* The bounds of the filter and the blocks of the pattern, on the device. */
static tulle_status bring_bounds(struct sparse *s, const tulle__spgemm_task *task, tulle__device_product *work)
{
    const tulle__device *device = s->d->device;
    const tulle__csr *pattern = task->pattern;
    size_t rows = (size_t)task->m, least = task->least ? tulle__array_capacity(rows * sizeof *task->least) : 0;
    size_t pointers = pattern ? tulle__array_capacity((rows + 1) * (size_t)device->rowptr_bytes) : 0;
    int64_t first = pattern && pattern->rowptr ? pattern->rowptr[0] : 0;
    int64_t blocks = pattern && pattern->rowptr ? pattern->rowptr[task->m] - first : 0;
    const void *from = NULL;
    if (!least && !pattern) return TULLE_OK;
    TULLE_CALL(tulle__device_reserve(
        s->run, s->d, least + pointers + (size_t)blocks * sizeof(tulle_lidx), "bounds of blocks", &s->bounds));
    if (least) {
        work->least = (tulle__device_place){s->bounds, 0};
        tulle__staging_upload(s->d->staging, s->d->work, &work->least, task->least, rows * sizeof *task->least);
    }
    if (!pattern) return TULLE_OK;
    work->pattern_rowptr = (tulle__device_place){s->bounds, least};
    work->pattern_colind = (tulle__device_place){s->bounds, least + pointers};
    if (pattern->rowptr)
        TULLE_CALL(tulle__narrow_pointers(device, pattern->rowptr, task->m, &from, &s->pointers));
    else
        TULLE_CALL(tulle__alloc_zero(rows + 1, sizeof(int64_t), "row pointers for a device", &s->pointers));
    if (!from) from = s->pointers;
    tulle__staging_upload(
        s->d->staging, s->d->work, &work->pattern_rowptr, from, (rows + 1) * (size_t)device->rowptr_bytes);
    if (blocks)
        tulle__staging_upload(s->d->staging, s->d->work, &work->pattern_colind, pattern->colind + first,
            (size_t)blocks * sizeof(tulle_lidx));
    return TULLE_OK;
}

/* The cuts of a result that other plans may multiply, from those of its factors. */
static void copy_cuts(const struct sparse *s, const tulle__device_product *work)
{
    const tulle__device_ops *ops = s->d->device->ops;
    const tulle__device_copy rows = {.to = s->tile.row_block,
                                 .from = work->row_block,
                                 .lines = 1,
                                 .width = ((size_t)s->tile.m + 1) * sizeof(tulle_gidx)},
                             cols = {.to = s->tile.col_block,
                                 .from = work->col_block,
                                 .lines = 1,
                                 .width = ((size_t)s->tile.n + 1) * sizeof(tulle_gidx)};
    ops->copy(s->d->work, &rows);
    ops->copy(s->d->work, &cols);
}

/* A result without entries. */
static tulle_status place_nothing(
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    *C = (tulle__csr_result){.nnz = 0};
    TULLE_CALL(place(context, task->m, 0, C));
    memset(C->rowptr, 0, ((size_t)task->m + 1) * sizeof *C->rowptr);
    if (C->offset) C->offset[0] = 0;
    C->nnz = 0;
    return TULLE_OK;
}

tulle_status tulle__device_run_product(tulle__runner *runner, const tulle__run_tiles *tiles,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    struct device_run *run = (struct device_run *)runner;
    struct device *d = tulle__device_of(run, tiles);
    struct sparse s = {.run = run, .d = d, .type = task->type, .cols = task->n};
    tulle_status status = TULLE_OK;
    tulle__device_product_counts counts = {0, 0};
    tulle__spgemm_task some = *task;
    tulle__spgemm_pair pairs[TULLE__DEVICE_SPARSE_PAIRS];
    tulle__device_product work;
    some.pair = pairs;
    const bool resident = runner->resident && runner->keeps_structure && tiles->whole && tiles->nk;
    tulle__device_resident_begin(run);
    TULLE_TRY(tulle__device_hold_pairs(run, d, tiles, task, &work, pairs));
    some.npairs = work.npairs;
    if (!work.npairs) {
        status = place_nothing(task, place, context, C);
        goto out;
    }
    if (run->runner.format->in_blocks) {
        tulle__device_describe_blocks(&some, &work);
        TULLE_TRY(bring_bounds(&s, task, &work));
    }
    tulle__device_tiles_join(d->tiles, d->work);
    status = d->device->ops->product(d->work, &work, place_result, &s, &counts);
    if (status == TULLE_ERR_LIMIT && tulle__device_tiles_shed(d->tiles)) /* it lacked room of its own */
        status = d->device->ops->product(d->work, &work, place_result, &s, &counts);
    if (status != TULLE_OK) goto out;
    if (resident && work.in_blocks) copy_cuts(&s, &work);
    tulle__device_tiles_release(d->tiles, d->work);
    TULLE_TRY(fetch_result(&s, task->m, resident, place, context, C));
    C->multiplications = counts.multiplications;
    C->skipped = counts.skipped;
    if (runner->keeps_structure) tulle__device_cached_add(d, tiles, &s.tile, resident ? C->val : NULL, &s.buffer);
    if (resident && s.buffer) { /* there is no room for it to stay */
        fetch(&s, C->val, &s.tile.val, tulle__device_value_bytes(&s.tile));
        status = d->device->ops->queue_wait(d->out);
    }
out:
    (void)d->device->ops->queue_wait(d->work);
    tulle__device_tiles_release(d->tiles, d->work);
    tulle__device_tiles_give(d->tiles, s.buffer);
    tulle__device_tiles_give(d->tiles, s.bounds);
    status = tulle__device_operands_read(d, status);
    tulle__free(s.pointers);
    return status;
}
