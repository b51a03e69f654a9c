/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a job: its product goes into C in place, into a part that is merged at the end, or through the arena
 * to the owner of the C tile.
 */
#include <string.h>

#include "algo/product/charge.h"
#include "algo/product/execute.h"
#include "base/error.h"

static void computed(tulle__exec *x, const char *what, int64_t start)
{
    int64_t end = tulle__charge_end(&x->inbox);
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

tulle_status tulle__scale_target(tulle__exec *x, tulle__target *target)
{
    tulle_plan *plan = x->plan;
    struct scaling scaling = {.beta = plan->options.beta};
    target->scaled = 1;
    tulle_status status = tulle_mat_tile(plan->C, target->i, target->j, &scaling.tile);
    if (status != TULLE_OK || scaling.beta == 1 || !scaling.tile.nnz) return status;
    tulle__charge_scale(&x->inbox, &scaling.tile, scaling.beta);
    return tulle__pool_run(plan->context->pool, scale_part, &scaling);
}

/* Rows [r0, r0 + rows) of the job's product into memory that begins with row r0. */
static tulle_status multiply_dense(tulle__exec *x, const tulle__job *job, tulle_gidx r0, tulle_gidx rows, void *to,
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
    tulle__charge_spmm(&x->inbox, &task);
    return x->plan->context->kernels->spmm(x->plan->context->pool, &task);
}

/* Own units beside others', to be added in the order of k: which are own is a matter of timing under stealing. */
static tulle_status keep_dense(tulle__exec *x, const tulle__job *job)
{
    const tulle_mat *C = x->plan->C;
    tulle_gidx m = tulle__tile_rows(C, job->i), n = tulle__tile_cols(C, job->j);
    tulle__kept kept = {.tile = (int)tulle__tile_index(C, job->i, job->j),
        .key = job->k[0],
        .length = m * n * (int64_t)tulle_type_size(C->type)};
    tulle_status status = tulle__alloc((size_t)kept.length, 1, "a kept panel", &kept.data);
    if (status != TULLE_OK) return status;
    status = multiply_dense(x, job, 0, m, kept.data, n, 1, 0);
    if (status == TULLE_OK) return tulle__inbox_keep(&x->inbox, kept);
    tulle__free(kept.data);
    return status;
}

static tulle_status own_dense(tulle__exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_tile C;
    tulle_status status = tulle_mat_tile(x->plan->C, job->i, job->j, &C);
    if (status != TULLE_OK || !C.nnz) return status;
    if (x->plan->steal && x->plan->options.deterministic) return keep_dense(x, job);
    if (!job->nk) return target->scaled ? TULLE_OK : tulle__scale_target(x, target);
    double beta = target->scaled ? 1 : x->plan->options.beta;
    target->scaled = 1;
    int by_row = C.order == TULLE_ROW_MAJOR;
    return multiply_dense(x, job, 0, C.m, C.val, by_row ? C.ld : 1, by_row ? 1 : C.ld, beta);
}

static tulle_status send_dense(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    size_t size = tulle_type_size(plan->C->type);
    tulle_gidx m = tulle__tile_rows(plan->C, job->i), n = tulle__tile_cols(plan->C, job->j);
    tulle_gidx most = (tulle_gidx)(tulle__arena_panel_bytes(plan->arena) / (size * (size_t)(n > 0 ? n : 1)));
    tulle__partial partial = {
        .tile = (int)tulle__tile_index(plan->C, job->i, job->j), .key = job->k[0], .units = job->nk};
    if (!most)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a row of %.3f MB of C does not fit a panel of %.3f MB; the arena is too small",
            (double)n * (double)size / 1e6, (double)tulle__arena_panel_bytes(plan->arena) / 1e6);
    for (tulle_gidx r0 = 0; r0 < m; r0 += most) {
        tulle__panel panel;
        tulle_gidx rows = m - r0 < most ? m - r0 : most;
        int64_t start = tulle__now(plan->comm);
        TULLE_TRY(tulle__arena_take(plan->arena, tulle__inbox_serve, &x->inbox, &panel));
        x->communicate_ns += tulle__now(plan->comm) - start;
        start = tulle__kernel_begin(plan->comm);
        status = multiply_dense(x, job, r0, rows, panel.local, n, 1, 0);
        computed(x, "multiply", start);
        if (status != TULLE_OK) {
            tulle__arena_return(plan->arena, &panel);
            goto out;
        }
        start = tulle__now(plan->comm);
        TULLE_TRY(tulle__partial_push(
            &x->inbox, &partial, &panel, r0 * n * (int64_t)size, rows * n * (int64_t)size, r0 + rows == m));
        x->communicate_ns += tulle__now(plan->comm) - start;
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

static tulle_status room_for_pairs(tulle__exec *x, int pairs)
{
    if (pairs <= x->pair_room) return TULLE_OK;
    tulle_status status = tulle__realloc((size_t)pairs, sizeof *x->pair, "summands", &x->pair);
    if (status == TULLE_OK) x->pair_room = pairs;
    return status;
}

static tulle__csr_result block_result(const tulle__exec *x, int i, int64_t nnz, char *block)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(tulle__tile_rows(x->plan->C, i), nnz, x->plan->C->type);
    return (tulle__csr_result){.nnz = nnz,
        .rowptr = (int64_t *)(void *)block,
        .colind = (int32_t *)(void *)(block + o.colind),
        .val = block + o.val};
}

/* beta C as one more summand, if there is one. */
static int add_old(tulle__exec *x, int i, int j, int pairs)
{
    tulle_tile old;
    if (x->plan->options.beta == 0 || tulle_mat_tile(x->plan->C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__tile_csr(&old), .scale = x->plan->options.beta};
    x->pair[pairs].A.m = old.m;
    return pairs + 1;
}

/* Runs the kernel into C's own tile: whole, or the values only if the structure is known. */
static tulle_status into_tile(tulle__exec *x, int i, int j, int pairs, int64_t *multiplications)
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
        tulle__charge_spgemm(&x->inbox, &task, C.nnz);
        return plan->context->kernels->spgemm_numeric(plan->context->pool, &task, &result);
    }
    struct tile_place place = {plan->C, i, j};
    if (!pairs || !task.m || !task.n) {
        tulle_status status = place_tile(&place, task.m, 0, &result);
        if (status == TULLE_OK) memset(result.rowptr, 0, ((size_t)task.m + 1) * sizeof *result.rowptr);
        return status;
    }
    tulle_status status = plan->context->kernels->spgemm(plan->context->pool, &task, place_tile, &place, &result);
    if (status != TULLE_OK) return status;
    *multiplications += result.multiplications;
    tulle__charge_spgemm(&x->inbox, &task, result.nnz);
    return TULLE_OK;
}

/* Runs the kernel into a private block, new or known. */
static tulle_status into_block(tulle__exec *x, int i, int j, int pairs, int64_t *nnz, char **block)
{
    tulle_plan *plan = x->plan;
    tulle__spgemm_task task = {.type = plan->C->type,
        .m = tulle__tile_rows(plan->C, i),
        .n = tulle__tile_cols(plan->C, j),
        .npairs = pairs,
        .pair = x->pair};
    if (x->inbox.reuse && *block) {
        tulle__csr_result known = block_result(x, i, *nnz, *block);
        tulle__charge_spgemm(&x->inbox, &task, *nnz);
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
    tulle__charge_spgemm(&x->inbox, &task, result.nnz);
    return TULLE_OK;
}

static tulle_status pairs_of_job(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = room_for_pairs(x, job->nk + 1);
    if (status != TULLE_OK) return status;
    for (int n = 0; n < job->nk; n++)
        x->pair[n] = (tulle__spgemm_pair){.A = x->a[n], .B = x->b[n], .scale = x->plan->options.alpha};
    return TULLE_OK;
}

static tulle_status own_sparse(tulle__exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_status status;
    TULLE_TRY(pairs_of_job(x, job));
    if (job->nk == target->units) {
        target->placed = 1;
        TULLE_TRY(into_tile(x, job->i, job->j, add_old(x, job->i, job->j, job->nk), &x->multiplications));
    } else if (job->nk) {
        tulle__part *part;
        TULLE_TRY(tulle__target_part(target, x->plan->comm->rank, job->k[0], &part));
        TULLE_TRY(into_block(x, job->i, job->j, job->nk, &part->nnz, &part->block));
    }
out:
    return status;
}

/* Where the block of a partial result is kept until the next execution, if this plan has the same jobs then. */
static tulle_status sent_of_job(tulle_plan *plan, const tulle__job *job, tulle__sent **sent)
{
    tulle_status status = TULLE_OK;
    if (job->number >= plan->sent_room) {
        int64_t room = 2 * job->number + 16;
        TULLE_TRY(tulle__realloc((size_t)room, sizeof *plan->sent, "partial results", &plan->sent));
        plan->sent_room = room;
    }
    while (plan->njobs <= job->number) plan->sent[plan->njobs++] = (tulle__sent){0, NULL};
    *sent = &plan->sent[job->number];
out:
    return status;
}

static tulle_status send_sparse(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    tulle__sent once = {0, NULL}, *sent = &once;
    int64_t start = tulle__kernel_begin(plan->comm);
    if (plan->phases == 1 && !plan->steal) TULLE_TRY(sent_of_job(plan, job, &sent));
    TULLE_TRY(pairs_of_job(x, job));
    status = into_block(x, job->i, job->j, job->nk, &sent->nnz, &sent->block);
    computed(x, "multiply", start);
    if (status != TULLE_OK) goto out;
    start = tulle__now(plan->comm);
    tulle__csr_offsets o = tulle__csr_offsets_of(tulle__tile_rows(plan->C, job->i), sent->nnz, plan->C->type);
    uint64_t from = x->inbox.reuse ? o.val : 0;
    tulle__partial partial = {
        .tile = (int)tulle__tile_index(plan->C, job->i, job->j), .key = job->k[0], .units = job->nk, .nnz = sent->nnz};
    status = tulle__partial_send(&x->inbox, &partial, sent->block + from, (int64_t)from, (int64_t)(o.length - from));
    x->communicate_ns += tulle__now(plan->comm) - start;
out:
    tulle__free(once.block);
    return status;
}

tulle_status tulle__multiply_job(tulle__exec *x, const tulle__job *job)
{
    tulle_plan *plan = x->plan;
    int index = plan->target_of[tulle__tile_index(plan->C, job->i, job->j)];
    x->units += job->nk;
    if (index < 0) return plan->sparse ? send_sparse(x, job) : send_dense(x, job);
    x->own_units += job->nk;
    int64_t start = tulle__kernel_begin(plan->comm);
    tulle_status status =
        plan->sparse ? own_sparse(x, job, &plan->target[index]) : own_dense(x, job, &plan->target[index]);
    computed(x, "multiply", start);
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
static tulle_status merge_parts(tulle__exec *x, tulle__target *target)
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
    if (x->plan->phases > 1 || x->plan->steal) { /* nothing is reused: the next phase has other columns, or jobs */
        for (int p = 0; p < target->nparts; p++) tulle__free(target->part[p].block);
        target->nparts = 0;
    }
out:
    return status;
}

tulle_status tulle__multiply_finish(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_plan *plan = x->plan;
    int64_t start = tulle__kernel_begin(plan->comm);
    if (plan->sparse) {
        for (int t = 0; t < plan->ntargets; t++)
            if (!plan->target[t].placed) TULLE_TRY(merge_parts(x, &plan->target[t]));
    } else {
        TULLE_TRY(tulle__inbox_add_kept(&x->inbox));
    }
    int64_t end = tulle__charge_end(&x->inbox);
    x->inbox.accumulate_ns += end - start;
    if (end - start > 1000) tulle__timeline_span(plan->comm->pe->timeline, "merge", start, end, -1, -1);
out:
    return status;
}
