/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of arrays that nobody has checked: the result is that of the checked kernel, and of arrays that are not
 * valid it is said, wherever in them that is, without a read outside of them (which the sanitizers see: blocks are
 * exact).
 */
#include "kernel/unchecked_csr.h"
#include "matrices.h"

/* A copy of a matrix in a caller's arrays, in those widths. */
typedef struct given {
    tulle__unchecked_csr csr;
    void *ptr, *ind;
} given;

static void set_number(void *array, int bytes, int64_t at, int64_t value)
{
    if (bytes == 8)
        ((int64_t *)array)[at] = value;
    else
        ((int32_t *)array)[at] = (int32_t)value;
}

static int64_t number(const void *array, int bytes, int64_t at)
{
    return bytes == 8 ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

static given give(const matrix *A, int ptr_bytes, int ind_bytes)
{
    const int64_t m = A->csr.m, nnz = A->rowptr[m];
    given g = {
        .ptr = malloc((size_t)(m + 1) * (size_t)ptr_bytes), .ind = malloc((size_t)(nnz + !nnz) * (size_t)ind_bytes)};
    for (int64_t i = 0; i <= m; i++) set_number(g.ptr, ptr_bytes, i, A->rowptr[i]);
    for (int64_t e = 0; e < nnz; e++) set_number(g.ind, ind_bytes, e, A->colind[e]);
    g.csr = (tulle__unchecked_csr){.m = m,
        .n = A->csr.n,
        .nnz = nnz,
        .ptr_bytes = ptr_bytes,
        .ind_bytes = ind_bytes,
        .ptr = g.ptr,
        .ind = g.ind,
        .val = A->val};
    return g;
}

static void give_up(given *g)
{
    free(g->ptr);
    free(g->ind);
}

/* Rows of 0 to `most` entries. */
static matrix rows_of(tulle_type type, int64_t m, int64_t n, int64_t most, uint64_t seed)
{
    matrix A = {.type = type, .rowptr = malloc((size_t)(m + 1) * sizeof *A.rowptr)};
    A.rowptr[0] = 0;
    for (int64_t i = 0; i < m; i++)
        A.rowptr[i + 1] = A.rowptr[i] + (int64_t)(tulle__random_at(seed, 1, (uint64_t)i) % (uint64_t)(most + 1));
    const size_t nnz = (size_t)A.rowptr[m];
    A.colind = malloc(nnz * sizeof *A.colind + 1);
    A.val = malloc(nnz * tulle_type_size(type) + 1);
    for (size_t e = 0; e < nnz; e++) { /* in any order, and some more than once */
        const uint64_t r = tulle__random_at(seed, 2, e);
        A.colind[e] = (int32_t)(r % (uint64_t)n);
        if (type == TULLE_F32)
            ((float *)A.val)[e] = (float)(r >> 40 & 7) - 3;
        else
            ((double *)A.val)[e] = (double)(r >> 40 & 7) - 3;
    }
    A.csr = (tulle__csr){.m = m, .n = n, .rowptr = A.rowptr, .colind = A.colind, .val = A.val};
    return A;
}

static void *integers(tulle_type type, int64_t count)
{
    void *x = malloc((size_t)count * tulle_type_size(type));
    for (int64_t i = 0; i < count; i++)
        type == TULLE_F32 ? (((float *)x)[i] = (float)(i % 5) - 2) : (((double *)x)[i] = (double)(i % 5) - 2);
    return x;
}

static tulle_status multiply(const tulle__kernels *kernels, tulle__pool *pool, const given *A, const matrix *checked,
    int64_t n, int by_columns, const void *B, void *C, bool *valid)
{
    const tulle__spmm_pair pair = {
        .A = checked->csr, .B = B, .b_row = by_columns ? 1 : n, .b_col = by_columns ? checked->csr.n : 1};
    const tulle__spmm_task task = {.type = checked->type,
        .m = checked->csr.m,
        .n = n,
        .npairs = 1,
        .pair = &pair,
        .C = C,
        .c_row = n,
        .c_col = 1,
        .alpha = 2,
        .beta = 0};
    return A ? kernels->spmm_unchecked(pool, &task, &A->csr, valid) : kernels->spmm(pool, &task);
}

/* The kernel with A^T: C = 2 A^T B + beta C, of n columns, in those orders. */
static tulle_status scatter(const tulle__kernels *kernels, tulle__pool *pool, const given *A, tulle_type type,
    int64_t n, int b_by_columns, int c_by_columns, double beta, const void *B, void *C, bool *valid)
{
    const int64_t m = A->csr.n, k = A->csr.m;
    const tulle__spmm_pair pair = {.B = B, .b_row = b_by_columns ? 1 : n, .b_col = b_by_columns ? k : 1};
    const tulle__spmm_task task = {.type = type,
        .m = m,
        .n = n,
        .npairs = 1,
        .pair = &pair,
        .C = C,
        .c_row = c_by_columns ? 1 : n,
        .c_col = c_by_columns ? m : 1,
        .alpha = 2,
        .beta = beta};
    return kernels->spmm_scatter(pool, &task, &A->csr, valid);
}

static double value_at(tulle_type type, const void *x, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)x)[at] : ((const double *)x)[at];
}

/* True if C is 2 A^T B + beta times what integers() gives, by definition. */
static int is_transposed_product(
    const matrix *A, int64_t n, int b_by_columns, int c_by_columns, double beta, const void *B, const void *C)
{
    const int64_t m = A->csr.n, k = A->csr.m;
    int same = 1;
    void *old = integers(A->type, m * n);
    double *expected = malloc((size_t)(m * n) * sizeof *expected);
    for (int64_t i = 0; i < m * n; i++) expected[i] = beta * value_at(A->type, old, i);
    for (int64_t r = 0; r < k; r++)
        for (int64_t e = A->rowptr[r]; e < A->rowptr[r + 1]; e++)
            for (int64_t j = 0; j < n; j++)
                expected[c_by_columns ? A->colind[e] + j * m : A->colind[e] * n + j] +=
                    2 * value_at(A->type, A->val, e) * value_at(A->type, B, b_by_columns ? r + j * k : r * n + j);
    for (int64_t i = 0; i < m * n; i++) same &= expected[i] == value_at(A->type, C, i);
    free(old);
    free(expected);
    return same;
}

static int same_transposed(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, int64_t n)
{
    const int64_t elements = A->csr.n * n;
    void *B = integers(A->type, A->csr.m * n);
    int same = 1;
    for (int widths = 0; widths < 8; widths++) { /* all pairs of these */
        const int b_by_columns = (widths ^ widths >> 1) & 1, c_by_columns = widths >> 2;
        const double beta = (widths ^ widths >> 2) & 1 ? 3 : 0;
        given g = give(A, widths & 1 ? 8 : 4, widths & 2 ? 8 : 4);
        bool valid = false;
        void *C = integers(A->type, elements);
        if (beta == 0) memset(C, 0xff, (size_t)elements * tulle_type_size(A->type)); /* not to be read */
        same = same &&
               scatter(kernels, pool, &g, A->type, n, b_by_columns, c_by_columns, beta, B, C, &valid) == TULLE_OK &&
               valid && is_transposed_product(A, n, b_by_columns, c_by_columns, beta, B, C);
        free(C);
        give_up(&g);
    }
    free(B);
    return same;
}

static int same_as_checked(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, int64_t n)
{
    const int64_t elements = A->csr.m * n;
    const size_t bytes = (size_t)elements * tulle_type_size(A->type);
    void *B = integers(A->type, A->csr.n * n), *C = integers(A->type, elements),
         *expected = integers(A->type, elements);
    int same = 1;
    for (int widths = 0; widths < 8; widths++) {
        const int by_columns = widths & 4;
        given g = give(A, widths & 1 ? 8 : 4, widths & 2 ? 8 : 4);
        bool valid = false;
        memset(C, 0xff, bytes);
        same = same && multiply(tulle__kernels_ref(), NULL, NULL, A, n, by_columns, B, expected, NULL) == TULLE_OK &&
               multiply(kernels, pool, &g, A, n, by_columns, B, C, &valid) == TULLE_OK && valid &&
               !memcmp(C, expected, bytes);
        give_up(&g);
    }
    free(B);
    free(C);
    free(expected);
    return same;
}

typedef int (*comparison)(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, int64_t n);

static void test_same(
    const char *name, const tulle__kernels *kernels, tulle__pool *pool, comparison compare, const char *what)
{
    static const int64_t columns[] = {1, 3, 8, 70};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        int same = 1;
        for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
            static const int64_t sizes[][3] = {
                {1, 1, 1}, {9, 4, 40}, {2000, 300, 12}, {600, 50, 2}, {40, 30, 1500}, {3, 70000, 150000}};
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes - (columns[c] > 3); s++) {
                matrix A = rows_of((tulle_type)type, sizes[s][0], sizes[s][1], sizes[s][2], 5 + s);
                if (A.rowptr[A.csr.m]) same = same && compare(kernels, pool, &A, columns[c]);
                matrix_free(&A);
            }
            for (int shape = 0; shape < SHAPES; shape++) {
                matrix A = matrix_make((enum shape)shape, (tulle_type)type, 130, 90, 3, 1, 0);
                if (A.rowptr[A.csr.m]) same = same && compare(kernels, pool, &A, columns[c]);
                matrix_free(&A);
            }
        }
        ok(same, "%s: %d columns, %s", name, (int)columns[c], what);
    }
}

static void test_both(const char *name, const tulle__kernels *kernels, tulle__pool *pool)
{
    test_same(name, kernels, pool, same_as_checked, "as with checked arrays");
    test_same(name, kernels, pool, same_transposed, "the transpose, by definition");
}

/* Replaces one number; true if both kernels notice. B and C have room for either shape. */
static int notices(const tulle__kernels *kernels, tulle__pool *pool, const matrix *A, given *g, void *array, int bytes,
    int64_t at, int64_t value, const void *B, void *C, int64_t n)
{
    const int64_t before = number(array, bytes, at);
    bool valid = true, valid_transposed = true;
    set_number(array, bytes, at, value);
    const tulle_status status = multiply(kernels, pool, g, A, n, 0, B, C, &valid),
                       transposed = scatter(kernels, pool, g, A->type, n, 0, 0, 0, B, C, &valid_transposed);
    set_number(array, bytes, at, before);
    return status == TULLE_OK && !valid && transposed == TULLE_OK && !valid_transposed;
}

static void test_invalid(const char *name, const tulle__kernels *kernels, tulle__pool *pool)
{
    static const int64_t wild[] = {-1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, (INT64_C(1) << 32) + 1};
    static const int64_t sizes[][3] = {{2000, 300, 12}, {3, 70000, 150000}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int64_t n = 1; n <= 5; n += 4) {
            int64_t missed = 0, cases = 0;
            matrix A = rows_of(TULLE_F64, sizes[s][0], sizes[s][1], sizes[s][2], 11 + s);
            const int64_t m = A.csr.m, nnz = A.rowptr[m];
            const int64_t most = m > A.csr.n ? m : A.csr.n;
            void *B = integers(TULLE_F64, most * n), *C = integers(TULLE_F64, most * n);
            for (int widths = 0; widths < 4; widths++) {
                const int ptr_bytes = widths & 1 ? 8 : 4, ind_bytes = widths & 2 ? 8 : 4;
                given g = give(&A, ptr_bytes, ind_bytes);
                for (int64_t c = 0; c < 24; c++) { /* the first and last entries and rows among them */
                    const int64_t e =
                        c < 2 ? c * (nnz - 1) : (int64_t)(tulle__random_at(3, 1, (uint64_t)c) % (uint64_t)nnz);
                    const int64_t i =
                        c < 2 ? c * m : (int64_t)(tulle__random_at(3, 2, (uint64_t)c) % (uint64_t)(m + 1));
                    const int64_t value = wild[c % (ind_bytes == 8 ? 6 : 3)],
                                  pointer = wild[c % (ptr_bytes == 8 ? 6 : 3)];
                    missed += !notices(kernels, pool, &A, &g, g.ind, ind_bytes, e, value, B, C, n);
                    missed += !notices(kernels, pool, &A, &g, g.ind, ind_bytes, e, A.csr.n, B, C, n);
                    missed += !notices(kernels, pool, &A, &g, g.ptr, ptr_bytes, i, pointer, B, C, n);
                    if (i > 0 && A.rowptr[i - 1] > 0)
                        missed += !notices(kernels, pool, &A, &g, g.ptr, ptr_bytes, i, A.rowptr[i - 1] - 1, B, C, n);
                    cases += 4;
                }
                give_up(&g);
            }
            ok(!missed, "%s, %d rows, %d columns: %d of %d changes are missed", name, (int)m, (int)n, (int)missed,
                (int)cases);
            free(B);
            free(C);
            matrix_free(&A);
        }
}

int main(void)
{
    tulle__pool *pool = NULL;
    tulle__pool_new(3, &pool);
    test_both("ref", tulle__kernels_ref(), NULL);
    test_invalid("ref", tulle__kernels_ref(), NULL);
    for (int isa = 0; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at((tulle__isa)isa);
        if (!kernels) {
            skip("this processor lacks %s", tulle__isa_name((tulle__isa)isa));
            continue;
        }
        test_both(tulle__isa_name((tulle__isa)isa), kernels, NULL);
        test_both(tulle__isa_name((tulle__isa)isa), kernels, pool);
        test_invalid(tulle__isa_name((tulle__isa)isa), kernels, NULL);
        test_invalid(tulle__isa_name((tulle__isa)isa), kernels, pool);
    }
    tulle__pool_free(pool);
    return tap_done();
}
