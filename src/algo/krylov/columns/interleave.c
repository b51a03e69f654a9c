/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/columns/interleave.h"

struct work {
    tulle_type type;
    int count;
    int64_t ld;
    const void *const *from; /* of columns; NULL: to columns */
    const double *factor;
    void *const *to;
    void *lines;
    const void *given;
};

enum { ROWS = 2048 };

static void pack_rows(void *arg, int64_t begin, int64_t end)
{
    const struct work *w = arg;
    for (int j = 0; j < w->ld; j++) {
        const double by = j < w->count ? w->factor[j] : 0;
        const void *x = j < w->count ? w->from[j] : NULL;
        if (w->type == TULLE_F32)
            for (int64_t r = begin; r < end; r++)
                ((float *)w->lines)[r * w->ld + j] = x ? (float)(by * (double)((const float *)x)[r]) : 0;
        else
            for (int64_t r = begin; r < end; r++)
                ((double *)w->lines)[r * w->ld + j] = x ? by * ((const double *)x)[r] : 0;
    }
}

static void unpack_rows(void *arg, int64_t begin, int64_t end)
{
    const struct work *w = arg;
    for (int j = 0; j < w->count; j++)
        if (w->type == TULLE_F32)
            for (int64_t r = begin; r < end; r++) ((float *)w->to[j])[r] = ((const float *)w->given)[r * w->ld + j];
        else
            for (int64_t r = begin; r < end; r++) ((double *)w->to[j])[r] = ((const double *)w->given)[r * w->ld + j];
}

void tulle__lines_pack(tulle_type type, int64_t rows, tulle__pool *pool, int count, const void *const *x,
    const double *factor, void *lines, int64_t ld)
{
    struct work work = {.type = type, .count = count, .ld = ld, .from = x, .factor = factor, .lines = lines};
    tulle__pool_blocks(pool, rows, ROWS, pack_rows, &work);
}

void tulle__lines_unpack(
    tulle_type type, int64_t rows, tulle__pool *pool, int count, const void *lines, int64_t ld, void *const *x)
{
    struct work work = {.type = type, .count = count, .ld = ld, .to = x, .given = lines};
    tulle__pool_blocks(pool, rows, ROWS, unpack_rows, &work);
}
