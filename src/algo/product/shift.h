/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What giving rows of A away (cover.h) does to each PE: multiplications go with them, so fewer bytes may cost more time
 * where all give to the same one. Seconds of each PE with and without, as far as transfers and multiplications go.
 */
#ifndef TULLE_PRODUCT_SHIFT_H
#define TULLE_PRODUCT_SHIFT_H

#include "algo/product/price.h"
#include "comm/comm.h"

typedef struct tulle__shift {
    tulle_comm *comm;
    const tulle__prices *prices;
    double *before, *after; /* [size]: seconds; after follows before */
} tulle__shift;

tulle_status tulle__shift_init(tulle_comm *comm, const tulle__prices *prices, tulle__shift *shift);
void tulle__shift_fini(tulle__shift *shift);

/* This PE multiplies so much. */
void tulle__shift_work(tulle__shift *shift, double multiplications);

/* Instead of moving bytes of price `rows` to here, a price of `here` is paid here and one of `there` by that PE, to
 * which so many multiplications go. */
void tulle__shift_give(tulle__shift *shift, int to, double rows, double here, double there, double multiplications);

/* Collective: whether the slowest PE is done earlier. */
tulle_status tulle__shift_pays(tulle__shift *shift, int *pays);

#endif
