/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Halves of symmetric and antisymmetric matrices beside the whole ones: conversions, algebra, other layouts, files,
 * blocks that are given, and what needs all of a matrix. half_algebra SPEC PES.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "elements.h"
#include "tap.h"
#include "temporary.h"

enum { MOST = 40 };

struct setting {
    tulle_gidx n;
    uint64_t seed;
    tulle_type type;
    tulle_symmetry symmetry;
    const char *folder;
};

static tulle_block_cuts cuts_of(uint64_t seed, tulle_gidx n, tulle_gidx *workspace)
{
    tulle_gidx count = 0;
    workspace[0] = 0;
    while (workspace[count] < n) {
        const tulle_gidx next = workspace[count] + 1 + (tulle_gidx)(tulle__random_at(seed, 3, (uint64_t)count) % 5);
        workspace[++count] = next < n ? next : n;
    }
    return (tulle_block_cuts){count, workspace};
}

static tulle_status layout_of(tulle_comm *comm, int rows, int cols, tulle_block_cuts cuts, tulle_layout **layout)
{
    const tulle_layout_spec spec = {.m = cuts.cut[cuts.count],
        .n = cuts.cut[cuts.count],
        .tile_rows = rows,
        .tile_cols = cols,
        .map = TULLE_CYCLIC,
        .row_blocks = cuts,
        .col_blocks = cuts};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

/* Half of the blocks, of small integers. Element (r, c) is that of (c, r), negated in an antisymmetric matrix. */
static tulle_status make(tulle_comm *comm, const struct setting *s, tulle_block_cuts cuts, const tulle_layout *l,
    uint64_t seed, tulle_mat **A)
{
    static tulle_gidx row[MOST * MOST], col[MOST * MOST];
    double *val = malloc(sizeof(double) * MOST * MOST);
    int64_t count = 0;
    tulle_mat *S = NULL;
    for (tulle_gidx i = 0; i < cuts.count && tulle_comm_rank(comm) == 0; i++)
        for (tulle_gidx j = 0; j < cuts.count; j++) {
            const tulle_gidx low = i < j ? i : j, high = i < j ? j : i;
            if (tulle__random_at(seed, (uint64_t)low, (uint64_t)high) % 2) continue;
            for (tulle_gidx r = cuts.cut[i]; r < cuts.cut[i + 1]; r++)
                for (tulle_gidx c = cuts.cut[j]; c < cuts.cut[j + 1]; c++) {
                    const tulle_gidx x = r < c ? r : c, y = r < c ? c : r;
                    double v = (double)(tulle__random_at(seed + 1, (uint64_t)x, (uint64_t)y) % 9) - 4;
                    if (s->symmetry == TULLE_SKEW) v = r == c ? 0 : r < c ? v : -v;
                    row[count] = r;
                    col[count] = c;
                    put(val, s->type, count++, v);
                }
        }
    tulle_status status = tulle_mat_from_entries(comm, l, s->type, count, row, col, val, TULLE_DUPLICATES_ERROR, &S);
    free(val);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(S, l, A);
    tulle_mat_free(S);
    return status;
}

/* True if H, a half or not, is A with the same blocks. Collective, agreed. */
static tulle_status same(const tulle_mat *A, const tulle_mat *H)
{
    tulle_mat *F = NULL, *D = NULL;
    double largest = -1;
    tulle_status status;
    TULLE_TRY(tulle_mat_to_full(H, &F));
    EXPECT(tulle_mat_symmetry(F) == TULLE_GENERAL);
    EXPECT(tulle_mat_nnz(F) == tulle_mat_nnz(A));
    TULLE_TRY(tulle_mat_add(1, A, -1, F, &D));
    TULLE_TRY(tulle_mat_norm(D, TULLE_NORM_MAX, &largest));
    EXPECT(largest == 0);
out:
    tulle_mat_free(F);
    tulle_mat_free(D);
    return status;
}

static tulle_status same_numbers(const tulle_mat *A, const tulle_mat *H)
{
    tulle_status status = TULLE_OK;
    double x[2][2], d[2][MOST + 1];
    for (int norm = TULLE_NORM_ONE; norm <= TULLE_NORM_MAX; norm++) {
        TULLE_TRY(tulle_mat_norm(A, (tulle_norm)norm, &x[0][0]));
        TULLE_TRY(tulle_mat_norm(H, (tulle_norm)norm, &x[1][0]));
        EXPECT(fabs(x[0][0] - x[1][0]) <= 1e-13 * x[0][0]);
    }
    TULLE_TRY(tulle_mat_gershgorin(A, &x[0][0], &x[0][1]));
    TULLE_TRY(tulle_mat_gershgorin(H, &x[1][0], &x[1][1]));
    EXPECT(x[0][0] == x[1][0] && x[0][1] == x[1][1]);
    TULLE_TRY(tulle_mat_trace(A, &x[0][0]));
    TULLE_TRY(tulle_mat_trace(H, &x[1][0]));
    EXPECT(x[0][0] == x[1][0]);
    TULLE_TRY(tulle_mat_diagonal(A, d[0]));
    TULLE_TRY(tulle_mat_diagonal(H, d[1]));
    for (tulle_gidx i = 0; i < tulle_mat_rows(A); i++) EXPECT(d[0][i] == d[1][i]);
    TULLE_TRY(tulle_mat_asymmetry(H, tulle_mat_symmetry(H), &x[0][0]));
    EXPECT(x[0][0] == 0);
out:
    return status;
}

static tulle_status sums(const tulle_mat *A, const tulle_mat *B, const tulle_mat *a, const tulle_mat *b)
{
    tulle_mat *C = NULL, *c = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_add(2, A, -3, B, &C));
    TULLE_TRY(tulle_mat_add(2, a, -3, b, &c)); /* stays a half */
    EXPECT(tulle_mat_symmetry(c) == tulle_mat_symmetry(a));
    TULLE_TRY(same(C, c));
    tulle_mat_free(c);
    c = NULL;
    TULLE_TRY(tulle_mat_add(2, a, -3, B, &c));
    EXPECT(tulle_mat_symmetry(c) == TULLE_GENERAL);
    TULLE_TRY(same(C, c));
    tulle_mat_free(c);
    c = NULL;
    TULLE_TRY(tulle_mat_add(2, A, -3, b, &c));
    TULLE_TRY(same(C, c));
out:
    tulle_mat_free(C);
    tulle_mat_free(c);
    return status;
}

/* Transposed, scaled, without small blocks, in another layout. */
static tulle_status changes(tulle_mat *A, tulle_mat *a, const tulle_layout *other)
{
    tulle_mat *T = NULL, *t = NULL;
    double factor[MOST + 1], others[MOST + 1];
    tulle_status status;
    TULLE_TRY(tulle_mat_transpose(A, &T));
    TULLE_TRY(tulle_mat_transpose(a, &t));
    EXPECT(tulle_mat_symmetry(t) == tulle_mat_symmetry(a));
    TULLE_TRY(same(T, t));
    tulle_mat_free(t);
    t = NULL;
    TULLE_TRY(tulle_mat_redistribute(a, other, &t));
    EXPECT(tulle_mat_symmetry(t) == tulle_mat_symmetry(a));
    TULLE_TRY(same(A, t));
    for (int i = 0; i <= MOST; i++) factor[i] = i % 3 + 1, others[i] = 2;
    TULLE_TRY(tulle_mat_scale(A, .5, factor, factor));
    TULLE_TRY(tulle_mat_scale(t, .5, factor, factor));
    TULLE_TRY(same(A, t));
    if (tulle_mat_rows(A) > 1) EXPECT(tulle_mat_scale(t, 1, factor, others) == TULLE_ERR_UNSUPPORTED);
    TULLE_TRY(tulle_mat_drop(A, 9));
    TULLE_TRY(tulle_mat_drop(t, 9));
    TULLE_TRY(same(A, t));
out:
    tulle_mat_free(T);
    tulle_mat_free(t);
    return status;
}

/* A half of the blocks that another one has, given tile by tile; a block that belongs elsewhere is refused. */
static tulle_status given(const tulle_mat *a)
{
    tulle_status status;
    const tulle_layout *l = tulle_mat_layout(a);
    const int rank = tulle_comm_rank(tulle_mat_comm(a));
    tulle_mat *b = NULL;
    TULLE_TRY(tulle_mat_new_half(tulle_mat_comm(a), l, tulle_mat_type(a), tulle_mat_symmetry(a), &b));
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != rank) continue;
            TULLE_TRY(tulle_mat_tile(a, i, j, &t));
            if (t.rowptr) TULLE_TRY(tulle_mat_replace_blocks(b, i, j, t.rowptr, t.colind, t.val));
            if (i != j || t.block_rows < 2) continue;
            int64_t rowptr[MOST + 1];
            const tulle_lidx second[] = {1};
            for (int r = 0; r <= t.block_rows; r++) rowptr[r] = r > 0;
            tulle_gidx at = 0;
            while (tulle_layout_row_blocks(l).cut + at != t.row_block) at++;
            const tulle_gidx all = tulle_layout_row_blocks(l).count;
            EXPECT(tulle_half_stores(all, at, at));
            EXPECT(tulle_half_stores(all, at, at + 1) != tulle_half_stores(all, at + 1, at));
            if (tulle_half_stores(all, at, at + 1)) continue;
            EXPECT(tulle_mat_replace_blocks(b, i, j, rowptr, second, NULL) == TULLE_ERR_ARG);
            EXPECT(!t.rowptr || tulle_mat_replace_blocks(b, i, j, t.rowptr, t.colind, t.val) == TULLE_OK);
        }
out:
    status = tulle_comm_agree(tulle_mat_comm(a), status);
    if (status == TULLE_OK) status = tulle_mat_renew(b);
    tulle_mat *A = NULL;
    if (status == TULLE_OK) status = tulle_mat_to_full(a, &A);
    if (status == TULLE_OK) status = same(A, b);
    tulle_mat_free(A);
    tulle_mat_free(b);
    return status;
}

static tulle_status files(const tulle_mat *A, const tulle_mat *a, const char *folder)
{
    tulle_status status;
    char path[512];
    tulle_operand_shape shape;
    tulle_mat *S = NULL, *V = NULL, *D = NULL;
    double largest = -1;
    snprintf(path, sizeof path, "%s/half.mtx", folder);
    TULLE_TRY(tulle_comm_broadcast(tulle_mat_comm(a), 0, path, sizeof path)); /* a process may have its own folder */
    TULLE_TRY(tulle_mat_save(a, path));
    TULLE_TRY(tulle_comm_barrier(tulle_mat_comm(a)));
    TULLE_TRY(tulle_operand_inspect(path, NULL, &shape));
    EXPECT(shape.symmetric && shape.skew == (tulle_mat_symmetry(a) == TULLE_SKEW));
    const tulle_read_options reading = {.type = tulle_mat_type(a)};
    TULLE_TRY(tulle_mat_load(tulle_mat_comm(a), path, NULL, TULLE_CSR, &reading, NULL, &S));
    TULLE_TRY(tulle_mat_to_csr(A, true, &V));
    EXPECT(tulle_mat_nnz(S) == tulle_mat_nnz(V));
    TULLE_TRY(tulle_mat_add(1, V, -1, S, &D));
    TULLE_TRY(tulle_mat_norm(D, TULLE_NORM_MAX, &largest));
    EXPECT(largest == 0);
    TULLE_TRY(tulle_mat_save_as(a, path, "general"));
    TULLE_TRY(tulle_comm_barrier(tulle_mat_comm(a)));
    TULLE_TRY(tulle_operand_inspect(path, NULL, &shape));
    EXPECT(!shape.symmetric);
out:
    status = tulle_comm_agree(tulle_mat_comm(a), status);
    tulle_mat_free(S);
    tulle_mat_free(V);
    tulle_mat_free(D);
    return status;
}

/* Calls that need all of a matrix say so. */
static tulle_status refusals(tulle_mat *a)
{
    tulle_status status = TULLE_OK;
    int64_t work[MOST + 1];
    tulle_mat *X = NULL;
    tulle_matfun *plan = NULL;
    tulle_counts *counts = NULL;
    const tulle_layout *l = tulle_mat_layout(a);
    const tulle_counts_spec spec = {
        l, l, l, tulle_comm_size(tulle_mat_comm(a)), tulle_mat_type(a), TULLE_COUNT_FLOPS, 0, 0};
    EXPECT(tulle_mat_to_csr(a, false, &X) == TULLE_ERR_UNSUPPORTED);
    EXPECT(strstr(tulle_error_message(), "tulle_mat_to_full"));
    EXPECT(tulle_mat_row_nnz(a, work) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_mat_range(a, 0, 1, 0, 1, &X) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_mat_range_add(1, a, 1, a, 0, 0) == TULLE_ERR_UNSUPPORTED);
    if (tulle_mat_symmetry(a) == TULLE_SKEW) EXPECT(tulle_matfun_new(a, NULL, &plan) == TULLE_ERR_ARG);
    EXPECT(tulle_counts_new(a, a, &spec, &counts) == TULLE_ERR_UNSUPPORTED);
    EXPECT(!X && !plan && !counts);
    TULLE_TRY(tulle_mat_order(a));
out:
    return status;
}

static tulle_status body_halves(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    tulle_gidx workspace[MOST + 1];
    const tulle_block_cuts cuts = cuts_of(s->seed, s->n, workspace);
    tulle_layout *l = NULL, *square = NULL, *other = NULL, *oblong = NULL;
    tulle_mat *A = NULL, *B = NULL, *a = NULL, *b = NULL, *N = NULL;
    tulle_status status;
    TULLE_TRY(layout_of(comm, 1 + (int)(s->seed % 4), 1 + (int)(s->seed / 2 % 3), cuts, &l));
    TULLE_TRY(layout_of(comm, 3, 3, cuts, &other));
    TULLE_TRY(layout_of(comm, 1, 2, cuts, &oblong));
    TULLE_TRY(make(comm, s, cuts, l, s->seed, &A));
    TULLE_TRY(make(comm, s, cuts, l, s->seed + 7, &B));
    TULLE_TRY(tulle_mat_to_half(A, s->symmetry, &a));
    TULLE_TRY(tulle_mat_to_half(B, s->symmetry, &b));
    TULLE_TRY(tulle_layout_square(l, &square));
    EXPECT(tulle_layout_tile_rows(square) == tulle_layout_tile_cols(square));
    TULLE_TRY(same(A, a));
    TULLE_TRY(same_numbers(A, a));
    TULLE_TRY(sums(A, B, a, b));
    TULLE_TRY(given(a));
    TULLE_TRY(files(A, a, s->folder));
    if (s->n > 4) TULLE_TRY(refusals(a));
    if (s->n > 8) EXPECT(tulle_mat_redistribute(a, oblong, &N) == TULLE_ERR_ARG);
    if (s->n > 8) EXPECT(tulle_mat_new_half(comm, oblong, s->type, s->symmetry, &N) == TULLE_ERR_ARG && !N);
    if (s->n > 8 && tulle_mat_nnz(A))
        EXPECT(tulle_mat_to_half(A, s->symmetry == TULLE_SKEW ? TULLE_SYMMETRIC : TULLE_SKEW, &N) == TULLE_ERR_ARG);
    EXPECT(tulle_mat_new_half(comm, other, s->type, TULLE_GENERAL, &N) == TULLE_ERR_ARG && !N);
    TULLE_TRY(changes(A, a, other));
out:
    tulle_layout_free(l);
    tulle_layout_free(square);
    tulle_layout_free(other);
    tulle_layout_free(oblong);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(a);
    tulle_mat_free(b);
    return status;
}

int main(int argc, char **argv)
{
    int npes;
    char folder[TEMPORARY_MOST];
    tulle_team *team;
    if (argc < 3 || (npes = atoi(argv[2])) < 1) {
        fprintf(stderr, "usage: half_algebra SPEC PES\n");
        return 2;
    }
    if (!temporary_folder(folder)) return 2;
    const tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct setting s = {.n = seed == 11   ? 0
                                 : seed == 12 ? 1
                                              : 10 + (tulle_gidx)(seed * 5 % 29),
            .seed = seed,
            .type = seed % 3 ? TULLE_F64 : TULLE_F32,
            .symmetry = seed % 2 ? TULLE_SYMMETRIC : TULLE_SKEW,
            .folder = folder};
        const tulle_status status = tulle_team_run(team, body_halves, &s);
        ok(status == TULLE_OK, "%s, n %d, seed %d: %s", s.symmetry == TULLE_SKEW ? "antisymmetric" : "symmetric",
            (int)s.n, (int)seed, status == TULLE_OK ? "right" : tulle_error_message());
    }
    tulle_team_free(team);
    char path[TEMPORARY_MOST + 16];
    snprintf(path, sizeof path, "%s/half.mtx", folder);
    (void)remove(path);
    (void)remove(folder);
    return tap_done();
}
