/* SPDX-License-Identifier: Apache-2.0 */
/* The median of a few repetitions of a measurement. */
#ifndef TULLE_BASE_MEDIAN_H
#define TULLE_BASE_MEDIAN_H

/* Sorts x[0 .. n - 1] in ascending order; n is at least 1. */
static inline double tulle__median(double *x, int n)
{
    for (int i = 1; i < n; i++) {
        const double y = x[i];
        int at = i;
        for (; at > 0 && x[at - 1] > y; at--) x[at] = x[at - 1];
        x[at] = y;
    }
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

#endif
