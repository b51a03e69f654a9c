/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of rows of a tile in one buffer of a device, its arrays at multiples of 256 bytes, and their copies to there.
 * Row pointers, and offsets of blocks, begin at 0 there.
 */
#ifndef TULLE_PRODUCT_TILE_UPLOAD_H
#define TULLE_PRODUCT_TILE_UPLOAD_H

#include "algo/product/run/staging.h"
#include "device/device.h"

enum { TULLE__ARRAY_ALIGN = 256 };

/* Offsets of arrays, row pointers at 0, and their lengths. */
typedef struct tulle__tile_places {
    size_t colind, offset, norm, row_block, col_block, val, length; /* length: of all */
    int64_t first, nnz;                                             /* entries, or blocks; dense: values */
    int64_t first_value, values;                                    /* in blocks: of these */
    int64_t norms;                                                  /* in blocks: that come with them, or 0 */
    int apart;                                                      /* in blocks: their values are not in one piece */
} tulle__tile_places;

static inline size_t tulle__array_capacity(size_t bytes)
{
    return (bytes + TULLE__ARRAY_ALIGN - 1) / TULLE__ARRAY_ALIGN * TULLE__ARRAY_ALIGN;
}

/* Rows row .. row + rows - 1 of a tile of the host, or block rows. */
tulle__tile_places tulle__tile_places_of(
    const tulle__device *device, const tulle_tile *tile, int64_t row, int64_t rows);

/* The places of a sparse tile, and of one in blocks, with so many entries or blocks from 0; norms: 0, or of each. */
tulle__tile_places tulle__csr_places_of(const tulle__device *device, int64_t rows, int64_t nnz, tulle_type type);
tulle__tile_places tulle__blocks_places_of(const tulle__device *device, int64_t rows, int64_t cols, int64_t blocks,
    int64_t norms, int64_t values, tulle_type type);

/* Bytes of the values of a sparse tile that is there. */
static inline size_t tulle__device_value_bytes(const tulle__device_tile *there)
{
    return (size_t)(there->kind == TULLE_VBSR ? there->values : there->nnz) * tulle_type_size(there->type);
}

/* The tile of so many rows whose arrays lie in the buffer. */
tulle__device_tile tulle__tile_in(
    tulle__device_buffer *buffer, const tulle_tile *tile, int64_t rows, const tulle__tile_places *places);

/*
 * Starts the copies of the same rows in a queue. *made, if it is not NULL then, is read until they are done, as the
 * tile is; the caller frees it.
 */
tulle_status tulle__tile_upload(tulle__device *device, tulle__staging *staging, tulle__device_queue *queue,
    const tulle_tile *source, int64_t row, int64_t rows, const tulle__tile_places *places, tulle__device_tile *there,
    void **made);

/* Row pointers row .. row + rows less the first of them, in the device's width; *made as above. */
tulle_status tulle__narrow_pointers(
    const tulle__device *device, const int64_t *from, int64_t rows, const void **pointers, void **made);

#endif
