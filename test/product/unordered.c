/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose C may have rows in no order: unordered SPEC. Put in order, C has the bits of the ordered product; what
 * wants order - products, sums, checks, transposes, copies, triangles, censuses - finds it; a plan that is executed
 * again keeps what order C has.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/model.h>
#include <tulle/product.h>
#include <tulle/stream.h>

#include "changes.h"
#include "mat/mat.h"
#include "tap.h"

struct run {
    tulle_product_alg alg;
    tulle_type type;
    int disordered; /* PEs on which a row descended somewhere */
};

static tulle_status load(tulle_comm *comm, const char *operand, tulle_type type, int tiles, tulle_mat **A)
{
    tulle_read_options reading = {0};
    tulle_layout *layout;
    tulle_layout_spec spec = {.m = 800, .n = 800, .tile_rows = tiles, .tile_cols = tiles, .map = TULLE_CYCLIC};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status != TULLE_OK) return status;
    reading.type = type;
    status = tulle_mat_load(comm, operand, layout, TULLE_CSR, &reading, NULL, A);
    tulle_layout_free(layout);
    return status;
}

static tulle_status multiply(tulle_mat *A, tulle_mat *B, tulle_product_options *options, tulle_product **plan,
    tulle_mat **C, tulle_product_report *report)
{
    tulle_layout *layout = NULL;
    tulle_status status;
    TULLE_TRY(tulle_product_layout(A, TULLE_OP_N, B, TULLE_OP_N, &layout));
    TULLE_TRY(tulle_mat_new_csr(tulle_mat_comm(A), layout, tulle_mat_type(A), C));
    TULLE_TRY(tulle_product_new(A, B, *C, options, plan));
    TULLE_TRY(tulle_product_execute(*plan, 1, 0, report));
out:
    tulle_layout_free(layout);
    return status;
}

/* Rows in which a column is not greater than the one before, in own tiles. */
static int64_t descents(tulle_mat *A)
{
    const tulle_layout *l = tulle_mat_layout(A);
    int64_t rows = 0;
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (!tulle__tile_is_mine(A, i, j) || tulle_mat_tile(A, i, j, &t) != TULLE_OK || !t.nnz) continue;
            for (int64_t r = 0; r < tulle__tile_rows(A, i); r++)
                for (int64_t e = t.rowptr[r] + 1; e < t.rowptr[r + 1]; e++)
                    if (t.colind[e] <= t.colind[e - 1]) {
                        rows++;
                        break;
                    }
        }
    return rows;
}

/* Bit by bit, on own tiles. */
static int same(tulle_mat *A, tulle_mat *B)
{
    const tulle_layout *l = tulle_mat_layout(A);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile a, b;
            if (!tulle__tile_is_mine(A, i, j)) continue;
            if (tulle_mat_tile(A, i, j, &a) != TULLE_OK || tulle_mat_tile(B, i, j, &b) != TULLE_OK || a.nnz != b.nnz)
                return 0;
            if (!a.nnz) continue;
            size_t rows = (size_t)tulle__tile_rows(A, i) + 1, nnz = (size_t)a.nnz;
            if (memcmp(a.rowptr, b.rowptr, rows * sizeof *a.rowptr)) return 0;
            if (memcmp(a.colind, b.colind, nnz * sizeof *a.colind)) return 0;
            if (memcmp(a.val, b.val, nnz * tulle_type_size(tulle_mat_type(A)))) return 0;
        }
    return 1;
}

/* Readers of a matrix without rows in order, one at a time: each gets a product of its own. */
static tulle_status read_by(int reader, tulle_mat *A, tulle_mat *C, const tulle_product_options *options)
{
    tulle_mat *made = NULL;
    tulle_product *plan = NULL;
    tulle_counts *counts = NULL;
    tulle_stream *stream = NULL;
    tulle_product_report report;
    double error;
    tulle_status status = TULLE_OK;
    tulle_product_options plain = {0};
    const tulle_layout *l = tulle_mat_layout(C);
    switch (reader) {
    case 0:
        TULLE_TRY(tulle_mat_transpose(C, &made));
        break;
    case 1:
        TULLE_TRY(tulle_mat_redistribute(C, l, &made));
        break;
    case 2:
        TULLE_TRY(tulle_mat_triangle(C, TULLE_LOWER, TULLE_DIAG_STORED, &made));
        break;
    case 3:
        TULLE_TRY(tulle_product_check_matrices(1, A, options->op_a, A, options->op_b, C, &error));
        break;
    case 4: /* as the second factor, and the first */
        TULLE_TRY(multiply(A, C, &plain, &plan, &made, &report));
        TULLE_TRY(tulle_product_check_matrices(1, A, TULLE_OP_N, C, TULLE_OP_N, made, &error));
        break;
    case 5:
        TULLE_TRY(multiply(C, A, &plain, &plan, &made, &report));
        TULLE_TRY(tulle_product_check_matrices(1, C, TULLE_OP_N, A, TULLE_OP_N, made, &error));
        break;
    case 6:
        TULLE_TRY(tulle_stream_new(C, NULL, &stream));
        break;
    case 7: /* added to */
        TULLE_TRY(tulle_product_new(A, A, C, &plain, &plan));
        TULLE_TRY(tulle_product_execute(plan, 1, -1, &report));
        break;
    default:
        TULLE_TRY(tulle_counts_new(C, A,
            &(tulle_counts_spec){.pes = tulle_comm_size(tulle_mat_comm(C)),
                .a = l,
                .b = tulle_mat_layout(A),
                .c = l,
                .type = tulle_mat_type(C)},
            &counts));
        break;
    }
    EXPECT(tulle_mat_ordered(C) && descents(C) == 0);
out:
    tulle_counts_free(counts);
    if (status == TULLE_OK) tulle_stream_free(stream);
    if (status != TULLE_OK) return status;
    tulle_product_free(plan);
    tulle_mat_free(made);
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status;
    tulle_mat *A = NULL, *C = NULL, *D = NULL;
    tulle_product *plan = NULL, *other = NULL;
    tulle_product_report report;
    tulle_product_options options = {0};
    options.alg = run->alg;
    options.deterministic = 1;
    TULLE_TRY(load(comm, "powergrid:n=20,seed=3", run->type, 3, &A));
    TULLE_TRY(multiply(A, A, &options, &other, &D, &report));
    EXPECT(tulle_mat_ordered(D) && !report.unordered && descents(D) == 0);
    options.unordered = 1;
    TULLE_TRY(multiply(A, A, &options, &plan, &C, &report));
    EXPECT(!tulle_mat_ordered(C) && report.unordered && report.nnz_c == tulle_mat_nnz(D));
    int64_t rows = descents(C);
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &rows));
    if (tulle_comm_rank(comm) == 0) run->disordered = rows > 0;
    for (int round = 0; round < 2; round++) { /* other values into rows in no order, then into ordered ones */
        TULLE_TRY(change_values(A));
        TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
        TULLE_TRY(tulle_product_execute(other, 1, 0, NULL));
        EXPECT(report.unordered == (round == 0) && tulle_mat_ordered(C) == round);
        TULLE_TRY(tulle_mat_order(C));
        EXPECT(tulle_mat_ordered(C) && same(C, D));
    }
    for (int reader = 0; reader < 9; reader++) {
        tulle_product_free(plan);
        tulle_mat_free(C);
        plan = NULL;
        C = NULL;
        TULLE_TRY(multiply(A, A, &options, &plan, &C, &report));
        TULLE_TRY(read_by(reader, A, C, &options));
    }
out:
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_product_free(plan);
    tulle_product_free(other);
    tulle_mat_free(C);
    tulle_mat_free(D);
    tulle_mat_free(A);
    return TULLE_OK;
}

int main(int argc, char **argv)
{
    static const tulle_product_alg algs[] = {TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A,
        TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_STEAL_LOCAL_C, TULLE_PRODUCT_SUMMA};
    tulle_team *team;
    if (argc < 2) return fprintf(stderr, "usage: %s SPEC\n", argv[0]), 2;
    if (!ok(tulle_team_new(argv[1], 3, NULL, &team) == TULLE_OK, "open")) return tap_done();
    for (size_t alg = 0; alg < sizeof algs / sizeof *algs; alg++)
        for (int type = 0; type < 2; type++) {
            struct run run = {.alg = algs[alg], .type = type ? TULLE_F32 : TULLE_F64};
            tulle_status status = tulle_team_run(team, body, &run);
            ok(status == TULLE_OK, "%s %s: %s", tulle_product_alg_name(run.alg), tulle_type_name(run.type),
                status == TULLE_OK ? "the same product" : tulle_error_message());
            ok(alg > 0 || run.disordered, "%s leaves rows in no order", tulle_product_alg_name(run.alg));
        }
    tulle_team_free(team);
    return tap_done();
}
