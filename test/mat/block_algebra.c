/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on matrices in blocks beside products, against plain loops: block_algebra SPEC PES. Values are
 * small integers, so that sums are exact.
 */
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "blocks.h"
#include "body.h"
#include "elements.h"
#include "spec_pes.h"
#include "tap.h"

enum { MOST = 24 };

/* A matrix as plain numbers; has: element of a stored block. */
struct plain {
    tulle_gidx m, n;
    double at[MOST * MOST];
    char has[MOST * MOST];
};

static uint64_t drawn(uint64_t seed, uint64_t what, tulle_gidx x)
{
    return tulle__random_at(seed, what, (uint64_t)x);
}

/* Blocks of 1 to 4, or of `size`. */
static tulle_block_cuts cuts_of(uint64_t seed, tulle_gidx n, tulle_gidx size, tulle_gidx *workspace)
{
    tulle_gidx count = 0;
    workspace[0] = 0;
    while (workspace[count] < n) {
        const tulle_gidx next = workspace[count] + (size ? size : 1 + (tulle_gidx)(drawn(seed, 3, count) % 4));
        workspace[++count] = next < n ? next : n;
    }
    return (tulle_block_cuts){count, workspace};
}

/* Tiles and owners depend on the seed. */
static tulle_status layout_of(
    tulle_comm *comm, uint64_t seed, tulle_block_cuts rows, tulle_block_cuts cols, tulle_layout **layout)
{
    const tulle_layout_spec spec = {.m = rows.cut[rows.count],
        .n = cols.cut[cols.count],
        .tile_rows = 1 + (int)(seed % 4),
        .tile_cols = 1 + (int)(seed / 4 % 3),
        .map = seed % 2 ? TULLE_CYCLIC : TULLE_BLOCK,
        .row_blocks = rows,
        .col_blocks = cols};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

static void draw(uint64_t seed, tulle_block_cuts rows, tulle_block_cuts cols, struct plain *p)
{
    *p = (struct plain){.m = rows.cut[rows.count], .n = cols.cut[cols.count]};
    for (tulle_gidx i = 0; i < rows.count; i++)
        for (tulle_gidx j = 0; j < cols.count; j++) {
            if (tulle__random_at(seed, (uint64_t)i, (uint64_t)j) % 2) continue;
            for (tulle_gidx r = rows.cut[i]; r < rows.cut[i + 1]; r++)
                for (tulle_gidx c = cols.cut[j]; c < cols.cut[j + 1]; c++) {
                    p->has[r * p->n + c] = 1;
                    p->at[r * p->n + c] = (double)(tulle__random_at(seed + 1, (uint64_t)r, (uint64_t)c) % 9) - 4;
                }
        }
}

/* The matrix of these numbers, in any format; zeros in blocks are entries. */
static tulle_status make(tulle_comm *comm, const struct plain *p, const tulle_layout *layout, tulle_kind kind,
    tulle_type type, tulle_mat **A)
{
    tulle_gidx row[MOST * MOST], col[MOST * MOST];
    double val[MOST * MOST];
    int64_t count = 0;
    tulle_mat *S = NULL, *Z = NULL;
    for (tulle_gidx x = 0; x < p->m * p->n && tulle_comm_rank(comm) == 0; x++) {
        if (!p->has[x]) continue;
        row[count] = x / p->n;
        col[count] = x % p->n;
        put(val, type, count++, p->at[x]);
    }
    tulle_status status = tulle_mat_from_entries(comm, layout, type, count, row, col, val, TULLE_DUPLICATES_ERROR, &S);
    if (status == TULLE_OK && kind == TULLE_VBSR) status = tulle_mat_to_vbsr(S, layout, A);
    if (status == TULLE_OK && kind == TULLE_BSR) {
        const tulle_block_cuts rows = tulle_layout_row_blocks(layout), cols = tulle_layout_col_blocks(layout);
        status = tulle_mat_to_bsr(S, (int)rows.cut[1], (int)cols.cut[1], A);
    }
    if (status == TULLE_OK && kind == TULLE_DENSE) {
        status = tulle_mat_new_dense(comm, layout, type, TULLE_COL_MAJOR, &Z);
        if (status == TULLE_OK) status = tulle_mat_add(1, Z, 1, S, A);
        tulle_mat_free(Z);
    }
    if (status == TULLE_OK && kind == TULLE_CSR) {
        *A = S;
        return TULLE_OK;
    }
    tulle_mat_free(S);
    return status;
}

/* Offsets and norms of own tiles. */
static tulle_status sound(const tulle_mat *V)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(V);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(V))) continue;
            TULLE_TRY(tulle_mat_tile(V, i, j, &t));
            if (tulle_mat_kind(V) != TULLE_VBSR || !t.blocks) continue;
            EXPECT(t.rowptr[0] == 0 && t.rowptr[t.block_rows] == t.blocks && t.offset[t.blocks] == t.nnz);
            for (int64_t e = 0; e < t.blocks; e++) {
                double sum = 0;
                for (int64_t k = t.offset[e]; k < t.offset[e + 1]; k++)
                    sum += get(t.val, t.type, k) * get(t.val, t.type, k);
                EXPECT(fabs(sum - t.norm[e]) <= 1e-12 * sum);
            }
        }
out:
    return status;
}

/* True if A has these numbers, and, if it is sparse, these entries. */
static tulle_status compare(const tulle_mat *A, const struct plain *want)
{
    tulle_mat *S = NULL;
    tulle_array all = {.storage = TULLE_STORAGE_DENSE};
    tulle_status status = TULLE_OK;
    int64_t entries = 0;
    EXPECT(tulle_mat_rows(A) == want->m && tulle_mat_cols(A) == want->n);
    TULLE_TRY(sound(A));
    if (tulle_mat_kind(A) != TULLE_DENSE) TULLE_TRY(tulle_mat_to_csr(A, false, &S));
    TULLE_TRY(tulle_mat_to_array(S ? S : A, 0, &all));
    for (int64_t x = 0; x < all.count * want->n; x++) EXPECT(get(all.val, all.type, x) == want->at[x]);
    for (tulle_gidx x = 0; x < want->m * want->n; x++) entries += want->has[x];
    EXPECT(!S || tulle_mat_nnz(A) == entries);
out:
    tulle_array_free(&all);
    tulle_mat_free(S);
    return tulle_comm_agree(tulle_mat_comm(A), status);
}

/* alpha a + beta b, or of b's transpose. */
static struct plain sum(double alpha, const struct plain *a, double beta, const struct plain *b, bool transposed)
{
    struct plain c = {.m = a->m, .n = a->n};
    for (tulle_gidx r = 0; r < a->m; r++)
        for (tulle_gidx s = 0; s < a->n; s++) {
            const tulle_gidx x = r * a->n + s, y = transposed ? s * b->n + r : x;
            c.at[x] = alpha * a->at[x] + beta * b->at[y];
            c.has[x] = a->has[x] || b->has[y];
        }
    return c;
}

struct setting {
    tulle_comm *comm;
    tulle_gidx m, n, size; /* size of blocks; 0: any */
    tulle_type type;
    uint64_t seed;
};

/* Cuts of one seed, layouts of two. */
struct fixture {
    tulle_gidx workspace[4][MOST + 1];
    tulle_block_cuts rows, cols, other_rows, other_cols;
    tulle_layout *layout, *moved, *other;
    struct plain a, b;
    tulle_mat *A, *B;
};

static tulle_status set_up(const struct setting *s, struct fixture *f)
{
    tulle_status status;
    const tulle_kind kind = s->size ? TULLE_BSR : TULLE_VBSR;
    *f = (struct fixture){.A = NULL};
    f->rows = cuts_of(s->seed, s->m, s->size, f->workspace[0]);
    f->cols = s->m == s->n ? f->rows : cuts_of(s->seed + 1, s->n, s->size, f->workspace[1]);
    f->other_rows = cuts_of(s->seed + 2, s->m, 0, f->workspace[2]);
    f->other_cols = cuts_of(s->seed + 3, s->n, 0, f->workspace[3]);
    TULLE_TRY(layout_of(s->comm, s->seed, f->rows, f->cols, &f->layout));
    TULLE_TRY(layout_of(s->comm, s->seed + 5, f->rows, f->cols, &f->moved));
    TULLE_TRY(layout_of(s->comm, s->seed + 7, f->other_rows, f->other_cols, &f->other));
    draw(s->seed, f->rows, f->cols, &f->a);
    draw(s->seed + 50, f->rows, f->cols, &f->b);
    TULLE_TRY(make(s->comm, &f->a, f->layout, kind, s->type, &f->A));
    TULLE_TRY(make(s->comm, &f->b, f->moved, kind, s->type, &f->B));
out:
    return status;
}

static void tear_down(struct fixture *f)
{
    tulle_mat_free(f->A);
    tulle_mat_free(f->B);
    tulle_layout_free(f->layout);
    tulle_layout_free(f->moved);
    tulle_layout_free(f->other);
}

static tulle_status sums(const struct setting *s, const struct fixture *f)
{
    tulle_status status;
    tulle_mat *C = NULL, *X = NULL;
    struct plain want = sum(2, &f->a, -3, &f->b, false);
    TULLE_TRY(tulle_mat_add(2, f->A, -3, f->B, &C));
    EXPECT(tulle_mat_kind(C) == (s->size ? TULLE_BSR : TULLE_VBSR));
    TULLE_TRY(compare(C, &want));
    tulle_mat_free(C);
    C = NULL;
    /* of other blocks: A's */
    struct plain other;
    draw(s->seed + 90, f->other_rows, f->other_cols, &other);
    TULLE_TRY(make(s->comm, &other, f->other, TULLE_VBSR, s->type, &X));
    TULLE_TRY(tulle_mat_add(1, f->A, 1, X, &C));
    want = sum(1, &f->a, 1, &other, false);
    fill_blocks(want.has, want.n, f->rows, f->cols);
    EXPECT(tulle_mat_kind(C) == TULLE_VBSR);
    TULLE_TRY(compare(C, &want));
    /* and of other formats */
    for (int dense = 0; dense < 2; dense++)
        for (int first = 0; first < 2; first++) {
            tulle_mat_free(C);
            tulle_mat_free(X);
            C = X = NULL;
            TULLE_TRY(make(s->comm, &other, f->other, dense ? TULLE_DENSE : TULLE_CSR, s->type, &X));
            TULLE_TRY(first ? tulle_mat_add(1, X, 2, f->A, &C) : tulle_mat_add(2, f->A, 1, X, &C));
            want = sum(2, &f->a, 1, &other, false);
            EXPECT(tulle_mat_kind(C) == (dense ? TULLE_DENSE : TULLE_CSR));
            TULLE_TRY(compare(C, &want));
        }
out:
    tulle_mat_free(X);
    tulle_mat_free(C);
    return status;
}

static tulle_status layouts(const struct setting *s, const struct fixture *f)
{
    tulle_status status;
    tulle_mat *C = NULL;
    tulle_layout *plain = NULL;
    const tulle_layout_spec spec = {.m = s->m, .n = s->n};
    struct plain want = f->a;
    TULLE_TRY(tulle_mat_redistribute(f->A, f->moved, &C));
    EXPECT(tulle_mat_kind(C) == tulle_mat_kind(f->A));
    TULLE_TRY(compare(C, &f->a));
    tulle_mat_free(C);
    C = NULL;
    fill_blocks(want.has, want.n, f->other_rows, f->other_cols);
    status = tulle_mat_redistribute(f->A, f->other, &C);
    EXPECT(status == (s->size ? TULLE_ERR_ARG : TULLE_OK));
    if (!s->size) TULLE_TRY(compare(C, &want));
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(s->comm), &plain));
    tulle_mat_free(C);
    C = NULL;
    EXPECT(tulle_mat_redistribute(f->A, plain, &C) == TULLE_ERR_ARG && !C);
out:
    tulle_layout_free(plain);
    tulle_mat_free(C);
    return status;
}

static tulle_status symmetries(const struct setting *s, const struct fixture *f)
{
    tulle_status status = TULLE_OK;
    tulle_mat *S = NULL;
    double value, largest = 0, low = 0, high = 0;
    if (s->m != s->n) {
        EXPECT(tulle_mat_symmetrise(f->A, TULLE_SKEW, &S) == TULLE_ERR_ARG && !S);
        EXPECT(tulle_mat_asymmetry(f->A, TULLE_SKEW, &value) == TULLE_ERR_ARG);
        EXPECT(tulle_mat_gershgorin(f->A, &low, &high) == TULLE_ERR_ARG);
        return TULLE_OK;
    }
    for (int skew = 0; skew < 2; skew++) {
        const tulle_symmetry symmetry = skew ? TULLE_SKEW : TULLE_SYMMETRIC;
        const struct plain want = sum(.5, &f->a, skew ? -.5 : .5, &f->a, true),
                           off = sum(1, &f->a, skew ? 1 : -1, &f->a, true);
        largest = 0;
        for (tulle_gidx x = 0; x < s->n * s->n; x++) largest = fmax(largest, fabs(off.at[x]));
        TULLE_TRY(tulle_mat_asymmetry(f->A, symmetry, &value));
        EXPECT(value == largest);
        TULLE_TRY(tulle_mat_symmetrise(f->A, symmetry, &S));
        EXPECT(tulle_mat_kind(S) == tulle_mat_kind(f->A));
        TULLE_TRY(compare(S, &want));
        TULLE_TRY(tulle_mat_asymmetry(S, symmetry, &value));
        EXPECT(value == 0);
        tulle_mat_free(S);
        S = NULL;
    }
    for (tulle_gidx r = 0; r < s->n; r++) {
        double radius = 0, a = f->a.at[r * s->n + r];
        for (tulle_gidx c = 0; c < s->n; c++) radius += c == r ? 0 : fabs(f->a.at[r * s->n + c]);
        if (!r || a - radius < low) low = a - radius;
        if (!r || a + radius > high) high = a + radius;
    }
    double least, most;
    TULLE_TRY(tulle_mat_gershgorin(f->A, &least, &most));
    EXPECT(least == low && most == high);
out:
    tulle_mat_free(S);
    return status;
}

/* Scales A; what it was is in f->a. */
static tulle_status numbers(const struct setting *s, struct fixture *f)
{
    tulle_status status;
    double norm[4], columns[MOST] = {0}, rows[MOST] = {0}, diagonal[MOST], most[3] = {0}, squares = 0, trace = 0, value;
    for (tulle_gidx r = 0; r < s->m; r++)
        for (tulle_gidx c = 0; c < s->n; c++) {
            const double x = fabs(f->a.at[r * s->n + c]);
            columns[c] += x, rows[r] += x, squares += x * x;
            most[2] = fmax(most[2], x);
        }
    for (int x = 0; x < MOST; x++) most[0] = fmax(most[0], columns[x]), most[1] = fmax(most[1], rows[x]);
    for (int which = 0; which < 4; which++) TULLE_TRY(tulle_mat_norm(f->A, (tulle_norm)which, &norm[which]));
    EXPECT(norm[TULLE_NORM_ONE] == most[0] && norm[TULLE_NORM_INFINITY] == most[1] && norm[TULLE_NORM_MAX] == most[2] &&
           fabs(norm[TULLE_NORM_FROBENIUS] - sqrt(squares)) < 1e-12 * (1 + squares));
    TULLE_TRY(tulle_mat_diagonal(f->A, diagonal));
    for (tulle_gidx x = 0; x < s->m && x < s->n; x++) {
        EXPECT(diagonal[x] == f->a.at[x * s->n + x]);
        trace += diagonal[x];
    }
    TULLE_TRY(tulle_mat_trace(f->A, &value));
    EXPECT(value == trace);
    for (int x = 0; x < MOST; x++) rows[x] = x % 3 + 1, columns[x] = x % 2 ? -2 : 4;
    TULLE_TRY(tulle_mat_scale(f->A, 0.5, rows, columns));
    struct plain want = f->a;
    for (tulle_gidx x = 0; x < s->m * s->n; x++) want.at[x] *= 0.5 * rows[x / s->n] * columns[x % s->n];
    TULLE_TRY(compare(f->A, &want));
out:
    return status;
}

/* The tiles of A by themselves into B's place, whose layout has the same cuts of tiles; then wrong ones. */
static tulle_status replaced(const struct setting *s, const struct fixture *f)
{
    static const tulle_lidx far[] = {MOST};
    const int64_t none[MOST + 1] = {0}, one[MOST + 1] = {1, 1};
    tulle_mat *C = NULL;
    const tulle_layout *l = tulle_mat_layout(f->A);
    tulle_status status = tulle_mat_add(0, f->A, 0, f->A, &C);
    struct plain want = f->a;
    if (status == TULLE_OK) status = tulle_mat_scale(C, 0, NULL, NULL);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            const bool drop = (i + j) % 3 == 2, ones = (i + j) % 3 == 1;
            for (tulle_gidx r = tulle_layout_row_cut(l)[i]; r < tulle_layout_row_cut(l)[i + 1]; r++)
                for (tulle_gidx c = tulle_layout_col_cut(l)[j]; c < tulle_layout_col_cut(l)[j + 1]; c++) {
                    if (drop) want.has[r * s->n + c] = 0;
                    want.at[r * s->n + c] = !want.has[r * s->n + c] ? 0 : ones ? 1 : want.at[r * s->n + c];
                }
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(s->comm)) continue;
            TULLE_TRY(tulle_mat_tile(f->A, i, j, &t));
            if (!t.nnz) continue;
            EXPECT(tulle_mat_replace_blocks(C, i, j, t.rowptr, far, t.val) == TULLE_ERR_ARG);
            EXPECT(tulle_mat_replace_blocks(C, i, j, one, t.colind, t.val) == TULLE_ERR_ARG);
            EXPECT(tulle_mat_replace(C, i, j, t.rowptr, t.colind, t.val) == TULLE_ERR_ARG);
            if (drop)
                TULLE_TRY(tulle_mat_replace_blocks(C, i, j, none, NULL, NULL));
            else
                TULLE_TRY(tulle_mat_replace_blocks(C, i, j, t.rowptr, t.colind, ones ? NULL : t.val));
        }
    TULLE_TRY(tulle_mat_renew(C));
    TULLE_TRY(compare(C, &want));
out:
    tulle_mat_free(C);
    return status;
}

static tulle_status all(tulle_comm *comm, void *arg)
{
    static const tulle_gidx shape[][2] = {{13, 9}, {16, 16}, {1, 7}, {0, 4}, {24, 24}, {8, 1}, {0, 0}};
    tulle_status status = TULLE_OK;
    (void)arg;
    for (uint64_t t = 0; t < 28; t++) {
        struct setting s = {
            .comm = comm, .m = shape[t % 7][0], .n = shape[t % 7][1], .type = t % 2 ? TULLE_F32 : TULLE_F64, .seed = t};
        if (s.m == s.n && s.m && t / 7 % 2) s.size = 4;
        struct fixture f;
        status = set_up(&s, &f);
        if (status == TULLE_OK) status = sums(&s, &f);
        if (status == TULLE_OK) status = layouts(&s, &f);
        if (status == TULLE_OK) status = symmetries(&s, &f);
        if (status == TULLE_OK) status = replaced(&s, &f);
        if (status == TULLE_OK) status = numbers(&s, &f);
        tear_down(&f);
        if (status != TULLE_OK) return status;
    }
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"sums, layouts, symmetries, norms of blocks", all}};
    return RUN_BODIES(argc, argv, tests, NULL);
}
