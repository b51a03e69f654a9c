/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a link that reaches the whole team by load and store, for engines whose PEs share
 * an address space or a node. Every transfer is complete on return. Compiled into libtulle and into
 * each module that uses it.
 */
#ifndef TULLE_COMM_SHARED_MEMORY_H
#define TULLE_COMM_SHARED_MEMORY_H

#include "comm/link.h"

/* The first member of such an engine's link. */
typedef struct tulle__shared_link {
    tulle__link link;
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    int node;                     /* PEs that map each other: those with equal rank / node; 0: all */
} tulle__shared_link;

extern const tulle__link_ops tulle__shared_ops;

#endif
