/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of blocks. Candidates are the smallest block for each number of blocks down and across,
 * with either factor resident or none; each takes the longest chunk and lookahead that fit. They are
 * ranked by a closed form; what the best one loads is then counted block by block (count).
 *
 * The paper fills 75 % of the memory with C and the rest with chunks. Here chunks take no more than
 * two steps of the inner index if a larger block loads less: loads do not depend on the chunk.
 */
#include <tulle/gemm_blocks.h>

#include <inttypes.h>
#include <math.h>

#include "algo/chain/block_grid.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/words/names.h"

TULLE__WORDS(cases, TULLE_GEMM_CASE_LIST);
TULLE__NAME(tulle_gemm_case, x, cases)

enum { TILES_MOST = 1 << 16, CHUNK_MOST = 16, DEVICES_MOST = 64 };

static int smaller(int x, int y)
{
    return x < y ? x : y;
}

/* ---- memory ---- */

/* Tile columns of a block on one device, at most. */
static int across(const tulle_gemm_tiles *t, int cols)
{
    return tulle__parts_of(cols, t->devices);
}

/* Bytes of a device beside the steps of the inner index, and of one step. */
static void memory_of(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s, __int128 *fixed, __int128 *step)
{
    __int128 a = (__int128)s->rows * t->bytes_a, b = (__int128)across(t, s->cols) * t->bytes_b;
    *fixed = (__int128)s->rows * across(t, s->cols) * t->bytes_c;
    *step = 0;
    if (s->resident == TULLE_GEMM_RESIDENT_A)
        *fixed += a * t->inner;
    else
        *step += a;
    if (s->resident == TULLE_GEMM_RESIDENT_B)
        *fixed += b * t->inner;
    else
        *step += b;
}

/* Chunk and lookahead that fit with so many tiles of C that leave, as given or the longest; 0: none does. */
static int fit_with(const tulle_gemm_tiles *t, int leaving, tulle_gemm_blocks *s)
{
    __int128 fixed, step, capacity, steps;
    int K = t->inner > 1 ? t->inner : 1;
    memory_of(t, s, &fixed, &step);
    fixed += leaving * t->bytes_c;
    capacity = t->capacity - fixed;
    if (capacity < 0) return 0;
    steps = step ? capacity / step : K;
    if (steps > K) steps = K;
    if (steps < 1) return 0;
    int most = (int)steps, given = t->lookahead == TULLE_NONE ? 0 : t->lookahead;
    s->chunk = t->chunk ? smaller(t->chunk, K) : most / 2 > 1 ? smaller(most / 2, CHUNK_MOST) : 1;
    if (!t->chunk && t->lookahead) s->chunk = smaller(most - given, CHUNK_MOST);
    if (s->chunk < 1 || s->chunk > most) return 0;
    s->lookahead = t->lookahead ? smaller(given, K - s->chunk) : most - s->chunk;
    if (s->chunk + s->lookahead > most) return 0;
    s->results = (int64_t)s->rows * across(t, s->cols) + leaving;
    s->memory = (int64_t)(fixed + step * (s->chunk + s->lookahead));
    return 1;
}

/* True if copies overlap products: by a lookahead, unless none is wanted or of use. */
static int overlaps(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s)
{
    return s->lookahead > 0 || s->chunk >= t->inner || t->lookahead == TULLE_NONE;
}

static int fit_steps(const tulle_gemm_tiles *t, tulle_gemm_blocks *s)
{
    int several = s->rows < t->rows || s->cols < t->cols;
    return (several && fit_with(t, 1, s) && overlaps(t, s)) || fit_with(t, 0, s);
}

/* ---- loads ---- */

/* Steps of the inner index that block n, from 0, and the next one have in common. */
static int shared_steps(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s, int64_t n)
{
    int chunks = tulle__parts_of(t->inner, s->chunk);
    if (chunks <= 1) return t->inner;
    if (t->ascending) return 0;
    return n % 2 ? s->chunk : t->inner - (chunks - 1) * s->chunk;
}

/* The devices that have tiles of the columns first .. first + count - 1. */
static uint64_t devices_of(const tulle_gemm_tiles *t, int first, int count)
{
    uint64_t all = 0;
    for (int j = 0; j < count && j < t->devices; j++) all |= (uint64_t)1 << ((first + j) % t->devices);
    return all;
}

static int count_bits(uint64_t x)
{
    return __builtin_popcountll(x);
}

/* Tiles of A that `wanting` devices load, of which `having` have them: from the host, or from sisters. */
static void load(const tulle_gemm_tiles *t, tulle_gemm_blocks *s, uint64_t wanting, uint64_t having, int64_t tiles)
{
    int loads = count_bits(wanting & ~having), host = !t->peers ? loads : loads && !(having & wanting);
    s->copies[0] += host * tiles;
    s->bytes[0] += host * tiles * t->bytes_a;
    s->copies[2] += (loads - host) * tiles;
    s->bytes[2] += (loads - host) * tiles * t->bytes_a;
}

/* Bytes fetched for a host-level block, minus those that the last block left there. */
static int64_t bring(const tulle_gemm_tiles *t, const tulle__grid_block *b, const tulle__grid_block *last)
{
    int64_t bytes = 0;
    if (!last->keeps_rows) bytes += b->host_rows * t->remote_a;
    if (!last->keeps_cols) bytes += b->host_cols * t->remote_b;
    return bytes;
}

/* All loads of the blocks in their order. */
static void count(const tulle_gemm_tiles *t, tulle_gemm_blocks *s)
{
    tulle__grid_block b, last = {.row = -1, .col = -1};
    uint64_t had = 0, rows_had = 0; /* devices that have tiles of A of the last block; of a resident A's rows */
    for (int x = 0; x < 3; x++) s->copies[x] = s->bytes[x] = 0;
    s->network = 0;
    for (int64_t n = 0; tulle__block_at(s, t->rows, t->cols, n, &b); n++, last = b) {
        uint64_t has = devices_of(t, b.col, b.cols);
        int shared = n ? shared_steps(t, s, n - 1) : 0;
        if (b.first_in_host) s->network += bring(t, &b, &last);
        if (b.row != last.row) rows_had = 0;
        if (s->resident == TULLE_GEMM_RESIDENT_A) {
            load(t, s, has, rows_had, (int64_t)b.rows * t->inner);
        } else {
            int of_a = b.row == last.row ? shared : 0;
            load(t, s, has, had, (int64_t)b.rows * of_a);
            load(t, s, has, 0, (int64_t)b.rows * (t->inner - of_a));
        }
        rows_had |= has;
        int of_b = b.col == last.col ? (s->resident == TULLE_GEMM_RESIDENT_B ? t->inner : shared) : 0;
        int64_t loads = (int64_t)b.cols * (t->inner - of_b), results = (int64_t)b.rows * b.cols;
        s->copies[0] += loads;
        s->bytes[0] += loads * t->bytes_b;
        s->copies[1] += t->inner ? results : 0;
        s->bytes[1] += t->inner ? results * t->bytes_c : 0;
        had = has;
    }
}

/* About what `count` counts: bytes from the host, and from sisters. */
static void estimate(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s, double *host, double *sister)
{
    double down = tulle__parts_of(t->rows, s->rows), over = tulle__parts_of(t->cols, s->cols), K = t->inner,
           devices = smaller(t->devices, t->cols),
           chunk = tulle__parts_of(t->inner, s->chunk) <= 1 ? K
                   : t->ascending                           ? 0
                                                            : s->chunk;
    double a = over * t->rows * K, b = down * t->cols * K;
    if (s->resident == TULLE_GEMM_RESIDENT_A) {
        a = t->rows * K;
        b -= (down - 1) * s->cols * chunk;
    } else if (s->resident == TULLE_GEMM_RESIDENT_B) {
        b = t->cols * K;
        a -= (over - 1) * s->rows * chunk;
    } else {
        a -= (over - 1) * t->rows * chunk;
        b -= (down - 1) * s->cols * chunk;
    }
    double from_host = t->peers ? 1 : devices;
    *host = a * from_host * (double)t->bytes_a + b * (double)t->bytes_b;
    *sister = a * (devices - from_host) * (double)t->bytes_a;
}

/* ---- the host ---- */

static int whole_blocks(int n, int block, int most)
{
    int whole = tulle__parts_of(n > 0 ? n : 1, block) * block;
    return whole < most ? whole : most;
}

/* The blocks of the host: as given, or with the least traffic of all that fit. */
static void choose_host(const tulle_gemm_tiles *t, tulle_gemm_blocks *s)
{
    double least = INFINITY;
    s->host_rows = t->host_rows ? whole_blocks(t->host_rows, s->rows, t->rows) : t->rows;
    s->host_cols = t->host_cols ? whole_blocks(t->host_cols, s->cols, t->cols) : t->cols;
    if (t->host_rows || t->host_cols || !t->host ||
        (double)t->rows * (double)t->remote_a + (double)t->cols * (double)t->remote_b <= (double)t->host)
        return;
    s->host_rows = s->rows;
    s->host_cols = s->cols;
    for (int rows = s->rows;; rows = whole_blocks(rows + 1, s->rows, t->rows)) {
        int64_t rest = t->host - rows * t->remote_a, most = t->remote_b ? rest / t->remote_b : t->cols;
        int cols = most < t->cols ? (int)(most / s->cols * s->cols) : t->cols;
        if (rest < 0 || cols < s->cols) break;
        double volume = (double)tulle__parts_of(t->cols, cols) * t->rows * (double)t->remote_a +
                        (double)tulle__parts_of(t->rows, rows) * t->cols * (double)t->remote_b;
        if (volume < least) {
            least = volume;
            s->host_rows = rows;
            s->host_cols = cols;
        }
        if (rows == t->rows) break;
    }
}

/* ---- choice ---- */

/* Kernels for a tile of C: each takes a chunk. */
static int kernels(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s)
{
    return tulle__parts_of(t->inner, s->chunk);
}

struct best {
    tulle_gemm_blocks blocks;
    double host, sister;
    int found;
};

static void consider(const tulle_gemm_tiles *t, int rows, int cols, tulle_gemm_resident resident, struct best *best)
{
    struct best x = {.blocks = {.rows = rows, .cols = cols, .resident = resident}, .found = 1};
    if (!fit_steps(t, &x.blocks)) return;
    estimate(t, &x.blocks, &x.host, &x.sister);
    int ahead = overlaps(t, &x.blocks), had = best->found && overlaps(t, &best->blocks);
    int better = !best->found || ahead > had;
    if (!better && ahead == had) {
        better = x.host < best->host;
        if (x.host == best->host) better = x.sister < best->sister;
        if (x.host == best->host && x.sister == best->sister)
            better = kernels(t, &x.blocks) < kernels(t, &best->blocks);
    }
    if (better) *best = x;
}

/* The next smaller part that leaves more parts of n; 0: there is none. */
static int next_part(int n, int part)
{
    if (part <= 1) return 0;
    int parts = tulle__parts_of(n, part) + 1;
    return tulle__parts_of(n, parts) < part ? tulle__parts_of(n, parts) : part - 1;
}

static int first_part(int n, int given)
{
    return given ? smaller(given, n) : n;
}

static void search(const tulle_gemm_tiles *t, struct best *best)
{
    int over = across(t, t->cols), given = tulle__parts_of(t->block_cols, t->devices);
    for (int b = first_part(t->rows, t->block_rows); b > 0; b = t->block_rows ? 0 : next_part(t->rows, b))
        for (int c = first_part(over, given); c > 0; c = given ? 0 : next_part(over, c))
            for (int r = TULLE_GEMM_RESIDENT_NONE; r <= TULLE_GEMM_RESIDENT_B; r++)
                consider(t, b, smaller(c * t->devices, t->cols), (tulle_gemm_resident)r, best);
}

static tulle_gemm_case case_of(const tulle_gemm_tiles *t, const tulle_gemm_blocks *s)
{
    __int128 fixed, step;
    if (s->rows < t->rows || s->cols < t->cols)
        return s->resident == TULLE_GEMM_RESIDENT_NONE && tulle__parts_of(t->inner, s->chunk) > 1 ? TULLE_GEMM_CASE_C2
                                                                                                  : TULLE_GEMM_CASE_B;
    memory_of(t, s, &fixed, &step);
    return fixed + step * t->inner <= t->capacity ? TULLE_GEMM_CASE_A : TULLE_GEMM_CASE_C1;
}

/* The message has the least capacity for what is given. */
static tulle_status too_small(const tulle_gemm_tiles *t)
{
    tulle_gemm_blocks s = {.rows = first_part(t->rows, t->block_rows > 0 ? t->block_rows : 1),
        .cols = smaller((t->block_cols > 0 ? tulle__parts_of(t->block_cols, t->devices) : 1) * t->devices, t->cols)};
    __int128 fixed, step, least = 0;
    int steps = (t->chunk > 0 ? t->chunk : 1) + (t->lookahead > 0 ? t->lookahead : 0);
    for (int r = TULLE_GEMM_RESIDENT_NONE; r <= TULLE_GEMM_RESIDENT_B; r++) {
        s.resident = (tulle_gemm_resident)r;
        memory_of(t, &s, &fixed, &step);
        fixed += step * smaller(steps, t->inner > 1 ? t->inner : 1);
        if (!r || fixed < least) least = fixed;
    }
    return tulle__fail(TULLE_ERR_LIMIT,
        "devices with %" PRId64 " bytes of memory; a product in blocks of %d x %d tiles, chunks of %d and a lookahead "
        "of %d takes %" PRId64 " (a tile of A %" PRId64 ", B %" PRId64 ", C %" PRId64 "): smaller tiles (--tiles) take "
        "less",
        t->capacity, s.rows, s.cols, t->chunk > 0 ? t->chunk : 1, t->lookahead > 0 ? t->lookahead : 0,
        least > INT64_MAX ? INT64_MAX : (int64_t)least, t->bytes_a, t->bytes_b, t->bytes_c);
}

static tulle_status check(const tulle_gemm_tiles *t)
{
    if (TULLE__NEGATIVE(t->rows) || TULLE__NEGATIVE(t->cols) || TULLE__NEGATIVE(t->inner) ||
        TULLE__NEGATIVE(t->bytes_a) || TULLE__NEGATIVE(t->bytes_b) || TULLE__NEGATIVE(t->bytes_c) ||
        TULLE__NEGATIVE(t->capacity) || TULLE__NEGATIVE(t->block_rows) || TULLE__NEGATIVE(t->block_cols) ||
        TULLE__NEGATIVE(t->chunk) || TULLE__NEGATIVE(t->host_rows) || TULLE__NEGATIVE(t->host_cols) ||
        TULLE__NEGATIVE(t->remote_a) || TULLE__NEGATIVE(t->remote_b) || TULLE__NEGATIVE(t->host))
        return TULLE_ERR_ARG;
    if (t->devices < 1 || t->devices > DEVICES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "%d devices of a PE, of 1 to %d", t->devices, DEVICES_MOST);
    if (t->lookahead < 0 && t->lookahead != TULLE_NONE)
        return tulle__fail(TULLE_ERR_ARG, "a lookahead of %d tiles; 0 is the default, TULLE_NONE none", t->lookahead);
    if (t->chunk > CHUNK_MOST)
        return tulle__fail(TULLE_ERR_ARG, "chunks of %d tiles, at most %d", t->chunk, CHUNK_MOST);
    if (t->rows > TILES_MOST || t->cols > TILES_MOST || t->inner > TILES_MOST)
        return tulle__fail(TULLE_ERR_ARG, "%d x %d x %d tiles of a PE, at most %d in a direction", t->rows, t->inner,
            t->cols, TILES_MOST);
    int64_t all;
    /* loads of a product tile by tile: the most there are */
    const int64_t most = t->bytes_a > t->bytes_b ? t->bytes_a : t->bytes_b;
    if (__builtin_mul_overflow((int64_t)t->rows * t->cols, (int64_t)t->inner * 2, &all) ||
        __builtin_mul_overflow(all, most, &all) ||
        __builtin_mul_overflow((int64_t)t->rows * t->cols, t->remote_a, &all) ||
        __builtin_mul_overflow((int64_t)t->rows * t->cols, t->remote_b, &all) ||
        __builtin_mul_overflow((int64_t)t->rows * t->cols, t->bytes_c, &all))
        return tulle__fail(TULLE_ERR_OVERFLOW, "the bytes of %d x %d x %d tiles", t->rows, t->inner, t->cols);
    return TULLE_OK;
}

tulle_status tulle_gemm_blocks_best(const tulle_gemm_tiles *tiles, tulle_gemm_blocks *blocks)
{
    if (TULLE__NULL(tiles) || TULLE__NULL(blocks)) return TULLE_ERR_ARG;
    TULLE_CALL(check(tiles));
    struct best best = {.found = 0};
    *blocks = best.blocks;
    if (!tiles->rows || !tiles->cols) return TULLE_OK;
    search(tiles, &best);
    if (!best.found) return too_small(tiles);
    best.blocks.fits = case_of(tiles, &best.blocks);
    choose_host(tiles, &best.blocks);
    count(tiles, &best.blocks);
    *blocks = best.blocks;
    return TULLE_OK;
}
