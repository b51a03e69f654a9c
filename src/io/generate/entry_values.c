/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a generator's entries: each is a function of its position alone. */
#include "io/generate/parts.h"

/*
 * The top 24 bits are the f32 value, 53 the f64 value; both are exact, in [-1, 1), and differ by
 * less than 2^-23.
 */
static double unit_f64(uint64_t draw)
{
    return (double)(int64_t)(draw >> 11) * 0x1p-52 - 1;
}

static float unit_f32(uint64_t draw)
{
    return (float)(int32_t)(draw >> 40) * 0x1p-23f - 1;
}

static int small_integer(uint64_t draw)
{
    int x = (int)(draw >> 61) - 4; /* -4 .. 3 */
    return x + (x >= 0);
}

static uint64_t draw_symmetric(const tulle__generator *g, int64_t row, int64_t col)
{
    int64_t low = row < col ? row : col, high = row < col ? col : row;
    return tulle__random_at(g->value_seed, (uint64_t)low, (uint64_t)high);
}

static double diagonal(const tulle__generator *g, int64_t row)
{
    return (double)g->kind->bound(g, row, 0, g->n); /* more than the count of the others, each at most 1 */
}

/*
 * T, the C type, and UNIT, a draw's value in it, make one function; entry i is at (row_at, col[i]).
 */
#define DEFINE_VALUES(name, T, UNIT, row_at)                                                                           \
    static void name(const tulle__generator *g, int64_t count, const int64_t *row, const int64_t *col, T *val)         \
    {                                                                                                                  \
        switch (g->mode) {                                                                                             \
        case TULLE__VALUES_ONES:                                                                                       \
            for (int64_t i = 0; i < count; i++) val[i] = 1;                                                            \
            break;                                                                                                     \
        case TULLE__VALUES_INTEGER:                                                                                    \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = (T)small_integer(tulle__random_at(g->value_seed, (uint64_t)(row_at), (uint64_t)col[i]));      \
            break;                                                                                                     \
        case TULLE__VALUES_LAPLACE:                                                                                    \
            for (int64_t i = 0; i < count; i++) val[i] = (T)g->kind->laplace(g, row_at, col[i]);                       \
            break;                                                                                                     \
        case TULLE__VALUES_ELEMENTS:                                                                                   \
            for (int64_t i = 0; i < count; i++) val[i] = (T)g->kind->element(g, row_at, col[i]);                       \
            break;                                                                                                     \
        case TULLE__VALUES_SPD:                                                                                        \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = (row_at) == col[i] ? (T)diagonal(g, row_at) : UNIT(draw_symmetric(g, row_at, col[i]));        \
            break;                                                                                                     \
        default:                                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                                        \
                val[i] = UNIT(tulle__random_at(g->value_seed, (uint64_t)(row_at), (uint64_t)col[i]));                  \
        }                                                                                                              \
    }

DEFINE_VALUES(list_f32, float, unit_f32, row[i])
DEFINE_VALUES(list_f64, double, unit_f64, row[i])
DEFINE_VALUES(row_f32, float, unit_f32, *row)
DEFINE_VALUES(row_f64, double, unit_f64, *row)

void tulle__generator_values(const tulle__generator *generator, int64_t count, const int64_t *row, const int64_t *col,
    tulle_type type, void *val)
{
    if (type == TULLE_F32)
        list_f32(generator, count, row, col, val);
    else
        list_f64(generator, count, row, col, val);
}

void tulle__generator_row_values(const tulle__generator *g, int64_t row, int64_t count, const int64_t *col,
    tulle_type type, void *val, int64_t first)
{
    if (type == TULLE_F32)
        row_f32(g, count, &row, col, (float *)val + first);
    else
        row_f64(g, count, &row, col, (double *)val + first);
}
