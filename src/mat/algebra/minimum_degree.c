/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/minimum_degree.h"

#include <string.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/memory.h"

enum { NONE = -1, LOOK = 1 << 10 };

/*
 * The quotient graph. A variable's list has its elements first, then variables that it is adjacent to without one; both
 * never exceed its first length. An element's list has its variables, and is allocated when a pivot is eliminated.
 */
struct quotient {
    int64_t n;
    tulle__graph *graph;
    int64_t *elements, *length;     /* of a variable's list: elements, and all */
    int64_t *degree;                /* approximate, external */
    int64_t **member, *members;     /* of element e: its variables; NULL: absorbed, or none */
    int64_t *head, *before, *after; /* variables of equal degree, in double lists */
    int64_t *mark;                  /* a variable is in the pivot's element: the pivot's tag */
    int64_t *outside, *tag; /* of an element: variables outside of the pivot's element, valid with the pivot's tag */
    char *eliminated;
    int64_t *numbers, *scratch; /* the memory of the arrays above; a list being made */
    int64_t least;              /* no degree in use is below it */
};

static void unlink_variable(struct quotient *q, int64_t v)
{
    if (q->before[v] >= 0)
        q->after[q->before[v]] = q->after[v];
    else
        q->head[q->degree[v]] = q->after[v];
    if (q->after[v] >= 0) q->before[q->after[v]] = q->before[v];
}

static void link_variable(struct quotient *q, int64_t v)
{
    const int64_t d = q->degree[v];
    q->before[v] = NONE;
    q->after[v] = q->head[d];
    if (q->head[d] >= 0) q->before[q->head[d]] = v;
    q->head[d] = v;
    if (d < q->least) q->least = d;
}

static void absorb(struct quotient *q, int64_t e)
{
    tulle__free(q->member[e]);
    q->member[e] = NULL;
    q->members[e] = 0;
}

/* Adds a variable to the pivot's element, once. */
static void gather(struct quotient *q, int64_t v, int64_t tag, int64_t *to, int64_t *count)
{
    if (q->eliminated[v] || q->mark[v] == tag) return;
    q->mark[v] = tag;
    to[(*count)++] = v;
}

/* The pivot's element: its variables and those of its elements, which it absorbs. */
static tulle_status make_element(struct quotient *q, int64_t p, int64_t tag)
{
    const int64_t *list = q->graph->next + q->graph->start[p];
    int64_t most = q->length[p] - q->elements[p], count = 0, *to;
    for (int64_t k = 0; k < q->elements[p]; k++) most += q->members[list[k]];
    TULLE_CALL(tulle__alloc((size_t)most + 1, sizeof *to, "an element of an ordering", &to));
    for (int64_t k = 0; k < q->elements[p]; k++) {
        for (int64_t m = 0; m < q->members[list[k]]; m++) gather(q, q->member[list[k]][m], tag, to, &count);
        absorb(q, list[k]);
    }
    for (int64_t k = q->elements[p]; k < q->length[p]; k++) gather(q, list[k], tag, to, &count);
    q->member[p] = to;
    q->members[p] = count;
    return TULLE_OK;
}

/*
 * Counts, for each element that touches the pivot's, its variables outside of that. The variables of an element are
 * never eliminated: with the first of them it would have been absorbed.
 */
static void count_outside(struct quotient *q, int64_t p, int64_t tag)
{
    for (int64_t m = 0; m < q->members[p]; m++) {
        const int64_t v = q->member[p][m], *list = q->graph->next + q->graph->start[v];
        for (int64_t k = 0; k < q->elements[v]; k++) {
            const int64_t e = list[k];
            if (!q->member[e]) continue;
            if (q->tag[e] != tag) q->outside[e] = q->members[e];
            q->tag[e] = tag;
            q->outside[e]--;
        }
    }
}

/*
 * A variable's new list, with the pivot as its element, and its approximate degree. The list has room: the pivot
 * itself, or an element that the pivot has absorbed, leaves it.
 */
static void update_variable(struct quotient *q, int64_t p, int64_t v, int64_t tag, int64_t left)
{
    int64_t *list = q->graph->next + q->graph->start[v], kept = 0, sum = q->members[p] - 1;
    for (int64_t k = 0; k < q->elements[v]; k++) {
        const int64_t e = list[k];
        if (!q->member[e] || q->outside[e] == 0) continue; /* absorbed, or all of it is in the pivot's */
        sum += q->outside[e];
        q->scratch[kept++] = e;
    }
    const int64_t elements = kept + 1;
    q->scratch[kept++] = p;
    for (int64_t k = q->elements[v]; k < q->length[v]; k++) {
        const int64_t w = list[k];
        if (w != p && q->mark[w] != tag) q->scratch[kept++] = w;
    }
    memcpy(list, q->scratch, (size_t)kept * sizeof *list);
    sum += kept - elements;
    const int64_t grown = q->degree[v] + q->members[p] - 1;
    q->elements[v] = elements;
    q->length[v] = kept;
    q->degree[v] = sum < grown ? sum : grown;
    if (q->degree[v] > left - 1) q->degree[v] = left - 1;
}

/* Eliminates the variable of least degree, the k-th. */
static tulle_status eliminate(struct quotient *q, int64_t k, int64_t *order)
{
    while (q->head[q->least] < 0) q->least++;
    const int64_t p = q->head[q->least], tag = k + 1;
    unlink_variable(q, p);
    q->eliminated[p] = 1;
    order[k] = p;
    TULLE_CALL(make_element(q, p, tag));
    count_outside(q, p, tag);
    for (int64_t m = 0; m < q->members[p]; m++) {
        const int64_t v = q->member[p][m];
        unlink_variable(q, v);
        update_variable(q, p, v, tag, q->n - k - 1);
        link_variable(q, v);
    }
    return k % LOOK ? TULLE_OK : tulle__attend();
}

static tulle_status begin(struct quotient *q)
{
    int64_t widest = 0, *numbers;
    const size_t n = (size_t)q->n + 1;
    TULLE_CALL(tulle__alloc_zero(10 * n, sizeof *numbers, "an ordering", &q->numbers));
    TULLE_CALL(tulle__alloc_zero(n, sizeof *q->member, "an ordering", &q->member));
    TULLE_CALL(tulle__alloc_zero(n, 1, "an ordering", &q->eliminated));
    numbers = q->numbers;
    int64_t **const place[] = {&q->elements, &q->length, &q->degree, &q->members, &q->head, &q->before, &q->after,
        &q->mark, &q->outside, &q->tag};
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) *place[i] = numbers + i * n;
    for (int64_t v = 0; v <= q->n; v++) q->head[v] = NONE;
    q->least = q->n;
    for (int64_t v = 0; v < q->n; v++) {
        q->length[v] = q->degree[v] = q->graph->start[v + 1] - q->graph->start[v];
        if (q->degree[v] > widest) widest = q->degree[v];
        link_variable(q, v);
    }
    return tulle__alloc((size_t)widest + 1, sizeof *q->scratch, "an ordering", &q->scratch);
}

tulle_status tulle__minimum_degree(tulle__graph *graph, int64_t *order)
{
    struct quotient q = {.n = graph->n, .graph = graph};
    tulle_status status = begin(&q);
    for (int64_t k = 0; k < q.n && status == TULLE_OK; k++) status = eliminate(&q, k, order);
    for (int64_t v = 0; v < q.n && q.member; v++) tulle__free(q.member[v]);
    tulle__free(q.numbers);
    tulle__free(q.member);
    tulle__free(q.eliminated);
    tulle__free(q.scratch);
    return status;
}
