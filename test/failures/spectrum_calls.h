/* SPDX-License-Identifier: Apache-2.0 */
/* Calls for eigenpairs and least squares. */
#ifndef TULLE_TEST_SPECTRUM_CALLS_H
#define TULLE_TEST_SPECTRUM_CALLS_H

#include "matrix_calls.h"

/* text: the end of the spectrum; LA: by a filter */
static tulle_status eigenpairs(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_spectrum *plan = NULL;
    tulle_layout *layout = NULL;
    tulle_spectrum_options options = {.count = 2, .block = 1, .basis = 6};
    double value[2];
    int degree = 0;
    const tulle_layout_spec spec = {.m = M, .n = 2, .tile_rows = 1, .tile_cols = 1};
    options.size = sizeof options;
    options.chebyshev = strcmp(text, "LA") == 0;
    tulle_status status = tulle_spectrum_end_parse(text, &options.end);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_spectrum_new(&op, &options, &plan);
    if (status == TULLE_OK && options.chebyshev) status = tulle_spectrum_filter_degree(plan, &degree);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, value, NULL, X, NULL);
    tulle_spectrum_free(plan);
    tulle_operator_free(&op);
    tulle_mat_free(X);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

/* text: the preconditioner */
static tulle_status preconditioned_pairs(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *X = NULL;
    tulle_operator op = {.comm = NULL}, pre = {.comm = NULL};
    tulle_precond_kind precond = TULLE_PRECOND_NONE;
    tulle_layout *layout = NULL;
    const tulle_spectrum_options options = {.count = 2, .end = TULLE_SPECTRUM_SMALLEST};
    const tulle_layout_spec spec = {.m = 12, .n = 2, .tile_rows = 1, .tile_cols = 1};
    double value[2];
    tulle_status status = tulle_precond_kind_parse(text, &precond);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_precond_new(A, precond, NULL, &pre);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_lobpcg(&op, A, &pre, &options, value, NULL, X, NULL);
    tulle_mat_free(X);
    tulle_operator_free(&pre);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

/* text: nearest to a value, or ends */
static tulle_status pencil_pairs(struct fixture *f, const char *text)
{
    tulle_mat *H = NULL, *S = NULL;
    tulle_spectrum *plan = NULL;
    const bool nearest = *text == 'n';
    const tulle_spectrum_options options = {
        .count = 2, .block = 1, .passes = 4, .nearest = nearest, .sigma = nearest ? .5 : 0};
    double value[2];
    tulle_status status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &H);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=1,values=spd", f->square, TULLE_CSR, NULL, NULL, &S);
    if (status == TULLE_OK) status = tulle_spectrum_of_mat(H, S, &options, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, value, NULL, NULL, NULL);
    tulle_spectrum_free(plan);
    tulle_mat_free(S);
    tulle_mat_free(H);
    return status;
}

/* text: the method; or the file where the matrix is */
static tulle_status fit(struct fixture *f, const char *text)
{
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_rows *rows = NULL;
    tulle_layout *layout = NULL;
    const bool file = strchr(text, '.') != NULL;
    tulle_least_squares_options options = {.damp = .5, .gradient = .3, .width = 2};
    char path[PATH_MOST];
    double error;
    const tulle_layout_spec spec = {.m = M, .n = 3, .tile_rows = 4, .tile_cols = 1, .map = TULLE_CYCLIC};
    tulle_status status = file ? TULLE_OK : tulle_least_squares_method_parse(text, &options.method);
    if (status == TULLE_OK) status = tulle_layout_new(&spec, tulle_comm_size(f->comm), &layout);
    status = tulle_comm_agree(f->comm, status);
    if (status == TULLE_OK)
        status = tulle_mat_load(f->comm, "band:n=12,lower=2,values=spd", f->square, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK && file) status = tulle_mat_save(A, in_folder(text, path));
    if (status == TULLE_OK && file) status = tulle_rows_open(f->comm, path, &rows);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_COL_MAJOR, &B);
    if (status == TULLE_OK) status = tulle_mat_new_dense(f->comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(B, 1);
    if (status == TULLE_OK)
        status = file ? tulle_least_squares_of_rows(rows, B, X, &options, NULL)
                      : tulle_least_squares(A, B, X, &options, NULL);
    if (status == TULLE_OK)
        status = file ? tulle_least_squares_check_rows(rows, B, X, &options, &error)
                      : tulle_least_squares_check(A, B, X, &options, &error);
    tulle_rows_free(rows);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

#endif
