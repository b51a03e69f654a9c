/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods by name, and what auto becomes: PE 0 estimates the time of a solve for each, from the triangle and a model of
 * two things only, entries that stream and words that take a while to be seen, and adds what the analysis takes as
 * often as it pays for itself.
 */
#include <string.h>

#include "algo/trisolve/chunked.h"
#include "algo/trisolve/solver.h"
#include "algo/trisolve/supernodes.h"
#include "base/error.h"
#include "base/spec.h"

#define WORD(name, word, text) word,
static const char *const names[] = {TULLE_METHOD_LIST(WORD)};
#undef WORD

const char *tulle_method_name(tulle_method method)
{
    return (unsigned)method < TULLE_METHOD_COUNT ? names[method] : "unknown";
}

tulle_status tulle_method_parse(const char *name, tulle_method *method)
{
    for (int m = 0; m < TULLE_METHOD_COUNT; m++)
        if (strcmp(names[m], name) == 0) {
            *method = (tulle_method)m;
            return TULLE_OK;
        }
    const char *near = tulle__nearest(name, names, TULLE_METHOD_COUNT);
    return tulle__fail(TULLE_ERR_ARG, "unknown method '%s'%s%s%s", name, near ? "; did you mean '" : "",
        near ? near : "", near ? "'?" : "");
}

int tulle_method_exact(tulle_method method)
{
    return method != TULLE_METHOD_SUPERNODAL;
}

/* In solves by one worker: what analysis takes. */
#define CHUNKED_ANALYSIS 1.0
#define P2P_ANALYSIS 8.0
#define SUPERNODAL_ANALYSIS 30.0
/* Mean width of supernodes from which dense blocks are worth while. */
#define WIDE 16.0
/* What a permuted solve loses, as its rows of x do not stream. */
#define PERMUTED 1.25
/* Entries that pass while a word is on its way. */
#define SIGHT 400.0

/* Work that passes while all levels are solved one after the other, over that of one worker; from their sizes alone. */
static tulle_status leveled_cost(const tulle__triangle *t, int workers, double entries, double *cost)
{
    tulle_status status;
    int32_t *level = NULL;
    int64_t levels = 0, *rows = NULL;
    double a_row = entries / (double)t->n, work = 0;
    TULLE_TRY(tulle__alloc((size_t)t->n, sizeof *level, "levels", &level));
    tulle__levels_find(t, level, &levels);
    TULLE_TRY(tulle__alloc_zero((size_t)levels, sizeof *rows, "rows of levels", &rows));
    for (tulle_gidx r = 0; r < t->n; r++) rows[level[r]]++;
    for (int64_t l = 0; l < levels; l++) {
        double all = (double)rows[l] * a_row, shared = all / workers + SIGHT;
        work += shared < all ? shared : all;
    }
    *cost = PERMUTED * work / entries;
out:
    tulle__free(rows);
    tulle__free(level);
    return status;
}

/* On PE 0. */
static tulle_status choose(tulle_trisolve *solver, tulle_method *method, int64_t *chunk)
{
    const tulle__triangle *t = &solver->triangle;
    double gain = 1, cost = 0, width = 0, solves = solver->options.solves > 0 ? (double)solver->options.solves : 1e9;
    double entries = (double)(t->own ? t->own->nnz : t->T->nnz) + (double)t->n;
    tulle_method best = solver->options.method;
    tulle_status status = TULLE_OK;
    if (best == TULLE_METHOD_AUTO) {
        best = TULLE_METHOD_SERIAL;
        if (solver->workers == 1 || solves < 3 || !t->n) goto out; /* analysis would not pay */
    }
    if (solver->options.method == TULLE_METHOD_AUTO || best == TULLE_METHOD_CHUNKED)
        TULLE_TRY(tulle__chunked_choose(t, solver->workers, chunk, &gain));
    if (solver->options.method != TULLE_METHOD_AUTO) goto out;
    double least = solves, time = solves / gain + CHUNKED_ANALYSIS;
    if (time < least) {
        least = time;
        best = TULLE_METHOD_CHUNKED;
    }
    if (solves / solver->workers + P2P_ANALYSIS < least) {
        TULLE_TRY(leveled_cost(t, solver->workers, entries, &cost));
        if (solves * cost + P2P_ANALYSIS < least) {
            least = solves * cost + P2P_ANALYSIS;
            best = TULLE_METHOD_P2P;
        }
    }
    TULLE_TRY(tulle__supernodes_cost(t, solver->workers, solver->options.relax, &cost, &width));
    if (width >= WIDE && solves * cost + SUPERNODAL_ANALYSIS < least) best = TULLE_METHOD_SUPERNODAL;
out:
    *method = best;
    return status;
}

tulle_status tulle__solver_choose(tulle_trisolve *solver)
{
    tulle_method method = solver->options.method;
    int64_t chunk = 0;
    tulle_status status = solver->comm->rank == 0 ? choose(solver, &method, &chunk) : TULLE_OK;
    status = tulle_comm_agree(solver->comm, status);
    int64_t both[2] = {method, chunk};
    if (status == TULLE_OK) status = tulle_comm_broadcast(solver->comm, 0, both, sizeof both);
    if (status != TULLE_OK) return status;
    solver->method = (tulle_method)both[0];
    solver->chunk = both[1];
    return TULLE_OK;
}
