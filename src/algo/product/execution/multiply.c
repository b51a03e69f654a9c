/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/execution/multiply.h"

#include <string.h>

#include "algo/product/execution/account_work.h"
#include "algo/product/run/runner.h"
#include "base/error.h"
#include "base/planted.h"
#include "mat/context.h"
#include "tile/tile_blocks.h"

/* ---- dense C ---- */

tulle_status tulle__multiply_dense(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    const tulle_product *plan = x->plan;
    tulle__runner *runner = plan->runner;
    const tulle__run_tiles tiles = tulle__job_tiles(x, job, output->first, output->last);
    tulle__chain_task task = {.type = plan->operands.C->type,
        .row = output->first,
        .m = output->rows,
        .n = tulle__tile_cols(plan->operands.C, job->j),
        .npairs = job->nk,
        .A = x->a,
        .B = x->b_tile,
        .workspace = x->workspace,
        .C = output->to,
        .c_row = output->c_row,
        .c_col = output->c_col,
        .alpha = plan->scalars.alpha,
        .beta = output->beta};
    x->multiplications += tulle__chain_multiplications(&task);
    if (!runner->devices) tulle__work_chain(&x->inbox.work, &task); /* devices take time by themselves */
    TULLE_CALL(runner->ops->chain(runner, &tiles, &task));
    return output->complete ? runner->ops->finish(runner) : TULLE_OK;
}

/* ---- sparse C ---- */

tulle_status tulle__reserve_pairs(tulle__exec *x, int pairs)
{
    if (pairs <= x->pair_capacity) return TULLE_OK;
    TULLE_CALL(tulle__realloc((size_t)pairs, sizeof *x->pair, "summands", &x->pair));
    x->pair_capacity = pairs;
    return TULLE_OK;
}

int tulle__add_old(tulle__exec *x, int i, int j, int64_t row, int64_t rows, int pairs)
{
    tulle_tile old;
    const tulle_product *plan = x->plan;
    if (plan->scalars.job_beta == 0 && !plan->options.keep_pattern) return pairs;
    if (tulle_mat_tile(plan->operands.C, i, j, &old) != TULLE_OK || !old.nnz) return pairs;
    tulle__csr csr = tulle__tile_csr(&old);
    x->pair[pairs] = (tulle__spgemm_pair){.B = tulle__csr_rows(&csr, row, rows), .scale = plan->scalars.job_beta};
    if (TULLE__PLANTED(beta_squared)) x->pair[pairs].scale *= plan->scalars.job_beta;
    x->pair[pairs].A.m = rows;
    return pairs + 1;
}

/* A task over the pairs of x; `pattern` has room for the blocks that C keeps, if it keeps them. */
static tulle__spgemm_task task_of(
    const tulle__exec *x, const tulle__tile_output *output, int pairs, tulle__csr *pattern)
{
    const tulle_product *plan = x->plan;
    const tulle_mat *C = plan->operands.C;
    const int i = output->i, j = output->j;
    tulle_tile old;
    tulle__spgemm_task task = plan->like.task;
    task.m = output->rows;
    task.n = tulle__tile_csr_cols(C, j);
    task.npairs = pairs;
    task.pair = x->pair;
    task.unsorted = output->unsorted;
    task.trim = output->trim;
    task.select = output->select;
    if (task.half) {
        task.first_row = C->layout->row_blocks.first[i] + output->first;
        task.first_col = C->layout->col_blocks.first[j];
    }
    if (task.least) task.least += C->layout->row_blocks.first[i] + output->first;
    if (plan->options.keep_pattern && tulle__tile_is_mine(C, i, j) && tulle_mat_tile(C, i, j, &old) == TULLE_OK) {
        *pattern = tulle__tile_csr(&old);
        *pattern = tulle__csr_rows(pattern, output->first, output->rows);
        task.pattern = pattern;
    }
    return task;
}

static void add_kernels(tulle__exec *x, const tulle__csr_result *C)
{
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) x->by_kernel[q] += C->by[q];
}

/*
 * Values of a known structure. Multiplications of the same jobs are those of the execution before; those of others are
 * counted, if need be by the host's kernel.
 */
static tulle_status values_only(
    tulle__exec *x, const tulle__run_tiles *of, const tulle__spgemm_task *task, tulle__tile_output *output)
{
    tulle_status status = TULLE_OK;
    const tulle__context *host = x->plan->context;
    const tulle__tile_format *format = x->plan->C->format;
    tulle__runner *runner = x->plan->runner;
    tulle__csr_result *C = &output->result;
    tulle__work_spgemm(&x->inbox.work, task, C->nnz);
    if (output->counts && format->count) TULLE_TRY(format->count(host->kernels, host->pool, task, &x->multiplications));
    if (of && runner->ops->values && (!output->counts || format->count))
        return runner->ops->values(runner, of, task, C);
    status = format->values(host->kernels, host->pool, task, C);
    if (output->counts && !format->count) x->multiplications += C->multiplications;
    add_kernels(x, C);
out:
    return status;
}

/* A tile to which nothing is added. */
static tulle_status empty_tile(const tulle__spgemm_task *task, tulle__tile_output *output)
{
    tulle__csr_result *C = &output->result;
    TULLE_CALL(output->find(output, task->m, 0, C));
    memset(C->rowptr, 0, ((size_t)task->m + 1) * sizeof *C->rowptr);
    if (C->offset) C->offset[0] = 0;
    return TULLE_OK;
}

/* of: the tiles that x->pair are of; NULL: they are parts of C, which the host adds up. */
static tulle_status multiply_pairs(tulle__exec *x, const tulle__run_tiles *of, int pairs, tulle__tile_output *output)
{
    tulle_status status;
    const tulle__context *host = x->plan->context;
    tulle__runner *runner = x->plan->runner;
    tulle__csr pattern;
    const tulle__spgemm_task task = task_of(x, output, pairs, &pattern);
    tulle__csr_result *C = &output->result;
    if (output->known) return values_only(x, of, &task, output);
    if (output->tile && (!pairs || !task.m || !task.n)) return empty_tile(&task, output);
    if (of)
        status = runner->ops->product(runner, of, &task, output->find, output, C);
    else
        status = x->plan->C->format->product(host->kernels, host->pool, &task, output->find, output, C);
    if (status != TULLE_OK) return status;
    x->skipped += C->skipped;
    add_kernels(x, C);
    /* devices take time by themselves */
    if (!of || !runner->devices) tulle__work_spgemm(&x->inbox.work, &task, C->nnz);
    x->multiplications += C->multiplications;
    return TULLE_OK;
}

tulle_status tulle__multiply_sparse(tulle__exec *x, const tulle__job *job, tulle__tile_output *output)
{
    int pairs = job->nk;
    const tulle__run_tiles of = {
        .i = job->i, .j = job->j, .nk = job->nk, .k = job->k, .row = output->first, .whole = output->whole};
    TULLE_CALL(tulle__reserve_pairs(x, job->nk + 1));
    for (int n = 0; n < job->nk; n++) {
        tulle__csr A = tulle__tile_csr(&x->a[n]);
        x->pair[n] = (tulle__spgemm_pair){
            .A = tulle__csr_rows(&A, output->first, output->rows), .B = x->b[n], .scale = x->plan->scalars.alpha};
    }
    if (output->adds_old) pairs = tulle__add_old(x, job->i, job->j, output->first, output->rows, pairs);
    return multiply_pairs(x, of.nk ? &of : NULL, pairs, output);
}

tulle_status tulle__sum_pairs(tulle__exec *x, int pairs, tulle__tile_output *output)
{
    const int64_t multiplications = x->multiplications;
    const tulle_status status = multiply_pairs(x, NULL, pairs, output);
    x->multiplications = multiplications;
    return status;
}
