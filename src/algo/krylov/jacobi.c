/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jacobi and block Jacobi: the inverse of the diagonal, or LU factors of its dense blocks, for the
 * rows that a PE has of the vectors. They are extracted when the vectors are known, from own tiles
 * if A has the same cuts, else from a temporary copy.
 */
#include <inttypes.h>
#include <string.h>

#include "algo/krylov/precond.h"
#include "algo/krylov/resident/resident_matrix.h"
#include "algo/krylov/resident/resident_vectors.h"
#include "base/error.h"
#include "base/host/blas_names.h"
#include "mat/mat.h"

#ifdef TULLE_HAVE_LAPACK
/* LAPACK's Fortran interface: column-major, 32-bit integers. */
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivot, int *info);
void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *pivot, int *info);
#endif

enum { ROWS_SHARED = 1 << 12 }; /* with fewer rows, a PE uses a single thread */

struct jacobi {
    tulle__owned owned;
    const tulle_mat *A;
    int block;
    tulle__resident_context on_device;
};

struct bound {
    tulle__owned owned;
    tulle_mat *x, *y;
    tulle_type type;
    int block;
    tulle_gidx first;
    int64_t rows, nblocks;
    char *val;  /* the inverse diagonal; or LU of each block, block * block apart, rows of a block `block` apart */
    int *pivot; /* [rows] */
    const tulle__kernels *kernels;
    tulle__pool *pool;             /* NULL: this thread alone */
    tulle__resident_matrix *there; /* the inverse, while vectors lie on a device */
};

static void drop(tulle__owned *object)
{
    tulle__free(object);
}

static void free_jacobi(void *context)
{
    struct jacobi *jacobi = context;
    tulle__pe_disown(&jacobi->owned);
    drop(&jacobi->owned);
}

static void drop_bound(tulle__owned *object)
{
    struct bound *bound = (struct bound *)object;
    tulle__free(bound->val);
    tulle__free(bound->pivot);
    tulle__free(bound);
}

static void unbind_jacobi(void *arg)
{
    struct bound *bound = arg;
    tulle__pe_disown(&bound->owned);
    drop_bound(&bound->owned);
}

/* Block t: its first own row and its number of rows. */
static int64_t block_at(const struct bound *bound, int64_t t, int *rows)
{
    int64_t before = bound->first / bound->block * bound->block - bound->first; /* offset of block 0: <= 0 */
    int64_t begin = before + t * bound->block, end = begin + bound->block;
    if (begin < 0) begin = 0;
    if (end > bound->rows) end = bound->rows;
    *rows = (int)(end - begin);
    return begin;
}

/* Copies the entries of own rows within diagonal blocks from tile (i, j) of A. */
static void take_entries(const struct bound *bound, const tulle_mat *A, int i, int j)
{
    tulle_tile tile = tulle__tile_in_place(A, i, j);
    size_t size = tulle_type_size(A->type);
    int64_t b = bound->block, before = bound->first / b;
    for (tulle_gidx r = 0; tile.nnz && r < tile.m; r++) {
        tulle_gidx row = A->layout->row_cut[i] + r;
        int64_t t = row / b - before;
        int rows;
        tulle_gidx low = bound->first + block_at(bound, t, &rows);
        for (int64_t e = tile.rowptr[r]; e < tile.rowptr[r + 1]; e++) {
            tulle_gidx column = A->layout->col_cut[j] + tile.colind[e];
            if (column < low || column >= low + rows) continue;
            int64_t at = b == 1 ? row - bound->first : t * b * b + (column - low) * b + (row - low);
            memcpy(bound->val + (size_t)at * size, (const char *)tile.val + (size_t)e * size, size);
        }
    }
}

#define INVERSE(T, suffix)                                                                                             \
    static tulle_gidx invert_##suffix(struct bound *bound)                                                             \
    {                                                                                                                  \
        T *val = (T *)(void *)bound->val;                                                                              \
        for (int64_t r = 0; r < bound->rows; r++) {                                                                    \
            if (val[r] == 0) return bound->first + r;                                                                  \
            val[r] = 1 / val[r];                                                                                       \
        }                                                                                                              \
        return -1;                                                                                                     \
    }                                                                                                                  \
    static void multiply_##suffix(const struct bound *bound, int64_t from, int64_t to, const T *x, T *y, int64_t cols) \
    {                                                                                                                  \
        const T *val = (const T *)(const void *)bound->val;                                                            \
        for (int64_t r = from; r < to; r++)                                                                            \
            for (int64_t c = 0; c < cols; c++) y[r * cols + c] = val[r] * x[r * cols + c];                             \
    }
INVERSE(float, f32)
INVERSE(double, f64)

#ifdef TULLE_HAVE_LAPACK
/*
 * Returns the first row of the first singular block; -1: none. Transposes the factors, as kernels
 * need rows.
 */
#define LAPACK(T, suffix, letter)                                                                                      \
    static tulle_gidx factorise_##suffix(struct bound *bound)                                                          \
    {                                                                                                                  \
        for (int64_t t = 0; t < bound->nblocks; t++) {                                                                 \
            int n, info, ld = bound->block;                                                                            \
            int64_t at = block_at(bound, t, &n);                                                                       \
            T *val = (T *)(void *)bound->val + t * ld * (int64_t)ld, x;                                                \
            letter##getrf_(&n, &n, val, &ld, bound->pivot + at, &info);                                                \
            if (info) return bound->first + at + (info > 0 ? info - 1 : 0);                                            \
            for (int r = 0; r < n; r++)                                                                                \
                for (int c = 0; c < r; c++) {                                                                          \
                    x = val[r * ld + c];                                                                               \
                    val[r * ld + c] = val[c * ld + r];                                                                 \
                    val[c * ld + r] = x;                                                                               \
                }                                                                                                      \
        }                                                                                                              \
        return -1;                                                                                                     \
    }
LAPACK(float, f32, s)
LAPACK(double, f64, d)

static void swap(char *x, char *y, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char byte = x[i];
        x[i] = y[i];
        y[i] = byte;
    }
}

/* Solves for all columns with block t: y from x, lines of the block. */
static void solve_block(const struct bound *bound, int64_t t, const void *x, void *y, int64_t cols)
{
    size_t size = tulle_type_size(bound->type), line = (size_t)cols * size;
    int n;
    int64_t at = block_at(bound, t, &n), ld = bound->block;
    char *lines = y;
    tulle__dense_task task = {.type = bound->type,
        .m = n,
        .k = n,
        .cols = cols,
        .A = bound->val + (size_t)(t * ld * ld) * size,
        .lda = ld,
        .Y = lines,
        .ldy = cols};
    memcpy(lines, x, (size_t)n * line);
    for (int r = 0; r < n; r++)
        if (bound->pivot[at + r] != r + 1)
            swap(lines + (size_t)r * line, lines + (size_t)(bound->pivot[at + r] - 1) * line, line);
    bound->kernels->substitute(&task, 0, 1);
    bound->kernels->substitute(&task, 1, 0);
}

static void solve_blocks(const struct bound *bound, int64_t from, int64_t to, const void *x, void *y, int64_t cols)
{
    size_t line = (size_t)cols * tulle_type_size(bound->type);
    for (int64_t t = from; t < to; t++) {
        int n;
        size_t at = (size_t)block_at(bound, t, &n) * line;
        solve_block(bound, t, (const char *)x + at, (char *)y + at, cols);
    }
}
#endif

/* Returns the first row that cannot be inverted; -1: none. */
static tulle_gidx factorise(struct bound *bound)
{
#ifdef TULLE_HAVE_LAPACK
    if (bound->block > 1) return bound->type == TULLE_F32 ? factorise_f32(bound) : factorise_f64(bound);
#endif
    return bound->type == TULLE_F32 ? invert_f32(bound) : invert_f64(bound);
}

struct work {
    const struct bound *bound;
    const void *x;
    void *y;
    int64_t cols;
};

static tulle_status share(void *arg, int thread, int nthreads)
{
    const struct work *w = arg;
    const struct bound *bound = w->bound;
    int64_t count = bound->block > 1 ? bound->nblocks : bound->rows;
    int64_t from = count * thread / nthreads, to = count * (thread + 1) / nthreads;
#ifdef TULLE_HAVE_LAPACK
    if (bound->block > 1) {
        solve_blocks(bound, from, to, w->x, w->y, w->cols);
        return TULLE_OK;
    }
#endif
    bound->type == TULLE_F32 ? multiply_f32(bound, from, to, w->x, w->y, w->cols)
                             : multiply_f64(bound, from, to, w->x, w->y, w->cols);
    return TULLE_OK;
}

/* Own rows of a vector; NULL: none. */
static void *own_rows(tulle_mat *x, tulle_gidx *first, int64_t *rows)
{
    const tulle_layout *l = x->layout;
    for (int i = 0; i < l->mt; i++) {
        if (!tulle__tile_is_mine(x, i, 0) || !tulle__tile_rows(x, i)) continue;
        *first = l->row_cut[i];
        *rows = tulle__tile_rows(x, i);
        return tulle__own_tile_in_place(x, i, 0).val;
    }
    *first = *rows = 0;
    return NULL;
}

static tulle_status apply_jacobi(void *arg)
{
    struct bound *bound = arg;
    tulle_gidx first;
    int64_t rows;
    size_t size = tulle_type_size(bound->type);
    double row = (double)bound->rows * (double)bound->x->layout->n;
    tulle__work work = {.memory = (double)(bound->rows * bound->block) * (double)size + 2 * row * (double)size};
    struct work shared = {.bound = bound, .cols = bound->x->layout->n};
    shared.x = own_rows(bound->x, &first, &rows);
    shared.y = own_rows(bound->y, &first, &rows);
    work.flops[bound->type] = 2 * row * bound->block;
    tulle__kernel_begin(bound->x->comm);
    if (rows) (void)tulle__pool_run(bound->pool, share, &shared);
    tulle__kernel_end(bound->x->comm, &work);
    return TULLE_OK;
}

/* ---- vectors on a device ---- */

/* The inverse of block t in lines of `rows` values; workspace: as many. */
static void invert_block(const struct bound *bound, int64_t t, int rows, void *workspace, void *inverse)
{
    size_t size = tulle_type_size(bound->type);
    memset(workspace, 0, (size_t)rows * (size_t)rows * size);
    for (int r = 0; r < rows; r++)
        if (bound->type == TULLE_F32)
            ((float *)workspace)[r * rows + r] = 1;
        else
            ((double *)workspace)[r * rows + r] = 1;
#ifdef TULLE_HAVE_LAPACK
    solve_block(bound, t, workspace, inverse, rows);
#else
    (void)t, (void)inverse; /* blocks want LAPACK */
#endif
}

/* The inverse in CSR: a diagonal, or rows of dense blocks. */
static tulle_status list_inverse(
    const struct bound *bound, int64_t **rowptr, int32_t **colind, char **val, const void **values)
{
    size_t size = tulle_type_size(bound->type), most = (size_t)bound->block * (size_t)bound->block;
    int64_t entries = 0;
    TULLE__SCOPED char *workspace = NULL;
    for (int64_t t = 0; t < bound->nblocks; t++) {
        int rows;
        (void)block_at(bound, t, &rows);
        entries += (int64_t)rows * rows;
    }
    if (bound->rows > INT32_MAX) return tulle__fail(TULLE_ERR_UNSUPPORTED, "a preconditioner of more rows");
    TULLE_CALL(tulle__alloc_zero((size_t)bound->rows + 1, sizeof **rowptr, "a preconditioner", rowptr));
    TULLE_CALL(tulle__alloc((size_t)entries, sizeof **colind, "a preconditioner", colind));
    *values = bound->val;
    if (bound->block > 1) {
        TULLE_CALL(tulle__alloc((size_t)entries, size, "a preconditioner", val));
        TULLE_CALL(tulle__alloc(most, size, "a preconditioner", &workspace));
        *values = *val;
    }
    int64_t to = 0;
    for (int64_t t = 0; t < bound->nblocks; t++) {
        int rows;
        int64_t at = block_at(bound, t, &rows);
        if (bound->block > 1) invert_block(bound, t, rows, workspace, *val + (size_t)to * size);
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < rows; c++) (*colind)[to++] = (int32_t)(at + c);
            (*rowptr)[at + r + 1] = to;
        }
    }
    return TULLE_OK;
}

static tulle_status enter_jacobi(void *arg, tulle__device *device, tulle__device_queue *queue)
{
    struct bound *bound = arg;
    TULLE__SCOPED int64_t *rowptr = NULL;
    TULLE__SCOPED int32_t *colind = NULL;
    TULLE__SCOPED char *val = NULL;
    const void *values = NULL;
    TULLE_CALL(list_inverse(bound, &rowptr, &colind, &val, &values));
    return tulle__resident_matrix_new(
        device, queue, bound->type, bound->rows, bound->x->layout->n, rowptr, colind, values, &bound->there);
}

static void leave_jacobi(void *arg)
{
    struct bound *bound = arg;
    tulle__resident_matrix_free(bound->there);
    bound->there = NULL;
}

static tulle_status apply_there(void *arg, const tulle__device_place *x, const tulle__device_place *y)
{
    const struct bound *bound = arg;
    tulle__resident_matrix_apply(bound->there, x, y);
    return TULLE_OK;
}

static const struct tulle__resident resident = {.enter = enter_jacobi, .leave = leave_jacobi, .apply = apply_there};

/* ---- binding ---- */

/* A, or a copy of it, with whole rows in the layout of the vectors; agreed. */
static tulle_status suit_rows(const tulle_mat *A, const tulle_layout *rows, tulle_mat **copy)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    const tulle_layout *l = A->layout;
    int suits = tulle__layout_same_cuts(l->row_cut, l->mt, rows->row_cut, rows->mt);
    for (int i = 0; suits && i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) suits &= tulle__layout_owner(l, i, j) == tulle__layout_owner(rows, i, 0);
    *copy = NULL;
    if (suits) return TULLE_OK;
    tulle_layout_spec spec = {
        .m = l->m, .n = l->n, .tile_rows = rows->mt, .tile_cols = 1, .row_cut = rows->row_cut, .owner = rows->owner};
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_layout_new(&spec, A->comm->size, &layout)));
    return tulle_mat_redistribute(A, layout, copy);
}

static tulle_status fill(struct bound *bound, const tulle_mat *A)
{
    tulle_status status;
    int64_t b = bound->block;
    size_t size = tulle_type_size(bound->type);
    if (bound->rows) bound->nblocks = (bound->first + bound->rows - 1) / b - bound->first / b + 1;
    TULLE_TRY(tulle__alloc_zero((size_t)(b == 1 ? bound->rows : bound->nblocks * b * b), size, "blocks", &bound->val));
    TULLE_TRY(tulle__alloc((size_t)bound->rows, sizeof *bound->pivot, "pivots", &bound->pivot));
    TULLE__EACH_OWN_TILE(A, i, j) take_entries(bound, A, i, j);
    if (b > 1) TULLE_TRY(tulle__memory_of_blas("block-jacobi"));
    tulle_gidx row = factorise(bound);
    if (row >= 0)
        status = tulle__fail(TULLE_ERR_ARG,
            b == 1 ? "row " TULLE__AT " has a zero or missing diagonal entry"
                   : "the diagonal block with row " TULLE__AT " is singular at this row",
            (int64_t)row);
out:
    return status;
}

static tulle_status bind_jacobi(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    struct jacobi *jacobi = context;
    struct bound *bound = NULL;
    tulle__context *inside = NULL;
    tulle_mat *copy = NULL;
    tulle_comm *comm = x->comm;
    tulle_status status = tulle__alloc_zero(1, sizeof *bound, "a preconditioner", &bound);
    if (status == TULLE_OK) status = tulle__context_get(comm, &inside);
    if (status == TULLE_OK) {
        bound->x = x;
        bound->y = y;
        bound->type = x->type;
        bound->block = jacobi->block;
        (void)own_rows(x, &bound->first, &bound->rows);
    }
    TULLE_TRY(tulle_comm_agree(comm, status));
    bound->kernels = inside->kernels;
    if (!tulle__is_virtual(comm) && bound->rows >= ROWS_SHARED) bound->pool = inside->pool;
    if (bound->block > 1) bound->kernels->alone();
    TULLE_TRY(suit_rows(jacobi->A, x->layout, &copy));
    status = fill(bound, copy ? copy : jacobi->A);
    TULLE_TRY(tulle_comm_agree(comm, status));
    tulle__pe_own(comm->pe, &bound->owned, drop_bound);
    *out = bound;
out:
    tulle_mat_free(copy);
    if (status != TULLE_OK && bound) drop_bound(&bound->owned);
    return status;
}

tulle_status tulle__jacobi_new(const tulle_mat *A, int block, tulle_operator *M)
{
    struct jacobi *jacobi = NULL;
    tulle_comm *comm = A->comm;
    tulle_status status = tulle_comm_agree(comm, tulle__alloc_zero(1, sizeof *jacobi, "a preconditioner", &jacobi));
    if (status != TULLE_OK) {
        tulle__free(jacobi);
        return status;
    }
    jacobi->A = A;
    jacobi->block = block;
    tulle__pe_own(comm->pe, &jacobi->owned, drop);
    *M = (tulle_operator){.comm = comm,
        .n = A->layout->m,
        .type = A->type,
        .context = jacobi,
        .bind = bind_jacobi,
        .apply = apply_jacobi,
        .unbind = unbind_jacobi,
        .free = free_jacobi};
    tulle__resident_set(&resident, &jacobi->on_device, M);
    return TULLE_OK;
}
