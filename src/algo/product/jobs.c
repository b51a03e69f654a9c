/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/jobs.h"

#include "algo/product/plan/phase.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/planted.h"

enum { RING_MAX = 1024, DELEGATIONS_AHEAD = 8 };

int64_t tulle__jobs_planned(const tulle__exec *x)
{
    return tulle__schedule_jobs(&x->schedule) +
           tulle__delegations_count(tulle__required_delegations(x->plan->required));
}

/* Jobs that may be started at a time: local ones take no memory, so that remote ones can be found far ahead. */
static int ring_size(const tulle_product *plan, int64_t jobs)
{
    int64_t size = plan->direct || plan->lookahead == 0 ? 1 + plan->runner->ahead : plan->lookahead + (int64_t)RING_MAX;
    return (int)(jobs < 1 ? 1 : size < jobs ? size : jobs);
}

tulle_status tulle__jobs_init(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    size_t group = (size_t)plan->group;
    if (plan->steal || plan->panels) {
        x->depth = 1 + plan->lookahead;
    } else {
        TULLE_TRY(tulle__schedule_init(&x->schedule, plan));
        x->depth = ring_size(plan, tulle__jobs_planned(x));
    }
    TULLE_TRY(tulle__alloc_zero((size_t)x->depth, sizeof *x->ring, "jobs", &x->ring));
    for (int d = 0; d < x->depth; d++) {
        TULLE_TRY(tulle__alloc(group, sizeof(int), "jobs", &x->ring[d].k));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].a));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].b));
    }
out:
    return status;
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
    tulle__schedule_fini(&x->schedule);
}

/* The record of the next job that is started. */
static tulle__job *free_job(tulle__exec *x)
{
    return &x->ring[(x->head + x->filled) % x->depth];
}

/*
 * Under stealing: what the job started last has fetched and this one needs again, for a band of the same chain, or for
 * a chain of the same tile column.
 */
struct again {
    const tulle__fetch *a, *b;
};

static struct again again(const tulle__exec *x, const tulle__job *last, const tulle__job *job, int k)
{
    const tulle__required *required = x->plan->required;
    struct again found = {NULL, NULL};
    int n = 0;
    while (last && n < last->nk && last->k[n] != k) n++;
    if (!last || n == last->nk) return found;
    if (last->i == job->i) found.a = &last->a[n];
    if (last->j == job->j && (last->i == job->i || (tulle__required_whole(required, last->i, k, job->j) &&
                                                       tulle__required_whole(required, job->i, k, job->j))))
        found.b = &last->b[n];
    return found;
}

/* Starts the fetches of a job of nk units, or of an delegation, that has been written into the free record. */
static tulle_status start_job(tulle__exec *x, int nk, const tulle__delegation *delegation)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    int64_t start = tulle__now(plan->comm);
    tulle__job *job = free_job(x);
    job->nk = job->remote = 0;
    job->number = x->jobs++;
    const tulle__job *last = plan->steal && x->filled ? &x->ring[(x->head + x->filled - 1) % x->depth] : NULL;
    x->filled++;
    job->delegation = delegation;
    for (int n = 0; n < nk; n++) {
        int k_of_b = TULLE__PLANTED(swapped_k) ? plan->operands.K - 1 - job->k[n] : job->k[n];
        struct again had = again(x, last, job, job->k[n]);
        job->b[n] = (tulle__fetch){.group = -1};
        if (had.a)
            job->a[n] = tulle__fetch_share(had.a);
        else
            TULLE_TRY(delegation ? tulle__delegation_fetch(delegation, plan->operands.A, &job->a[n])
                                 : tulle__operand_cache_fetch_a(
                                       plan->operand_cache, &plan->operands, job->i, job->k[n], &job->a[n]));
        job->nk++; /* from here on ending the job sees to what was fetched */
        if (had.b)
            job->b[n] = tulle__fetch_share(had.b);
        else
            TULLE_TRY(tulle__operand_cache_fetch_b(
                plan->operand_cache, plan->required, &plan->operands, job->i, k_of_b, job->j, &job->b[n]));
        job->remote |= job->a[n].group >= 0 || job->b[n].group >= 0;
    }
    if (delegation)
        x->delegations_ahead++;
    else
        x->ahead += job->remote;
    x->communicate_ns += tulle__now(plan->comm) - start;
out:
    return status;
}

/* What others wait for is multiplied first; its values are few, so that they hold up no rows of B. */
static tulle_status start_delegations(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    const tulle__delegations *delegations = tulle__required_delegations(x->plan->required);
    while (x->delegations < tulle__delegations_count(delegations) && x->filled < x->depth) {
        if (x->filled && (x->delegations_ahead == DELEGATIONS_AHEAD || !x->plan->lookahead)) break;
        const tulle__delegation *delegation = tulle__delegations_at(delegations, x->delegations++);
        tulle__job *job = free_job(x);
        job->i = delegation->i;
        job->j = delegation->j;
        job->k[0] = delegation->k;
        job->units = 1;
        job->of = 0;
        TULLE_TRY(start_job(x, 1, delegation));
    }
out:
    return status;
}

/* Keeps as many remote jobs started as asked for, and the local ones between them. */
static tulle_status start_scheduled(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    TULLE_TRY(start_delegations(x));
    while (x->filled < x->depth && tulle__schedule_has_next(&x->schedule)) {
        if (x->filled && tulle__schedule_next_is_remote(&x->schedule) && x->ahead >= x->plan->lookahead) break;
        tulle__job *job = free_job(x);
        int nk;
        tulle__schedule_take(&x->schedule, &job->i, &job->j, &nk, job->k);
        job->units = nk;
        job->of = 0;
        TULLE_TRY(start_job(x, nk, NULL));
    }
out:
    return status;
}

/*
 * Reserves anew while one job is left, so that its tiles come while that one is multiplied; what is not reserved stays
 * free for others. Of what was reserved together as many jobs as asked for are started.
 */
static tulle_status start_reserved(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle__steal *steal = x->plan->steal;
    while (x->filled <= x->plan->lookahead && (x->filled < 2 || tulle__steal_in_hand(steal))) {
        tulle__job *job = free_job(x);
        tulle__claim share = {.k = job->k};
        int64_t start = tulle__now(x->plan->comm);
        status = tulle__steal_take(steal, &share);
        x->communicate_ns += tulle__now(x->plan->comm) - start;
        if (status != TULLE_OK || !share.nk) break;
        job->i = share.i;
        job->j = share.j;
        job->units = share.units;
        job->band = share.band;
        job->bands = share.bands;
        job->of = share.of;
        TULLE_TRY(start_job(x, share.nk, NULL));
    }
out:
    return status;
}

tulle_status tulle__jobs_start(tulle__exec *x)
{
    return x->plan->steal ? start_reserved(x) : start_scheduled(x);
}

void tulle__jobs_drop_slices(tulle__exec *x, const tulle__job *job)
{
    for (int n = 0; n < job->nk; n++) {
        tulle__free(x->slice[n]);
        x->slice[n] = NULL;
    }
}

void tulle__jobs_end(tulle__exec *x)
{
    tulle__job *job = &x->ring[x->head];
    for (int n = 0; n < job->nk; n++) {
        tulle__fetch_fini(&job->a[n]);
        tulle__fetch_fini(&job->b[n]);
    }
    tulle__jobs_drop_slices(x, job);
    job->nk = 0;
    x->head = (x->head + 1) % x->depth;
    x->filled--;
}

tulle_status tulle__jobs_set_tiles(
    tulle__exec *x, const tulle__job *job, int n, const tulle_tile *a, const tulle_tile *b)
{
    x->a[n] = *a;
    x->b_tile[n] = *b;
    if (!x->plan->sparse) return TULLE_OK;
    if (!x->plan->phases.whole) {
        tulle_gidx lo, hi;
        tulle__phase_part(x->plan, job->j, &lo, &hi);
        return tulle__phase_slice(b, lo, hi, &x->b[n], &x->slice[n]);
    }
    x->b[n] = tulle__tile_csr(b);
    return TULLE_OK;
}

tulle_status tulle__jobs_await(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    int64_t start = tulle__now(x->plan->comm);
    tulle__node_cache *node_cache = tulle__required_node_cache(x->plan->required);
    if (job->delegation)
        x->delegations_ahead--;
    else
        x->ahead -= job->remote;
    for (int n = 0; n < job->nk; n++) {
        tulle_tile a = {.rowptr = NULL}, b;
        tulle__csr given = {.m = 0};
        const tulle__cut *cut = tulle__required_cut(x->plan->required, job->i, job->k[n], job->j);
        TULLE_TRY(job->delegation ? tulle__delegation_await(job->delegation, &job->a[n], &given)
                                  : tulle__fetch_await(&job->a[n], &a));
        if (node_cache && !job->delegation && tulle__node_cache_has(node_cache, job->k[n], job->j))
            TULLE_TRY(tulle__node_cache_await(
                node_cache, x->plan->operands.B, job->k[n], job->j, tulle__inbox_serve, &x->inbox));
        if (TULLE__PLANTED(unawaited)) job->b[n].group = -1;
        TULLE_TRY(tulle__fetch_await(&job->b[n], &b));
        tulle__operand_cache_arrived(x->plan->operand_cache, job->i, job->k[n], job->j);
        TULLE_TRY(tulle__jobs_set_tiles(x, job, n, &a, &b));
        if (job->delegation) x->a[n] = tulle__csr_tile(&given, b.type);
        if (cut) x->a[n] = tulle__csr_tile(&cut->rest, b.type);
        if (TULLE__PLANTED(early_free)) tulle__fetch_fini(&job->b[n]);
    }
out:
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    return status;
}

void tulle__jobs_show_next(tulle__exec *x)
{
    tulle__run_next *next = &x->plan->runner->next;
    next->tiles.nk = 0;
    if (x->plan->sparse || x->filled < 2) return;
    tulle__job *job = &x->ring[(x->head + 1) % x->depth];
    if (job->delegation || job->of) return;
    for (int n = 0; n < job->nk; n++)
        if (job->a[n].group >= 0 || job->b[n].group >= 0 || tulle__fetch_await(&job->a[n], &x->next_a[n]) != TULLE_OK ||
            tulle__fetch_await(&job->b[n], &x->next_b[n]) != TULLE_OK)
            return;
    *next = (tulle__run_next){
        .tiles = {.i = job->i, .j = job->j, .nk = job->nk, .k = job->k}, .A = x->next_a, .B = x->next_b};
}
