/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the public functions that fail in turn, and the table that names them. For public.c alone. */
#ifndef TULLE_TEST_PUBLIC_CALLS_H
#define TULLE_TEST_PUBLIC_CALLS_H

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

/* What the calls work on; each PE's. */
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

static tulle_status product_layout(struct fixture *f, const char *text)
{
    (void)text;
    tulle_layout *layout;
    tulle_status status = tulle_product_layout(f->A, TULLE_OP_N, f->A, TULLE_OP_T, &layout);
    if (status == TULLE_OK) tulle_layout_free(layout);
    return status;
}

/* C = A^T B in `phases`, made and checked. */
static tulle_status multiply(struct fixture *f, tulle_mat *B, tulle_mat *C, tulle_product_alg alg, int phases)
{
    tulle_product *plan = NULL;
    double error;
    tulle_product_options options = {0};
    options.alg = alg;
    options.phases = phases;
    options.op_a = TULLE_OP_T;
    tulle_status status = tulle_product_new(f->A, B, C, &options, &plan);
    if (status == TULLE_OK && phases <= 1) {
        status = tulle_product_execute(plan, 1, 0, NULL);
        if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &(tulle_product_report){.seconds = 0});
        if (status == TULLE_OK)
            status = tulle_product_check_matrices(1, f->A, options.op_a, B, options.op_b, C, &error);
    }
    for (tulle_columns columns = {.last = phases <= 1}; !columns.last && status == TULLE_OK;) {
        status = tulle_product_next(plan, 1, &columns, NULL);
        if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    }
    tulle_product_free(plan);
    return status;
}

static tulle_status product(struct fixture *f, const char *text)
{
    tulle_product_alg alg;
    tulle_mat *C = NULL;
    int sparse = text[0] == 's', phases = text[1] - '0';
    tulle_status status = tulle_product_alg_parse(text + 3, &alg);
    if (status == TULLE_OK)
        status = sparse ? tulle_mat_new_csr(f->comm, f->square, TULLE_F64, &C)
                        : tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &C);
    if (status == TULLE_OK) status = multiply(f, sparse ? f->A : f->D, C, alg, phases);
    tulle_mat_free(C);
    return status;
}

static tulle_status look_around(struct fixture *f, const char *text)
{
    (void)text;
    tulle_machine machine = {.threads = 1};
    return tulle_machine_measure_tiers(f->comm, &machine);
}

/* A product that is only thought of; text: s or d. The matrix as rows is the fixture's in another layout. */
static tulle_status foresee(struct fixture *f, const char *text)
{
    enum { PES = 4 };
    tulle_mat *rows = NULL;
    tulle_layout *by_rows = NULL, *square = NULL, *thin = NULL;
    tulle_counts *counts = NULL;
    tulle_machine machine;
    tulle_prediction p;
    double work[PES], bytes[PES];
    int sparse = *text == 's';
    tulle_layout_spec s = {.m = M, .n = M, .tile_rows = tulle_comm_size(f->comm), .tile_cols = 1, .grid_cols = 1};
    tulle_status status = tulle_layout_new(&s, tulle_comm_size(f->comm), &by_rows);
    s = (tulle_layout_spec){.m = M, .n = M, .grid_rows = 2, .grid_cols = 2};
    if (status == TULLE_OK) status = tulle_layout_new(&s, PES, &square);
    s.n = N;
    if (status == TULLE_OK) status = tulle_layout_new(&s, PES, &thin);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK) status = tulle_mat_redistribute(f->A, by_rows, &rows);
    tulle_counts_spec spec = {
        square, sparse ? square : thin, sparse ? square : thin, PES, TULLE_F64, TULLE_COUNT_RESULT, 0};
    if (status == TULLE_OK) status = tulle_counts_new(rows, sparse ? rows : NULL, &spec, &counts);
    tulle_status alone = status == TULLE_OK ? tulle_machine_find("summit", 1, &machine) : status;
    for (int alg = TULLE_PRODUCT_AUTO + 1; alg < TULLE_PRODUCT_ALG_COUNT && alone == TULLE_OK; alg++) {
        alone = tulle_predict(counts, &machine, NULL, (tulle_product_alg)alg, &p);
        if (alone == TULLE_OK) alone = tulle_predict_loads(counts, &machine, NULL, (tulle_product_alg)alg, work, bytes);
    }
    if (alone == TULLE_OK) alone = tulle_predict_best(counts, &machine, NULL, &p);
    if (status == TULLE_OK) status = tulle_comm_agree(f->comm, alone);
    tulle_counts_free(counts);
    tulle_mat_free(rows);
    tulle_layout_free(by_rows);
    tulle_layout_free(square);
    tulle_layout_free(thin);
    return status;
}

/* text: i(lu) or c(holesky) */
static tulle_status incomplete(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *L = NULL, *U = NULL;
    tulle_status status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK)
        status = *text == 'i' ? tulle_factor_ilu0(A, NULL, &L, &U, NULL) : tulle_factor_ic0(A, NULL, &L, NULL);
    tulle_mat_free(L);
    tulle_mat_free(U);
    tulle_mat_free(A);
    return status;
}

/* text: l(u) or c(holesky) */
static tulle_status direct(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL;
    tulle_direct *factors = NULL;
    tulle_status status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK)
        status = *text == 'l' ? tulle_direct_lu(A, NULL, &factors) : tulle_direct_cholesky(A, NULL, &factors);
    tulle_direct_free(factors);
    tulle_mat_free(A);
    return status;
}

/* A triangle of the fixture's matrix with ones on its diagonal, solved with and checked; text: the method. */
static tulle_status solve_triangle(struct fixture *f, const char *text)
{
    tulle_mat *T = NULL, *X = NULL;
    tulle_trisolve *solver = NULL;
    tulle_layout *layout = NULL;
    tulle_trisolve_options options = {.size = 0};
    double error;
    options.diag = TULLE_DIAG_UNIT;
    options.op = TULLE_OP_T;
    tulle_status status = tulle_trisolve_method_parse(text, &options.method);
    if (status == TULLE_OK) status = tulle_mat_triangle(f->A, TULLE_LOWER, TULLE_DIAG_UNIT, &T);
    if (status == TULLE_OK) status = tulle_trisolve_new(T, &options, &solver);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, f->D, X, &(tulle_trisolve_report){.seconds = 0});
    if (status == TULLE_OK) status = tulle_trisolve_check(T, &options, f->D, X, &error);
    if (status == TULLE_OK) status = tulle_trisolve_update(solver);
    if (status == TULLE_OK) status = tulle_comm_agree(f->comm, tulle_trisolve_layout(solver, N, &layout));
    tulle_layout_free(layout);
    tulle_trisolve_free(solver);
    tulle_mat_free(X);
    tulle_mat_free(T);
    return status;
}

/* A known solution, and how far another one is from it. */
static tulle_status foreknow(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *T = NULL, *B = NULL;
    tulle_trisolve_options options = {.size = 0};
    tulle_forward forward;
    options.diag = TULLE_DIAG_UNIT;
    tulle_status status = tulle_mat_triangle(f->A, TULLE_LOWER, TULLE_DIAG_UNIT, &T);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, f->thin, TULLE_F64, TULLE_ROW_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_trisolve_rhs(T, &options, f->D, B);
    if (status == TULLE_OK) status = tulle_trisolve_forward(T, &options, f->D, f->D, &forward);
    tulle_mat_free(B);
    tulle_mat_free(T);
    return status;
}

/* M x M, a band; a column (block-cg: two) is solved for, in another layout. text: method and preconditioner. */
static tulle_status solve_iteratively(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_layout *layout = NULL;
    tulle_operator op = {.comm = NULL}, precond = {.comm = NULL};
    tulle_krylov_options options = {0};
    tulle_krylov_report report[2];
    tulle_precond_kind kind = TULLE_PRECOND_NONE;
    double error;
    tulle_layout_spec spec = {.m = M, .n = *text == 'b' ? 2 : 1, .tile_rows = 4, .tile_cols = 1, .map = TULLE_CYCLIC};
    options.method = *text == 'b' ? TULLE_KRYLOV_BLOCK_CG : *text == 'c' ? TULLE_KRYLOV_CG : TULLE_KRYLOV_GMRES;
    options.restart = 2;
    options.tolerance = 0.3; /* each iteration is the same again */
    options.guess = 1;
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    if (status == TULLE_OK) status = tulle_precond_kind_parse(text + 2, &kind);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(B, 1);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_precond_new(A, kind, NULL, &precond);
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, &precond, B, X, &options, report);
    if (status == TULLE_OK) status = tulle_krylov_check(A, B, X, &options, &error);
    tulle_operator_free(&precond);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    tulle_layout_free(layout);
    return status;
}

/* Y = A X by a stream, and by a solver that it is the operator of. text: the device, and behind a blank the format; or
 * a file, which is written first. */
static tulle_status stream(struct fixture *f, const char *text)
{
    char path[PATH_MOST];
    tulle_stream *stream = NULL;
    tulle_rows *rows = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_stream_report report;
    tulle_krylov_report told;
    tulle_krylov_options options = {.method = TULLE_KRYLOV_GMRES, .tolerance = 0.9, .restart = 2, .max_iterations = 9};
    tulle_stream_options how = {0};
    int is_file = strchr(text, '.') != NULL;
    char device[64];
    tulle_status status;
    snprintf(device, sizeof device, "%.*s", (int)strcspn(text, " "), text);
    how.device = is_file ? "cpu" : device;
    how.format = strchr(text, ' ') ? strchr(text, ' ') + 1 : NULL;
    how.slabs = 3;
    if (is_file) {
        status = tulle_mat_save_as(f->A, in_folder(text, path), "bsr:b=2");
        if (status == TULLE_OK) status = tulle_rows_open(f->comm, path, &rows);
        if (status == TULLE_OK) status = tulle_rows_diagonal(rows, 2, &A);
        if (status == TULLE_OK) status = tulle_stream_of_rows(rows, &how, &stream);
    } else {
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", NULL, TULLE_CSR, NULL, NULL, &A);
        if (status == TULLE_OK) status = tulle_stream_new(A, &how, &stream);
    }
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(f->comm, tulle_stream_layout(stream), TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(f->comm, tulle_stream_layout(stream), TULLE_F64, TULLE_ROW_MAJOR, &Y);
    if (status == TULLE_OK) status = tulle_mat_fill_random(X, 1);
    if (status == TULLE_OK) status = tulle_stream_multiply(stream, X, Y, &report);
    if (status == TULLE_OK && !is_file) status = tulle_operator_of_stream(stream, &op);
    if (status == TULLE_OK && !is_file) status = tulle_krylov_solve(&op, NULL, X, Y, &options, &told);
    tulle_operator_free(&op);
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    tulle_mat_free(A);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    return status;
}

static tulle_status algebra(struct fixture *f, const char *text)
{
    (void)text;
    tulle_mat *sum = NULL, *part = NULL;
    double value, diagonal[M];
    tulle_status status = tulle_mat_add(2, f->A, 1, f->A, &sum);
    if (status == TULLE_OK) status = tulle_mat_scale(sum, 2, NULL, NULL);
    if (status == TULLE_OK) status = tulle_mat_drop(sum, 10);
    if (status == TULLE_OK) status = tulle_mat_range(sum, 1, M - 2, 2, M - 4, &part);
    if (status == TULLE_OK) status = tulle_mat_diagonal(part, diagonal);
    if (status == TULLE_OK) status = tulle_mat_norm(part, TULLE_NORM_ONE, &value);
    if (status == TULLE_OK) status = tulle_mat_sddmm(1, f->D, f->D, sum);
    tulle_mat_free(part);
    tulle_mat_free(sum);
    return status;
}

/* This PE's rows of a matrix in arrays of its own, or, dense, of N columns; 32-bit pointers. */
struct own_rows {
    int32_t ptr[M + 1], ind[M];
    double val[M * N];
    tulle_array array;
};

static void fill_rows(const struct fixture *f, int dense, struct own_rows *r)
{
    int rank = tulle_comm_rank(f->comm), size = tulle_comm_size(f->comm);
    int first = M * rank / size, count = M * (rank + 1) / size - first;
    for (int i = 0; i <= count; i++) r->ptr[i] = i;
    for (int i = 0; i < count; i++) r->ind[i] = first + i;
    for (int i = 0; i < M * N; i++) r->val[i] = 2;
    r->array = dense ? TULLE_ARRAY_DENSE(M, N, r->val) : TULLE_ARRAY_CSR(M, M, r->ptr, r->ind, r->val);
    r->array.first = first;
    r->array.count = count;
    r->array.nnz = dense ? 0 : count;
}

/* text: s(parse product), d(ense), c(g) or t(riangular) */
static tulle_status with_arrays(struct fixture *f, const char *text)
{
    struct own_rows A, B;
    tulle_array C = {.storage = *text == 's' ? TULLE_STORAGE_CSC : TULLE_STORAGE_DENSE};
    fill_rows(f, 0, &A);
    fill_rows(f, 1, &B);
    tulle_status status =
        *text == 's'   ? tulle_multiply(f->comm, TULLE_OP_N, TULLE_OP_N, 1, &A.array, &A.array, 0, &C, NULL, NULL)
        : *text == 'd' ? tulle_multiply(f->comm, TULLE_OP_T, TULLE_OP_N, 1, &A.array, &B.array, 0, &C, NULL, NULL)
        : *text == 'c' ? tulle_solve(f->comm, &A.array, &B.array, &C, NULL, NULL)
                       : tulle_solve_triangular(f->comm, &A.array, &B.array, &C, NULL);
    tulle_array_free(&C);
    return status;
}

/* text: the storage of what comes out */
static tulle_status into_arrays(struct fixture *f, const char *text)
{
    struct own_rows A;
    tulle_mat *made = NULL;
    tulle_array out = {.storage = (tulle_storage)(*text - '0')};
    fill_rows(f, 0, &A);
    tulle_status status = tulle_mat_from_array(f->comm, &A.array, &made);
    if (status == TULLE_OK) status = tulle_mat_to_array(made, 0, &out);
    tulle_array_free(&out);
    tulle_mat_free(made);
    return status;
}

static tulle_status probe(struct fixture *f, const char *text)
{
    tulle_device_facts facts;
    (void)f;
    return tulle_device_probe(text, &facts);
}

typedef tulle_status (*call)(struct fixture *f, const char *text);

static tulle_status multiply_elements(struct fixture *f, const char *text)
{
    tulle_operator op = {.comm = NULL};
    tulle_mat *x = NULL, *y = NULL;
    void *bound = NULL;
    (void)text;
    tulle_status status = tulle_operator_of_elements(f->comm, "cantilever:nodes=2,dof=3", TULLE_F64, &op);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, op.layout, TULLE_F64, TULLE_ROW_MAJOR, &x);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, op.layout, TULLE_F64, TULLE_ROW_MAJOR, &y);
    if (status == TULLE_OK) status = op.bind(op.context, x, y, &bound);
    if (status == TULLE_OK) status = op.apply(bound);
    if (bound) op.unbind(bound);
    tulle_mat_free(x);
    tulle_mat_free(y);
    tulle_operator_free(&op);
    return status;
}

/* Blocks of 2 x 3 in a column of PEs, all of M x M. text: c(opies), p(roduct) */
static tulle_status cyclic(struct fixture *f, const char *text)
{
    double A[M * M] = {0}, B[M * M] = {0}, C[M * M];
    tulle_cyclic x = {
        .m = M, .n = M, .row_block = 2, .col_block = 3, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_cyclic_part part = {.cyclic = &x, .m = M, .n = M, .ld = M};
    if (*text == 'p')
        return tulle_gemm_cyclic(f->comm, TULLE_F64, TULLE_OP_T, &part, A, TULLE_OP_N, &part, B, 1, 0, &part, C, NULL);
    tulle_mat *X = NULL;
    tulle_status status = tulle_mat_from_cyclic(f->comm, &part, TULLE_F64, A, f->square, &X);
    if (status == TULLE_OK) status = tulle_mat_to_cyclic(X, &part, B);
    tulle_mat_free(X);
    return status;
}

/* Names of the functions that a call tries, and with what. */
enum { TEXTS = 9 };
static const struct subject {
    const char *names;
    call call;
    const char *text[TEXTS + 1]; /* for it, one after the other */
    const char *needs;           /* a fact of the build, NULL: nothing */
    int alone;                   /* a PE may fail alone: the status is agreed on here */
} subjects[] = {
    {"tulle_comm_broadcast", broadcast, {""}, NULL, 1},
    {"tulle_comm_reduce_int tulle_comm_reduce_real", reduce, {""}, NULL, 1},
    {"tulle_comm_split tulle_comm_free", split, {""}, NULL, 0},
    {"tulle_layout_new tulle_layout_copy tulle_layout_transpose tulle_layout_free", layouts, {""}, NULL, 1},
    {"tulle_mat_new_dense tulle_mat_new_dense_undefined tulle_mat_new_csr tulle_mat_free", new_mats, {""}, NULL, 0},
    {"tulle_mat_from_csr", from_csr, {"r"}, NULL, 0},
    {"tulle_mat_from_csc", from_csr, {"c"}, NULL, 0},
    {"tulle_mat_from_bsr", from_csr, {"b"}, NULL, 0},
    {"tulle_mat_from_entries", from_entries, {""}, NULL, 0},
    {"tulle_mat_get_tile tulle_fetch_wait tulle_fetch_free", get_tiles, {""}, NULL, 1},
    {"tulle_mat_replace tulle_mat_renew", replace, {""}, NULL, 0},
    {"tulle_mat_redistribute tulle_mat_transpose tulle_mat_fill_random", reshape, {""}, NULL, 0},
    {"tulle_layout_in_blocks tulle_mat_to_vbsr tulle_mat_to_bsr tulle_mat_to_csr", blocks, {"v.mtx"}, NULL, 0},
    {"tulle_mat_new_vbsr", new_blocks, {""}, NULL, 0},
    {"tulle_mat_order", order, {""}, NULL, 0},
    {"tulle_mat_add tulle_mat_scale tulle_mat_drop tulle_mat_range tulle_mat_diagonal tulle_mat_norm "
     "tulle_mat_sddmm",
        algebra, {""}, NULL, 0},
    {"tulle_mat_from_array tulle_mat_to_array tulle_array_free", into_arrays, {"0", "1", "2", "3"}, NULL, 0},
    {"tulle_multiply", with_arrays, {"s", "d"}, NULL, 0},
    {"tulle_solve tulle_solve_triangular", with_arrays, {"c", "t"}, NULL, 0},
    {"tulle_mat_row_nnz tulle_mat_row_flops", weigh, {""}, NULL, 0},
    {"tulle_mat_save", save_sparse, {"a.mtx", "a.mtx.gz", "a.npz", "a.bsp.h5"}, NULL, 0},
    {"tulle_mat_save_as", save_as, {"b.bsp.h5", "auto.bsp.h5"}, NULL, 0},
    {"tulle_mat_save", save_dense, {"d.mtx", "d.npy", "d.bsp.h5"}, NULL, 0},
    {"tulle_writer_open tulle_writer_append tulle_writer_close", write_pieces,
        {"p.mtx", "p.mtx.gz", "p.npz", "p.bsp.h5"}, NULL, 0},
    {"tulle_operand_save", write_slabs, {"s.mtx", "s.mtx.gz", "s.npz", "s.bsp.h5"}, NULL, 0},
    {"tulle_operand_inspect", inspect, {"a.mtx", "a.mtx.gz", "a.npz", "d.npy", "a.bsp.h5", "rmat:scale=4"}, NULL, 1},
    {"tulle_mat_load", load_sparse,
        {"a.mtx", "a.mtx.gz", "a.npz", "a.bsp.h5", "d.mtx", "d.npy", "rmat:scale=4", "er:n=20,degree=3",
            "cantilever:nodes=2,dof=3"},
        NULL, 0},
    {"tulle_mat_load", load_dense, {"a.mtx", "d.npy", "d.bsp.h5", "dense:m=6,n=5"}, NULL, 0},
    {"tulle_mat_from_cyclic tulle_mat_to_cyclic", cyclic, {"c"}, NULL, 0},
    {"tulle_gemm_cyclic", cyclic, {"p"}, NULL, 0},
    {"tulle_product_layout", product_layout, {""}, NULL, 1},
    {"tulle_product_new tulle_product_execute tulle_product_free tulle_product_check_matrices", product,
        {"d1 stationary-c", "d1 stationary-a", "s1 stationary-b", "s1 steal-local-c", "d1 summa", "s1 auto"}, NULL, 0},
    {"tulle_product_next tulle_product_check", product, {"s2 stationary-a"}, NULL, 0},
    {"tulle_factor_ilu0", incomplete, {"i"}, NULL, 0},
    {"tulle_factor_ic0", incomplete, {"c"}, NULL, 0},
    {"tulle_direct_lu tulle_direct_free", direct, {"l"}, "SuiteSparse: yes", 0},
    {"tulle_direct_cholesky tulle_direct_free", direct, {"c"}, "SuiteSparse: yes", 0},
    {"tulle_mat_triangle tulle_trisolve_new tulle_trisolve_execute tulle_trisolve_free tulle_trisolve_check",
        solve_triangle, {"chunked"}, NULL, 0},
    {"tulle_trisolve_new tulle_trisolve_layout tulle_trisolve_update", solve_triangle, {"p2p"}, NULL, 0},
    {"tulle_trisolve_new tulle_trisolve_execute tulle_trisolve_update", solve_triangle,
        {"push", "supernodal", "unified-tasks", "zerocopy"}, NULL, 0},
    {"tulle_trisolve_rhs tulle_trisolve_forward", foreknow, {""}, NULL, 0},
    {"tulle_operator_of_elements tulle_operator_free", multiply_elements, {""}, NULL, 0},
    {"tulle_operator_of_mat tulle_operator_free tulle_krylov_solve tulle_krylov_check", solve_iteratively, {"c none"},
        NULL, 0},
    {"tulle_precond_new tulle_krylov_solve", solve_iteratively,
        {"c ic0", "g ilu0", "g jacobi", "b jacobi", "c block-jacobi"}, NULL, 0},
    {"tulle_device_probe", probe, {"limit+cpu"}, NULL, 1},
    {"tulle_stream_new tulle_stream_multiply tulle_stream_free tulle_operator_of_stream", stream, {"limit+cpu"}, NULL,
        0},
    {"tulle_stream_new tulle_stream_multiply", stream, {"limit+cpu bsr:b=2,half"}, NULL, 0},
    {"tulle_rows_open tulle_rows_free tulle_rows_diagonal tulle_stream_of_rows", stream, {"s.bsp.h5"}, NULL, 0},
    {"tulle_output_try tulle_output_try_matrix tulle_file_write tulle_machine_try tulle_machine_save", put_files, {""},
        NULL, 1},
    {"tulle_machine_measure_tiers", look_around, {""}, NULL, 0},
    {"tulle_counts_new tulle_counts_free tulle_predict tulle_predict_best tulle_predict_loads", foresee, {"s", "d"},
        NULL, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* What the build must have for a text with this in it. */
static const struct {
    const char *part, *fact;
} wants[] = {{".gz", "zlib: yes"}, {".npz", "zlib: yes"}, {".h5", "HDF5: yes"}, {"block-jacobi", "LAPACK: yes"}};

/* What the program calls outside a body, charged to the process. */
static tulle_status open_and_run(void);
static tulle_status open_alone(void);
static tulle_status measure(void);
static const struct host_subject {
    const char *names;
    tulle_status (*call)(void);
    int step; /* over 1: beyond the first STEPWISE allocations only every so many fail, as each try takes long */
} host_subjects[] = {
    /* tulle_team_new_over is tulle_team_new with a communicator for the engine; only an MPI program can call it */
    {"tulle_team_new tulle_team_new_over tulle_team_run tulle_team_trace_write tulle_team_free", open_and_run, 1},
    {"tulle_open tulle_close", open_alone, 1},
    /* the rest are the kernels', which test/device makes fail one by one */
    {"tulle_machine_measure", measure, 13},
};
enum { HOST_SUBJECTS = sizeof host_subjects / sizeof *host_subjects };

/* Functions that take no memory from an account. */
static const char without[] =
    " tulle_krylov_method_name tulle_krylov_method_parse tulle_precond_kind_name tulle_precond_kind_parse "
    "tulle_precond_parse_spec "
    "tulle_stop_name "
    "tulle_product_alg_name tulle_product_alg_parse tulle_trisolve_method_name tulle_trisolve_method_parse "
    "tulle_trisolve_method_of "
    "tulle_direct_usable tulle_elimination_parse "
    "tulle_transfers_name tulle_transfers_parse tulle_launched_by tulle_launched_rank "
    "tulle_launched_size tulle_launcher_list "
    "tulle_launcher_program "
    "tulle_launcher_usable tulle_team_leads tulle_build_fact tulle_comm_agree tulle_comm_allgather tulle_comm_barrier "
    "tulle_comm_rank tulle_comm_seconds tulle_comm_size tulle_cuts_even tulle_cuts_weighted tulle_engine_usable "
    "tulle_error_message tulle_fail tulle_cyclic_from_descriptor tulle_cyclic_to_descriptor "
    "tulle_cyclic_local_rows tulle_cyclic_local_cols tulle_gemm_grid_of tulle_gemm_grid_best "
    "tulle_gemm_grid_layouts "
    "tulle_grid_square tulle_layout_col_cut tulle_layout_cols tulle_layout_owner tulle_layout_row_cut "
    "tulle_layout_col_blocks tulle_layout_row_blocks tulle_kind_name "
    "tulle_layout_rows tulle_layout_tile_cols tulle_layout_tile_rows tulle_machine_load tulle_machine_path "
    "tulle_machine_find tulle_counts_flops tulle_counts_entries tulle_roofline_spmm tulle_roofline_spgemm "
    "tulle_roofline_gemm "
    "tulle_roofline_network "
    "tulle_budget_add tulle_budget_least tulle_budget_check tulle_memory_free tulle_krylov_memory "
    "tulle_output_distinct tulle_mat_bytes tulle_mat_cols tulle_mat_comm tulle_mat_kind tulle_mat_layout tulle_mat_nnz "
    "tulle_mat_ordered tulle_mat_own_tile tulle_mat_rows tulle_mat_tile tulle_mat_type tulle_nearest_word "
    "tulle_operand_generator "
    "tulle_parse_bytes "
    "tulle_parse_int tulle_parse_real tulle_parse_type tulle_parse_word tulle_product_alg_of tulle_product_bytes "
    "tulle_product_describe "
    "tulle_product_replication tulle_product_report_add tulle_machine_merge "
    "tulle_product_phases tulle_product_bound tulle_status_name tulle_status_text tulle_team_memory_peak "
    "tulle_team_size tulle_team_sizes_only tulle_team_spec tulle_team_threads tulle_team_virtual tulle_team_watch "
    "tulle_type_name "
    "tulle_type_size "
    "tulle_device_list tulle_rows_count tulle_rows_cols tulle_rows_nnz tulle_rows_type tulle_rows_set_type "
    "tulle_rows_manner "
    "tulle_stream_planned tulle_stream_layout tulle_stream_describe "
    "tulle_version ";

#endif
