/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of dense blocks in a plain pattern, and tight-binding chains and grids. */
#include <inttypes.h>
#include <stdbool.h>

#include "base/error.h"
#include "io/generate/generator.h"

enum { SIZE_MOST = 4096 };

/* ---- random, banded and block-diagonal ---- */

enum { RANDOM, BAND, DIAGONAL, PATTERNS };

static tulle_status open_blocks(tulle__spec_part *part, tulle__generator *g)
{
    static const char *const names[PATTERNS] = {"random", "band", "diagonal"};
    int64_t n = -1, size = 6, width = 4;
    double degree = 8;
    const char *word = names[RANDOM];
    TULLE_CALL(tulle__spec_int(part, "n", 0, TULLE__GENERATOR_MAX / SIZE_MOST, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'blocks' needs n, the number of block rows");
    TULLE_CALL(tulle__spec_int(part, "size", 1, SIZE_MOST, &size));
    TULLE_CALL(tulle__spec_word(part, "pattern", &word));
    TULLE_CALL(tulle__name_parse("pattern of blocks (pattern=)", word, names, PATTERNS, &g->as.blocks.pattern));
    if (degree > (double)n) degree = (double)n;
    TULLE_CALL(tulle__spec_real(part, "degree", 0, (double)n, &degree));
    TULLE_CALL(tulle__spec_int(part, "width", 0, TULLE__GENERATOR_MAX, &width));
    if (g->as.blocks.pattern == DIAGONAL || n == 0) width = 0;
    if (width >= n && n > 0) width = n - 1;
    g->m = g->n = n * size;
    g->block = (int)size;
    g->symmetric = g->as.blocks.pattern != RANDOM;
    g->as.blocks.blocks = n;
    g->as.blocks.width = width;
    g->as.blocks.er = tulle__er_of(degree, n);
    /* diagonal k misses |k| of its n places */
    if (g->symmetric) {
        const __int128 nnz = ((__int128)n * (2 * width + 1) - (__int128)width * (width + 1)) * size * size;
        if (nnz > INT64_MAX) return tulle__fail(TULLE_ERR_ARG, "'blocks': their entries are over the limit");
        g->nnz = (int64_t)nnz;
    }
    return TULLE_OK;
}

static int64_t blocks_most(const tulle__generator *g)
{
    const int64_t band = 2 * g->as.blocks.width + 1, most = g->symmetric ? band : g->as.blocks.er.most;
    return most < g->as.blocks.blocks ? most : g->as.blocks.blocks;
}

static int64_t blocks_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return blocks_most(g) * g->block;
}

static double blocks_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    const double all = (double)g->n, rows = (double)(r1 - r0), share = all > 0 ? (double)(c1 - c0) / all : 0;
    if (!g->symmetric) return (rows * g->as.blocks.er.degree * share + 16) * g->block * 1.1;
    const double row = (double)(blocks_most(g) * g->block);
    return rows * (row < (double)(c1 - c0) ? row : (double)(c1 - c0));
}

static int64_t blocks_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    const int64_t size = g->block, n = g->as.blocks.blocks, i = row / size, width = g->as.blocks.width;
    int64_t count = 0;
    if (g->symmetric)
        for (int64_t j = i > width ? i - width : 0; j <= i + width && j < n; j++) col[count++] = j;
    else
        count = tulle__er_row(&g->as.blocks.er, g->pattern_seed, i, 0, n, col);
    for (int64_t k = count; k-- > 0;) { /* from the last on, as they grow where they are */
        const int64_t j = col[k];
        for (int64_t b = 0; b < size; b++) col[k * size + b] = j * size + b;
    }
    return tulle__generator_clip(col, count * size, c0, c1);
}

/* ---- tight binding ---- */

static tulle_status open_tightbinding(tulle__spec_part *part, tulle__generator *g)
{
    static const char *const names[] = {"nx", "ny", "nz"};
    int64_t *sites = g->as.chain.sites, orbitals = 1, all = 1;
    sites[1] = sites[2] = 1;
    TULLE_CALL(tulle__spec_int(part, "n", 1, TULLE__GENERATOR_MAX, &sites[0]));
    for (int a = 0; a < 3; a++) TULLE_CALL(tulle__spec_int(part, names[a], 1, TULLE__GENERATOR_MAX, &sites[a]));
    if (!sites[0]) return tulle__fail(TULLE_ERR_ARG, "'tightbinding' needs n, or nx, ny, nz");
    TULLE_CALL(tulle__spec_int(part, "orbitals", 1, SIZE_MOST, &orbitals));
    for (int a = 0; a < 3; a++)
        if (__builtin_mul_overflow(all, sites[a], &all) || all > TULLE__GENERATOR_MAX / SIZE_MOST)
            return tulle__fail(TULLE_ERR_ARG,
                "a grid of %" PRId64 " x %" PRId64 " x %" PRId64 " sites is over the limit", sites[0], sites[1],
                sites[2]);
    g->as.chain.hop = -1;
    g->as.chain.split = 1;
    g->as.chain.periodic = 1;
    TULLE_CALL(tulle__spec_real(part, "hop", -1e30, 1e30, &g->as.chain.hop));
    TULLE_CALL(tulle__spec_real(part, "level", -1e30, 1e30, &g->as.chain.level));
    TULLE_CALL(tulle__spec_real(part, "split", -1e30, 1e30, &g->as.chain.split));
    TULLE_CALL(tulle__spec_flag(part, "periodic", &g->as.chain.periodic));
    g->m = g->n = all * orbitals;
    g->block = (int)orbitals;
    g->symmetric = 1;
    return TULLE_OK;
}

enum { BONDS = 6 };

/* The sites that a site is bound to: one may be there twice, in a ring of two, or be the site itself. */
static int list_bonds(const tulle__generator *g, int64_t site, int64_t bond[BONDS])
{
    const int64_t *n = g->as.chain.sites;
    int count = 0;
    for (int64_t a = 0, step = 1; a < 3; step *= n[a++]) {
        const int64_t x = site / step % n[a];
        for (int64_t d = -1; d <= 1; d += 2) {
            const int64_t to = x + d, inside = (to + n[a]) % n[a];
            /* a direction of one site has no bonds */
            if (n[a] > 1 && (g->as.chain.periodic || to == inside)) bond[count++] = site + (inside - x) * step;
        }
    }
    return count;
}

static int64_t tightbinding_bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)g, (void)row;
    return BONDS + 1 < c1 - c0 ? BONDS + 1 : c1 - c0;
}

static double tightbinding_estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    (void)g;
    return (double)(r1 - r0) * (BONDS + 1 < c1 - c0 ? BONDS + 1 : (double)(c1 - c0));
}

static int64_t tightbinding_row(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t site[BONDS + 1], found = 0;
    const int64_t orbitals = g->block, orbital = row % orbitals;
    int count = list_bonds(g, row / orbitals, site);
    site[count++] = row / orbitals;
    for (int k = 1; k < count; k++) {
        const int64_t moved = site[k];
        int to = k;
        for (; to > 0 && site[to - 1] > moved; to--) site[to] = site[to - 1];
        site[to] = moved;
    }
    for (int k = 0; k < count; k++) {
        const int64_t c = site[k] * orbitals + orbital;
        if ((k && site[k] == site[k - 1]) || c < c0 || c >= c1) continue;
        col[found++] = c;
    }
    return found;
}

static double tightbinding_element(const tulle__generator *g, int64_t row, int64_t col)
{
    int64_t bond[BONDS];
    const int64_t orbitals = g->block;
    double sum = row == col ? g->as.chain.level + g->as.chain.split * (double)(row % orbitals) : 0;
    const int count = list_bonds(g, row / orbitals, bond);
    for (int k = 0; k < count; k++)
        if (bond[k] == col / orbitals) sum += g->as.chain.hop;
    return sum;
}

static const char *const blocks_keys[] = {"n", "size", "pattern", "degree", "width", NULL};
static const char *const tightbinding_keys[] = {
    "n", "nx", "ny", "nz", "orbitals", "hop", "level", "split", "periodic", NULL};

const tulle__generator_kind tulle__generator_blocks = {
    .name = "blocks",
    .sentence = "n x n dense blocks of size=6: each there with chance degree / n, degree=8, or pattern=band, within "
                "width=4 of the diagonal, or pattern=diagonal",
    .keys = blocks_keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_blocks,
    .bound = blocks_bound,
    .estimate = blocks_estimate,
    .row = blocks_row,
};

const tulle__generator_kind tulle__generator_tightbinding = {
    .name = "tightbinding",
    .sentence = "chain of n sites (nx, ny, nz: a grid) of orbitals=1 each, orbital k at level=0 + k split=1, hop=-1 to "
                "neighbours, periodic=on",
    .keys = tightbinding_keys,
    .mode = TULLE__VALUES_ELEMENTS,
    .open = open_tightbinding,
    .bound = tightbinding_bound,
    .estimate = tightbinding_estimate,
    .row = tightbinding_row,
    .element = tightbinding_element,
};
