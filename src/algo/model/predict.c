/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "algo/model/cost.h"
#include "algo/steal/profitability.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"

/* What a later algorithm of the list must be shorter by to be preferred: the model is no finer than that. One that
 * steals must gain more, since what it does is expected least exactly, and it costs most where nothing is to be gained.
 */
static double clearly(tulle_product_alg alg)
{
    return tulle__policy_of(alg)->reach != TULLE__REACH_NONE ? 0.92 : 0.98;
}

/* Publishing a sparse result is an allgather of what each PE's tiles have become: mat.c, collective.c. */
static void add_publishing(const tulle__costs *c, tulle__pe_load *load)
{
    const tulle_layout *l = c->census->operands.C->layout;
    int pes = c->census->pes;
    double most = 0, rounds = ceil(log2(pes));
    if (!c->census->sparse || pes == 1) return;
    for (int pe = 0; pe < pes; pe++) {
        double mine = 0;
        for (int64_t t = 0; t < (int64_t)l->mt * l->nt; t++) mine += l->owner[t] == pe;
        if (mine > most) most = mine;
    }
    size_t bytes = (size_t)most * sizeof(tulle__tile_record), piece = tulle__slot_scratch(pes) / (size_t)pes;
    for (int pe = 0; pe < pes; pe++) {
        load[pe].bytes += (double)bytes * (pes - 1);
        load[pe].messages += rounds * (double)((bytes + piece - 1) / piece);
        load[pe].communicate += tulle__cost_meeting(c);
        load[pe].total += tulle__cost_meeting(c);
    }
}

/* The policy by which an algorithm's work is done, as in a plan; NULL: there is no such algorithm. */
static const tulle__policy *policy_of(const tulle__costs *c, tulle_product_alg alg)
{
    const tulle__policy *policy = tulle__policy_of(alg);
    tulle__transfer_costs costs = tulle__transfer_costs_of(c->machine, c->threads);
    costs.node_pes = c->node_pes;
    return policy ? tulle__policy_in_effect(
                        policy, &c->census->operands, c->census->pes, c->direct ? NULL : &costs, c->part)
                  : NULL;
}

static int lookahead_of(const tulle__costs *c, const tulle__policy *policy)
{
    return c->lookahead < 0 ? tulle__policy_lookahead(policy, c->census->sparse) : c->lookahead;
}

static tulle_status walk(const tulle__costs *c, const tulle__policy *policy, tulle__pe_load **load)
{
    tulle_status status;
    int *k = NULL;
    tulle__pe_load *all = NULL;
    if (policy->alg == TULLE_PRODUCT_CANNON) {
        status = tulle__cannon_fits(&c->census->operands, c->census->pes);
        if (status != TULLE_OK) return status;
    }
    TULLE_TRY(tulle__alloc_zero((size_t)c->census->pes, sizeof *all, "model", &all));
    TULLE_TRY(tulle__alloc((size_t)c->census->operands.K, sizeof *k, "model", &k));
    if (policy->source != TULLE__SOURCE_FETCH)
        TULLE_TRY(tulle__walk_bulk(c, policy, all));
    else if (policy->reach != TULLE__REACH_NONE)
        TULLE_TRY(tulle__walk_stealing(c, policy, all));
    else
        tulle__walk_static(c, policy, k, all);
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

/* Seconds of a product if every PE did its share at the local roof. */
static double roofline(const tulle__costs *c)
{
    const tulle_counts *census = c->census;
    const tulle_layout *a = census->operands.A->layout, *l = census->operands.C->layout;
    int pes = census->pes;
    double rate;
    if (census->multiplications <= 0) return 0;
    if (census->sparse)
        rate =
            tulle_roofline_spgemm(c->machine, c->threads, census->type, census->multiplications / census->entries).rate;
    else
        rate = tulle_roofline_spmm(c->machine, c->threads, census->type, (double)l->m / pes, (double)a->n,
            (double)census->operands.A->nnz / pes, (double)l->n)
                   .rate;
    return 2 * census->multiplications / pes / rate;
}

static tulle_status predict_group(
    const tulle__costs *c, tulle_product_alg alg, const tulle__policy *policy, tulle_prediction *prediction)
{
    tulle__pe_load *load = NULL;
    tulle_prediction p = {.alg = alg, .suits = 1, .group = c->group};
    int pes = c->census->pes;
    tulle_status status = walk(c, policy, &load);
    if (status == TULLE_ERR_UNSUPPORTED) {
        *prediction = (tulle_prediction){.alg = alg};
        return TULLE_OK;
    }
    if (status != TULLE_OK) return status;
    for (int pe = 0; pe < pes; pe++) {
        /* nobody is done before what he has to give has been taken */
        if (load[pe].total > p.seconds) p.seconds = load[pe].total;
        if (load[pe].served > p.seconds) p.seconds = load[pe].served;
    }
    p.seconds += tulle__cost_meeting(c);
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

/* The group that takes the least time, of those whose tiles find room on a PE. */
static tulle_status predict(const tulle__costs *c, tulle_product_alg alg, tulle_prediction *prediction)
{
    const tulle__operands *o = &c->census->operands;
    const tulle__policy *policy = policy_of(c, alg);
    tulle__costs costs = *c;
    if (!policy) return tulle__fail(TULLE_ERR_ARG, "algorithm %d is none to predict", (int)alg);
    costs.group = tulle__policy_batch(policy, o->K, c->direct, c->deterministic);
    costs.lookahead = lookahead_of(c, policy);
    tulle_status status = predict_group(&costs, alg, policy, prediction);
    if (!tulle__policy_may_batch(policy, c->direct, c->deterministic)) return status;
    double job = (largest_tile(o->A) + largest_tile(o->B)) * (1 + costs.lookahead);
    for (int jobs = o->K; jobs > 1 && status == TULLE_OK; jobs /= 2) {
        tulle_prediction p;
        costs.group = (o->K + jobs / 2 - 1) / (jobs / 2);
        if (c->room > 0 && costs.group * job > c->room) break;
        status = predict_group(&costs, alg, policy, &p);
        if (status == TULLE_OK && p.seconds < prediction->seconds) *prediction = p;
    }
    return status;
}

/* AUTO is none that could be predicted. */
static int no_alg(const char *function, tulle_product_alg alg)
{
    if ((int)alg > TULLE_PRODUCT_AUTO && (int)alg < TULLE_PRODUCT_ALG_COUNT) return 0;
    tulle__fail(TULLE_ERR_ARG, "%s: alg is %d, which is no algorithm that can be predicted", function, (int)alg);
    return 1;
}

tulle_status tulle_predict(const tulle_counts *census, const tulle_machine *machine, const tulle_model_options *options,
    tulle_product_alg alg, tulle_prediction *prediction)
{
    tulle_model_options own;
    if (TULLE__NULL(census) || TULLE__NULL(machine) || no_alg(__func__, alg) || TULLE__NULL(prediction) ||
        TULLE__OPTIONS(options, &own) || TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    tulle__costs c;
    tulle_status status = tulle__costs_init(census, machine, options, &c);
    if (status != TULLE_OK) return status;
    status = predict(&c, alg, prediction);
    tulle__costs_fini(&c);
    return status;
}

tulle_status tulle_predict_best(const tulle_counts *census, const tulle_machine *machine,
    const tulle_model_options *options, tulle_prediction *best)
{
    tulle_model_options own;
    if (TULLE__NULL(census) || TULLE__NULL(machine) || TULLE__NULL(best) || TULLE__OPTIONS(options, &own) ||
        TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    tulle__costs c;
    tulle_prediction p, found = {.suits = 0};
    tulle_status status = tulle__costs_init(census, machine, options, &c);
    if (status != TULLE_OK) return status;
    for (int alg = TULLE_PRODUCT_AUTO + 1; alg < TULLE_PRODUCT_ALG_COUNT && status == TULLE_OK; alg++) {
        if (options->asynchronous && tulle__policy_of((tulle_product_alg)alg)->source != TULLE__SOURCE_FETCH) continue;
        status = predict(&c, (tulle_product_alg)alg, &p);
        if (status == TULLE_OK && p.suits &&
            (!found.suits || p.seconds < clearly((tulle_product_alg)alg) * found.seconds))
            found = p;
    }
    tulle__costs_fini(&c);
    if (status == TULLE_OK) *best = found;
    return status;
}

tulle_status tulle_predict_loads(const tulle_counts *census, const tulle_machine *machine,
    const tulle_model_options *options, tulle_product_alg alg, double *multiplications, double *bytes)
{
    tulle_model_options own;
    if (TULLE__NULL(census) || TULLE__NULL(machine) || no_alg(__func__, alg) || TULLE__NULL(multiplications) ||
        TULLE__NULL(bytes) || TULLE__OPTIONS(options, &own) ||
        TULLE__OUTSIDE(options->transfers, TULLE_TRANSFERS_COUNT - 1))
        return TULLE_ERR_ARG;
    tulle__costs c;
    tulle__pe_load *load = NULL;
    tulle_prediction p;
    tulle_status status = tulle__costs_init(census, machine, options, &c);
    if (status != TULLE_OK) return status;
    status = predict(&c, alg, &p);
    if (status == TULLE_OK) {
        const tulle__policy *policy = policy_of(&c, alg);
        c.group = p.group;
        c.lookahead = lookahead_of(&c, policy);
        status = walk(&c, policy, &load);
    }
    tulle__costs_fini(&c);
    if (status != TULLE_OK) return status;
    for (int pe = 0; pe < census->pes; pe++) {
        multiplications[pe] = load[pe].work;
        bytes[pe] = load[pe].bytes;
    }
    tulle__free(load);
    return TULLE_OK;
}
