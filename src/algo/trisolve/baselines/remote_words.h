/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of control memory that several PEs read and add to simultaneously, like the threads of a
 * GPU: integers, and reals in a word each. Engines have atomics of single integer words; reals are
 * added by compare-and-swap.
 */
#ifndef TULLE_TRISOLVE_REMOTE_WORDS_H
#define TULLE_TRISOLVE_REMOTE_WORDS_H

#include "comm/comm.h"

/* Content of a word; an f32 is its lower half. */
typedef enum tulle__word_kind { TULLE__WORD_INT, TULLE__WORD_F32, TULLE__WORD_F64 } tulle__word_kind;

uint64_t tulle__word_sum(tulle__word_kind kind, uint64_t a, uint64_t b);

/*
 * Starts reading whole words into local memory, which holds them once the group has been awaited.
 */
void tulle__words_read(tulle_comm *comm, int group, const tulle__place *place, int n, const tulle__range *range);

/*
 * Adds local words to remote ones; other PEs see them on return. read: the same words as `range`,
 * with a local end of their own, which is overwritten.
 */
tulle_status tulle__words_add(tulle_comm *comm, int group, const tulle__place *place, tulle__word_kind kind, int n,
    const tulle__range *range, const tulle__range *read);

#endif
