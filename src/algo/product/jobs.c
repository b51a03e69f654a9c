/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/jobs.h"

#include "algo/chain/block_order.h"
#include "algo/product/feed.h"
#include "algo/product/plan/sources.h"
#include "algo/product/sink/sink.h"
#include "algo/product/source/delegation.h"
#include "algo/product/source/source.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"
#include "mat/fetch.h"

tulle_status tulle__jobs_init(tulle__exec *x)
{
    size_t group = (size_t)x->plan->group;
    TULLE_CALL(x->feed->init(x));
    x->depth = x->feed->depth(x);
    TULLE_CALL(tulle__alloc_zero((size_t)x->depth, sizeof *x->ring, "jobs", &x->ring));
    for (int d = 0; d < x->depth; d++) {
        TULLE_CALL(tulle__alloc(group, sizeof(int), "jobs", &x->ring[d].k));
        TULLE_CALL(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].a));
        TULLE_CALL(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].b));
    }
    return TULLE_OK;
}

void tulle__jobs_drop(tulle__exec *x)
{
    while (x->ring && x->filled) tulle__jobs_end(x);
}

void tulle__jobs_fini(tulle__exec *x)
{
    tulle__jobs_drop(x);
    for (int d = 0; x->ring && d < x->depth; d++) {
        tulle__free(x->ring[d].k);
        tulle__free(x->ring[d].a);
        tulle__free(x->ring[d].b);
    }
    tulle__free(x->ring);
    if (x->feed) x->feed->fini(x);
}

static tulle__wanted wanted(const tulle__job *job, tulle__factor factor, int n)
{
    return (tulle__wanted){.factor = factor,
        .i = job->i,
        .k = job->k[n],
        .j = job->j,
        .job = job->number,
        .done = job->done & (factor == TULLE__FACTOR_A ? TULLE__HOST_DONE_A : TULLE__HOST_DONE_B),
        .delegation = job->delegation};
}

/* Starts the fetches of the job that has been written into the free record. */
static tulle_status start_job(tulle__exec *x, tulle__job *job)
{
    tulle_product *plan = x->plan;
    int64_t start = tulle__now(plan->comm);
    int nk = job->nk;
    job->nk = job->remote = 0;
    job->number = x->jobs++;
    x->filled++;
    for (int n = 0; n < nk; n++) {
        tulle__wanted a = wanted(job, TULLE__FACTOR_A, n), b = wanted(job, TULLE__FACTOR_B, n);
        if (TULLE__PLANTED(swapped_k)) b.k = plan->operands.K - 1 - b.k;
        job->b[n] = (tulle__fetch){.group = -1};
        TULLE_CALL(tulle__source_start(plan->sources->top, &a, &job->a[n]));
        job->nk++; /* from here on ending the job sees to what was fetched */
        TULLE_CALL(tulle__source_start(plan->sources->top, &b, &job->b[n]));
        job->remote |= job->a[n].group >= 0 || job->b[n].group >= 0;
    }
    if (job->delegation)
        x->delegations_ahead++;
    else
        x->ahead += job->remote;
    x->communicate_ns += tulle__now(plan->comm) - start;
    return TULLE_OK;
}

tulle_status tulle__jobs_start(tulle__exec *x)
{
    while (x->filled < x->depth) {
        int got = 0;
        tulle__job *job = &x->ring[(x->head + x->filled) % x->depth];
        job->delegation = NULL;
        job->amount = 1;
        job->done = 0;
        TULLE_CALL(x->feed->next(x, job, &got));
        if (!got) break;
        TULLE_CALL(start_job(x, job));
    }
    return TULLE_OK;
}

void tulle__jobs_end(tulle__exec *x)
{
    tulle__job *job = &x->ring[x->head];
    for (int n = 0; n < job->nk; n++) {
        tulle__fetch_fini(&job->a[n]);
        tulle__fetch_fini(&job->b[n]);
    }
    x->sink->drop(x, job);
    job->nk = 0;
    x->head = (x->head + 1) % x->depth;
    x->filled--;
}

static tulle_status await_tile(
    tulle__exec *x, const tulle__job *job, tulle__factor factor, int n, tulle__fetch *fetch, tulle_tile *tile)
{
    tulle__wanted w = wanted(job, factor, n);
    const tulle_status status = tulle__source_await(x->plan->sources->top, &w, fetch, tile);
    if (!x->plan->like.task.least)
        tile->norm = NULL; /* read by the filter alone: they would cross the link to a device */
    return status;
}

tulle_status tulle__jobs_await(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(x->plan->comm), met = 0;
    if (job->delegation)
        x->delegations_ahead--;
    else
        x->ahead -= job->remote;
    TULLE_TRY(tulle__sources_reach(x->plan->sources->top, job->step, &met));
    for (int n = 0; n < job->nk; n++) {
        TULLE_TRY(await_tile(x, job, TULLE__FACTOR_A, n, &job->a[n], &x->a[n]));
        if (TULLE__PLANTED(unawaited)) job->b[n].group = -1;
        TULLE_TRY(await_tile(x, job, TULLE__FACTOR_B, n, &job->b[n], &x->b_tile[n]));
        TULLE_TRY(x->sink->take(x, job, n));
        if (TULLE__PLANTED(early_free)) tulle__fetch_fini(&job->b[n]);
    }
out:
    x->communicate_ns += tulle__now(x->plan->comm) - start - met;
    x->wait_ns += met;
    return status;
}

int tulle__jobs_peek(void *exec, int n, bool operands, tulle__run_next *next)
{
    tulle__exec *x = exec;
    if (n >= x->filled) return 0;
    tulle__job *job = &x->ring[(x->head + n) % x->depth];
    if (job->delegation || job->of) return 0;
    for (int p = 0; p < job->nk && operands; p++)
        if (!tulle__fetch_ready(&job->a[p]) || !tulle__fetch_ready(&job->b[p]) ||
            await_tile(x, job, TULLE__FACTOR_A, p, &job->a[p], &x->next_a[p]) != TULLE_OK ||
            await_tile(x, job, TULLE__FACTOR_B, p, &job->b[p], &x->next_b[p]) != TULLE_OK)
            return 0;
    *next = (tulle__run_next){.tiles = tulle__job_tiles(x, job, 0, false), .A = x->next_a, .B = x->next_b};
    return 1;
}
