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

void LAPACK(potrf_)(const char *uplo, const int *n, T *a, const int *lda, int *info);
void LAPACK(sygst_)(
    const int *itype, const char *uplo, const int *n, T *a, const int *lda, const T *b, const int *ldb, int *info);
void LAPACK(trsm_)(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
    const T *alpha, const T *a, const int *lda, T *b, const int *ldb);
void LAPACK(trmm_)(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
    const T *alpha, const T *a, const int *lda, T *b, const int *ldb);

static void NAME(to_rows)(const T *X, int64_t n, int64_t b, double *rows)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) rows[i * b + c] = (double)X[c * n + i];
}

/* H^T E, or that of L^-1 E and L^T E. */
static int NAME(reflect)(tulle__eigen *x, int size, int columns)
{
    int lwork = (int)x->lwork, info;
    const T one = 1;
    if (x->S) {
        T *part = x->part;
        memcpy(part, x->X, (size_t)size * (size_t)columns * sizeof *part);
        LAPACK(trmm_)("L", "L", "T", "N", &size, &columns, &one, x->S, &size, part, &size);
        LAPACK(ormtr_)
        ("L", "L", "T", &size, &columns, x->A, &size, x->tau, part, &size, x->work, &lwork, &info);
        NAME(to_rows)(part, size, columns, x->W);
        LAPACK(trsm_)("L", "L", "N", "N", &size, &columns, &one, x->S, &size, x->X, &size);
    }
    LAPACK(ormtr_)
    ("L", "L", "T", &size, &columns, x->A, &size, x->tau, x->X, &size, x->work, &lwork, &info);
    return info;
}

/* X = H X, or L^-T H X. */
static void NAME(reflect_back)(tulle__eigen *x, int size, int columns)
{
    int lwork = (int)x->lwork, info;
    const T one = 1;
    LAPACK(ormtr_)
    ("L", "L", "N", &size, &columns, x->A, &size, x->tau, x->X, &size, x->work, &lwork, &info);
    if (x->S) LAPACK(trsm_)("L", "L", "T", "N", &size, &columns, &one, x->S, &size, x->X, &size);
}

static int NAME(reduce)(tulle__eigen *x, int64_t n, int64_t b, const int64_t *column)
{
    int size = (int)n, lwork = (int)x->lwork, info;
    const int first = 1; /* A c = x S c */
    T *E = x->X;
    const T *d = x->d, *e = x->e;
    if (x->S) {
        LAPACK(potrf_)("L", &size, x->S, &size, &info);
        if (info) return TULLE__INDEFINITE;
        LAPACK(sygst_)(&first, "L", &size, x->A, &size, x->S, &size, &info);
    }
    LAPACK(sytrd_)("L", &size, x->A, &size, x->d, x->e, x->tau, x->work, &lwork, &info);
    if (info) return info;
    for (int64_t i = 0; i < n; i++) x->diagonal[i] = (double)d[i];
    for (int64_t i = 0; i + 1 < n; i++) x->off[i] = (double)e[i];
    for (int64_t i = 0; i < n * b; i++) E[i] = 0;
    for (int64_t c = 0; c < b; c++) E[c * n + column[c]] = 1;
    info = NAME(reflect)(x, size, (int)b);
    for (int64_t c = 0; c < b && !x->S; c++) {
        double norm = 0;
        for (int64_t i = 0; i < n; i++) norm += (double)E[c * n + i] * (double)E[c * n + i];
        x->rounding = fmax(x->rounding, fabs(norm - 1));
    }
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
    if (x->S) {
        T *X = x->X;
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < b; c++) X[c * n + i] = (T)x->W[i * b + c];
        LAPACK(gemm_)("T", "N", &size, &columns, &size, &one, x->V, &size, X, &size, &zero, part, &size);
        for (int64_t i = 0; i < n * b; i++) x->U[i] = (double)part[i];
    }
    return 0;
}

/* X from rows of doubles, and back through the reflectors. */
static void NAME(from_rows)(tulle__eigen *x, int64_t n, int64_t b, const double *rows)
{
    T *X = x->X;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < b; c++) X[c * n + i] = (T)rows[i * b + c];
    NAME(reflect_back)(x, (int)n, (int)b);
}

static void NAME(apply)(tulle__eigen *x, int64_t n, int64_t b)
{
    int size = (int)n, columns = (int)b;
    T *part = x->part;
    const T one = 1, zero = 0;
    for (int64_t c = 0; c < b; c++)
        for (int64_t i = 0; i < n; i++) part[c * n + i] = (T)(x->value[i] * x->Y[c * n + i]);
    LAPACK(gemm_)("N", "N", &size, &columns, &size, &one, x->V, &size, part, &size, &zero, x->X, &size);
    NAME(reflect_back)(x, size, columns);
}
