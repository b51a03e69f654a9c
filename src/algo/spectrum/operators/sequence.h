/* SPDX-License-Identifier: Apache-2.0 */
/* Operators one after another as one: y = op[count - 1] ( ... op[0] x). */
#ifndef TULLE_SPECTRUM_SEQUENCE_H
#define TULLE_SPECTRUM_SEQUENCE_H

#include <tulle/krylov.h>

enum { TULLE__SEQUENCE_MOST = 3 };

/* `op` are the caller's and must outlive it; they have one layout of vectors. Local. */
typedef struct tulle__sequence {
    const tulle_operator *op[TULLE__SEQUENCE_MOST];
    int count;
} tulle__sequence;

/* The operator of a sequence, which must outlive it. */
tulle_operator tulle__sequence_operator(tulle__sequence *sequence);

/*
 * The layout of matrices whose rows and columns are cut as these vectors are. Collective, agreed.
 */
tulle_status tulle__layout_square_of(const tulle_layout *rows, tulle_comm *comm, tulle_layout **square);

#endif
