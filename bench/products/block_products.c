/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times C = A B of square matrices of equal blocks:
 *   bench_block_products [--shape random|banded|full] [--block B] [--rows N] [--reps R] [--filter EPS] [--pes P]
 *                        [--threads T] [--comm SPEC]
 * One JSON line: the median seconds of whole products (plan, C and execution), of executions of a plan that is kept,
 * GF/s of the former, and C's Frobenius norm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "block_matrix.h"

enum { REPS_MAX = 101 };

struct setting {
    const char *name;
    enum block_shape shape;
    int b, rows, reps;
    double filter, seconds[REPS_MAX], again[REPS_MAX], norm;
    int64_t flops;
};

static int compare(const void *left, const void *right)
{
    const double *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* Blocks of own tiles, by their first elements; then all elements. */
static tulle_status make(
    tulle_comm *comm, const struct setting *s, const tulle_layout *layout, uint64_t seed, tulle_mat **X)
{
    int64_t blocks = s->rows / s->b, count = 0;
    int rank = tulle_comm_rank(comm), size = tulle_comm_size(comm);
    tulle_gidx *row = malloc((size_t)(blocks * blocks) * sizeof *row),
               *col = malloc((size_t)(blocks * blocks) * sizeof *col);
    tulle_mat *S = NULL;
    if (!row || !col) abort();
    for (int64_t r = rank; r < blocks; r += size)
        for (int64_t c = 0; c < blocks; c++)
            if (block_there(s->shape, seed, blocks, r, c)) {
                row[count] = r * s->b;
                col[count++] = c * s->b;
            }
    tulle_status status =
        tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, NULL, TULLE_DUPLICATES_ERROR, &S);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(S, layout, X);
    for (int i = 0; status == TULLE_OK && i < tulle_layout_tile_rows(layout); i++)
        for (int j = 0; j < tulle_layout_tile_cols(layout); j++) {
            tulle_own_tile t;
            if (tulle_layout_owner(layout, i, j) != rank) continue;
            if (tulle_mat_own_tile(*X, i, j, &t) != TULLE_OK) abort();
            for (int64_t r = 0; r < t.block_rows; r++)
                for (int64_t e = t.rowptr ? t.rowptr[r] : 0; t.rowptr && e < t.rowptr[r + 1]; e++)
                    for (int64_t x = 0; x < s->b; x++)
                        for (int64_t y = 0; y < s->b; y++)
                            ((double *)t.val)[t.offset[e] + x * s->b + y] =
                                block_value(seed, t.row_block[r] + x, t.col_block[t.colind[e]] + y);
        }
    if (status == TULLE_OK) status = tulle_mat_renew(*X);
    free(row);
    free(col);
    tulle_mat_free(S);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    tulle_gidx blocks = s->rows / s->b, *cut = malloc((size_t)(blocks + 1) * sizeof *cut);
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    const tulle_product_options options = {.filter = s->filter, .alg = TULLE_PRODUCT_STATIONARY_C};
    if (!cut) abort();
    for (tulle_gidx i = 0; i <= blocks; i++) cut[i] = i * s->b;
    tulle_layout_spec spec = {.m = s->rows, .n = s->rows, .row_blocks = {blocks, cut}, .col_blocks = {blocks, cut}};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK) status = make(comm, s, layout, 1, &A);
    if (status == TULLE_OK) status = make(comm, s, layout, 2, &B);
    for (int rep = -1; status == TULLE_OK && rep < s->reps; rep++) {
        tulle_product_free(plan);
        tulle_mat_free(C);
        plan = NULL;
        C = NULL;
        status = tulle_comm_barrier(comm);
        double start = tulle_comm_seconds(comm);
        if (status == TULLE_OK) status = tulle_mat_new_vbsr(comm, layout, TULLE_F64, &C);
        if (status == TULLE_OK) status = tulle_product_new(A, B, C, &options, &plan);
        if (status == TULLE_OK) status = tulle_product_execute(plan, 1, 0, &report);
        if (rep >= 0 && tulle_comm_rank(comm) == 0) s->seconds[rep] = tulle_comm_seconds(comm) - start;
    }
    for (int rep = 0; status == TULLE_OK && rep < s->reps; rep++) {
        double start = tulle_comm_seconds(comm);
        status = tulle_product_execute(plan, 1, 0, &report);
        if (tulle_comm_rank(comm) == 0) s->again[rep] = tulle_comm_seconds(comm) - start;
    }
    double norm = 0;
    if (status == TULLE_OK) status = tulle_mat_norm(C, TULLE_NORM_FROBENIUS, &norm);
    if (tulle_comm_rank(comm) == 0) {
        s->norm = norm;
        s->flops = report.flops;
    }
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    free(cut);
    return status;
}

int main(int argc, char **argv)
{
    static struct setting s = {.name = "random", .b = 23, .rows = 4000, .reps = 5, .filter = 1e-10};
    const char *comm = "threads";
    int pes = 1, threads = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--shape")) s.name = argv[i + 1];
        if (!strcmp(argv[i], "--block")) s.b = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--rows")) s.rows = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--reps")) s.reps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--filter")) s.filter = atof(argv[i + 1]);
        if (!strcmp(argv[i], "--pes")) pes = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--threads")) threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--comm")) comm = argv[i + 1];
    }
    if (!block_shape_of(s.name, &s.shape) || s.b < 1 || s.rows < s.b || s.reps < 1 || s.reps > REPS_MAX) return 2;
    s.rows = s.rows / s.b * s.b;
    const tulle_team_options options = {.threads = threads};
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new(comm, pes, &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, &s);
    if (status != TULLE_OK) {
        fprintf(stderr, "bench_block_products: %s\n", tulle_error_message());
    } else if (tulle_team_leads(team)) {
        qsort(s.seconds, (size_t)s.reps, sizeof *s.seconds, compare);
        qsort(s.again, (size_t)s.reps, sizeof *s.again, compare);
        printf("{\"library\":\"tulle\",\"shape\":\"%s\",\"block\":%d,\"rows\":%d,\"pes\":%d,\"threads\":%d,"
               "\"seconds\":%.6g,\"seconds_least\":%.6g,\"seconds_reused_plan\":%.6g,\"gflops\":%.6g,\"norm\":%.15g}\n",
            s.name, s.b, s.rows, tulle_team_size(team), threads, s.seconds[s.reps / 2], s.seconds[0],
            s.again[s.reps / 2], (double)s.flops / s.seconds[s.reps / 2] * 1e-9, s.norm);
    }
    tulle_team_free(team);
    return status != TULLE_OK;
}
