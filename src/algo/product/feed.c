/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/feed.h"

#include "algo/product/plan/sources.h"
#include "algo/product/run/runner.h"
#include "algo/product/source/delegation.h"
#include "algo/product/source/panel.h"
#include "algo/steal/steal.h"

static void no_fini(tulle__exec *x)
{
    (void)x;
}

static tulle_status no_init(tulle__exec *x)
{
    (void)x;
    return TULLE_OK;
}

static void no_met(tulle__exec *x)
{
    (void)x;
}

/* ---- the schedule ---- */

enum { RING_MAX = 1024, DELEGATIONS_AHEAD = 8 };

static tulle_status schedule_init(tulle__exec *x)
{
    return tulle__schedule_init(&x->schedule, x->plan);
}

static void schedule_fini(tulle__exec *x)
{
    tulle__schedule_fini(&x->schedule);
}

static const tulle__delegations *delegations_of(const tulle__exec *x)
{
    return tulle__required_delegations(x->plan->sources->required);
}

static int64_t schedule_planned(const tulle__exec *x)
{
    return tulle__schedule_jobs(&x->schedule) + tulle__delegations_count(delegations_of(x));
}

/* Local jobs take no memory, so that remote ones can be found far ahead. */
static int schedule_depth(const tulle__exec *x)
{
    const tulle_product *plan = x->plan;
    int64_t jobs = schedule_planned(x);
    int64_t size = plan->direct || plan->lookahead == 0 ? 1 + plan->runner->ahead : plan->lookahead + (int64_t)RING_MAX;
    return (int)(jobs < 1 ? 1 : size < jobs ? size : jobs);
}

/*
 * Delegated rows come first, since other PEs wait for them; their values are few and delay no fetch
 * of B. Then `lookahead` remote jobs are kept started, and the local ones between them.
 */
static tulle_status schedule_next(tulle__exec *x, tulle__job *job, int *got)
{
    const tulle__delegations *delegations = delegations_of(x);
    job->of = 0;
    if (x->delegations < tulle__delegations_count(delegations) &&
        (!x->filled || (x->delegations_ahead < DELEGATIONS_AHEAD && x->plan->lookahead))) {
        job->delegation = tulle__delegations_at(delegations, x->delegations++);
        job->i = job->delegation->i;
        job->j = job->delegation->j;
        job->k[0] = job->delegation->k;
        job->nk = 1;
    } else if (tulle__schedule_has_next(&x->schedule)) {
        if (x->filled && tulle__schedule_next_is_remote(&x->schedule) && x->ahead >= x->plan->lookahead)
            return TULLE_OK;
        job->step = tulle__schedule_next_step(&x->schedule, &job->done);
        tulle__schedule_take(&x->schedule, &job->i, &job->j, &job->nk, job->k);
    } else {
        return TULLE_OK;
    }
    job->units = job->nk;
    *got = 1;
    return TULLE_OK;
}

static const tulle__feed_ops schedule = {.init = schedule_init,
    .fini = schedule_fini,
    .depth = schedule_depth,
    .planned = schedule_planned,
    .next = schedule_next,
    .met = no_met};

/* ---- claims ---- */

static int claims_depth(const tulle__exec *x)
{
    return 1 + x->plan->lookahead;
}

static int64_t claims_planned(const tulle__exec *x)
{
    return tulle__steal_share(x->plan->sources->steal);
}

/*
 * Claims again while one job is left, so that tiles arrive while that one is multiplied. What is
 * not claimed stays free for other PEs. Of one claim up to `lookahead` jobs are started.
 */
static tulle_status claims_next(tulle__exec *x, tulle__job *job, int *got)
{
    tulle__steal *steal = x->plan->sources->steal;
    tulle__claim claim = {.k = job->k};
    if (x->filled >= 2 && !tulle__steal_in_hand(steal)) return TULLE_OK;
    int64_t start = tulle__now(x->plan->comm);
    tulle_status status = tulle__steal_take(steal, &claim);
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    if (status != TULLE_OK || !claim.nk) return status;
    job->i = claim.i;
    job->j = claim.j;
    job->nk = claim.nk;
    job->units = job->amount = claim.units;
    job->band = claim.band;
    job->bands = claim.bands;
    job->of = claim.of;
    *got = 1;
    return TULLE_OK;
}

/* No PE claims any more, and none does again before all have agreed. */
static void claims_met(tulle__exec *x)
{
    x->stolen = tulle__steal_stolen(x->plan->sources->steal);
    x->probes = tulle__steal_probes(x->plan->sources->steal);
    tulle__steal_reset(x->plan->sources->steal);
}

static const tulle__feed_ops claims = {.init = no_init,
    .fini = no_fini,
    .depth = claims_depth,
    .planned = claims_planned,
    .next = claims_next,
    .met = claims_met};

/* ---- steps ---- */

static int steps_depth(const tulle__exec *x)
{
    (void)x;
    return 1; /* the tiles of the next one come with its step */
}

static int64_t steps_planned(const tulle__exec *x)
{
    return x->plan->targets.units;
}

/* The owner of a tile of C multiplies all its units; within a step by k, then by tile. */
static tulle_status steps_next(tulle__exec *x, tulle__job *job, int *got)
{
    const tulle_product *plan = x->plan;
    const tulle__operands *o = &plan->operands;
    int steps = tulle__panels_steps(plan->sources->panels);
    for (tulle__step_unit *u = &x->unit; u->step < steps; u->step++, u->k = 0)
        for (; u->k < o->K; u->k++, u->target = 0) {
            if (!tulle__panels_in_step(plan->sources->panels, u->step, u->k)) continue;
            while (u->target < plan->targets.count) {
                const tulle__target *target = &plan->targets.at[u->target++];
                if (!tulle__operands_meet(o, target->i, u->k, target->j)) continue;
                job->i = target->i;
                job->j = target->j;
                job->k[0] = u->k;
                job->nk = job->units = 1;
                job->of = 0;
                job->step = u->step;
                *got = 1;
                return TULLE_OK;
            }
        }
    return TULLE_OK;
}

static const tulle__feed_ops steps = {.init = no_init,
    .fini = no_fini,
    .depth = steps_depth,
    .planned = steps_planned,
    .next = steps_next,
    .met = no_met};

const tulle__feed_ops *tulle__feed_of(const tulle_product *plan)
{
    if (plan->policy->arrival != TULLE__ARRIVAL_SINGLY) return &steps;
    return plan->policy->reach == TULLE__REACH_NONE ? &schedule : &claims;
}
