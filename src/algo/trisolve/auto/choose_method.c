/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The method that auto chooses. For few solves it is serial. If enough are expected, the first
 * solves try each method whose analysis pays, in turn, and the fastest stays. (Models of levels and
 * of the pipeline, which chose what to try, gained nothing on real triangles, and lost a factor of
 * two to three with few solves.)
 */
#include "algo/trisolve/levels.h"
#include "algo/trisolve/method.h"
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/supernodal/supernodes.h"
#include "base/error.h"

/*
 * Expected solves from which a method is tried: its analysis takes 1.5, 10 to 30, 30 to 70 and 30
 * serial solves. p2p gains up to a factor of 1.5 and is tried early.
 */
enum { CHUNKED_FROM = 30, P2P_FROM = 100, GROWLOCAL_FROM = 300, SUPERNODAL_FROM = 600 };

/* The same on a device: the host finds levels in the time of one or two of its own solves, of which a GPU does ten. */
enum { LEVELS_THERE_FROM = 30 };

/* Solves by each candidate; they are ordinary solves, as all candidates give the same bits. */
enum { TRIES = 3 };
/*
 * After each round candidates slower than the fastest by this factor are dropped; after the last
 * round, all but the fastest. The tolerance is large at first, because the very first solve meets a
 * triangle that is not in cache; on a device, where it also makes room for B and X, none is dropped.
 */
static const double behind[TRIES - 1] = {1.6, 1.2};

/*
 * Dense blocks are not tried, as their bits differ: they are chosen if supernodes have at least
 * this mean width, and the expected time is below this fraction of the others'.
 */
#define WIDE 16.0
#define CLEARLY 0.8

/* In the order of trying. */
struct choice {
    int count;
    tulle_trisolve_method candidate[TULLE__CANDIDATES];
};

static void add(struct choice *choice, tulle_trisolve_method method)
{
    choice->candidate[choice->count++] = method;
}

/* True to solve with dense blocks. */
static tulle_status has_blocks(const tulle__triangle *t, int workers, double relax, int *blocks)
{
    double cost = 0, width = 0;
    tulle_status status = tulle__supernodes_cost(t, workers, relax, &cost, &width);
    *blocks = status == TULLE_OK && width >= WIDE && cost < CLEARLY;
    return status;
}

/* True if levels have few rows in the mean: p2p has too many waits then, and growlocal pays for its analysis. */
static tulle_status has_narrow_levels(const tulle__triangle *t, bool *narrow)
{
    enum { ROWS = 256 };
    tulle__levels levels = {.level = NULL};
    const tulle_status status = tulle__levels_find(t, &levels);
    *narrow = status == TULLE_OK && t->n < ROWS * levels.count;
    tulle__levels_fini(&levels);
    return status;
}

/* The candidates. */
static tulle_status compare(const tulle_trisolve *solver, struct choice *choice)
{
    const tulle__triangle *t = &solver->triangle;
    int64_t solves = solver->options.solves > 0 ? solver->options.solves : INT64_MAX;
    int blocks = 0;
    bool narrow = false;
    if (solves >= SUPERNODAL_FROM) TULLE_CALL(has_blocks(t, solver->workers, solver->options.relax, &blocks));
    if (blocks) {
        add(choice, TULLE_TRISOLVE_SUPERNODAL);
        return TULLE_OK;
    }
    add(choice, TULLE_TRISOLVE_SERIAL);
    if (solves >= CHUNKED_FROM) add(choice, TULLE_TRISOLVE_CHUNKED);
    if (solves >= GROWLOCAL_FROM) TULLE_CALL(has_narrow_levels(t, &narrow));
    if (solves >= P2P_FROM) add(choice, narrow ? TULLE_TRISOLVE_GROWLOCAL : TULLE_TRISOLVE_P2P);
    return TULLE_OK;
}

/* On PE 0. */
static tulle_status choose(tulle_trisolve *solver, struct choice *choice)
{
    const tulle_trisolve_options *options = &solver->options;
    if (options->method != TULLE_TRISOLVE_AUTO) {
        add(choice, options->method);
        return TULLE_OK;
    }
    if (options->device) {
        add(choice, TULLE_TRISOLVE_SERIAL);
        if (!options->solves || options->solves >= LEVELS_THERE_FROM) add(choice, TULLE_TRISOLVE_LEVELS);
        return TULLE_OK;
    }
    if (solver->workers > 1 && !tulle__solver_is_brief(options) && solver->triangle.n) return compare(solver, choice);
    add(choice, TULLE_TRISOLVE_SERIAL);
    return TULLE_OK;
}

tulle_status tulle__solver_choose(tulle_trisolve *solver)
{
    struct choice choice = {.count = 0};
    tulle_status status = solver->comm->rank == 0 ? choose(solver, &choice) : TULLE_OK;
    TULLE_CALL(tulle_comm_agree(solver->comm, status));
    TULLE_CALL(tulle_comm_broadcast(solver->comm, 0, &choice, sizeof choice));
    solver->ncandidates = choice.count;
    for (int c = 0; c < choice.count; c++) {
        solver->candidate[c].method = choice.candidate[c];
        solver->candidate[c].on_device = solver->options.device != NULL;
    }
    return TULLE_OK;
}

/* After a round of tries. */
static void drop_slow(tulle_trisolve *solver, int round)
{
    double least = solver->candidate[0].best, limit = round < TRIES ? behind[round - 1] : 1;
    int kept = 0;
    for (int a = 1; a < solver->ncandidates; a++)
        if (solver->candidate[a].best < least) least = solver->candidate[a].best;
    for (int a = 0; a < solver->ncandidates; a++) {
        if (solver->candidate[a].best <= limit * least && (round < TRIES || !kept))
            solver->candidate[kept++] = solver->candidate[a];
        else
            tulle__method_schedule_fini(&solver->candidate[a]);
    }
    for (int a = kept; a < solver->ncandidates; a++) solver->candidate[a] = (tulle__method_schedule){.mine = 0};
    solver->ncandidates = kept;
}

void tulle__solver_tried(tulle_trisolve *solver, tulle_gidx cols, double seconds)
{
    tulle__method_schedule *now = solver->now, *end = solver->candidate + solver->ncandidates;
    if (solver->ncandidates == 1 || !cols) return;
    if (cols != solver->tried_cols)
        for (tulle__method_schedule *a = solver->candidate; a < end; a++) a->tries = 0;
    solver->tried_cols = cols;
    if (!now->tries || seconds < now->best) now->best = seconds;
    now->tries++;
    for (tulle__method_schedule *a = solver->candidate; a < end; a++)
        if (a->tries < now->tries) {
            solver->now = a;
            return;
        }
    if (now->tries > 1 || !now->on_device) drop_slow(solver, now->tries);
    solver->now = solver->candidate;
}
