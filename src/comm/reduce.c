/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions. With few values each PE gathers those of all PEs. With many, partners at distances 1,
 * 2, 4, ... exchange and combine their values, lower ranks first, so all PEs get the same bits. PEs
 * beyond a power of two hand theirs in before, and get the result after. Values alternate between
 * two buffers: a buffer is written again once the partner that reads it has said so.
 */
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "comm/comm.h"

/* Words of the PEs beyond a power of two, behind the words of the rounds. */
enum { ENTER = TULLE__ROUNDS - 2, LEAVE = TULLE__ROUNDS - 1 };

/* a[i] becomes the combination of a[i] and b[i]. */
typedef void (*combiner)(tulle_reduction how, int n, void *a, const void *b);

static void combine_int(tulle_reduction how, int n, void *a, const void *b)
{
    int64_t *x = a;
    const int64_t *y = b;
    for (int i = 0; i < n; i++)
        x[i] = how == TULLE_SUM ? x[i] + y[i] : (how == TULLE_MIN ? y[i] < x[i] : y[i] > x[i]) ? y[i] : x[i];
}

static void combine_real(tulle_reduction how, int n, void *a, const void *b)
{
    double *x = a;
    const double *y = b;
    for (int i = 0; i < n; i++)
        x[i] = how == TULLE_SUM ? x[i] + y[i] : (how == TULLE_MIN ? y[i] < x[i] : y[i] > x[i]) ? y[i] : x[i];
}

/* Combines all PEs' values in rank order. */
static tulle_status reduce_few(tulle_comm *comm, tulle_reduction how, int n, void *value, combiner combine)
{
    char *all = NULL;
    size_t bytes = (size_t)n * 8;
    tulle_status status = tulle__alloc((size_t)comm->size, bytes, "reduction", &all);
    if (status != TULLE_OK) {
        if (comm->size > 1) tulle__comm_fail(comm, status);
        return status;
    }
    TULLE_TRY(tulle_comm_allgather(comm, value, bytes, all));
    memcpy(value, all, bytes);
    for (int r = 1; r < comm->size; r++) combine(how, n, value, all + (size_t)r * bytes);
out:
    tulle__free(all);
    return status;
}

struct exchange {
    tulle_comm *comm;
    tulle_reduction how;
    int n, now; /* the buffer that holds the values */
    combiner combine;
    size_t bytes;
    char *mine;       /* two buffers, in data memory */
    char *got;        /* the partner's values */
    uint64_t *offset; /* [size] of all PEs' buffers */
};

static void say(const struct exchange *x, int to, uint64_t field, int round)
{
    tulle_comm *comm = x->comm;
    tulle__place place = tulle__fixed_place(comm, to);
    tulle__fetch_add(comm, &place, tulle__slot_at(comm) + field + (uint64_t)round * sizeof(uint64_t), 1);
}

/* Gets a partner's values of the beginning of a round, and lets it continue. */
static tulle_status fetch(const struct exchange *x, int from, int round, int buffer)
{
    tulle_comm *comm = x->comm;
    int group = tulle__comm_group(comm);
    tulle__place place = {.offset = x->offset[from],
        .length = 2 * x->bytes,
        .rank = tulle__comm_world(comm, from),
        .segment = TULLE__DATA};
    TULLE_CALL(tulle__wait_word(comm, &tulle__slot_own(comm)->ready[round], comm->reductions));
    tulle__get(comm, group, &place, (uint64_t)buffer * x->bytes, x->got, x->bytes);
    TULLE_CALL(tulle__wait(comm, group));
    say(x, from, offsetof(tulle__slot, taken), round);
    return TULLE_OK;
}

static tulle_status await_taken(const struct exchange *x, int round)
{
    return tulle__wait_word(x->comm, &tulle__slot_own(x->comm)->taken[round], x->comm->reductions);
}

static tulle_status double_up(struct exchange *x, int power)
{
    int round = 0;
    for (int distance = 1; distance < power; distance *= 2, round++) {
        int partner = x->comm->rank ^ distance;
        char *old = x->mine + (size_t)x->now * x->bytes, *next = x->mine + (size_t)(1 - x->now) * x->bytes;
        say(x, partner, offsetof(tulle__slot, ready), round);
        TULLE_CALL(fetch(x, partner, round, x->now));
        if (round) TULLE_CALL(await_taken(x, round - 1));
        memcpy(next, partner < x->comm->rank ? x->got : old, x->bytes);
        x->combine(x->how, x->n, next, partner < x->comm->rank ? old : x->got);
        x->now = 1 - x->now;
    }
    if (round) TULLE_CALL(await_taken(x, round - 1));
    return TULLE_OK;
}

static tulle_status exchange(struct exchange *x)
{
    int rank = x->comm->rank, size = x->comm->size, power = 1, rounds = 0;
    while (2 * power <= size) power *= 2, rounds++;
    if (rank >= power) {
        say(x, rank - power, offsetof(tulle__slot, ready), ENTER);
        TULLE_CALL(await_taken(x, ENTER));
        TULLE_CALL(fetch(x, rank - power, LEAVE, rounds & 1));
        memcpy(x->mine, x->got, x->bytes);
        return TULLE_OK;
    }
    if (rank + power < size) {
        TULLE_CALL(fetch(x, rank + power, ENTER, 0));
        x->combine(x->how, x->n, x->mine, x->got);
    }
    TULLE_CALL(double_up(x, power));
    if (rank + power < size) {
        say(x, rank + power, offsetof(tulle__slot, ready), LEAVE);
        TULLE_CALL(await_taken(x, LEAVE));
    }
    return TULLE_OK;
}

static tulle_status reduce_many(tulle_comm *comm, tulle_reduction how, int n, void *value, combiner combine)
{
    tulle_status status;
    struct exchange x = {.comm = comm, .how = how, .n = n, .combine = combine, .bytes = (size_t)n * 8};
    tulle__place block = {.length = 0};
    uint64_t before = comm->collectives;
    TULLE_TRY(tulle__alloc((size_t)comm->size, sizeof *x.offset, "places of values", &x.offset));
    TULLE_TRY(tulle__alloc((size_t)n, 8, "values of a partner", &x.got));
    TULLE_TRY(tulle__heap_take(comm->pe->data, 2 * x.bytes, "values to be reduced", &block));
    TULLE_TRY(tulle__comm_share(comm, &block, x.offset));
    x.mine = tulle__mapped(comm, &block);
    memcpy(x.mine, value, x.bytes);
    before = comm->collectives++;
    comm->reductions++;
    TULLE_TRY(exchange(&x));
    memcpy(value, x.mine + (size_t)x.now * x.bytes, x.bytes);
    comm->collectives++;
out:
    if (status != TULLE_OK) comm->collectives = before;
    if (status != TULLE_OK && status != TULLE_ERR_PEER) tulle__comm_fail(comm, status);
    if (block.length) tulle__heap_give(comm->pe->data, &block);
    tulle__free(x.got);
    tulle__free(x.offset);
    return status;
}

/* n values of 8 bytes. */
static tulle_status reduce(tulle_comm *comm, tulle_reduction how, int n, void *value, combiner combine)
{
    int many = comm->size > 1 && (size_t)n * 8 * (size_t)comm->size > 2 * tulle__slot_scratch(comm->pe->npes);
    return many ? reduce_many(comm, how, n, value, combine) : reduce_few(comm, how, n, value, combine);
}

tulle_status tulle_comm_reduce_int(tulle_comm *comm, tulle_reduction how, int n, int64_t *value)
{
    if (TULLE__NULL(comm) || TULLE__OUTSIDE(how, TULLE_MAX) || TULLE__NEGATIVE(n) || (n && TULLE__NULL(value)))
        return tulle__refuse_alone(comm);
    TULLE__ENTER(comm);
    return reduce(comm, how, n, value, combine_int);
}

tulle_status tulle_comm_reduce_real(tulle_comm *comm, tulle_reduction how, int n, double *value)
{
    if (TULLE__NULL(comm) || TULLE__OUTSIDE(how, TULLE_MAX) || TULLE__NEGATIVE(n) || (n && TULLE__NULL(value)))
        return tulle__refuse_alone(comm);
    TULLE__ENTER(comm);
    return reduce(comm, how, n, value, combine_real);
}

enum { ALIKE = 8 };

tulle_status tulle__agree_alike(tulle_comm *comm, int n, const int64_t *value, const char *what)
{
    int64_t most[2 * ALIKE];
    if (comm->size == 1) return TULLE_OK;
    for (int v = 0; v < n; v++) {
        most[v] = value[v];
        most[n + v] = -value[v];
    }
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_MAX, 2 * n, most)));
    for (int v = 0; v < n; v++)
        if (most[v] != -most[n + v]) return tulle__fail(TULLE_ERR_ARG, "%s must be the same on all PEs", what);
    return TULLE_OK;
}
