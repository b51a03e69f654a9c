/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/device_fit.h"

#include <stdio.h>
#include <string.h>

#include <tulle/tulle.h>

enum { TILES_MOST = 256 }; /* of --tiles */

static int64_t part(int64_t n, int64_t parts)
{
    return n / parts + (n % parts != 0);
}

static int least_multiple(int a, int b)
{
    int x = a, y = b;
    while (y) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

struct device_share device_share_of(
    const tulle_gidx size[3], tulle_type type, int rows, int cols, int layers, int inner)
{
    return (struct device_share){.m = part(size[0], rows),
        .n = part(size[2], cols),
        .k = part(size[1], layers),
        .cols = layers,
        .inner = inner ? inner : least_multiple(rows, cols),
        .type = type};
}

tulle_gemm_tiles device_fit_of(
    const struct options *options, const struct device_share *share, int64_t capacity, int tiles)
{
    int64_t size = (int64_t)tulle_type_size(share->type), rows = tiles, cols = (int64_t)tiles * share->cols,
            inner = (int64_t)tiles * share->inner;
    int64_t m = part(share->m, rows), n = part(share->n, cols), k = part(share->k, inner);
    return (tulle_gemm_tiles){.rows = (int)rows,
        .cols = (int)cols,
        .inner = (int)inner,
        .bytes_a = m * k * size,
        .bytes_b = k * n * size,
        .bytes_c = m * n * size,
        .devices = (int)options_int(options, "devices", 1),
        .capacity = capacity,
        .lookahead = (int)options_int(options, "lookahead", 0)};
}

tulle_status device_fit_word(const char *spec, const char *key, double *size)
{
    char text[32];
    const char *limit = strstr(spec, "limit:") ? strstr(spec, "limit:") : strstr(spec, "model:");
    const char *end = limit ? limit + strcspn(limit, "+") : NULL;
    for (const char *at = limit; at && at < end; at = strpbrk(at + 1, ":,")) {
        size_t length = strlen(key);
        if (strncmp(at + 1, key, length) != 0 || at[1 + length] != '=') continue;
        const char *value = at + 2 + length;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(value, ",+"), value);
        return tulle_parse_bytes(text, "--device", size);
    }
    return TULLE_OK;
}

int64_t device_fit_memory(const struct options *options)
{
    const char *spec = options_word(options, "device", NULL);
    double memory = 0;
    tulle_device_facts facts;
    if (!spec) return 0;
    if (device_fit_word(spec, "mem", &memory) == TULLE_OK && memory >= 1) return (int64_t)memory;
    return tulle_device_probe(spec, &facts) == TULLE_OK && facts.memory < INT64_MAX ? (int64_t)facts.memory : 0;
}

int device_fit_fitting(const struct options *options, const struct device_share *share, int64_t capacity)
{
    tulle_gemm_blocks blocks;
    int fitting = 0;
    if (options_int(options, "tiles", 0)) return (int)options_int(options, "tiles", 0);
    for (int tiles = 1; capacity > 0 && tiles <= TILES_MOST; tiles += tiles < 8 ? 1 : tiles / 4) {
        const tulle_gemm_tiles t = device_fit_of(options, share, capacity, tiles);
        if ((int64_t)t.rows > share->m && (int64_t)t.cols > share->n && (int64_t)t.inner > share->k) break;
        tulle_status status = tulle_gemm_blocks_best(&t, &blocks);
        if (status != TULLE_OK && status != TULLE_ERR_LIMIT) break; /* the product will say why */
        if (status != TULLE_OK) continue;
        if (blocks.lookahead || blocks.chunk >= t.inner) return tiles;
        if (!fitting) fitting = tiles;
    }
    return fitting ? fitting : 1;
}
