/* SPDX-License-Identifier: Apache-2.0 */
/*
 * R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004): an edge descends `scale` levels, at each into one
 * of four quadrants. noise: the four chances differ from level to level (Seshadhri, Pinar, Kolda,
 * J. ACM 2013).
 */
#include "base/error.h"
#include "io/generate/generator.h"

/* The chances of a level, cumulated in units of 2^-32. */
static void set_limits(uint64_t limit[3], const double chance[4])
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        sum += chance[i];
        limit[i] = sum >= 1 ? (uint64_t)1 << 32 : (uint64_t)(sum * 0x1p32 + 0.5);
    }
}

static tulle_status open_rmat(tulle__spec_part *part, tulle__generator *g)
{
    int64_t scale = -1;
    double factor = 8, noise = 0, p[4] = {.57, .19, .19, .05};
    static const char *const names[] = {"a", "b", "c", "d"};
    TULLE_CALL(tulle__spec_int(part, "scale", 0, TULLE__RMAT_SCALE_MAX, &scale));
    if (scale < 0) return tulle__fail(TULLE_ERR_ARG, "'rmat' needs scale");
    TULLE_CALL(tulle__spec_real(part, "edgefactor", 0, 1 << 12, &factor));
    for (int i = 0; i < 4; i++) TULLE_CALL(tulle__spec_real(part, names[i], 0, 1, &p[i]));
    double sum = p[0] + p[1] + p[2] + p[3];
    if (sum < 1 - 1e-9 || sum > 1 + 1e-9)
        return tulle__fail(TULLE_ERR_ARG, "'rmat': a + b + c + d is %.9g, not 1", sum);
    TULLE_CALL(tulle__spec_real(part, "noise", 0, 1, &noise));
    if (noise > (p[0] + p[3]) / 2 || noise > p[1] || noise > p[2])
        return tulle__fail(
            TULLE_ERR_ARG, "'rmat': noise=%g is over b, c or (a + d) / 2, so a chance could be negative", noise);
    TULLE_CALL(tulle__spec_flag(part, "relabel", &g->as.rmat.relabel));
    g->as.rmat.scale = (int)scale;
    for (int level = 0; level < (int)scale; level++) {
        uint64_t draw = tulle__random_at(g->pattern_seed, (uint64_t)1 << 63, (uint64_t)level);
        double mu = noise * (2 * tulle__random_unit(draw) - 1), share = noise > 0 ? 2 * mu / (p[0] + p[3]) : 0;
        const double chance[4] = {p[0] - share * p[0], p[1] + mu, p[2] + mu, p[3] - share * p[3]};
        set_limits(g->as.rmat.limit[level], chance);
    }
    for (uint64_t i = 0; i < 4; i++) {
        g->as.rmat.odd[i] = tulle__random_at(g->pattern_seed, UINT64_MAX, 2 * i) | 1;
        g->as.rmat.add[i] = tulle__random_at(g->pattern_seed, UINT64_MAX, 2 * i + 1);
    }
    g->m = g->n = (int64_t)1 << scale;
    g->edges = (int64_t)(factor * (double)g->m);
    return TULLE_OK;
}

/*
 * A bijection of [0, 2^scale): each step (odd factor, addition, folding high bits into low ones) is
 * one.
 */
static uint64_t relabel(const tulle__generator *g, uint64_t x)
{
    int scale = g->as.rmat.scale, shift = scale / 2 + 1;
    uint64_t mask = ((uint64_t)1 << scale) - 1;
    for (int i = 0; i < 4; i++) {
        x = (x * g->as.rmat.odd[i] + g->as.rmat.add[i]) & mask;
        x ^= x >> shift;
    }
    return x;
}

static void edges(const tulle__generator *g, int64_t e0, int64_t e1, int64_t *row, int64_t *col)
{
    int scale = g->as.rmat.scale;
    for (int64_t e = e0; e < e1; e++) {
        uint64_t r = 0, c = 0, bits = 0;
        for (int level = 0; level < scale; level++) {
            const uint64_t *limit = g->as.rmat.limit[level];
            bits = level % 2 ? bits >> 32 : tulle__random_at(g->pattern_seed, (uint64_t)e, (uint64_t)level);
            uint64_t x = bits & UINT32_MAX;
            uint64_t lower = x >= limit[1]; /* the quadrants a b / c d follow each other in [0, 2^32) */
            uint64_t right = (x >= limit[0]) - lower + (x >= limit[2]);
            r = 2 * r + lower;
            c = 2 * c + right;
        }
        row[e - e0] = (int64_t)(g->as.rmat.relabel ? relabel(g, r) : r);
        col[e - e0] = (int64_t)(g->as.rmat.relabel ? relabel(g, c) : c);
    }
}

static const char *const keys[] = {"scale", "edgefactor", "a", "b", "c", "d", "noise", "relabel", NULL};

const tulle__generator_kind tulle__generator_rmat = {
    .name = "rmat",
    .sentence = "R-MAT graph of 2^scale vertices; edgefactor=8, a=.57 b=.19 c=.19 d=.05, noise=0, relabel=off",
    .keys = keys,
    .mode = TULLE__VALUES_RANDOM,
    .open = open_rmat,
    .edges = edges,
};
