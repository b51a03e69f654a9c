/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cliques: a co-authorship network. Every author is on two papers, and the authors of a paper form
 * a clique. The first set of papers consists of consecutive authors, the second of authors that are
 * consecutive in an order shuffled within blocks. Papers have 1 to `size` authors, by random
 * repeated halving. In a fraction `chain` of the blocks each author also knows the next: such a
 * block has as many levels as authors.
 */
#include <inttypes.h>

#include "base/error.h"
#include "io/generate/generator.h"
#include "io/generate/shuffle.h"

enum { SETS = 2, SIZE_MOST = 1 << 10, HALVINGS = 60 };

/*
 * The mean number of co-authors on a paper of one set, if each range is halved with probability
 * `split`.
 */
static double coauthors(int64_t size, double split)
{
    double mean = 0, chance = 1;
    for (; size > 1; size /= 2) {
        mean += chance * (1 - split) * (double)(size - 1);
        chance *= split;
    }
    return mean;
}

static tulle_status open_cliques(tulle__spec_part *part, tulle__generator *g)
{
    int64_t n = -1, size = 64, block = 1536;
    double degree = 4.7, chain = .05;
    TULLE_CALL(tulle__spec_int(part, "n", 1, TULLE__GENERATOR_MAX, &n));
    if (n < 0) return tulle__fail(TULLE_ERR_ARG, "'cliques' needs n");
    TULLE_CALL(tulle__spec_int(part, "size", 2, SIZE_MOST, &size));
    if (size & (size - 1)) return tulle__fail(TULLE_ERR_ARG, "'cliques': size=%" PRId64 " is no power of two", size);
    TULLE_CALL(tulle__spec_int(part, "block", 1, TULLE__GENERATOR_MAX, &block));
    if (degree > (double)(SETS * (size - 1))) degree = (double)(SETS * (size - 1));
    TULLE_CALL(tulle__spec_real(part, "degree", 0, (double)(SETS * (size - 1)), &degree));
    TULLE_CALL(tulle__spec_real(part, "chain", 0, 1, &chain));
    double low = 0, high = 1; /* more halving means fewer acquaintances */
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        if (SETS * coauthors(size, middle) > degree)
            low = middle;
        else
            high = middle;
    }
    g->m = g->n = n;
    g->symmetric = 1;
    g->as.cliques.size = size;
    g->as.cliques.block = block;
    g->as.cliques.degree = degree;
    g->as.cliques.chain = (uint64_t)(chain * 0x1p32);
    g->as.cliques.split = (uint64_t)(high * 0x1p32);
    return TULLE_OK;
}

/* The author's position in the order of a set, and the inverse. */
static int64_t place_of(const tulle__generator *g, int set, int64_t author, int back)
{
    int64_t block = g->as.cliques.block, first = author / block * block;
    int64_t size = first + block < g->n ? block : g->n - first;
    uint64_t key = tulle__random_at(g->pattern_seed, UINT64_MAX, (uint64_t)first);
    if (set == 0) return author;
    return first + (back ? tulle__unshuffle(key, size, author - first) : tulle__shuffle(key, size, author - first));
}

static int64_t add_paper(const tulle__generator *g, int set, int64_t author, int64_t *col)
{
    int64_t place = place_of(g, set, author, 0), size = g->as.cliques.size, first = place / size * size, count = 0;
    while (size > 1 && tulle__random_at(g->pattern_seed + (uint64_t)set, (uint64_t)first, (uint64_t)size) >> 32 <
                           g->as.cliques.split) {
        size /= 2;
        if (place - first >= size) first += size;
    }
    for (int64_t p = first; p < first + size && p < g->n; p++) col[count++] = place_of(g, set, p, 1);
    return count;
}

/* In some blocks each author knows the next one. */
static int knows_next(const tulle__generator *g, int64_t author)
{
    int64_t block = author / g->as.cliques.block;
    return author + 1 < g->n && (author + 1) / g->as.cliques.block == block &&
           tulle__random_at(g->pattern_seed, UINT64_MAX - 1, (uint64_t)block) >> 32 < g->as.cliques.chain;
}

static int64_t bound(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1)
{
    (void)row, (void)c0, (void)c1; /* a row is generated whole and then cut */
    return SETS * g->as.cliques.size + 2;
}

static double estimate(const tulle__generator *g, int64_t r0, int64_t r1, int64_t c0, int64_t c1)
{
    int64_t span = g->as.cliques.block < g->n ? g->as.cliques.block + g->as.cliques.size : g->n;
    int64_t low = c0 - span > r0 ? c0 - span : r0, high = c1 + span < r1 ? c1 + span : r1;
    return high > low ? (double)(high - low) * (1 + g->as.cliques.degree) : 0;
}

static int64_t row_columns(const tulle__generator *g, int64_t row, int64_t c0, int64_t c1, int64_t *col)
{
    int64_t count = 0;
    for (int set = 0; set < SETS; set++) count += add_paper(g, set, row, col + count);
    if (row > 0 && knows_next(g, row - 1)) col[count++] = row - 1;
    if (knows_next(g, row)) col[count++] = row + 1;
    return tulle__generator_clip(col, tulle__sort_columns(col, count), c0, c1);
}

static const char *const keys[] = {"n", "size", "degree", "block", "chain", NULL};

const tulle__generator_kind tulle__generator_cliques = {
    .name = "cliques",
    .sentence = "cliques of up to size=64, two a row, mean degree=4.7, within block=1536; chains through a share "
                "chain=.05 of blocks",
    .keys = keys,
    .mode = TULLE__VALUES_SPD,
    .open = open_cliques,
    .bound = bound,
    .estimate = estimate,
    .row = row_columns,
};
