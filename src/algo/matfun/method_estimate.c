/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/method_estimate.h"

#include <math.h>

/* Seconds of one core of 2024; only ratios matter. */
#define CUBE 1e-10
#define SQUARE 5e-9
#define COLUMN 2e-10 /* the columns through the reflectors, twice */
#define SOLVES 1.5e-7
#define SUBMATRIX 1.4e-4
#define ITERATIONS 171. /* products of this size in all steps, with the fill of real matrices */
#define PAIR 9e-8       /* of a block product, and a flop of it */
#define FLOP 3.7e-11
#define DENSER .28

/* Block products and operations of a block row of A A. */
static double row_of_square(const tulle__submatrices *s, tulle_gidx i, double *flops)
{
    const tulle_gidx *cut = tulle__block_rows_cut(&s->pattern);
    const tulle__block_row *row = tulle__block_row_of(&s->pattern, i);
    double products = 0, height = (double)(cut[i + 1] - cut[i]);
    *flops = 0;
    for (int64_t e = 0; e < row->count; e++) {
        const tulle__block_row *other = tulle__block_row_of(&s->pattern, row->col[e]);
        products += (double)other->count;
        *flops += 2 * height * (double)(other->offset[other->count] - other->offset[0]);
    }
    return products;
}

tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double seconds[2])
{
    seconds[0] = seconds[1] = 0;
    for (int64_t k = 0; k < s->count; k++) {
        double n = (double)s->sub[k].n, b = (double)s->sub[k].b;
        seconds[0] += CUBE * n * n * n + (SQUARE + COLUMN * b) * n * n + SOLVES * n * b + SUBMATRIX;
        for (int64_t c = 0; c < s->sub[k].ncols; c++) {
            double flops, products = row_of_square(s, s->index[s->sub[k].cols + c], &flops);
            if (products > 0) seconds[1] += ITERATIONS * (PAIR * products + FLOP * flops) / pow(products, DENSER);
        }
    }
    return tulle_comm_reduce_real(s->pattern.A->comm, TULLE_SUM, 2, seconds);
}
