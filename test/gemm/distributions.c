/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block-cyclic distributions: SPEC PES. Owners and local indices against a walk over all elements,
 * copies to and from matrices in any layout, and products of parts against plain loops; wrong
 * arguments.
 */
#include <math.h>
#include <string.h>

#include <tulle/cyclic.h>

#include "body.h"
#include "elements.h"
#include "tap.h"

/* xorshift: the same numbers on all PEs. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static int draw(uint64_t *state, int low, int high)
{
    return low + (int)(next_random(state) % (uint64_t)(high - low + 1));
}

enum { RANKS = 8, WORKSPACE = 4 };

/* A distributed matrix, whole and as the own array: elements that no part contains stay. */
struct dist {
    tulle_cyclic x;
    int rank[RANKS];
    int64_t ld, cols;
    double *whole;
    void *own;
    tulle_type type;
};

/* The owner of an element and its place, by counting blocks: independent of the library's arithmetic. */
static int owner_of(int64_t index, int64_t block, int source, int parts, int64_t *local)
{
    int part = source;
    int64_t seen[RANKS] = {0};
    for (int64_t i = 0; i < index; i++) {
        seen[part]++;
        if ((i + 1) % block == 0) part = (part + 1) % parts;
    }
    *local = seen[part];
    return part;
}

static double value(int64_t i, int64_t j, int salt)
{
    return (double)((i * 7 + j * 13 + i * j + salt) % 17 - 8);
}

static tulle_status make(
    tulle_comm *comm, struct dist *d, int64_t m, int64_t n, int salt, tulle_type type, uint64_t *seed)
{
    int npes = tulle_comm_size(comm), me = tulle_comm_rank(comm);
    tulle_cyclic *x = &d->x;
    x->m = m;
    x->n = n;
    x->row_block = draw(seed, 1, 5);
    x->col_block = draw(seed, 1, 5);
    do {
        x->grid_rows = draw(seed, 1, npes);
        x->grid_cols = draw(seed, 1, npes);
    } while (x->grid_rows * x->grid_cols > npes);
    x->row_source = draw(seed, 0, x->grid_rows - 1);
    x->col_source = draw(seed, 0, x->grid_cols - 1);
    for (int r = 0; r < npes; r++) d->rank[r] = r;
    for (int r = npes - 1; r > 0; r--) {
        int s = draw(seed, 0, r), t = d->rank[r];
        d->rank[r] = d->rank[s];
        d->rank[s] = t;
    }
    x->rank = draw(seed, 0, 1) ? d->rank : NULL;
    d->type = type;
    d->ld = tulle_cyclic_local_rows(x, me) + draw(seed, 0, 3);
    if (d->ld < 1) d->ld = 1;
    d->cols = tulle_cyclic_local_cols(x, me);
    d->whole = malloc((size_t)(m * n + 1) * sizeof *d->whole);
    d->own = malloc((size_t)(d->ld * (d->cols + 1)) * tulle_type_size(type));
    if (!d->whole || !d->own) return tulle__fail(TULLE_ERR_MEMORY, "test");
    for (int64_t e = 0; e < d->ld * (d->cols + 1); e++) put(d->own, type, e, 99);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) d->whole[i * n + j] = value(i, j, salt);
    return TULLE_OK;
}

static void drop(struct dist *d)
{
    free(d->whole);
    free(d->own);
    *d = (struct dist){.own = NULL};
}

/* The own element's place; -1: another PE's. */
static int64_t place_of(const struct dist *d, int me, int64_t i, int64_t j)
{
    int64_t r, c;
    int p = owner_of(i, d->x.row_block, d->x.row_source, d->x.grid_rows, &r);
    int q = owner_of(j, d->x.col_block, d->x.col_source, d->x.grid_cols, &c);
    int at = p * d->x.grid_cols + q;
    return (d->x.rank ? d->x.rank[at] : at) == me ? c * d->ld + r : -1;
}

static void scatter(struct dist *d, int me)
{
    for (int64_t i = 0; i < d->x.m; i++)
        for (int64_t j = 0; j < d->x.n; j++) {
            int64_t at = place_of(d, me, i, j);
            if (at >= 0) put(d->own, d->type, at, d->whole[i * d->x.n + j]);
        }
}

/* True if the array holds the own elements of `whole`, and 99 in all other places. */
static int holds(const struct dist *d, int me)
{
    int64_t own = 0, others = 0, capacity = d->ld * (d->cols + 1);
    for (int64_t i = 0; i < d->x.m; i++)
        for (int64_t j = 0; j < d->x.n; j++) {
            int64_t at = place_of(d, me, i, j);
            double expected = d->whole[i * d->x.n + j];
            if (at < 0) continue;
            own++;
            if (get(d->own, d->type, at) != expected && !(isnan(get(d->own, d->type, at)) && isnan(expected))) return 0;
        }
    if (own != tulle_cyclic_local_rows(&d->x, me) * d->cols) return 0;
    for (int64_t e = 0; e < capacity; e++) {
        int64_t r = e % d->ld, c = e / d->ld;
        if (r >= tulle_cyclic_local_rows(&d->x, me) || c >= d->cols) others += get(d->own, d->type, e) != 99;
    }
    return !others;
}

static tulle_cyclic_part part_of(const struct dist *d, int64_t row, int64_t col, int64_t m, int64_t n)
{
    return (tulle_cyclic_part){.cyclic = &d->x, .row = row, .col = col, .m = m, .n = n, .ld = d->ld};
}

static tulle_status random_layout(tulle_comm *comm, int64_t m, int64_t n, uint64_t *seed, tulle_layout **layout)
{
    enum { MOST = 3 };
    tulle_gidx row_cut[MOST + 1] = {0}, col_cut[MOST + 1] = {0};
    int owner[MOST * MOST], mt = draw(seed, 1, MOST), nt = draw(seed, 1, MOST);
    for (int i = 1; i <= mt; i++) row_cut[i] = i == mt ? m : draw(seed, (int)row_cut[i - 1], (int)m);
    for (int j = 1; j <= nt; j++) col_cut[j] = j == nt ? n : draw(seed, (int)col_cut[j - 1], (int)n);
    for (int t = 0; t < mt * nt; t++) owner[t] = draw(seed, 0, tulle_comm_size(comm) - 1);
    tulle_layout_spec spec = {
        .m = m, .n = n, .tile_rows = mt, .tile_cols = nt, .row_cut = row_cut, .col_cut = col_cut, .owner = owner};
    return tulle_layout_new(&spec, tulle_comm_size(comm), layout);
}

/* A part of one distribution becomes a matrix in any layout, and that a part of another distribution. */
static tulle_status copies(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    uint64_t seed = *(uint64_t *)arg;
    int me = tulle_comm_rank(comm);
    struct dist x = {.own = NULL}, y = {.own = NULL};
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    double *all = NULL;
    tulle_type type = draw(&seed, 0, 1) ? TULLE_F32 : TULLE_F64;
    int m = draw(&seed, 0, 23), n = draw(&seed, 0, 23);
    int64_t row = draw(&seed, 0, 5), col = draw(&seed, 0, 5), to_row = draw(&seed, 0, 5), to_col = draw(&seed, 0, 5);
    TULLE_TRY(make(comm, &x, m + row + draw(&seed, 0, 3), n + col + draw(&seed, 0, 3), 0, type, &seed));
    TULLE_TRY(make(comm, &y, m + to_row + draw(&seed, 0, 3), n + to_col + draw(&seed, 0, 3), 5, type, &seed));
    scatter(&x, me);
    scatter(&y, me);
    TULLE_TRY(random_layout(comm, m, n, &seed, &layout));
    tulle_cyclic_part from = part_of(&x, row, col, m, n), to = part_of(&y, to_row, to_col, m, n);
    TULLE_TRY(tulle_mat_from_cyclic(comm, &from, type, x.own, layout, &A));
    EXPECT(holds(&x, me));
    EXPECT((all = malloc((size_t)(m * n + 1) * sizeof *all)) != NULL);
    TULLE_TRY(collect(A, all));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            EXPECT(all[i * n + j] == x.whole[(i + row) * x.x.n + j + col]);
            y.whole[(i + to_row) * y.x.n + j + to_col] = all[i * n + j];
        }
    TULLE_TRY(tulle_mat_to_cyclic(A, &to, y.own));
    EXPECT(holds(&y, me));
    for (int64_t e = 0; e < y.ld * (y.cols + 1); e++) put(y.own, type, e, 99);
    scatter(&y, me); /* and other values in the part, for a copy without a matrix */
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            int64_t at = place_of(&y, me, i + to_row, j + to_col);
            if (at >= 0) put(y.own, type, at, -1);
        }
    TULLE_TRY(tulle_cyclic_redistribute(comm, type, &from, x.own, &to, y.own));
    EXPECT(holds(&x, me) && holds(&y, me));
out:
    status = tulle_comm_agree(comm, status);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    drop(&x);
    drop(&y);
    free(all);
    return status;
}

struct shape {
    uint64_t seed;
    int m, n, k; /* -1: drawn */
    int nan;     /* C holds NaN where it will be written, and beta is 0; A holds one, which must arrive */
};

/* Products of small integers: exact in either type. */
static tulle_status products(tulle_comm *comm, void *arg)
{
    const struct shape *shape = arg;
    tulle_status status = TULLE_OK;
    uint64_t seed = shape->seed;
    int me = tulle_comm_rank(comm);
    struct dist a = {.own = NULL}, b = {.own = NULL}, c = {.own = NULL};
    tulle_type type = draw(&seed, 0, 1) ? TULLE_F32 : TULLE_F64;
    int m = draw(&seed, 1, 19), n = draw(&seed, 1, 19), k = draw(&seed, 1, 19);
    if (shape->m >= 0) m = shape->m;
    if (shape->n >= 0) n = shape->n;
    if (shape->k >= 0) k = shape->k;
    tulle_op op_a = (tulle_op)draw(&seed, 0, 1), op_b = (tulle_op)draw(&seed, 0, 1);
    int64_t ar = draw(&seed, 0, 4), ac = draw(&seed, 0, 4), br = draw(&seed, 0, 4), bc = draw(&seed, 0, 4),
            cr = draw(&seed, 0, 4), cc = draw(&seed, 0, 4);
    int64_t am = op_a == TULLE_OP_N ? m : k, an = op_a == TULLE_OP_N ? k : m, bm = op_b == TULLE_OP_N ? k : n,
            bn = op_b == TULLE_OP_N ? n : k;
    double alpha = draw(&seed, -2, 2), beta = shape->nan ? 0 : draw(&seed, -1, 2);
    if (shape->nan) alpha = 1;
    TULLE_TRY(make(comm, &a, am + ar + draw(&seed, 0, 2), an + ac + draw(&seed, 0, 2), 1, type, &seed));
    TULLE_TRY(make(comm, &b, bm + br + draw(&seed, 0, 2), bn + bc + draw(&seed, 0, 2), 2, type, &seed));
    TULLE_TRY(make(comm, &c, m + cr + draw(&seed, 0, 2), n + cc + draw(&seed, 0, 2), 3, type, &seed));
    if (draw(&seed, 0, 2) == 0) { /* as most users have it: one grid, and blocks that fit */
        b.x.grid_rows = c.x.grid_rows = a.x.grid_rows;
        b.x.grid_cols = c.x.grid_cols = a.x.grid_cols;
        b.x.rank = c.x.rank = a.x.rank;
        a.x.row_source = b.x.row_source = c.x.row_source = a.x.grid_rows - 1;
        a.x.col_source = b.x.col_source = c.x.col_source = 0;
        a.x.row_block = a.x.col_block = b.x.row_block = b.x.col_block = c.x.row_block = c.x.col_block = 2;
        struct dist *all[] = {&a, &b, &c};
        for (int i = 0; i < 3; i++) {
            free(all[i]->own);
            all[i]->ld = tulle_cyclic_local_rows(&all[i]->x, me) + 1;
            all[i]->cols = tulle_cyclic_local_cols(&all[i]->x, me);
            all[i]->own = malloc((size_t)(all[i]->ld * (all[i]->cols + 1)) * tulle_type_size(type));
            EXPECT(all[i]->own != NULL);
            for (int64_t e = 0; e < all[i]->ld * (all[i]->cols + 1); e++) put(all[i]->own, type, e, 99);
        }
    }
    if (shape->nan) {
        if (m && k) a.whole[(op_a == TULLE_OP_N ? ar * a.x.n + ac + k / 2 : (ar + k / 2) * a.x.n + ac)] = NAN;
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) c.whole[(i + cr) * c.x.n + j + cc] = NAN;
    }
    scatter(&a, me);
    scatter(&b, me);
    scatter(&c, me);
    tulle_cyclic_part pa = part_of(&a, ar, ac, am, an), pb = part_of(&b, br, bc, bm, bn),
                      pc = part_of(&c, cr, cc, m, n);
    tulle_product_report report;
    TULLE_TRY(tulle_gemm_cyclic(comm, type, op_a, &pa, a.own, op_b, &pb, b.own, alpha, beta, &pc, c.own, &report));
    EXPECT(report.flops == (alpha != 0 ? 2 * (int64_t)m * n * k : 0));
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, *to = &c.whole[(i + cr) * c.x.n + j + cc];
            for (int64_t l = 0; l < k && alpha != 0; l++)
                sum += a.whole[op_a == TULLE_OP_N ? (ar + i) * a.x.n + ac + l : (ar + l) * a.x.n + ac + i] *
                       b.whole[op_b == TULLE_OP_N ? (br + l) * b.x.n + bc + j : (br + j) * b.x.n + bc + l];
            *to = alpha * sum + (beta == 0 ? 0 : beta * *to);
        }
    EXPECT(holds(&a, me) && holds(&b, me));
    EXPECT(holds(&c, me));
out:
    status = tulle_comm_agree(comm, status);
    drop(&a);
    drop(&b);
    drop(&c);
    return status;
}

/* Columns longer than a window, and many of them: rounds. */
static tulle_status rounds(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TALL = 150000, WIDE = 1500 };
    tulle_status status = TULLE_OK;
    int npes = tulle_comm_size(comm), me = tulle_comm_rank(comm), wrong = 0;
    for (int turned = 0; turned < 2; turned++) {
        int64_t m = turned ? 301 : TALL, n = turned ? WIDE : 7;
        tulle_cyclic x = {.m = m, .n = n, .row_block = 7, .col_block = 2, .grid_rows = npes, .grid_cols = 1},
                     y = {.m = m, .n = n, .row_block = 64, .col_block = 3, .grid_rows = 1, .grid_cols = npes};
        int64_t rows = tulle_cyclic_local_rows(&x, me), ld = tulle_cyclic_local_rows(&y, me),
                cols = tulle_cyclic_local_cols(&y, me);
        tulle_cyclic_part from = {.cyclic = &x, .m = m, .n = n, .ld = rows ? rows : 1},
                          to = {.cyclic = &y, .m = m, .n = n, .ld = ld ? ld : 1};
        double *source = malloc((size_t)(rows * n + 1) * sizeof *source),
               *target = calloc((size_t)(ld * cols + 1), sizeof *target);
        if (!source || !target) status = tulle__fail(TULLE_ERR_MEMORY, "test");
        for (int64_t j = 0; j < n && status == TULLE_OK; j++)
            for (int64_t i = 0; i < m; i++)
                if (i / 7 % npes == me) source[j * rows + i / 7 / npes * 7 + i % 7] = (double)(j * m + i);
        status = tulle_comm_agree(comm, status);
        if (status == TULLE_OK) status = tulle_cyclic_redistribute(comm, TULLE_F64, &from, source, &to, target);
        for (int64_t j = 0; j < n && status == TULLE_OK; j++)
            for (int64_t i = 0; i < m && j / 3 % npes == me; i++)
                wrong += target[(j / 3 / npes * 3 + j % 3) * m + i] != (double)(j * m + i);
        free(source);
        free(target);
        TULLE_TRY(status);
    }
    EXPECT(!wrong);
out:
    return tulle_comm_agree(comm, status);
}

/* Parts of one array: A and B beside C are fine, an element in common is refused. arg: a message, or NULL. */
static tulle_status one_array(tulle_comm *comm, void *arg)
{
    enum { N = 12 };
    tulle_status status = TULLE_OK;
    uint64_t seed = 5;
    int me = tulle_comm_rank(comm);
    struct dist x = {.own = NULL};
    double *old = NULL;
    TULLE_TRY(make(comm, &x, N, N, 1, TULLE_F64, &seed));
    scatter(&x, me);
    EXPECT((old = malloc(N * N * sizeof *old)) != NULL);
    memcpy(old, x.whole, N * N * sizeof *old);
    int apart = *(int *)arg; /* rows and columns between C and its factors; -1: one in common */
    tulle_cyclic_part a = part_of(&x, 4 + apart, 0, 6, 4), b = part_of(&x, 0, 4, 4, 6),
                      c = part_of(&x, 4 + apart, 4, 6, 6);
    if (apart < 0) c.row += 1, c.col -= 1;
    if (apart < 0) {
        status =
            tulle_gemm_cyclic(comm, TULLE_F64, TULLE_OP_N, &a, x.own, TULLE_OP_N, &b, x.own, -1, 1, &c, x.own, NULL);
        EXPECT(status == TULLE_ERR_ARG && strstr(tulle_error_message(), "in common"));
        status = TULLE_OK;
        EXPECT(holds(&x, me));
        goto out;
    }
    TULLE_TRY(tulle_gemm_cyclic(comm, TULLE_F64, TULLE_OP_N, &a, x.own, TULLE_OP_N, &b, x.own, -1, 1, &c, x.own, NULL));
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            for (int l = 0; l < 4; l++)
                x.whole[(c.row + i) * N + c.col + j] -= old[(a.row + i) * N + l] * old[l * N + b.col + j];
    EXPECT(holds(&x, me));
out:
    status = tulle_comm_agree(comm, status);
    drop(&x);
    free(old);
    return status;
}

/* Wrong arguments are refused on all PEs, with the cause, and nothing is written. */
static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { N = 8 };
    tulle_status status = TULLE_OK, got;
    uint64_t seed = 3;
    int me = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    struct dist d = {.own = NULL};
    TULLE_TRY(make(comm, &d, N, N, 1, TULLE_F64, &seed));
    scatter(&d, me);
    const tulle_cyclic good = {.m = N, .n = N, .row_block = 2, .col_block = 3, .grid_rows = npes, .grid_cols = 1};
    int twice[RANKS] = {0};
    for (int wrong = 0; wrong < 11; wrong++) {
        static const char *const says[] = {"shapes do not fit", "blocks of 0 x 3", "does not fit", "first block",
            "is there twice", "outside of", "leading dimension (LLD_)", "is NULL", "cannot be -1", "different",
            "no PE of"};
        tulle_cyclic x = good;
        double own[N * N] = {0}, result[N * N];
        for (int e = 0; e < N * N; e++) result[e] = e;
        tulle_cyclic_part a = {.cyclic = &x, .m = N, .n = N, .ld = N}, b = a,
                          c = {.cyclic = &good, .m = N, .n = N, .ld = N};
        const void *A = own;
        if (wrong == 0) a.n = 5;
        if (wrong == 1) x.row_block = 0;
        if (wrong == 2) x.grid_cols = npes + 1;
        if (wrong == 3) x.row_source = npes;
        if (wrong == 4) x.rank = twice;
        if (wrong == 5) a.row = 1;
        if (wrong == 6) a.ld = me ? N : 0;
        if (wrong == 7) A = me ? own : NULL;
        if (wrong == 8) x.m = -1;
        if (wrong == 9) x.col_block += me;
        if (wrong == 10) twice[0] = npes, x.rank = twice;
        if (npes == 1 && (wrong == 4 || wrong == 9)) continue;
        got = tulle_gemm_cyclic(comm, TULLE_F64, TULLE_OP_N, &a, A, TULLE_OP_N, &b, own, 1, 0, &c, result, NULL);
        TULLE_TRY(same_everywhere(comm, got));
        if (got != TULLE_ERR_ARG || !strstr(tulle_error_message(), says[wrong])) {
            status = tulle__fail(TULLE_ERR_CHECK, "wrong %d: %d, %s", wrong, (int)got, tulle_error_message());
            goto out;
        }
        for (int e = 0; e < N * N; e++) EXPECT(result[e] == e);
    }
out:
    status = tulle_comm_agree(comm, status);
    drop(&d);
    return status;
}

static void descriptors(void)
{
    tulle_cyclic x, zero = {0};
    int64_t ld = 0;
    int d[TULLE_DESCRIPTOR_LENGTH] = {1, 7, 100, 90, 8, 9, 1, 2, 50}, back[TULLE_DESCRIPTOR_LENGTH];
    static const char *const name[] = {
        "1 (DTYPE_)", "", "3 (M_)", "4 (N_)", "5 (MB_)", "6 (NB_)", "7 (RSRC_)", "8 (CSRC_)", "9 (LLD_)"};
    ok(tulle_cyclic_from_descriptor(d, 2, 3, &x, &ld) == TULLE_OK && x.m == 100 && x.n == 90 && x.row_block == 8 &&
            x.col_block == 9 && x.row_source == 1 && x.col_source == 2 && x.grid_rows == 2 && x.grid_cols == 3 &&
            !x.rank && ld == 50,
        "a descriptor in");
    ok(tulle_cyclic_to_descriptor(&x, 7, ld, back) == TULLE_OK && memcmp(d, back, sizeof d) == 0, "and out");
    for (int e = 0; e < TULLE_DESCRIPTOR_LENGTH; e++) {
        int good = d[e];
        if (e == 1) continue;
        d[e] = e == 6 ? 2 : e == 7 ? 3 : e >= 4 ? 0 : e ? -1 : 2;
        x = zero;
        tulle_status status = tulle_cyclic_from_descriptor(d, 2, 3, &x, &ld);
        ok(status == TULLE_ERR_ARG && strstr(tulle_error_message(), name[e]) && x.grid_rows == 0, "a wrong entry: %s",
            tulle_error_message());
        d[e] = good;
    }
    x = (tulle_cyclic){.m = (tulle_gidx)1 << 40};
    ok(tulle_cyclic_to_descriptor(&x, 0, 1, back) == TULLE_ERR_OVERFLOW && strstr(tulle_error_message(), "M_"),
        "a figure beyond int: %s", tulle_error_message());
}

enum { COPIES = 60, PRODUCTS = 120 };

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int pes = argc > 2 ? atoi(argv[2]) : 4, failed = 0;
    tulle_team *team;
    if (!ok(tulle_team_new(spec, pes, NULL, &team) == TULLE_OK, "a team of %d over %s", pes, spec)) {
        printf("# %s\n", tulle_error_message());
        return tap_done();
    }
    descriptors();
    for (uint64_t s = 1; s <= COPIES && !failed; s++) {
        uint64_t seed = s * 0x9e3779b97f4a7c15u;
        if (tulle_team_run(team, copies, &seed) != TULLE_OK)
            failed = printf("# copies, seed %d: %s\n", (int)s, tulle_error_message());
    }
    ok(!failed, "%d copies from one distribution to a layout, and from that to another distribution", COPIES);
    failed = 0;
    for (int s = 1; s <= PRODUCTS && !failed; s++) {
        struct shape shape = {.seed = (uint64_t)s * 0x9e3779b97f4a7c15u, .m = -1, .n = -1, .k = -1, .nan = s % 6 == 0};
        if (s % 10 == 1) shape.m = 0;
        if (s % 10 == 2) shape.n = 0;
        if (s % 10 == 3) shape.k = 0;
        if (tulle_team_run(team, products, &shape) != TULLE_OK)
            failed = printf("# products, seed %d: %s\n", s, tulle_error_message());
    }
    ok(!failed, "%d products of parts", PRODUCTS);
    ok(tulle_team_run(team, rounds, NULL) == TULLE_OK, "a redistribution in rounds: %s", tulle_error_message());
    for (int apart = -1; apart < 3; apart++)
        ok(tulle_team_run(team, one_array, &apart) == TULLE_OK, "operands in one array, %s: %s",
            apart < 0 ? "one element in common" : "none in common", tulle_error_message());
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "wrong arguments: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
