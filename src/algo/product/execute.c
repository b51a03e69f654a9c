/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: takes jobs (a C tile and a few k) from the schedule, fetches the tiles of the next `lookahead` jobs
 * that have remote ones while it multiplies, and sees to where each result goes: into C in place, into a part that is
 * merged at the end, or through the arena to the owner of the tile. Between jobs it serves its queue. It ends when the
 * counted partial results have come; then parts are merged, once, and C is published.
 */
#include <string.h>

#include "algo/product/partial.h"
#include "algo/product/phase.h"
#include "algo/product/plan.h"
#include "algo/product/schedule.h"
#include "algo/product/watch.h"
#include "base/clock.h"
#include "base/error.h"

enum { RING_MAX = 1024 };

typedef struct tulle__job {
    int i, j, nk;
    int remote; /* not all of its tiles are read in place */
    int64_t number;
    int *k;              /* [group] */
    tulle__fetch *a, *b; /* [group] */
} tulle__job;

struct exec {
    tulle_plan *plan;
    tulle__inbox inbox;
    tulle__schedule schedule;
    int phase;
    tulle__job *ring; /* [depth]: jobs started; the head is the next to be multiplied */
    int depth, head, filled;
    int ahead; /* remote jobs that were started and not yet waited for */
    int64_t jobs;
    tulle__csr *a, *b;            /* [group + 1]: what a job multiplies */
    tulle_tile *b_tile;           /* [group] */
    tulle__spmm_pair *dense_pair; /* [group] */
    tulle__spgemm_pair *pair;     /* [room] */
    int pair_room;
    void **slice; /* [group]: of a phase */
    int64_t compute_ns, communicate_ns, wait_ns, multiplications;
};

/* Starts the fetches of the next job. */
static tulle_status start_job(struct exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__clock_ns();
    tulle__job *job = &x->ring[(x->head + x->filled) % x->depth];
    int nk;
    tulle__schedule_take(&x->schedule, &job->i, &job->j, &nk, job->k);
    job->nk = job->remote = 0;
    job->number = x->jobs++;
    x->filled++;
    for (int n = 0; n < nk; n++) {
        TULLE_TRY(tulle__fetch_init(plan->operands.A, job->i, job->k[n], &job->a[n]));
        job->nk++; /* from here on ending the job sees to what was fetched */
        TULLE_TRY(tulle__fetch_init(plan->operands.B, job->k[n], job->j, &job->b[n]));
        job->remote |= job->a[n].group >= 0 || job->b[n].group >= 0;
    }
    x->ahead += job->remote;
    x->communicate_ns += tulle__clock_ns() - start;
out:
    return status;
}

/* Keeps as many remote jobs started as asked for, and the local ones between them. */
static tulle_status start_jobs(struct exec *x)
{
    tulle_status status = TULLE_OK;
    while (x->filled < x->depth && tulle__schedule_has_next(&x->schedule)) {
        if (x->filled && tulle__schedule_next_is_remote(&x->schedule) && x->ahead >= x->plan->lookahead) break;
        TULLE_TRY(start_job(x));
    }
out:
    return status;
}

static void end_job(struct exec *x)
{
    tulle__job *job = &x->ring[x->head];
    for (int n = 0; n < job->nk; n++) {
        tulle__fetch_fini(&job->a[n]);
        tulle__fetch_fini(&job->b[n]);
        tulle__free(x->slice[n]);
        x->slice[n] = NULL;
    }
    job->nk = 0;
    x->head = (x->head + 1) % x->depth;
    x->filled--;
}

/* Waits for the tiles of the job at the head. */
static tulle_status await_job(struct exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    int64_t start = tulle__clock_ns();
    x->ahead -= job->remote;
    for (int n = 0; n < job->nk; n++) {
        tulle_tile tile;
        TULLE_TRY(tulle__fetch_await(&job->a[n], &tile));
        x->a[n] = tulle__tile_csr(&tile);
        TULLE_TRY(tulle__fetch_await(&job->b[n], &x->b_tile[n]));
        if (x->plan->sparse && x->plan->phases > 1) {
            tulle_gidx lo, hi;
            tulle__phase_columns(x->plan, x->phase, job->j, &lo, &hi);
            TULLE_TRY(tulle__phase_slice(&x->b_tile[n], lo, hi, &x->b[n], &x->slice[n]));
        } else if (x->plan->sparse) {
            x->b[n] = tulle__tile_csr(&x->b_tile[n]);
        }
    }
out:
    x->communicate_ns += tulle__clock_ns() - start;
    return status;
}

static void computed(struct exec *x, const char *what, int64_t start)
{
    int64_t end = tulle__clock_ns();
    x->compute_ns += end - start;
    tulle__timeline_span(x->plan->comm->pe->timeline, what, start, end, -1, -1);
}

/* ---- dense C ---- */

struct scaling {
    tulle_tile tile;
    double beta;
};

static tulle_status scale_part(void *arg, int thread, int nthreads)
{
    const struct scaling *s = arg;
    int64_t from = s->tile.nnz * thread / nthreads, to = s->tile.nnz * (thread + 1) / nthreads;
    size_t size = tulle_type_size(s->tile.type);
    if (s->beta == 0) {
        memset((char *)s->tile.val + (size_t)from * size, 0, (size_t)(to - from) * size);
    } else if (s->tile.type == TULLE_F32) {
        float *v = s->tile.val, beta = (float)s->beta;
        for (int64_t e = from; e < to; e++) v[e] *= beta;
    } else {
        double *v = s->tile.val;
        for (int64_t e = from; e < to; e++) v[e] *= s->beta;
    }
    return TULLE_OK;
}

static tulle_status scale_target(tulle_plan *plan, tulle__target *target)
{
    struct scaling scaling = {.beta = plan->options.beta};
    target->scaled = 1;
    tulle_status status = tulle_mat_tile(plan->C, target->i, target->j, &scaling.tile);
    if (status != TULLE_OK || scaling.beta == 1 || !scaling.tile.nnz) return status;
    return tulle__pool_run(plan->context->pool, scale_part, &scaling);
}

/* Rows [r0, r0 + rows) of the job's product into memory that begins with row r0. */
static tulle_status multiply_dense(struct exec *x, const tulle__job *job, tulle_gidx r0, tulle_gidx rows, void *to,
    int64_t row_step, int64_t col_step, double beta)
{
    tulle_gidx n = tulle__tile_cols(x->plan->C, job->j);
    for (int p = 0; p < job->nk; p++) {
        const tulle_tile *B = &x->b_tile[p];
        tulle__spmm_pair *pair = &x->dense_pair[p];
        *pair = (tulle__spmm_pair){.A = x->a[p],
            .B = B->val,
            .b_row = B->order == TULLE_ROW_MAJOR ? B->ld : 1,
            .b_col = B->order == TULLE_ROW_MAJOR ? 1 : B->ld};
        pair->A.rowptr += r0;
        pair->A.m = rows;
        x->multiplications += (pair->A.rowptr[rows] - pair->A.rowptr[0]) * n;
    }
    tulle__spmm_task task = {.type = x->plan->C->type,
        .m = rows,
        .n = n,
        .npairs = job->nk,
        .pair = x->dense_pair,
        .C = to,
        .c_row = row_step,
        .c_col = col_step,
        .alpha = x->plan->options.alpha,
        .beta = beta};
    return x->plan->context->kernels->spmm(x->plan->context->pool, &task);
}

static tulle_status own_dense(struct exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_tile C;
    tulle_status status = tulle_mat_tile(x->plan->C, job->i, job->j, &C);
    if (status != TULLE_OK || !C.nnz) return status;
    if (!job->nk) return target->scaled ? TULLE_OK : scale_target(x->plan, target);
    double beta = target->scaled ? 1 : x->plan->options.beta;
    target->scaled = 1;
    int by_row = C.order == TULLE_ROW_MAJOR;
    return multiply_dense(x, job, 0, C.m, C.val, by_row ? C.ld : 1, by_row ? 1 : C.ld, beta);
}

static tulle_status send_dense(struct exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    size_t size = tulle_type_size(plan->C->type);
    tulle_gidx m = tulle__tile_rows(plan->C, job->i), n = tulle__tile_cols(plan->C, job->j);
    tulle_gidx most = (tulle_gidx)(tulle__arena_panel_bytes(plan->arena) / (size * (size_t)(n > 0 ? n : 1)));
    int tile = (int)tulle__tile_index(plan->C, job->i, job->j);
    if (!most)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a row of %.3f MB of C does not fit a panel of %.3f MB; the arena is too small",
            (double)n * (double)size / 1e6, (double)tulle__arena_panel_bytes(plan->arena) / 1e6);
    for (tulle_gidx r0 = 0; r0 < m; r0 += most) {
        tulle__panel panel;
        tulle_gidx rows = m - r0 < most ? m - r0 : most;
        int64_t start = tulle__clock_ns();
        TULLE_TRY(tulle__arena_take(plan->arena, tulle__inbox_serve, &x->inbox, &panel));
        x->communicate_ns += tulle__clock_ns() - start;
        start = tulle__clock_ns();
        status = multiply_dense(x, job, r0, rows, panel.local, n, 1, 0);
        computed(x, "multiply", start);
        if (status != TULLE_OK) {
            tulle__arena_return(plan->arena, &panel);
            goto out;
        }
        start = tulle__clock_ns();
        TULLE_TRY(tulle__partial_push(
            &x->inbox, tile, job->k[0], &panel, r0 * n * (int64_t)size, rows * n * (int64_t)size, r0 + rows == m));
        x->communicate_ns += tulle__clock_ns() - start;
    }
out:
    return status;
}

/* ---- sparse C ---- */

/* A result placed in a private block, laid out as a tile. */
struct block_place {
    tulle_type type;
    char *block;
};

static tulle_status place_block(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    struct block_place *place = context;
    tulle__csr_offsets o = tulle__csr_offsets_of(m, nnz, place->type);
    tulle_status status = tulle__alloc(o.length, 1, "a partial result", &place->block);
    if (status != TULLE_OK) return status;
    *C = (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)place->block,
        .colind = (int32_t *)(void *)(place->block + o.colind),
        .val = place->block + o.val};
    return TULLE_OK;
}

struct tile_place {
    tulle_mat *C;
    int i, j;
};

static tulle_status place_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)m;
    const struct tile_place *place = context;
    tulle_tile tile;
    tulle_status status = tulle__mat_place(place->C, place->i, place->j, nnz, &tile);
    if (status != TULLE_OK) return status;
    *C = (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(uintptr_t)tile.rowptr,
        .colind = (int32_t *)(uintptr_t)tile.colind,
        .val = tile.val};
    return TULLE_OK;
}

static tulle_status room_for_pairs(struct exec *x, int pairs)
{
    if (pairs <= x->pair_room) return TULLE_OK;
    tulle_status status = tulle__realloc((size_t)pairs, sizeof *x->pair, "summands", &x->pair);
    if (status == TULLE_OK) x->pair_room = pairs;
    return status;
}

static tulle__csr_result block_result(const struct exec *x, int i, int64_t nnz, char *block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(tulle__tile_rows(x->plan->C, i), nnz, x->plan->C->type);
    return (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)block,
        .colind = (int32_t *)(void *)(block + o.colind),
        .val = block + o.val};
}

/* beta C as one more summand, if there is one. */
static int add_old(struct exec *x, int i, int j, int pairs)
{
    tulle_tile old;
    if (x->plan->options.beta == 0 || tulle_mat_tile(x->plan->C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__tile_csr(&old), .scale = x->plan->options.beta};
    x->pair[pairs].A.m = old.m;
    return pairs + 1;
}

/* Runs the kernel into C's own tile: whole, or the values only if the structure is known. */
static tulle_status into_tile(struct exec *x, int i, int j, int pairs, int64_t *multiplications)
{
    tulle_plan *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->C->type,
        .m = tulle__tile_rows(plan->C, i),
        .n = tulle__tile_cols(plan->C, j),
        .npairs = pairs,
        .pair = x->pair};
    tulle__csr_result result = {.nnz = 0};
    if (x->inbox.reuse) {
        tulle_tile C;
        tulle_status status = tulle_mat_tile(plan->C, i, j, &C);
        if (status != TULLE_OK || !C.nnz) return status;
        result = (tulle__csr_result){.nnz = C.nnz,
            .rowptr = (int64_t *)(uintptr_t)C.rowptr,
            .colind = (int32_t *)(uintptr_t)C.colind,
            .val = C.val};
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &result);
    }
    struct tile_place place = {plan->C, i, j};
    if (!pairs || !task.m || !task.n) {
        tulle_status status = place_tile(&place, task.m, 0, &result);
        if (status == TULLE_OK) memset(result.rowptr, 0, ((size_t)task.m + 1) * sizeof *result.rowptr);
        return status;
    }
    tulle_status status = plan->context->kernels->spgemm(plan->context->pool, &task, place_tile, &place, &result);
    if (status == TULLE_OK) *multiplications += result.multiplications;
    return status;
}

/* Runs the kernel into a private block, new or known. */
static tulle_status into_block(struct exec *x, int i, int j, int pairs, int64_t *nnz, char **block)
{
    tulle_plan *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->C->type,
        .m = tulle__tile_rows(plan->C, i),
        .n = tulle__tile_cols(plan->C, j),
        .npairs = pairs,
        .pair = x->pair};
    if (x->inbox.reuse && *block) {
        tulle__csr_result known = block_result(x, i, *nnz, *block);
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &known);
    }
    struct block_place place = {.type = plan->C->type};
    tulle__csr_result result;
    tulle_status status = plan->context->kernels->spgemm(plan->context->pool, &task, place_block, &place, &result);
    if (status != TULLE_OK) {
        tulle__free(place.block);
        return status;
    }
    tulle__free(*block);
    *block = place.block;
    *nnz = result.nnz;
    x->multiplications += result.multiplications;
    return TULLE_OK;
}

static tulle_status pairs_of_job(struct exec *x, const tulle__job *job)
{
    tulle_status status = room_for_pairs(x, job->nk + 1);
    if (status != TULLE_OK) return status;
    for (int n = 0; n < job->nk; n++)
        x->pair[n] = (tulle__spgemm_pair){.A = x->a[n], .B = x->b[n], .scale = x->plan->options.alpha};
    return TULLE_OK;
}

static tulle_status own_sparse(struct exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_status status;
    TULLE_TRY(pairs_of_job(x, job));
    if (target->own_jobs + target->remote <= 1) {
        TULLE_TRY(into_tile(x, job->i, job->j, add_old(x, job->i, job->j, job->nk), &x->multiplications));
    } else if (job->nk) {
        tulle__part *part;
        TULLE_TRY(tulle__target_part(target, x->plan->comm->rank, job->k[0], &part));
        TULLE_TRY(into_block(x, job->i, job->j, job->nk, &part->nnz, &part->block));
    }
out:
    return status;
}

static tulle_status send_sparse(struct exec *x, const tulle__job *job)
{
    tulle_status status;
    tulle_plan *plan = x->plan;
    int tile = (int)tulle__tile_index(plan->C, job->i, job->j);
    if (job->number >= plan->sent_room) {
        int64_t room = 2 * job->number + 16;
        TULLE_TRY(tulle__realloc((size_t)room, sizeof *plan->sent, "partial results", &plan->sent));
        plan->sent_room = room;
    }
    while (plan->njobs <= job->number) plan->sent[plan->njobs++] = (tulle__sent){0, NULL};
    tulle__sent *sent = &plan->sent[job->number];
    int64_t start = tulle__clock_ns();
    TULLE_TRY(pairs_of_job(x, job));
    status = into_block(x, job->i, job->j, job->nk, &sent->nnz, &sent->block);
    computed(x, "multiply", start);
    if (status != TULLE_OK) goto out;
    start = tulle__clock_ns();
    tulle__csr_offsets o = tulle__csr_offsets_of(tulle__tile_rows(plan->C, job->i), sent->nnz, plan->C->type);
    uint64_t from = x->inbox.reuse ? o.val : 0;
    TULLE_TRY(tulle__partial_send(
        &x->inbox, tile, job->k[0], sent->nnz, sent->block + from, (int64_t)from, (int64_t)(o.length - from)));
    if (plan->phases > 1) {
        tulle__free(sent->block);
        sent->block = NULL;
    }
    x->communicate_ns += tulle__clock_ns() - start;
out:
    return status;
}

/* ---- the run ---- */

static tulle_status multiply_job(struct exec *x, const tulle__job *job)
{
    tulle_plan *plan = x->plan;
    int index = plan->target_of[tulle__tile_index(plan->C, job->i, job->j)];
    if (index < 0) return plan->sparse ? send_sparse(x, job) : send_dense(x, job);
    int64_t start = tulle__clock_ns();
    tulle_status status =
        plan->sparse ? own_sparse(x, job, &plan->target[index]) : own_dense(x, job, &plan->target[index]);
    computed(x, "multiply", start);
    return status;
}

static tulle_status run_jobs(struct exec *x)
{
    tulle_status status = TULLE_OK;
    tulle__watch watch = tulle__watch_phase(x->plan, x->phase, tulle__schedule_jobs(&x->schedule));
    TULLE_TRY(start_jobs(x));
    while (x->filled) {
        const tulle__job *job = &x->ring[x->head];
        TULLE_TRY(await_job(x, job));
        TULLE_TRY(start_jobs(x)); /* so that the next fetches run while this job is multiplied */
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        TULLE_TRY(multiply_job(x, job));
        end_job(x);
        tulle__progress(x->plan->comm);
        tulle__watch_job(&watch);
        TULLE_TRY(start_jobs(x));
    }
out:
    tulle__watch_end(&watch, status);
    return status;
}

/* Counted termination: all partial results meant for this PE have come, and all of its own have been taken. */
static tulle_status receive_rest(struct exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__clock_ns(), busy = x->inbox.accumulate_ns;
    for (int turns = 0; x->inbox.received < plan->remote_partials;) {
        int64_t before = x->inbox.received;
        TULLE_TRY(tulle__inbox_serve(&x->inbox));
        if (x->inbox.received > before) {
            turns = 0;
            continue;
        }
        TULLE_TRY(tulle__comm_failed(plan->comm));
        tulle__pause(plan->comm, &turns);
    }
    if (plan->arena) TULLE_TRY(tulle__arena_drain(plan->arena, tulle__inbox_serve, &x->inbox));
out:
    x->wait_ns += tulle__clock_ns() - start - (x->inbox.accumulate_ns - busy);
    return status;
}

static void sort_parts(tulle__target *target)
{
    for (int p = 1; p < target->nparts; p++) {
        tulle__part part = target->part[p];
        int q = p;
        for (; q > 0 && target->part[q - 1].key > part.key; q--) target->part[q] = target->part[q - 1];
        target->part[q] = part;
    }
}

/* All parts of a tile in one pass, in the order of their keys: each entry is written once more. */
static tulle_status merge_parts(struct exec *x, tulle__target *target)
{
    tulle_status status;
    sort_parts(target);
    TULLE_TRY(room_for_pairs(x, target->nparts + 1));
    int pairs = 0;
    for (int p = 0; p < target->nparts; p++) {
        if (!target->part[p].nnz) continue;
        tulle__csr_result r = block_result(x, target->i, target->part[p].nnz, target->part[p].block);
        tulle_gidx m = tulle__tile_rows(x->plan->C, target->i);
        x->pair[pairs++] = (tulle__spgemm_pair){.A = {.m = m, .n = m},
            .B = {.m = m,
                .n = tulle__tile_cols(x->plan->C, target->j),
                .rowptr = r.rowptr,
                .colind = r.colind,
                .val = r.val},
            .scale = 1};
    }
    int64_t merged = 0; /* additions, not multiplications of the product */
    TULLE_TRY(into_tile(x, target->i, target->j, add_old(x, target->i, target->j, pairs), &merged));
    if (x->plan->phases > 1) { /* nothing is reused: the next phase has other columns */
        for (int p = 0; p < target->nparts; p++) tulle__free(target->part[p].block);
        target->nparts = 0;
    }
out:
    return status;
}

static tulle_status finish(struct exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__clock_ns();
    if (plan->sparse) {
        for (int t = 0; t < plan->ntargets; t++) {
            tulle__target *target = &plan->target[t];
            /* with one own job the tile is in place already; stationary C also has a job for a tile without k */
            if (target->remote == 0 && target->own_jobs <= 1 &&
                (target->own_jobs == 1 || plan->policy->alg == TULLE_ALG_STATIONARY_C))
                continue;
            TULLE_TRY(merge_parts(x, target));
        }
    } else {
        TULLE_TRY(tulle__inbox_add_kept(&x->inbox));
    }
    int64_t end = tulle__clock_ns();
    x->inbox.accumulate_ns += end - start;
    if (end - start > 1000) tulle__timeline_span(plan->comm->pe->timeline, "merge", start, end, -1, -1);
out:
    return status;
}

/* Jobs that may be started at a time: local ones take no memory, so that remote ones can be found far ahead. */
static int ring_size(const tulle_plan *plan, int64_t jobs)
{
    int64_t size = plan->direct || plan->lookahead == 0 ? 1 : plan->lookahead + (int64_t)RING_MAX;
    return (int)(jobs < 1 ? 1 : size < jobs ? size : jobs);
}

static tulle_status begin(struct exec *x, tulle_plan *plan)
{
    tulle_status status;
    size_t group = (size_t)plan->group;
    x->plan = plan;
    TULLE_TRY(tulle__schedule_init(&x->schedule, plan));
    x->depth = ring_size(plan, tulle__schedule_jobs(&x->schedule));
    TULLE_TRY(tulle__alloc_zero((size_t)x->depth, sizeof *x->ring, "jobs", &x->ring));
    for (int d = 0; d < x->depth; d++) {
        TULLE_TRY(tulle__alloc(group, sizeof(int), "jobs", &x->ring[d].k));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].a));
        TULLE_TRY(tulle__alloc_zero(group, sizeof(tulle__fetch), "jobs", &x->ring[d].b));
    }
    TULLE_TRY(tulle__alloc(group, sizeof *x->a, "jobs", &x->a));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b, "jobs", &x->b));
    TULLE_TRY(tulle__alloc(group, sizeof *x->b_tile, "jobs", &x->b_tile));
    TULLE_TRY(tulle__alloc(group, sizeof *x->dense_pair, "jobs", &x->dense_pair));
    TULLE_TRY(tulle__alloc_zero(group, sizeof *x->slice, "jobs", &x->slice));
    for (int t = 0; t < plan->ntargets; t++) {
        plan->target[t].scaled = 0;
        for (int p = 0; p < plan->target[t].nparts; p++) plan->target[t].part[p].got = 0;
        /* others add into a dense tile as soon as they come: beta first, unless only its owner ever writes it */
        if (!plan->sparse && plan->policy->alg != TULLE_ALG_STATIONARY_C)
            TULLE_TRY(scale_target(plan, &plan->target[t]));
    }
out:
    return status;
}

static void end(struct exec *x)
{
    while (x->ring && x->filled) end_job(x);
    for (int d = 0; x->ring && d < x->depth; d++) {
        tulle__free(x->ring[d].k);
        tulle__free(x->ring[d].a);
        tulle__free(x->ring[d].b);
    }
    tulle__free(x->ring);
    tulle__schedule_fini(&x->schedule);
    tulle__free(x->a);
    tulle__free(x->b);
    tulle__free(x->b_tile);
    tulle__free(x->slice);
    tulle__free(x->dense_pair);
    tulle__free(x->pair);
    tulle__inbox_fini(&x->inbox);
}

static tulle_status refresh(tulle_mat *X, tulle_mat **T, tulle_mat **effective)
{
    if (!*T) return TULLE_OK;
    tulle_mat *made;
    tulle_status status = tulle_mat_transpose(X, &made);
    if (status != TULLE_OK) return status;
    tulle__mat_drop(*T); /* transposing has met: nobody still reads the old one */
    *effective = *T = made;
    return TULLE_OK;
}

/* Everything between the first and the last meeting. */
static tulle_status execute(struct exec *x, tulle_plan *plan, int phase)
{
    tulle_status status;
    x->phase = phase;
    x->inbox.plan = plan;
    x->inbox.reuse = plan->sparse && plan->phases == 1 && plan->options.beta == 0 && plan->known_A &&
                     plan->known_A == plan->A->structure && plan->known_B == plan->B->structure &&
                     plan->known_C == plan->C->structure;
    if (!x->inbox.reuse) tulle__plan_forget(plan);
    TULLE_TRY(begin(x, plan));
    TULLE_TRY(run_jobs(x));
    TULLE_TRY(receive_rest(x));
    TULLE_TRY(finish(x));
    int64_t start = tulle__clock_ns();
    if (plan->sparse && !x->inbox.reuse)
        TULLE_TRY(tulle__mat_publish(plan->C));
    else if (plan->comm->size > 1)
        TULLE_TRY(tulle_comm_barrier(plan->comm));
    x->wait_ns += tulle__clock_ns() - start;
out:
    return status;
}

static tulle_spread spread_of(const double *all, int size, int stride)
{
    tulle_spread s = {all[0], 0};
    for (int r = 0; r < size; r++) {
        double v = all[r * stride];
        if (v > s.max) s.max = v;
        s.mean += v / size;
    }
    return s;
}

enum { SECONDS, COMPUTE, COMMUNICATE, ACCUMULATE, WAIT, WORK, BYTES, PARTIALS, FACTS };

static tulle_status make_report(
    tulle_plan *plan, const struct exec *x, int64_t elapsed, int64_t bytes, int reused, tulle_report *report)
{
    tulle_status status;
    int size = plan->comm->size;
    double mine[FACTS], *all = NULL;
    TULLE_TRY(tulle__alloc((size_t)size * FACTS, sizeof *all, "report", &all));
    mine[SECONDS] = (double)elapsed * 1e-9;
    mine[COMPUTE] = (double)x->compute_ns * 1e-9;
    mine[COMMUNICATE] = (double)x->communicate_ns * 1e-9;
    mine[ACCUMULATE] = (double)x->inbox.accumulate_ns * 1e-9;
    mine[WAIT] = (double)x->wait_ns * 1e-9;
    mine[WORK] = (double)plan->multiplications;
    mine[BYTES] = (double)bytes;
    mine[PARTIALS] = (double)x->inbox.sent;
    TULLE_TRY(tulle_comm_allgather(plan->comm, mine, sizeof mine, all));
    tulle_spread work = spread_of(all + WORK, size, FACTS);
    *report = (tulle_report){.seconds = spread_of(all + SECONDS, size, FACTS).max,
        .compute = spread_of(all + COMPUTE, size, FACTS),
        .communicate = spread_of(all + COMMUNICATE, size, FACTS),
        .accumulate = spread_of(all + ACCUMULATE, size, FACTS),
        .wait = spread_of(all + WAIT, size, FACTS),
        .load_imbalance = work.mean > 0 ? work.max / work.mean : 1,
        .flops = (int64_t)(2 * work.mean * size + 0.5),
        .bytes_moved = (int64_t)(spread_of(all + BYTES, size, FACTS).mean * size + 0.5),
        .partials = (int64_t)(spread_of(all + PARTIALS, size, FACTS).mean * size + 0.5),
        .nnz_c = plan->sparse ? plan->C->nnz : plan->C->layout->m * plan->C->layout->n,
        .reused = reused,
        .phases = plan->phases};
out:
    tulle__free(all);
    return status;
}

tulle_status tulle_plan_execute_phase(tulle_plan *plan, int phase, tulle_report *report)
{
    struct exec x = {.phase = phase};
    tulle_comm *comm = plan->comm;
    if (phase < 0 || phase >= plan->phases)
        return tulle__fail(TULLE_ERR_ARG, "phase %d of a plan of %d", phase, plan->phases);
    int64_t start = tulle__clock_ns(), bytes = comm->pe->counters.bytes;
    tulle_status status = refresh(plan->A, &plan->At, &plan->operands.A);
    if (status == TULLE_OK) status = refresh(plan->B, &plan->Bt, &plan->operands.B);
    if (status == TULLE_OK) status = tulle__plan_connect(plan);
    if (status != TULLE_OK) return status;
    status = execute(&x, plan, phase);
    int reused = x.inbox.reuse;
    /* what is on its way must have landed before its memory is freed, and before others are told */
    while (x.ring && x.filled) end_job(&x);
    status = tulle_comm_agree(comm, status);
    int64_t elapsed = tulle__clock_ns() - start;
    if (status == TULLE_OK) {
        if (!reused) {
            plan->multiplications = x.multiplications;
            plan->known_A = plan->A->structure;
            plan->known_B = plan->B->structure;
            plan->known_C = plan->C->structure;
        }
        if (report)
            status = tulle_comm_agree(
                comm, make_report(plan, &x, elapsed, comm->pe->counters.bytes - bytes, reused, report));
    } else {
        tulle__mat_unplace(plan->C);
        tulle__plan_forget(plan);
        tulle__plan_disconnect(plan); /* records of this run may still lie in it */
    }
    end(&x);
    return status;
}

tulle_status tulle_plan_execute(tulle_plan *plan, tulle_report *report)
{
    if (plan->phases > 1)
        return tulle__fail(TULLE_ERR_LIMIT,
            "the result does not fit in memory at once: it takes %d phases, each by tulle_plan_execute_phase",
            plan->phases);
    return tulle_plan_execute_phase(plan, 0, report);
}
