/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimum weighted vertex cover of a bipartite graph: vertices such that each edge has an end among them, of least
 * weight. Its linear program (x_u + x_v >= 1 on each edge, minimise sum w x) has an integral solution, so a minimum cut
 * between a source before the left side and a sink behind the right one is one, and the flow's value is its weight. The
 * dual (edges pay, no vertex is paid more than it weighs) tells how far from the least any other cover can be.
 */
#ifndef TULLE_PRODUCT_VERTEX_COVER_H
#define TULLE_PRODUCT_VERTEX_COVER_H

#include <stdint.h>

#include <tulle/types.h>

typedef struct tulle__bipartite {
    int64_t left, right;
    const int64_t *first; /* [left + 1]: edges first[u] .. first[u + 1] - 1 are those of left vertex u; first[0] = 0 */
    const int32_t *to;    /* the right end of each */
    const int64_t *left_weight, *right_weight; /* >= 0 */
} tulle__bipartite;

typedef struct tulle__vertex_cover {
    char *left, *right; /* 1: in the cover; vertices without edges never are */
    int64_t weight;
    int64_t bound; /* no cover weighs less */
    int exact;     /* weight == bound by construction */
} tulle__vertex_cover;

/* Local. By maximum flow (Dinic's blocking flows). */
tulle_status tulle__vertex_cover_exact(const tulle__bipartite *graph, tulle__vertex_cover *cover);

/*
 * Local. Again and again the vertex that covers its edges cheapest, by weight / edges not covered yet, then without
 * those that were not needed; the bound is what edges can pay, each in turn as much as both its ends have left. Takes
 * time in proportion to the edges.
 */
tulle_status tulle__vertex_cover_greedy(const tulle__bipartite *graph, tulle__vertex_cover *cover);

/* Local. That bound alone, in less time. */
tulle_status tulle__vertex_cover_bound(const tulle__bipartite *graph, int64_t *bound);

void tulle__vertex_cover_fini(tulle__vertex_cover *cover);

#endif
