/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the chain of small products for type T, over lanes.h; LANES fill a register. C is cut into
 * panels of ROWS x VECTORS registers, which are summed over all steps before they are stored; the last
 * vector of a row is masked. Panels are as even as they can be, so that a block of 13 rows is 7 and 6.
 */
#define NAME(x) TULLE__SUFFIX_OF(x, T)

#define VECTORS_MOST 4

/* One panel: rows row .. row + ROWS - 1, columns col .. of `chain`; `mask` is the last vector's. */
#define PANEL(ROWS, VECTORS)                                                                                           \
    static void INSTANCE(NAME(panel), ROWS, VECTORS)(                                                                  \
        const tulle__block_chain *chain, int64_t row, int64_t col, MASK mask)                                          \
    {                                                                                                                  \
        NAME(panel)(chain, row, col, mask, ROWS, VECTORS);                                                             \
    }

INLINE void NAME(panel)(
    const tulle__block_chain *chain, int64_t row, int64_t col, MASK mask, const int rows, const int vectors)
{
    V sum[12][VECTORS_MOST];
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++) _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)
        sum[r][v] = SPLAT(0);
    for (int64_t s = 0; s < chain->steps; s++) {
        const tulle__block_step *step = &chain->step[s];
        const int64_t k = step->k;
        const T *A = (const T *)step->A + row * k, *B = (const T *)step->B + col;
        for (int64_t p = 0; p < k; p++, A++, B += chain->ldb) {
            V b[VECTORS_MOST];
            if (TULLE__REGISTER != 64 && vectors == 4) { /* 16 registers: a vector of B at a time */
                V a[3];
                _Pragma("GCC unroll 3") for (int r = 0; r < rows && r < 3; r++) a[r] = SPLAT(A[r * k]);
                _Pragma("GCC unroll 4") for (int v = 0; v < 4; v++)
                {
                    const V x = v == 3 ? LOAD_MASKED(mask, B + v * LANES) : LOAD(B + v * LANES);
                    _Pragma("GCC unroll 3") for (int r = 0; r < rows && r < 3; r++) sum[r][v] = FMA(a[r], x, sum[r][v]);
                }
                continue;
            }
            _Pragma("GCC unroll 4") for (int v = 0; v + 1 < vectors; v++) b[v] = LOAD(B + v * LANES);
            b[vectors - 1] = LOAD_MASKED(mask, B + (vectors - 1) * LANES);
            _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++)
            {
                const V a = SPLAT(A[r * k]);
                _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++) sum[r][v] = FMA(a, b[v], sum[r][v]);
            }
        }
    }
    const V alpha = SPLAT((T)chain->alpha), beta = SPLAT((T)chain->beta);
    T *C = (T *)chain->C + row * chain->ldc + col;
    _Pragma("GCC unroll 12") for (int r = 0; r < rows; r++, C += chain->ldc)
        _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)
    {
        V x = alpha * sum[r][v];
        T *c = C + v * LANES;
        if (v + 1 < vectors) {
            if (chain->beta != 0) x += beta * LOAD(c);
            STORE(c, x);
        } else {
            if (chain->beta != 0) x += beta * LOAD_MASKED(mask, c);
            STORE_MASKED(mask, c, x);
        }
    }
}

typedef void (*NAME(panel_call))(const tulle__block_chain *chain, int64_t row, int64_t col, MASK mask);
#define UP_TO_3(p, v) p(1, v) p(2, v) p(3, v)
#define UP_TO_4(p, v) UP_TO_3(p, v) p(4, v)
#define UP_TO_6(p, v) UP_TO_4(p, v) p(5, v) p(6, v)
#define UP_TO_8(p, v) UP_TO_6(p, v) p(7, v) p(8, v)
#define UP_TO_12(p, v) UP_TO_8(p, v) p(9, v) p(10, v) p(11, v) p(12, v)
#define ENTRY(ROWS, VECTORS) [ROWS] = INSTANCE(NAME(panel), ROWS, VECTORS),
#if TULLE__REGISTER == 64
#define EACH_PANEL(p) UP_TO_12(p, 1) UP_TO_12(p, 2) UP_TO_8(p, 3) UP_TO_6(p, 4)
static const int NAME(rows_most)[VECTORS_MOST + 1] = {0, 12, 12, 8, 6};
EACH_PANEL(PANEL)
static const NAME(panel_call) NAME(panels)[VECTORS_MOST + 1][13] = {
    {NULL}, {UP_TO_12(ENTRY, 1)}, {UP_TO_12(ENTRY, 2)}, {UP_TO_8(ENTRY, 3)}, {UP_TO_6(ENTRY, 4)}};
#else
#define EACH_PANEL(p) UP_TO_12(p, 1) UP_TO_6(p, 2) UP_TO_4(p, 3) UP_TO_3(p, 4)
static const int NAME(rows_most)[VECTORS_MOST + 1] = {0, 12, 6, 4, 3};
EACH_PANEL(PANEL)
static const NAME(panel_call) NAME(panels)[VECTORS_MOST + 1][13] = {
    {NULL}, {UP_TO_12(ENTRY, 1)}, {UP_TO_6(ENTRY, 2)}, {UP_TO_4(ENTRY, 3)}, {UP_TO_3(ENTRY, 4)}};
#endif

static void NAME(chain)(const tulle__block_chain *chain)
{
    int64_t vectors = (chain->n + LANES - 1) / LANES, across = (vectors + VECTORS_MOST - 1) / VECTORS_MOST;
    for (int64_t a = 0; a < across; a++) {
        int64_t first = vectors * a / across, width = vectors * (a + 1) / across - first, col = first * LANES;
        int64_t last = chain->n - (col + (width - 1) * LANES); /* columns of the last vector */
        MASK mask = MASK_FIRST(last < LANES ? last : LANES);
        int64_t down = (chain->m + NAME(rows_most)[width] - 1) / NAME(rows_most)[width];
        for (int64_t d = 0; d < down; d++) {
            int64_t row = chain->m * d / down;
            NAME(panels)[width][chain->m * (d + 1) / down - row](chain, row, col, mask);
        }
    }
}

#undef NAME
#undef VECTORS_MOST
#undef PANEL
#undef UP_TO_3
#undef UP_TO_4
#undef UP_TO_6
#undef UP_TO_8
#undef UP_TO_12
#undef ENTRY
#undef EACH_PANEL
#undef T
#undef LANES
