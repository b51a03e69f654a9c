/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vertex covers of small random graphs against all subsets of their vertices; of larger ones against each other and the
 * bound; of shapes whose answer is known.
 */
#include <string.h>

#include "algo/product/source/vertex_cover.h"
#include "base/random.h"
#include "tap.h"

enum { SMALL = 6, LARGE = 300, EDGES = LARGE * LARGE };

struct graph {
    tulle__bipartite b;
    int64_t first[LARGE + 1], left_weight[LARGE], right_weight[LARGE];
    int32_t to[EDGES];
};

/* An edge with one chance in `rare`; weights up to `heavy`, also 0. */
static void make(struct graph *g, int64_t left, int64_t right, uint64_t rare, uint64_t heavy, uint64_t seed)
{
    int64_t edges = 0;
    for (int64_t u = 0; u < left; u++) {
        g->first[u] = edges;
        g->left_weight[u] = (int64_t)(tulle__random_at(seed, 1000, (uint64_t)u) % (heavy + 1));
        for (int64_t v = 0; v < right; v++)
            if (tulle__random_at(seed, (uint64_t)u, (uint64_t)v) % rare == 0) g->to[edges++] = (int32_t)v;
    }
    g->first[left] = edges;
    for (int64_t v = 0; v < right; v++)
        g->right_weight[v] = (int64_t)(tulle__random_at(seed, 1001, (uint64_t)v) % (heavy + 1));
    g->b = (tulle__bipartite){left, right, g->first, g->to, g->left_weight, g->right_weight};
}

static int covers(const tulle__bipartite *b, const tulle__vertex_cover *c)
{
    int64_t weight = 0;
    for (int64_t u = 0; u < b->left; u++) {
        weight += c->left[u] ? b->left_weight[u] : 0;
        if (c->left[u] && b->first[u] == b->first[u + 1]) return 0;
        for (int64_t e = b->first[u]; e < b->first[u + 1]; e++)
            if (!c->left[u] && !c->right[b->to[e]]) return 0;
    }
    for (int64_t v = 0; v < b->right; v++) weight += c->right[v] ? b->right_weight[v] : 0;
    return weight == c->weight;
}

/* Least of all subsets of the left side, with the right ends of the edges that they leave. */
static int64_t least(const tulle__bipartite *b)
{
    int64_t best = INT64_MAX;
    for (int set = 0; set < 1 << b->left; set++) {
        int64_t weight = 0;
        int right = 0;
        for (int64_t u = 0; u < b->left; u++) {
            weight += set >> u & 1 ? b->left_weight[u] : 0;
            for (int64_t e = b->first[u]; e < b->first[u + 1] && !(set >> u & 1); e++) right |= 1 << b->to[e];
        }
        for (int64_t v = 0; v < b->right; v++) weight += right >> v & 1 ? b->right_weight[v] : 0;
        if (weight < best) best = weight;
    }
    return best;
}

static int try_small(struct graph *g, int *optimal)
{
    tulle__vertex_cover exact, greedy;
    int64_t best = least(&g->b);
    if (tulle__vertex_cover_exact(&g->b, &exact) != TULLE_OK || tulle__vertex_cover_greedy(&g->b, &greedy) != TULLE_OK)
        return 0;
    int good = covers(&g->b, &exact) && exact.exact && exact.weight == best && exact.bound == best &&
               covers(&g->b, &greedy) && greedy.weight >= best && greedy.bound <= best;
    *optimal += greedy.weight == best;
    tulle__vertex_cover_fini(&exact);
    tulle__vertex_cover_fini(&greedy);
    return good;
}

static void try_all_small(struct graph *g)
{
    int good = 1, optimal = 0, graphs = 0;
    for (uint64_t seed = 0; seed < 3000 && good; seed++, graphs++) {
        make(g, (int64_t)(seed % (SMALL + 1)), (int64_t)(seed / 7 % (SMALL + 1)), 1 + seed % 4, 1 + seed % 9, seed);
        good = try_small(g, &optimal);
    }
    ok(good, "%d small graphs: by flow the least of all subsets, greedy no less, its bound no more", graphs);
    ok(optimal > graphs / 2, "greedy found the least in %d", optimal);
}

/* Larger ones: that no cover is lighter follows from the two bounds, which are made in different ways. */
static void try_large(struct graph *g, int64_t left, int64_t right, uint64_t rare, uint64_t heavy)
{
    tulle__vertex_cover exact, greedy;
    make(g, left, right, rare, heavy, 5);
    if (!ok(tulle__vertex_cover_exact(&g->b, &exact) == TULLE_OK &&
                tulle__vertex_cover_greedy(&g->b, &greedy) == TULLE_OK,
            "covers of %d x %d", (int)left, (int)right))
        return;
    ok(covers(&g->b, &exact) && covers(&g->b, &greedy), "both are covers");
    ok(exact.weight == exact.bound && greedy.bound <= exact.weight && exact.weight <= greedy.weight &&
            exact.weight <= 2 * greedy.bound,
        "weight %d by flow, %d greedy, at least %d", (int)exact.weight, (int)greedy.weight, (int)greedy.bound);
    tulle__vertex_cover_fini(&exact);
    tulle__vertex_cover_fini(&greedy);
}

/* A star on each side, joined: both centres. */
static void try_stars(struct graph *g)
{
    tulle__vertex_cover exact, greedy;
    int64_t edges = 0, n = 50;
    for (int64_t u = 0; u < n; u++) {
        g->first[u] = edges;
        g->left_weight[u] = g->right_weight[u] = 3;
        for (int32_t v = 0; v < n; v++)
            if (u == 7 || v == 9) g->to[edges++] = v;
    }
    g->first[n] = edges;
    g->b = (tulle__bipartite){n, n, g->first, g->to, g->left_weight, g->right_weight};
    (void)tulle__vertex_cover_exact(&g->b, &exact);
    (void)tulle__vertex_cover_greedy(&g->b, &greedy);
    ok(exact.weight == 6 && exact.left[7] && exact.right[9], "a star: its two centres");
    ok(greedy.weight == 6 && greedy.left[7] && greedy.right[9] && greedy.bound == 6, "greedy too, with a sharp bound");
    tulle__vertex_cover_fini(&exact);
    tulle__vertex_cover_fini(&greedy);
}

int main(void)
{
    static struct graph graph;
    try_all_small(&graph);
    try_large(&graph, LARGE, LARGE, 2, 1);
    try_large(&graph, LARGE, LARGE, 100, 1000);
    try_large(&graph, LARGE, 40, 3, 100000);
    try_large(&graph, 40, LARGE, 10, 7);
    try_large(&graph, LARGE, LARGE, 300, 1);
    try_stars(&graph);
    return tap_done();
}
