/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steal model: a simulation of stealing. Each PE takes its own items from the front; an idle PE
 * takes the last item within reach of the victim with the most work left (steal.h). Items are the
 * smallest that can move. The result is a bound on what stealing can balance, not the order of a
 * real run, which depends on its timing.
 */
#include <string.h>

#include "algo/chain/band.h"
#include "algo/model/cost.h"
#include "base/error.h"

/* A work item: a band of A[i,k] B[k,j], or of the chain of C tile (i, j) (band.h). */
struct item {
    int i, k, j, bands; /* k = CHAIN: a band of a chain */
    double seconds;     /* on the PE that owns it */
};

enum { CHAIN = -1 };

struct game {
    const tulle__costs *costs;
    const tulle__policy *policy;
    tulle__operands operands; /* those of the counts, with bands */
    struct item *item;        /* of all PEs, consecutively */
    int64_t *last;            /* [pes]: the item taken last; -1: none */
    char *gone;               /* [items] */
    int64_t *first;           /* [pes + 1]: items of a PE */
    int64_t *next, *end;      /* [pes]: the first that may be free, behind the last */
    char *barren;             /* [pes * pes]: PE v has nothing in reach of PE p, and will not have */
    double *left;             /* [pes] */
    int *heap, heaped;        /* PEs by the time of their next claim, the earliest on top */
    int *k;                   /* [K]: of the current item */
    tulle__pe_load *load;
    bool norms; /* come before blocks */
};

/* Consecutive bands of one tile product on a PE share its tiles. */
static int is_next_band(const struct game *g, const struct item *x, int pe)
{
    const struct item *before = g->last[pe] < 0 ? NULL : &g->item[g->last[pe]];
    return before && before->i == x->i && before->k == x->k && before->j == x->j;
}

/* The k of an item, into g->k; returns their number. */
static int products_of(const struct game *g, const struct item *x)
{
    const tulle__operands *o = &g->operands;
    g->k[0] = x->k;
    if (x->k != CHAIN) return 1;
    return tulle__policy_chain(g->policy, o, tulle__layout_owner(o->C->layout, x->i, x->j), x->i, x->j, g->k);
}

/* Seconds to add an item to C: a contribution to merge or, for a chain, rows to copy. */
static double accumulate_seconds(const struct game *g, const struct item *x, double entries)
{
    const tulle__costs *c = g->costs;
    if (!c->counts->sparse) return 0;
    if (x->k != CHAIN) return tulle__cost_merge(c, entries);
    double entry = (double)(tulle_type_size(c->counts->type) + sizeof(tulle_lidx));
    return 2 * entries * entry / (c->share * c->machine->stream);
}

/*
 * The owner's sweeps over a stolen result: contributions are added; final rows stay where they
 * arrive, or are copied.
 */
static int passes(const struct game *g, const struct item *x, int pe)
{
    int owner = tulle__layout_owner(g->operands.C->layout, x->i, x->j);
    if (!g->costs->counts->sparse && x->k != CHAIN) return 3;
    return tulle__cost_in_place(g->costs, pe, owner) ? 2 : 0;
}

/* Seconds of an item on PE `pe`, which are added to the PE's load. */
static double unit_seconds(const struct game *g, const struct item *x, int pe, tulle__pe_load *load)
{
    const tulle__costs *c = g->costs;
    const tulle__operands *o = &c->counts->operands;
    double compute = 0, work = 0, fetch = 0, idle = 0;
    int nk = products_of(g, x), fetched = is_next_band(g, x, pe);
    for (int n = 0; n < nk; n++) {
        int k = g->k[n];
        compute += tulle__cost_unit(c, x->i, k, x->j) / x->bands;
        idle += c->idle[tulle__unit_index(c->counts, x->i, k, x->j)] / x->bands;
        work += c->counts->work[tulle__unit_index(c->counts, x->i, k, x->j)] / x->bands;
        if (fetched) continue;
        if (g->norms && g->policy->worker(o, x->i, k, x->j) != pe)
            fetch += tulle__cost_fetch_stolen_norms(c, x->i, k, x->j, pe, load);
        fetch += g->norms
                     ? tulle__cost_fetch_needed(c, x->i, k, x->j, pe, load)
                     : tulle__cost_fetch(c, o->A, x->i, k, pe, load) + tulle__cost_fetch_b(c, x->i, k, x->j, pe, load);
    }
    tulle__cost_result result = tulle__cost_result_of(c, g->policy, x->i, x->j, nk, g->k);
    result.entries /= x->bands;
    result.blocks /= x->bands;
    const bool own = tulle__layout_owner(o->C->layout, x->i, x->j) == pe;
    compute += tulle__cost_job(c, x->i, result, own && x->k != CHAIN, idle);
    g->last[pe] = x - g->item;
    load[pe].work += work;
    load[pe].compute += compute;
    double seen = c->lookahead == 0 ? fetch : fetch > compute ? fetch - compute : 0, push = load[pe].push;
    if (!own) tulle__cost_partial(c, pe, x->i, x->j, result, passes(g, x, pe), load);
    load[tulle__layout_owner(o->C->layout, x->i, x->j)].accumulate += accumulate_seconds(g, x, result.entries);
    load[pe].communicate += seen + load[pe].push - push;
    return compute + seen + load[pe].push - push;
}

static int before(const struct game *g, int a, int b)
{
    return g->load[a].total < g->load[b].total || (g->load[a].total == g->load[b].total && a < b);
}

/* Restores the heap after its top has changed. */
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
    const tulle__operands *o = &g->costs->counts->operands;
    if (g->policy->reach == TULLE__REACH_ALL || tulle__layout_owner(o->C->layout, x->i, x->j) == pe) return 1;
    int nk = products_of(g, x);
    for (int n = 0; n < nk; n++)
        if (tulle__cost_in_place(g->costs, tulle__layout_owner(o->A->layout, x->i, g->k[n]), pe) ||
            tulle__cost_in_place(g->costs, tulle__layout_owner(o->B->layout, g->k[n], x->j), pe))
            return 1;
    return 0;
}

static int64_t own_item(struct game *g, int pe)
{
    while (g->next[pe] < g->first[pe + 1] && g->gone[g->next[pe]]) g->next[pe]++;
    return g->next[pe] < g->first[pe + 1] ? g->next[pe] : -1;
}

/* The last item of the victim within reach of the PE; -1: none. */
static int64_t reachable(struct game *g, int victim, int pe)
{
    const struct item *item = g->item;
    while (g->end[victim] > g->next[victim] && g->gone[g->end[victim] - 1]) g->end[victim]--;
    for (int64_t x = g->end[victim] - 1; x >= g->next[victim]; x--) {
        if (g->gone[x]) continue;
        if (at_hand(g, &item[x], pe)) return x;
        /* neighbours with the same tiles give the same answer */
        while (x > g->next[victim] && item[x - 1].i == item[x].i && item[x - 1].k == item[x].k &&
               item[x - 1].j == item[x].j)
            x--;
    }
    return -1;
}

static int64_t others_item(struct game *g, int pe, int *victim)
{
    int pes = g->costs->counts->pes;
    double most = 0;
    int64_t found = -1;
    for (int v = 0; v < pes; v++) {
        if (v == pe || g->left[v] <= most || g->barren[(int64_t)pe * pes + v]) continue;
        int64_t x = reachable(g, v, pe);
        g->barren[(int64_t)pe * pes + v] = x < 0;
        if (x < 0) continue;
        most = g->left[v];
        *victim = v;
        found = x;
    }
    return found;
}

/*
 * Round trips without a result: reading progress and claiming; at the end, one to every other PE.
 */
static void probe(struct game *g, int pe, int trips)
{
    double seconds = trips * tulle__cost_latency(g->costs, pe, 1);
    g->load[pe].communicate += seconds;
    g->load[pe].total += seconds;
}

static void play(struct game *g)
{
    while (g->heaped) {
        int pe = g->heap[0], victim = pe;
        int64_t x = own_item(g, pe);
        if (x < 0) x = others_item(g, pe, &victim);
        if (x < 0) { /* done: the PE will never find more */
            g->heap[0] = g->heap[--g->heaped];
            probe(g, pe, g->costs->counts->pes - 1);
        } else {
            if (victim != pe) probe(g, pe, 2);
            g->gone[x] = 1;
            g->left[victim] -= g->item[x].seconds;
            g->load[pe].total += unit_seconds(g, &g->item[x], pe, g->load);
        }
        sink(g);
    }
}

/* The items of one tile product or whole chain. Stores them if there is room already. */
static void add_items(struct game *g, int pe, const struct item *whole, double seconds, int64_t *items)
{
    for (int b = 0; g->item && b < whole->bands; b++) {
        g->item[*items + b] = *whole;
        g->item[*items + b].seconds = seconds / whole->bands;
    }
    *items += whole->bands;
    g->left[pe] += seconds;
}

/* Items by PE, in the order of the chains; returns their number. */
static int64_t list_items(struct game *g, int *k)
{
    const tulle__operands *o = &g->operands;
    int64_t items = 0;
    for (int pe = 0; pe < g->costs->counts->pes; pe++) {
        tulle__chain chain;
        tulle__cursor cursor = {.policy = g->policy, .operands = o, .rank = pe, .k = k};
        g->first[pe] = g->next[pe] = items;
        g->left[pe] = 0;
        while (g->policy->next(&cursor, &chain)) {
            double sum = 0;
            for (int t = 0; t < chain.nk; t++) {
                double seconds = tulle__cost_unit(g->costs, chain.i, chain.k[t], chain.j);
                struct item whole = {.i = chain.i, .k = chain.k[t], .j = chain.j};
                whole.bands = tulle__operands_bands(o, whole.i, whole.k, whole.j);
                if (!g->policy->by_chain) add_items(g, pe, &whole, seconds, &items);
                sum += seconds;
            }
            struct item whole = {.i = chain.i, .k = CHAIN, .j = chain.j};
            if (!g->policy->by_chain || !chain.nk) continue;
            whole.bands = tulle__chain_bands(o, chain.i, chain.j, chain.nk, chain.k);
            add_items(g, pe, &whole, sum, &items);
        }
    }
    return g->first[g->costs->counts->pes] = items;
}

tulle_status tulle__walk_stealing(const tulle__costs *costs, const tulle__policy *policy, tulle__pe_load *load)
{
    tulle_status status;
    int pes = costs->counts->pes, *k = NULL;
    struct game g = {.costs = costs, .policy = policy, .operands = costs->counts->operands, .load = load};
    const size_t tiles = (size_t)g.operands.M * (size_t)g.operands.K + (size_t)g.operands.K * (size_t)g.operands.N;
    char *seen = NULL;
    g.norms = tulle__cost_norms_first(costs, policy);
    if (g.norms) TULLE_TRY(tulle__alloc(tiles, 1, "model", &seen));
    for (int pe = 0; pe < pes && g.norms; pe++) {
        memset(seen, 0, tiles);
        tulle__cost_fetch_norms(costs, policy, pe, seen, load);
        load[pe].total = load[pe].fetch + load[pe].latency;
    }
    for (int pe = 0; pe < pes; pe++) load[pe].total += tulle__cost_scaling(costs, policy, pe);
    tulle__operands_set_grain(&g.operands, pes);
    TULLE_TRY(tulle__alloc((size_t)pes + 1, sizeof *g.first, "model", &g.first));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.next, "model", &g.next));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.end, "model", &g.end));
    TULLE_TRY(tulle__alloc_zero((size_t)pes, (size_t)pes, "model", &g.barren));
    TULLE_TRY(tulle__alloc_zero((size_t)pes, sizeof *g.left, "model", &g.left));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.heap, "model", &g.heap));
    TULLE_TRY(tulle__alloc((size_t)pes, sizeof *g.last, "model", &g.last));
    TULLE_TRY(tulle__alloc((size_t)g.operands.K, sizeof *g.k, "model", &g.k));
    TULLE_TRY(tulle__alloc((size_t)g.operands.K, sizeof *k, "model", &k));
    size_t items = (size_t)list_items(&g, k);
    TULLE_TRY(tulle__alloc(items, sizeof *g.item, "model", &g.item));
    TULLE_TRY(tulle__alloc_zero(items, 1, "model", &g.gone));
    (void)list_items(&g, k);
    for (int pe = 0; pe < pes; pe++) {
        g.end[pe] = g.first[pe + 1];
        g.heap[g.heaped++] = pe; /* all at time 0: by rank */
        g.last[pe] = -1;
    }
    play(&g);
    for (int pe = 0; pe < pes; pe++) load[pe].total += load[pe].accumulate;
out:
    tulle__free(g.item);
    tulle__free(g.gone);
    tulle__free(g.first);
    tulle__free(g.next);
    tulle__free(g.barren);
    tulle__free(g.end);
    tulle__free(g.left);
    tulle__free(g.last);
    tulle__free(g.heap);
    tulle__free(g.k);
    tulle__free(seen);
    tulle__free(k);
    return status;
}
