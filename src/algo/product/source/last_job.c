/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/last_job.h"

#include "base/error.h"
#include "base/memory.h"

/* A tile that a job has fetched, with a share of its memory. */
struct fetched {
    tulle__wanted wanted;
    tulle__fetch fetch; /* group < 0: it has arrived */
};

struct job {
    int64_t number; /* -1: none */
    int count;
    struct fetched *tile; /* [2 batch] */
};

struct tulle__last_job {
    tulle__source source;
    const tulle__required *required;
    bool for_pairs;
    struct job last, now;
};

/* A transfer is waited for by the job that was given it. */
static void drop(struct job *job)
{
    for (int n = 0; n < job->count; n++) {
        job->tile[n].fetch.group = -1;
        tulle__fetch_fini(&job->tile[n].fetch);
    }
    job->count = 0;
    job->number = -1;
}

static int whole(const tulle__last_job *l, const tulle__wanted *w)
{
    return tulle__required_whole(l->required, w->i, w->k, w->j);
}

static int serves(const tulle__last_job *l, const tulle__wanted *had, const tulle__wanted *wanted)
{
    if (had->factor != wanted->factor || had->k != wanted->k) return 0;
    if (l->for_pairs) return had->i == wanted->i && had->j == wanted->j;
    if (wanted->factor == TULLE__FACTOR_A) return had->i == wanted->i;
    return had->j == wanted->j && (had->i == wanted->i || (whole(l, had) && whole(l, wanted)));
}

static tulle_status start(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch)
{
    tulle__last_job *l = (tulle__last_job *)source;
    if (wanted->job != l->now.number) {
        struct job before = l->last;
        drop(&before);
        l->last = l->now;
        l->now = before;
        l->now.number = wanted->job;
    }
    int n = 0;
    while (n < l->last.count && !serves(l, &l->last.tile[n].wanted, wanted)) n++;
    if (n < l->last.count)
        *fetch = tulle__fetch_share(&l->last.tile[n].fetch);
    else
        TULLE_CALL(tulle__source_start(source->below, wanted, fetch));
    l->now.tile[l->now.count++] = (struct fetched){.wanted = *wanted, .fetch = tulle__fetch_share(fetch)};
    return TULLE_OK;
}

/* Later readers need not wait. */
static void arrived(struct job *job, const tulle__fetch *fetch)
{
    for (int n = 0; n < job->count; n++)
        if (job->tile[n].fetch.block == fetch->block) job->tile[n].fetch.group = -1;
}

static tulle_status await(tulle__source *source, const tulle__wanted *wanted, tulle__fetch *fetch, tulle_tile *tile)
{
    tulle__last_job *l = (tulle__last_job *)source;
    TULLE_CALL(tulle__source_await(source->below, wanted, fetch, tile));
    arrived(&l->last, fetch);
    arrived(&l->now, fetch);
    return TULLE_OK;
}

static void end(tulle__source *source)
{
    tulle__last_job *l = (tulle__last_job *)source;
    drop(&l->last);
    drop(&l->now);
}

static const tulle__source_ops ops = {.begin = tulle__source_no_begin,
    .start = start,
    .await = await,
    .reach = tulle__source_no_reach,
    .serve = tulle__source_no_serve,
    .end = end};

tulle_status tulle__last_job_new(const tulle__required *required, int batch, bool for_pairs, tulle__last_job **last_job)
{
    tulle_status status;
    tulle__last_job *l = NULL;
    size_t tiles = 2 * (size_t)batch;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *l, "tiles of the last job", &l));
    *l = (tulle__last_job){.required = required, .for_pairs = for_pairs, .last.number = -1, .now.number = -1};
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *l->last.tile, "tiles of the last job", &l->last.tile));
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *l->now.tile, "tiles of the last job", &l->now.tile));
    *last_job = l;
    return TULLE_OK;
out:
    tulle__last_job_free(l);
    return status;
}

void tulle__last_job_free(tulle__last_job *l)
{
    if (!l) return;
    tulle__free(l->last.tile);
    tulle__free(l->now.tile);
    tulle__free(l);
}

tulle__source *tulle__last_job_source(tulle__last_job *l, tulle__source *below)
{
    l->source = (tulle__source){&ops, below};
    return &l->source;
}
