/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/plan/choose.h"

#include <tulle/model.h>

#include "algo/model/operation_counts.h"
#include "algo/model/simulated.h"
#include "algo/product/plan/sources.h"
#include "base/error.h"
#include "base/memory.h"

/* more units are not predicted: it would take too long */
enum { UNITS_MOST = 1 << 20 };
/* fetched tiles may use 1 / ROOM_PARTS of the memory left */
enum { CACHE_PARTS = 8 };

/* The machine of AUTO if none is given and none is simulated: a core of an ordinary server, and an ordinary network. */
static const tulle_machine ordinary = {.kind = "ordinary",
    .threads = 1,
    .stream = 10e9,
    .cache = 50e9,
    .fma = {[TULLE_F32] = 60e9, [TULLE_F64] = 30e9},
    .tier = {[TULLE_SAME_NODE] = {1e-6, 5e9, 0}, [TULLE_OTHER_NODE] = {2e-6, 2e9, 0}}};

/* Choice that PE 0 broadcasts. */
struct choice {
    tulle_product_alg alg;
    int group; /* 0: not predicted */
    double seconds, compute;
    tulle__transfer_costs prices;
};

/* True if any tile of another PE is read in place from here. */
static int reads_in_place(const tulle_mat *X)
{
    const tulle_layout *l = X->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++)
            if (!tulle__tile_is_mine(X, i, j) && tulle__tile_mapped(X, i, j)) return 1;
    return 0;
}

/* The number of PEs whose memory this one reads in place, itself included. */
static int pes_at_hand(tulle_comm *comm)
{
    int count = 0;
    for (int r = 0; r < comm->size; r++) {
        tulle__place place = {.rank = tulle__comm_world(comm, r), .segment = TULLE__DATA};
        count += tulle__mapped(comm, &place) != NULL;
    }
    return count > 1 ? count : 1;
}

/* The machine as this team sees it: wrappers may hide memory that could be read in place. */
static tulle_machine machine_of(const tulle_product *plan)
{
    tulle_machine m = ordinary;
    if (plan->options.machine)
        m = *plan->options.machine;
    else
        (void)tulle__machine_of_comm(plan->comm, &m);
    int size = plan->comm->size;
    m.in_place = plan->direct || reads_in_place(plan->operands.A) || reads_in_place(plan->operands.B);
    if (plan->direct || !m.node_pes) m.node_pes = plan->direct || !m.in_place ? size : pes_at_hand(plan->comm);
    return m;
}

static tulle__transfer_costs prices_of(const tulle_product *plan)
{
    tulle_machine machine = machine_of(plan);
    tulle__transfer_costs prices = tulle__transfer_costs_of(&machine, plan->comm->pe->threads);
    prices.record = TULLE__PARTIAL_RECORD;
    return prices;
}

/* Counts are of layouts that match: not of parts. */
static const tulle_counts *counts_given(const tulle_product *plan)
{
    return plan->ways.in_parts ? NULL : plan->options.counts;
}

/* named: of counts that are made here, which take it over. */
static bool is_candidate(const tulle_product *plan, int alg)
{
    return !plan->options.candidates || (plan->options.candidates >> alg & 1);
}

/* The fastest of the candidates. */
static tulle_status predict_candidates(const tulle_product *plan, const tulle_counts *counts,
    const tulle_machine *machine, const tulle_model_options *options, tulle_prediction *best)
{
    tulle_prediction found;
    TULLE_CALL(tulle__predict_best_of(counts, machine, options, plan->options.candidates, &found));
    if (!found.suits) return tulle__fail(TULLE_ERR_UNSUPPORTED, "none of the candidates of auto suits these layouts");
    *best = found;
    return TULLE_OK;
}

/* Without a prediction: stationary C, or the first candidate. */
static tulle_product_alg unpredicted(const tulle_product *plan)
{
    int alg = TULLE_PRODUCT_STATIONARY_C;
    while (alg < TULLE_PRODUCT_ALG_COUNT - 1 && !is_candidate(plan, alg)) alg++;
    return (tulle_product_alg)alg;
}

static tulle_status predict(const tulle_product *plan, double *named, struct choice *choice)
{
    tulle_status status = TULLE_OK;
    tulle_counts *own = NULL;
    const tulle_counts *counts = counts_given(plan);
    const tulle__operands *o = &plan->operands;
    tulle_machine machine = machine_of(plan);
    tulle_prediction p = {.alg = choice->alg};
    tulle_model_options options = {.threads = plan->comm->pe->threads,
        .lookahead = plan->options.lookahead,
        .deterministic = plan->options.deterministic,
        /* steps are of all PEs: layers have none */
        .asynchronous = plan->ways.layers > 1,
        .transfers = plan->options.transfers,
        .symmetric_c = plan->options.symmetric_c,
        /* a PE alone fetches nothing, and to ask the system takes as long as a small product */
        .capacity = plan->comm->size > 1 ? (double)tulle__memory_left() / CACHE_PARTS : 0,
        .panel = plan->comm->pe->arena_bytes / (size_t)plan->comm->pe->arena_panels / 64 * 64};
    if ((double)o->M * o->K * o->N > UNITS_MOST) {
        if (choice->alg == TULLE_PRODUCT_AUTO) choice->alg = unpredicted(plan);
        goto out;
    }
    if (counts && (counts->operands.M != o->M || counts->operands.K != o->K || counts->operands.N != o->N ||
                      counts->pes != plan->comm->size))
        return tulle__fail(TULLE_ERR_ARG,
            "the counts are of %d x %d x %d tiles on %d PEs, the product of %d x %d x %d on %d", counts->operands.M,
            counts->operands.K, counts->operands.N, counts->pes, o->M, o->K, o->N, plan->comm->size);
    if (!counts) {
        TULLE_TRY(tulle__counts_of(o, plan->comm->size, &own));
        own->named = named;
        named = NULL;
        counts = own;
    }
    /* rates that were timed now differ from run to run: they tell the time, and what is chosen, and with it the last
     * bits, goes by those that are kept; links are of the team and timed when it begins, which counts where tiles are
     * not read in place */
    tulle_machine lasting = machine;
    lasting.kernel = lasting.merge = 0;
    if (choice->alg == TULLE_PRODUCT_AUTO)
        TULLE_TRY(predict_candidates(plan, counts, &lasting, &options, &p));
    else
        TULLE_TRY(tulle_predict(counts, &lasting, &options, choice->alg, &p));
    choice->alg = p.alg;
    choice->group = p.batch;
    if (machine.kernel > 0) TULLE_TRY(tulle_predict(counts, &machine, &options, choice->alg, &p));
    choice->seconds = p.seconds;
    choice->compute = p.compute.max;
out:
    tulle__free(named);
    tulle_counts_free(own);
    return status;
}

/* The plan's execution, if the model has all of it: no copies of parts or to devices. */
static tulle_status predict_all(tulle_product *plan, const struct choice *choice)
{
    double layers = 0;
    const tulle_product_options *o = &plan->options;
    tulle_machine machine = machine_of(plan);
    tulle_status status = TULLE_OK;
    const bool layered = plan->ways.seconds != NULL;
    plan->figures.predicted = 0;
    if (!o->machine || o->device || choice->seconds <= 0 || (plan->ways.in_parts && !layered)) return TULLE_OK;
    if (layered) status = plan->ways.seconds(plan, &machine, choice->compute, &layers);
    plan->figures.predicted = choice->seconds + layers;
    return status;
}

tulle_status tulle__choose(tulle_product *plan, int predicted, tulle_product_alg *alg)
{
    tulle_status status = TULLE_OK;
    /* blocks load the fewest bytes, and overlap transfers, copies and kernels; steps and partial results do not */
    if (*alg == TULLE_PRODUCT_AUTO && tulle__plan_may_block(plan) && is_candidate(plan, TULLE_PRODUCT_STATIONARY_C))
        *alg = TULLE_PRODUCT_STATIONARY_C;
    struct choice choice = {.alg = *alg, .prices = prices_of(plan)};
    const tulle_mat *A = plan->operands.A;
    double *named = NULL;
    if (predicted && !counts_given(plan) && plan->options.transfers != TULLE_TRANSFERS_WHOLE && !plan->direct)
        status = tulle__counts_count_named(A, A->layout, &named);
    if (status != TULLE_OK) return status;
    if (predicted && plan->comm->rank == 0)
        status = predict(plan, named, &choice);
    else
        tulle__free(named);
    if (status == TULLE_OK) status = tulle_comm_broadcast(plan->comm, 0, &choice, sizeof choice);
    TULLE_CALL(tulle_comm_agree(plan->comm, status));
    *alg = choice.alg;
    plan->group = choice.group;
    plan->sources->prices = choice.prices;
    return tulle_comm_agree(plan->comm, predict_all(plan, &choice));
}
