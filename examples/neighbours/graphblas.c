/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices of SuiteSparse:GraphBLAS multiplied by Tulle without a copy of values: GxB_Matrix_unpack_CSR
 * gives the arrays away, tulle_multiply borrows them, and pack takes them back; the product's arrays
 * become a GrB_Matrix likewise, which GraphBLAS frees. L is the lower triangle of a random graph, and
 * L L, its paths of length two, is compared with GraphBLAS's own.
 *
 *     graphblas [VERTICES]
 */
#include <GraphBLAS.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        GrB_Info info_ = (call);                                                                                       \
        if (info_ != GrB_SUCCESS) return fprintf(stderr, "%s: GraphBLAS says %d\n", #call, (int)info_), 1;             \
    } while (0)

/* A matrix out of GraphBLAS: its arrays, which nobody copied. */
struct unpacked {
    GrB_Index rows, cols, *ptr, *col, ptr_size, col_size, val_size;
    double *val;
    bool iso;
};

static int unpack(GrB_Matrix A, struct unpacked *u)
{
    TRY(GrB_Matrix_nrows(&u->rows, A));
    TRY(GrB_Matrix_ncols(&u->cols, A));
    TRY(GxB_Matrix_unpack_CSR(A, &u->ptr, &u->col, (void **)&u->val, &u->ptr_size, &u->col_size, &u->val_size, &u->iso,
        NULL, NULL)); /* NULL: rows in order */
    return 0;
}

static int pack(GrB_Matrix A, struct unpacked *u)
{
    TRY(GxB_Matrix_pack_CSR(
        A, &u->ptr, &u->col, (void **)&u->val, u->ptr_size, u->col_size, u->val_size, u->iso, false, NULL));
    return 0;
}

/* Values of results, which GraphBLAS frees as its own: each with the array of Tulle's that it belongs to. */
enum { RESULTS = 16 };
static tulle_array results[RESULTS];

static void release(void *memory)
{
    for (int r = 0; memory && r < RESULTS; r++)
        if (results[r].val == memory) {
            tulle_array_free(&results[r]);
            results[r].val = NULL;
            return;
        }
    free(memory);
}

static GrB_Index index_of(const void *list, int bytes, GrB_Index at)
{
    return bytes == 8 ? (GrB_Index)((const int64_t *)list)[at] : (GrB_Index)((const int32_t *)list)[at];
}

/* A result into GraphBLAS: its indices have 64 bits there, its values stay where they are. */
static int take(const tulle_array *C, GrB_Matrix *A)
{
    GrB_Index n = (GrB_Index)C->nnz, rows = (GrB_Index)C->m;
    struct unpacked u = {.rows = rows, .cols = (GrB_Index)C->n, .val = C->val};
    u.ptr_size = (rows + 1) * sizeof *u.ptr;
    u.col_size = n * sizeof *u.col;
    u.val_size = n * sizeof *u.val;
    u.ptr = malloc(u.ptr_size);
    u.col = malloc(u.col_size + 1);
    int free_place = 0;
    while (free_place < RESULTS && results[free_place].val) free_place++;
    if (!u.ptr || !u.col || free_place == RESULTS) return fprintf(stderr, "no memory\n"), 1;
    for (GrB_Index i = 0; i <= rows; i++) u.ptr[i] = index_of(C->ptr, C->ptr_bytes, i);
    for (GrB_Index e = 0; e < n; e++) u.col[e] = index_of(C->ind, C->ind_bytes, e);
    results[free_place] = *C;
    TRY(GrB_Matrix_new(A, GrB_FP64, rows, u.cols));
    return pack(*A, &u);
}

/* C = A A by Tulle, of matrices of GraphBLAS. */
static int square(tulle_comm *comm, GrB_Matrix A, GrB_Matrix *C)
{
    struct unpacked u;
    tulle_array product = {.storage = TULLE_STORAGE_CSR};
    if (unpack(A, &u) != 0) return 1;
    tulle_array a = TULLE_ARRAY_CSR((tulle_gidx)u.rows, (tulle_gidx)u.cols, (int64_t *)u.ptr, (int64_t *)u.col, u.val);
    tulle_status status = tulle_multiply(comm, TULLE_OP_N, TULLE_OP_N, 1, &a, &a, 0, &product, NULL, NULL);
    if (pack(A, &u) != 0) return 1; /* A is GraphBLAS's again */
    if (status) return fprintf(stderr, "%s\n", tulle_error_message()), 1;
    return take(&product, C);
}

/* The strictly lower triangle of a random symmetric pattern, of ones. */
static int random_graph(GrB_Index n, GrB_Matrix *L)
{
    uint64_t state = 88172645463325252u;
    TRY(GrB_Matrix_new(L, GrB_FP64, n, n));
    for (GrB_Index e = 0; e < 16 * n; e++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        GrB_Index i = state % n, j = (state >> 24) % n;
        if (i != j) TRY(GrB_Matrix_setElement_FP64(*L, 1, i > j ? i : j, i > j ? j : i));
    }
    TRY(GrB_Matrix_wait(*L, GrB_MATERIALIZE));
    bool iso; /* values of their own, which unpacking then gives away */
    TRY(GxB_Matrix_iso(&iso, *L));
    if (iso) TRY(GrB_Matrix_setElement_FP64(*L, 2, 1, 0));
    TRY(GrB_Matrix_wait(*L, GrB_MATERIALIZE));
    return 0;
}

/* True if X and Y are equal, and the sum of X. */
static int compare(GrB_Matrix X, GrB_Matrix Y, double *sum, bool *same)
{
    GrB_Index n, in_x, in_y, in_both;
    GrB_Matrix D;
    TRY(GrB_Matrix_nrows(&n, X));
    TRY(GrB_Matrix_nvals(&in_x, X));
    TRY(GrB_Matrix_nvals(&in_y, Y));
    TRY(GrB_Matrix_new(&D, GrB_BOOL, n, n));
    TRY(GrB_Matrix_eWiseMult_BinaryOp(D, NULL, NULL, GrB_EQ_FP64, X, Y, NULL));
    TRY(GrB_Matrix_nvals(&in_both, D));
    *same = true;
    TRY(GrB_Matrix_reduce_BOOL(same, NULL, GrB_LAND_MONOID_BOOL, D, NULL));
    *same = *same && in_x == in_y && in_x == in_both;
    TRY(GrB_Matrix_reduce_FP64(sum, NULL, GrB_PLUS_MONOID_FP64, X, NULL));
    TRY(GrB_Matrix_free(&D));
    return 0;
}

static int run(tulle_comm *comm, GrB_Index n)
{
    GrB_Matrix L, ours = NULL, theirs;
    double sum;
    bool same;
    if (random_graph(n, &L) != 0 || square(comm, L, &ours) != 0) return 1;
    TRY(GrB_Matrix_new(&theirs, GrB_FP64, n, n));
    TRY(GrB_mxm(theirs, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, L, L, NULL));
    if (compare(ours, theirs, &sum, &same) != 0) return 1;
    printf("L L of %" PRIu64 " vertices sums to %.0f: Tulle's and GraphBLAS's products %s\n", n, sum,
        same ? "are equal" : "DIFFER");
    TRY(GrB_Matrix_free(&L));
    TRY(GrB_Matrix_free(&ours));
    TRY(GrB_Matrix_free(&theirs));
    return !same;
}

int main(int argc, char **argv)
{
    tulle_comm *comm;
    GrB_Index n = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    if (n < 2) return fprintf(stderr, "usage: %s [VERTICES]\n", argv[0]), 2;
    if (tulle_open(NULL, &comm) != TULLE_OK) return fprintf(stderr, "%s\n", tulle_error_message()), 1;
    TRY(GxB_init(GrB_NONBLOCKING, malloc, calloc, realloc, release));
    int wrong = run(comm, n);
    TRY(GrB_finalize());
    tulle_close(comm);
    return wrong;
}
