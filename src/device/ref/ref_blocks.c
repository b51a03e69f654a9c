/* SPDX-License-Identifier: Apache-2.0 */
#include "device/ref/ref_blocks.h"

#include "base/error.h"
#include "tile/element.h"

static void put(tulle_type type, void *val, int64_t at, double alpha, double sum, double beta)
{
    tulle__element_set(type, val, at, beta == 0 ? alpha * sum : alpha * sum + beta * tulle__element(type, val, at));
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
            sum += tulle__element(t->type, A->val, at + p) *
                   tulle__element(
                       t->type, pair->B, (A->col_block[b] - A->col_block[0] + p) * pair->b_row + c * pair->b_col);
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

/* ---- products of two matrices of blocks ---- */

/* The block of row r and column c of X; -1: none. */
static int64_t find_block(const tulle__csr *X, int64_t r, int64_t c)
{
    for (int64_t e = X->rowptr ? X->rowptr[r] : 0; X->rowptr && e < X->rowptr[r + 1]; e++)
        if (X->colind[e] == c) return e;
    return -1;
}

static const tulle_gidx *row_cuts(const tulle__spgemm_task *t)
{
    return t->pair[0].A.row_block ? t->pair[0].A.row_block : t->pair[0].B.row_block;
}

/* True if block (r, c) of C may be made. */
static int is_wanted(const tulle__spgemm_task *t, int64_t r, int64_t c)
{
    return !t->half || tulle__half_stores(t->half_shift, t->first_row + r, t->first_col + c);
}

/* True if a pair has something for block (r, c) of C, and how many of its products are skipped and made. */
static int meets(const tulle__spgemm_task *t, const tulle__spgemm_pair *pair, int64_t r, int64_t c, int64_t *skipped)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    int found = 0;
    if (!is_wanted(t, r, c)) return 0;
    if (!A->rowptr) return A->m && find_block(B, r, c) >= 0;
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
        int64_t f = find_block(B, A->colind[e], c);
        if (f < 0) continue;
        int skip = t->least && A->norm[e] * B->norm[f] < t->least[r];
        *skipped += skip;
        found |= !skip;
    }
    return found;
}

static int64_t first_value(const tulle__csr *X, int64_t e, int64_t values)
{
    return X->offset ? X->offset[e] : e * values;
}

/* Element (x, y) of block (r, c), from a pair. */
static double element_sum(const tulle__spgemm_task *t, const tulle__spgemm_pair *pair, int64_t r, int64_t c, int64_t x,
    int64_t y, int64_t *multiplications)
{
    const tulle__csr *A = &pair->A, *B = &pair->B;
    int64_t m = row_cuts(t)[r + 1] - row_cuts(t)[r], n = B->col_block[c + 1] - B->col_block[c];
    double sum = 0;
    if (!A->rowptr) {
        int64_t f = A->m && pair->scale != 0 ? find_block(B, r, c) : -1;
        return f < 0 ? 0 : tulle__element(t->type, B->val, first_value(B, f, m * n) + x * n + y);
    }
    for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++) {
        int64_t k = A->colind[e], f = find_block(B, k, c), inner = A->col_block[k + 1] - A->col_block[k];
        if (f < 0 || (t->least && A->norm[e] * B->norm[f] < t->least[r])) continue;
        for (int64_t p = 0; p < inner; p++)
            sum += tulle__element(t->type, A->val, first_value(A, e, m * inner) + x * inner + p) *
                   tulle__element(t->type, B->val, first_value(B, f, inner * n) + p * n + y);
        *multiplications += inner;
    }
    return sum;
}

static void make_block(const tulle__spgemm_task *t, int64_t r, int64_t e, tulle__csr_result *C)
{
    const tulle_gidx *col = t->pair[0].B.col_block;
    int64_t c = C->colind[e], n = col[c + 1] - col[c], m = row_cuts(t)[r + 1] - row_cuts(t)[r];
    C->norm[e] = 0;
    for (int64_t x = 0; x < m; x++)
        for (int64_t y = 0; y < n; y++) {
            double sum = 0;
            int64_t at = C->offset[e] + x * n + y;
            for (int p = 0; p < t->npairs; p++)
                sum += t->pair[p].scale * element_sum(t, &t->pair[p], r, c, x, y, &C->multiplications);
            put(t->type, C->val, at, 1, sum, 0);
            C->norm[e] += tulle__element(t->type, C->val, at) * tulle__element(t->type, C->val, at);
        }
}

tulle_status tulle__ref_spgemm_blocks_numeric(tulle__pool *pool, const tulle__spgemm_task *t, tulle__csr_result *C)
{
    (void)pool;
    C->multiplications = C->skipped = 0;
    for (int64_t r = 0; r < t->m; r++) {
        for (int64_t c = 0; c < t->n; c++)
            for (int p = 0; p < t->npairs; p++) (void)meets(t, &t->pair[p], r, c, &C->skipped);
        for (int64_t e = C->rowptr[r]; e < C->rowptr[r + 1]; e++) make_block(t, r, e, C);
    }
    return TULLE_OK;
}

static int has_block(const tulle__spgemm_task *t, int64_t r, int64_t c)
{
    int found = 0;
    int64_t skipped = 0;
    for (int p = 0; p < t->npairs; p++) found |= meets(t, &t->pair[p], r, c, &skipped);
    return found && (!t->pattern || find_block(t->pattern, r, c) >= 0);
}

tulle_status tulle__ref_spgemm_blocks(
    tulle__pool *pool, const tulle__spgemm_task *t, tulle__csr_place place, void *context, tulle__csr_result *C)
{
    const tulle_gidx *row = row_cuts(t), *col = t->pair[0].B.col_block;
    int64_t blocks = 0, values = 0;
    for (int64_t r = 0; r < t->m; r++)
        for (int64_t c = 0; c < t->n; c++)
            if (has_block(t, r, c)) blocks++, values += (row[r + 1] - row[r]) * (col[c + 1] - col[c]);
    *C = (tulle__csr_result){.values = values};
    TULLE_CALL(place(context, t->m, blocks, C));
    C->nnz = blocks;
    C->values = values;
    C->rowptr[0] = C->offset[0] = blocks = 0;
    for (int64_t r = 0; r < t->m; r++) {
        for (int64_t c = 0; c < t->n; c++) {
            if (!has_block(t, r, c)) continue;
            C->colind[blocks] = (int32_t)c;
            C->offset[blocks + 1] = C->offset[blocks] + (row[r + 1] - row[r]) * (col[c + 1] - col[c]);
            blocks++;
        }
        C->rowptr[r + 1] = blocks;
    }
    return tulle__ref_spgemm_blocks_numeric(pool, t, C);
}
