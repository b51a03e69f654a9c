/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layouts, matrices from memory, get_tile, replace and renew, redistribute, transpose: matrix SPEC
 * PES.
 */
#include <string.h>

#include <tulle/mat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "body.h"
#include "comm/comm.h"
#include "tap.h"

/* The matrix of all tests: whether entry (i, j) exists, and its value. */
static double entry(int64_t i, int64_t j)
{
    uint64_t x = tulle__random_at(3, (uint64_t)i, (uint64_t)j);
    return x % 4 ? 0 : (double)(x % 97) - 48.5;
}

/* All PEs compare all of A with entry(i, j), or entry(j, i). */
static tulle_status compare(tulle_mat *A, int transposed)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    tulle_fetch *fetch = NULL;
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            TULLE_TRY(tulle_mat_get_tile(A, i, j, &fetch));
            TULLE_TRY(tulle_fetch_wait(fetch, &t));
            for (int64_t r = 0; r < t.m; r++) {
                int64_t e = t.rowptr ? t.rowptr[r] : 0, end = t.rowptr ? t.rowptr[r + 1] : 0;
                for (int64_t c = 0; c < t.n; c++) {
                    int64_t row = tulle_layout_row_cut(l)[i] + r, col = tulle_layout_col_cut(l)[j] + c;
                    double x = transposed ? entry(col, row) : entry(row, col), y = 0;
                    if (t.kind == TULLE_DENSE)
                        y = ((const double *)t.val)[t.order == TULLE_ROW_MAJOR ? r * t.ld + c : c * t.ld + r];
                    else if (e < end && t.colind[e] == c)
                        y = ((const double *)t.val)[e++];
                    EXPECT(x == y);
                }
                EXPECT(e == end);
            }
            tulle_fetch_free(fetch);
            fetch = NULL;
        }
out:
    tulle_fetch_free(fetch);
    if (status != TULLE_OK) return status;
    return tulle_comm_barrier(tulle_mat_comm(A));
}

static tulle_status build(tulle_comm *comm, int64_t m, int64_t n, const tulle_layout *layout, tulle_mat **A)
{
    int64_t count = 0, *row = malloc((size_t)(m * n + 1) * 8), *col = malloc((size_t)(m * n + 1) * 8);
    double *val = malloc((size_t)(m * n + 1) * 8);
    /* backwards and cyclically: no entry arrives in order */
    for (int64_t e = m * n - 1; e >= 0; e--) {
        double x = entry(e / n, e % n);
        if (x == 0 || e % tulle_comm_size(comm) != tulle_comm_rank(comm)) continue;
        row[count] = e / n;
        col[count] = e % n;
        val[count++] = x;
    }
    tulle_status status =
        tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    free(row);
    free(col);
    free(val);
    return status;
}

static tulle_status test_layouts(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_layout *from = NULL, *to = NULL;
    tulle_mat *A = NULL, *B = NULL, *T = NULL;
    static const int64_t shapes[][2] = {{23, 17}, {1, 1}, {0, 4}, {5, 0}, {3, 90}, {70, 2}};
    static const int tiles[][2] = {{0, 0}, {1, 1}, {5, 3}, {30, 20}};
    for (size_t s = 0; s < 6; s++)
        for (size_t t = 0; t < 4; t++) {
            tulle_layout_spec spec = {.m = shapes[s][0],
                .n = shapes[s][1],
                .tile_rows = tiles[t][0],
                .tile_cols = tiles[t][1],
                .map = t % 2 ? TULLE_CYCLIC : TULLE_BLOCK};
            tulle_layout_spec other = {.m = spec.m, .n = spec.n, .tile_rows = 4, .tile_cols = 3};
            TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &from));
            TULLE_TRY(tulle_layout_new(&other, tulle_comm_size(comm), &to));
            TULLE_TRY(build(comm, spec.m, spec.n, from, &A));
            TULLE_TRY(compare(A, 0));
            TULLE_TRY(tulle_mat_redistribute(A, to, &B));
            TULLE_TRY(compare(B, 0));
            EXPECT(tulle_mat_nnz(A) == tulle_mat_nnz(B));
            TULLE_TRY(tulle_mat_transpose(A, &T));
            TULLE_TRY(compare(T, 1));
            tulle_mat_free(A);
            tulle_mat_free(B);
            tulle_mat_free(T);
            tulle_layout_free(from);
            tulle_layout_free(to);
            A = B = T = NULL;
            from = to = NULL;
        }
out:
    tulle_layout_free(from);
    tulle_layout_free(to);
    return status;
}

static tulle_status test_dense(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_layout *l = NULL, *l2 = NULL;
    tulle_mat *A = NULL, *B = NULL, *T = NULL;
    tulle_layout_spec spec = {.m = 19, .n = 13, .tile_rows = 4, .tile_cols = 3},
                      other = {.m = 19, .n = 13, .tile_rows = 2, .tile_cols = 5};
    for (int order = 0; order < 2; order++) {
        TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &l));
        TULLE_TRY(tulle_layout_new(&other, tulle_comm_size(comm), &l2));
        TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, (tulle_order)order, &A));
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++) {
                tulle_own_tile t;
                tulle_status owned = tulle_mat_own_tile(A, i, j, &t);
                EXPECT((owned == TULLE_OK) == (tulle_layout_owner(l, i, j) == tulle_comm_rank(comm)));
                for (int64_t e = 0; owned == TULLE_OK && e < t.nnz; e++) {
                    int64_t r = order == TULLE_ROW_MAJOR ? e / t.ld : e % t.ld,
                            c = order == TULLE_ROW_MAJOR ? e % t.ld : e / t.ld;
                    EXPECT(((const double *)t.val)[e] == 0);
                    ((double *)t.val)[e] = entry(tulle_layout_row_cut(l)[i] + r, tulle_layout_col_cut(l)[j] + c);
                }
            }
        TULLE_TRY(tulle_comm_barrier(comm));
        TULLE_TRY(compare(A, 0));
        TULLE_TRY(tulle_mat_redistribute(A, l2, &B));
        TULLE_TRY(compare(B, 0));
        TULLE_TRY(tulle_mat_transpose(B, &T));
        TULLE_TRY(compare(T, 1));
        TULLE_TRY(tulle_mat_fill_random(A, 9));
        tulle_mat_free(A);
        tulle_mat_free(B);
        tulle_mat_free(T);
        tulle_layout_free(l);
        tulle_layout_free(l2);
        l = l2 = NULL;
    }
out:
    tulle_layout_free(l);
    tulle_layout_free(l2);
    return status;
}

/*
 * Each PE passes its rows, or its columns, with 32- and 64-bit columns, unsorted, with duplicates,
 * borrowed.
 */
static tulle_status test_csr(tulle_comm *comm, void *arg)
{
    enum { M = 31, N = 20 };
    int turned = arg != NULL, lines = turned ? N : M, across = turned ? M : N;
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL;
    int rank = tulle_comm_rank(comm), size = tulle_comm_size(comm);
    int64_t first = (int64_t)lines * rank / size, count = (int64_t)lines * (rank + 1) / size - first, rowptr[M + 1];
    int32_t narrow[2 * M * N];
    int64_t wide[2 * M * N];
    double val[2 * M * N];
    for (int variant = 0; variant < 4; variant++) {
        int64_t nnz = 0;
        for (int64_t r = 0; r < count; r++) {
            rowptr[r] = nnz;
            for (int64_t k = 0; k < across; k++) {
                int64_t c = variant == 1 ? across - 1 - k : k; /* 1: descending */
                double x = turned ? entry(c, first + r) : entry(first + r, c);
                if (x == 0) continue;
                for (int part = 0; part < (variant == 2 ? 2 : 1); part++) { /* 2: in two halves */
                    narrow[nnz] = (int32_t)c;
                    wide[nnz] = c;
                    val[nnz++] = variant == 2 ? x / 2 : x;
                }
            }
        }
        rowptr[count] = nnz;
        tulle_csr_rows rows = {.first = first,
            .count = count,
            .rowptr = rowptr,
            .val = val,
            .colind = variant % 2 ? (void *)wide : (void *)narrow,
            .colind_bytes = variant % 2 ? 8 : 4,
            .borrow = variant % 3 == 0};
        TULLE_TRY((turned ? tulle_mat_from_csc : tulle_mat_from_csr)(comm, M, N, TULLE_F64, &rows, &A));
        TULLE_TRY(compare(A, 0));
        tulle_mat_free(A);
        A = NULL;
        rows.first += rank == size - 1; /* a gap */
        EXPECT((turned ? tulle_mat_from_csc : tulle_mat_from_csr)(comm, M, N, TULLE_F64, &rows, &A) == TULLE_ERR_ARG);
    }
out:
    return status;
}

static tulle_status test_csc(tulle_comm *comm, void *arg)
{
    (void)arg;
    int turned = 1;
    return test_csr(comm, &turned);
}

/* The blocks of R x C values of some block rows that hold an entry; returns their number. */
static int64_t make_blocks(tulle_bsr_rows *x, int64_t across, int64_t *rowptr, void *colind, double *val)
{
    int64_t blocks = 0;
    for (int64_t r = 0; r < x->count; r++) {
        rowptr[r] = blocks;
        for (int64_t k = across - 1; k >= 0; k--) { /* descending */
            int some = 0;
            for (int v = 0; v < x->rows * x->cols; v++) {
                int line = x->order == TULLE_ROW_MAJOR ? x->cols : x->rows, a = v / line, b = v % line;
                double value = x->order == TULLE_ROW_MAJOR ? entry((x->first + r) * x->rows + a, k * x->cols + b)
                                                           : entry((x->first + r) * x->rows + b, k * x->cols + a);
                val[blocks * x->rows * x->cols + v] = value;
                some |= value != 0;
            }
            if (!some) continue;
            if (x->colind_bytes == 8)
                ((int64_t *)colind)[blocks++] = k;
            else
                ((int32_t *)colind)[blocks++] = (int32_t)k;
        }
    }
    return rowptr[x->count] = blocks;
}

/*
 * Each PE passes its block rows, with blocks of several shapes in both orders, with and without
 * their zeros.
 */
static tulle_status test_bsr(tulle_comm *comm, void *arg)
{
    enum { M = 30, N = 24 };
    static const int shape[][2] = {{1, 1}, {3, 2}, {2, 3}, {6, 6}, {5, 24}, {30, 1}};
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL;
    int rank = tulle_comm_rank(comm), size = tulle_comm_size(comm);
    int64_t rowptr[M + 1], colind[M * N], nnz = 0;
    double val[(M + 1) * N];
    for (int e = 0; e < M * N; e++) nnz += entry(e / N, e % N) != 0;
    for (int variant = 0; variant < 12; variant++) {
        const int *sides = shape[variant / 2];
        int64_t lines = M / sides[0], first = lines * rank / size;
        tulle_bsr_rows x = {.rows = sides[0],
            .cols = sides[1],
            .order = variant % 2 ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR,
            .first = first,
            .count = lines * (rank + 1) / size - first,
            .rowptr = rowptr,
            .colind = colind,
            .colind_bytes = variant % 3 ? 4 : 8,
            .val = val,
            .drop_zeros = variant % 4 < 2};
        int64_t blocks = make_blocks(&x, N / sides[1], rowptr, colind, val);
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &blocks));
        TULLE_TRY(tulle_mat_from_bsr(comm, M, N, TULLE_F64, &x, &A));
        TULLE_TRY(compare(A, 0));
        EXPECT(tulle_mat_nnz(A) == (x.drop_zeros ? nnz : blocks * sides[0] * sides[1]));
        EXPECT(tulle_layout_row_cut(tulle_mat_layout(A))[rank] == first * sides[0]);
        tulle_mat_free(A);
        A = NULL;
        EXPECT(tulle_mat_from_bsr(comm, M + (sides[0] > 1), N, TULLE_F64, &x, &A) ==
               (sides[0] > 1 ? TULLE_ERR_ARG : TULLE_OK));
        tulle_mat_free(A);
        A = NULL;
        if (x.colind_bytes == 8 && lines >= size) { /* the columns of PE 0's first block would go around */
            int64_t was = colind[0];
            if (rank == 0) colind[0] = INT64_C(1) << 62;
            EXPECT(tulle_mat_from_bsr(comm, M, N, TULLE_F64, &x, &A) != TULLE_OK);
            colind[0] = was;
        }
        x.first += rank == size - 1; /* a gap */
        EXPECT(tulle_mat_from_bsr(comm, M, N, TULLE_F64, &x, &A) == TULLE_ERR_ARG);
        x.first -= rank == size - 1;
        if (sides[0] * sides[1] == M || sides[0] * sides[1] == 1) continue;
        x.rows = rank == 0 ? 0 : x.rows;
        EXPECT(tulle_mat_from_bsr(comm, M, N, TULLE_F64, &x, &A) == TULLE_ERR_ARG);
    }
out:
    return status;
}

static tulle_status test_replace(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_layout *l = NULL;
    tulle_mat *A = NULL;
    tulle_fetch *fetch = NULL;
    tulle_layout_spec spec = {.m = 12, .n = 8, .tile_rows = 4, .tile_cols = 2};
    int rank = tulle_comm_rank(comm);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &l));
    TULLE_TRY(build(comm, 12, 8, l, &A));
    for (int round = 1; round < 5; round++) {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++) {
                /* one entry in the middle row, later two */
                int64_t rowptr[4] = {0, 0, round, round};
                tulle_lidx colind[4] = {0, 1, 2, 3};
                double val[4] = {i + 10.0 * j, 2, 3, 4};
                tulle_status replaced = tulle_mat_replace(A, i, j, rowptr, colind, val);
                EXPECT((replaced == TULLE_OK) == (tulle_layout_owner(l, i, j) == rank));
                tulle_lidx wrong[4] = {3, 2, 9, 0};
                if (replaced == TULLE_OK && round > 1)
                    EXPECT(tulle_mat_replace(A, i, j, rowptr, wrong, val) == TULLE_ERR_ARG);
            }
        TULLE_TRY(tulle_mat_renew(A));
        EXPECT(tulle_mat_nnz(A) == 8 * round);
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++) {
                tulle_tile t;
                TULLE_TRY(tulle_mat_get_tile(A, i, j, &fetch));
                TULLE_TRY(tulle_fetch_wait(fetch, &t));
                EXPECT(t.nnz == round && t.rowptr[1] == 0 && t.rowptr[3] == round &&
                       ((const double *)t.val)[0] == i + 10 * j);
                tulle_fetch_free(fetch);
                fetch = NULL;
            }
        TULLE_TRY(tulle_comm_barrier(comm));
    }
out:
    tulle_fetch_free(fetch);
    tulle_layout_free(l);
    return status;
}

static tulle_status test_refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_layout *l = NULL;
    tulle_mat *A = NULL;
    int size = tulle_comm_size(comm);
    tulle_gidx row[2] = {0, 9}, col[2] = {0, 0}, cut[3] = {0, 5, 3};
    double val[2] = {1, 2};
    tulle_layout_spec spec = {.m = 4, .n = 4};
    TULLE_TRY(tulle_layout_new(&spec, size, &l));
    EXPECT(tulle_mat_from_entries(comm, l, TULLE_F64, 2, row, col, val, TULLE_DUPLICATES_SUM, &A) == TULLE_ERR_ARG);
    row[1] = 0;
    EXPECT(
        tulle_mat_from_entries(comm, l, TULLE_F64, 2, row, col, val, TULLE_DUPLICATES_ERROR, &A) == TULLE_ERR_FORMAT);
    TULLE_TRY(tulle_mat_from_entries(comm, l, TULLE_F64, 2, row, col, val, TULLE_DUPLICATES_SUM, &A));
    EXPECT(tulle_mat_nnz(A) == 1);
    tulle_layout *bad = NULL;
    int owner[1] = {size};
    tulle_layout_spec specs[] = {{.m = -1, .n = 2}, {.m = 4, .n = 4, .tile_rows = 2, .row_cut = cut},
        {.m = 3, .n = 4, .tile_rows = 2, .row_cut = cut},
        {.m = 1, .n = 1, .tile_rows = 1, .tile_cols = 1, .owner = owner},
        {.m = 4, .n = 4, .grid_rows = size + 1, .grid_cols = 1}};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        EXPECT(tulle_layout_new(&specs[s], size, &bad) != TULLE_OK);
    /* tiles that indices of 32 bits do not reach: the matrix is refused, not the layout, which a hypersparse one may
     * have */
    tulle_mat *wide = NULL;
    const tulle_layout_spec spec_wide = {.m = 4, .n = (int64_t)1 << 40, .tile_cols = 1, .tile_rows = 1};
    TULLE_TRY(tulle_layout_new(&spec_wide, size, &bad));
    EXPECT(tulle_mat_new_dense(comm, bad, TULLE_F64, TULLE_ROW_MAJOR, &wide) == TULLE_ERR_OVERFLOW);
    tulle_layout_free(bad);
out:
    tulle_layout_free(l);
    return status;
}

/*
 * On one PE the n-th allocation fails: every PE returns the same failure, until no allocation is
 * left to fail.
 */
struct failing {
    int rank;
    int64_t n;
    int done;
};

static tulle_status build_and_reshape(tulle_comm *comm, void *arg)
{
    struct failing *f = arg;
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *T = NULL;
    tulle_layout_spec spec = {.m = 9, .n = 7, .tile_rows = 3, .tile_cols = 2};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &l);
    if (status != TULLE_OK) return status;
    /* the context exists already, so that its allocations do not depend on the round */
    if (tulle_comm_rank(comm) == f->rank) tulle__account_fail_after(comm->pe->account, f->n);
    status = build(comm, 9, 7, l, &A);
    if (status == TULLE_OK) status = tulle_mat_redistribute(A, l, &B);
    if (status == TULLE_OK) status = tulle_mat_transpose(B, &T);
    if (tulle_comm_rank(comm) == f->rank) tulle__account_fail_after(comm->pe->account, -1);
    __atomic_store_n(&f->done, status == TULLE_OK, __ATOMIC_RELAXED); /* the same on all PEs, in any process */
    /* the same status everywhere, and the comm stays usable */
    tulle_status meet = same_everywhere(comm, status);
    if (meet == TULLE_OK && status != TULLE_OK && status != TULLE_ERR_MEMORY)
        meet = tulle__fail(TULLE_ERR_CHECK, "status %d", (int)status);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_layout_free(l);
    return meet;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)npes << 26};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    static const struct {
        const char *name;
        tulle_body body;
    } tests[] = {{"layouts", test_layouts}, {"dense", test_dense}, {"CSR rows", test_csr}, {"CSC columns", test_csc},
        {"BSR rows", test_bsr}, {"replace and renew", test_replace}, {"refusals", test_refusals}};
    for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
        tulle_status status = tulle_team_run(team, tests[t].body, NULL);
        ok(status == TULLE_OK, "%s: %s", tests[t].name, status == TULLE_OK ? "right" : tulle_error_message());
    }
    struct failing f = {.rank = npes / 2, .n = -1};
    tulle_status status = tulle_team_run(team, build_and_reshape, &f);
    ok(status == TULLE_OK && f.done, "without a failure: %s", tulle_error_message());
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    tulle_team_run(team, count_blocks, before);
    for (f.n = 0, f.done = 0; !f.done && f.n < 1000 && status == TULLE_OK; f.n++)
        status = tulle_team_run(team, build_and_reshape, &f);
    ok(status == TULLE_OK && f.done, "each of %d allocations of PE %d fails in turn: %s", (int)f.n - 1, f.rank,
        status == TULLE_OK ? "all PEs agree" : tulle_error_message());
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "and nothing leaks");

    /* cut points: R-MAT-like weights in two parts of equal weight */
    int64_t weight[1000], sum[3] = {0, 0, 0};
    tulle_gidx cut[4];
    for (int i = 0; i < 1000; i++) weight[i] = 1000000 / (i + 1);
    tulle_cuts_weighted(1000, weight, 3, cut);
    for (int p = 0; p < 3; p++)
        for (tulle_gidx i = cut[p]; i < cut[p + 1]; i++) sum[p] += weight[i];
    ok(cut[0] == 0 && cut[3] == 1000 && cut[1] <= cut[2] && sum[0] < 2 * sum[1] + 1000000, "weighted cuts: %d %d %d",
        (int)sum[0], (int)sum[1], (int)sum[2]);
    tulle_team_free(team);
    return tap_done();
}
