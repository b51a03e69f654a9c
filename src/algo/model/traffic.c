/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work and transfers of each PE, by walking through its jobs as the executor would: the chains
 * are the policies' own (jobs.c, multiply.c), the panels those of panel.c. Counted are what a first
 * execution moves; the model's test compares each figure with that of a report.
 */
#include <math.h>
#include <string.h>

#include "algo/chain/segments.h"
#include "algo/model/cost.h"
#include "base/error.h"

/* Summands of a C tile that are merged by its owner, unless one job is all of it. */
static void add_merge(const tulle__costs *c, int i, int j, double entries, tulle__pe_load *load)
{
    if (c->counts->sparse)
        load[tulle__layout_owner(c->counts->operands.C->layout, i, j)].accumulate += tulle__cost_merge(c, entries);
}

/* A dense tile is read again by every job but the first. */
static double reread(const tulle__costs *c, int i, int j)
{
    const tulle_mat *C = c->counts->operands.C;
    double bytes = (double)tulle__tile_rows(C, i) * (double)tulle__tile_cols(C, j);
    if (c->counts->sparse) return 0;
    return bytes * (double)tulle_type_size(c->counts->type) / (c->share * c->machine->stream);
}

static int units_of(const tulle__operands *o, int i, int j)
{
    int units = 0;
    for (int k = 0; k < o->K; k++) units += tulle__operands_meet(o, i, k, j);
    return units;
}

/* nk of the tile products of C tile (i, j), which are `units` in all. */
static void walk_job(const tulle__costs *c, const tulle__policy *policy, int pe, int i, int j, int units, int nk,
    const int *k, tulle__pe_load *load)
{
    const tulle__operands *o = &c->counts->operands;
    double seconds = 0, compute = 0, idle = 0;
    for (int t = 0; t < nk; t++) {
        idle += c->idle[tulle__unit_index(c->counts, i, k[t], j)];
        if (tulle__cost_norms_first(c, policy)) {
            seconds += tulle__cost_fetch_needed(c, i, k[t], j, pe, load);
        } else {
            seconds += tulle__cost_fetch(c, o->A, i, k[t], pe, load);
            seconds += tulle__cost_fetch_b(c, i, k[t], j, pe, load);
        }
        load[pe].work += c->counts->work[tulle__unit_index(c->counts, i, k[t], j)];
        compute += tulle__cost_unit(c, i, k[t], j);
    }
    const tulle__cost_result result = tulle__cost_result_of(c, policy, i, j, nk, k);
    int own = tulle__layout_owner(o->C->layout, i, j) == pe;
    const bool again = c->machine->simulated && tulle__cost_scales_first(c, policy);
    if (nk) compute += tulle__cost_job(c, i, result, own && again, idle);
    load[pe].compute += compute;
    load[pe].latency += tulle__cost_latency(c, pe, seconds);
    if (seconds > 0)
        load[pe].fetches++;
    else
        load[pe].local += compute;
    /* copied, or both read and one written */
    if (!own) tulle__cost_partial(c, pe, i, j, result, c->counts->sparse ? 2 : 3, load);
    if (!own || nk < units) add_merge(c, i, j, result.entries, load);
    /* its part of the rereading, as jobs do not know of each other */
    if (own && nk && nk < units && !again) load[pe].compute += reread(c, i, j) * (1 - (double)nk / units);
}

/*
 * Exposed fetch time: all without lookahead, else the first job's, and the excess that takes
 * longer than kernels. Where transfers share links, the first one comes with all that are fetched ahead.
 */
static double not_hidden(const tulle__costs *c, const tulle__pe_load *l)
{
    if (c->lookahead == 0 || l->fetches == 0) return l->fetch;
    const double together = c->machine->shared ? fmin(1 + c->lookahead, l->fetches) : 1;
    double first = l->fetch * together / l->fetches - l->local, rest = l->fetch - l->compute;
    return first > rest && first > 0 ? first : rest > 0 ? rest : 0;
}

/* An owner takes partial results one by one, but no faster than its node's port brings those of all its PEs. */
static void share_partials(const tulle__costs *c, tulle__pe_load *load)
{
    for (int pe = 0; pe < c->counts->pes; pe++) c->part[pe] = load[pe].far_partial;
    for (int pe = 0; pe < c->counts->pes; pe++)
        load[pe].accumulate = fmax(load[pe].accumulate, tulle__cost_node_mean(c, pe, c->part));
}

tulle_status tulle__walk_static(const tulle__costs *c, const tulle__policy *policy, int *k, tulle__pe_load *load)
{
    TULLE__SCOPED char *seen = NULL;
    const tulle__operands *o = &c->counts->operands;
    int batch = c->batch;
    const size_t tiles = (size_t)o->M * (size_t)o->K + (size_t)o->K * (size_t)o->N;
    const bool norms = tulle__cost_norms_first(c, policy);
    if (norms) TULLE_CALL(tulle__alloc(tiles, 1, "model", &seen));
    for (int pe = 0; pe < c->counts->pes; pe++) {
        load[pe].accumulate += tulle__cost_scaling(c, policy, pe);
        if (norms) {
            memset(seen, 0, tiles);
            tulle__cost_fetch_norms(c, policy, pe, seen, load);
        }
        tulle__chain chain;
        tulle__cursor cursor = {.policy = policy, .operands = o, .rank = pe, .k = k};
        while (policy->next(&cursor, &chain)) {
            int units = units_of(o, chain.i, chain.j);
            for (int at = 0; at < chain.nk; at += batch)
                walk_job(c, policy, pe, chain.i, chain.j, units, chain.nk - at < batch ? chain.nk - at : batch,
                    chain.k + at, load);
        }
    }
    tulle__cost_share_nodes(c, load);
    share_partials(c, load);
    for (int pe = 0; pe < c->counts->pes; pe++) {
        tulle__pe_load *l = &load[pe];
        l->fetch += l->latency / (1 + c->lookahead);
        l->communicate = l->push + not_hidden(c, l);
        l->total = l->compute + l->communicate + l->accumulate;
    }
    return TULLE_OK;
}

/* ---- step by step ---- */

struct bulk {
    const tulle__costs *costs;
    const tulle__policy *policy;
    int q;                          /* the PEs are q x q under Cannon */
    char *need;                     /* [pes * (M + N)]: C tiles in that tile row or column, as in panel.c */
    int *units;                     /* [M * N] */
    double *move, *multiply, *past; /* [pes]: seconds of this step; of kernels, of the step before */
    double *far;                    /* [pes]: of this step, between nodes, as if every PE of the node had as much */
};

static int in_step(const struct bulk *b, int pe, int t, int k)
{
    if (b->policy->arrival == TULLE__ARRIVAL_BROADCAST) return k == t;
    int part = tulle__layout_owner(b->costs->counts->operands.A->layout, 0, k) % b->q;
    return part == (pe / b->q + pe % b->q + t) % b->q;
}

static void find_needs(struct bulk *b)
{
    const tulle__operands *o = &b->costs->counts->operands;
    for (int pe = 0; pe < b->costs->counts->pes; pe++)
        for (int i = 0; i < o->M; i++)
            for (int j = 0; j < o->N; j++) {
                char *need = b->need + (int64_t)pe * (o->M + o->N);
                int owner = tulle__layout_owner(o->C->layout, i, j), shift = b->policy->arrival == TULLE__ARRIVAL_SHIFT;
                need[i] |= owner == pe || (shift && owner / b->q == pe / b->q);
                need[o->M + j] |= owner == pe || (shift && owner % b->q == pe % b->q);
            }
}

/*
 * A tile on its way to all that need it. What waits for it longest is at the tree's deepest place,
 * or at the chain's end.
 */
static void move_tile(struct bulk *b, const tulle_mat *X, int i, int j, int slot, int t, tulle__pe_load *load)
{
    const tulle__costs *c = b->costs;
    const tulle__operands *o = &c->counts->operands;
    int owner = tulle__layout_owner(X->layout, i, j), pes = c->counts->pes;
    int of_b = slot >= o->M, k = of_b ? i : j, shift = b->policy->arrival == TULLE__ARRIVAL_SHIFT, position = 0;
    double bytes = (double)X->directory[tulle__tile_index(X, i, j)].place.length;
    if (bytes <= 0 || c->direct) return;
    int members = 1;
    for (int pe = 0; pe < pes && !shift; pe++) members += pe != owner && b->need[(int64_t)pe * (o->M + o->N) + slot];
    int segments = shift || X->whole ? 1 : tulle__broadcast_segments((uint64_t)bytes, members);
    for (int distance = 1; distance < pes; distance++) {
        int pe = (owner + distance) % pes;
        if (!b->need[(int64_t)pe * (o->M + o->N) + slot] || !in_step(b, pe, t, k)) continue;
        double depth = shift ? 1 : __builtin_popcount((unsigned)++position);
        if (segments > 1) depth = (double)(position - 1 + segments) / segments;
        double seconds = tulle__cost_transfer(c, owner, pe, bytes), hop = seconds;
        if (c->machine->simulated) { /* a word tells of each segment; others go beside it */
            const double words = (shift ? 1 : 2) * tulle__cost_transfer(c, owner, pe, 0);
            hop = bytes / tulle__cost_single(c, owner, pe) + words;
            if (segments > 1) /* two at a time, but each with its latency */
                hop += segments * tulle__cost_round_trip(c, owner, pe) / 4;
            seconds -= tulle__cost_transfer(c, owner, pe, 0);
            if (owner / c->node_pes != pe / c->node_pes) b->far[pe] += seconds, seconds = 0;
        }
        load[pe].bytes += bytes;
        load[pe].messages += segments;
        load[pe].fetch += seconds;
        b->move[pe] += seconds;
        if (depth * hop > b->move[pe]) b->move[pe] = depth * hop;
    }
}

static void multiply_step(struct bulk *b, int t, tulle__pe_load *load)
{
    const tulle__costs *c = b->costs;
    const tulle__operands *o = &c->counts->operands;
    const int broadcast = b->policy->arrival == TULLE__ARRIVAL_BROADCAST;
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            int pe = tulle__layout_owner(o->C->layout, i, j), units = b->units[(int64_t)i * o->N + j];
            for (int k = broadcast ? t : 0; k < (broadcast ? t + 1 : o->K); k++) {
                if (!in_step(b, pe, t, k) || !tulle__operands_meet(o, i, k, j)) continue;
                const tulle__cost_result result = tulle__cost_result_of(c, b->policy, i, j, 1, &k);
                double seconds = tulle__cost_unit(c, i, k, j) +
                                 tulle__cost_job(c, i, result, true, c->idle[tulle__unit_index(c->counts, i, k, j)]);
                b->multiply[pe] += seconds;
                load[pe].compute += seconds;
                load[pe].work += c->counts->work[tulle__unit_index(c->counts, i, k, j)];
                if (units > 1) add_merge(c, i, j, result.entries, load);
            }
        }
}

/*
 * The steps' times: each as long as the longest of its transfers and the longest of the kernels
 * beside or before it.
 */
static double walk_steps(struct bulk *b, tulle__pe_load *load)
{
    const tulle__costs *c = b->costs;
    const tulle__operands *o = &c->counts->operands;
    int pes = c->counts->pes, steps = b->policy->arrival == TULLE__ARRIVAL_SHIFT ? b->q : o->K;
    double seconds = 0;
    for (int t = 0; t <= steps; t++) {
        memset(b->move, 0, (size_t)pes * sizeof *b->move);
        memset(b->far, 0, (size_t)pes * sizeof *b->far);
        const int all = b->policy->arrival == TULLE__ARRIVAL_SHIFT;
        for (int k = all ? 0 : t; k < (all ? o->K : t + 1) && t < steps; k++) {
            for (int i = 0; i < o->M; i++) move_tile(b, o->A, i, k, i, t, load);
            for (int j = 0; j < o->N; j++) move_tile(b, o->B, k, j, o->M + j, t, load);
        }
        for (int pe = 0; pe < pes; pe++) b->move[pe] = fmax(b->move[pe], tulle__cost_node_mean(c, pe, b->far));
        double move = tulle__cost_together(c, b->move), past = tulle__cost_together(c, b->past);
        /* a kernel is long begun when the word comes that tells where a tile is; only a shift needs none */
        const bool in_turn = c->lookahead == 0 || (c->machine->simulated && !all);
        seconds += t < steps ? tulle__cost_meeting(c) : 0;
        seconds += in_turn ? move + past : move > past ? move : past;
        for (int pe = 0; pe < pes; pe++) {
            double hidden = in_turn ? 0 : b->past[pe] < b->move[pe] ? b->past[pe] : b->move[pe];
            load[pe].communicate += b->move[pe] - hidden;
        }
        memset(b->multiply, 0, (size_t)pes * sizeof *b->multiply);
        if (t < steps) multiply_step(b, t, load);
        double *spare = b->past;
        b->past = b->multiply;
        b->multiply = spare;
    }
    return seconds;
}

tulle_status tulle__walk_bulk(const tulle__costs *c, const tulle__policy *policy, tulle__pe_load *load)
{
    tulle_status status;
    size_t pes = (size_t)c->counts->pes;
    const tulle__operands *o = &c->counts->operands;
    struct bulk b = {.costs = c, .policy = policy};
    while ((size_t)b.q * (size_t)b.q < pes) b.q++;
    TULLE_TRY(tulle__alloc_zero(pes, (size_t)o->M + (size_t)o->N, "model", &b.need));
    TULLE_TRY(tulle__alloc_zero(pes, sizeof *b.move, "model", &b.move));
    TULLE_TRY(tulle__alloc_zero(pes, sizeof *b.far, "model", &b.far));
    TULLE_TRY(tulle__alloc_zero(pes, sizeof *b.multiply, "model", &b.multiply));
    TULLE_TRY(tulle__alloc_zero(pes, sizeof *b.past, "model", &b.past));
    TULLE_TRY(tulle__alloc((size_t)o->M * (size_t)o->N, sizeof *b.units, "model", &b.units));
    for (int64_t t = 0; t < (int64_t)o->M * o->N; t++) b.units[t] = units_of(o, (int)(t / o->N), (int)(t % o->N));
    find_needs(&b);
    double seconds = walk_steps(&b, load);
    for (size_t pe = 0; pe < pes; pe++)
        load[pe].total = seconds + load[pe].accumulate + tulle__cost_scaling(c, policy, (int)pe);
out:
    tulle__free(b.need);
    tulle__free(b.units);
    tulle__free(b.move);
    tulle__free(b.far);
    tulle__free(b.multiply);
    tulle__free(b.past);
    return status;
}
