/* SPDX-License-Identifier: Apache-2.0 */
/* The decomposition for one type: T, NAME(x), LAPACK(x), GEMM. For eigen.c alone. */

void LAPACK(sytrd_)(
    const char *uplo, const int *n, T *a, const int *lda, T *d, T *e, T *tau, T *work, const int *lwork, int *info);
void LAPACK(stedc_)(const char *compz, const int *n, T *d, T *e, T *z, const int *ldz, T *work, const int *lwork,
    int *iwork, const int *liwork, int *info);
void LAPACK(ormtr_)(const char *side, const char *uplo, const char *trans, const int *m, const int *n, const T *a,
    const int *lda, const T *tau, T *c, const int *ldc, T *work, const int *lwork, int *info);
void LAPACK(gemm_)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const T *alpha, const T *a,
    const int *lda, const T *b, const int *ldb, const T *beta, T *c, const int *ldc);

static int NAME(reduce)(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    int size = (int)n, columns = (int)b, lwork = (int)x->lwork, info;
    T *E = x->X;
    const T *d = x->d, *e = x->e;
    LAPACK(sytrd_)("L", &size, x->A, &size, x->d, x->e, x->tau, x->work, &lwork, &info);
    if (info) return info;
    for (int64_t i = 0; i < n; i++) x->diagonal[i] = (double)d[i];
    for (int64_t i = 0; i + 1 < n; i++) x->off[i] = (double)e[i];
    for (int64_t i = 0; i < n * b; i++) E[i] = 0;
    for (int64_t c = 0; c < b; c++) E[c * n + column[c]] = 1;
    LAPACK(ormtr_)
    ("L", "L", "T", &size, &columns, x->A, &size, x->tau, E, &size, x->work, &lwork, &info);
    return info;
}

static int NAME(solve)(tulle__eigen *x, int64_t n, int64_t b)
{
    int size = (int)n, columns = (int)b, lwork = (int)x->lwork, liwork = (int)x->liwork, info;
    T *part = x->part, *d = x->d;
    const T one = 1, zero = 0;
    LAPACK(stedc_)("I", &size, x->d, x->e, x->V, &size, x->work, &lwork, x->iwork, &liwork, &info);
    if (info) return info;
    LAPACK(gemm_)("T", "N", &size, &columns, &size, &one, x->V, &size, x->X, &size, &zero, part, &size);
    for (int64_t i = 0; i < n; i++) x->lambda[i] = (double)d[i];
    for (int64_t i = 0; i < n * b; i++) x->Y[i] = (double)part[i];
    return 0;
}

/* X to rows of doubles, and back through the reflectors. */
static void NAME(to_rows)(const tulle__eigen *x, int64_t n, int64_t b, double *rows)
{
    const T *X = x->X;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) rows[i * b + c] = (double)X[c * n + i];
}

static void NAME(from_rows)(tulle__eigen *x, int64_t n, int64_t b, const double *rows)
{
    int size = (int)n, columns = (int)b, lwork = (int)x->lwork, info;
    T *X = x->X;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) X[c * n + i] = (T)rows[i * b + c];
    LAPACK(ormtr_)
    ("L", "L", "N", &size, &columns, x->A, &size, x->tau, X, &size, x->work, &lwork, &info);
}

static void NAME(apply)(tulle__eigen *x, int64_t n, int64_t b)
{
    int size = (int)n, columns = (int)b, lwork = (int)x->lwork, info;
    T *part = x->part;
    const T one = 1, zero = 0;
    for (int64_t c = 0; c < b; c++)
        for (int64_t i = 0; i < n; i++) part[c * n + i] = (T)(x->value[i] * x->Y[c * n + i]);
    LAPACK(gemm_)("N", "N", &size, &columns, &size, &one, x->V, &size, part, &size, &zero, x->X, &size);
    LAPACK(ormtr_)
    ("L", "L", "N", &size, &columns, x->A, &size, x->tau, x->X, &size, x->work, &lwork, &info);
}
