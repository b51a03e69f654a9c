/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chains of each algorithm are those of its definition, in the same order, for owners at random, in blocks or in
 * turn, and empty tiles: all PEs together have each tile product that is one exactly once. The definitions are written
 * out here, in loops over all tiles.
 */
#include <string.h>

#include "algo/chain/policy.h"
#include "base/random.h"
#include "tap.h"

enum { MOST = 9, WORKSPACE = MOST * MOST * MOST * (MOST + 3) };

/* Draws from [0, below). */
static int next_random(uint64_t *seed, int below)
{
    return (int)tulle__random_below(tulle__random_at(1, 2, (*seed)++), (uint64_t)below);
}

struct list {
    int n, entry[WORKSPACE]; /* i, j, nk and the k of each chain */
};

static void add(struct list *list, int i, int j, int nk, const int *k)
{
    int *to = list->entry + list->n;
    to[0] = i;
    to[1] = j;
    to[2] = nk;
    memcpy(to + 3, k, (size_t)nk * sizeof *k);
    list->n += 3 + nk;
}

/* The chain of (i, j) by definition: all k that PE `rank` multiplies, from `first` on. */
static int chain_of(const tulle__policy *p, const tulle__operands *o, int rank, int i, int j, int first, int *k)
{
    int nk = 0;
    for (int t = 0; t < o->K; t++) {
        int at = (first + t) % o->K;
        if (p->worker(o, i, at, j) == rank && tulle__operands_meet(o, i, at, j)) k[nk++] = at;
    }
    return nk;
}

static void by_definition(const tulle__policy *p, const tulle__operands *o, int rank, struct list *list)
{
    int k[MOST], of_c = p->fallback != TULLE_PRODUCT_STATIONARY_A && p->fallback != TULLE_PRODUCT_STATIONARY_B;
    list->n = 0;
    for (int i = 0; of_c && i < o->M; i++)
        for (int j = 0; j < o->N; j++)
            if (tulle__layout_owner(o->C->layout, i, j) == rank)
                add(list, i, j, chain_of(p, o, rank, i, j, o->offset ? (i + j) % o->K : 0, k), k);
    for (int i = 0; p->fallback == TULLE_PRODUCT_STATIONARY_A && i < o->M; i++) {
        int first = 0;
        while (first < o->K && tulle__layout_owner(o->A->layout, i, first) != rank) first++;
        for (int t = 0; first < o->K && t < o->N; t++) {
            int j = o->offset ? (i + first + t) % o->N : t, nk = chain_of(p, o, rank, i, j, 0, k);
            if (nk) add(list, i, j, nk, k);
        }
    }
    for (int j = 0; p->fallback == TULLE_PRODUCT_STATIONARY_B && j < o->N; j++) {
        int first = 0;
        while (first < o->K && tulle__layout_owner(o->B->layout, first, j) != rank) first++;
        for (int t = 0; first < o->K && t < o->M; t++) {
            int i = o->offset ? (first + j + t) % o->M : t, nk = chain_of(p, o, rank, i, j, 0, k);
            if (nk) add(list, i, j, nk, k);
        }
    }
}

static void by_policy(const tulle__policy *p, const tulle__operands *o, int rank, struct list *list)
{
    int k[MOST];
    tulle__chain chain;
    tulle__cursor cursor = {.policy = p, .operands = o, .rank = rank, .k = k};
    list->n = 0;
    while (p->next(&cursor, &chain)) add(list, chain.i, chain.j, chain.nk, chain.k);
}

/* mt x nt tiles with owners at random or of a grid; a few PEs of many have none. */
static tulle_layout *make(int mt, int nt, int pes, uint64_t *seed)
{
    int owner[MOST * MOST], how = next_random(seed, 3), rows = 1 + next_random(seed, pes);
    tulle_layout *layout = NULL;
    for (int t = 0; t < mt * nt; t++) owner[t] = next_random(seed, pes);
    tulle_layout_spec spec = {.m = 3 * mt, .n = 2 * nt, .tile_rows = mt, .tile_cols = nt};
    if (how == 0)
        spec.owner = owner;
    else {
        spec.map = how == 1 ? TULLE_BLOCK : TULLE_CYCLIC;
        spec.grid_rows = rows;
        spec.grid_cols = pes / rows;
    }
    if (tulle_layout_new(&spec, pes, &layout) != TULLE_OK) printf("# %s\n", tulle_error_message());
    return layout;
}

static void fill(tulle__tile_record *directory, int tiles, uint64_t *seed)
{
    memset(directory, 0, (size_t)tiles * sizeof *directory);
    for (int t = 0; t < tiles; t++) directory[t].nnz = next_random(seed, 4) > 0;
}

static struct list expected, found;

int main(void)
{
    static tulle__tile_record of_a[MOST * MOST], of_b[MOST * MOST], of_c[MOST * MOST];
    uint64_t seed = 5;
    for (int run = 0; run < 60; run++) {
        int pes = 1 + next_random(&seed, 12), size[3];
        for (int x = 0; x < 3; x++) size[x] = 1 + next_random(&seed, MOST);
        tulle_layout *layout[3] = {
            make(size[0], size[1], pes, &seed), make(size[1], size[2], pes, &seed), make(size[0], size[2], pes, &seed)};
        tulle_mat A = {.layout = layout[0], .directory = of_a}, B = {.layout = layout[1], .directory = of_b},
                  C = {.layout = layout[2], .directory = of_c};
        fill(of_a, size[0] * size[1], &seed);
        fill(of_b, size[1] * size[2], &seed);
        tulle__operands o = {.A = &A, .B = &B, .C = &C, .M = size[0], .K = size[1], .N = size[2], .offset = run % 2};
        int meet = 0, wrong = 0;
        for (int i = 0; i < o.M; i++)
            for (int k = 0; k < o.K; k++)
                for (int j = 0; j < o.N; j++) meet += tulle__operands_meet(&o, i, k, j);
        for (int alg = TULLE_PRODUCT_AUTO + 1; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
            const tulle__policy *p = tulle__policy_of((tulle_product_alg)alg);
            int units = 0;
            for (int pe = 0; pe < pes + 2; pe++) { /* two are not in the layouts */
                by_definition(p, &o, pe, &expected);
                by_policy(p, &o, pe, &found);
                wrong += found.n != expected.n ||
                         memcmp(found.entry, expected.entry, (size_t)found.n * sizeof *found.entry) != 0;
                for (int at = 0; at < found.n; at += 3 + found.entry[at + 2]) units += found.entry[at + 2];
            }
            wrong += units != meet;
        }
        ok(!wrong, "%d x %d x %d tiles, %d PEs: chains as defined, %d tile products in all", o.M, o.K, o.N, pes, meet);
        for (int x = 0; x < 3; x++) tulle_layout_free(layout[x]);
    }
    return tap_done();
}
