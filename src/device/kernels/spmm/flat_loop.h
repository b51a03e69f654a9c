/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flat loop: one loop over the entries of all rows of a matrix, a fixed number at a time. Entries of the next row
 * are dropped, and whether a row has ended is a number, not a branch: a branch would be mispredicted with irregular
 * rows.
 */
#ifndef TULLE_DEVICE_KERNELS_FLAT_LOOP_H
#define TULLE_DEVICE_KERNELS_FLAT_LOOP_H

#include "kernel/kernel.h"

typedef struct tulle__walk {
    const int64_t *stop; /* of rowptr: where the row ends */
    int64_t left, next;  /* entries of the row that are not taken yet, and of the next row */
} tulle__walk;

/*
 * The end of the rows from `begin` on, before `end`, that a walk `most` entries at a time may go over: it reads so many
 * from where a row ends, and of rowptr two further.
 */
static inline int64_t tulle__walk_end(const tulle__csr *A, int64_t begin, int64_t end, int64_t most)
{
    if (end > A->m - 2) end = A->m - 2;
    while (end > begin && A->rowptr[end] + most > A->rowptr[A->m]) end--;
    return end < begin ? begin : end;
}

/* Before the first entry of a row, which is before the walk's end. */
static inline __attribute__((always_inline)) tulle__walk tulle__walk_from(const tulle__csr *A, int64_t row)
{
    const int64_t *stop = A->rowptr + row + 1;
    return (tulle__walk){stop, stop[0] - stop[-1], stop[1] - stop[0]};
}

/* True if the row ends with the next `most` entries, 0 or 1; how many of these it has. */
static inline __attribute__((always_inline)) int64_t tulle__walk_ends(const tulle__walk *w, int64_t most)
{
    return w->left <= most;
}

static inline __attribute__((always_inline)) int64_t tulle__walk_step(const tulle__walk *w, int64_t most)
{
    return w->left < most ? w->left : most;
}

/* Past them. */
static inline __attribute__((always_inline)) void tulle__walk_on(tulle__walk *w, int64_t most)
{
    const int64_t ends = tulle__walk_ends(w, most);
    w->stop += ends;
    w->left = ends ? w->next : w->left - most;
    w->next = w->stop[1] - w->stop[0];
}

#endif
