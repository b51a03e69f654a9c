/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of sparse matrices, and what they leave: algebra, arrays and files. For hypersparse_calls.c alone. */
#ifndef TULLE_TEST_MAT_MATRIX_CALLS_H
#define TULLE_TEST_MAT_MATRIX_CALLS_H

#include <stdio.h>

#include <tulle/tulle.h>

#include "base/random.h"
#include "body.h"
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

#endif
