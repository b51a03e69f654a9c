/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the local work on vectors, included once a type: T the value type, NAME(x) x with its suffix. Sums are
 * made in double, eight side by side in the order of the rows, so that no instruction set changes their bits.
 */

static double NAME(dot)(const T *x, const T *y, int64_t n)
{
    double sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int s = 0; s < 8; s++) sum[s] += (double)x[i + s] * (double)y[i + s];
    for (int s = 0; i < n; i++, s++) sum[s] += (double)x[i] * (double)y[i];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

/* y = beta y + the sum of coef[v] x[v], for rows begin .. end - 1, summand by summand. */
static void NAME(combine)(
    int count, const double *coef, const void *const *x, double beta, T *y, int64_t begin, int64_t end)
{
    for (int v = 0; v < count; v++) {
        const T *from = x[v], c = (T)coef[v], b = (T)beta;
        if (v || beta == 1)
            for (int64_t i = begin; i < end; i++) y[i] += c * from[i];
        else if (beta == 0)
            for (int64_t i = begin; i < end; i++) y[i] = c * from[i];
        else
            for (int64_t i = begin; i < end; i++) y[i] = b * y[i] + c * from[i];
    }
}
