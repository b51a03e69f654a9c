/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of rows and columns: permutations of any matrix, a band that gets narrow, fill-in that gets less. */
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "spec_pes.h"
#include "tap.h"

enum { SIDE = 12, N = SIDE * SIDE };

/* True if order is a permutation of n. */
static bool is_permutation(const tulle_gidx *order, tulle_gidx n)
{
    char seen[N] = {0};
    for (tulle_gidx i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]]++) return false;
    }
    return true;
}

/* On every PE all of A, row-major. */
static tulle_status picture(const tulle_mat *A, double *at)
{
    const tulle_gidx m = tulle_mat_rows(A), n = tulle_mat_cols(A);
    const tulle_layout *l = tulle_mat_layout(A);
    tulle_comm *comm = tulle_mat_comm(A);
    memset(at, 0, (size_t)(m * n) * sizeof *at);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(comm)) continue;
            const tulle_status status = tulle_mat_tile(A, i, j, &t);
            if (status != TULLE_OK) return status;
            for (tulle_gidx r = 0; r < t.m; r++) {
                double *row = at + (tulle_layout_row_cut(l)[i] + r) * n + tulle_layout_col_cut(l)[j];
                if (t.kind == TULLE_DENSE)
                    for (tulle_gidx c = 0; c < t.n; c++)
                        row[c] = ((const double *)t.val)[t.order == TULLE_ROW_MAJOR ? r * t.ld + c : c * t.ld + r];
                else
                    for (int64_t e = t.nnz ? t.rowptr[r] : 0; e < (t.nnz ? t.rowptr[r + 1] : 0); e++)
                        row[t.colind[e]] = ((const double *)t.val)[e];
            }
        }
    return tulle_comm_reduce_real(comm, TULLE_SUM, (int)(m * n), at);
}

/* Entries below the diagonal of the Cholesky factor of a symmetric pattern: plain elimination. */
static int64_t fill_of(const double *at, int n)
{
    char(*full)[N] = malloc(N * sizeof *full); /* PEs are threads here */
    int64_t count = 0;
    if (!full) abort();
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) full[i][j] = at[i * n + j] != 0;
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int j = k + 1; full[i][k] && j < n; j++) full[i][j] |= full[k][j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) count += full[i][j];
    free(full);
    return count;
}

static int64_t bandwidth_of(const double *at, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (at[i * n + j] != 0 && labs(i - j) > most) most = labs(i - j);
    return most;
}

/* Rows and columns in any order, and back. */
static tulle_status there_and_back(tulle_comm *comm, const char *operand, tulle_kind kind)
{
    tulle_status status;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_gidx rows[N], cols[N], inverse[N];
    double *a = malloc(2 * N * N * sizeof *a), *b = a + N * N;
    EXPECT(a);
    TULLE_TRY(tulle_mat_load(comm, operand, NULL, kind, NULL, NULL, &A));
    const tulle_gidx m = tulle_mat_rows(A), n = tulle_mat_cols(A);
    TULLE_TRY(tulle_mat_ordering(A, TULLE_ORDERING_RANDOM, 7, rows));
    EXPECT(is_permutation(rows, m));
    for (tulle_gidx j = 0; j < n; j++) cols[j] = (j + 3) % n;
    TULLE_TRY(tulle_mat_permute(A, rows, cols, &B));
    EXPECT(tulle_mat_kind(B) == kind && (kind == TULLE_DENSE || tulle_mat_nnz(B) == tulle_mat_nnz(A)));
    TULLE_TRY(picture(A, a));
    TULLE_TRY(picture(B, b));
    for (tulle_gidx i = 0; i < m; i++)
        for (tulle_gidx j = 0; j < n; j++) EXPECT(b[i * n + j] == a[rows[i] * n + cols[j]]);
    for (tulle_gidx i = 0; i < m; i++) inverse[rows[i]] = i;
    TULLE_TRY(tulle_mat_permute(B, inverse, NULL, &C));
    TULLE_TRY(picture(C, b));
    for (tulle_gidx i = 0; i < m; i++)
        for (tulle_gidx j = 0; j < n; j++) EXPECT(b[i * n + j] == a[i * n + cols[j]]);
    rows[0] = rows[1];
    tulle_mat_free(C);
    C = NULL;
    EXPECT(tulle_mat_permute(B, rows, NULL, &C) == TULLE_ERR_ARG);
out:
    free(a);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    return status;
}

/* A grid whose numbers are shuffled: what each ordering is for. */
static tulle_status orderings(tulle_comm *comm)
{
    tulle_status status;
    tulle_mat *A = NULL, *S = NULL, *B = NULL;
    tulle_gidx random[N], order[N];
    double *at = malloc(N * N * sizeof *at);
    EXPECT(at);
    TULLE_TRY(tulle_mat_load(comm, "stencil2d:n=12", NULL, TULLE_CSR, NULL, NULL, &A));
    TULLE_TRY(tulle_mat_ordering(A, TULLE_ORDERING_RANDOM, 3, random));
    TULLE_TRY(tulle_mat_permute(A, random, random, &S));
    TULLE_TRY(picture(S, at));
    const int64_t fill = fill_of(at, N), band = bandwidth_of(at, N);
    TULLE_TRY(picture(A, at));
    const int64_t natural = fill_of(at, N);
    for (int o = 0; o < TULLE_ORDERING_COUNT; o++) {
        tulle_ordering parsed;
        EXPECT(tulle_ordering_parse(tulle_ordering_name((tulle_ordering)o), &parsed) == TULLE_OK && (int)parsed == o);
        TULLE_TRY(tulle_mat_ordering(S, parsed, 1, order));
        EXPECT(is_permutation(order, N));
        TULLE_TRY(tulle_mat_permute(S, order, order, &B));
        TULLE_TRY(picture(B, at));
        if (parsed == TULLE_ORDERING_RCM) EXPECT(bandwidth_of(at, N) <= SIDE + 4 && band > 4 * SIDE);
        if (parsed == TULLE_ORDERING_AMD) EXPECT(fill_of(at, N) < natural && fill_of(at, N) < fill / 2);
        tulle_mat_free(B);
        B = NULL;
    }
    EXPECT(tulle_ordering_parse("metis", &(tulle_ordering){0}) == TULLE_ERR_ARG);
out:
    free(at);
    tulle_mat_free(A);
    tulle_mat_free(S);
    tulle_mat_free(B);
    return status;
}

/* Patterns of any shape: no edges, isolated vertices, a dense row, two components, not symmetric. */
static tulle_status any_pattern(tulle_comm *comm)
{
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL;
    tulle_layout *l = NULL;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const tulle_gidx n = 1 + (tulle_gidx)(seed % 30);
        tulle_gidx row[900], col[900], order[N];
        double val[900];
        int64_t count = 0;
        for (tulle_gidx i = 0; i < n && tulle_comm_rank(comm) == 0; i++)
            for (tulle_gidx j = 0; j < n; j++) {
                const uint64_t x = tulle__random_at(seed, (uint64_t)i, (uint64_t)j) % 16;
                const bool there = seed % 4 == 0 ? false : seed % 4 == 1 ? i == 0 || i == j : x < seed % 7;
                if (!there) continue;
                row[count] = i;
                col[count] = j;
                val[count++] = 1;
            }
        tulle_layout_spec spec = {.m = n, .n = n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
        TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &l));
        TULLE_TRY(tulle_mat_from_entries(comm, l, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, &A));
        for (int o = 0; o < TULLE_ORDERING_COUNT; o++) {
            TULLE_TRY(tulle_mat_ordering(A, (tulle_ordering)o, seed, order));
            EXPECT(is_permutation(order, n));
        }
        tulle_mat_free(A);
        tulle_layout_free(l);
        A = NULL;
        l = NULL;
    }
    /* only random orders the rows of a matrix that is not square */
    TULLE_TRY(tulle_mat_load(comm, "er:m=9,n=5,degree=2", NULL, TULLE_CSR, NULL, NULL, &A));
    tulle_gidx order[N];
    EXPECT(tulle_mat_ordering(A, TULLE_ORDERING_RCM, 0, order) == TULLE_ERR_ARG);
    TULLE_TRY(tulle_mat_ordering(A, TULLE_ORDERING_RANDOM, 0, order));
    EXPECT(is_permutation(order, 9));
out:
    tulle_mat_free(A);
    tulle_layout_free(l);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = there_and_back(comm, "er:m=30,n=20,degree=3", TULLE_CSR);
    if (status == TULLE_OK) status = there_and_back(comm, "dense:m=17,n=5", TULLE_DENSE);
    if (status == TULLE_OK) status = orderings(comm);
    return status == TULLE_OK ? any_pattern(comm) : status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"orders", body}};
    return RUN_BODIES(argc, argv, tests, NULL);
}
