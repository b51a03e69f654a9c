/* SPDX-License-Identifier: Apache-2.0 */
/* A Matrix Market file read in some way, with what came of it boiled down to a hash. */
#ifndef TULLE_TEST_FUZZ_MTX_H
#define TULLE_TEST_FUZZ_MTX_H

#include "base/memory.h"
#include "base/random.h"
#include "fuzz.h"
#include "io/mtx/mtx.h"

struct outcome {
    tulle_status status;
    uint64_t hash;
    int array;
    tulle__mtx_stats stats;
    char message[512];
};

static uint64_t mix(uint64_t hash, int64_t row, int64_t col, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    if (v != v) bits = 1; /* the sign of a nan means nothing */
    return tulle__random_mix(tulle__random_mix(hash * 31 + (uint64_t)row) * 31 + (uint64_t)col + bits);
}

static tulle_status read_part(tulle__mtx *mtx, int part, int nparts, tulle_type type, struct outcome *o)
{
    tulle__mtx_stats stats = {0};
    tulle_status status;
    if (tulle__mtx_head(mtx)->array) {
        int64_t n = 0, first = o->stats.stored;
        double *values = NULL;
        status = tulle__mtx_array_count(mtx, part, nparts, &n);
        if (status == TULLE_OK && first + n > tulle__mtx_head(mtx)->stored) status = TULLE_ERR_FORMAT;
        if (status == TULLE_OK) status = tulle__alloc((size_t)n, sizeof *values, "values", &values);
        if (status == TULLE_OK) status = tulle__mtx_array_parse(mtx, part, nparts, first, n, type, values, &stats);
        for (int64_t k = 0; k < n && status == TULLE_OK; k++) {
            int64_t row, col;
            tulle__mtx_array_place(tulle__mtx_head(mtx), first + k, &row, &col);
            REQUIRE(row >= 0 && row < tulle__mtx_head(mtx)->rows && col >= 0 && col < tulle__mtx_head(mtx)->cols);
            o->hash = mix(o->hash, row, col, type == TULLE_F32 ? (double)((float *)(void *)values)[k] : values[k]);
        }
        tulle__free(values);
    } else {
        tulle__entries entries;
        status = tulle__mtx_parse(mtx, part, nparts, type, &entries, &stats);
        for (int64_t e = 0; e < entries.count && status == TULLE_OK; e++) {
            int64_t row = tulle__entries_row(&entries, e), col = tulle__entries_col(&entries, e);
            REQUIRE(row >= 0 && row < tulle__mtx_head(mtx)->rows && col >= 0 && col < tulle__mtx_head(mtx)->cols);
            o->hash = mix(o->hash, row, col, tulle__entries_val(&entries, e));
        }
        tulle__entries_fini(&entries);
    }
    tulle__mtx_stats_add(&o->stats, &stats);
    return status;
}

static void read_matrix(
    const char *path, const tulle__mtx_options *options, int nparts, tulle_type type, struct outcome *o)
{
    tulle__mtx *mtx = NULL;
    char warnings[600];
    memset(o, 0, sizeof *o);
    o->status = tulle__mtx_open(path, options, &mtx);
    o->array = o->status == TULLE_OK && tulle__mtx_head(mtx)->array;
    for (int k = 0; k < nparts && o->status == TULLE_OK; k++) o->status = read_part(mtx, k, nparts, type, o);
    if (o->status == TULLE_OK) o->status = tulle__mtx_check(mtx, &o->stats);
    if (o->status == TULLE_OK)
        tulle__mtx_warnings(mtx, &o->stats, warnings, sizeof warnings);
    else
        snprintf(o->message, sizeof o->message, "%s", tulle_error_message());
    tulle__mtx_close(mtx);
    REQUIRE(tulle__account_blocks(tulle__account_current()) == 0);
}

#endif
