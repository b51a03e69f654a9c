/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of BLAS and LAPACK functions in a library that puts a prefix before them, as that of the
 * package scipy-openblas32 does so that two copies in one process stay apart. Included before the
 * first declaration of such a function; without TULLE_BLAS_PREFIX the names stay as they are. A call of
 * a new function gets a line: a library that lacks the plain name does not link otherwise.
 */
#ifndef TULLE_BASE_HOST_BLAS_NAMES_H
#define TULLE_BASE_HOST_BLAS_NAMES_H

#ifdef TULLE_BLAS_PREFIX
#define TULLE__BLAS_JOIN(prefix, name) prefix##name
#define TULLE__BLAS_JOINED(prefix, name) TULLE__BLAS_JOIN(prefix, name)
#define TULLE__BLAS_NAME(name) TULLE__BLAS_JOINED(TULLE_BLAS_PREFIX, name)

/* CBLAS */
#define cblas_dgemm TULLE__BLAS_NAME(cblas_dgemm)
#define cblas_dgemv TULLE__BLAS_NAME(cblas_dgemv)
#define cblas_dtrsm TULLE__BLAS_NAME(cblas_dtrsm)
#define cblas_dtrsv TULLE__BLAS_NAME(cblas_dtrsv)
#define cblas_sgemm TULLE__BLAS_NAME(cblas_sgemm)
#define cblas_sgemv TULLE__BLAS_NAME(cblas_sgemv)
#define cblas_strsm TULLE__BLAS_NAME(cblas_strsm)
#define cblas_strsv TULLE__BLAS_NAME(cblas_strsv)

/* BLAS by Fortran's interface */
#define dgemm_ TULLE__BLAS_NAME(dgemm_)
#define dtrmm_ TULLE__BLAS_NAME(dtrmm_)
#define dtrsm_ TULLE__BLAS_NAME(dtrsm_)
#define sgemm_ TULLE__BLAS_NAME(sgemm_)
#define strmm_ TULLE__BLAS_NAME(strmm_)
#define strsm_ TULLE__BLAS_NAME(strsm_)

/* LAPACK */
#define dgetrf_ TULLE__BLAS_NAME(dgetrf_)
#define dormtr_ TULLE__BLAS_NAME(dormtr_)
#define dpotrf_ TULLE__BLAS_NAME(dpotrf_)
#define dstebz_ TULLE__BLAS_NAME(dstebz_)
#define dstedc_ TULLE__BLAS_NAME(dstedc_)
#define dstein_ TULLE__BLAS_NAME(dstein_)
#define dstev_ TULLE__BLAS_NAME(dstev_)
#define dsyev_ TULLE__BLAS_NAME(dsyev_)
#define dsyevd_ TULLE__BLAS_NAME(dsyevd_)
#define dsygst_ TULLE__BLAS_NAME(dsygst_)
#define dsygv_ TULLE__BLAS_NAME(dsygv_)
#define dsygvd_ TULLE__BLAS_NAME(dsygvd_)
#define dsytrd_ TULLE__BLAS_NAME(dsytrd_)
#define sgetrf_ TULLE__BLAS_NAME(sgetrf_)
#define sormtr_ TULLE__BLAS_NAME(sormtr_)
#define spotrf_ TULLE__BLAS_NAME(spotrf_)
#define sstedc_ TULLE__BLAS_NAME(sstedc_)
#define ssyevd_ TULLE__BLAS_NAME(ssyevd_)
#define ssygst_ TULLE__BLAS_NAME(ssygst_)
#define ssygvd_ TULLE__BLAS_NAME(ssygvd_)
#define ssytrd_ TULLE__BLAS_NAME(ssytrd_)

/* OpenBLAS's own */
#define gotoblas_dynamic_init TULLE__BLAS_NAME(gotoblas_dynamic_init)
#define gotoblas_dynamic_quit TULLE__BLAS_NAME(gotoblas_dynamic_quit)
#define openblas_get_config TULLE__BLAS_NAME(openblas_get_config)
#define openblas_get_corename TULLE__BLAS_NAME(openblas_get_corename)
#define openblas_get_num_threads TULLE__BLAS_NAME(openblas_get_num_threads)
#define openblas_get_parallel TULLE__BLAS_NAME(openblas_get_parallel)
#define openblas_read_env TULLE__BLAS_NAME(openblas_read_env)
#define openblas_set_num_threads TULLE__BLAS_NAME(openblas_set_num_threads)
#endif

#endif
