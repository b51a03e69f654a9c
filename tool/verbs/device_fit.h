/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of dense products on devices: how many a PE has, so that blocks of them fit (tulle/gemm_blocks.h). */
#ifndef TULLE_TOOL_DEVICE_FIT_H
#define TULLE_TOOL_DEVICE_FIT_H

#include <tulle/gemm_blocks.h>

#include "option.h"

/* The part of C = A B that a PE multiplies, before it is cut into tiles. */
struct device_share {
    int64_t m, n, k; /* of its largest parts */
    int cols, inner; /* tiles across and along the inner indices, for each tile down */
    tulle_type type;
};

/*
 * size: m, k, n. inner: tiles along the inner indices for each tile down; 0: as in tulle_gemm_grid_layouts, the least
 * common multiple of rows and columns.
 */
struct device_share device_share_of(
    const tulle_gidx size[3], tulle_type type, int rows, int cols, int layers, int inner);

/* The tiles of a PE with `tiles` of them down, on the devices of the options. */
tulle_gemm_tiles device_fit_of(
    const struct options *options, const struct device_share *share, int64_t capacity, int tiles);

/* Reads `key=` of the wrapper limit, or model, in a device's spec; *size stays where it is not there. */
tulle_status device_fit_word(const char *spec, const char *key, double *size);

/* Bytes of a device as mem= of its spec says, or as it is opened; 0: there is none, or it is not known. */
int64_t device_fit_memory(const struct options *options);

/*
 * --tiles, or the fewest tiles down a PE whose blocks fit devices with so many bytes, with tiles that are copied ahead
 * if any have room for them; 1 if none fit.
 */
int device_fit_fitting(const struct options *options, const struct device_share *share, int64_t capacity);

#endif
