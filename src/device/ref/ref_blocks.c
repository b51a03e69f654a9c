/* SPDX-License-Identifier: Apache-2.0 */
#include "device/ref/ref_blocks.h"

static double value(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static void put(tulle_type type, void *val, int64_t at, double alpha, double sum, double beta)
{
    if (type == TULLE_F32) {
        float *C = (float *)val + at;
        *C = (float)(beta == 0 ? alpha * sum : alpha * sum + beta * *C);
    } else {
        double *C = (double *)val + at;
        *C = beta == 0 ? alpha * sum : alpha * sum + beta * *C;
    }
}

/* Row `row` of the pair times column c of B. */
static double row_sum(const tulle__spmm_task *t, const tulle__spmm_pair *pair, int64_t row, int64_t c)
{
    const tulle__csr *A = &pair->A;
    double sum = 0;
    int64_t r = 0;
    if (!A->rowptr) return 0;
    while (A->row_block[r + 1] - A->row_block[0] <= row) r++;
    int64_t height = A->row_block[r + 1] - A->row_block[r], line = row - (A->row_block[r] - A->row_block[0]);
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
        int64_t b = A->colind[e], width = A->col_block[b + 1] - A->col_block[b];
        int64_t at = (A->offset ? A->offset[e] : e * height * width) + line * width;
        for (int64_t p = 0; p < width; p++)
            sum += value(t->type, A->val, at + p) *
                   value(t->type, pair->B, (A->col_block[b] - A->col_block[0] + p) * pair->b_row + c * pair->b_col);
    }
    return sum;
}

tulle_status tulle__ref_spmm_blocks(tulle__pool *pool, const tulle__spmm_task *t, int64_t first)
{
    (void)pool;
    for (int64_t r = 0; r < t->m; r++)
        for (int64_t c = 0; c < t->n; c++) {
            double sum = 0;
            for (int p = 0; p < t->npairs; p++) sum += row_sum(t, &t->pair[p], first + r, c);
            put(t->type, t->C, r * t->c_row + c * t->c_col, t->alpha, sum, t->beta);
        }
    return TULLE_OK;
}
