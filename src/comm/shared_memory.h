/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of a link that reaches the whole team by load and store, for engines whose PEs share
 * an address space or a node. Every transfer is complete on return. Compiled into libtulle and into
 * each module that uses it.
 */
#ifndef TULLE_COMM_SHARED_MEMORY_H
#define TULLE_COMM_SHARED_MEMORY_H

#include "comm/link.h"

/*
 * The doorbell of a PE that waits. Writers look at it after each write into the PE's control memory,
 * and ring if it is the word that the PE waits for.
 */
typedef struct tulle__bell {
    _Alignas(64) _Atomic(const uint64_t *) word; /* NULL: the PE is awake */
    _Atomic uint32_t rung;
} tulle__bell;

/* The first member of such an engine's link. */
typedef struct tulle__shared_link {
    tulle__link link;
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    int node;                     /* PEs that map each other: those with equal rank / node; 0: all */
    tulle__bell *bell;            /* [npes], of one process; NULL: PEs have cores of their own, and poll */
} tulle__shared_link;

extern const tulle__link_ops tulle__shared_ops;

#endif
