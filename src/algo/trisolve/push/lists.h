/* SPDX-License-Identifier: Apache-2.0 */
/* What PEs write to each other during an analysis: an all-to-all of lists, read from memory. */
#ifndef TULLE_TRISOLVE_LETTERS_H
#define TULLE_TRISOLVE_LETTERS_H

#include "mat/mat.h"

/* What the numbers say is between the writer and the reader. */
typedef struct tulle__list_item {
    int32_t about, rank, slot;
} tulle__list_item;

/*
 * Collective: letter[first[r] .. first[r + 1] - 1] are to PE r. *got, the caller's: those to this PE, of which
 * from[r] .. from[r + 1] - 1 are PE r's; from[size + 1].
 */
tulle_status tulle__lists_exchange(
    tulle_comm *comm, const tulle__list_item *letter, const int64_t *first, tulle__list_item **got, int64_t *from);

#endif
