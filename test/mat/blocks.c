/* SPDX-License-Identifier: Apache-2.0 */
/* Converts rows of CSR to slabs of blocks, and compares entry by entry. */
#include "mat/blocks/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "tap.h"

enum { N = 48, FIRST = 24, TILES = 4 };

/* An N x N matrix of blocks; rows FIRST .. N - 1, or all, as tiles side by side. */
struct whole {
    double val[N][N];
    int there[N][N];
    int64_t rowptr[TILES][N + 1];
    int32_t colind[TILES][N * N];
    double value[TILES][N * N];
    tulle__csr tile[TILES];
    tulle_gidx col[TILES];
    tulle__tile_row rows;
};

/* Full blocks of size b here and there; symmetric unless an entry is odd. */
static void make(struct whole *w, int b, tulle_gidx first)
{
    static const tulle_gidx cut[TILES + 1] = {0, 5, 5, 29, N}; /* one has neither columns nor arrays */
    memset(w, 0, sizeof *w);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            uint64_t low = (uint64_t)(i < j ? i : j), high = (uint64_t)(i < j ? j : i);
            w->there[i][j] = tulle__random_at(1, low / (uint64_t)b, high / (uint64_t)b) % 3 == 0;
            w->val[i][j] = w->there[i][j] ? tulle__random_unit(tulle__random_at(2, low, high)) - 0.5 : 0;
        }
    w->rows = (tulle__tile_row){
        .type = TULLE_F64, .first = first, .m = N - first, .n = N, .ntiles = TILES, .tile = w->tile, .col = w->col};
    for (int t = 0; t < TILES; t++) {
        int64_t at = 0;
        for (tulle_gidx i = first; i < N; i++) {
            for (tulle_gidx j = cut[t]; j < cut[t + 1]; j++) {
                if (!w->there[i][j]) continue;
                w->colind[t][at] = (int32_t)(j - cut[t]);
                w->value[t][at++] = w->val[i][j];
            }
            w->rowptr[t][i - first + 1] = at;
        }
        w->col[t] = cut[t];
        if (t != 1)
            w->tile[t] = (tulle__csr){.m = N - first,
                .n = cut[t + 1] - cut[t],
                .rowptr = w->rowptr[t],
                .colind = w->colind[t],
                .val = w->value[t]};
    }
}

static int64_t column(const tulle__bsr *A, int64_t row, int64_t e)
{
    return A->index_bytes == 2 ? A->base[row] + ((const uint16_t *)A->colind)[e] : ((const int32_t *)A->colind)[e];
}

/* True if a slab has exactly the expected rows. */
static int same(const struct whole *w, const tulle__bsr *A, tulle_type type)
{
    static double got[N][N];
    memset(got, 0, sizeof got);
    for (int64_t i = 0; i < A->m; i++)
        for (int64_t e = A->rowptr[i]; e < A->rowptr[i + 1]; e++) {
            int64_t col = column(A, i, e), any = 0;
            if (e > A->rowptr[i] && column(A, i, e - 1) >= col) return 0;
            if (A->symmetric && (col < A->first + i || col > A->first + i + A->span)) return 0;
            for (int r = 0; r < A->block; r++)
                for (int c = 0; c < A->block; c++) {
                    int64_t at = (e * A->block + r) * A->block + c;
                    int64_t row = (A->first + i) * A->block + r;
                    got[row][col * A->block + c] =
                        type == TULLE_F32 ? (double)((const float *)A->val)[at] : ((const double *)A->val)[at];
                    any += w->there[row][col * A->block + c];
                }
            if (!any) return 0; /* a block without entries */
        }
    for (int64_t i = A->first * A->block; i < (A->first + A->m) * A->block; i++)
        for (int64_t j = 0; j < N; j++) {
            int kept = !A->symmetric || j / A->block >= i / A->block;
            double want = !kept ? 0 : type == TULLE_F32 ? (double)(float)w->val[i][j] : w->val[i][j];
            if (!(got[i][j] >= want && got[i][j] <= want)) return 0;
        }
    return 1;
}

static tulle_status convert(const struct whole *w, int block, int symmetric, int bytes, tulle_type type, int *fine)
{
    tulle__blocks_plan plan;
    tulle__blocks_arrays to = {.type = type, .index_bytes = bytes};
    tulle__bsr slab;
    tulle_status status = tulle__blocks_count(&w->rows, block, symmetric, &plan);
    if (status != TULLE_OK) return status;
    int64_t cuts[4] = {0, plan.m / 3, plan.m / 3, plan.m};
    for (int p = 0; p < 3 && status == TULLE_OK; p++) {
        int64_t begin = cuts[p], end = cuts[p + 1], blocks = plan.rowptr[end] - plan.rowptr[begin];
        to.rowptr = malloc((size_t)(end - begin + 1) * sizeof *to.rowptr);
        to.colind = malloc((size_t)blocks * (size_t)bytes + 1);
        to.base = malloc((size_t)(end - begin) * sizeof *to.base + 1);
        to.val = malloc((size_t)(blocks * block * block) * tulle_type_size(type) + 1);
        status = tulle__blocks_fill(&w->rows, &plan, begin, end, &to, &slab);
        *fine = *fine && status == TULLE_OK && slab.m == end - begin && slab.rowptr[slab.m] == blocks &&
                slab.first == w->rows.first / block + begin && same(w, &slab, type);
        free(to.rowptr);
        free(to.colind);
        free(to.base);
        free(to.val);
    }
    *fine = *fine && tulle__blocks_index_bytes(&plan) == 2;
    tulle__blocks_fini(&plan);
    return status;
}

static void test_convert(struct whole *w, int b)
{
    int slabs = 0, fine = 1;
    for (tulle_gidx first = 0; first <= FIRST; first += FIRST) {
        make(w, b, first);
        for (int block = 1; block <= 12; block++) {
            if (FIRST % block) continue;
            for (int kind = 0; kind < 8; kind++, slabs++)
                fine = convert(w, block, kind & 1, kind & 2 ? 2 : 4, kind & 4 ? TULLE_F32 : TULLE_F64, &fine) ==
                           TULLE_OK &&
                       fine;
        }
    }
    ok(fine, "blocks of %d: %d ways to store them have their entries", b, slabs);
}

static void test_facts(struct whole *w, int b)
{
    tulle__blocks_facts upper, lower, all;
    make(w, b, 0);
    tulle__blocks_inspect(&w->rows, &all);
    ok(tulle__blocks_size(&all, TULLE_F64) == b && tulle__blocks_symmetric(&all), "blocks of %d, symmetric", b);
    make(w, b, FIRST);
    tulle__blocks_inspect(&w->rows, &lower);
    int alone = tulle__blocks_symmetric(&lower);
    /* the other rows, as a matrix of their own */
    make(w, b, 0);
    w->rows.m = FIRST;
    for (int t = 0; t < TILES; t++) w->tile[t].m = t == 1 ? 0 : FIRST;
    tulle__blocks_inspect(&w->rows, &upper);
    tulle__blocks_join(&upper, &lower);
    ok(!alone && tulle__blocks_symmetric(&upper) && upper.nnz == all.nnz &&
            tulle__blocks_size(&upper, TULLE_F64) == b && upper.right == all.right,
        "blocks of %d: what halves tell adds up", b);
    /* the last bit of one value */
    make(w, b, 0);
    int64_t e = w->rowptr[3][N] / 2;
    w->value[3][e] = nextafter(w->value[3][e], 1);
    tulle__blocks_inspect(&w->rows, &all);
    ok(!tulle__blocks_symmetric(&all), "blocks of %d: one bit makes it unsymmetric", b);
}

/* A grid with identical rows except for the boundary's, so long that only some are sampled. */
static void test_grid(void)
{
    enum { POINTS = 1 << 14, B = 3 };
    int64_t *rowptr = malloc((POINTS * B + 1) * sizeof *rowptr), at = 0;
    int32_t *colind = malloc((size_t)POINTS * B * B * 3 * sizeof *colind);
    double *val = calloc((size_t)POINTS * B * B * 3, sizeof *val);
    tulle_gidx col = 0;
    tulle__blocks_facts facts;
    rowptr[0] = 0;
    for (int p = 0; p < POINTS; p++) /* every 16th point is on the boundary */
        for (int r = 0; r < B; r++) {
            for (int q = p % 16 ? p - 1 : p; q <= (p % 16 && p + 1 < POINTS ? p + 1 : p); q++)
                for (int c = 0; c < B; c++) colind[at++] = q * B + c;
            rowptr[p * B + r + 1] = at;
        }
    tulle__csr tile = {.m = POINTS * B, .n = POINTS * B, .rowptr = rowptr, .colind = colind, .val = val};
    tulle__tile_row rows = {
        .type = TULLE_F64, .m = POINTS * B, .n = POINTS * B, .ntiles = 1, .tile = &tile, .col = &col};
    tulle__blocks_inspect(&rows, &facts);
    ok(tulle__blocks_size(&facts, TULLE_F64) == B && facts.blocks[B] == at / (B * B),
        "a grid of blocks of 3: %" PRId64 " blocks, for %" PRId64 " of 2", facts.blocks[B], facts.blocks[2]);
    free(rowptr);
    free(colind);
    free(val);
}

/* Columns too far apart for 16 bits; rows and columns that are not whole blocks, and a part that begins within one. */
static void test_limits(struct whole *w)
{
    static const int64_t rowptr[] = {0, 2, 2};
    static const int32_t near[] = {7, 7 + UINT16_MAX}, far[] = {7, 8 + UINT16_MAX};
    static const double val[] = {1, 2};
    tulle_gidx col = 0;
    tulle__blocks_plan plan;
    for (int i = 0; i < 2; i++) {
        tulle__csr tile = {.m = 2, .n = 1 << 20, .rowptr = rowptr, .colind = i ? far : near, .val = val};
        tulle__tile_row rows = {.type = TULLE_F64, .m = 2, .n = 1 << 20, .ntiles = 1, .tile = &tile, .col = &col};
        ok(tulle__blocks_count(&rows, 1, 0, &plan) == TULLE_OK && tulle__blocks_index_bytes(&plan) == (i ? 4 : 2),
            "columns %d apart: %d bytes", far[0] + UINT16_MAX - 7 + i, i ? 4 : 2);
        tulle__blocks_fini(&plan);
        ok(tulle__blocks_count(&rows, 3, 0, &plan) == TULLE_OK && plan.m == 1 && plan.n == (1 << 20) / 3 + 1,
            "the last blocks reach beyond the matrix");
        tulle__blocks_fini(&plan);
        rows.first = 1;
        ok(tulle__blocks_count(&rows, 3, 0, &plan) == TULLE_ERR_ARG && !plan.rowptr, "%s", tulle_error_message());
    }
    tulle__csr tile = {.m = 1, .n = INT64_C(1) << 33};
    tulle__tile_row rows = {.type = TULLE_F64, .m = 0, .n = tile.n, .ntiles = 1, .tile = &tile, .col = &col};
    ok(tulle__blocks_count(&rows, 2, 0, &plan) == TULLE_ERR_OVERFLOW && !plan.rowptr, "%s", tulle_error_message());
    make(w, 3, 0);
    tulle__account *account = tulle__account_current();
    int64_t blocks = tulle__account_blocks(account);
    int n = 0, clean = 1, fine = 1;
    for (tulle_status status = TULLE_ERR_MEMORY; n < 100 && status == TULLE_ERR_MEMORY; n++) {
        tulle__account_fail_after(account, n);
        status = convert(w, 3, 1, 2, TULLE_F64, &fine);
        tulle__account_fail_after(account, -1);
        clean = clean && tulle__account_blocks(account) == blocks && (status == TULLE_OK || status == TULLE_ERR_MEMORY);
    }
    ok(clean && n > 2 && n < 100, "%d allocations fail one by one", n - 1);
}

int main(void)
{
    struct whole *w = malloc(sizeof *w);
    if (!w) return EXIT_FAILURE;
    static const int blocks[] = {1, 2, 3, 4, 6, 8};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        test_convert(w, blocks[i]);
        test_facts(w, blocks[i]);
    }
    test_grid();
    test_limits(w);
    free(w);
    return tap_done();
}
