/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/run/tile_upload.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

tulle__tile_places tulle__csr_places_of(const tulle__device *device, int64_t rows, int64_t nnz, tulle_type type)
{
    tulle__tile_places p = {.nnz = nnz};
    p.colind = tulle__array_capacity(((size_t)rows + 1) * (size_t)device->rowptr_bytes);
    p.val = p.colind + tulle__array_capacity((size_t)nnz * sizeof(tulle_lidx));
    p.length = p.val + (size_t)nnz * tulle_type_size(type);
    return p;
}

tulle__tile_places tulle__blocks_places_of(const tulle__device *device, int64_t rows, int64_t cols, int64_t blocks,
    int64_t norms, int64_t values, tulle_type type)
{
    tulle__tile_places p = {.nnz = blocks, .values = values, .norms = norms};
    p.colind = tulle__array_capacity(((size_t)rows + 1) * (size_t)device->rowptr_bytes);
    p.offset = p.colind + tulle__array_capacity((size_t)blocks * sizeof(tulle_lidx));
    p.norm = p.offset + tulle__array_capacity(((size_t)blocks + 1) * sizeof(int64_t));
    p.row_block = p.norm + tulle__array_capacity((size_t)norms * sizeof(double));
    p.col_block = p.row_block + tulle__array_capacity(((size_t)rows + 1) * sizeof(tulle_gidx));
    p.val = p.col_block + tulle__array_capacity(((size_t)cols + 1) * sizeof(tulle_gidx));
    p.length = p.val + (size_t)values * tulle_type_size(type);
    return p;
}

/* Values of block e, of block row r, and where they begin. */
static int64_t block_values(const tulle_tile *tile, int64_t r, int64_t e)
{
    tulle_lidx c = tile->colind[e];
    return (tile->row_block[r + 1] - tile->row_block[r]) * (tile->col_block[c + 1] - tile->col_block[c]);
}

static int64_t value_at(const tulle_tile *tile, int64_t r, int64_t e)
{
    return tile->offset ? tile->offset[e] : e * block_values(tile, r, e);
}

/* The values of rows of blocks; ranges of a tile's columns have them apart. */
static void find_values(const tulle_tile *tile, int64_t row, int64_t rows, int64_t *first, int64_t *values, int *apart)
{
    *first = *values = *apart = 0;
    for (int64_t r = row; r < row + rows; r++)
        for (int64_t e = tile->rowptr[r]; e < tile->rowptr[r + 1]; e++) {
            if (e == tile->rowptr[row]) *first = value_at(tile, r, e);
            *apart |= value_at(tile, r, e) != *first + *values;
            *values += block_values(tile, r, e);
        }
}

tulle__tile_places tulle__tile_places_of(const tulle__device *device, const tulle_tile *tile, int64_t row, int64_t rows)
{
    if (tile->kind == TULLE_DENSE) {
        tulle__tile_places p = {.nnz = rows * tile->n};
        p.length = (size_t)p.nnz * tulle_type_size(tile->type);
        return p;
    }
    int64_t first = tile->rowptr[row], nnz = tile->rowptr[row + rows] - first;
    tulle__tile_places p;
    if (tile->row_block) {
        int64_t first_value, values;
        int apart;
        find_values(tile, row, rows, &first_value, &values, &apart);
        p = tulle__blocks_places_of(device, rows, tile->block_cols, nnz, tile->norm ? nnz : 0, values, tile->type);
        p.first_value = first_value;
        p.apart = apart;
    } else {
        p = tulle__csr_places_of(device, rows, nnz, tile->type);
    }
    p.first = first;
    return p;
}

tulle__device_tile tulle__tile_in(
    tulle__device_buffer *buffer, const tulle_tile *tile, int64_t rows, const tulle__tile_places *p)
{
    int in_blocks = tile->row_block != NULL;
    tulle__device_tile there = {.kind = in_blocks ? TULLE_VBSR : tile->kind,
        .type = tile->type,
        .order = tile->order,
        .m = rows,
        .n = in_blocks ? tile->block_cols : tile->n,
        .nnz = p->nnz,
        .values = p->values,
        .val = {buffer, p->val}};
    if (tile->kind == TULLE_DENSE) return there;
    there.rowptr = (tulle__device_place){buffer, 0};
    there.colind = (tulle__device_place){buffer, p->colind};
    if (!in_blocks) return there;
    there.offset = (tulle__device_place){buffer, p->offset};
    if (p->norms) there.norm = (tulle__device_place){buffer, p->norm};
    there.row_block = (tulle__device_place){buffer, p->row_block};
    there.col_block = (tulle__device_place){buffer, p->col_block};
    return there;
}

/* ---- copies ---- */

tulle_status tulle__narrow_pointers(
    const tulle__device *device, const int64_t *from, int64_t rows, const void **pointers, void **made)
{
    int64_t first = from[0], nnz = from[rows] - first;
    *pointers = from;
    if (device->rowptr_bytes == 8 && !first) return TULLE_OK;
    if (device->rowptr_bytes == 4 && nnz > INT32_MAX)
        return tulle__fail(
            TULLE_ERR_OVERFLOW, "%lld entries of a tile on a device that counts in 32 bits", (long long)nnz);
    TULLE_CALL(tulle__alloc((size_t)rows + 1, (size_t)device->rowptr_bytes, "row pointers for a device", made));
    int32_t *narrow = *made;
    int64_t *wide = *made;
    for (int64_t r = 0; r <= rows; r++)
        if (device->rowptr_bytes == 4)
            narrow[r] = (int32_t)(from[r] - first);
        else
            wide[r] = from[r] - first;
    *pointers = *made;
    return TULLE_OK;
}

/* Copies to a device. */
struct copies {
    tulle__device *device;
    tulle__staging *staging;
    tulle__device_queue *queue;
};

static void upload(const struct copies *c, const tulle__device_place *to, const void *from, size_t bytes)
{
    if (bytes) tulle__staging_upload(c->staging, c->queue, to, from, bytes);
}

static tulle_status upload_csr(const struct copies *c, const tulle_tile *source, int64_t row, int64_t rows,
    const tulle__tile_places *p, const tulle__device_tile *there, void **made)
{
    size_t size = tulle_type_size(source->type);
    const void *pointers;
    TULLE_CALL(tulle__narrow_pointers(c->device, source->rowptr + row, rows, &pointers, made));
    upload(c, &there->rowptr, pointers, ((size_t)rows + 1) * (size_t)c->device->rowptr_bytes);
    upload(c, &there->colind, source->colind + p->first, (size_t)p->nnz * sizeof *source->colind);
    upload(c, &there->val, (const char *)source->val + (size_t)p->first * size, (size_t)p->nnz * size);
    return TULLE_OK;
}

/* Row pointers and offsets go by a copy of the host's, as do values that lie apart. */
static tulle_status upload_blocks(const struct copies *c, const tulle_tile *source, int64_t row, int64_t rows,
    const tulle__tile_places *p, const tulle__device_tile *there, void **made)
{
    size_t size = tulle_type_size(source->type), blocks = (size_t)p->nnz, values = (size_t)p->values * size;
    int wide = c->device->rowptr_bytes == 8;
    if (!wide && p->nnz > INT32_MAX)
        return tulle__fail(
            TULLE_ERR_OVERFLOW, "%lld blocks of a tile on a device that counts in 32 bits", (long long)p->nnz);
    size_t indices = (blocks + (size_t)rows + 2) * sizeof(int64_t);
    TULLE_CALL(tulle__alloc(indices + (p->apart ? values : 0), 1, "a tile for a device", made));
    int64_t *offset = *made, *pointers = offset + blocks + 1, at = 0, to = 0;
    int32_t *narrow = (int32_t *)(void *)pointers;
    char *packed = (char *)*made + indices;
    const char *from = (const char *)source->val;
    for (int64_t r = 0; r <= rows; r++) {
        if (wide)
            pointers[r] = source->rowptr[row + r] - p->first;
        else
            narrow[r] = (int32_t)(source->rowptr[row + r] - p->first);
        for (int64_t e = source->rowptr[row + r]; r < rows && e < source->rowptr[row + r + 1]; e++) {
            const int64_t count = block_values(source, row + r, e);
            offset[at++] = to;
            if (p->apart)
                memcpy(packed + (size_t)to * size, from + (size_t)value_at(source, row + r, e) * size,
                    (size_t)count * size);
            to += count;
        }
    }
    offset[at] = to;
    upload(c, &there->rowptr, pointers, ((size_t)rows + 1) * (size_t)c->device->rowptr_bytes);
    upload(c, &there->colind, source->colind + p->first, blocks * sizeof *source->colind);
    upload(c, &there->offset, offset, (blocks + 1) * sizeof *offset);
    if (p->norms) upload(c, &there->norm, source->norm + p->first, (size_t)p->norms * sizeof *source->norm);
    upload(c, &there->row_block, source->row_block + row, ((size_t)rows + 1) * sizeof *source->row_block);
    upload(c, &there->col_block, source->col_block, ((size_t)source->block_cols + 1) * sizeof *source->col_block);
    upload(c, &there->val, p->apart ? packed : from + (size_t)p->first_value * size, values);
    return TULLE_OK;
}

/* Lines one behind the other there, whatever lies between them here. */
static void upload_dense(
    const struct copies *c, const tulle_tile *source, int64_t row, int64_t rows, tulle__device_tile *there)
{
    size_t size = tulle_type_size(source->type);
    int by_row = source->order == TULLE_ROW_MAJOR;
    int64_t lines = by_row ? rows : source->n, width = by_row ? source->n : rows;
    const char *from = (const char *)source->val + (size_t)(by_row ? row * source->ld : row) * size;
    there->ld = width;
    const tulle__device_copy copy = {.to = there->val,
        .host = (void *)(uintptr_t)from,
        .lines = (size_t)lines,
        .width = (size_t)width * size,
        .to_pitch = (size_t)width * size,
        .from_pitch = (size_t)source->ld * size};
    if (width) tulle__staging_copy_up(c->staging, c->queue, &copy);
}

tulle_status tulle__tile_upload(tulle__device *device, tulle__staging *staging, tulle__device_queue *queue,
    const tulle_tile *source, int64_t row, int64_t rows, const tulle__tile_places *p, tulle__device_tile *there,
    void **made)
{
    const struct copies c = {device, staging, queue};
    if (source->row_block) return upload_blocks(&c, source, row, rows, p, there, made);
    if (source->kind == TULLE_CSR) return upload_csr(&c, source, row, rows, p, there, made);
    upload_dense(&c, source, row, rows, there);
    return TULLE_OK;
}
