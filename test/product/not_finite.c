/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices with nan and inf: right ones pass the check, with the number of rows that are not finite;
 * results that are wrong in one element fail it: a nan that is gone, one too many, an inf that is finite, a finite
 * element of a row that holds nan elsewhere.
 */
#include <tulle/algebra.h>

#include "body.h"
#include "reference.h"
#include "tap.h"

enum { M = 23, K = 19, N = 21 };

enum factors { SPARSE, DENSE_B, DENSE, FACTORS };
static const char *const factor_names[] = {"spgemm", "spmm", "gemm"};

/* Places that are not finite. */
enum where { IN_NEITHER, IN_A, IN_B, IN_BOTH, WHERES };
static const char *const where_names[] = {"finite", "in A", "in B", "in both"};

struct problem {
    enum factors factors;
    enum where where;
    tulle_type type;
    int ta, tb;
    int64_t rows; /* out: not finite */
};

static void put(struct reference *r, int transposed, int64_t i, int64_t j, double value)
{
    const int64_t at = transposed ? j * r->n + i : i * r->n + j;
    r->has[at] = 1;
    r->val[at] = value;
}

/* op(A), or op(B), with such values in rows of their own and in one column. */
static struct reference make_factor(const struct problem *p, int b)
{
    const int t = b ? p->tb : p->ta, dense = p->factors == DENSE || (b && p->factors == DENSE_B);
    const int64_t m = b ? K : M, n = b ? N : K;
    struct reference r = make_reference(t ? n : m, t ? m : n, dense ? FULL : RANDOM, b ? 5 : 4);
    for (int64_t e = 0; e < r.m * r.n; e++)
        if (r.has[e] && r.val[e] == 0) r.val[e] = 2; /* what zeros make of inf is left open */
    if (!b && (p->where == IN_A || p->where == IN_BOTH)) {
        put(&r, t, 3, 7, NAN);
        put(&r, t, 11, 2, HUGE_VAL);
        put(&r, t, 12, 2, -HUGE_VAL);
    }
    if (b && (p->where == IN_B || p->where == IN_BOTH)) {
        put(&r, t, 5, 4, NAN);
        put(&r, t, 9, 4, HUGE_VAL);
        put(&r, t, 9, 13, -HUGE_VAL);
    }
    return r;
}

static int64_t infinite_rows(const struct reference *r)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < r->m; i++) {
        int found = 0;
        for (int64_t j = 0; j < r->n; j++) found |= r->has[i * r->n + j] && !isfinite(r->val[i * r->n + j]);
        rows += found;
    }
    return rows;
}

static tulle_status make_matrix(
    tulle_comm *comm, const struct reference *r, const tulle_layout *l, int dense, tulle_type type, tulle_mat **A)
{
    if (!dense) return distribute(comm, r, l, type, A);
    tulle_status status = tulle_mat_new_dense(comm, l, type, TULLE_ROW_MAJOR, A);
    return status == TULLE_OK ? fill_dense(*A, r) : status;
}

/* The check of C with `value` in an element that C has: TULLE_ERR_CHECK if it is found. */
static tulle_status check_changed(tulle_comm *comm, const struct problem *p, const tulle_mat *A, const tulle_mat *B,
    const tulle_layout *l, struct reference *want, int64_t at, double value)
{
    const double kept = want->val[at];
    tulle_mat *C = NULL;
    double error;
    want->val[at] = value;
    tulle_status status = make_matrix(comm, want, l, p->factors != SPARSE, p->type, &C);
    if (status == TULLE_OK)
        status = tulle_product_check_matrices(
            1, A, p->ta ? TULLE_OP_T : TULLE_OP_N, B, p->tb ? TULLE_OP_T : TULLE_OP_N, C, &error);
    tulle_mat_free(C);
    want->val[at] = kept;
    return status;
}

/* All the ways in which one element can be wrong by its kind, once each. */
static tulle_status check_wrong(tulle_comm *comm, const struct problem *p, const tulle_mat *A, const tulle_mat *B,
    const tulle_layout *l, struct reference *want)
{
    tulle_status status = TULLE_OK;
    for (int64_t i = 0, tried = 0; i < want->m && tried < 4; i++) {
        int64_t odd = -1, finite = -1, odds = 0;
        for (int64_t j = 0; j < want->n; j++) {
            const int64_t at = i * want->n + j;
            if (!want->has[at]) continue;
            if (isfinite(want->val[at]))
                finite = at;
            else
                odd = at, odds++;
        }
        if (odd >= 0 && odds == 1) /* the only one of its row is gone */
            EXPECT(check_changed(comm, p, A, B, l, want, odd, 1) == TULLE_ERR_CHECK);
        if (odd < 0 && finite >= 0) { /* one too many */
            EXPECT(check_changed(comm, p, A, B, l, want, finite, NAN) == TULLE_ERR_CHECK);
            EXPECT(check_changed(comm, p, A, B, l, want, finite, -HUGE_VAL) == TULLE_ERR_CHECK);
        }
        if (finite >= 0 && !(odd >= 0 && p->where != IN_B)) /* a value, in a row of A that is finite */
            EXPECT(check_changed(comm, p, A, B, l, want, finite, want->val[finite] + 1) == TULLE_ERR_CHECK);
        tried += odd >= 0 || finite >= 0;
    }
out:
    return status;
}

/* alpha = 0: A and B are not read, and C keeps its entries. */
static tulle_status without_factors(tulle_product *plan, const struct problem *p, tulle_mat *C, int64_t rows)
{
    const int64_t entries = tulle_mat_nnz(C);
    int64_t odd = -1;
    double norm[2] = {0, 0}, error;
    tulle_status status;
    TULLE_TRY(tulle_mat_norm(C, TULLE_NORM_MAX, &norm[0]));
    TULLE_TRY(tulle_product_execute(plan, 0, 2, NULL));
    TULLE_TRY(tulle_mat_norm(C, TULLE_NORM_MAX, &norm[1]));
    if (p->where == IN_NEITHER) EXPECT(norm[0] > 0 && norm[1] == 2 * norm[0]);
    TULLE_TRY(tulle_product_execute(plan, 0, 0, NULL));
    TULLE_TRY(tulle_mat_norm(C, TULLE_NORM_MAX, &norm[1]));
    EXPECT(norm[1] == 0 && tulle_mat_nnz(C) == entries);
    TULLE_TRY(tulle_product_check(plan, &error));
    EXPECT(error == 0);
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL)); /* the plan is as good as before */
    TULLE_TRY(tulle_product_check(plan, &error));
    TULLE_TRY(tulle_mat_infinite_rows(C, &odd));
    EXPECT(odd == rows);
out:
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct problem *p = arg;
    const tulle_product_options options = {
        .op_a = p->ta ? TULLE_OP_T : TULLE_OP_N, .op_b = p->tb ? TULLE_OP_T : TULLE_OP_N};
    struct reference a = make_factor(p, 0), b = make_factor(p, 1), want = multiply(&a, &b, NULL, 1, 0, &options);
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    const int size = tulle_comm_size(comm);
    double error;
    int64_t rows = -1;
    tulle_status status;
    tulle_layout_spec sa = {.m = a.m, .n = a.n, .grid_rows = size, .grid_cols = 1};
    tulle_layout_spec sb = {.m = b.m, .n = b.n, .grid_rows = size, .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&sa, size, &la));
    TULLE_TRY(tulle_layout_new(&sb, size, &lb));
    TULLE_TRY(make_matrix(comm, &a, la, p->factors == DENSE, p->type, &A));
    TULLE_TRY(make_matrix(comm, &b, lb, p->factors != SPARSE, p->type, &B));
    TULLE_TRY(tulle_product_layout(A, options.op_a, B, options.op_b, &lc));
    if (p->factors == SPARSE)
        TULLE_TRY(tulle_mat_new_csr(comm, lc, p->type, &C));
    else
        TULLE_TRY(tulle_mat_new_dense_undefined(comm, lc, p->type, TULLE_ROW_MAJOR, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    TULLE_TRY(tulle_product_check(plan, &error));
    EXPECT(error <= 1);
    TULLE_TRY(tulle_mat_infinite_rows(C, &rows));
    EXPECT(rows == infinite_rows(&want));
    if (p->where != IN_NEITHER) EXPECT(rows > 0 && (rows < M || p->factors == DENSE));
    if (tulle_comm_rank(comm) == 0) p->rows = rows;
    TULLE_TRY(without_factors(plan, p, C, rows));
    TULLE_TRY(check_wrong(comm, p, A, B, lc, &want));
out:
    tulle_product_free(plan);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    free_reference(&a);
    free_reference(&b);
    free_reference(&want);
    return status;
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    if (argc < 3 || tulle_team_new(argv[1], atoi(argv[2]), NULL, &team) != TULLE_OK) {
        printf("Bail out! %s\n", tulle_error_message());
        return EXIT_FAILURE;
    }
    for (int f = 0; f < FACTORS; f++)
        for (int w = 0; w < WHERES; w++)
            for (int k = 0; k < 8; k++) {
                struct problem p = {
                    (enum factors)f, (enum where)w, k & 1 ? TULLE_F32 : TULLE_F64, k >> 1 & 1, k >> 2 & 1, 0};
                tulle_status status = tulle_team_run(team, body, &p);
                ok(status == TULLE_OK, "%s, %s, %s%s%s: %d rows not finite%s%s", factor_names[f], where_names[w],
                    tulle_type_name(p.type), p.ta ? ", A^T" : "", p.tb ? ", B^T" : "", (int)p.rows,
                    status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
            }
    tulle_team_free(team);
    return tap_done();
}
