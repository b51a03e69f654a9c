/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings of a symmetric graph. Local. */
#ifndef TULLE_MAT_MINIMUM_DEGREE_H
#define TULLE_MAT_MINIMUM_DEGREE_H

#include <stdint.h>

#include <tulle/status.h>

/* Neighbours of vertex v: next[start[v]] ... next[start[v + 1] - 1], without v, each once, in both directions. */
typedef struct tulle__graph {
    int64_t n;
    int64_t *start, *next;
} tulle__graph;

/*
 * Approximate minimum degree: order[k] is the k-th vertex to be eliminated. After Amestoy, Davis, Duff, "An approximate
 * minimum degree ordering algorithm", SIAM J. Matrix Anal. Appl. 17 (1996): a quotient graph with absorbed elements and
 * the approximate external degree, without supervariables. Overwrites the graph.
 */
tulle_status tulle__minimum_degree(tulle__graph *graph, int64_t *order);

/*
 * Reverse Cuthill-McKee: breadth first from a vertex far from others, neighbours by ascending degree, all in reverse
 * (George, Liu, "Computer solution of large sparse positive definite systems", 1981).
 */
tulle_status tulle__reverse_cuthill_mckee(const tulle__graph *graph, int64_t *order);

#endif
