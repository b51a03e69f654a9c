/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hypersparse matrices beside lists of their entries: assembly, transposes, layouts, files, products, norms, and what
 * expands them or is refused; with little memory, so that an array of all rows is an error. hypersparse SPEC PES.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "built_with.h"
#include "elements.h"
#include "tap.h"
#include "temporary.h"

enum { MOST = 1 << 17 };

static const tulle_gidx HUGE_LINES = (tulle_gidx)1 << 33;

struct setting {
    tulle_gidx m, n;
    int64_t entries;
    uint64_t seed;
    const char *folder;
};

struct entry {
    tulle_gidx row, col;
    double val;
};

struct list {
    int64_t count;
    struct entry at[MOST];
};

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->col < y->col ? -1 : x->col > y->col;
}

/* Sorts, and adds up repetitions. */
static void reduce(struct list *l)
{
    int64_t kept = 0;
    qsort(l->at, (size_t)l->count, sizeof *l->at, by_place);
    for (int64_t e = 0; e < l->count; e++)
        if (kept && by_place(&l->at[kept - 1], &l->at[e]) == 0)
            l->at[kept - 1].val += l->at[e].val;
        else
            l->at[kept++] = l->at[e];
    l->count = kept;
}

/* The first place, the last, and others in few lines, so that products have entries. */
static void draw(tulle_gidx m, tulle_gidx n, int64_t entries, uint64_t seed, struct list *l)
{
    l->count = entries;
    for (int64_t e = 0; e < entries; e++) {
        const uint64_t r = tulle__random_at(seed, 1, (uint64_t)e), c = tulle__random_at(seed, 2, (uint64_t)e);
        const tulle_gidx line = (tulle_gidx)(tulle__random_at(7, 3, r % 300) >> 1);
        const tulle_gidx other = (tulle_gidx)(tulle__random_at(7, 3, c % 300) >> 1);
        l->at[e] = (struct entry){e == 0   ? 0
                                  : e == 1 ? m - 1
                                           : line % m,
            e == 0   ? 0
            : e == 1 ? n - 1
                     : other % n,
            (double)(tulle__random_at(seed, 4, (uint64_t)e) % 9) - 4};
    }
}

static tulle_status layout_of(tulle_comm *comm, tulle_gidx m, tulle_gidx n, int rows, int cols, tulle_layout **layout)
{
    const tulle_layout_spec spec = {.m = m,
        .n = n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .tile_rows = rows,
        .tile_cols = cols,
        .map = TULLE_CYCLIC};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

/* A matrix of the list, of which each PE passes a part. */
static tulle_status matrix_of(tulle_comm *comm, const struct list *l, const tulle_layout *layout, tulle_mat **A)
{
    tulle_gidx *row = malloc(sizeof *row * MOST), *col = malloc(sizeof *col * MOST);
    double *val = malloc(sizeof *val * MOST);
    int64_t count = 0;
    tulle_mat *S = NULL;
    for (int64_t e = tulle_comm_rank(comm); e < l->count; e += tulle_comm_size(comm), count++) {
        row[count] = l->at[e].row;
        col[count] = l->at[e].col;
        val[count] = l->at[e].val;
    }
    tulle_status status =
        tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, &S);
    free(row);
    free(col);
    free(val);
    tulle_compressed view = {.inner = NULL};
    if (status == TULLE_OK) status = tulle_mat_compressed(S, &view);
    if (status == TULLE_OK && !view.inner) {
        status = tulle_mat_compress(S, A);
        tulle_mat_free(S);
    } else {
        *A = S;
    }
    return status;
}

/* All entries of a matrix, of either kind, on each PE. */
static tulle_status entries_of(const tulle_mat *A, struct list *l)
{
    tulle_compressed view;
    tulle_status status = tulle_mat_compressed(A, &view);
    const tulle_mat *X = view.inner ? view.inner : A;
    const tulle_layout *layout = tulle_mat_layout(X);
    l->count = 0;
    for (int i = 0; i < tulle_layout_tile_rows(layout); i++)
        for (int j = 0; j < tulle_layout_tile_cols(layout) && status == TULLE_OK; j++) {
            tulle_fetch *fetch;
            tulle_tile t;
            TULLE_TRY(tulle_mat_get_tile(X, i, j, &fetch));
            status = tulle_fetch_wait(fetch, &t);
            for (tulle_gidx r = 0; status == TULLE_OK && t.nnz && r < t.m; r++)
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1] && l->count < MOST; e++) {
                    const tulle_gidx row = tulle_layout_row_cut(layout)[i] + r,
                                     col = tulle_layout_col_cut(layout)[j] + t.colind[e];
                    l->at[l->count++] = (struct entry){
                        view.inner ? view.row[row] : row, view.inner ? view.col[col] : col, ((const double *)t.val)[e]};
                }
            tulle_fetch_free(fetch);
        }
    if (status == TULLE_OK) status = tulle_comm_barrier(tulle_mat_comm(A));
out:
    reduce(l);
    return status;
}

static tulle_status expect_entries(const tulle_mat *A, const struct list *wanted)
{
    struct list *found = malloc(sizeof *found);
    tulle_status status = entries_of(A, found);
    if (status != TULLE_OK) goto out;
    EXPECT(found->count == wanted->count && tulle_mat_nnz(A) == wanted->count);
    for (int64_t e = 0; e < wanted->count; e++)
        EXPECT(by_place(&found->at[e], &wanted->at[e]) == 0 && found->at[e].val == wanted->at[e].val);
out:
    free(found);
    return status;
}

static void transpose_list(const struct list *l, struct list *t)
{
    t->count = l->count;
    for (int64_t e = 0; e < l->count; e++) t->at[e] = (struct entry){l->at[e].col, l->at[e].row, l->at[e].val};
    reduce(t);
}

/* to += alpha A B; lists are reduced. */
static void add_product(double alpha, const struct list *a, const struct list *b, struct list *to)
{
    for (int64_t x = 0; x < a->count; x++)
        for (int64_t y = 0; y < b->count; y++)
            if (a->at[x].col == b->at[y].row) {
                to->at[to->count++] = (struct entry){a->at[x].row, b->at[y].col, alpha * a->at[x].val * b->at[y].val};
                if (to->count == MOST) reduce(to);
            }
    reduce(to);
}

static tulle_status expect_reads(
    tulle_comm *comm, const tulle_mat *A, const struct setting *s, const char *name, const struct list *wanted)
{
    char path[TEMPORARY_MOST + 32];
    char warnings[TULLE_WARNINGS_MAX];
    tulle_mat *read = NULL;
    tulle_compressed view;
    const tulle_read_options options = {.type = TULLE_F64};
    tulle_status status;
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    TULLE_TRY(tulle_comm_broadcast(comm, 0, path, sizeof path)); /* processes have folders of their own */
    TULLE_TRY(tulle_mat_save(A, path));
    TULLE_TRY(tulle_mat_load(comm, path, NULL, TULLE_CSR, &options, warnings, &read));
    TULLE_TRY(expect_entries(read, wanted));
    TULLE_TRY(tulle_mat_compressed(read, &view));
    EXPECT(!view.inner == (s->m < 1 << 23 && s->n < HUGE_LINES));
out:
    tulle_mat_free(read);
    if (tulle_comm_rank(comm) == 0) (void)remove(path);
    return status;
}

/* Operations that take it as it is. */
static tulle_status body_taken(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    struct list *list = malloc(sizeof *list), *other = malloc(sizeof *other);
    tulle_layout *layout = NULL, *across = NULL;
    tulle_mat *A = NULL, *T = NULL, *copy = NULL;
    double norm, squares = 0;
    tulle_status status;
    draw(s->m, s->n, s->entries, s->seed, list);
    TULLE_TRY(layout_of(comm, s->m, s->n, tulle_comm_size(comm), 1 + (int)(s->seed % 2), &layout));
    TULLE_TRY(layout_of(comm, s->m, s->n, 2, 3, &across));
    TULLE_TRY(matrix_of(comm, list, layout, &A));
    reduce(list);
    TULLE_TRY(expect_entries(A, list));
    EXPECT(tulle_mat_rows(A) == s->m && tulle_mat_cols(A) == s->n && tulle_mat_kind(A) == TULLE_CSR);
    EXPECT(tulle_mat_bytes(A) <=
           (size_t)(list->count * (28 + 40 * tulle_comm_size(comm)) + 256 * (1 + tulle_comm_size(comm))));
    TULLE_TRY(tulle_mat_redistribute(A, across, &copy));
    TULLE_TRY(expect_entries(copy, list));
    TULLE_TRY(tulle_mat_transpose(copy, &T));
    transpose_list(list, other);
    TULLE_TRY(expect_entries(T, other));
    TULLE_TRY(tulle_mat_scale(T, 2, NULL, NULL));
    for (int64_t e = 0; e < list->count; e++) squares += 4 * list->at[e].val * list->at[e].val;
    TULLE_TRY(tulle_mat_norm(T, TULLE_NORM_FROBENIUS, &norm));
    EXPECT(fabs(norm - sqrt(squares)) <= 1e-12 * norm);
    TULLE_TRY(expect_reads(comm, A, s, "A.mtx", list));
    TULLE_TRY(expect_reads(comm, A, s, "A.npz", list));
    if (built_with("HDF5: yes")) TULLE_TRY(expect_reads(comm, A, s, "A.bsp.h5", list));
out:
    tulle_mat_free(A);
    tulle_mat_free(T);
    tulle_mat_free(copy);
    tulle_layout_free(layout);
    tulle_layout_free(across);
    free(list);
    free(other);
    return status;
}

/* C = alpha A B, with new values, added to, and with another structure of A. */
/* C in ranges of columns of its tiles, which follow each other: all of its entries. */
static tulle_status expect_ranges(tulle_product *plan, const tulle_mat *C, const struct list *wanted)
{
    struct list *piece = malloc(sizeof *piece);
    tulle_columns columns = {.to = 0};
    int64_t entries = 0;
    tulle_gidx next = 0;
    tulle_status status = TULLE_OK;
    do {
        TULLE_TRY(tulle_product_next(plan, 1, &columns, NULL));
        EXPECT(columns.from == next && columns.to >= next && columns.last == (columns.to == columns.of));
        next = columns.to;
        TULLE_TRY(entries_of(C, piece));
        entries += piece->count;
    } while (!columns.last);
    EXPECT(entries == wanted->count);
out:
    free(piece);
    return status;
}

static tulle_status body_product(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    struct list *a = malloc(sizeof *a), *b = malloc(sizeof *b), *c = calloc(1, sizeof *c), *t = malloc(sizeof *t);
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *G = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    const int pes = tulle_comm_size(comm);
    tulle_product_options options = {.alg = s->seed % 2 ? TULLE_PRODUCT_AUTO : TULLE_PRODUCT_STATIONARY_C};
    tulle_status status;
    draw(s->m, s->n, s->entries, s->seed, a);
    draw(s->n, s->m, s->entries, s->seed + 1, b);
    TULLE_TRY(layout_of(comm, s->m, s->n, pes, 2, &la));
    TULLE_TRY(layout_of(comm, s->n, s->m, s->seed % 3 ? 2 : 3, pes, &lb));
    TULLE_TRY(matrix_of(comm, a, la, &A));
    TULLE_TRY(matrix_of(comm, b, lb, &B));
    reduce(a);
    reduce(b);
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &lc));
    TULLE_TRY(tulle_mat_new_csr(comm, lc, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    TULLE_TRY(tulle_product_check(plan, &error));
    add_product(1, a, b, c);
    TULLE_TRY(expect_entries(C, c));
    EXPECT(report.nnz_c == c->count && *tulle_product_describe(plan));
    TULLE_TRY(tulle_mat_scale(A, 2, NULL, NULL));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    for (int64_t e = 0; e < c->count; e++) c->at[e].val *= 2;
    TULLE_TRY(expect_entries(C, c));
    TULLE_TRY(tulle_product_execute(plan, -3, 1, NULL));
    for (int64_t e = 0; e < c->count; e++) c->at[e].val *= -2;
    TULLE_TRY(expect_entries(C, c));
    tulle_product_free(plan);
    plan = NULL;
    options.phases = 3;
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(expect_ranges(plan, C, c));
    tulle_product_free(plan);
    plan = NULL;
    options.phases = 0;
    /* A^T A, into an empty matrix */
    options.op_a = TULLE_OP_T;
    tulle_layout_free(lc);
    lc = NULL;
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_T, A, TULLE_OP_N, &lc));
    TULLE_TRY(tulle_mat_new_csr(comm, lc, TULLE_F64, &G));
    TULLE_TRY(tulle_product_new(A, A, G, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 0.25, 0, NULL));
    transpose_list(a, t);
    c->count = 0;
    add_product(1, t, a, c);
    TULLE_TRY(expect_entries(G, c));
out:
    tulle_product_free(plan);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(C);
    tulle_mat_free(G);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    free(a);
    free(b);
    free(c);
    free(t);
    return status;
}

/* Expansion, or a refusal that leaves the matrix as it was. */
static tulle_status body_expanded(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    const bool huge = s->m == HUGE_LINES || s->n == HUGE_LINES;
    struct list *list = malloc(sizeof *list);
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_tile tile;
    tulle_fetch *fetch = NULL;
    tulle_compressed view;
    tulle_status status;
    draw(s->m, s->n, s->entries, s->seed, list);
    TULLE_TRY(layout_of(comm, s->m, s->n, tulle_comm_size(comm), 1, &layout));
    TULLE_TRY(matrix_of(comm, list, layout, &A));
    reduce(list);
    EXPECT(tulle_mat_tile(A, tulle_comm_rank(comm), 0, &tile) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_mat_get_tile(A, 0, 0, &fetch) == TULLE_ERR_UNSUPPORTED);
    const tulle_status expanded = tulle_mat_expand(A);
    TULLE_TRY(same_everywhere(comm, expanded));
    const bool fits = expanded == TULLE_OK; /* 2^24 rows may, by the tiles that have entries */
    EXPECT(huge ? !fits : fits || s->m > 5);
    if (!fits) EXPECT(strstr(tulle_error_message(), "hypersparse") || strstr(tulle_error_message(), "PE "));
    TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
    TULLE_TRY(tulle_mat_compressed(A, &view));
    EXPECT(!view.inner == fits);
    TULLE_TRY(expect_entries(A, list));
out:
    tulle_mat_free(A);
    tulle_layout_free(layout);
    free(list);
    return status;
}

/* Y = A X and Z = A^T Y of a tall A, with memory for Y and not for row pointers beside it. */
static tulle_status body_dense(tulle_comm *comm, void *arg)
{
    enum { LINES = 1 << 23 };
    static const double x[2] = {3, -5};
    (void)arg;
    struct list *list = malloc(sizeof *list);
    tulle_layout *la = NULL, *lx = NULL, *ly = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL, *Z = NULL;
    tulle_product *plan = NULL, *back = NULL;
    const tulle_product_options turned = {.op_a = TULLE_OP_T};
    tulle_tile t;
    double error, sum = 0, wanted = 0;
    tulle_status status;
    draw(LINES, 2, 4, 5, list);
    TULLE_TRY(layout_of(comm, LINES, 2, tulle_comm_size(comm), 1, &la));
    TULLE_TRY(layout_of(comm, 2, 1, 1, 1, &lx));
    TULLE_TRY(layout_of(comm, LINES, 1, tulle_comm_size(comm), 1, &ly));
    TULLE_TRY(matrix_of(comm, list, la, &A));
    reduce(list);
    TULLE_TRY(tulle_mat_new_dense(comm, lx, TULLE_F64, TULLE_COL_MAJOR, &X));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, TULLE_F64, TULLE_ROW_MAJOR, &Z));
    TULLE_TRY(tulle_mat_new_dense_undefined(comm, ly, TULLE_F64, TULLE_ROW_MAJOR, &Y));
    for (int r = 0; r < 2 && tulle_comm_rank(comm) == 0; r++) {
        tulle_own_tile own;
        TULLE_TRY(tulle_mat_own_tile(X, 0, 0, &own));
        ((double *)own.val)[r] = x[r];
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    TULLE_TRY(tulle_product_new(A, X, Y, NULL, &plan));
    TULLE_TRY(tulle_product_execute(plan, 2, 0, NULL));
    TULLE_TRY(tulle_mat_norm(Y, TULLE_NORM_FROBENIUS, &error));
    for (int64_t e = 0; e < list->count; e++) { /* rows differ, but for entries of the same one */
        double row = 0;
        for (int64_t other = 0; other < list->count; other++)
            if (list->at[other].row == list->at[e].row) row += 2 * list->at[other].val * x[list->at[other].col];
        if (!e || list->at[e - 1].row != list->at[e].row) sum += row * row;
        if (list->at[e].col == 1) wanted += list->at[e].val * row;
    }
    EXPECT(fabs(error - sqrt(sum)) <= 1e-12 * error);
    TULLE_TRY(tulle_product_new(A, Y, Z, &turned, &back));
    TULLE_TRY(tulle_product_execute(back, 1, 0, NULL));
    if (tulle_comm_rank(comm) == 0) {
        TULLE_TRY(tulle_mat_tile(Z, 0, 0, &t));
        EXPECT(fabs(((const double *)t.val)[1] - wanted) <= 1e-12 * fabs(wanted));
    }
    tulle_compressed view;
    TULLE_TRY(tulle_mat_compressed(A, &view));
    EXPECT(view.inner != NULL);
out:
    tulle_product_free(plan);
    tulle_product_free(back);
    tulle_mat_free(A);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    tulle_mat_free(Z);
    tulle_layout_free(la);
    tulle_layout_free(lx);
    tulle_layout_free(ly);
    free(list);
    return status;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        tulle_status (*body)(tulle_comm *comm, void *arg);
    } bodies[] = {{"taken", body_taken}, {"product", body_product}, {"expanded", body_expanded}};
    const tulle_gidx sizes[][2] = {
        {HUGE_LINES, 2}, {2, HUGE_LINES}, {HUGE_LINES, HUGE_LINES}, {(tulle_gidx)1 << 24, 1 << 24}, {5, 7}};
    const int64_t entries[] = {0, 1, 2, 1000};
    int npes;
    char folder[TEMPORARY_MOST];
    tulle_team *team;
    if (argc < 3 || (npes = atoi(argv[2])) < 1) {
        fprintf(stderr, "usage: hypersparse SPEC PES\n");
        return 2;
    }
    if (!temporary_folder(folder)) return 2;
    const tulle_team_options team_options = {.memory = (size_t)npes << 24, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
        for (size_t e = 0; e < sizeof entries / sizeof *entries; e++)
            for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
                struct setting s = {
                    .m = sizes[z][0], .n = sizes[z][1], .entries = entries[e], .seed = 4 * z + e, .folder = folder};
                if (s.entries < 2 && bodies[b].body == body_expanded) continue;
                const tulle_status status = tulle_team_run(team, bodies[b].body, &s);
                ok(status == TULLE_OK, "%s, %lld x %lld, %d entries: %s", bodies[b].name, (long long)s.m,
                    (long long)s.n, (int)s.entries, status == TULLE_OK ? "right" : tulle_error_message());
            }
    tulle_team_free(team);
    const tulle_team_options wide_options = {.memory = 110000000, .threads = 1};
    if (ok(tulle_team_new(argv[1], npes, &wide_options, &team) == TULLE_OK, "open: %s", tulle_error_message())) {
        const tulle_status status = tulle_team_run(team, body_dense, NULL);
        ok(status == TULLE_OK, "dense, 2^23 x 2: %s", status == TULLE_OK ? "right" : tulle_error_message());
        tulle_team_free(team);
    }
    (void)remove(folder);
    return tap_done();
}
