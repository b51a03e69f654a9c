/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/units.h"

#include "algo/chain/band.h"
#include "algo/product/plan/sources.h"
#include "algo/product/run/runner.h"
#include "algo/steal/profitability.h"
#include "base/planted.h"

/*
 * Units of C tile (i, j); sets *away if a PE that is not the tile's owner multiplies some, or may.
 */
static int count_tile(const tulle_product *plan, int i, int j, int *away)
{
    const tulle__operands *o = &plan->operands;
    int owner = tulle__layout_owner(o->C->layout, i, j), units = 0;
    if (plan->policy->by_chain) {
        int nk = tulle__policy_chain(plan->policy, o, owner, i, j, plan->targets.chain);
        *away |= nk > 0;
        return nk ? tulle__chain_bands(o, i, j, nk, plan->targets.chain) : 0;
    }
    for (int k = 0; k < o->K; k++) {
        if (!tulle__operands_meet(o, i, k, j)) continue;
        *away |= plan->policy->reach != TULLE__REACH_NONE || plan->policy->worker(o, i, k, j) != owner;
        units += tulle__operands_bands(o, i, k, j);
    }
    return units;
}

static const tulle__policy *in_effect(const tulle_product *plan)
{
    const tulle__transfer_costs *prices =
        plan->direct || !plan->sources->prices.node_pes ? NULL : &plan->sources->prices;
    return tulle__policy_in_effect(plan->asked, &plan->operands, plan->comm->size, prices, plan->targets.share);
}

/*
 * The policy in effect depends on how even the shares of work are. If it changes, the predicted
 * length of jobs is dropped.
 */
static void negotiate_policy(tulle_product *plan)
{
    tulle__operands *o = &plan->operands;
    const tulle__policy *policy = in_effect(plan);
    o->grain = 0;
    if (policy->reach != TULLE__REACH_NONE) tulle__operands_set_grain(o, plan->comm->size);
    if (!plan->group || (plan->policy && policy != plan->policy))
        plan->group = tulle__policy_batch(policy, o->K, plan->direct, plan->options.deterministic);
    if (plan->runner->most && plan->group > plan->runner->most && !policy->by_chain) plan->group = plan->runner->most;
    plan->lookahead = plan->options.lookahead == 0            ? tulle__policy_lookahead(policy, plan->sparse)
                      : plan->options.lookahead == TULLE_NONE ? 0
                                                              : plan->options.lookahead;
    plan->policy = policy;
}

void tulle__plan_count(tulle_product *plan)
{
    tulle__operands *o = &plan->operands;
    int away = 0;
    if (plan->targets.of_A == plan->A->structure && plan->targets.of_B == plan->B->structure) return;
    plan->targets.units = 0;
    negotiate_policy(plan);
    for (int i = 0; i < o->M; i++)
        for (int j = 0; j < o->N; j++) {
            int target = plan->targets.of[(int64_t)i * o->N + j], units = count_tile(plan, i, j, &away);
            if (target < 0) continue;
            plan->targets.at[target].units = units;
            plan->targets.units += units;
        }
    plan->exchange.travels |= away && plan->comm->size > 1;
    plan->targets.of_A = plan->A->structure;
    plan->targets.of_B = plan->B->structure;
    plan->runner->stale = true;
    if (!TULLE__PLANTED(stale_subset)) tulle__sources_drop(plan);
}
