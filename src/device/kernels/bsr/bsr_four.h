/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of four doubles in memory, for the instruction sets that have AVX: included with INLINE. */

/* Four values from p on. */
INLINE __m256d load4_d(const double *p)
{
    return _mm256_loadu_pd(p);
}

INLINE __m256d load4_s(const float *p)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(p));
}

INLINE void store4_d(double *p, __m256d x)
{
    _mm256_storeu_pd(p, x);
}

INLINE void store4_s(float *p, __m256d x)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(x));
}

/* The same n lanes for sums that are read again soon after: in pieces that are handed from store to load. */
INLINE __m256d take4_d(const double *p, int64_t n)
{
    if (n == 1) return _mm256_zextpd128_pd256(_mm_load_sd(p));
    __m256d low = _mm256_zextpd128_pd256(_mm_loadu_pd(p));
    return n == 3 ? _mm256_insertf128_pd(low, _mm_load_sd(p + 2), 1) : low;
}

INLINE void give4_d(double *p, __m256d x, int64_t n)
{
    __m128d low = _mm256_castpd256_pd128(x);
    if (n == 1)
        _mm_store_sd(p, low);
    else
        _mm_storeu_pd(p, low);
    if (n == 3) _mm_store_sd(p + 2, _mm256_extractf128_pd(x, 1));
}

INLINE double sum4(__m256d x)
{
    __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return y[0] + y[1];
}
