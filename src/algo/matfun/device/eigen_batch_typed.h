/* SPDX-License-Identifier: Apache-2.0 */
/* Host's work on a matrix of a batch, for one type: T, NAME(x). For eigen_batch.c alone. */

/* Above all eigenvalues of the first n rows, by circles of Gershgorin. */
static double NAME(above)(const T *A, int64_t n, int64_t ld, double *sums)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) sums[i] = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double x = fabs((double)A[j * ld + i]);
            sums[i] += x;
            if (i != j) sums[j] += x;
        }
    for (int64_t i = 0; i < n; i++) most = fmax(most, sums[i]);
    return most > 0 ? 1.0625 * most : 1;
}

static void NAME(fill)(tulle__eigen_item *item, int64_t ld, const int64_t *column)
{
    T *A = item->eigen.A;
    const T *S = item->eigen.S;
    T *near = (T *)(void *)item->near;
    int64_t n = item->n;
    if (n < ld) {
        T pad = (T)NAME(above)(A, n, ld, item->eigen.value);
        for (int64_t j = 0; j < n; j++) memset(A + j * ld + n, 0, (size_t)(ld - n) * sizeof *A);
        for (int64_t j = n; j < ld; j++) {
            memset(A + j * ld + j, 0, (size_t)(ld - j) * sizeof *A);
            A[j * ld + j] = pad;
        }
    }
    for (int64_t c = 0; S && c < item->b; c++)
        for (int64_t i = 0, j = column[c]; i < n; i++) near[c * n + i] = i >= j ? S[j * ld + i] : S[i * ld + j];
}

static void NAME(read)(tulle__eigen_item *item, const char *levels)
{
    const T *lambda = (const T *)(const void *)levels, *far = (const T *)(const void *)item->far,
            *weights = (const T *)(const void *)item->weights;
    tulle__eigen *x = &item->eigen;
    for (int64_t i = 0; i < item->n; i++) x->lambda[i] = (double)lambda[i];
    for (int64_t c = 0; c < item->b; c++) {
        double norm = 0;
        for (int64_t i = 0; i < item->n; i++) {
            double y = (double)far[i * item->b + c];
            x->Y[c * item->n + i] = y;
            norm += y * y;
        }
        if (!x->S) x->rounding = fmax(x->rounding, fabs(norm - 1));
    }
    for (int64_t k = 0; x->S && k < item->n * item->b; k++) x->U[k] = (double)weights[k];
}

static void NAME(part)(const tulle__eigen_item *item, char *part)
{
    T *to = (T *)(void *)part;
    const tulle__eigen *x = &item->eigen;
    for (int64_t c = 0; c < item->b; c++)
        for (int64_t i = 0; i < item->n; i++) to[c * item->n + i] = (T)(x->value[i] * x->Y[c * item->n + i]);
}
