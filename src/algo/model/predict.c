/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "algo/model/cost.h"
#include "algo/steal/profitability.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

/*
 * The factor by which a later algorithm of the list must be faster to be preferred: the accuracy of
 * the model. Stealing must gain more, since it is predicted least accurately and costs most where
 * there is nothing to balance.
 */
static double clearly(tulle_product_alg alg)
{
    return tulle__policy_of(alg)->reach != TULLE__REACH_NONE ? 0.92 : 0.98;
}

/*
 * Publishing a sparse result is an allgather of the records of each PE's tiles: mat.c,
 * collective.c.
 */
static void add_publishing(const tulle__costs *c, tulle__pe_load *load)
{
    const tulle_layout *l = c->counts->operands.C->layout;
    int pes = c->counts->pes;
    double most = 0, rounds = ceil(log2(pes));
    if (!c->counts->sparse || pes == 1) return;
    for (int pe = 0; pe < pes; pe++) {
        double mine = 0;
        for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++) mine += l->owner[t] == pe;
        if (mine > most) most = mine;
    }
    size_t bytes = (size_t)most * tulle__record_bytes(c->counts->operands.C),
           piece = tulle__slot_scratch(pes) / (size_t)pes;
    double published = tulle__cost_meeting(c);
    if (c->machine->simulated) /* a put and its word a round, of each piece; and the kernel that has merged */
        published = 1.5 * published * (double)((bytes + piece - 1) / piece) + c->machine->launch;
    for (int pe = 0; pe < pes; pe++) {
        load[pe].bytes += (double)bytes * (pes - 1);
        load[pe].messages += rounds * (double)((bytes + piece - 1) / piece);
        load[pe].communicate += published;
        load[pe].total += published;
    }
}

/* The policy in effect for an algorithm, as in a plan; NULL: no such algorithm. */
static const tulle__policy *policy_of(const tulle__costs *c, tulle_product_alg alg)
{
    const tulle__policy *policy = tulle__policy_of(alg);
    tulle__transfer_costs costs = tulle__transfer_costs_of(c->machine, c->threads);
    costs.node_pes = c->node_pes;
    return policy ? tulle__policy_in_effect(
                        policy, &c->counts->operands, c->counts->pes, c->direct ? NULL : &costs, c->part)
                  : NULL;
}

static int lookahead_of(const tulle__costs *c, const tulle__policy *policy)
{
    return c->lookahead < 0 ? tulle__policy_lookahead(policy, c->counts->sparse) : c->lookahead;
}

static tulle_status walk(const tulle__costs *c, const tulle__policy *policy, tulle__pe_load **load)
{
    tulle_status status;
    int *k = NULL;
    tulle__pe_load *all = NULL;
    if (policy->alg == TULLE_PRODUCT_CANNON) {
        status = tulle__cannon_fits(&c->counts->operands, c->counts->pes);
        if (status != TULLE_OK) return status;
    }
    TULLE_TRY(tulle__alloc_zero((size_t)c->counts->pes, sizeof *all, "model", &all));
    TULLE_TRY(tulle__alloc((size_t)c->counts->operands.K, sizeof *k, "model", &k));
    if (policy->arrival != TULLE__ARRIVAL_SINGLY)
        TULLE_TRY(tulle__walk_bulk(c, policy, all));
    else if (policy->reach != TULLE__REACH_NONE)
        TULLE_TRY(tulle__walk_stealing(c, policy, all));
    else
        TULLE_TRY(tulle__walk_static(c, policy, k, all));
    add_publishing(c, all);
    *load = all;
    all = NULL;
out:
    tulle__free(k);
    tulle__free(all);
    return status;
}

static void add_to(tulle_imbalance *s, double x, int pes)
{
    if (x > s->max) s->max = x;
    s->mean += x / pes;
}

/* Seconds of a product if every PE ran at the local roofline. */
static double roofline(const tulle__costs *c)
{
    const tulle_counts *counts = c->counts;
    const tulle_layout *a = counts->operands.A->layout, *l = counts->operands.C->layout;
    int pes = counts->pes;
    double rate;
    if (counts->multiplications <= 0) return 0;
    if (counts->sparse && counts->operands.C->format->in_blocks)
        rate = tulle__cost_block_rate(c, counts->multiplications, counts->entries);
    else if (counts->sparse)
        rate =
            tulle_roofline_spgemm(c->machine, c->threads, counts->type, counts->multiplications / counts->entries).rate;
    else
        rate = tulle_roofline_spmm(c->machine, c->threads, counts->type, (double)l->m / pes, (double)a->n,
            (double)counts->operands.A->nnz / pes, (double)l->n)
                   .rate;
    return 2 * counts->multiplications / pes / rate;
}

static tulle_status predict_group(
    const tulle__costs *c, tulle_product_alg alg, const tulle__policy *policy, tulle_prediction *prediction)
{
    tulle__pe_load *load = NULL;
    tulle_prediction p = {.alg = alg, .suits = 1, .batch = c->batch};
    int pes = c->counts->pes;
    tulle_status status = walk(c, policy, &load);
    if (status == TULLE_ERR_UNSUPPORTED) {
        *prediction = (tulle_prediction){.alg = alg};
        return TULLE_OK;
    }
    if (status != TULLE_OK) return status;
    /* no PE is done before the others have taken what it serves */
    for (int pe = 0; pe < pes; pe++) c->part[pe] = fmax(load[pe].total, load[pe].served);
    p.seconds = tulle__cost_together(c, c->part);
    /* what ends an execution: an agreement, in a simulation also the barrier before it, or else publishing */
    p.seconds += tulle__cost_meeting(c) * (c->machine->simulated && !c->counts->sparse ? 2 : 1);
    tulle_imbalance work = {.max = 0};
    for (int pe = 0; pe < pes; pe++) {
        double busy = load[pe].compute + load[pe].communicate + load[pe].accumulate;
        add_to(&p.compute, load[pe].compute, pes);
        add_to(&p.communicate, load[pe].communicate, pes);
        add_to(&p.accumulate, load[pe].accumulate, pes);
        add_to(&p.wait, p.seconds > busy ? p.seconds - busy : 0, pes);
        add_to(&work, load[pe].work, pes);
        p.bytes_moved += load[pe].bytes;
        p.messages += load[pe].messages;
        p.partials += load[pe].partials;
    }
    p.load_imbalance = work.mean > 0 ? work.max / work.mean : 1;
    p.roofline = roofline(c);
    *prediction = p;
    tulle__free(load);
    return TULLE_OK;
}

static double largest_tile(const tulle_mat *X)
{
    const tulle_layout *l = X->layout;
    double most = 0;
    for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++)
        if ((double)X->directory[t].place.length > most) most = (double)X->directory[t].place.length;
    return most;
}

/* Chooses the fastest batch size among those whose tiles fit a PE's memory. */
static tulle_status predict_policy(
    const tulle__costs *c, tulle_product_alg alg, const tulle__policy *policy, tulle_prediction *prediction)
{
    const tulle__operands *o = &c->counts->operands;
    tulle__costs costs = *c;
    costs.batch = tulle__policy_batch(policy, o->K, c->direct, c->deterministic);
    costs.lookahead = lookahead_of(c, policy);
    tulle_status status = predict_group(&costs, alg, policy, prediction);
    if (!tulle__policy_may_batch(policy, c->direct, c->deterministic)) return status;
    double job = (largest_tile(o->A) + largest_tile(o->B)) * (1 + costs.lookahead);
    for (int jobs = o->K; jobs > 1 && status == TULLE_OK; jobs /= 2) {
        tulle_prediction p;
        costs.batch = (o->K + jobs / 2 - 1) / (jobs / 2);
        if (c->capacity > 0 && costs.batch * job > c->capacity) break;
        status = predict_group(&costs, alg, policy, &p);
        if (status == TULLE_OK && p.seconds < prediction->seconds) *prediction = p;
    }
    return status;
}

/* named: it steals, as asked; else where stealing is not clearly faster PEs keep to their own chains, as *policy says.
 */
static tulle_status predict(const tulle__costs *c, tulle_product_alg alg, bool named, tulle_prediction *prediction,
    const tulle__policy **policy)
{
    tulle_prediction still;
    *policy = policy_of(c, alg);
    if (!*policy) return tulle__fail(TULLE_ERR_ARG, "algorithm %d cannot be predicted", (int)alg);
    tulle_status status = predict_policy(c, alg, *policy, prediction);
    if (status != TULLE_OK || named || (*policy)->reach == TULLE__REACH_NONE) return status;
    const tulle__policy *fallback = tulle__policy_of((*policy)->fallback);
    TULLE_CALL(predict_policy(c, alg, fallback, &still));
    if (prediction->seconds < clearly(alg) * still.seconds) return TULLE_OK;
    *prediction = still;
    *policy = fallback;
    return TULLE_OK;
}

/* AUTO is not a single algorithm. */
static int no_alg(const char *function, tulle_product_alg alg)
{
    if ((int)alg > TULLE_PRODUCT_AUTO && (int)alg < TULLE_PRODUCT_ALG_COUNT) return 0;
    tulle__fail(TULLE_ERR_ARG, "%s: alg is %d, which is no algorithm that can be predicted", function, (int)alg);
    return 1;
}

tulle_status tulle_predict(const tulle_counts *counts, const tulle_machine *machine, const tulle_model_options *options,
    tulle_product_alg alg, tulle_prediction *prediction)
{
    tulle_model_options own;
    if (TULLE__NULL(counts) || TULLE__NULL(machine) || no_alg(__func__, alg) || TULLE__NULL(prediction) ||
        TULLE__OPTIONS(options, &own, symmetric_c) || TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    const tulle__policy *policy = NULL;
    tulle__costs c;
    TULLE_CALL(tulle__costs_init(counts, machine, options, &c));
    tulle_status status = predict(&c, alg, true, prediction, &policy);
    tulle__costs_fini(&c);
    return status;
}

tulle_status tulle__predict_best_of(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, uint64_t candidates, tulle_prediction *best)
{
    tulle__costs c;
    tulle_prediction p, found = {.suits = 0};
    const tulle__policy *policy;
    tulle_status status = tulle__costs_init(counts, machine, options, &c);
    if (status != TULLE_OK) return status;
    for (int alg = TULLE_PRODUCT_AUTO + 1; alg < TULLE_PRODUCT_ALG_COUNT && status == TULLE_OK; alg++) {
        if (options->asynchronous && tulle__policy_of((tulle_product_alg)alg)->arrival != TULLE__ARRIVAL_SINGLY)
            continue;
        if (candidates && !(candidates >> alg & 1)) continue;
        status = predict(&c, (tulle_product_alg)alg, false, &p, &policy);
        if (status == TULLE_OK && p.suits &&
            (!found.suits || p.seconds < clearly((tulle_product_alg)alg) * found.seconds))
            found = p;
    }
    tulle__costs_fini(&c);
    if (status == TULLE_OK) *best = found;
    return status;
}

tulle_status tulle_predict_best(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, tulle_prediction *best)
{
    tulle_model_options own;
    if (TULLE__NULL(counts) || TULLE__NULL(machine) || TULLE__NULL(best) ||
        TULLE__OPTIONS(options, &own, symmetric_c) || TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    return tulle__predict_best_of(counts, machine, options, 0, best);
}

tulle_status tulle_predict_loads(const tulle_counts *counts, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, double *multiplications, double *bytes)
{
    tulle_model_options own;
    if (TULLE__NULL(counts) || TULLE__NULL(machine) || no_alg(__func__, alg) || TULLE__NULL(multiplications) ||
        TULLE__NULL(bytes) || TULLE__OPTIONS(options, &own, symmetric_c) ||
        TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    tulle__costs c;
    tulle__pe_load *load = NULL;
    tulle_prediction p;
    TULLE_CALL(tulle__costs_init(counts, machine, options, &c));
    const tulle__policy *policy;
    tulle_status status = predict(&c, alg, true, &p, &policy);
    if (status == TULLE_OK) {
        c.batch = p.batch;
        c.lookahead = lookahead_of(&c, policy);
        status = walk(&c, policy, &load);
    }
    tulle__costs_fini(&c);
    if (status != TULLE_OK) return status;
    for (int pe = 0; pe < counts->pes; pe++) {
        multiplications[pe] = load[pe].work;
        bytes[pe] = load[pe].bytes;
    }
    tulle__free(load);
    return TULLE_OK;
}
