/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/vertex_cover.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/*
 * The edges as the right side sees them: back[first[v] .. first[v + 1] - 1] are numbers of edges,
 * from[] left ends.
 */
struct mirror {
    int64_t *first, *back;
    int32_t *from;
};

static void mirror_fini(struct mirror *m)
{
    tulle__free(m->first);
    tulle__free(m->back);
    tulle__free(m->from);
}

static tulle_status mirror_init(const tulle__bipartite *g, struct mirror *m)
{
    int64_t edges = g->first[g->left];
    TULLE_CALL(tulle__alloc_zero((size_t)g->right + 2, sizeof *m->first, "a vertex cover", &m->first));
    TULLE_CALL(tulle__alloc((size_t)edges, sizeof *m->back, "a vertex cover", &m->back));
    TULLE_CALL(tulle__alloc((size_t)edges, sizeof *m->from, "a vertex cover", &m->from));
    /*
     * counted two places ahead, so that filling in moves first[v + 1] from where v's edges begin to
     * where they end
     */
    for (int64_t e = 0; e < edges; e++) m->first[g->to[e] + 2]++;
    for (int64_t v = 0; v < g->right; v++) m->first[v + 2] += m->first[v + 1];
    for (int64_t u = 0; u < g->left; u++)
        for (int64_t e = g->first[u]; e < g->first[u + 1]; e++) {
            int64_t at = m->first[g->to[e] + 1]++;
            m->back[at] = e;
            m->from[at] = (int32_t)u;
        }
    return TULLE_OK;
}

static tulle_status cover_init(const tulle__bipartite *g, tulle__vertex_cover *cover)
{
    *cover = (tulle__vertex_cover){.weight = 0};
    TULLE_CALL(tulle__alloc_zero((size_t)g->left, 1, "a vertex cover", &cover->left));
    return tulle__alloc_zero((size_t)g->right, 1, "a vertex cover", &cover->right);
}

void tulle__vertex_cover_fini(tulle__vertex_cover *cover)
{
    tulle__free(cover->left);
    tulle__free(cover->right);
    *cover = (tulle__vertex_cover){.weight = 0};
}

static void weigh(const tulle__bipartite *g, tulle__vertex_cover *cover)
{
    cover->weight = 0;
    for (int64_t u = 0; u < g->left; u++) cover->weight += cover->left[u] ? g->left_weight[u] : 0;
    for (int64_t v = 0; v < g->right; v++) cover->weight += cover->right[v] ? g->right_weight[v] : 0;
}

/* ---- by flow ---- */

struct flow {
    const tulle__bipartite *graph;
    struct mirror mirror;
    /* of what may flow into a left vertex from the source, out of a right one */
    int64_t *left_rest, *right_rest;
    int64_t *flow; /* over each edge, which takes any amount */
    int32_t *left_level, *right_level;
    int64_t *left_at, *right_at; /* the edge to be tried next */
    int32_t *queue;              /* left vertices u, right ones left + v */
    int64_t *path;               /* of edges: forward, back, forward, ... */
};

static void flow_fini(struct flow *f)
{
    mirror_fini(&f->mirror);
    tulle__free(f->left_rest);
    tulle__free(f->right_rest);
    tulle__free(f->flow);
    tulle__free(f->left_level);
    tulle__free(f->right_level);
    tulle__free(f->left_at);
    tulle__free(f->right_at);
    tulle__free(f->queue);
    tulle__free(f->path);
}

static tulle_status flow_init(const tulle__bipartite *g, struct flow *f)
{
    size_t left = (size_t)g->left, right = (size_t)g->right;
    f->graph = g;
    TULLE_CALL(mirror_init(g, &f->mirror));
    TULLE_CALL(tulle__alloc(left, sizeof *f->left_rest, "a vertex cover", &f->left_rest));
    TULLE_CALL(tulle__alloc(right, sizeof *f->right_rest, "a vertex cover", &f->right_rest));
    TULLE_CALL(tulle__alloc_zero((size_t)g->first[left], sizeof *f->flow, "a vertex cover", &f->flow));
    TULLE_CALL(tulle__alloc(left, sizeof *f->left_level, "a vertex cover", &f->left_level));
    TULLE_CALL(tulle__alloc(right, sizeof *f->right_level, "a vertex cover", &f->right_level));
    TULLE_CALL(tulle__alloc(left, sizeof *f->left_at, "a vertex cover", &f->left_at));
    TULLE_CALL(tulle__alloc(right, sizeof *f->right_at, "a vertex cover", &f->right_at));
    TULLE_CALL(tulle__alloc(left + right, sizeof *f->queue, "a vertex cover", &f->queue));
    TULLE_CALL(tulle__alloc(left + right, sizeof *f->path, "a vertex cover", &f->path));
    for (size_t u = 0; u < left; u++) f->left_rest[u] = g->left_weight[u];
    for (size_t v = 0; v < right; v++) f->right_rest[v] = g->right_weight[v];
    return TULLE_OK;
}

/*
 * Sets distances from the source in the residual graph, up to the sink; returns whether that is
 * reached.
 */
static int find_levels(struct flow *f)
{
    const tulle__bipartite *g = f->graph;
    const struct mirror *m = &f->mirror;
    int64_t head = 0, tail = 0;
    int32_t last = INT32_MAX;
    for (int64_t v = 0; v < g->right; v++) f->right_level[v] = -1;
    for (int64_t u = 0; u < g->left; u++) {
        f->left_level[u] = f->left_rest[u] > 0 ? 0 : -1;
        if (f->left_rest[u] > 0) f->queue[tail++] = (int32_t)u;
    }
    while (head < tail) {
        int64_t x = f->queue[head++];
        if (x < g->left) {
            int32_t level = f->left_level[x] + 1;
            if (level > last) break;
            for (int64_t e = g->first[x]; e < g->first[x + 1]; e++) {
                int32_t v = g->to[e];
                if (f->right_level[v] >= 0) continue;
                f->right_level[v] = level;
                f->queue[tail++] = (int32_t)(g->left + v);
                if (f->right_rest[v] > 0) last = level;
            }
        } else {
            int64_t v = x - g->left;
            for (int64_t at = m->first[v]; at < m->first[v + 1]; at++) {
                int32_t u = m->from[at];
                if (f->left_level[u] >= 0 || f->flow[m->back[at]] == 0) continue;
                f->left_level[u] = f->right_level[v] + 1;
                f->queue[tail++] = u;
            }
        }
    }
    return last < INT32_MAX;
}

/* Augments the flow along the path from left vertex u to right vertex v. */
static void augment(struct flow *f, int64_t u, int64_t v, int64_t length)
{
    int64_t most = f->left_rest[u] < f->right_rest[v] ? f->left_rest[u] : f->right_rest[v];
    for (int64_t p = 1; p < length; p += 2)
        if (f->flow[f->path[p]] < most) most = f->flow[f->path[p]];
    for (int64_t p = 0; p < length; p++) f->flow[f->path[p]] += p % 2 ? -most : most;
    f->left_rest[u] -= most;
    f->right_rest[v] -= most;
}

/*
 * Augments along one path of rising levels from left vertex u to a right vertex with capacity left;
 * 0: none.
 */
static int push_path(struct flow *f, int64_t source)
{
    const tulle__bipartite *g = f->graph;
    const struct mirror *m = &f->mirror;
    int64_t length = 0, u = source, v = -1;
    for (;;) {
        if (v < 0) { /* at left vertex u */
            if (f->left_at[u] < g->first[u + 1]) {
                int64_t e = f->left_at[u];
                if (f->right_level[g->to[e]] != f->left_level[u] + 1) {
                    f->left_at[u]++;
                    continue;
                }
                v = g->to[e];
                f->path[length++] = e;
                if (f->right_rest[v] == 0) continue;
                augment(f, source, v, length);
                return 1;
            }
            if (length == 0) return 0;
            v = g->to[f->path[--length]]; /* back over the edge that led here, which is used up */
            f->right_at[v]++;
        } else if (f->right_at[v] < m->first[v + 1]) { /* at right vertex v */
            int64_t at = f->right_at[v];
            if (f->flow[m->back[at]] == 0 || f->left_level[m->from[at]] != f->right_level[v] + 1) {
                f->right_at[v]++;
                continue;
            }
            u = m->from[at];
            f->path[length++] = m->back[at];
            v = -1;
        } else {
            length--;
            /* the left vertex that it was reached from: behind the edge before, or the source */
            u = source;
            if (length > 0) {
                int64_t back = f->path[length - 1];
                int64_t w = g->to[back];
                u = m->from[f->right_at[w]];
            }
            f->left_at[u]++;
            v = -1;
        }
    }
}

tulle_status tulle__vertex_cover_exact(const tulle__bipartite *g, tulle__vertex_cover *cover)
{
    tulle_status status;
    struct flow f = {.graph = g};
    TULLE_TRY(cover_init(g, cover));
    TULLE_TRY(flow_init(g, &f));
    while (find_levels(&f)) {
        memcpy(f.left_at, g->first, (size_t)g->left * sizeof *f.left_at);
        memcpy(f.right_at, f.mirror.first, (size_t)g->right * sizeof *f.right_at);
        for (int64_t u = 0; u < g->left; u++)
            while (f.left_rest[u] > 0 && push_path(&f, u)) {
            }
    }
    /* the cut: what can still be reached lies on the source's side */
    for (int64_t u = 0; u < g->left; u++) cover->left[u] = f.left_level[u] < 0 && g->first[u + 1] > g->first[u];
    for (int64_t v = 0; v < g->right; v++) cover->right[v] = f.right_level[v] >= 0;
    weigh(g, cover);
    for (int64_t u = 0; u < g->left; u++) cover->bound += g->left_weight[u] - f.left_rest[u];
    cover->exact = 1;
out:
    flow_fini(&f);
    if (status != TULLE_OK) tulle__vertex_cover_fini(cover);
    return status;
}

/* ---- greedy ---- */

struct offer {
    double cost; /* weight / edges, when it was last looked at: it only rises */
    int64_t vertex;
};

struct greedy {
    const tulle__bipartite *graph;
    struct mirror mirror;
    int64_t *open; /* [left + right]: edges that are not covered yet */
    struct offer *heap;
    int64_t offers;
};

static void greedy_fini(struct greedy *g)
{
    mirror_fini(&g->mirror);
    tulle__free(g->open);
    tulle__free(g->heap);
}

static struct offer offer_of(const struct greedy *g, int64_t x)
{
    const tulle__bipartite *b = g->graph;
    int64_t weight = x < b->left ? b->left_weight[x] : b->right_weight[x - b->left];
    return (struct offer){(double)weight / (double)g->open[x], x};
}

static void sift_down(struct greedy *g, int64_t at)
{
    struct offer moved = g->heap[at];
    for (int64_t child; (child = 2 * at + 1) < g->offers; at = child) {
        if (child + 1 < g->offers && g->heap[child + 1].cost < g->heap[child].cost) child++;
        if (g->heap[child].cost >= moved.cost) break;
        g->heap[at] = g->heap[child];
    }
    g->heap[at] = moved;
}

static tulle_status greedy_init(const tulle__bipartite *b, struct greedy *g)
{
    int64_t all = b->left + b->right;
    g->graph = b;
    TULLE_CALL(mirror_init(b, &g->mirror));
    TULLE_CALL(tulle__alloc((size_t)all, sizeof *g->open, "a vertex cover", &g->open));
    TULLE_CALL(tulle__alloc((size_t)all, sizeof *g->heap, "a vertex cover", &g->heap));
    for (int64_t x = 0; x < all; x++) {
        const int64_t *first = x < b->left ? &b->first[x] : &g->mirror.first[x - b->left];
        g->open[x] = first[1] - first[0];
        if (g->open[x]) g->heap[g->offers++] = offer_of(g, x);
    }
    for (int64_t at = g->offers / 2; at-- > 0;) sift_down(g, at);
    return TULLE_OK;
}

/* The vertex with the least weight per uncovered edge; -1: all edges are covered. */
static int64_t take_best(struct greedy *g)
{
    while (g->offers) {
        struct offer best = g->heap[0];
        if (g->open[best.vertex] && offer_of(g, best.vertex).cost <= best.cost) return best.vertex;
        if (g->open[best.vertex])
            g->heap[0] = offer_of(g, best.vertex);
        else
            g->heap[0] = g->heap[--g->offers];
        sift_down(g, 0);
    }
    return -1;
}

static void cover_edges(struct greedy *g, tulle__vertex_cover *cover, int64_t x)
{
    const tulle__bipartite *b = g->graph;
    const struct mirror *m = &g->mirror;
    g->open[x] = 0;
    if (x < b->left) {
        cover->left[x] = 1;
        for (int64_t e = b->first[x]; e < b->first[x + 1]; e++)
            if (!cover->right[b->to[e]]) g->open[b->left + b->to[e]]--;
    } else {
        int64_t v = x - b->left;
        cover->right[v] = 1;
        for (int64_t at = m->first[v]; at < m->first[v + 1]; at++)
            if (!cover->left[m->from[at]]) g->open[m->from[at]]--;
    }
}

/* Drops vertices whose neighbours are all in the cover. */
static void drop_needless(const struct greedy *g, tulle__vertex_cover *cover)
{
    const tulle__bipartite *b = g->graph;
    const struct mirror *m = &g->mirror;
    for (int64_t u = 0; u < b->left; u++) {
        int needed = 0;
        for (int64_t e = b->first[u]; e < b->first[u + 1] && !needed; e++) needed = !cover->right[b->to[e]];
        cover->left[u] &= (char)needed;
    }
    for (int64_t v = 0; v < b->right; v++) {
        int needed = 0;
        for (int64_t at = m->first[v]; at < m->first[v + 1] && !needed; at++) needed = !cover->left[m->from[at]];
        cover->right[v] &= (char)needed;
    }
}

tulle_status tulle__vertex_cover_bound(const tulle__bipartite *g, int64_t *bound)
{
    int64_t *rest;
    TULLE_CALL(tulle__alloc((size_t)g->right, sizeof *rest, "a vertex cover", &rest));
    for (int64_t v = 0; v < g->right; v++) rest[v] = g->right_weight[v];
    *bound = 0;
    for (int64_t u = 0; u < g->left; u++) {
        int64_t left = g->left_weight[u];
        for (int64_t e = g->first[u]; e < g->first[u + 1] && left > 0; e++) {
            int64_t paid = left < rest[g->to[e]] ? left : rest[g->to[e]];
            left -= paid;
            rest[g->to[e]] -= paid;
            *bound += paid;
        }
    }
    tulle__free(rest);
    return TULLE_OK;
}

tulle_status tulle__vertex_cover_greedy(const tulle__bipartite *b, tulle__vertex_cover *cover)
{
    tulle_status status;
    struct greedy g = {.graph = b};
    TULLE_TRY(cover_init(b, cover));
    TULLE_TRY(greedy_init(b, &g));
    for (int64_t x; (x = take_best(&g)) >= 0;) cover_edges(&g, cover, x);
    drop_needless(&g, cover);
    weigh(b, cover);
    TULLE_TRY(tulle__vertex_cover_bound(b, &cover->bound));
out:
    greedy_fini(&g);
    if (status != TULLE_OK) tulle__vertex_cover_fini(cover);
    return status;
}
