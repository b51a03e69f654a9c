/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/schedule.h"

#include "base/error.h"

enum { LOCAL, REMOTE };

static int is_remote(const tulle__operands *o, int i, int k, int j)
{
    return tulle__fetch_bytes(o->A, i, k) > 0 || tulle__fetch_bytes(o->B, k, j) > 0;
}

/*
 * What of a chain belongs to one kind. Jobs of one k are sorted each by itself; of longer ones the owner of the C tile
 * counts how many will come, so a chain stays together, remote if any of its tiles is. Returns 0 if nothing is left.
 */
static int keep_kind(const tulle_plan *plan, tulle__chain *chain, int kind)
{
    int remote = 0, kept = 0;
    if (plan->direct || chain->nk == 0) return kind == LOCAL;
    for (int t = 0; t < chain->nk; t++) {
        int here = is_remote(&plan->operands, chain->i, chain->k[t], chain->j);
        remote |= here;
        if (plan->group == 1 && here == kind) chain->k[kept++] = chain->k[t];
    }
    if (plan->group > 1) return remote == kind;
    chain->nk = kept;
    return kept > 0;
}

static int next_chain(const tulle_plan *plan, tulle__stream *stream, int kind)
{
    do {
        stream->live = plan->policy->next(&stream->cursor, &stream->chain);
        stream->at = 0;
    } while (stream->live && !keep_kind(plan, &stream->chain, kind));
    return stream->live;
}

static void rewind_stream(const tulle_plan *plan, tulle__stream *stream)
{
    stream->cursor = (tulle__cursor){
        .policy = plan->policy, .operands = &plan->operands, .rank = plan->comm->rank, .k = stream->cursor.k};
    stream->taken = 0;
}

tulle_status tulle__schedule_init(tulle__schedule *schedule, tulle_plan *plan)
{
    tulle_status status = TULLE_OK;
    schedule->plan = plan;
    for (int kind = LOCAL; kind <= REMOTE; kind++) {
        tulle__stream *stream = &schedule->stream[kind];
        TULLE_TRY(tulle__alloc((size_t)plan->operands.K, sizeof *stream->cursor.k, "a chain", &stream->cursor.k));
        rewind_stream(plan, stream);
        stream->jobs = 0;
        while (next_chain(plan, stream, kind)) {
            int nk = stream->chain.nk;
            stream->jobs += nk ? (nk + plan->group - 1) / plan->group : 1;
        }
        rewind_stream(plan, stream);
        next_chain(plan, stream, kind);
    }
out:
    return status;
}

void tulle__schedule_fini(tulle__schedule *schedule)
{
    for (int kind = LOCAL; kind <= REMOTE; kind++) tulle__free(schedule->stream[kind].cursor.k);
}

int tulle__schedule_has_next(const tulle__schedule *schedule)
{
    return schedule->stream[LOCAL].live || schedule->stream[REMOTE].live;
}

int tulle__schedule_next_is_remote(const tulle__schedule *schedule)
{
    const tulle__stream *local = &schedule->stream[LOCAL], *remote = &schedule->stream[REMOTE];
    if (!remote->live || !local->live) return remote->live;
    /* local work also before the first, whose fetch is on its way by then */
    return (double)local->taken * (double)(remote->jobs + 1) >= (double)(remote->taken + 1) * (double)local->jobs;
}

void tulle__schedule_take(tulle__schedule *schedule, int *i, int *j, int *nk, int *k)
{
    const tulle_plan *plan = schedule->plan;
    int kind = tulle__schedule_next_is_remote(schedule) ? REMOTE : LOCAL;
    tulle__stream *stream = &schedule->stream[kind];
    *i = stream->chain.i;
    *j = stream->chain.j;
    *nk = 0;
    while (*nk < plan->group && stream->at < stream->chain.nk) k[(*nk)++] = stream->chain.k[stream->at++];
    stream->taken++;
    if (stream->at == stream->chain.nk) next_chain(plan, stream, kind);
}
