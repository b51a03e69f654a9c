/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public call that takes a matrix, with a hypersparse one: hypersparse_calls SPEC PES HEADER... Of matrices that
 * CSR can have, the call's results, status and message are those of the same matrix in CSR. Of larger ones it succeeds,
 * or its message says that the matrix is hypersparse, or how much memory it takes. A function of the headers that
 * has a const matrix and is not in the table is a failure.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
#include "built_with.h"
#include "tap.h"
#include "temporary.h"

enum { MOST = 64, ENTRIES = 256, SLOTS = 8 };

static char folder[TEMPORARY_MOST];

/* Numbers that a call leaves, the same on all PEs, and what it has made, to be freed. */
struct facts {
    tulle_comm *comm;
    int count, made;
    double at[MOST];
    tulle_mat *mat[SLOTS];
};

static void note(struct facts *f, double value)
{
    f->at[f->count++] = value;
}

/* A place for a matrix that is freed after the call. */
static tulle_mat **made(struct facts *f)
{
    return &f->mat[f->made++];
}

static double weight(tulle_gidx row, tulle_gidx col)
{
    return (double)(tulle__random_at(3, (uint64_t)row, (uint64_t)col) % 1000) / 1000;
}

/* Notes the size, the number of entries, and the sum of entries times weights of their places. */
static tulle_status note_mat(struct facts *f, const tulle_mat *M)
{
    tulle_array out = {.storage = TULLE_STORAGE_COO, .ind_bytes = 8};
    double sum[2] = {0, 0};
    tulle_status status = tulle_mat_to_array(M, TULLE_AUTO, &out);
    if (status != TULLE_OK) return status;
    for (int64_t e = 0; e < out.nnz; e++) {
        const double x = out.type == TULLE_F32 ? (double)((float *)out.val)[e] : ((double *)out.val)[e];
        sum[0] += x * weight(((int64_t *)out.ind)[e], ((int64_t *)out.col)[e]);
        sum[1] += x != 0; /* elements of blocks may be zeros */
    }
    tulle_array_free(&out);
    status = tulle_comm_reduce_real(f->comm, TULLE_SUM, 2, sum);
    note(f, sum[0]);
    note(f, sum[1]);
    note(f, (double)tulle_mat_rows(M));
    note(f, (double)tulle_mat_cols(M));
    return status;
}

/* A dense matrix over the PEs. */
static tulle_status dense(struct facts *f, tulle_gidx m, tulle_gidx n, uint64_t seed, tulle_mat **D)
{
    const tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_layout *layout = NULL;
    tulle_mat **X = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout));
    if (status == TULLE_OK)
        status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, seed % 2 ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK && seed) status = tulle_mat_fill_random(*X, seed);
    tulle_layout_free(layout);
    *D = *X;
    return status;
}

/* ---- calls; the names that they are of stand in the table ---- */

typedef tulle_status call(tulle_mat *A, struct facts *f);

static tulle_status sizes(tulle_mat *A, struct facts *f)
{
    note(f, (double)tulle_mat_nnz(A));
    note(f, tulle_mat_type(A));
    note(f, tulle_mat_kind(A));
    note(f, tulle_mat_ordered(A));
    note(f, tulle_mat_symmetry(A));
    note(f, tulle_layout_tile_rows(tulle_mat_layout(A)));
    note(f, tulle_mat_nnz(A) == 0 || tulle_mat_bytes(A) > 0);
    tulle_status status = tulle_mat_order(A);
    if (status == TULLE_OK) status = tulle_mat_renew(A);
    return status == TULLE_OK ? note_mat(f, A) : status;
}

static tulle_status transpose(tulle_mat *A, struct facts *f)
{
    tulle_mat **T = made(f);
    tulle_status status = tulle_mat_transpose(A, T);
    return status == TULLE_OK ? note_mat(f, *T) : status;
}

static tulle_status redistribute(tulle_mat *A, struct facts *f)
{
    const tulle_layout_spec spec = {.m = tulle_mat_rows(A), .n = tulle_mat_cols(A), .tile_rows = 2, .tile_cols = 3};
    tulle_layout *layout = NULL;
    tulle_mat **C = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_redistribute(A, layout, C);
    tulle_layout_free(layout);
    return status == TULLE_OK ? note_mat(f, *C) : status;
}

static tulle_status algebra(tulle_mat *A, struct facts *f)
{
    tulle_mat **sum = made(f), **T = made(f), **both = made(f);
    tulle_status status = tulle_mat_add(2, A, -0.5, A, sum);
    if (status == TULLE_OK) status = note_mat(f, *sum);
    if (status == TULLE_OK) status = tulle_mat_scale(*sum, 2, NULL, NULL);
    if (status == TULLE_OK) status = tulle_mat_drop(*sum, 4);
    if (status == TULLE_OK) status = note_mat(f, *sum);
    if (status == TULLE_OK) status = tulle_mat_transpose(A, T);
    if (status == TULLE_OK && tulle_mat_rows(A) == tulle_mat_cols(A)) status = tulle_mat_add(1, A, 3, *T, both);
    return status == TULLE_OK && *both ? note_mat(f, *both) : status;
}

static tulle_status symmetry(tulle_mat *A, struct facts *f)
{
    tulle_mat **S = made(f);
    double largest = 0;
    tulle_status status = tulle_mat_symmetrise(A, TULLE_SKEW, S);
    if (status == TULLE_OK) status = note_mat(f, *S);
    if (status == TULLE_OK) status = tulle_mat_asymmetry(A, TULLE_SYMMETRIC, &largest);
    note(f, largest);
    return status;
}

static tulle_status triangle(tulle_mat *A, struct facts *f)
{
    tulle_mat **L = made(f), **U = made(f);
    tulle_status status = tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_STORED, L);
    if (status == TULLE_OK) status = note_mat(f, *L);
    if (status == TULLE_OK) status = tulle_mat_triangle(A, TULLE_UPPER, TULLE_DIAG_UNIT, U);
    return status == TULLE_OK ? note_mat(f, *U) : status;
}

static tulle_status numbers(tulle_mat *A, struct facts *f)
{
    int64_t rows = 0;
    double value = 0;
    tulle_status status = TULLE_OK;
    for (int norm = TULLE_NORM_ONE; norm <= TULLE_NORM_MAX && status == TULLE_OK; norm++, note(f, value))
        status = tulle_mat_norm(A, (tulle_norm)norm, &value);
    if (status == TULLE_OK) status = tulle_mat_infinite_rows(A, &rows);
    note(f, (double)rows);
    if (status == TULLE_OK && tulle_mat_rows(A) == tulle_mat_cols(A)) status = tulle_mat_trace(A, &value);
    note(f, value);
    return status;
}

static tulle_status discs(tulle_mat *A, struct facts *f)
{
    double least = 0, most = 0;
    const tulle_status status = tulle_mat_gershgorin(A, &least, &most);
    note(f, least);
    note(f, most);
    return status;
}

static tulle_status range(tulle_mat *A, struct facts *f)
{
    tulle_mat **P = made(f);
    tulle_status status = tulle_mat_range(A, 1, tulle_mat_rows(A) - 1, 0, tulle_mat_cols(A) - 1, P);
    if (status == TULLE_OK) status = note_mat(f, *P);
    return status;
}

static tulle_status to_csr(tulle_mat *A, struct facts *f)
{
    tulle_mat **C = made(f);
    tulle_status status = tulle_mat_to_csr(A, true, C);
    return status == TULLE_OK ? note_mat(f, *C) : status;
}

static tulle_status to_blocks(tulle_mat *A, struct facts *f)
{
    static const tulle_gidx even[] = {0, 6, 12, 18, 24};
    static const tulle_block_cuts cuts = {4, even};
    tulle_layout *layout = NULL;
    tulle_mat **V = made(f), **S = made(f);
    tulle_status status = tulle_mat_to_bsr(A, 2, 1, S);
    if (status == TULLE_OK) status = note_mat(f, *S);
    if (status != TULLE_OK || tulle_mat_rows(A) != 24 || tulle_mat_cols(A) != 24) return status;
    status = tulle_comm_agree(f->comm, tulle_layout_in_blocks(tulle_mat_layout(A), &cuts, &cuts, &layout));
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, layout, V);
    tulle_layout_free(layout);
    return status == TULLE_OK ? note_mat(f, *V) : status;
}

static tulle_status arrays(tulle_mat *A, struct facts *f)
{
    tulle_status status = TULLE_OK;
    for (int s = TULLE_STORAGE_DENSE; s <= TULLE_STORAGE_CSC && status == TULLE_OK; s++) {
        tulle_array out = {.storage = (tulle_storage)s};
        status = tulle_mat_to_array(A, 0, &out);
        double seen[2] = {(double)out.nnz, (double)out.count};
        if (status == TULLE_OK) status = tulle_comm_reduce_real(f->comm, TULLE_SUM, 2, seen);
        note(f, seen[0]);
        note(f, seen[1]);
        tulle_array_free(&out);
    }
    return status;
}

static tulle_status through_file(tulle_mat *A, struct facts *f, const char *name, const char *format)
{
    char path[TEMPORARY_MOST + 32];
    tulle_mat **B = made(f);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    tulle_status status = format ? tulle_mat_save_as(A, path, format) : tulle_mat_save(A, path);
    if (status == TULLE_OK) status = tulle_mat_load(f->comm, path, NULL, TULLE_CSR, NULL, NULL, B);
    if (status == TULLE_OK) status = note_mat(f, *B);
    if (tulle_comm_rank(f->comm) == 0) (void)remove(path);
    return status;
}

static tulle_status save_mtx(tulle_mat *A, struct facts *f)
{
    return through_file(A, f, "A.mtx", NULL);
}

static tulle_status save_symmetric(tulle_mat *A, struct facts *f)
{
    tulle_mat **S = made(f);
    const tulle_status status = tulle_mat_symmetrise(A, TULLE_SYMMETRIC, S);
    return status == TULLE_OK ? through_file(*S, f, "S.mtx", "symmetric") : status;
}

static tulle_status save_npz(tulle_mat *A, struct facts *f)
{
    return through_file(A, f, "A.npz", NULL);
}

static tulle_status save_petsc(tulle_mat *A, struct facts *f)
{
    return through_file(A, f, "A.petsc", NULL);
}

static tulle_status save_binsparse(tulle_mat *A, struct facts *f)
{
    return through_file(A, f, "A.bsp.h5", NULL);
}

static tulle_status save_blocks(tulle_mat *A, struct facts *f)
{
    return through_file(A, f, "B.bsp.h5", "bsr:b=2");
}

static tulle_status save_in_pieces(tulle_mat *A, struct facts *f)
{
    char path[TEMPORARY_MOST + 32];
    tulle_writer *writer = NULL;
    snprintf(path, sizeof path, "%s/P.mtx", folder);
    tulle_status status = tulle_writer_open(f->comm, path, tulle_mat_rows(A), tulle_mat_cols(A), TULLE_F64, &writer);
    if (status == TULLE_OK) {
        status = tulle_writer_append(writer, A);
        if (status == TULLE_OK)
            status = tulle_writer_close(writer);
        else
            (void)remove(path); /* an open writer is freed with the team, and with it what it has written */
    }
    if (status == TULLE_OK) status = tulle_mat_load(f->comm, path, NULL, TULLE_CSR, NULL, NULL, made(f));
    if (status == TULLE_OK) status = note_mat(f, f->mat[f->made - 1]);
    if (tulle_comm_rank(f->comm) == 0) (void)remove(path);
    return status;
}

/* C = -2 A B + 0.5 C after C = A B, both checked. */
static tulle_status products(
    struct facts *f, const tulle_mat *A, const tulle_mat *B, tulle_mat *C, const tulle_product_options *options)
{
    tulle_product *plan = NULL;
    double error = 0;
    tulle_status status = tulle_product_new(A, B, C, options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = tulle_product_sync(plan);
    if (status == TULLE_OK) status = note_mat(f, C);
    if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    if (status == TULLE_OK) status = tulle_product_check_matrices(1, A, options->op_a, B, options->op_b, C, &error);
    if (status == TULLE_OK) status = tulle_product_execute(plan, -2, 0.5, NULL);
    if (status == TULLE_OK) status = note_mat(f, C);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 0, 3, NULL);
    if (status == TULLE_OK) status = note_mat(f, C);
    note(f, tulle_product_replication(plan) + tulle_product_phases(plan) + (tulle_product_bytes(plan) > 0));
    tulle_product_free(plan);
    return status;
}

static tulle_status spgemm(tulle_mat *A, struct facts *f)
{
    const tulle_product_options options = {.op_b = TULLE_OP_T, .alg = TULLE_PRODUCT_STATIONARY_C};
    tulle_layout *layout = NULL;
    tulle_mat **C = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_product_layout(A, options.op_a, A, options.op_b, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = products(f, A, A, *C, &options);
    tulle_layout_free(layout);
    return status;
}

/* A CSR matrix with two entries a row, where a matrix of this size is small. */
static tulle_status two_a_row(struct facts *f, tulle_gidx m, tulle_gidx n, tulle_mat **B)
{
    const tulle_layout_spec spec = {.m = m, .n = n, .grid_rows = tulle_comm_size(f->comm), .grid_cols = 1};
    tulle_gidx row[ENTRIES], col[ENTRIES];
    double val[ENTRIES];
    int64_t count = 0;
    tulle_layout *layout = NULL;
    for (tulle_gidx r = 0; r < m && tulle_comm_rank(f->comm) == 0 && count < ENTRIES - 1; r++)
        for (int e = 0; e < 2; e++, count++) row[count] = r, col[count] = (5 * r + e) % n, val[count] = (double)(r + e);
    tulle_status status = tulle_comm_agree(f->comm, tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout));
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(f->comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, B);
    tulle_layout_free(layout);
    return status;
}

/* A times a matrix in CSR, and such a one times A. */
static tulle_status with_csr(tulle_mat *A, struct facts *f)
{
    const tulle_product_options plain = {.alg = TULLE_PRODUCT_STATIONARY_C},
                                turned = {.op_a = TULLE_OP_T, .op_b = TULLE_OP_T};
    tulle_layout *layout = NULL;
    tulle_mat **B = made(f), **C = made(f), **D = made(f);
    tulle_status status = two_a_row(f, tulle_mat_cols(A), 7, B);
    if (status == TULLE_OK)
        status = tulle_comm_agree(f->comm, tulle_product_layout(A, TULLE_OP_N, *B, TULLE_OP_N, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = products(f, A, *B, *C, &plain);
    tulle_layout_free(layout);
    layout = NULL;
    if (status == TULLE_OK)
        status = tulle_comm_agree(f->comm, tulle_product_layout(*B, TULLE_OP_T, A, TULLE_OP_T, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, D);
    if (status == TULLE_OK) status = products(f, *B, A, *D, &turned);
    tulle_layout_free(layout);
    return status;
}

static tulle_status spmm(tulle_mat *A, struct facts *f)
{
    tulle_mat *X, *Y, *Z;
    tulle_product_options options = {.op_a = TULLE_OP_N};
    tulle_status status = dense(f, tulle_mat_cols(A), 3, 1, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 3, 2, &Y);
    if (status == TULLE_OK) status = products(f, A, X, Y, &options);
    options.op_a = TULLE_OP_T;
    options.alg = TULLE_PRODUCT_STATIONARY_A;
    if (status == TULLE_OK) status = products(f, A, Y, X, &options);
    options.op_b = TULLE_OP_T;
    if (status == TULLE_OK) status = dense(f, 3, tulle_mat_rows(A), 3, &Z);
    return status == TULLE_OK ? products(f, A, Z, X, &options) : status;
}

static tulle_status selection(tulle_mat *A, struct facts *f)
{
    const tulle_selection two = {.by_rank = true, .top = 2, .cosine = true};
    const tulle_product_options options = {.op_b = TULLE_OP_T, .selection = &two};
    tulle_layout *layout = NULL;
    tulle_product *plan = NULL;
    tulle_mat **C = made(f);
    tulle_status status = tulle_comm_agree(f->comm, tulle_product_layout(A, TULLE_OP_N, A, TULLE_OP_T, &layout));
    if (status == TULLE_OK) status = tulle_mat_new_csr(f->comm, layout, TULLE_F64, C);
    if (status == TULLE_OK) status = tulle_product_new(A, A, *C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, NULL);
    if (status == TULLE_OK) status = note_mat(f, *C);
    tulle_product_free(plan);
    tulle_layout_free(layout);
    return status;
}

static tulle_status explain(tulle_mat *A, struct facts *f)
{
    tulle_product_mechanism mechanism[TULLE_PRODUCT_MECHANISMS];
    return tulle_comm_size(f->comm) == 1 ? tulle_product_explain(A, A, 0, mechanism) : TULLE_OK;
}

static tulle_status counts(tulle_mat *A, struct facts *f)
{
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_counts *c = NULL;
    tulle_machine machine;
    tulle_prediction p = {.suits = false};
    const tulle_gidx m = tulle_mat_rows(A), k = tulle_mat_cols(A), n = m == k ? k : 3,
                     size[3][2] = {{m, k}, {k, n}, {m, n}};
    tulle_status status = TULLE_OK;
    for (int x = 0; x < 3 && status == TULLE_OK; x++) {
        const tulle_layout_spec spec = {
            .m = size[x][0], .n = size[x][1], .grid_rows = 2, .grid_cols = 2, .tile_rows = 2, .tile_cols = 2};
        status = tulle_layout_new(&spec, 4, &l[x]);
    }
    status = tulle_comm_agree(f->comm, status);
    const tulle_counts_spec spec = {.a = l[0], .b = l[1], .c = l[2], .pes = 4, .type = TULLE_F64};
    if (status == TULLE_OK) status = tulle_counts_new(A, m == k ? A : NULL, &spec, &c);
    if (status == TULLE_OK) status = tulle_machine_find("summit", 1, &machine);
    if (status == TULLE_OK) status = tulle_predict_best(c, &machine, NULL, &p);
    note(f, status == TULLE_OK ? tulle_counts_flops(c) : 0);
    tulle_counts_free(c);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status;
}

static tulle_status bound(tulle_mat *A, struct facts *f)
{
    tulle_machine machine;
    const tulle_status status = tulle_machine_find("summit", 1, &machine);
    if (status == TULLE_OK) note(f, tulle_product_bound(&machine, A, A, A, 10).seconds > 0);
    return status;
}

static tulle_status sddmm(tulle_mat *A, struct facts *f)
{
    tulle_mat *X, *Y;
    tulle_status status = dense(f, tulle_mat_rows(A), 3, 1, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 3, 2, &Y);
    if (status == TULLE_OK) status = tulle_mat_sddmm(2, X, Y, A);
    return status == TULLE_OK ? note_mat(f, A) : status;
}

static tulle_status lines(tulle_mat *A, struct facts *f)
{
    tulle_gidx order[64];
    int64_t work[64];
    double diagonal[64], factor[64];
    tulle_mat **P = made(f);
    tulle_status status = tulle_mat_row_nnz(A, work);
    for (int r = 0; r < tulle_mat_rows(A) && r < 64; r++) factor[r] = r + 1;
    note(f, (double)work[0]);
    if (status == TULLE_OK) status = tulle_mat_diagonal(A, diagonal);
    note(f, diagonal[0]);
    if (status == TULLE_OK) status = tulle_mat_ordering(A, TULLE_ORDERING_RANDOM, 1, order);
    if (status == TULLE_OK) status = tulle_mat_permute(A, order, NULL, P);
    if (status == TULLE_OK) status = note_mat(f, *P);
    if (status == TULLE_OK) status = tulle_mat_scale(A, 2, factor, NULL);
    if (status == TULLE_OK) status = note_mat(f, A);
    if (status == TULLE_OK && tulle_mat_rows(A) == tulle_mat_cols(A)) status = tulle_mat_row_flops(A, A, work);
    note(f, (double)work[1]);
    if (status == TULLE_OK) status = tulle_mat_ordering(A, TULLE_ORDERING_AMD, 1, order);
    note(f, (double)order[0]);
    return status;
}

static tulle_status range_add(tulle_mat *A, struct facts *f)
{
    tulle_mat *C;
    tulle_mat **P = made(f);
    tulle_status status = dense(f, tulle_mat_rows(A) + 2, tulle_mat_cols(A) + 1, 3, &C);
    if (status == TULLE_OK) status = tulle_mat_to_csr(A, false, P);
    if (status == TULLE_OK) status = tulle_mat_range_add(2, *P, 1, A, 0, 0);
    return status == TULLE_OK ? note_mat(f, A) : status;
}

static tulle_status krylov(tulle_mat *A, struct facts *f)
{
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_report report;
    tulle_mat *B, *X;
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 1, 1, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 1, 0, &X);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_precond_new(A, TULLE_PRECOND_JACOBI, NULL, &M);
    if (status == TULLE_OK) status = tulle_krylov_solve(&op, &M, B, X, NULL, &report);
    if (status == TULLE_OK) status = note_mat(f, X);
    if (status == TULLE_OK) status = tulle_krylov_check(A, B, X, NULL, &error);
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    return status;
}

static tulle_status trisolve(tulle_mat *A, struct facts *f)
{
    const tulle_trisolve_options options = {.diag = TULLE_DIAG_UNIT};
    tulle_trisolve *solver = NULL;
    tulle_forward forward;
    tulle_mat *B, *X, **T = made(f);
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 2, 2, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 2, 0, &X);
    if (status == TULLE_OK) status = tulle_mat_triangle(A, TULLE_LOWER, TULLE_DIAG_UNIT, T);
    if (status == TULLE_OK) status = tulle_trisolve_new(*T, &options, &solver);
    if (status == TULLE_OK) status = tulle_trisolve_execute(solver, B, X, NULL);
    if (status == TULLE_OK) status = note_mat(f, X);
    if (status == TULLE_OK) status = tulle_trisolve_check(*T, &options, B, X, &error);
    if (status == TULLE_OK) status = tulle_trisolve_rhs(*T, &options, X, B);
    if (status == TULLE_OK) status = tulle_trisolve_forward(*T, &options, X, X, &forward);
    tulle_trisolve_free(solver);
    return status;
}

static tulle_status trisolve_huge(tulle_mat *A, struct facts *f)
{
    tulle_trisolve *solver = NULL;
    const tulle_status status = tulle_trisolve_new(A, NULL, &solver);
    tulle_trisolve_free(solver);
    (void)f;
    return status;
}

static tulle_status factors(tulle_mat *A, struct facts *f)
{
    tulle_mat **L = made(f), **U = made(f), **I = made(f);
    tulle_status status = tulle_factor_ilu0(A, NULL, L, U, NULL);
    if (status == TULLE_OK) status = note_mat(f, *U);
    if (status == TULLE_OK) status = tulle_factor_ic0(A, NULL, I, NULL);
    return status == TULLE_OK ? note_mat(f, *I) : status;
}

static tulle_status ic0(tulle_mat *A, struct facts *f)
{
    return tulle_factor_ic0(A, NULL, made(f), NULL);
}

static tulle_status direct(tulle_mat *A, struct facts *f)
{
    tulle_direct *lu = NULL, *cholesky = NULL;
    tulle_status status = tulle_direct_lu(A, NULL, &lu);
    if (status == TULLE_OK) status = tulle_direct_cholesky(A, NULL, &cholesky);
    tulle_direct_free(lu);
    tulle_direct_free(cholesky);
    (void)f;
    return status;
}

static tulle_status preconditioner(tulle_mat *A, struct facts *f)
{
    tulle_operator M = {.comm = NULL};
    const tulle_status status = tulle_precond_new(A, TULLE_PRECOND_JACOBI, NULL, &M);
    tulle_operator_free(&M);
    (void)f;
    return status;
}

static tulle_status operator_of(tulle_mat *A, struct facts *f)
{
    tulle_operator op = {.comm = NULL};
    const tulle_status status = tulle_operator_of_mat(A, NULL, &op);
    tulle_operator_free(&op);
    (void)f;
    return status;
}

static tulle_status svd(tulle_mat *A, struct facts *f)
{
    const tulle_svd_options options = {.count = 1, .block = 1, .basis = 6};
    tulle_svd *plan = NULL;
    double sigma = 0;
    tulle_status status = tulle_svd_new(A, &options, &plan);
    if (status == TULLE_OK) status = tulle_svd_execute(plan, &sigma, NULL, NULL, NULL, NULL);
    note(f, sigma);
    tulle_svd_free(plan);
    return status;
}

static tulle_status spectrum(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .block = 1, .basis = 6};
    tulle_spectrum *plan = NULL;
    double value = 0;
    tulle_status status = tulle_spectrum_of_mat(A, NULL, &options, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, &value, NULL, NULL, NULL);
    note(f, value);
    tulle_spectrum_free(plan);
    return status;
}

static tulle_status pencil(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .block = 1, .nearest = true, .sigma = .5};
    tulle_spectrum *plan = NULL;
    const tulle_status status = tulle_spectrum_of_mat(A, A, &options, &plan);
    tulle_spectrum_free(plan);
    (void)f;
    return status;
}

static tulle_status lobpcg(tulle_mat *A, struct facts *f)
{
    const tulle_spectrum_options options = {.count = 1, .end = TULLE_SPECTRUM_SMALLEST};
    tulle_operator op = {.comm = NULL};
    double value = 0;
    tulle_status status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_lobpcg(&op, A, NULL, &options, &value, NULL, NULL, NULL);
    note(f, value);
    tulle_operator_free(&op);
    return status;
}

static tulle_status fit(tulle_mat *A, struct facts *f)
{
    const tulle_least_squares_options options = {.damp = .5};
    tulle_mat *B, *X;
    double error = 0;
    tulle_status status = dense(f, tulle_mat_rows(A), 1, 1, &B);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 1, 0, &X);
    if (status == TULLE_OK) status = tulle_least_squares(A, B, X, &options, NULL);
    if (status == TULLE_OK) status = note_mat(f, X);
    return status == TULLE_OK ? tulle_least_squares_check(A, B, X, &options, &error) : status;
}

static tulle_status stream(tulle_mat *A, struct facts *f)
{
    const tulle_stream_options options = {.device = "cpu"};
    tulle_stream *s = NULL;
    tulle_mat *X, *Y;
    double error = 0;
    tulle_status status = tulle_stream_new(A, &options, &s);
    if (status == TULLE_OK) status = dense(f, tulle_mat_cols(A), 2, 2, &X);
    if (status == TULLE_OK) status = dense(f, tulle_mat_rows(A), 2, 0, &Y);
    if (status == TULLE_OK) status = tulle_stream_multiply(s, X, Y, NULL);
    if (status == TULLE_OK) status = note_mat(f, Y);
    if (status == TULLE_OK) status = tulle_stream_check(s, X, Y, &error);
    tulle_stream_free(s);
    return status;
}

static tulle_status functions(tulle_mat *A, struct facts *f)
{
    const tulle_matfun_options options = {.symmetric = true};
    const tulle_density_options density = {.filter = 1e-9};
    tulle_matfun *plan = NULL;
    tulle_mat **D = made(f);
    tulle_status status = tulle_matfun_new(A, &options, &plan);
    tulle_matfun_free(plan);
    if (status == TULLE_OK) status = tulle_density_of_mu(A, NULL, 1, &density, D, NULL);
    return status;
}

static tulle_status density_matrix(tulle_mat *A, struct facts *f)
{
    const tulle_density_options density = {.filter = 1e-9};
    const tulle_status status = tulle_density_of_mu(A, NULL, 1, &density, made(f), NULL);
    return status == TULLE_OK ? tulle_density_of_electrons(A, NULL, 1, &density, made(f), NULL) : status;
}

static tulle_status halves(tulle_mat *A, struct facts *f)
{
    tulle_mat **H = made(f), **F = made(f);
    const tulle_status status = tulle_mat_to_half(A, TULLE_SYMMETRIC, H);
    return status == TULLE_OK ? tulle_mat_to_full(*H, F) : tulle_mat_to_full(A, F);
}

static tulle_status to_cyclic(tulle_mat *A, struct facts *f)
{
    static double val[64 * 64];
    const tulle_cyclic x = {.m = tulle_mat_rows(A),
        .n = tulle_mat_cols(A),
        .row_block = 2,
        .col_block = 3,
        .grid_rows = tulle_comm_size(f->comm),
        .grid_cols = 1};
    const tulle_cyclic_part part = {.cyclic = &x, .m = x.m, .n = x.n, .ld = x.m};
    return tulle_mat_to_cyclic(A, &part, val);
}

static tulle_status compress(tulle_mat *A, struct facts *f)
{
    tulle_mat **H = made(f);
    tulle_status status = tulle_mat_compress(A, H);
    if (status == TULLE_OK) status = note_mat(f, *H);
    return status == TULLE_OK ? tulle_mat_expand(A) : status;
}

enum { ANY, SMALL }; /* SMALL: the caller has arrays of all rows, or columns */

static const struct {
    const char *names;
    call *of;
    int size;
} calls[] = {
    {"tulle_mat_nnz tulle_mat_type tulle_mat_kind tulle_mat_ordered tulle_mat_symmetry tulle_mat_layout "
     "tulle_mat_bytes tulle_mat_rows tulle_mat_cols tulle_mat_comm",
        sizes, ANY},
    {"tulle_mat_transpose", transpose, ANY},
    {"tulle_mat_redistribute", redistribute, ANY},
    {"tulle_mat_add", algebra, ANY},
    {"tulle_mat_symmetrise tulle_mat_asymmetry", symmetry, ANY},
    {"tulle_mat_triangle", triangle, ANY},
    {"tulle_mat_norm tulle_mat_infinite_rows tulle_mat_trace", numbers, ANY},
    {"tulle_mat_gershgorin", discs, ANY},
    {"tulle_mat_range", range, ANY},
    {"tulle_mat_to_csr", to_csr, ANY},
    {"tulle_mat_to_bsr tulle_mat_to_vbsr", to_blocks, ANY},
    {"tulle_mat_to_array", arrays, ANY},
    {"tulle_mat_save", save_mtx, ANY},
    {"tulle_mat_save_as", save_symmetric, ANY},
    {"tulle_mat_save npz", save_npz, ANY},
    {"tulle_mat_save petsc", save_petsc, ANY},
    {"tulle_mat_save bsp.h5", save_binsparse, ANY},
    {"tulle_mat_save_as bsr", save_blocks, ANY},
    {"tulle_writer_append", save_in_pieces, ANY},
    {"tulle_product_layout tulle_product_new tulle_product_check_matrices", spgemm, ANY},
    {"tulle_product_new csr", with_csr, SMALL},
    {"tulle_product_new dense", spmm, SMALL},
    {"tulle_product_new selection", selection, ANY},
    {"tulle_product_explain", explain, ANY},
    {"tulle_counts_new", counts, ANY},
    {"tulle_product_bound", bound, ANY},
    {"tulle_mat_sddmm", sddmm, SMALL},
    {"tulle_mat_row_nnz tulle_mat_row_flops tulle_mat_diagonal tulle_mat_ordering tulle_mat_permute", lines, SMALL},
    {"tulle_mat_range_add", range_add, SMALL},
    {"tulle_krylov_solve tulle_krylov_check", krylov, SMALL},
    {"tulle_operator_of_mat", operator_of, ANY},
    {"tulle_precond_new", preconditioner, ANY},
    {"tulle_trisolve_execute tulle_trisolve_check tulle_trisolve_rhs tulle_trisolve_forward", trisolve, SMALL},
    {"tulle_trisolve_new", trisolve_huge, ANY},
    {"tulle_factor_ilu0", factors, ANY},
    {"tulle_factor_ic0", ic0, ANY},
    {"tulle_direct_lu tulle_direct_cholesky", direct, ANY},
    {"tulle_svd_new", svd, ANY},
    {"tulle_spectrum_of_mat", spectrum, ANY},
    {"tulle_spectrum_of_mat nearest", pencil, ANY},
    {"tulle_lobpcg", lobpcg, ANY},
    {"tulle_least_squares tulle_least_squares_check", fit, SMALL},
    {"tulle_stream_new tulle_stream_multiply tulle_stream_check", stream, ANY},
    {"tulle_matfun_new", functions, ANY},
    {"tulle_density_of_mu tulle_density_of_electrons", density_matrix, ANY},
    {"tulle_mat_to_half tulle_mat_to_full", halves, ANY},
    {"tulle_mat_to_cyclic", to_cyclic, SMALL},
    {"tulle_mat_compress tulle_mat_compressed", compress, ANY},
};

/* Matrices of these functions are dense, in blocks, or seen by single tiles, which hypersparse.c tries. */
static const char without[] =
    "tulle_mat_tile tulle_mat_get_tile tulle_least_squares_check_rows tulle_least_squares_of_rows "
    "tulle_matfun_check tulle_matfun_truncation tulle_stream_check_solve";

/* ---- matrices ---- */

struct shape {
    const char *name;
    tulle_gidx m, n;
    char kind; /* b(and), s(cattered), f(ull row), l(ast place and the first), e(mpty) */
};

static const tulle_gidx HUGE_LINES = (tulle_gidx)1 << 33;

static int64_t draw(const struct shape *s, tulle_gidx *row, tulle_gidx *col, double *val)
{
    int64_t count = 0;
    for (int e = 0; e < ENTRIES / 4 && s->kind != 'e'; e++) {
        const tulle_gidx r = s->kind == 'b'   ? e
                             : e == 0         ? s->m - 1
                             : s->kind == 'f' ? 3
                                              : (7 * e * e) % s->m,
                         c = s->kind == 'f' ? e
                             : e == 0       ? s->n - 1
                                            : (5 * e + 1) % s->n;
        if (s->kind == 'l' && e > 3) break;
        if (s->kind == 's' && e > 9) break;
        if (r >= s->m || c >= s->n) break;
        for (int side = s->kind == 'b' ? -1 : 0; side <= (s->kind == 'b'); side++) { /* diagonally dominant */
            if (s->kind == 'b' && (r + side < 0 || r + side >= s->n)) continue;
            row[count] = r;
            col[count] = s->kind == 'b' ? r + side : c;
            val[count++] = s->kind == 'b' ? (side ? -1 : 4) : e - 2.5;
        }
    }
    return count;
}

static tulle_status matrix_of(tulle_comm *comm, const struct shape *s, tulle_mat **A)
{
    tulle_gidx row[ENTRIES], col[ENTRIES];
    double val[ENTRIES];
    const int64_t count = tulle_comm_rank(comm) == 0 ? draw(s, row, col, val) : 0;
    const tulle_layout_spec spec = {.m = s->m, .n = s->n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_layout *layout = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK)
        status = tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_SUM, A);
    tulle_layout_free(layout);
    return status;
}

struct trial {
    const struct shape *shape;
    int call;
};

/* The call, whose status is the same on all PEs, and its message. */
static tulle_status try(tulle_comm *comm, const struct trial *t, tulle_mat *A, struct facts *f, char *message)
{
    *f = (struct facts){.comm = comm};
    message[0] = '\0';
    const tulle_status status = calls[t->call].of(A, f);
    if (status != TULLE_OK) snprintf(message, 512, "%s", tulle_error_message());
    const tulle_status same = same_everywhere(comm, status);
    for (int x = 0; x < SLOTS; x++) tulle_mat_free(f->mat[x]);
    tulle_mat_free(A);
    return same == TULLE_OK ? status : same;
}

static tulle_status body_alike(tulle_comm *comm, void *arg)
{
    const struct trial *t = arg;
    tulle_mat *A = NULL, *H = NULL;
    struct facts as_csr, as_stored;
    char message[2][512];
    tulle_status status;
    TULLE_TRY(matrix_of(comm, t->shape, &A));
    TULLE_TRY(tulle_mat_compress(A, &H));
    const tulle_status wanted = try(comm, t, A, &as_csr, message[0]);
    const tulle_status found = try(comm, t, H, &as_stored, message[1]);
    if (found != wanted || strcmp(message[0], message[1]) != 0) {
        status = tulle_fail(TULLE_ERR_CHECK, "%s '%.200s', in CSR %s '%.200s'", tulle_status_name(found), message[1],
            tulle_status_name(wanted), message[0]);
        goto out;
    }
    EXPECT(as_csr.count == as_stored.count);
    for (int x = 0; x < as_csr.count && wanted == TULLE_OK; x++) {
        if (fabs(as_csr.at[x] - as_stored.at[x]) <= 1e-6 * (1 + fabs(as_csr.at[x]))) continue;
        status = tulle_fail(TULLE_ERR_CHECK, "fact %d is %.17g, in CSR %.17g", x, as_stored.at[x], as_csr.at[x]);
        goto out;
    }
out:
    return status;
}

static tulle_status body_huge(tulle_comm *comm, void *arg)
{
    /* its size, or another condition that CSR would have to fulfil too */
    static const char *const words[] = {
        "hypersparse", " MB", "8589934592", "2147483653", "square", "vbsr", "not symmetric"};
    const struct trial *t = arg;
    tulle_mat *H = NULL;
    tulle_compressed view;
    struct facts facts;
    char message[512];
    tulle_status status;
    TULLE_TRY(matrix_of(comm, t->shape, &H));
    TULLE_TRY(tulle_mat_compressed(H, &view));
    EXPECT(view.inner != NULL);
    status = try(comm, t, H, &facts, message);
    if (status == TULLE_OK || status == TULLE_ERR_CHECK) return status;
    bool names = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) names |= strstr(message, words[w]) != NULL;
    status = names ? TULLE_OK : tulle_fail(TULLE_ERR_CHECK, "it says '%.300s'", message);
out:
    return status;
}

/* ---- nothing is forgotten ---- */

static bool has_word(const char *words, const char *word, size_t n)
{
    for (const char *p = words; (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) return true;
    return false;
}

static bool is_named(const char *name)
{
    bool found = has_word(without, name, strlen(name));
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) found |= has_word(calls[c].names, name, strlen(name));
    return found;
}

/* The functions of a header that take const matrices. */
static int check_header(const char *path)
{
    static char text[1 << 16];
    int functions = 0;
    FILE *file = fopen(path, "r");
    if (!ok(file != NULL, "%s", path)) return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (char *p = text; (p = strstr(p, "TULLE_API "));) {
        char *end = strchr(p, '('), *begin = end, *last = end ? strchr(end, ';') : NULL;
        if (!last) break;
        while (begin > p && (begin[-1] == '_' || isalnum((unsigned char)begin[-1]))) begin--;
        p = last + 1;
        *end = *last = '\0';
        if (!strstr(end + 1, "const tulle_mat *")) continue;
        functions++;
        if (!is_named(begin)) ok(0, "%s of %s is not in the table", begin, path);
    }
    return functions;
}

/* The fact that the build must have for the calls of these names; NULL: none. */
static const char *needs(const char *names)
{
    return strstr(names, "bsr") || strstr(names, "bsp.h5")         ? "HDF5: yes"
           : strstr(names, "_direct_") || strstr(names, "nearest") ? "SuiteSparse: yes"
                                                                   : NULL;
}

static void try_all(tulle_team *team, const struct shape *shape, bool huge)
{
    for (int c = 0; c < (int)(sizeof calls / sizeof *calls); c++) {
        struct trial t = {shape, c};
        const char *fact = needs(calls[c].names);
        if (huge && (calls[c].size == SMALL || (fact && !built_with(fact)))) continue;
        const tulle_status status = tulle_team_run(team, huge ? body_huge : body_alike, &t);
        ok(status == TULLE_OK, "%.40s, %s%s%s", calls[c].names, shape->name, status == TULLE_OK ? "" : ": ",
            status == TULLE_OK ? "" : tulle_error_message());
    }
}

int main(int argc, char **argv)
{
    static const struct shape small[] = {{"band of 24", 24, 24, 'b'}, {"scattered 24 x 24", 24, 24, 's'},
        {"a full row of 18 x 12", 18, 12, 'f'}, {"8 x 30", 8, 30, 's'}, {"no entries, 24 x 24", 24, 24, 'e'}};
    const struct shape huge[] = {{"2^33 x 2", HUGE_LINES, 2, 'l'}, {"2 x 2^33", 2, HUGE_LINES, 'l'},
        {"2^33 x 2^33", HUGE_LINES, HUGE_LINES, 's'}, {"2^31 + 5", HUGE_LINES / 4 + 5, HUGE_LINES / 4 + 5, 'l'},
        {"no entries, 2^33 x 2^33", HUGE_LINES, HUGE_LINES, 'e'}};
    int functions = 0;
    tulle_team *team;
    const int npes = argc > 2 ? atoi(argv[2]) : 0;
    if (npes < 1 || !temporary_folder(folder)) {
        fprintf(stderr, "usage: hypersparse_calls SPEC PES HEADER...\n");
        return 2;
    }
    for (int h = 3; h < argc; h++) functions += check_header(argv[h]);
    ok(argc < 4 || functions > 30, "%d public functions take matrices", functions);
    const tulle_team_options options = {.memory = (size_t)npes << 26, .threads = 1};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    for (size_t s = 0; s < sizeof small / sizeof *small; s++) try_all(team, &small[s], false);
    for (size_t s = 0; s < sizeof huge / sizeof *huge; s++) try_all(team, &huge[s], true);
    tulle_team_free(team);
    (void)remove(folder);
    return tap_done();
}
