/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/shift.h"

#include "base/error.h"
#include "base/memory.h"

tulle_status tulle__shift_init(tulle_comm *comm, const tulle__prices *prices, tulle__shift *shift)
{
    *shift = (tulle__shift){.comm = comm, .prices = prices};
    tulle_status status = tulle__alloc_zero(2 * (size_t)comm->size, sizeof *shift->before, "loads", &shift->before);
    if (status == TULLE_OK) shift->after = shift->before + comm->size;
    return status;
}

void tulle__shift_fini(tulle__shift *shift)
{
    tulle__free(shift->before);
}

void tulle__shift_work(tulle__shift *s, double multiplications)
{
    double seconds = multiplications * s->prices->multiplication;
    s->before[s->comm->rank] += seconds;
    s->after[s->comm->rank] += seconds;
}

void tulle__shift_give(tulle__shift *s, int to, double rows, double here, double there, double multiplications)
{
    int me = s->comm->rank;
    double byte = s->prices->byte[tulle__price_distance(s->prices, me, to)];
    double seconds = multiplications * s->prices->multiplication;
    s->before[me] += rows * byte;
    s->after[me] += here * byte - seconds;
    s->after[to] += there * byte + seconds;
}

tulle_status tulle__shift_pays(tulle__shift *s, int *pays)
{
    double before = 0, after = 0;
    int size = s->comm->size;
    tulle_status status = tulle_comm_reduce_real(s->comm, TULLE_SUM, 2 * size, s->before);
    for (int r = 0; r < size; r++) {
        if (s->before[r] > before) before = s->before[r];
        if (s->after[r] > after) after = s->after[r];
    }
    *pays = after < before;
    return status;
}
