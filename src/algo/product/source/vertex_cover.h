/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimum weighted vertex cover of a bipartite graph: a set of vertices of least weight such that
 * each edge has an end in it. The linear program (x_u + x_v >= 1 on each edge, minimise sum w x)
 * has an integral solution. Hence a minimum cut between a source, before the left side, and a sink,
 * behind the right one, is a cover, and the value of the flow is its weight. The dual bounds all
 * covers from below: edges pay, and no vertex is paid more than it weighs.
 */
#ifndef TULLE_PRODUCT_VERTEX_COVER_H
#define TULLE_PRODUCT_VERTEX_COVER_H

#include <stdint.h>

#include <tulle/types.h>

typedef struct tulle__bipartite {
    int64_t left, right;
    /* [left + 1]: edges first[u] .. first[u + 1] - 1 are those of left vertex u; first[0] = 0 */
    const int64_t *first;
    const int32_t *to;                         /* the right end of each */
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
 * Local. Greedy: takes the vertex with the least weight per edge that is not covered yet, until all
 * edges are covered, then drops vertices that are not needed. The bound lets each edge in turn pay
 * as much as both its ends have left. The time is proportional to the number of edges.
 */
tulle_status tulle__vertex_cover_greedy(const tulle__bipartite *graph, tulle__vertex_cover *cover);

/* Local. That bound alone, in less time. */
tulle_status tulle__vertex_cover_bound(const tulle__bipartite *graph, int64_t *bound);

void tulle__vertex_cover_fini(tulle__vertex_cover *cover);

#endif
