/* SPDX-License-Identifier: Apache-2.0 */
/* Dense blocks through the BLAS, where there is one and the block is worth the call. */
#include "device/cpu/dense_calls.h"

#include "base/host/blas.h"
#include "base/host/blas_names.h"

#define TEMPLATE "device/cpu/dense_blocks.h"
#include "kernel/both_types.h"

#ifdef TULLE_HAVE_CBLAS
#include <cblas.h>

/* Not in cblas.h, and there only if the BLAS behind the name is OpenBLAS. */
extern int openblas_get_parallel(void) __attribute__((weak));

enum { CALL_PAYS = 256, PTHREADS = 1 }; /* multiplications; what OpenBLAS calls its build with threads */

int tulle__blas_by_threads(void)
{
    return !openblas_get_parallel || openblas_get_parallel() == PTHREADS;
}

/* The BLAS counts in int. */
static int suits(const tulle__dense_task *t)
{
    const int64_t most = INT32_MAX;
    if (!tulle__blas_by_threads() || !tulle__blas_has_room()) return 0;
    return !t->x_line && !t->y_line && t->m * t->k * t->cols >= CALL_PAYS && t->m <= most && t->k <= most &&
           t->cols <= most && t->lda <= most && t->ldx <= most && t->ldy <= most;
}

static void subtract_blas(const tulle__dense_task *t)
{
    int m = (int)t->m, k = (int)t->k, n = (int)t->cols, lda = (int)t->lda, ldx = (int)t->ldx, ldy = (int)t->ldy;
    if (t->type == TULLE_F32 && n == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, -1, t->A, lda, t->X, ldx, 1, t->Y, ldy);
    else if (t->type == TULLE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, -1, t->A, lda, t->X, ldx, 1, t->Y, ldy);
    else if (n == 1)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, m, k, -1, t->A, lda, t->X, ldx, 1, t->Y, ldy);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, -1, t->A, lda, t->X, ldx, 1, t->Y, ldy);
}

static void substitute_blas(const tulle__dense_task *t, int upper, int unit)
{
    int m = (int)t->m, n = (int)t->cols, lda = (int)t->lda, ldy = (int)t->ldy;
    const CBLAS_UPLO uplo = upper ? CblasUpper : CblasLower;
    const CBLAS_DIAG diag = unit ? CblasUnit : CblasNonUnit;
    if (t->type == TULLE_F32 && n == 1)
        cblas_strsv(CblasRowMajor, uplo, CblasNoTrans, diag, m, t->A, lda, t->Y, ldy);
    else if (t->type == TULLE_F32)
        cblas_strsm(CblasRowMajor, CblasLeft, uplo, CblasNoTrans, diag, m, n, 1, t->A, lda, t->Y, ldy);
    else if (n == 1)
        cblas_dtrsv(CblasRowMajor, uplo, CblasNoTrans, diag, m, t->A, lda, t->Y, ldy);
    else
        cblas_dtrsm(CblasRowMajor, CblasLeft, uplo, CblasNoTrans, diag, m, n, 1, t->A, lda, t->Y, ldy);
}

/* Blocks are far smaller than what the BLAS can count. */
static void multiply_chain(const tulle__block_chain *t)
{
    const int m = (int)t->m, n = (int)t->n, ldb = (int)t->ldb, ldc = (int)t->ldc;
    double beta = t->beta;
    for (int64_t s = 0; s < t->steps; s++, beta = 1) {
        const tulle__block_step *step = &t->step[s];
        const int k = (int)step->k;
        if (t->type == TULLE_F32)
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, (float)t->alpha, step->A, k, step->B, ldb,
                (float)beta, t->C, ldc);
        else
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, t->alpha, step->A, k, step->B, ldb, beta,
                t->C, ldc);
    }
}

tulle__block_chain_kernel tulle__dense_chain(void)
{
    return tulle__blas_by_threads() && tulle__blas_has_room() ? multiply_chain : NULL;
}

void tulle__dense_alone(void)
{
    if (tulle__blas_threads() > 1) tulle__blas_set_threads(1);
}

#else
void tulle__dense_alone(void) {}

tulle__block_chain_kernel tulle__dense_chain(void)
{
    return NULL;
}

int tulle__blas_by_threads(void)
{
    return 0;
}
#endif

void tulle__dense_subtract(const tulle__dense_task *task)
{
#ifdef TULLE_HAVE_CBLAS
    if (suits(task)) {
        subtract_blas(task);
        return;
    }
#endif
    task->type == TULLE_F32 ? subtract_f32(task) : subtract_f64(task);
}

void tulle__dense_substitute(const tulle__dense_task *task, int upper, int unit)
{
#ifdef TULLE_HAVE_CBLAS
    if (suits(task)) {
        substitute_blas(task, upper, unit);
        return;
    }
#endif
    task->type == TULLE_F32 ? substitute_f32(task, upper, unit) : substitute_f64(task, upper, unit);
}
