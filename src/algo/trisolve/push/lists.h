/* SPDX-License-Identifier: Apache-2.0 */
/* An alltoallv of lists between PEs during an analysis, read from memory. */
#ifndef TULLE_TRISOLVE_LISTS_H
#define TULLE_TRISOLVE_LISTS_H

#include "mat/mat.h"

/* The meaning of the numbers is the caller's. */
typedef struct tulle__list_item {
    int32_t about, rank, slot;
} tulle__list_item;

/*
 * list[first[r] .. first[r + 1] - 1] goes to PE r. *got (the caller frees it): the items for this
 * PE, of which from[r] .. from[r + 1] - 1 are PE r's; from[size + 1]. Collective.
 */
tulle_status tulle__lists_exchange(
    tulle_comm *comm, const tulle__list_item *list, const int64_t *first, tulle__list_item **got, int64_t *from);

#endif
