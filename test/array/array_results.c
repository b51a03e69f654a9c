/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for results in arrays, over every call that has one (mat/array/array_result.h): results SPEC
 * PES. A description is passed for one result after the other, growing and shrinking; results that lie
 * on operands are refused, and change nothing; half matrices and other bases are read.
 */
#include <string.h>

#include <tulle/tulle.h>

#include "body.h"
#include "picture.h"
#include "spec_pes.h"
#include "tap.h"

static const struct form csr = {.storage = TULLE_STORAGE_CSR, .ptr_bytes = 4, .ind_bytes = 4};
static const struct form dense = {.storage = TULLE_STORAGE_DENSE};

/* ---- one description for results of all sizes ---- */

enum call { MULTIPLY_SPARSE, MULTIPLY_DENSE, MULTIPLY_TRANSPOSED, SOLVE, SOLVE_TRIANGULAR, TO_ARRAY, CALLS };

static const int sizes[] = {3, 17, 17, 1, 24, 0, 9};

/* The lower triangle with a diagonal of 1, or all of a symmetric matrix that is its own inverse: X = B, permuted. */
static void draw_square(struct picture *p, int n, enum call call)
{
    draw(p, n, n, (uint64_t)n, 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (call == SOLVE) p->at[i * n + j] = i == j ? 2 : 0;
            if (call == SOLVE_TRIANGULAR) p->at[i * n + j] = j > i ? 0 : i == j ? 1 : i == j + 1 ? -1 : 0;
        }
}

static tulle_status one_result(tulle_comm *comm, enum call call, int n, tulle_array *C)
{
    tulle_status status = TULLE_OK;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    static _Thread_local struct workspace workspace[2];
    struct picture A, X, E;
    tulle_mat *M = NULL;
    draw_square(&A, n, call);
    draw(&X, n, call == MULTIPLY_SPARSE ? n : 2, (uint64_t)n + 1, call != MULTIPLY_SPARSE);
    E = X;
    multiply(&A, TULLE_OP_N, &X, TULLE_OP_N, 1, 0, &E);
    const struct form *form_x = call == MULTIPLY_SPARSE ? &csr : &dense;
    const tulle_array a = part_of(&A, &csr, rank, npes, &workspace[0]);
    tulle_array x = part_of(call == SOLVE || call == SOLVE_TRIANGULAR ? &E : &X, form_x, rank, npes, &workspace[1]);
    switch (call) {
    case MULTIPLY_SPARSE:
    case MULTIPLY_DENSE:
        TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &x, 0, C, NULL, NULL));
        break;
    case MULTIPLY_TRANSPOSED: /* a dense A with a sparse B, on one PE */
        if (npes > 1) goto out;
        TULLE_TRY(tulle_multiply(comm, TULLE_OP_T, TULLE_OP_T, 1, &x, &a, 0, C, NULL, NULL));
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 2; j++) E.at[j * n + i] = 0;
        E.m = 2, E.n = n;
        multiply(&X, TULLE_OP_T, &A, TULLE_OP_T, 1, 0, &E);
        break;
    case SOLVE:
        TULLE_TRY(tulle_solve(comm, &a, &x, C, NULL, NULL));
        E = X;
        break;
    case SOLVE_TRIANGULAR:
        TULLE_TRY(tulle_solve_triangular(comm, &a, &x, C, NULL));
        E = X;
        break;
    default:
        TULLE_TRY(tulle_mat_from_array(comm, &a, &M));
        TULLE_TRY(tulle_mat_to_array(M, TULLE_AUTO, C));
        E = A;
    }
    EXPECT(C->owned && agrees(C, &E));
out:
    tulle_mat_free(M);
    return status;
}

static tulle_status again(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle_array C = {.size = 0};
    for (int call = 0; call < CALLS; call++)
        for (int storage = 0; storage < 4; storage++) {
            const int is_dense = storage == TULLE_STORAGE_DENSE;
            if (call != TO_ARRAY && is_dense == (call == MULTIPLY_SPARSE)) continue;
            C = (tulle_array){.storage = (tulle_storage)storage};
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                TULLE_TRY(one_result(comm, (enum call)call, sizes[s], &C));
            tulle_array_free(&C);
            EXPECT(!C.val && !C.owned && C.storage == (tulle_storage)storage &&
                   C.m == (call == MULTIPLY_TRANSPOSED && tulle_comm_size(comm) == 1 ? 2
                              : call == MULTIPLY_TRANSPOSED                          ? 0
                                                                                     : 9));
            TULLE_TRY(one_result(comm, (enum call)call, 5, &C)); /* a freed description serves once more */
            tulle_array_free(&C);
        }
    /* an owned result is updated in place, and may be the operand of what replaces it */
    static _Thread_local struct workspace workspace[2];
    struct picture A, E;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    draw(&A, 7, 7, 3, 0);
    E = A;
    tulle_array a = part_of(&A, &csr, rank, npes, &workspace[0]);
    C = (tulle_array){.storage = TULLE_STORAGE_CSR};
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &C, NULL, NULL));
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &C, &C, 0, &C, NULL, NULL));
    multiply(&A, TULLE_OP_N, &A, TULLE_OP_N, 1, 0, &E);
    struct picture square = E;
    multiply(&square, TULLE_OP_N, &square, TULLE_OP_N, 1, 0, &E);
    EXPECT(agrees(&C, &E));
    tulle_array_free(&C);
    struct picture X, Y;
    draw(&X, 7, 2, 4, 1);
    Y = X;
    tulle_array x = part_of(&X, &dense, rank, npes, &workspace[1]);
    C = (tulle_array){.storage = TULLE_STORAGE_DENSE};
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &x, 0, &C, NULL, NULL));
    const void *before = C.val;
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &x, 2, &C, NULL, NULL));
    multiply(&A, TULLE_OP_N, &X, TULLE_OP_N, 3, 0, &Y);
    EXPECT(C.owned && C.val == before && agrees(&C, &Y));
out:
    tulle_array_free(&C);
    return status;
}

/* ---- results on operands ---- */

/* Everything that an overlap could be of: two arrays in one, and a matrix. */
struct memory {
    struct workspace a;
    double w[6 * WORKSPACE], before[6 * WORKSPACE];
};

enum place { SAME, SHIFTED, INSIDE, COLUMNS, APART, OVER_VAL, OVER_IND, OVER_PTR };
static const struct overlap {
    enum place place;
    enum call call;
    int beta, right; /* right: it is no overlap, or a documented one */
    const char *what;
} overlaps[] = {
    {SAME, MULTIPLY_DENSE, 0, 0, "y = A y"},
    {SAME, MULTIPLY_DENSE, 1, 0, "y = A y + y"},
    {SHIFTED, MULTIPLY_DENSE, 0, 0, "C one element behind B"},
    {INSIDE, MULTIPLY_DENSE, 0, 0, "C between the rows of B, touching them"},
    {COLUMNS, MULTIPLY_DENSE, 0, 1, "C and B are columns of one array"},
    {COLUMNS, MULTIPLY_DENSE, 1, 1, "C and B are columns of one array, beta"},
    {APART, MULTIPLY_DENSE, 0, 1, "C behind B"},
    {OVER_VAL, MULTIPLY_DENSE, 0, 0, "C over A's values"},
    {OVER_IND, MULTIPLY_DENSE, 0, 0, "C over A's indices"},
    {OVER_PTR, MULTIPLY_DENSE, 0, 0, "C over A's pointers"},
    {SAME, SOLVE, 0, 0, "X = B in a solve"},
    {SHIFTED, SOLVE, 0, 0, "X one element behind B in a solve"},
    {COLUMNS, SOLVE, 0, 1, "X and B are columns of one array"},
    {SAME, SOLVE_TRIANGULAR, 0, 1, "X = B in a triangular solve"},
    {SHIFTED, SOLVE_TRIANGULAR, 0, 0, "X one element behind B in a triangular solve"},
    {COLUMNS, SOLVE_TRIANGULAR, 0, 1, "X and B are columns of one array in a triangular solve"},
    {OVER_VAL, SOLVE_TRIANGULAR, 0, 0, "X over the triangle's values"},
    {SAME, TO_ARRAY, 0, 0, "a matrix into the array that it borrows"},
    {SHIFTED, TO_ARRAY, 0, 0, "a matrix one element behind the array that it borrows"},
    {COLUMNS, TO_ARRAY, 0, 1, "a matrix into other columns of the array that it borrows"},
};

static tulle_status try_overlap(tulle_comm *comm, const struct overlap *o)
{
    tulle_status status = TULLE_OK;
    enum { N = 9, COLS = 2 };
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    static _Thread_local struct memory m;
    struct picture A, X, B, E;
    tulle_mat *M = NULL;
    draw_square(&A, N, o->call);
    if (o->call == MULTIPLY_DENSE) draw(&A, N, N, 5, 1); /* each PE has pointers, indices and values */
    draw(&X, N, COLS, 6, 1);
    B = E = X;
    multiply(&A, TULLE_OP_N, &X, TULLE_OP_N, 1, 0, &B);
    const int solves = o->call == SOLVE || o->call == SOLVE_TRIANGULAR;
    const struct picture *in = solves ? &B : &X, *want = solves ? &X : o->call == TO_ARRAY ? in : &B;
    tulle_array a = part_of(&A, &csr, rank, npes, &m.a);
    tulle_array b = tulle_array_dense(N, COLS, TULLE_ROW_MAJOR, 2 * COLS + (o->place == INSIDE), m.w, sizeof *m.w);
    b.first = N * rank / npes;
    b.count = N * (rank + 1) / npes - b.first;
    for (int i = 0; i < 6 * WORKSPACE; i++) m.w[i] = 7;
    for (tulle_gidx i = 0; i < b.count; i++)
        for (int j = 0; j < COLS; j++) m.w[i * b.ld + j] = in->at[(b.first + i) * COLS + j];
    tulle_array c = b;
    c.val = o->place == SAME       ? m.w
            : o->place == SHIFTED  ? m.w + 1
            : o->place == INSIDE   ? m.w + COLS
            : o->place == COLUMNS  ? m.w + COLS
            : o->place == APART    ? m.w + N * b.ld
            : o->place == OVER_VAL ? (void *)m.a.val
            : o->place == OVER_IND ? (void *)m.a.ind
                                   : (void *)m.a.ptr;
    if (o->place == INSIDE) c.ld = b.ld - 1; /* its second row meets B's */
    E = *want;
    if (o->beta)
        for (tulle_gidx i = 0; i < N * COLS; i++) E.at[i] += 7;
    memcpy(m.before, m.w, sizeof m.w);
    const struct workspace before = m.a;
    tulle_status was;
    if (o->call == SOLVE)
        was = tulle_solve(comm, &a, &b, &c, NULL, NULL);
    else if (o->call == SOLVE_TRIANGULAR)
        was = tulle_solve_triangular(comm, &a, &b, &c, NULL);
    else if (o->call == MULTIPLY_DENSE)
        was = tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &b, o->beta, &c, NULL, NULL);
    else {
        TULLE_TRY(tulle_mat_from_array(comm, &b, &M));
        was = tulle_mat_to_array(M, TULLE_AUTO, &c);
        if (npes > 1 && !o->right) { /* a matrix of several PEs borrows nothing */
            EXPECT(was == TULLE_OK && agrees(&c, &E));
            goto out;
        }
    }
    if (o->right) {
        if (was != TULLE_OK || !agrees(&c, &E) || (o->place != SAME && !agrees(&b, in)))
            status = tulle__fail(TULLE_ERR_CHECK, "%s: %s", o->what, was ? tulle_error_message() : "wrong");
    } else if (was != TULLE_ERR_ARG || !strstr(tulle_error_message(), "memory in common") ||
               memcmp(m.before, m.w, sizeof m.w) != 0 || memcmp(&before, &m.a, sizeof before) != 0) {
        status = tulle__fail(TULLE_ERR_CHECK, "%s: %s: %s", o->what, tulle_status_name(was), tulle_error_message());
    }
out:
    tulle_mat_free(M);
    return status;
}

/* Matrices of one PE that borrow the same arrays, in products, streams and triangular solves. */
static tulle_status borrowed_twice(tulle_comm *comm)
{
    tulle_status status = TULLE_OK;
    static _Thread_local struct workspace workspace;
    double w[40] = {0};
    struct picture A;
    tulle_mat *T = NULL, *B = NULL, *C = NULL;
    tulle_product *product = NULL;
    tulle_trisolve *solver = NULL;
    tulle_stream *stream = NULL;
    draw_square(&A, 9, SOLVE_TRIANGULAR);
    tulle_array a = part_of(&A, &csr, 0, 1, &workspace), b = tulle_array_dense(9, 1, TULLE_ROW_MAJOR, 1, w, 8), c = b;
    c.val = w + 4;
    TULLE_TRY(tulle_mat_from_array(comm, &a, &T));
    TULLE_TRY(tulle_mat_from_array(comm, &b, &B));
    TULLE_TRY(tulle_mat_from_array(comm, &c, &C));
    EXPECT(tulle_product_new(T, B, C, NULL, &product) == TULLE_ERR_ARG && strstr(tulle_error_message(), "in common"));
    TULLE_TRY(tulle_trisolve_new(T, NULL, &solver));
    EXPECT(tulle_trisolve_execute(solver, B, C, NULL) == TULLE_ERR_ARG && strstr(tulle_error_message(), "in common"));
    TULLE_TRY(tulle_stream_new(T, NULL, &stream));
    EXPECT(tulle_stream_multiply(stream, B, C, NULL) == TULLE_ERR_ARG && strstr(tulle_error_message(), "in common"));
out:
    tulle_stream_free(stream);
    tulle_trisolve_free(solver);
    tulle_product_free(product);
    tulle_mat_free(T);
    tulle_mat_free(B);
    tulle_mat_free(C);
    return status;
}

static tulle_status on_operands(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    for (size_t o = 0; o < sizeof overlaps / sizeof *overlaps; o++) TULLE_TRY(try_overlap(comm, &overlaps[o]));
    if (tulle_comm_size(comm) == 1) TULLE_TRY(borrowed_twice(comm));
    /* sparse arrays of the caller's, and another description of the library's */
    static _Thread_local struct workspace workspace[2];
    struct picture A;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    draw(&A, 9, 9, 5, 1);
    tulle_array a = part_of(&A, &csr, rank, npes, &workspace[0]), mine = part_of(&A, &csr, rank, npes, &workspace[1]),
                C = {.storage = TULLE_STORAGE_CSR};
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &mine, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(strstr(tulle_error_message(), "a sparse result is allocated"));
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &a, NULL, NULL) == TULLE_ERR_ARG);
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &C, NULL, NULL));
    tulle_array other = C; /* would be left with freed arrays */
    EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &other, &a, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
    EXPECT(strstr(tulle_error_message(), "memory in common"));
out:
    tulle_array_free(&C);
    return status;
}

/* ---- halves, and indices that count from 1 ---- */

/* The stored triangle of a symmetric or antisymmetric picture. */
static void draw_half(struct picture *all, struct picture *half, int n, tulle_symmetry symmetry, tulle_uplo uplo)
{
    draw(all, n, n, 8, 0);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            if (symmetry == TULLE_SKEW && i == j) all->at[i * n + j] = 0;
            all->at[j * n + i] = symmetry == TULLE_SKEW ? -all->at[i * n + j] : all->at[i * n + j];
        }
    *half = *all;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (uplo == TULLE_LOWER ? j > i : j < i) half->at[i * n + j] = 0;
}

static void count_from_one(tulle_array *a)
{
    for (int64_t l = 0; a->ptr && l <= a->count; l++)
        put_index(a->ptr, a->ptr_bytes, l, index_at(a->ptr, a->ptr_bytes, l) + 1);
    for (int64_t e = 0; e < a->nnz; e++) put_index(a->ind, a->ind_bytes, e, index_at(a->ind, a->ind_bytes, e) + 1);
    for (int64_t e = 0; a->col && e < a->nnz; e++)
        put_index(a->col, a->ind_bytes, e, index_at(a->col, a->ind_bytes, e) + 1);
    a->base = 1;
}

static tulle_status forms(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    static _Thread_local struct workspace workspace;
    tulle_mat *A = NULL;
    tulle_array out = {.storage = TULLE_STORAGE_DENSE};
    for (int f = 0; f < 12 * FORMS; f++) {
        const struct form form = form_of(f % FORMS);
        const tulle_symmetry symmetry = (tulle_symmetry)(f / FORMS % 3);
        const tulle_uplo uplo = (tulle_uplo)(f / FORMS / 3 % 2);
        struct picture all, half;
        if (form.storage == TULLE_STORAGE_DENSE) continue;
        if (symmetry == TULLE_GENERAL)
            draw(&all, 11, 6, (uint64_t)f, 0), half = all;
        else
            draw_half(&all, &half, 11, symmetry, uplo);
        tulle_array a = part_of(&half, &form, rank, npes, &workspace);
        a.symmetry = symmetry;
        a.uplo = uplo;
        if (f / FORMS >= 6) count_from_one(&a);
        if (f / FORMS >= 6 && a.ptr && f % 3 == 0) a.nnz++; /* as the macros have it before base is set */
        TULLE_TRY(tulle_mat_from_array(comm, &a, &A));
        TULLE_TRY(tulle_mat_to_array(A, TULLE_AUTO, &out));
        if (!agrees(&out, &all))
            status = tulle__fail(TULLE_ERR_CHECK, "form %d, symmetry %d, uplo %d", f, (int)symmetry, (int)uplo);
        status = tulle_comm_agree(comm, status);
        if (status != TULLE_OK) goto out;
        tulle_mat_free(A);
        A = NULL;
    }
out:
    tulle_mat_free(A);
    tulle_array_free(&out);
    return status;
}

/* Descriptions that contradict themselves on the last PE are refused everywhere. */
static tulle_status contradictions(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    static _Thread_local struct workspace workspace;
    static const char *const says[] = {"base = 1", "begin at 2", "nnz is", "nnz is", "descend", "descend", "uplo",
        "antisymmetric", "not square", "entries", "base", "entry"};
    struct picture p;
    tulle_mat *A = NULL;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm);
    draw(&p, 9, 9, 1, 1);
    for (int fault = 0; fault < 12; fault++) {
        struct form form = csr;
        if (fault == 5) form.ptr_bytes = 8;
        struct picture square = p;
        if (fault == 8) square.n = 4;
        tulle_array a = part_of(&square, &form, rank, npes, &workspace);
        if (fault >= 6 && fault <= 8) a.symmetry = fault == 7 ? TULLE_SKEW : TULLE_SYMMETRIC;
        if (rank == npes - 1) {
            if (fault == 0) count_from_one(&a), a.base = 0;
            if (fault == 1) put_index(a.ptr, 4, 0, 2);
            if (fault == 2) a.nnz--;
            if (fault == 3) a.nnz++;
            if (fault == 4) put_index(a.ptr, 4, 1, -2147483647); /* a sum that left 32 bits */
            if (fault == 5) put_index(a.ptr, 8, 1, (int64_t)1 << 62);
            if (fault == 9) a.nnz = INT64_MAX / 8;
            if (fault == 10) a.base = 2;
            if (fault == 11) a.base = 1, put_index(a.ptr, 4, 0, 1), a.nnz--; /* an index of 0 counts from 1 */
        }
        if (fault == 7 && rank == npes - 1) /* the lower triangle alone, with its diagonal */
            for (struct picture half = p; 1;) {
                for (int i = 0; i < 9; i++)
                    for (int j = i + 1; j < 9; j++) half.at[i * 9 + j] = 0;
                a = part_of(&half, &form, rank, npes, &workspace);
                a.symmetry = TULLE_SKEW;
                break;
            }
        tulle_status was = tulle_mat_from_array(comm, &a, &A);
        if ((was != TULLE_ERR_ARG && was != TULLE_ERR_OVERFLOW) || !strstr(tulle_error_message(), says[fault])) {
            status =
                tulle__fail(TULLE_ERR_CHECK, "fault %d: %s: %s", fault, tulle_status_name(was), tulle_error_message());
            goto out;
        }
    }
out:
    return status;
}

/* Lines that no PE passes are missed: in rows and columns, of whole matrices and of halves. */
static tulle_status lines_missed(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    static const tulle_symmetry symmetry[] = {TULLE_GENERAL, TULLE_SYMMETRIC, TULLE_SKEW};
    int ptr[10] = {0}, none[1] = {0};
    double nothing[1] = {0};
    tulle_mat *A = NULL;
    const int rank = tulle_comm_rank(comm), npes = tulle_comm_size(comm), lines = 9 * npes;
    for (int c = 0; c < 6; c++) {
        tulle_array a = TULLE_ARRAY_CSR(lines, lines, ptr, none, nothing);
        if (c >= 3) a.storage = TULLE_STORAGE_CSC;
        a.symmetry = symmetry[c % 3];
        a.first = 9 * rank;
        a.count = rank == npes - 1 ? 8 : 9;
        a.nnz = 0;
        EXPECT(tulle_mat_from_array(comm, &a, &A) == TULLE_ERR_ARG && strstr(tulle_error_message(), "in total"));
        a.count = 9;
        TULLE_TRY(tulle_mat_from_array(comm, &a, &A));
        tulle_mat_free(A);
    }
out:
    return status;
}

/* On one PE: parts of matrices, arrays one behind the other, and pointers that entries do not have. */
static tulle_status loose_descriptions(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    if (tulle_comm_size(comm) > 1) return TULLE_OK;
    int ptr[] = {1, 2, 3}, ind[] = {1, 2}, row[] = {0, 1, 1}, col[] = {0, 0, 1}, left[] = {0, 0, 0};
    double val[] = {1, 2, 0, 0}, x[] = {3, 4}, y[4] = {0}, w[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, z[10] = {0};
    tulle_array S = TULLE_ARRAY_CSR(2, 2, ptr, ind, val), X = TULLE_ARRAY_DENSE(2, 1, x);
    tulle_array behind = TULLE_ARRAY_DENSE(2, 1, val + 2), Y = TULLE_ARRAY_DENSE(2, 1, y);
    S.base = 1;
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &S, &X, 0, &behind, NULL, NULL));
    EXPECT(val[2] == 3 && val[3] == 8);
    tulle_array H = TULLE_ARRAY_COO(2, 2, 3, row, col, val);
    H.symmetry = TULLE_SYMMETRIC;
    H.ptr = left, H.ptr_bytes = 4, H.count = 2;
    TULLE_TRY(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &H, &X, 0, &Y, NULL, NULL));
    EXPECT(y[0] == 11 && y[1] == 18);
    tulle_array A = TULLE_ARRAY_DENSE(5, 2, w), C = TULLE_ARRAY_DENSE(5, 2, z);
    for (int part = 0; part < 2; part++) { /* of an operand, of the result */
        A.count = part ? 5 : 2;
        C.count = part ? 2 : 5;
        EXPECT(tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &A, &S, 0, &C, NULL, NULL) == TULLE_ERR_ARG);
        for (int i = 0; i < 10; i++) EXPECT(z[i] == 0);
    }
out:
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_body tests[] = {{"one description for all results", again},
        {"results on operands", on_operands}, {"halves and bases", forms}, {"contradictions", contradictions},
        {"lines missed", lines_missed}, {"loose descriptions", loose_descriptions}};
    return RUN_BODIES(argc, argv, tests, again);
}
