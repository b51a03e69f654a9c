/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvectors of a small dense symmetric matrix, or of a pair A c = x S c, by cyclic Jacobi rotations: for checks in
 * builds without LAPACK, and for the emulated cuSOLVER there (C and C++). Ten n^3 operations a sweep, about ten sweeps.
 */
#ifndef TULLE_ALGO_MATFUN_DENSE_JACOBI_H
#define TULLE_ALGO_MATFUN_DENSE_JACOBI_H

#include <math.h>
#include <stdint.h>

/* x, y = c x - s y, s x + c y, of n elements `step` apart. */
static inline void tulle__jacobi_rotate(int64_t n, double *x, double *y, int64_t step, double c, double s)
{
    for (int64_t i = 0; i < n; i++) {
        const double a = x[i * step], b = y[i * step];
        x[i * step] = c * a - s * b;
        y[i * step] = s * a + c * b;
    }
}

/* One sweep over all pairs that are more than `least`; 0: none was. */
static inline int tulle__jacobi_sweep(int64_t n, double *A, double *V, double least)
{
    int rotated = 0;
    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            const double off = A[q * n + p], a = A[p * n + p], b = A[q * n + q];
            if (fabs(off) <= least) continue;
            const double t = (b - a) / (2 * off), r = (t < 0 ? -1 : 1) / (fabs(t) + sqrt(1 + t * t));
            const double c = 1 / sqrt(1 + r * r), s = r * c;
            tulle__jacobi_rotate(n, A + p * n, A + q * n, 1, c, s);
            tulle__jacobi_rotate(n, A + p, A + q, n, c, s);
            tulle__jacobi_rotate(n, V + p * n, V + q * n, 1, c, s);
            A[q * n + p] = A[p * n + q] = 0;
            rotated = 1;
        }
    return rotated;
}

static inline void tulle__jacobi_sort(int64_t n, double *V, double *w)
{
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t least = i;
        for (int64_t j = i + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        const double x = w[i];
        w[i] = w[least];
        w[least] = x;
        for (int64_t k = 0; k < n && least != i; k++) {
            const double v = V[i * n + k];
            V[i * n + k] = V[least * n + k];
            V[least * n + k] = v;
        }
    }
}

/* S = L L^T in the lower triangle; 0: it is not positive definite. */
static inline int tulle__jacobi_cholesky(int64_t n, double *S)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = S[j * n + i];
            for (int64_t k = 0; k < j; k++) sum -= S[k * n + i] * S[k * n + j];
            if (i == j && !(sum > 0)) return 0;
            S[j * n + i] = i == j ? sqrt(sum) : sum / S[j * n + j];
        }
    return 1;
}

/* x = L^-1 x, of elements `step` apart. */
static inline void tulle__jacobi_forward(int64_t n, const double *L, double *x, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) x[i * step] -= L[k * n + i] * x[k * step];
        x[i * step] /= L[i * n + i];
    }
}

/*
 * A, S [n * n]: lower triangles by columns, lost; S NULL: no pair. V: eigenvectors in columns, V^T S V = 1; w: their
 * values, ascending. 0, or: n + 1, S is not positive definite; n, no convergence, as for what is not finite.
 */
static inline int64_t tulle__jacobi(int64_t n, double *A, double *S, double *V, double *w)
{
    enum { SWEEPS = 60 };
    double largest = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            if (i < j) A[j * n + i] = A[i * n + j];
            if (!isfinite(A[j * n + i])) return n;
            V[j * n + i] = i == j;
        }
    if (S && !tulle__jacobi_cholesky(n, S)) return n + 1;
    for (int64_t j = 0; S && j < n; j++) tulle__jacobi_forward(n, S, A + j * n, 1);
    for (int64_t i = 0; S && i < n; i++) tulle__jacobi_forward(n, S, A + i, n);
    for (int64_t i = 0; i < n * n; i++)
        if (fabs(A[i]) > largest) largest = fabs(A[i]);
    int sweeps = 0;
    while (sweeps < SWEEPS && tulle__jacobi_sweep(n, A, V, 1e-17 * largest)) sweeps++;
    if (sweeps == SWEEPS) return n;
    for (int64_t i = 0; i < n; i++) w[i] = A[i * n + i];
    tulle__jacobi_sort(n, V, w);
    for (int64_t j = 0; S && j < n; j++) /* V = L^-T V */
        for (int64_t i = n - 1; i >= 0; i--) {
            for (int64_t k = i + 1; k < n; k++) V[j * n + i] -= S[i * n + k] * V[j * n + k];
            V[j * n + i] /= S[i * n + i];
        }
    return 0;
}

#endif
