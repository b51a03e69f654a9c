/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a job: its product goes into C in place, into a part that is merged at the end, or through the arena
 * to the owner of the C tile.
 */

#include "algo/chain/band.h"
#include "algo/product/account_work.h"
#include "algo/product/deposit.h"
#include "algo/product/execute.h"
#include "algo/product/merge.h"
#include "base/error.h"
#include "base/planted.h"

static void computed(tulle__exec *x, const char *what, int64_t start)
{
    int64_t end = tulle__work_end(&x->inbox);
    x->compute_ns += end - start;
    tulle__timeline_span(x->plan->comm->pe->timeline, what, start, end, -1, -1);
}

/* The rows of C tile i that a job is about: first .. first + rows - 1. */
static tulle_status rows_of_job(tulle__exec *x, const tulle__job *job, tulle_gidx *first, tulle_gidx *rows)
{
    tulle_status status = TULLE_OK;
    *first = 0;
    *rows = job->delegation ? job->delegation->rows : tulle__tile_rows(x->plan->operands.C, job->i);
    if (!job->of) return TULLE_OK;
    /* planted: bands of other tiles A */
    const int *k = TULLE__PLANTED(stale_bands) && x->cut.row && x->cut.nk == job->nk ? x->cut.k : job->k;
    TULLE_TRY(tulle__band_cut_for(&x->cut, job->i, job->nk, k, job->of, x->a));
    *first = x->cut.row[job->band];
    *rows = x->cut.row[job->band + job->bands] - *first;
out:
    return status;
}

/* ---- dense C ---- */

tulle_status tulle__scale_target(tulle__exec *x, tulle__target *target)
{
    tulle_product *plan = x->plan;
    tulle_own_tile tile;
    target->scaled = 1;
    tulle_status status = tulle_mat_own_tile(plan->operands.C, target->i, target->j, &tile);
    if (status != TULLE_OK) return status;
    tulle__work_scale(&x->inbox, &tile, plan->job_beta);
    return tulle__scale_tile(plan, &tile, plan->job_beta);
}

/* Rows [r0, r0 + rows) of the job's product into memory that begins with row r0. */
static tulle_status multiply_dense(tulle__exec *x, const tulle__job *job, tulle_gidx r0, tulle_gidx rows, void *to,
    int64_t row_step, int64_t col_step, double beta)
{
    tulle__runner *runner = x->plan->runner;
    const tulle__run_tiles tiles = {.i = job->i, .j = job->j, .nk = job->nk, .k = job->k, .row = r0};
    tulle__chain_task task = {.type = x->plan->operands.C->type,
        .row = r0,
        .m = rows,
        .n = tulle__tile_cols(x->plan->operands.C, job->j),
        .npairs = job->nk,
        .A = x->a,
        .B = x->b_tile,
        .room = x->room,
        .C = to,
        .c_row = row_step,
        .c_col = col_step,
        .alpha = x->plan->alpha,
        .beta = beta};
    x->multiplications += tulle__chain_multiplications(&task);
    tulle__work_chain(&x->inbox, &task);
    return runner->ops->chain(runner, &tiles, &task);
}

/* Own units beside others', to be added in the order of k: which are own is a matter of timing under stealing. */
static tulle_status keep_dense(tulle__exec *x, const tulle__job *job)
{
    const tulle_mat *C = x->plan->operands.C;
    int64_t size = (int64_t)tulle_type_size(C->type);
    tulle_gidx first, rows, n = tulle__tile_cols(C, job->j);
    tulle_status status = rows_of_job(x, job, &first, &rows);
    if (status != TULLE_OK) return status;
    tulle__kept kept = {.tile = (int)tulle__tile_index(C, job->i, job->j),
        .key = job->k[0],
        .offset = first * n * size,
        .length = rows * n * size};
    status = tulle__alloc((size_t)kept.length, 1, "a kept panel", &kept.data);
    if (status != TULLE_OK) return status;
    status = multiply_dense(x, job, first, rows, kept.data, n, 1, 0);
    if (status == TULLE_OK) status = x->plan->runner->ops->finish(x->plan->runner);
    if (status == TULLE_OK) return tulle__inbox_keep(&x->inbox, kept);
    tulle__free(kept.data);
    return status;
}

static tulle_status own_dense(tulle__exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_own_tile C;
    tulle_status status = tulle_mat_own_tile(x->plan->operands.C, job->i, job->j, &C);
    if (status != TULLE_OK || !C.nnz) return status;
    if (x->plan->steal && !x->plan->policy->by_chain && x->plan->options.deterministic) return keep_dense(x, job);
    if (!job->nk) return target->scaled ? TULLE_OK : tulle__scale_target(x, target);
    double beta = target->scaled && !TULLE__PLANTED(beta_twice) ? 1 : x->plan->job_beta;
    target->scaled = !x->plan->policy->by_chain; /* jobs about other rows are each the first */
    int64_t row_step = C.order == TULLE_ROW_MAJOR ? C.ld : 1, col_step = C.order == TULLE_ROW_MAJOR ? 1 : C.ld;
    tulle_gidx first, rows;
    status = rows_of_job(x, job, &first, &rows);
    if (status != TULLE_OK) return status;
    char *to = (char *)C.val + (size_t)(first * row_step) * tulle_type_size(C.type);
    return multiply_dense(x, job, first, rows, to, row_step, col_step, beta);
}

static tulle_status send_dense(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    size_t size = tulle_type_size(plan->operands.C->type);
    tulle_gidx first, rows_of, n = tulle__tile_cols(plan->operands.C, job->j);
    tulle_gidx most = (tulle_gidx)(tulle__arena_panel_bytes(plan->arena) / (size * (size_t)(n > 0 ? n : 1)));
    tulle__partial partial = {
        .tile = (int)tulle__tile_index(plan->operands.C, job->i, job->j), .key = job->k[0], .units = job->units};
    if (!most)
        return tulle__fail(TULLE_ERR_LIMIT,
            "a row of %.3f MB of C does not fit a panel of %.3f MB; the arena is too small",
            (double)n * (double)size / 1e6, (double)tulle__arena_panel_bytes(plan->arena) / 1e6);
    TULLE_TRY(rows_of_job(x, job, &first, &rows_of));
    tulle_gidx end = first + rows_of;
    for (tulle_gidx r0 = first; r0 < end; r0 += most) {
        tulle__panel panel;
        tulle_gidx rows = end - r0 < most ? end - r0 : most;
        int64_t start = tulle__now(plan->comm);
        TULLE_TRY(tulle__arena_take(plan->arena, tulle__inbox_serve, &x->inbox, &panel));
        x->communicate_ns += tulle__now(plan->comm) - start;
        start = tulle__kernel_begin(plan->comm);
        status = multiply_dense(x, job, r0, rows, panel.local, n, 1, 0);
        if (status == TULLE_OK) status = plan->runner->ops->finish(plan->runner);
        computed(x, "multiply", start);
        if (status != TULLE_OK) {
            tulle__arena_return(plan->arena, &panel);
            goto out;
        }
        start = tulle__now(plan->comm);
        TULLE_TRY(tulle__partial_push(
            &x->inbox, &partial, &panel, r0 * n * (int64_t)size, rows * n * (int64_t)size, r0 + rows == end));
        x->communicate_ns += tulle__now(plan->comm) - start;
    }
out:
    return status;
}

/* ---- sparse C ---- */

static tulle_status pairs_of_job(tulle__exec *x, const tulle__job *job, tulle_gidx *first, tulle_gidx *rows)
{
    tulle_status status;
    TULLE_TRY(tulle__room_for_pairs(x, job->nk + 1));
    TULLE_TRY(rows_of_job(x, job, first, rows));
    for (int n = 0; n < job->nk; n++) {
        x->pair[n] = (tulle__spgemm_pair){.A = tulle__tile_csr(&x->a[n]), .B = x->b[n], .scale = x->plan->alpha};
        x->pair[n].A.rowptr += *first;
        x->pair[n].A.m = *rows;
    }
    x->of = (tulle__run_tiles){.i = job->i, .j = job->j, .nk = job->nk, .k = job->k, .row = *first};
out:
    return status;
}

static tulle_status own_sparse(tulle__exec *x, const tulle__job *job, tulle__target *target)
{
    tulle_status status;
    tulle_gidx first, rows;
    TULLE_TRY(pairs_of_job(x, job, &first, &rows));
    if (job->units == target->units) {
        target->placed = 1;
        TULLE_TRY(tulle__into_tile(
            x, job->i, job->j, tulle__add_old(x, job->i, job->j, 0, rows, job->nk), &x->multiplications));
    } else if (job->nk && x->inbox.reuse && x->plan->steal) {
        TULLE_TRY(tulle__into_rows(x, job->i, job->j, first, rows, job->nk));
    } else if (job->nk) {
        tulle__part *part;
        TULLE_TRY(tulle__target_part(target, x->plan->comm->rank, job->k[0], first, rows, &part));
        TULLE_TRY(tulle__into_block(x, rows, job->j, job->nk, &part->nnz, &part->block));
    }
out:
    return status;
}

/* Where the block of a partial result is kept until the next execution, if this plan has the same jobs then. */
static tulle_status sent_of_job(tulle_product *plan, const tulle__job *job, tulle__sent **sent)
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

/* What of a block the owner of the tile does not have yet, from *from on: where it knows the structure, values. */
static int64_t bytes_to_send(const tulle__exec *x, int64_t rows, int64_t nnz, int64_t *from)
{
    tulle__csr_offsets o = tulle__csr_offsets_of(rows, nnz, x->plan->operands.C->type);
    *from = x->inbox.reuse ? (int64_t)o.val : 0;
    return (int64_t)o.length - *from;
}

static tulle__partial describe(tulle__exec *x, const tulle__job *job, int64_t first, int64_t rows, int64_t nnz)
{
    return (tulle__partial){.tile = (int)tulle__tile_index(x->plan->operands.C, job->i, job->j),
        .key = job->k[0],
        .units = job->units,
        .nnz = nnz,
        .row = first,
        .rows = rows};
}

/* Made where others fetch it, as no structure of it is kept for another execution. */
static tulle_status send_stolen(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle__arena *arena = x->plan->arena;
    tulle__panel panel;
    tulle_gidx first, rows;
    int64_t start = tulle__now(x->plan->comm), nnz, from;
    TULLE_TRY(pairs_of_job(x, job, &first, &rows));
    TULLE_TRY(tulle__arena_take(arena, tulle__inbox_serve, &x->inbox, &panel));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
    start = tulle__kernel_begin(x->plan->comm);
    status = tulle__into_panel(x, rows, job->j, job->nk, &panel, &nnz);
    computed(x, "multiply", start);
    if (status != TULLE_OK) {
        tulle__arena_return(arena, &panel);
        goto out;
    }
    start = tulle__now(x->plan->comm);
    tulle__partial partial = describe(x, job, first, rows, nnz);
    int64_t length = bytes_to_send(x, rows, nnz, &from);
    panel.at += (uint64_t)from;
    TULLE_TRY(tulle__partial_push(&x->inbox, &partial, &panel, from, length, 1));
    x->communicate_ns += tulle__now(x->plan->comm) - start;
out:
    return status;
}

static tulle_status send_sparse(tulle__exec *x, const tulle__job *job)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    tulle__sent once = {0, NULL}, *sent = &once;
    tulle_gidx first, rows;
    /* phases are where memory is short: a block is gone as soon as it has been copied */
    if (plan->steal && plan->phases.whole) return send_stolen(x, job);
    int64_t start = tulle__kernel_begin(plan->comm);
    if (plan->phases.whole) TULLE_TRY(sent_of_job(plan, job, &sent));
    TULLE_TRY(pairs_of_job(x, job, &first, &rows));
    status = tulle__into_block(x, rows, job->j, job->nk, &sent->nnz, &sent->block);
    computed(x, "multiply", start);
    if (status != TULLE_OK) goto out;
    start = tulle__now(plan->comm);
    tulle__partial partial = describe(x, job, first, rows, sent->nnz);
    int64_t from, length = bytes_to_send(x, rows, sent->nnz, &from);
    TULLE_TRY(tulle__partial_send(&x->inbox, &partial, sent->block + from, from, length));
    x->communicate_ns += tulle__now(plan->comm) - start;
out:
    tulle__free(once.block);
    return status;
}

/* What a job's product becomes. */
static tulle_status dispose(tulle__exec *x, const tulle__job *job)
{
    tulle_product *plan = x->plan;
    int index = plan->target_of[tulle__tile_index(plan->operands.C, job->i, job->j)];
    if (index < 0) return plan->sparse ? send_sparse(x, job) : send_dense(x, job);
    x->own_units += job->units;
    if (TULLE__PLANTED(lost_product) && x->own_units > job->units) return TULLE_OK;
    int64_t start = tulle__kernel_begin(plan->comm);
    tulle_status status =
        plan->sparse ? own_sparse(x, job, &plan->target[index]) : own_dense(x, job, &plan->target[index]);
    computed(x, "multiply", start);
    return status;
}

tulle_status tulle__multiply_job(tulle__exec *x, const tulle__job *job)
{
    int64_t before = x->multiplications;
    tulle_status status = dispose(x, job);
    x->of.nk = 0;
    double unit = job->units ? (double)(x->multiplications - before) / job->units : 0;
    if (unit > x->largest) x->largest = unit;
    x->units += job->units;
    return status;
}

tulle_status tulle__multiply_finish(tulle__exec *x)
{
    tulle_status status = TULLE_OK;
    tulle_product *plan = x->plan;
    int64_t start = tulle__kernel_begin(plan->comm);
    TULLE_TRY(plan->runner->ops->finish(plan->runner));
    if (plan->sparse) {
        for (int t = 0; t < plan->ntargets; t++)
            if (!plan->target[t].placed) TULLE_TRY(tulle__merge_parts(x, &plan->target[t]));
    } else {
        TULLE_TRY(tulle__inbox_add_kept(&x->inbox));
    }
    int64_t end = tulle__work_end(&x->inbox);
    x->inbox.accumulate_ns += end - start;
    if (end - start > 1000) tulle__timeline_span(plan->comm->pe->timeline, "merge", start, end, -1, -1);
out:
    return status;
}
