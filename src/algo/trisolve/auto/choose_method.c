/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What auto becomes: PE 0 estimates the time of a solve for each, from the triangle and simple
 * models of rows, entries and words that take a while to be seen, and adds what the analysis takes. If many solves are
 * to come, the first ones are made by each method in turn that may be the fastest.
 */
#include "algo/trisolve/method_schedule.h"
#include "algo/trisolve/rows/chunked.h"
#include "algo/trisolve/supernodal/supernodes.h"
#include "base/error.h"

/* In solves by one worker: what analysis takes. */
#define CHUNKED_ANALYSIS 1.5
#define P2P_ANALYSIS 14.0 /* 10 to 16: most of it is pages that are new to the rows' copies */
#define SUPERNODAL_ANALYSIS 30.0

/*
 * What a worker takes for a row and for an entry where it lies, in row order and in that of levels, in ns; only ratios
 * count. In row order a short row waits for the one before; in that of levels rows of x do not stream, unless the rows
 * of a level follow each other: then x is in a core's cache, in one that cores share, or further away, as the lines of
 * b and x are, too. Fitted to the triangles of bench/solves.py.
 */
struct pace {
    double row, entry;
};
static const struct pace in_place = {3.5, 0.3}, streaming = {2.5, 0.3}, inside = {2.5, 0.45}, near = {2.5, 0.95},
                         far = {10, 0.95};
#define INSIDE_BYTES 6e5
#define NEAR_BYTES 4e6
/* Until a word is seen. */
#define SIGHT 150.0

/*
 * The models are rough. What they say is tried if enough solves are to come: each candidate makes so many, which are
 * solves like others, as all give the same bits.
 */
enum { TRIES = 3 };
/* After each round those are given up that have taken so many times as long as the fastest, and after the last all
 * but it. The first solve of all meets a triangle that is not in a cache, so much is forgiven then. */
static const double behind[TRIES - 1] = {1.6, 1.2};
/*
 * A method is a candidate if the models expect it to take less than this, of one worker's time, and its analysis less
 * than this part of all solves; or all of it less than all by one worker, and less than this of what others take. The
 * model of levels expects up to 2.4 times as much as they take.
 */
#define WORTH_TRYING 1.3
#define LEVELS_WORTH_TRYING 1.6
#define ANALYSIS_SHARE 0.05

/* Dense blocks are not tried, as they give other bits: they are taken where supernodes are so many steps wide in the
 * mean, and expected to take less than this part of what the others do. */
#define WIDE 16.0
#define CLEARLY 0.8

/* The time of all levels one after the other, over that of one worker in row order; from their sizes alone. */
static tulle_status leveled_cost(
    const tulle__triangle *t, int workers, double entries, tulle__levels *levels, double *cost)
{
    tulle_status status;
    int64_t *rows = NULL, following = 0;
    double a_row = entries / (double)t->n, time = 0;
    double bytes = (double)t->n * (double)tulle_type_size(t->T->type);
    struct pace pace = bytes < INSIDE_BYTES ? inside : bytes < NEAR_BYTES ? near : far;
    TULLE_TRY(tulle__levels_find(t, levels));
    TULLE_TRY(tulle__alloc_zero((size_t)levels->count, sizeof *rows, "rows of levels", &rows));
    for (tulle_gidx r = 0; r < t->n; r++) {
        rows[levels->level[r]]++;
        following += r > 0 && levels->level[r] == levels->level[r - 1];
    }
    double share = (double)following / (double)t->n;
    pace.row += share * (streaming.row - pace.row);
    pace.entry += share * (streaming.entry - pace.entry);
    for (int64_t l = 0; l < levels->count; l++) {
        double all = (double)rows[l] * (pace.row + pace.entry * a_row), shared = all / workers + SIGHT;
        time += shared < all ? shared : all;
    }
    *cost = time / ((double)t->n * (in_place.row + in_place.entry * a_row));
out:
    tulle__free(rows);
    return status;
}

/* The first ones are tried first. */
struct choice {
    int count;
    struct {
        tulle_trisolve_method method;
        int64_t chunk;
    } candidate[TULLE__CANDIDATES];
};

static void add(struct choice *choice, tulle_trisolve_method method, int64_t chunk)
{
    choice->candidate[choice->count].method = method;
    choice->candidate[choice->count++].chunk = chunk;
}

/* Whether to solve with dense blocks; rival: the time of the others, of one worker's. */
static tulle_status has_blocks(
    const tulle__triangle *t, int workers, double relax, double solves, double rival, int *blocks)
{
    double cost = 0, width = 0;
    *blocks = 0;
    if (SUPERNODAL_ANALYSIS >= ANALYSIS_SHARE * solves) return TULLE_OK;
    tulle_status status = tulle__supernodes_cost(t, workers, relax, &cost, &width);
    *blocks = status == TULLE_OK && width >= WIDE && cost < CLEARLY * rival;
    return status;
}

/* Methods of which the fastest is to be found: one if so few solves are to come that trying would not pay. */
static tulle_status weigh(tulle_trisolve *solver, struct choice *choice)
{
    const tulle__triangle *t = &solver->triangle;
    int workers = solver->workers;
    tulle_status status = TULLE_OK;
    double solves = solver->options.solves > 0 ? (double)solver->options.solves : 1e9;
    double gain = 1, cost = 0, entries = (double)(t->own ? t->own->nnz : t->T->nnz) + (double)t->n;
    int64_t chunk = 0;
    int blocks = 0;
    TULLE_TRY(tulle__chunked_choose(t, workers, solves, &chunk, &gain));
    int trying = CHUNKED_ANALYSIS < ANALYSIS_SHARE * solves;
    double least = solves, time = solves / gain + CHUNKED_ANALYSIS;
    int chunked = trying ? gain * WORTH_TRYING > 1 : time < least;
    if (chunked && time < least) least = time;
    int often = P2P_ANALYSIS < ANALYSIS_SHARE * solves;
    int p2p = often || solves / workers + P2P_ANALYSIS < WORTH_TRYING * least;
    if (p2p) {
        TULLE_TRY(leveled_cost(t, workers, entries, &solver->levels, &cost));
        time = solves * cost + P2P_ANALYSIS;
        p2p = often ? cost < LEVELS_WORTH_TRYING : time < solves && time < WORTH_TRYING * least;
    }
    double rival = gain > 1 ? 1 / gain : 1;
    if (p2p && cost < rival) rival = cost;
    TULLE_TRY(has_blocks(t, workers, solver->options.relax, solves, rival, &blocks));
    if (blocks) {
        add(choice, TULLE_TRISOLVE_SUPERNODAL, 0);
        return TULLE_OK;
    }
    if (trying || !(chunked || p2p)) add(choice, TULLE_TRISOLVE_SERIAL, 0);
    if (chunked && (trying || !p2p)) add(choice, TULLE_TRISOLVE_CHUNKED, chunk);
    if (p2p) add(choice, TULLE_TRISOLVE_P2P, 0);
out:
    return status;
}

/* On PE 0. */
static tulle_status choose(tulle_trisolve *solver, struct choice *choice)
{
    const tulle__triangle *t = &solver->triangle;
    const tulle_trisolve_options *options = &solver->options;
    int64_t chunk = options->chunk;
    double gain;
    if (options->method == TULLE_TRISOLVE_AUTO && (solver->workers == 1 || tulle__solver_is_brief(options) || !t->n)) {
        add(choice, TULLE_TRISOLVE_SERIAL, 0);
        return TULLE_OK;
    }
    if (options->method == TULLE_TRISOLVE_AUTO) return weigh(solver, choice);
    if (options->method == TULLE_TRISOLVE_CHUNKED && !chunk) {
        tulle_status status = tulle__chunked_choose(t, solver->workers, 1e9, &chunk, &gain);
        if (status != TULLE_OK) return status;
    }
    add(choice, options->method, chunk);
    return TULLE_OK;
}

tulle_status tulle__solver_choose(tulle_trisolve *solver)
{
    struct choice choice = {.count = 0};
    tulle_status status = solver->comm->rank == 0 ? choose(solver, &choice) : TULLE_OK;
    status = tulle_comm_agree(solver->comm, status);
    if (status == TULLE_OK) status = tulle_comm_broadcast(solver->comm, 0, &choice, sizeof choice);
    if (status != TULLE_OK) return status;
    solver->ncandidates = choice.count;
    for (int c = 0; c < choice.count; c++) {
        solver->candidate[c].method = choice.candidate[c].method;
        solver->candidate[c].chunk = choice.candidate[c].chunk;
    }
    return TULLE_OK;
}

/* After a round of tries. */
static void give_up(tulle_trisolve *solver, int round)
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
    give_up(solver, now->tries);
    solver->now = solver->candidate;
}
