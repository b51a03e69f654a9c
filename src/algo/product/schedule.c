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
static int keep_kind(const tulle_product *plan, tulle__chain *chain, int kind)
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

/* Bytes to be fetched for C[i,j] += A[i,k] B[k,j], or the multiplications expected. */
static double weight_of(const tulle_product *plan, int i, int k, int j, int kind)
{
    const tulle__operands *o = &plan->operands;
    if (kind == REMOTE)
        return (double)tulle__fetch_bytes(o->A, i, k) + (double)tulle__needs_bytes(plan->needs, o, i, k, j);
    double nnz_a = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    double nnz_b = (double)o->B->directory[tulle__tile_index(o->B, k, j)].nnz; /* dense: all elements */
    return nnz_a * nnz_b / (double)tulle__tile_rows(o->B, k);
}

static void weigh_next(const tulle_product *plan, tulle__stream *stream, int kind)
{
    const tulle__chain *chain = &stream->chain;
    stream->next = 0;
    for (int t = stream->at; t < chain->nk && t < stream->at + plan->group; t++)
        stream->next += weight_of(plan, chain->i, chain->k[t], chain->j, kind);
}

/* Goes on to the next job of that kind. */
static void advance(const tulle_product *plan, tulle__stream *stream, int kind)
{
    if (!stream->live || stream->at == stream->chain.nk) {
        do {
            stream->live = plan->policy->next(&stream->cursor, &stream->chain);
            stream->at = 0;
        } while (stream->live && !keep_kind(plan, &stream->chain, kind));
    }
    if (stream->live) weigh_next(plan, stream, kind);
}

static void rewind_stream(const tulle_product *plan, tulle__stream *stream, int kind)
{
    stream->cursor = (tulle__cursor){
        .policy = plan->policy, .operands = &plan->operands, .rank = plan->comm->rank, .k = stream->cursor.k};
    stream->taken = 0;
    stream->live = 0;
    advance(plan, stream, kind);
}

/* Leaves the head job behind; its k are copied out if k is not NULL. Returns their number. */
static int pass_job(const tulle_product *plan, tulle__stream *stream, int kind, int *k)
{
    int nk = 0;
    for (; nk < plan->group && stream->at < stream->chain.nk; nk++, stream->at++)
        if (k) k[nk] = stream->chain.k[stream->at];
    stream->taken += stream->next;
    advance(plan, stream, kind);
    return nk;
}

tulle_status tulle__schedule_init(tulle__schedule *schedule, tulle_product *plan)
{
    tulle_status status = TULLE_OK;
    schedule->plan = plan;
    for (int kind = LOCAL; kind <= REMOTE; kind++) {
        tulle__stream *stream = &schedule->stream[kind];
        TULLE_TRY(tulle__alloc((size_t)plan->operands.K, sizeof *stream->cursor.k, "a chain", &stream->cursor.k));
        rewind_stream(plan, stream, kind);
        for (stream->jobs = 0; stream->live; stream->jobs++) pass_job(plan, stream, kind, NULL);
        stream->total = stream->taken;
        rewind_stream(plan, stream, kind);
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
    return local->taken * remote->total >= (remote->taken + remote->next) * local->total;
}

void tulle__schedule_take(tulle__schedule *schedule, int *i, int *j, int *nk, int *k)
{
    int kind = tulle__schedule_next_is_remote(schedule) ? REMOTE : LOCAL;
    tulle__stream *stream = &schedule->stream[kind];
    *i = stream->chain.i;
    *j = stream->chain.j;
    *nk = pass_job(schedule->plan, stream, kind, k);
}
