/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, scaling, ranges, diagonals, norms, small entries removed, against plain loops: algebra SPEC PES. */
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "spec_pes.h"
#include "tap.h"

enum { MOST = 20 };

static double entry(uint64_t seed, tulle_gidx i, tulle_gidx j)
{
    uint64_t x = tulle__random_at(seed, (uint64_t)i, (uint64_t)j);
    return x % 3 ? 0 : (double)(x % 11) - 5;
}

/* Matrix `seed`, m x n, cut into tiles that depend on it; entries of 0 are none. */
static tulle_status make(
    tulle_comm *comm, uint64_t seed, tulle_gidx m, tulle_gidx n, tulle_kind kind, tulle_type type, tulle_mat **A)
{
    tulle_gidx row[MOST * MOST], col[MOST * MOST];
    double val[MOST * MOST];
    float single[MOST * MOST];
    int64_t count = 0;
    tulle_layout *l = NULL;
    tulle_layout_spec spec = {
        .m = m, .n = n, .tile_rows = 1 + (int)(seed % 4), .tile_cols = 1 + (int)(seed % 3), .map = TULLE_CYCLIC};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &l);
    for (tulle_gidx i = 0; i < m && tulle_comm_rank(comm) == 0; i++)
        for (tulle_gidx j = 0; j < n; j++)
            if (entry(seed, i, j) != 0) {
                row[count] = i;
                col[count] = j;
                single[count] = (float)entry(seed, i, j);
                val[count++] = entry(seed, i, j);
            }
    tulle_mat *sparse = NULL;
    const void *values = type == TULLE_F32 ? (const void *)single : val;
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, l, type, count, row, col, values, TULLE_DUPLICATES_SUM, &sparse);
    tulle_layout_free(l);
    if (status != TULLE_OK || kind == TULLE_CSR) {
        *A = sparse;
        return status;
    }
    tulle_mat *zero = NULL;
    status =
        tulle_mat_new_dense(comm, tulle_mat_layout(sparse), type, seed % 2 ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR, &zero);
    if (status == TULLE_OK) status = tulle_mat_add(1, zero, 1, sparse, A);
    tulle_mat_free(zero);
    tulle_mat_free(sparse);
    return status;
}

/* On every PE all of A, row-major. */
static tulle_status picture(const tulle_mat *A, double *at)
{
    tulle_comm *comm = tulle_mat_comm(A);
    tulle_array all = {.storage = TULLE_STORAGE_DENSE};
    int64_t m = tulle_mat_rows(A), n = tulle_mat_cols(A);
    tulle_status status = tulle_mat_to_array(A, 0, &all);
    for (int64_t x = 0; x < all.count * n; x++)
        at[x] = all.type == TULLE_F32 ? (double)((float *)all.val)[x] : ((double *)all.val)[x];
    tulle_array_free(&all);
    return status == TULLE_OK ? tulle_comm_broadcast(comm, 0, at, (size_t)(m * n) * sizeof *at) : status;
}

/* S = 2 X Y^T at S's pattern, against plain sums; integers, so exactly. */
static tulle_status inner_products(tulle_comm *comm, uint64_t seed, tulle_type type)
{
    static const tulle_gidx shape[][3] = {{13, 9, 5}, {1, 7, 20}, {8, 1, 1}, {0, 3, 2}, {16, 16, 17}, {5, 6, 0}};
    const tulle_gidx m = shape[seed % 6][0], n = shape[seed % 6][1], k = shape[seed % 6][2];
    double x[MOST * MOST], y[MOST * MOST], s[MOST * MOST], before[MOST * MOST];
    tulle_mat *X = NULL, *Y = NULL, *S = NULL, *T = NULL;
    tulle_status status = make(comm, seed, m, n, TULLE_CSR, type, &S);
    if (status == TULLE_OK) status = make(comm, seed + 1, m, k, TULLE_DENSE, type, &X);
    if (status == TULLE_OK) status = make(comm, seed + 2, n, k, TULLE_DENSE, type, &Y);
    if (status == TULLE_OK) status = picture(S, before);
    if (status == TULLE_OK) status = picture(X, x);
    if (status == TULLE_OK) status = picture(Y, y);
    if (status == TULLE_OK) status = tulle_mat_sddmm(2, X, Y, S);
    if (status == TULLE_OK) status = picture(S, s);
    int wrong = 0;
    for (tulle_gidx i = 0; status == TULLE_OK && i < m; i++)
        for (tulle_gidx j = 0; j < n; j++) {
            double sum = 0;
            for (tulle_gidx c = 0; c < k; c++) sum += x[i * k + c] * y[j * k + c];
            wrong += s[i * n + j] != (before[i * n + j] != 0 ? 2 * sum : 0);
        }
    EXPECT(status == TULLE_OK && !wrong);
    if (status == TULLE_OK && m != n && k) {
        EXPECT(tulle_mat_sddmm(1, Y, X, S) == TULLE_ERR_ARG);
        status = tulle_mat_transpose(S, &T);
        if (status == TULLE_OK) status = tulle_mat_sddmm(1, Y, X, T);
    }
out:
    tulle_mat_free(T);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    tulle_mat_free(S);
    return status;
}

static tulle_status all_operations(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    static const tulle_gidx shape[][2] = {{13, 9}, {1, 7}, {8, 1}, {0, 3}, {16, 16}};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    double at[MOST * MOST], rows[MOST], cols[MOST];
    for (int t = 0; t < 40; t++) {
        tulle_gidx m = shape[t % 5][0], n = shape[t % 5][1];
        tulle_kind kind = t / 5 % 2 ? TULLE_DENSE : TULLE_CSR, other = t / 10 % 2 ? TULLE_DENSE : TULLE_CSR;
        tulle_type type = t / 20 % 2 ? TULLE_F32 : TULLE_F64;
        uint64_t a = (uint64_t)t + 1, b = (uint64_t)t + 100;
        TULLE_TRY(make(comm, a, m, n, kind, type, &A));
        TULLE_TRY(make(comm, b, m, n, other, type, &B));
        TULLE_TRY(tulle_mat_add(2, A, -3, B, &C));
        EXPECT(tulle_mat_kind(C) == (kind == TULLE_CSR && other == TULLE_CSR ? TULLE_CSR : TULLE_DENSE));
        TULLE_TRY(picture(C, at));
        int64_t both = 0;
        for (tulle_gidx i = 0; i < m; i++)
            for (tulle_gidx j = 0; j < n; j++) {
                EXPECT(at[i * n + j] == 2 * entry(a, i, j) - 3 * entry(b, i, j));
                both += entry(a, i, j) != 0 || entry(b, i, j) != 0;
            }
        EXPECT(tulle_mat_kind(C) == TULLE_DENSE || tulle_mat_nnz(C) == both);
        tulle_mat_free(C);
        C = NULL;
        /* norms and the diagonal */
        double sum_col[MOST] = {0}, sum_row[MOST] = {0}, squares = 0, most = 0, norm[4], largest[2] = {0, 0};
        for (tulle_gidx i = 0; i < m; i++)
            for (tulle_gidx j = 0; j < n; j++) {
                double x = fabs(entry(a, i, j));
                sum_col[j] += x, sum_row[i] += x, squares += x * x, most = x > most ? x : most;
            }
        for (int i = 0; i < MOST; i++)
            largest[0] = fmax(largest[0], sum_col[i]), largest[1] = fmax(largest[1], sum_row[i]);
        for (int which = 0; which < 4; which++) TULLE_TRY(tulle_mat_norm(A, (tulle_norm)which, &norm[which]));
        EXPECT(norm[TULLE_NORM_ONE] == largest[0] && norm[TULLE_NORM_INFINITY] == largest[1] &&
               norm[TULLE_NORM_MAX] == most &&
               fabs(norm[TULLE_NORM_FROBENIUS] - sqrt(squares)) < 1e-12 * (1 + squares));
        TULLE_TRY(tulle_mat_diagonal(A, cols));
        for (tulle_gidx i = 0; i < m && i < n; i++) EXPECT(cols[i] == entry(a, i, i));
        /* a range */
        tulle_gidx row = m / 3, col = n / 4, rm = m - row - m / 5, rn = n - col - n / 3;
        TULLE_TRY(tulle_mat_range(A, row, rm, col, rn, &C));
        EXPECT(tulle_mat_rows(C) == rm && tulle_mat_cols(C) == rn);
        TULLE_TRY(picture(C, at));
        for (tulle_gidx i = 0; i < rm; i++)
            for (tulle_gidx j = 0; j < rn; j++) EXPECT(at[i * rn + j] == entry(a, row + i, col + j));
        EXPECT(tulle_mat_range(A, 0, m + 1, 0, n, &C) == TULLE_ERR_ARG);
        tulle_mat_free(C);
        C = NULL;
        /* scaled, and without small entries */
        for (int i = 0; i < MOST; i++) rows[i] = i % 3 + 1, cols[i] = i % 2 ? -2 : 4;
        TULLE_TRY(tulle_mat_scale(A, 0.5, rows, cols));
        TULLE_TRY(picture(A, at));
        for (tulle_gidx i = 0; i < m; i++)
            for (tulle_gidx j = 0; j < n; j++) EXPECT(at[i * n + j] == 0.5 * rows[i] * cols[j] * entry(a, i, j));
        TULLE_TRY(tulle_mat_scale(A, 2, NULL, NULL));
        if (kind == TULLE_CSR) {
            TULLE_TRY(tulle_mat_drop(A, 12));
            TULLE_TRY(picture(A, at));
            int64_t left = 0;
            for (tulle_gidx i = 0; i < m; i++)
                for (tulle_gidx j = 0; j < n; j++) {
                    double x = rows[i] * cols[j] * entry(a, i, j);
                    EXPECT(at[i * n + j] == (fabs(x) <= 12 ? 0 : x));
                    left += fabs(x) > 12;
                }
            EXPECT(tulle_mat_nnz(A) == left);
        } else {
            EXPECT(tulle_mat_drop(A, 1) == TULLE_ERR_ARG);
        }
        tulle_mat_free(A);
        tulle_mat_free(B);
        A = B = NULL;
    }
    for (uint64_t seed = 0; seed < 24; seed++) TULLE_TRY(inner_products(comm, seed, seed % 2 ? TULLE_F64 : TULLE_F32));
    /* NaN and overflow */
    TULLE_TRY(make(comm, 5, 9, 9, TULLE_DENSE, TULLE_F64, &A));
    double norm;
    TULLE_TRY(tulle_mat_scale(A, 1e300, NULL, NULL));
    TULLE_TRY(tulle_mat_norm(A, TULLE_NORM_FROBENIUS, &norm));
    EXPECT(isfinite(norm) && norm > 1e300);
    TULLE_TRY(tulle_mat_scale(A, NAN, NULL, NULL));
    for (int which = 0; which < 4; which++) {
        TULLE_TRY(tulle_mat_norm(A, (tulle_norm)which, &norm));
        EXPECT(isnan(norm));
    }
out:
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"sums, scaling, ranges, norms", all_operations}};
    return RUN_BODIES(argc, argv, tests, NULL);
}
