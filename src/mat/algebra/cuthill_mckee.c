/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/algebra/minimum_degree.h"

/* A vertex to be visited, with its degree. */
struct next {
    int64_t degree, vertex;
};

static int64_t degree_of(const tulle__graph *g, int64_t v)
{
    return g->start[v + 1] - g->start[v];
}

static int by_degree(const void *a, const void *b)
{
    const struct next *x = a, *y = b;
    if (x->degree != y->degree) return x->degree < y->degree ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/*
 * Visits the component of `from`, whose vertices have level `open`: to[0 .. count - 1] in the order of visits. They get
 * level + 1 of the vertex that they are reached from, beginning at `first`. Returns the count.
 */
static int64_t visit(const tulle__graph *g, int64_t from, int64_t open, int64_t first, int64_t *level,
    struct next *workspace, int64_t *to)
{
    int64_t count = 0;
    level[from] = first;
    to[count++] = from;
    for (int64_t at = 0; at < count; at++) {
        int64_t found = 0;
        for (int64_t e = g->start[to[at]]; e < g->start[to[at] + 1]; e++) {
            const int64_t w = g->next[e];
            if (level[w] != open) continue;
            level[w] = level[to[at]] + 1;
            workspace[found++] = (struct next){degree_of(g, w), w};
        }
        qsort(workspace, (size_t)found, sizeof *workspace, by_degree);
        for (int64_t i = 0; i < found; i++) to[count++] = workspace[i].vertex;
    }
    return count;
}

/* The vertex of least degree in the last level. */
static int64_t farthest(const tulle__graph *g, const int64_t *level, const int64_t *to, int64_t count)
{
    int64_t best = to[count - 1];
    for (int64_t i = count - 1; i >= 0 && level[to[i]] == level[to[count - 1]]; i--)
        if (degree_of(g, to[i]) < degree_of(g, best)) best = to[i];
    return best;
}

/* Sets the levels of visited vertices back. */
static void reopen(int64_t *level, const int64_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++) level[to[i]] = -1;
}

tulle_status tulle__reverse_cuthill_mckee(const tulle__graph *g, int64_t *order)
{
    enum { SWEEPS = 4 };
    TULLE__SCOPED int64_t *level = NULL;
    int64_t done = 0;
    TULLE__SCOPED struct next *workspace = NULL;
    TULLE_CALL(tulle__alloc((size_t)g->n + 1, sizeof *level, "levels of an ordering", &level));
    TULLE_CALL(tulle__alloc((size_t)g->n + 1, sizeof *workspace, "an ordering", &workspace));
    for (int64_t v = 0; v < g->n; v++) level[v] = -1;
    for (int64_t v = 0; v < g->n; v++) {
        if (level[v] >= 0) continue;
        int64_t from = v, depth = -1, count = 0;
        for (int sweep = 0; sweep < SWEEPS; sweep++) { /* away from a vertex that is far from others */
            count = visit(g, from, -1, 0, level, workspace, order + done);
            const int64_t reached = level[order[done + count - 1]], next = farthest(g, level, order + done, count);
            if (reached <= depth || sweep == SWEEPS - 1) break;
            depth = reached;
            from = next;
            reopen(level, order + done, count);
        }
        if (level[order[done]] < 0) count = visit(g, from, -1, 0, level, workspace, order + done);
        done += count;
    }
    for (int64_t i = 0, j = g->n - 1; i < j; i++, j--) {
        const int64_t v = order[i];
        order[i] = order[j];
        order[j] = v;
    }
    return TULLE_OK;
}
