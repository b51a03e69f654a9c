/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of the caller's arrays, from the fuzzer's bytes; each array ends at a page that cannot be
 * read. A call is refused with a message, or its result is the naive one: what it does not write and
 * its operands are as before.
 */
#include <inttypes.h>

#include <tulle/tulle.h>

#include "fuzz.h"

enum { MOST = 6, ENTRIES = 40, WIDE = MOST * (MOST + 2), ARENA = 16384, ARRAYS = 4 };

struct bytes {
    const uint8_t *at, *end;
};

static uint8_t next(struct bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

/* Less than `below` mostly; else any number. */
static int64_t number(struct bytes *b, int below)
{
    const uint8_t first = next(b);
    if (first < 248) return first % below;
    if (first < 252) return (int8_t)next(b);
    uint64_t any = 0;
    for (int i = 0; i < 8; i++) any = any << 8 | next(b);
    return (int64_t)any;
}

/* `a` + `b`, which wraps. */
static int64_t sum(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* ---- memory ---- */

/* `size` bytes that end at a page without access. */
static void *workspace(int which, size_t size)
{
    static char *arena[2 * ARRAYS + 1];
    if (!arena[which]) {
        arena[which] = mmap(NULL, 2 * (size_t)ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(arena[which] != MAP_FAILED && mprotect(arena[which] + ARENA, ARENA, PROT_NONE) == 0);
    }
    return size <= ARENA ? arena[which] + ARENA - size : NULL;
}

/* count * size bytes, or NULL if the description is of more than the arena has. */
static void *described(int which, int64_t count, int64_t size)
{
    return count < 0 || count > ARENA / 8 || size > 8 ? NULL : workspace(which, (size_t)(count * size));
}

static int64_t index_at(const void *array, int bytes, int64_t at)
{
    return bytes == 8 ? ((const int64_t *)array)[at] : ((const int32_t *)array)[at];
}

static void set_index(void *array, int bytes, int64_t at, int64_t value)
{
    if (bytes == 8)
        ((int64_t *)array)[at] = value;
    else
        ((int32_t *)array)[at] = (int32_t)value;
}

static double value_at(const tulle_array *a, int64_t at)
{
    if (!a->val) return 1;
    return a->type == TULLE_F32 ? (double)((const float *)a->val)[at] : ((const double *)a->val)[at];
}

static void set_value(const tulle_array *a, int64_t at, double value)
{
    if (a->type == TULLE_F32)
        ((float *)a->val)[at] = (float)value;
    else
        ((double *)a->val)[at] = value;
}

static int64_t value_bytes(const tulle_array *a)
{
    return a->type == TULLE_F32 ? 4 : 8;
}

/* ---- descriptions ---- */

/* Elements from the first to the last of a dense array, with its gaps; -1: more than there is room for. */
static int64_t spread(const tulle_array *a)
{
    const int64_t lines = a->order == TULLE_COL_MAJOR ? a->n : a->count,
                  length = a->order == TULLE_COL_MAJOR ? a->count : a->n;
    if (lines <= 0 || length <= 0) return 0;
    if (lines > ARENA / 8 || length > ARENA / 8 || a->ld > ARENA / 8 || a->ld < length) return -1;
    return (lines - 1) * a->ld + length;
}

static void draw_index(struct bytes *b, const tulle_array *a, void *array, int64_t e, int64_t from, int64_t below)
{
    const int64_t drawn = number(b, MOST), range = below > from ? below - from : 1;
    set_index(array, a->ind_bytes, e, drawn >= 0 && drawn < MOST ? from + drawn % range + (a->base == 1) : drawn);
}

/* Indices of entry e of a line, or of an entry of COO, mostly within the half that is passed. */
static void draw_entry(struct bytes *b, const tulle_array *a, int64_t e, int64_t line)
{
    const int rows = a->storage == TULLE_STORAGE_CSR, above = a->uplo == TULLE_UPPER;
    const int64_t n = rows ? a->n : a->m;
    if (a->storage == TULLE_STORAGE_COO) {
        draw_index(b, a, a->ind, e, 0, a->m);
        line = sum(index_at(a->ind, a->ind_bytes, e), -(a->base == 1));
    }
    void *other = a->storage == TULLE_STORAGE_COO ? a->col : a->ind;
    const int64_t columns = a->storage == TULLE_STORAGE_COO ? a->n : n;
    if (a->symmetry == TULLE_GENERAL || line < 0 || line >= columns)
        draw_index(b, a, other, e, 0, columns);
    else if ((a->storage == TULLE_STORAGE_CSC) != above)
        draw_index(b, a, other, e, line, columns);
    else
        draw_index(b, a, other, e, 0, line + 1);
}

static void draw_sparse(struct bytes *b, tulle_array *a, int which)
{
    const int widths = (a->ind_bytes == 4 || a->ind_bytes == 8) && (a->ptr_bytes == 4 || a->ptr_bytes == 8);
    const int64_t lines = a->count, base = a->base == 1;
    if (!widths || lines > WIDE || lines < 0) return;
    int64_t ends[WIDE + 1] = {base};
    if (a->storage == TULLE_STORAGE_COO) {
        a->nnz = number(b, ENTRIES);
    } else {
        for (int64_t l = 0; l < lines; l++) ends[l + 1] = sum(ends[l], number(b, 4));
        a->nnz = (int64_t)((uint64_t)ends[lines] - (uint64_t)base);
        a->nnz = next(b) < 250 ? a->nnz : number(b, ENTRIES);
        a->ptr = workspace(which, (size_t)((lines + 1) * a->ptr_bytes));
        for (int64_t l = 0; l <= lines; l++) set_index(a->ptr, a->ptr_bytes, l, ends[l]);
    }
    if (a->nnz < 0 || a->nnz > ARENA / 8) return;
    a->ind = described(which + 1, a->nnz, a->ind_bytes);
    a->col = described(which + 2, a->nnz, a->ind_bytes);
    a->val = next(b) % 8 ? described(which + 3, a->nnz, value_bytes(a)) : NULL;
    for (int64_t e = 0, l = 0; e < a->nnz; e++) {
        while (a->storage != TULLE_STORAGE_COO && l + 1 < lines && ends[l + 1] - base <= e) l++;
        draw_entry(b, a, e, l);
        if (a->val) set_value(a, e, next(b) % 7 - 3);
    }
}

static void draw_dense(struct bytes *b, tulle_array *a, int which)
{
    const int64_t count = spread(a);
    a->val = count < 0 ? NULL : described(which + 3, count, value_bytes(a));
    for (int64_t i = 0; a->val && i < count; i++) set_value(a, i, next(b) % 7 - 3);
}

static void draw_form(struct bytes *b, tulle_array *a)
{
    static const int widths[] = {4, 8};
    const int64_t width = number(b, 4);
    a->size = next(b) % 4 ? sizeof *a : next(b) % 2 * 8;
    a->storage = (tulle_storage)number(b, 4);
    a->type = (tulle_type)number(b, 2);
    a->order = (tulle_order)number(b, 2);
    a->ptr_bytes = width >= 0 && width < 4 ? widths[width % 2] : (int)width;
    a->ind_bytes = width >= 0 && width < 4 ? widths[width / 2] : (int)width;
    a->base = next(b) % 3 ? 0 : (int)number(b, 2);
    a->symmetry = next(b) % 3 ? TULLE_GENERAL : (tulle_symmetry)number(b, 3);
    a->uplo = (tulle_uplo)number(b, 2);
}

static void draw_input(struct bytes *b, tulle_array *a, int64_t m, int64_t n, int which)
{
    memset(a, 0, sizeof *a);
    draw_form(b, a);
    a->m = m;
    a->n = n;
    a->count = a->storage == TULLE_STORAGE_CSC ? n : m;
    if (next(b) > 250) a->count = number(b, MOST);
    if (next(b) > 250) a->first = number(b, 2);
    a->ld = sum((a->order == TULLE_COL_MAJOR ? a->count : n) % ARENA, number(b, 3));
    if (a->storage == TULLE_STORAGE_DENSE)
        draw_dense(b, a, which);
    else
        draw_sparse(b, a, which);
}

/* ---- pictures ---- */

struct picture {
    int64_t m, n;
    double at[MOST][MOST];
};

static int add(const tulle_array *a, int64_t row, int64_t col, double value, struct picture *p)
{
    if (row < 0 || row >= a->m || col < 0 || col >= a->n) return 0;
    p->at[row][col] += value;
    if (a->symmetry == TULLE_GENERAL) return 1;
    if (a->uplo == TULLE_LOWER ? col > row : col < row) return 0;
    if (row == col) return a->symmetry != TULLE_SKEW || value == 0;
    p->at[col][row] += a->symmetry == TULLE_SKEW ? -value : value;
    return 1;
}

static int sparse_picture(const tulle_array *a, struct picture *p)
{
    if ((a->ind_bytes != 4 && a->ind_bytes != 8) || (a->nnz && !a->ind)) return 0;
    if (a->storage == TULLE_STORAGE_COO) {
        for (int64_t e = 0; e < a->nnz; e++)
            if (!add(a, sum(index_at(a->ind, a->ind_bytes, e), -a->base),
                    sum(index_at(a->col, a->ind_bytes, e), -a->base), value_at(a, e), p))
                return 0;
        return 1;
    }
    if (!a->ptr || index_at(a->ptr, a->ptr_bytes, 0) != a->base) return 0;
    const int64_t entries = sum(index_at(a->ptr, a->ptr_bytes, a->count), -a->base);
    if (entries != a->nnz && !(a->base && entries == a->nnz - 1)) return 0;
    for (int64_t l = 0; l < a->count; l++) {
        const int64_t begin = sum(index_at(a->ptr, a->ptr_bytes, l), -a->base),
                      end = sum(index_at(a->ptr, a->ptr_bytes, l + 1), -a->base);
        if (end < begin || end > entries) return 0;
        for (int64_t e = begin; e < end; e++) {
            const int64_t other = sum(index_at(a->ind, a->ind_bytes, e), -a->base);
            const int by_row = a->storage == TULLE_STORAGE_CSR;
            if (!add(a, by_row ? l : other, by_row ? other : l, value_at(a, e), p)) return 0;
        }
    }
    return 1;
}

/* The matrix that an array describes. Returns 0 if it describes none. */
static int picture_of(const tulle_array *a, struct picture *p)
{
    const int64_t lines = a->storage == TULLE_STORAGE_CSC ? a->n : a->m;
    *p = (struct picture){.m = a->m, .n = a->n};
    if ((a->size && a->size < sizeof *a) || a->m < 0 || a->n < 0 || a->m > MOST || a->n > MOST || a->nnz < 0 ||
        (unsigned)a->storage > TULLE_STORAGE_COO || (unsigned)a->type >= TULLE_TYPE_COUNT ||
        (unsigned)a->order > TULLE_COL_MAJOR || (unsigned)a->base > 1 || (unsigned)a->symmetry > TULLE_SKEW ||
        (unsigned)a->uplo > TULLE_UPPER || a->first < 0 || a->count < 0)
        return 0;
    if (a->symmetry != TULLE_GENERAL && (a->m != a->n || a->storage == TULLE_STORAGE_DENSE)) return 0;
    if (a->storage != TULLE_STORAGE_COO && (a->count != lines || a->first)) return 0;
    if (a->storage != TULLE_STORAGE_DENSE) return sparse_picture(a, p);
    for (int64_t i = 0; i < a->m; i++)
        for (int64_t j = 0; j < a->n; j++) {
            if (!a->val) return 0;
            p->at[i][j] = value_at(a, a->order == TULLE_ROW_MAJOR ? i * a->ld + j : j * a->ld + i);
        }
    return 1;
}

static int same(const struct picture *x, const struct picture *y)
{
    int equal = x->m == y->m && x->n == y->n;
    for (int64_t i = 0; equal && i < x->m; i++)
        for (int64_t j = 0; j < x->n; j++) equal = equal && x->at[i][j] == y->at[i][j];
    return equal;
}

static double element(const struct picture *p, tulle_op op, int64_t i, int64_t j)
{
    return op == TULLE_OP_N ? p->at[i][j] : p->at[j][i];
}

static struct picture product(const struct picture *A, tulle_op op_a, const struct picture *B, tulle_op op_b,
    double alpha, double beta, const struct picture *C)
{
    struct picture E = {.m = op_a == TULLE_OP_N ? A->m : A->n, .n = op_b == TULLE_OP_N ? B->n : B->m};
    const int64_t k = op_a == TULLE_OP_N ? A->n : A->m;
    for (int64_t i = 0; i < E.m; i++)
        for (int64_t j = 0; j < E.n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++) sum += element(A, op_a, i, l) * element(B, op_b, l, j);
            E.at[i][j] = alpha * sum + (beta != 0 ? beta * C->at[i][j] : 0);
        }
    return E;
}

/* ---- calls ---- */

static tulle_comm *comm;

static void refused(tulle_status status)
{
    REQUIRE(status != TULLE_OK && tulle_error_message()[0]);
}

/* Prints a description, for an input that fails. */
static void show(const tulle_array *a, const char *said)
{
    fprintf(stderr,
        "storage %d, type %d, %" PRId64 " x %" PRId64 ", lines %" PRId64 " to %" PRId64 " without, nnz %" PRId64
        ", bytes %d %d, base %d, symmetry %d of %d, order %d, ld %" PRId64 ", size %zu; \"%s\"\n",
        (int)a->storage, (int)a->type, a->m, a->n, a->first, a->first + a->count, a->nnz, a->ptr_bytes, a->ind_bytes,
        a->base, (int)a->symmetry, (int)a->uplo, (int)a->order, a->ld, a->size, said);
}

/* The matrix of an array, and again as an array of any storage. */
static void there_and_back(struct bytes *b, const tulle_array *a)
{
    struct picture p, q;
    tulle_mat *A = NULL;
    const int valid = picture_of(a, &p);
    const tulle_status status = tulle_mat_from_array(comm, a, &A);
    if (status != TULLE_OK) refused(status);
    const int pictured = a->m <= MOST && a->n <= MOST;
    if (pictured && (status == TULLE_OK) != valid) show(a, status == TULLE_OK ? "taken" : tulle_error_message());
    REQUIRE(!pictured || (status == TULLE_OK) == valid);
    if (status != TULLE_OK || !pictured) {
        tulle_mat_free(A);
        return;
    }
    tulle_array out;
    memset(&out, 0, sizeof out);
    draw_form(b, &out);
    const tulle_status taken = tulle_mat_to_array(A, number(b, 2) == 1 ? 0 : TULLE_AUTO, &out);
    if (taken == TULLE_OK) {
        REQUIRE(picture_of(&out, &q) && same(&p, &q));
        tulle_array_free(&out);
    } else {
        refused(taken);
    }
    tulle_mat_free(A);
}

/* A result of the caller's: an array of its own, or elements of an operand's. */
static void draw_result(
    struct bytes *b, tulle_array *C, const tulle_array *A, const tulle_array *B, int64_t m, int64_t n)
{
    const uint8_t where = next(b);
    memset(C, 0, sizeof *C);
    draw_form(b, C);
    if (where % 4 == 0) return; /* allocated */
    C->m = m;
    C->n = n;
    C->count = next(b) > 240 ? number(b, MOST) : m;
    C->first = next(b) > 250 ? number(b, 2) : 0;
    C->ld = sum((C->order == TULLE_COL_MAJOR ? C->count : n) % ARENA, number(b, 3));
    draw_dense(b, C, 2 * ARRAYS - 3);
    const tulle_array *from = where % 2 ? A : B;
    if (where >= 224 && C->val && from->val && from->storage == TULLE_STORAGE_DENSE && from->type == C->type) {
        const int64_t at = number(b, WIDE), most = spread(from) - spread(C);
        if (at >= 0 && at <= most) C->val = (char *)from->val + at * value_bytes(C);
    }
}

static void multiply(struct bytes *b, const tulle_array *A, const tulle_array *B, int64_t m, int64_t k, int64_t n,
    tulle_op op_a, tulle_op op_b)
{
    static char before[ARENA];
    struct picture a, p, c = {.m = 0}, q;
    tulle_array C;
    draw_result(b, &C, A, B, m, n);
    const double alpha = next(b) % 4, beta = next(b) % 3;
    const tulle_array given = C;
    const int64_t wide = C.val ? spread(&C) : 0;
    const int valid = picture_of(A, &a) && picture_of(B, &p), reads = C.val && picture_of(&C, &c);
    if (wide > 0) memcpy(before, C.val, (size_t)(wide * value_bytes(&C)));
    const tulle_status status = tulle_multiply(comm, op_a, op_b, alpha, A, B, beta, &C, NULL, NULL);
    if (status != TULLE_OK) {
        refused(status);
        REQUIRE(memcmp(&given, &C, sizeof C) == 0);
        return;
    }
    if (m > MOST || k > MOST || n > MOST) { /* it has no picture */
        tulle_array_free(&C);
        return;
    }
    REQUIRE(valid && (reads || beta == 0));
    struct picture E = product(&a, op_a, &p, op_b, alpha, beta, &c);
    REQUIRE(picture_of(&C, &q) && same(&E, &q));
    REQUIRE(picture_of(A, &q) && same(&a, &q) && picture_of(B, &q) && same(&p, &q)); /* operands stay */
    const int64_t length = C.order == TULLE_COL_MAJOR ? C.count : C.n;
    for (int64_t i = 0; i < wide; i++) /* and what lies between lines */
        REQUIRE(i % C.ld < length || memcmp(before + i * value_bytes(&C), (char *)C.val + i * value_bytes(&C),
                                         (size_t)value_bytes(&C)) == 0);
    if (C.owned && C.m == C.n && C.nnz < ENTRIES) { /* replaced by its own square */
        C.symmetry = TULLE_GENERAL;
        const tulle_status again = tulle_multiply(comm, op_a, TULLE_OP_N, 1, &C, &C, 0, &C, NULL, NULL);
        if (again == TULLE_OK)
            c = product(&E, op_a, &E, TULLE_OP_N, 1, 0, NULL);
        else
            refused(again);
        if (again == TULLE_OK) REQUIRE(picture_of(&C, &q) && same(&c, &q));
    }
    tulle_array_free(&C);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tulle_team_options team = {.memory = 64 << 20, .threads = 1};
    static const tulle_open_options options = {.size = sizeof options, .team = &team};
    if (!comm) REQUIRE(tulle_open(&options, &comm) == TULLE_OK);
    struct bytes b = {data, data + size};
    tulle_array A, B;
    int64_t size_of[3];
    for (int i = 0; i < 3; i++) size_of[i] = number(&b, MOST + 1);
    for (int i = 0; i < 3; i++) /* an empty matrix may have any width; memory is for small ones */
        if (size_of[i] > WIDE) size_of[i] = INT64_MAX - size_of[i] % 4;
    const tulle_op op_a = (tulle_op)number(&b, 2), op_b = (tulle_op)number(&b, 2);
    const int64_t m = size_of[0], k = size_of[1], n = size_of[2];
    draw_input(&b, &A, op_a == TULLE_OP_T ? k : m, op_a == TULLE_OP_T ? m : k, 0);
    if (next(&b) % 2) {
        there_and_back(&b, &A);
        return 0;
    }
    draw_input(&b, &B, op_b == TULLE_OP_T ? n : k, op_b == TULLE_OP_T ? k : n, ARRAYS);
    multiply(&b, &A, &B, m, k, n, op_a, op_b);
    return 0;
}
