/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/method_estimate.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

/* Seconds of one core of 2024; only ratios matter. */
#define CUBE 7e-11
#define SQUARE 2.2e-8
#define COLUMN 2e-10 /* the columns through the reflectors, twice */
#define SOLVES 1.5e-7
#define SUBMATRIX 5e-5
#define ITERATIONS 171. /* products of this size in all steps, with the fill of real matrices */
#define PAIR 9e-8       /* of a block product, and a flop of it */
#define FLOP 3.7e-11
#define DENSER .28
#define GROWTH .5 /* exponent of a result's blocks over A's */
#define POWER 6.  /* as ITERATIONS, of results as dense as A */
#define POWER_COLUMN 6e-5
#define DECAY 3. /* logarithm of norms over a distance of A's reach */

enum { SAMPLE = 16 };

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

/* ---- how much denser a result is than A ---- */

struct sample {
    double *square; /* [block columns]: of norms of the row of A A; 0 */
    double *norm;   /* [block columns] */
    double blocks, of_square, depth, rows;
};

static double norm_of(const tulle__submatrices *s, const tulle__block_row *row, int64_t e)
{
    double sum = 0;
    for (int64_t k = row->offset[e]; k < row->offset[e + 1]; k++) {
        double x =
            s->pattern.A->type == TULLE_F32 ? (double)((const float *)row->val)[k] : ((const double *)row->val)[k];
        sum += x * x;
    }
    return sqrt(sum);
}

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The logarithm of a small block off the diagonal over the filter. */
static double depth_of(double *norm, int64_t count, double filter)
{
    if (!count) return 0;
    qsort(norm, (size_t)count, sizeof *norm, ascending);
    return fmax(0, log(fmax(norm[count / 10], 1e-300) / filter));
}

/* Block row i of A and A A, if its values and its partners' are mapped. */
static void add_row(const tulle__submatrices *s, tulle_gidx i, double filter, struct sample *x)
{
    const tulle__block_row *row = tulle__block_row_of(&s->pattern, i);
    int64_t off = 0, found = 0;
    for (int64_t e = 0; e < row->count; e++)
        if (!row->val || !tulle__block_row_of(&s->pattern, row->col[e])->val) return;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t e = 0; e < row->count; e++) {
            const tulle__block_row *other = tulle__block_row_of(&s->pattern, row->col[e]);
            double own = pass ? 0 : norm_of(s, row, e);
            for (int64_t k = 0; k < other->count; k++) {
                double *square = &x->square[other->col[k]], product = pass ? 0 : own * norm_of(s, other, k);
                found += pass && *square >= filter * filter;
                *square = pass ? 0 : *square + product * product;
            }
            if (!pass && row->col[e] != i) x->norm[off++] = own;
        }
    x->rows++;
    x->blocks += (double)row->count;
    x->of_square += (double)found;
    x->depth += depth_of(x->norm, off, filter);
}

/* Blocks of the result over those of A. Collective, without agreement. */
static tulle_status measure_growth(const tulle__submatrices *s, double filter, double *growth)
{
    tulle_status status;
    struct sample x = {.square = NULL};
    tulle_gidx columns = s->pattern.A->layout->row_blocks.count;
    int64_t step = s->count / SAMPLE + 1;
    TULLE_TRY(tulle__alloc_zero((size_t)columns, sizeof *x.square, "norms of a block row", &x.square));
    TULLE_TRY(tulle__alloc((size_t)columns, sizeof *x.norm, "norms of a block row", &x.norm));
    for (int64_t k = 0; k < s->count && filter > 0; k += step) add_row(s, s->sub[k].column, filter, &x);
out:
    tulle__free(x.square);
    tulle__free(x.norm);
    double sums[] = {x.rows, x.blocks, x.of_square, x.depth};
    if (status == TULLE_OK) status = tulle_comm_reduce_real(s->pattern.A->comm, TULLE_SUM, 4, sums);
    double most = sums[1] > 0 ? (double)columns * sums[0] / sums[1] : 1, reach = 1 + sums[3] / fmax(1, sums[0]) / DECAY;
    *growth = filter > 0 ? 1 : most;
    if (sums[1] > 0) *growth = fmin(most, pow(fmax(1, sums[2] / sums[1]), log2(reach)));
    return status;
}

tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double filter, tulle__method_estimate *seconds)
{
    double sums[3] = {0, 0, 0}, growth = 1;
    for (int64_t k = 0; k < s->count; k++) {
        double n = (double)s->sub[k].n, b = (double)s->sub[k].b;
        sums[0] += CUBE * n * n * n + (SQUARE + COLUMN * b) * n * n + SOLVES * n * b + SUBMATRIX;
        for (int64_t c = 0; c < s->sub[k].ncols; c++) {
            double flops, products = row_of_square(s, s->index[s->sub[k].cols + c], &flops);
            double product = PAIR * products + FLOP * flops;
            if (products > 0) sums[1] += ITERATIONS * product / pow(products, DENSER);
            sums[2] += product;
        }
    }
    tulle_status status = tulle_comm_reduce_real(s->pattern.A->comm, TULLE_SUM, 3, sums);
    if (status == TULLE_OK) status = measure_growth(s, filter, &growth);
    *seconds = (tulle__method_estimate){.submatrices = sums[0],
        .sign = sums[1] * pow(growth, GROWTH),
        .power = POWER * growth * growth * sums[2] + POWER_COLUMN * (double)s->pattern.A->layout->row_blocks.count};
    return status;
}
