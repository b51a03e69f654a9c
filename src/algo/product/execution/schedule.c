/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/execution/schedule.h"

#include "algo/product/plan/sources.h"
#include "base/error.h"
#include "mat/fetch.h"

enum { LOCAL, REMOTE };

static int is_remote(const tulle__operands *o, int i, int k, int j)
{
    return tulle__fetch_bytes(o->A, i, k) > 0 || tulle__fetch_bytes(o->B, k, j) > 0;
}

/*
 * Keeps the tile products of a chain that belong to one kind; returns 0 if there are none. Jobs of
 * one k are sorted one by one. A chain of longer jobs is not divided, since the owner of the C tile
 * counts its jobs; it is remote if any of its tiles is.
 */
static int keep_kind(const tulle_product *plan, tulle__chain *chain, int kind)
{
    int remote = 0, kept = 0;
    if (plan->order) return kind == LOCAL;
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

/*
 * The weight of C[i,j] += A[i,k] B[k,j]: of remote jobs bytes to fetch, of local ones expected
 * multiplications.
 */
static double weight_of(const tulle_product *plan, int i, int k, int j, int kind)
{
    const tulle__operands *o = &plan->operands;
    if (kind == REMOTE)
        return (double)tulle__fetch_bytes(o->A, i, k) +
               (double)tulle__required_bytes(plan->sources->required, o, i, k, j);
    double nnz_a = (double)o->A->directory[tulle__tile_index(o->A, i, k)].nnz;
    /* dense: all elements */
    double nnz_b = (double)o->B->directory[tulle__tile_index(o->B, k, j)].nnz;
    return nnz_a * nnz_b / (double)tulle__tile_rows(o->B, k);
}

static void weigh_next(const tulle_product *plan, tulle__job_list *list, int kind)
{
    const tulle__chain *chain = &list->chain;
    list->next = list->remote = 0;
    if (plan->order) {
        for (int t = list->at; t < chain->nk && t < list->at + plan->group; t++)
            list->remote |= is_remote(&plan->operands, chain->i, chain->k[t], chain->j);
        return;
    }
    for (int t = list->at; t < chain->nk && t < list->at + plan->group; t++)
        list->next += weight_of(plan, chain->i, chain->k[t], chain->j, kind);
}

static int next_chain(const tulle_product *plan, tulle__job_list *list)
{
    if (!plan->order) return plan->policy->next(&list->cursor, &list->chain);
    list->chain.k = list->cursor.k;
    return tulle__block_order_next(plan->order, &list->block, &list->chain, &list->done);
}

/* Goes on to the next job of that kind. */
static void advance(const tulle_product *plan, tulle__job_list *list, int kind)
{
    if (!list->live || list->at == list->chain.nk) {
        do {
            list->live = next_chain(plan, list);
            list->at = 0;
        } while (list->live && !keep_kind(plan, &list->chain, kind));
    }
    if (list->live) weigh_next(plan, list, kind);
}

static void rewind_list(const tulle_product *plan, tulle__job_list *list, int kind)
{
    list->cursor = (tulle__cursor){
        .policy = plan->policy, .operands = &plan->operands, .rank = plan->comm->rank, .k = list->cursor.k};
    list->block = (tulle__block_cursor){.block = 0};
    list->taken = 0;
    list->live = list->done = 0;
    advance(plan, list, kind);
}

/*
 * Advances to the next job. Copies the k of the current one to k, unless that is NULL; returns
 * their number.
 */
static int pass_job(const tulle_product *plan, tulle__job_list *list, int kind, int *k)
{
    int nk = 0;
    for (; nk < plan->group && list->at < list->chain.nk; nk++, list->at++)
        if (k) k[nk] = list->chain.k[list->at];
    list->taken += list->next;
    advance(plan, list, kind);
    return nk;
}

tulle_status tulle__schedule_init(tulle__schedule *schedule, tulle_product *plan)
{
    schedule->plan = plan;
    for (int kind = LOCAL; kind <= REMOTE; kind++) {
        tulle__job_list *list = &schedule->list[kind];
        TULLE_CALL(tulle__alloc((size_t)plan->operands.K, sizeof *list->cursor.k, "a chain", &list->cursor.k));
        rewind_list(plan, list, kind);
        for (list->jobs = 0; list->live; list->jobs++) pass_job(plan, list, kind, NULL);
        list->total = list->taken;
        rewind_list(plan, list, kind);
    }
    return TULLE_OK;
}

void tulle__schedule_fini(tulle__schedule *schedule)
{
    for (int kind = LOCAL; kind <= REMOTE; kind++) tulle__free(schedule->list[kind].cursor.k);
}

int tulle__schedule_has_next(const tulle__schedule *schedule)
{
    return schedule->list[LOCAL].live || schedule->list[REMOTE].live;
}

int tulle__schedule_next_is_remote(const tulle__schedule *schedule)
{
    const tulle__job_list *local = &schedule->list[LOCAL], *remote = &schedule->list[REMOTE];
    if (schedule->plan->order) return local->remote;
    if (!remote->live || !local->live) return remote->live;
    return local->taken * remote->total >= (remote->taken + remote->next) * local->total;
}

void tulle__schedule_take(tulle__schedule *schedule, int *i, int *j, int *nk, int *k)
{
    int kind = !schedule->plan->order && tulle__schedule_next_is_remote(schedule) ? REMOTE : LOCAL;
    tulle__job_list *list = &schedule->list[kind];
    *i = list->chain.i;
    *j = list->chain.j;
    *nk = pass_job(schedule->plan, list, kind, k);
}
