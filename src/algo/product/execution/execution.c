/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/execution/execution.h"

#include "algo/product/source/delegation.h"
#include "base/error.h"
#include "base/planted.h"
#include "base/timeline.h"

tulle__run_tiles tulle__job_tiles(const tulle__exec *x, const tulle__job *job, int64_t row, bool last)
{
    return (tulle__run_tiles){.i = job->i,
        .j = job->j,
        .nk = job->nk,
        .k = job->k,
        .row = row,
        .number = job->number,
        .last = last,
        .done = job->done,
        .step = job->step,
        .stays = x->plan->direct};
}

tulle_status tulle__job_rows(tulle__exec *x, const tulle__job *job, tulle_gidx *first, tulle_gidx *rows)
{
    *first = 0;
    *rows = job->delegation ? job->delegation->rows : tulle__tile_csr_rows(x->plan->operands.C, job->i);
    if (!job->of) return TULLE_OK;
    /* planted: bands of other tiles A */
    const int *k = TULLE__PLANTED(stale_bands) && x->cut.row && x->cut.nk == job->nk ? x->cut.k : job->k;
    TULLE_CALL(tulle__band_cut_for(&x->cut, job->i, job->nk, k, job->of, x->plan->operands.C->format->in_blocks, x->a));
    *first = x->cut.row[job->band];
    *rows = x->cut.row[job->band + job->bands] - *first;
    return TULLE_OK;
}

void tulle__computed(tulle__exec *x, const char *what, int64_t start)
{
    int64_t end = tulle__work_end(&x->inbox.work);
    x->compute_ns += end - start;
    tulle__timeline_span(x->plan->comm->pe->timeline, what, start, end, -1, -1);
}
