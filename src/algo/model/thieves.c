/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stealing, played through: each PE takes its own units from the front; one that has none left takes the last unit
 * within reach of the victim with the most work left (steal.h). Units are the least that can move, so what comes out is
 * a bound on what stealing can balance, not the order of a real run: that follows from its timing.
 */
#include "algo/model/cost.h"
#include "algo/product/band.h"
#include "base/error.h"

/* A unit: one of the bands of A[i,k] B[k,j] (band.h). */
struct item {
    int i, k, j, bands;
    double seconds; /* on the PE that has it */
};

struct game {
    const tulle__costs *costs;
    const tulle__policy *policy;
    tulle__operands operands; /* the census's, with bands */
    struct item *item;        /* of all PEs, one behind the other */
    int64_t *last;            /* [pes]: the item taken before; -1: none */
    char *gone;               /* [items] */
    int64_t *first, *next;    /* [pes + 1], [pes]: items of a PE; the first that may be there */
    double *left;             /* [pes] */
    int *heap, heaped;        /* PEs by the time when they want more: the earliest on top */
    tulle__burden *load;
};

/* Bands of one product that a PE takes together share its tiles. */
static int is_next_band(const struct game *g, const struct item *x, int pe)
{
    const struct item *before = g->last[pe] < 0 ? NULL : &g->item[g->last[pe]];
    return before && before->i == x->i && before->k == x->k && before->j == x->j;
}

/* Seconds of a unit on PE `pe`, which it adds to the PE's load if take is set. */
static double unit_seconds(const struct game *g, const struct item *x, int pe, tulle__burden *load)
{
    const tulle__costs *c = g->costs;
    const tulle__operands *o = &c->census->operands;
    double compute = tulle__cost_unit(c, x->i, x->k, x->j) / x->bands, fetch = 0;
    if (!is_next_band(g, x, pe))
        fetch = tulle__cost_fetch(c, o->A, x->i, x->k, pe, load) + tulle__cost_fetch_b(c, x->i, x->k, x->j, pe, load);
    g->last[pe] = x - g->item;
    load[pe].work += c->census->work[tulle__unit_index(c->census, x->i, x->k, x->j)] / x->bands;
    load[pe].compute += compute;
    double seen = c->lookahead == 0 ? fetch : fetch > compute ? fetch - compute : 0, push = load[pe].push;
    double entries = tulle__cost_entries(c, g->policy, x->i, x->j, 1, &x->k) / x->bands;
    if (tulle__layout_owner(o->C->layout, x->i, x->j) != pe) tulle__cost_partial(c, pe, x->i, x->j, entries, load);
    if (c->census->sparse)
        load[tulle__layout_owner(o->C->layout, x->i, x->j)].accumulate += tulle__cost_merge(c, entries);
    load[pe].communicate += seen + load[pe].push - push;
    return compute + seen + load[pe].push - push;
}

static int before(const struct game *g, int a, int b)
{
    return g->load[a].total < g->load[b].total || (g->load[a].total == g->load[b].total && a < b);
}

/* Puts the PE on top where it belongs now. */
static void sink(struct game *g)
{
    for (int at = 0;;) {
        int child = 2 * at + 1, pe = g->heap[at];
        if (child + 1 < g->heaped && before(g, g->heap[child + 1], g->heap[child])) child++;
        if (child >= g->heaped || !before(g, g->heap[child], pe)) return;
        g->heap[at] = g->heap[child];
        g->heap[child] = pe;
        at = child;
    }
}

static int at_hand(const struct game *g, const struct item *x, int pe)
{
    const tulle__operands *o = &g->costs->census->operands;
    return g->policy->reach == TULLE__REACH_ALL || tulle__layout_owner(o->C->layout, x->i, x->j) == pe ||
           tulle__cost_in_place(g->costs, tulle__layout_owner(o->A->layout, x->i, x->k), pe) ||
           tulle__cost_in_place(g->costs, tulle__layout_owner(o->B->layout, x->k, x->j), pe);
}

static int64_t own_item(struct game *g, int pe)
{
    while (g->next[pe] < g->first[pe + 1] && g->gone[g->next[pe]]) g->next[pe]++;
    return g->next[pe] < g->first[pe + 1] ? g->next[pe] : -1;
}

/* The last item of the victim within reach of the PE; -1: none. */
static int64_t reachable(const struct game *g, int victim, int pe)
{
    for (int64_t x = g->first[victim + 1] - 1; x >= g->next[victim]; x--)
        if (!g->gone[x] && at_hand(g, &g->item[x], pe)) return x;
    return -1;
}

static int64_t others_item(const struct game *g, int pe, int *victim)
{
    int pes = g->costs->census->pes;
    double most = 0;
    int64_t found = -1;
    for (int v = 0; v < pes; v++) {
        if (v == pe || g->left[v] <= most) continue;
        int64_t x = reachable(g, v, pe);
        if (x < 0) continue;
        most = g->left[v];
        *victim = v;
        found = x;
    }
    return found;
}

static void play(struct game *g)
{
    while (g->heaped) {
        int pe = g->heap[0], victim = pe;
        int64_t x = own_item(g, pe);
        if (x < 0) x = others_item(g, pe, &victim);
        if (x < 0) { /* done: never anything more for it */
            g->heap[0] = g->heap[--g->heaped];
        } else {
            g->gone[x] = 1;
            g->left[victim] -= g->item[x].seconds;
            g->load[pe].total += unit_seconds(g, &g->item[x], pe, g->load);
        }
        sink(g);
    }
}

/* Items by PE, in the order of the chains. */
static tulle_status deal(struct game *g)
{
    tulle_status status;
    const tulle__operands *o = &g->operands;
    int pes = g->costs->census->pes;
    int64_t items = 0;
    int *k = NULL;
    TULLE_TRY(tulle__alloc((size_t)o->K, sizeof *k, "model", &k));
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++)
            for (int t = 0; t < o->K; t++)
                if (tulle__operands_meet(o, i, t, j)) items += tulle__operands_bands(o, i, t, j);
    TULLE_TRY(tulle__alloc((size_t)items, sizeof *g->item, "model", &g->item));
    TULLE_TRY(tulle__alloc_zero((size_t)items, 1, "model", &g->gone));
    items = 0;
    for (int pe = 0; pe < pes; pe++) {
        tulle__chain chain;
        tulle__cursor cursor = {.policy = g->policy, .operands = o, .rank = pe, .k = k};
        g->first[pe] = g->next[pe] = items;
        while (g->policy->next(&cursor, &chain))
            for (int t = 0; t < chain.nk; t++) {
                double seconds = tulle__cost_unit(g->costs, chain.i, chain.k[t], chain.j);
                int bands = tulle__operands_bands(o, chain.i, chain.k[t], chain.j);
                for (int b = 0; b < bands; b++)
                    g->item[items++] = (struct item){chain.i, chain.k[t], chain.j, bands, seconds / bands};
                g->left[pe] += seconds;
            }
    }
    g->first[pes] = items;
out:
    tulle__free(k);
    return status;
}

tulle_status tulle__walk_stealing(const tulle__costs *costs, const tulle__policy *policy, tulle__burden *load)
{
    tulle_status status;
    int pes = costs->census->pes;
    struct game g = {.costs = costs, .policy = policy, .operands = costs->census->operands, .load = load};
    tulle__operands_set_grain(&g.operands, pes);
    TULLE_TRY(tulle__alloc((size_t)pes + 1, sizeof *g.first, "model", &g.first));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.next, "model", &g.next));
    TULLE_TRY(tulle__alloc_zero((size_t)pes, sizeof *g.left, "model", &g.left));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.heap, "model", &g.heap));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.last, "model", &g.last));
    TULLE_TRY(deal(&g));
    for (int pe = 0; pe < pes; pe++) {
        g.heap[g.heaped++] = pe; /* all at 0: by rank */
        g.last[pe] = -1;
    }
    play(&g);
    for (int pe = 0; pe < pes; pe++) load[pe].total += load[pe].accumulate;
out:
    tulle__free(g.item);
    tulle__free(g.gone);
    tulle__free(g.first);
    tulle__free(g.next);
    tulle__free(g.left);
    tulle__free(g.last);
    tulle__free(g.heap);
    return status;
}
