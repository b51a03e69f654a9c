/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template of the product with a slab, included by openacc_kernels.c once a pair of types with
 *   T            of values
 *   V            of vectors
 *   NAME(x)      x with the pair's suffix
 * A line of Y and a column are an element; elements are shared out among gangs and vector lanes, and the blocks of an
 * element's row are gone through one after the other, so that a row is summed in one order whatever slab it is in. Sums
 * are f64. What a symmetric slab adds to Y is added atomically, in any order.
 */
static void NAME(multiply)(int queue, const tulle__slab_task *task)
{
    const tulle__slab *A = &task->A;
    const int32_t *rowptr = tulle__openacc_at(&A->rowptr);
    const int32_t *base = A->index_bytes == 2 ? tulle__openacc_at(&A->base) : NULL;
    const void *colind = tulle__openacc_at(&A->colind);
    const T *val = tulle__openacc_at(&A->val);
    const V *X = tulle__openacc_at(&task->X.place);
    V *Y = tulle__openacc_at(&task->Y.place);
    int64_t b = A->block, first = A->first * b, lines = A->m * b, cols = task->cols, ldx = task->X.ld, ldy = task->Y.ld;
    int half = A->symmetric;
#pragma acc parallel loop gang vector collapse(2) async(queue) deviceptr(rowptr, base, colind, val, X, Y)
    for (int64_t line = 0; line < lines; line++)
        for (int64_t c = 0; c < cols; c++) {
            int64_t row = line / b, r = line % b;
            double sum = 0, x = half ? (double)X[(first + line) * ldx + c] : 0;
            for (int64_t e = rowptr[row]; e < rowptr[row + 1]; e++) {
                int64_t j = column(base, colind, row, e) * b;
                for (int64_t k = 0; k < b; k++) {
                    double a = (double)val[(e * b + r) * b + k];
                    sum += a * (double)X[(j + k) * ldx + c];
                    if (!half || j == first + row * b) continue; /* a block of the diagonal is all there */
#pragma acc atomic update
                    Y[(j + k) * ldy + c] += (V)(a * x);
                }
            }
            V *y = &Y[(first + line) * ldy + c];
            if (half) {
#pragma acc atomic update
                *y += (V)sum;
            } else {
                *y = (V)sum;
            }
        }
}
