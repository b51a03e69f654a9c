/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a link whose whole team is reached by load and store: for engines whose PEs share an address space or a
 * node. Every transfer is complete when it returns. Compiled into libtulle and into each module that wants it.
 */
#ifndef TULLE_COMM_SHARED_MEMORY_H
#define TULLE_COMM_SHARED_MEMORY_H

#include "comm/link.h"

/* The first member of such an engine's link. */
typedef struct tulle__shared_link {
    tulle__link link;
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    int node; /* direct tells no pointers but those of ranks / node equal to the own, as an engine between nodes; 0: all
               */
} tulle__shared_link;

extern const tulle__link_ops tulle__shared_ops;

#endif
