/* SPDX-License-Identifier: Apache-2.0 */
/* Template of a tile of C in registers, for values of T, over lanes.h. */
#define NAME(x) TULLE__SUFFIX_OF(x, T)
#define LANES MOST(T)
#define EACH_PART _Pragma("GCC unroll 4") for (int q = 0; q < parts; q++)
#define EACH_ROW _Pragma("GCC unroll 8") for (int i = 0; i < rows; i++)

/* `rows` and `parts`, both literals: vectors of a row, the last of which has the lanes of a mask. C is fetched
 * some tiles ahead. */
INLINE void NAME(tile)(const struct tile *t, const int rows, const int parts)
{
    const T *a = t->A, *b = t->B;
    const int64_t a_row = t->a_row, a_col = t->a_col, b_row = t->b_row;
    const MASK last = MASK_FIRST(t->cols - (parts - 1) * LANES);
    V sum[TILE_ROWS][TILE_PARTS] = {{{0}}};
    if (!t->streams) EACH_ROW EACH_PART __builtin_prefetch((const T *)t->C + t->ahead + i * t->ldc + q * LANES, 1, 3);
    for (int64_t k = t->k; k > 0; k--, a += a_col, b += b_row) {
        V line[TILE_PARTS];
        EACH_PART line[q] = q == parts - 1 ? LOAD_MASKED(last, b + q * LANES) : LOAD(b + q * LANES);
        EACH_ROW
        {
            const V x = SPLAT(a[i * a_row]);
            EACH_PART sum[i][q] = FMA(x, line[q], sum[i][q]);
        }
    }
    const V alpha = SPLAT((T)t->alpha), beta = SPLAT((T)t->beta);
    T *c = t->C;
    EACH_ROW
    {
        EACH_PART
        {
            T *to = c + i * t->ldc + q * LANES;
            V x = alpha * sum[i][q];
            if (t->beta != 0) x += beta * (q == parts - 1 ? LOAD_MASKED(last, to) : LOAD(to));
            if (t->streams)
                STREAM(to, x);
            else if (q == parts - 1)
                STORE_MASKED(last, to, x);
            else
                STORE(to, x);
        }
    }
}

#define TILE(r, q)                                                                                                     \
    static void NAME(tile_##r##_##q)(const struct tile *t)                                                             \
    {                                                                                                                  \
        NAME(tile)(t, r, q);                                                                                           \
    }
#define TILES(r) TILE(r, 1) TILE(r, 2) TILE(r, 3)
#define OF_ROWS(r)                                                                                                     \
    {                                                                                                                  \
        NAME(tile_##r##_1), NAME(tile_##r##_2), NAME(tile_##r##_3)                                                     \
    }
TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if TULLE__REGISTER == 64
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#endif

static void (*const NAME(tile_of)[TILE_ROWS][TILE_PARTS])(const struct tile *t) = {
    OF_ROWS(1), OF_ROWS(2), OF_ROWS(3), OF_ROWS(4),
#if TULLE__REGISTER == 64
    OF_ROWS(5), OF_ROWS(6), OF_ROWS(7), OF_ROWS(8)
#endif
};

/* A panel of B, k x cols, as lines of equal length. */
static void NAME(pack)(const struct tile *t, int64_t b_col, T *to)
{
    const T *b = t->B;
    if (b_col == 1) {
        for (int64_t k = 0; k < t->k; k++)
            for (int64_t j = 0; j < t->cols; j++) to[k * TILE_PARTS * LANES + j] = b[k * t->b_row + j];
        return;
    }
    for (int64_t j = 0; j < t->cols; j++)
        for (int64_t k = 0; k < t->k; k++) to[k * TILE_PARTS * LANES + j] = b[k * t->b_row + j * b_col];
}

/* Rows of a panel of C. */
static void NAME(panel)(struct tile t, int64_t rows)
{
    const int parts = (int)((t.cols + LANES - 1) / LANES);
    for (int64_t count; rows > 0; rows -= count) {
        count = part_of(rows, TILE_ROWS);
        NAME(tile_of)[count - 1][parts - 1](&t);
        t.A = (const T *)t.A + count * t.a_row;
        t.C = (T *)t.C + count * t.ldc;
    }
}

/* Panel by panel of B, which is packed for all rows of a block. */
static void NAME(by_panels)(struct tile t, int64_t b_col, int64_t rows, int64_t n)
{
    _Alignas(64) T packed[PACKED_INNER * TILE_PARTS * LANES];
    for (int64_t j = 0, count; j < n; j += count) {
        struct tile part = t;
        count = part_of((n - j + LANES - 1) / LANES, TILE_PARTS) * LANES;
        part.cols = n - j < count ? n - j : count;
        part.B = (const T *)t.B + j * b_col;
        part.C = (T *)t.C + j;
        NAME(pack)(&part, b_col, packed);
        part.B = packed;
        part.b_row = TILE_PARTS * LANES;
        part.ahead = TILE_ROWS * t.ldc;
        NAME(panel)(part, rows);
    }
}

/* A row of tiles, with B where it lies. */
static void NAME(row_of_tiles)(struct tile t, int64_t rows, int64_t n)
{
    t.ahead = n > TILE_PARTS * LANES ? 2 * TILE_PARTS * LANES : 2 * TILE_ROWS * t.ldc;
    for (int64_t j = 0, count; j < n; j += count) {
        const int64_t parts = part_of((n - j + LANES - 1) / LANES, TILE_PARTS);
        count = parts * LANES;
        t.cols = least(n - j, count);
        NAME(tile_of)[rows - 1][parts - 1](&t);
        t.B = (const T *)t.B + count;
        t.C = (T *)t.C + count;
    }
}

static void NAME(by_rows)(struct tile t, int64_t rows, int64_t n)
{
    for (int64_t count; rows > 0; rows -= count) {
        count = part_of(rows, TILE_ROWS);
        NAME(row_of_tiles)(t, count, n);
        t.A = (const T *)t.A + count * t.a_row;
        t.C = (T *)t.C + count * t.ldc;
    }
    if (t.streams) STREAM_END();
}

static struct tile NAME(tile_at)(const tulle__gemm_task *t, int64_t i, int64_t j, int64_t k)
{
    const tulle__gemm_pair *pair = t->pair;
    return (struct tile){.A = (const T *)pair->A + i * pair->a_row + k * pair->a_col,
        .a_row = pair->a_row,
        .a_col = pair->a_col,
        .B = (const T *)pair->B + k * pair->b_row + j * pair->b_col,
        .b_row = pair->b_row,
        .C = (T *)t->C + i * t->c_row + j,
        .ldc = t->c_row,
        .alpha = t->alpha};
}

/* In blocks whose parts of A, or of B, stay in the cache. */
static void NAME(multiply)(const tulle__gemm_task *t)
{
    const bool packs = packs_panels(t);
    const int64_t depth = t->pair->k, inner = inner_of(t, packs, TILE_PARTS * LANES), deepest = least(depth, inner) + 1,
                  height = packs ? BLOCK / deepest : t->m, width = packs ? t->n : BLOCK / deepest / LANES * LANES;
    for (int64_t k = 0; k == 0 || k < depth; k += inner)
        for (int64_t i = 0; i < t->m; i += height)
            for (int64_t j = 0; j < t->n; j += width) {
                struct tile tile = NAME(tile_at)(t, i, j, k);
                tile.k = least(depth - k, inner);
                tile.streams = streams(t);
                tile.beta = k ? 1 : t->beta;
                if (packs)
                    NAME(by_panels)(tile, t->pair->b_col, least(t->m - i, height), t->n);
                else
                    NAME(by_rows)(tile, t->m, least(t->n - j, width));
            }
}

#undef NAME
#undef LANES
#undef EACH_PART
#undef EACH_ROW
#undef TILE
#undef TILES
#undef OF_ROWS
#undef T
