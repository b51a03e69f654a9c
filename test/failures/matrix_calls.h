/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture of calls that fail in turn, and those of matrices and files. For public_calls.h alone. */
#ifndef TULLE_TEST_MATRIX_CALLS_H
#define TULLE_TEST_MATRIX_CALLS_H

#include <string.h>
#include <unistd.h>

#include <tulle/tulle.h>

#include "body.h"
#include "tap.h"
#include "temporary.h"

enum { M = 12, N = 5, TRIES = 3000, PATH_MOST = TEMPORARY_MOST + 32, STEPWISE = 24 };

static char folder[TEMPORARY_MOST];

static const char *in_folder(const char *name, char *path)
{
    snprintf(path, PATH_MOST, "%s/%s", folder, name);
    return path;
}

/* Fixture of the calls; each PE's. */
struct fixture {
    tulle_comm *comm;
    tulle_layout *square, *thin, *other; /* M x M, M x N; M x M cut otherwise */
    tulle_mat *A, *D;                    /* sparse M x M, dense M x N */
};

/* M x M, three entries a row. */
static tulle_status make_sparse(const struct fixture *f, tulle_mat **A)
{
    tulle_gidx row[3 * M], col[3 * M];
    double val[3 * M];
    int count = 0;
    for (int r = tulle_comm_rank(f->comm); r < M; r += tulle_comm_size(f->comm))
        for (int e = 0; e < 3; e++) {
            row[count] = r;
            col[count] = (r * 5 + e * 3) % M;
            val[count++] = r + e + 1;
        }
    return tulle_mat_from_entries(f->comm, f->square, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, A);
}

static tulle_status from_entries(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *A = NULL;
    tulle_status status = make_sparse(f, &A);
    tulle_mat_free(A);
    return status;
}

static tulle_status broadcast(struct fixture *f, const char *text)
{
    (void)text;
    char data[100] = "";
    return tulle_comm_broadcast(f->comm, 0, data, sizeof data);
}

static tulle_status reduce(struct fixture *f, const char *text)
{
    (void)text;
    int64_t n = 1;
    double x = 1;
    tulle_status status = tulle_comm_reduce_int(f->comm, TULLE_SUM, 1, &n);
    return status == TULLE_OK ? tulle_comm_reduce_real(f->comm, TULLE_MAX, 1, &x) : status;
}

static tulle_status split(struct fixture *f, const char *text)
{
    (void)text;
    tulle_comm *part;
    tulle_status status = tulle_comm_split(f->comm, tulle_comm_rank(f->comm) % 2, 0, &part);
    if (status == TULLE_OK) tulle_comm_free(part);
    return status;
}

static tulle_status layouts(struct fixture *f, const char *text)
{
    (void)text;
    tulle_layout *layout = NULL, *copy = NULL, *transpose = NULL;
    tulle_layout_spec spec = {.m = M, .n = N};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    if (status == TULLE_OK) status = tulle_layout_copy(layout, &copy);
    if (status == TULLE_OK) status = tulle_layout_transpose(copy, &transpose);
    tulle_layout_free(layout);
    tulle_layout_free(copy);
    tulle_layout_free(transpose);
    return status;
}

static tulle_status new_mats(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_status status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_COL_MAJOR, &A);
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, f->square, TULLE_F32, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense_undefined(f->comm, f->thin, TULLE_F32, TULLE_ROW_MAJOR, &C);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    return status;
}

/* The identity; 32-bit columns. text: r(ows), c(olumns) or b(locks of one value) */
static tulle_status from_csr(struct fixture *f, const char *text)
{
    int rank = tulle_comm_rank(f->comm), size = tulle_comm_size(f->comm);
    int64_t rowptr[M + 1], first = (int64_t)M * rank / size, count = (int64_t)M * (rank + 1) / size - first;
    int32_t colind[M];
    double val[M];
    tulle_mat *A;
    for (int64_t r = 0; r <= count; r++) rowptr[r] = r;
    for (int64_t r = 0; r < count; r++) colind[r] = (int32_t)(first + r), val[r] = 1;
    tulle_csr_rows rows = {
        .first = first, .count = count, .rowptr = rowptr, .colind = colind, .colind_bytes = 4, .val = val};
    tulle_bsr_rows blocks = {.rows = 1,
        .cols = 1,
        .first = first,
        .count = count,
        .rowptr = rowptr,
        .colind = colind,
        .colind_bytes = 4,
        .val = val};
    tulle_status status = *text == 'b'   ? tulle_mat_from_bsr(f->comm, M, M, TULLE_F64, &blocks, &A)
                          : *text == 'c' ? tulle_mat_from_csc(f->comm, M, M, TULLE_F64, &rows, &A)
                                         : tulle_mat_from_csr(f->comm, M, M, TULLE_F64, &rows, &A);
    if (status == TULLE_OK) tulle_mat_free(A);
    return status;
}

static tulle_status get_tiles(struct fixture *f, const char *text)
{
    (void)text;
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(f->A);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_fetch *fetch;
        tulle_tile tile;
        status = tulle_mat_get_tile(f->A, i, 0, &fetch);
        if (status != TULLE_OK) break;
        status = tulle_fetch_wait(fetch, &tile);
        tulle_fetch_free(fetch);
    }
    return status;
}

/* The tiles of A by themselves. */
static tulle_status replace(struct fixture *f, const char *text)
{
    (void)text;
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(f->A);
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(f->comm)) continue;
        status = tulle_mat_tile(f->A, i, 0, &t);
        if (status == TULLE_OK && t.rowptr) status = tulle_mat_replace(f->A, i, 0, t.rowptr, t.colind, t.val);
    }
    status = tulle_comm_agree(f->comm, status);
    return status == TULLE_OK ? tulle_mat_renew(f->A) : status;
}

static tulle_status reshape(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *B = NULL, *T = NULL, *E = NULL;
    tulle_status status = tulle_mat_redistribute(f->A, f->other, &B);
    if (status == TULLE_OK) status = tulle_mat_transpose(f->A, &T);
    if (status == TULLE_OK) status = tulle_mat_transpose(f->D, &E);
    if (status == TULLE_OK) status = tulle_mat_fill_random(E, 1);
    tulle_mat_free(B);
    tulle_mat_free(T);
    tulle_mat_free(E);
    return status;
}

/* C = A B of stored lines, sparse or dense, made and freed. */
static tulle_status multiply_stored(struct fixture *f, const tulle_mat *A, const tulle_mat *B)
{
    tulle_mat *C = NULL;
    tulle_layout *layout = NULL;
    tulle_product *plan = NULL;
    const tulle_product_options options = {.alg = TULLE_PRODUCT_STATIONARY_C};
    const bool sparse = tulle_mat_kind(B) == TULLE_CSR;
    tulle_status status = tulle_comm_agree(f->comm, tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &layout));
    if (status == TULLE_OK)
        status = sparse ? tulle_mat_new_csr(f->comm, layout, TULLE_F64, &C)
                        : tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK && sparse) status = tulle_mat_expand(C);
    tulle_product_free(plan);
    tulle_layout_free(layout);
    tulle_mat_free(C);
    return status;
}

/* Stored rows and columns alone: a copy, its transpose, their sum, a triangle, coordinates, products, all rows again.
 */
static tulle_status hypersparse(struct fixture *f, const char *text)
{
    tulle_mat *H = NULL, *T = NULL, *sum = NULL, *L = NULL;
    tulle_array out = {.storage = TULLE_STORAGE_COO};
    (void)text;
    tulle_status status = tulle_mat_compress(f->A, &H);
    if (status == TULLE_OK) status = tulle_mat_transpose(H, &T);
    if (status == TULLE_OK) status = tulle_mat_add(1, H, 2, T, &sum);
    if (status == TULLE_OK) status = tulle_mat_triangle(H, TULLE_LOWER, TULLE_DIAG_STORED, &L);
    if (status == TULLE_OK) status = tulle_mat_to_array(H, TULLE_AUTO, &out);
    if (status == TULLE_OK) status = multiply_stored(f, H, T);
    if (status == TULLE_OK) status = multiply_stored(f, H, f->D);
    tulle_array_free(&out);
    tulle_mat_free(L);
    tulle_mat_free(sum);
    tulle_mat_free(T);
    tulle_mat_free(H);
    return status;
}

/* The formats of blocks, there and back, their transpose and their file; a product with a dense matrix. */
static tulle_status blocks(struct fixture *f, const char *text)
{
    static const tulle_gidx cut[] = {0, 3, 4, 10, M}, ones[] = {0, 1, 2, 3, 4, N};
    static const tulle_block_cuts rows = {4, cut}, cols = {N, ones};
    char path[PATH_MOST];
    tulle_layout *square = NULL, *thin = NULL;
    tulle_mat *V = NULL, *S = NULL, *T = NULL, *E = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_status status = tulle_layout_in_blocks(f->square, &rows, &rows, &square);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(f->thin, &rows, &cols, &thin);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(f->A, square, &V);
    if (status == TULLE_OK) status = tulle_mat_to_bsr(f->A, 2, 3, &S);
    if (status == TULLE_OK) status = tulle_mat_to_csr(V, true, &E);
    if (status == TULLE_OK) status = tulle_mat_transpose(V, &T);
    if (status == TULLE_OK) status = tulle_mat_save(V, in_folder(text, path));
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, thin, TULLE_F64, TULLE_COL_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, thin, TULLE_F64, TULLE_COL_MAJOR, &C);
    if (status == TULLE_OK) status = tulle_product_new(T, B, C, NULL, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(E);
    tulle_mat_free(T);
    tulle_mat_free(S);
    tulle_mat_free(V);
    tulle_layout_free(square);
    tulle_layout_free(thin);
    return status;
}

static tulle_status new_blocks(struct fixture *f, const char *text)
{
    (void)text;
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts rows = {4, cut};
    tulle_layout *square = NULL;
    tulle_mat *V = NULL;
    tulle_status status = tulle_layout_in_blocks(f->square, &rows, &rows, &square);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_new_vbsr(f->comm, square, TULLE_F64, &V);
    tulle_mat_free(V);
    tulle_layout_free(square);
    return status;
}

/* Blocks of A in their layout and in another, whose sum lies in the first; its tiles by themselves. */
static tulle_status sum_of_blocks(struct fixture *f, const char *text)
{
    (void)text;
    static const tulle_gidx cut[] = {0, 3, 4, 10, M};
    static const tulle_block_cuts rows = {4, cut};
    tulle_layout *square = NULL, *other = NULL;
    tulle_mat *V = NULL, *moved = NULL, *sum = NULL;
    tulle_status status = tulle_layout_in_blocks(f->square, &rows, &rows, &square);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(f->other, &rows, &rows, &other);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(f->A, square, &V);
    if (status == TULLE_OK) status = tulle_mat_redistribute(V, other, &moved);
    if (status == TULLE_OK) status = tulle_mat_add(1, V, 1, moved, &sum);
    for (int i = 0; status == TULLE_OK && i < tulle_layout_tile_rows(square); i++)
        for (int j = 0; status == TULLE_OK && j < tulle_layout_tile_cols(square); j++) {
            tulle_tile t;
            if (tulle_layout_owner(square, i, j) != tulle_comm_rank(f->comm)) continue;
            status = tulle_mat_tile(V, i, j, &t);
            if (status == TULLE_OK && t.nnz) status = tulle_mat_replace_blocks(sum, i, j, t.rowptr, t.colind, t.val);
        }
    if (sum) status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_renew(sum);
    tulle_mat_free(sum);
    tulle_mat_free(moved);
    tulle_mat_free(V);
    tulle_layout_free(square);
    tulle_layout_free(other);
    return status;
}

/* A product with rows in no order, put in order. */
static tulle_status order(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_options options = {0};
    options.unordered = 1;
    tulle_status status = tulle_mat_new_csr(f->comm, tulle_mat_layout(f->A), TULLE_F64, &C);
    if (status == TULLE_OK) status = tulle_product_new(f->A, f->A, C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_mat_order(C);
    tulle_product_free(plan);
    tulle_mat_free(C);
    return status;
}

static tulle_status weigh(struct fixture *f, const char *text)
{
    (void)text;
    int64_t work[M];
    tulle_status status = tulle_mat_row_nnz(f->A, work);
    return status == TULLE_OK ? tulle_mat_row_flops(f->A, f->A, work) : status;
}

/* A product of one tile; teams of several PEs are refused. */
static tulle_status explain(struct fixture *f, const char *text)
{
    (void)text;
    tulle_product_mechanism mechanism[TULLE_PRODUCT_MECHANISMS];
    tulle_layout_spec spec = {.m = M, .n = M, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_new(&spec, spec.grid_rows, &layout));
    if (status == TULLE_OK) status = tulle_mat_redistribute(f->A, layout, &A);
    if (status == TULLE_OK && spec.grid_rows == 1) status = tulle_product_explain(A, A, 1, mechanism);
    tulle_layout_free(layout);
    tulle_mat_free(A);
    return status;
}

static tulle_status inspect(struct fixture *f, const char *text)
{
    (void)f;
    char path[PATH_MOST];
    tulle_operand_shape shape;
    return tulle_operand_inspect(strchr(text, ':') ? text : in_folder(text, path), NULL, &shape);
}

/* Files begin with the kind that they are of: a sparse one may be read as either. */
static tulle_status load_as(struct fixture *f, const char *text, tulle_kind kind)
{
    char path[PATH_MOST];
    tulle_mat *A;
    tulle_status status =
        tulle_mat_load(f->comm, strchr(text, ':') ? text : in_folder(text, path), NULL, kind, NULL, NULL, &A);
    if (status == TULLE_OK) tulle_mat_free(A);
    return status;
}

static tulle_status load_sparse(struct fixture *f, const char *text)
{
    return load_as(f, text, TULLE_CSR);
}

static tulle_status load_dense(struct fixture *f, const char *text)
{
    return load_as(f, text, TULLE_DENSE);
}

static tulle_status save_sparse(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    return tulle_mat_save(f->A, in_folder(text, path));
}

static tulle_status save_as(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    return tulle_mat_save_as(f->A, in_folder(text, path), strncmp(text, "auto", 4) == 0 ? "auto" : "bsr:b=2");
}

static tulle_status save_dense(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    return tulle_mat_save(f->D, in_folder(text, path));
}

/* Files of each PE's own. */
static tulle_status put_files(struct fixture *f, const char *text)
{
    char path[PATH_MOST], name[24];
    tulle_machine machine = {.threads = 1};
    snprintf(name, sizeof name, "%s%d.npy", text, tulle_comm_rank(f->comm));
    tulle_status status = tulle_output_try(in_folder(name, path));
    if (status == TULLE_OK) status = tulle_output_try_matrix(path, TULLE_DENSE);
    if (status == TULLE_OK) status = tulle_file_write(path, name, sizeof name);
    if (status == TULLE_OK) status = tulle_machine_try(path, 1);
    if (status == TULLE_OK) status = tulle_machine_save(path, &machine);
    unlink(path);
    return status;
}

static tulle_status write_pieces(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    tulle_writer *writer = NULL;
    tulle_status status = tulle_writer_open(f->comm, in_folder(text, path), M, M, TULLE_F64, &writer);
    if (status != TULLE_OK) return status;
    status = tulle_writer_append(writer, f->A);
    tulle_status closed = tulle_writer_close(writer); /* frees the writer in any case */
    return status == TULLE_OK ? closed : status;
}

static tulle_status write_slabs(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    return tulle_operand_save(
        f->comm, "cantilever:nodes=2,dof=3", TULLE_F64, in_folder(text, path), strstr(text, ".h5") ? "bsr:half" : NULL);
}

#endif
