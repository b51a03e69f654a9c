/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices of very different sizes, the largest by all threads of a PE: mixed_sizes SPEC PES. The
 * matrix is block-diagonal with blocks Q D Q, Q = I - 2 v v^T / (v^T v), so that f of it is known.
 */
#include <string.h>

#include "base/host/blas.h"
#include "base/random.h"
#include "functions.h"
#include "tap.h"

enum { LARGE = 540, SMALL = 40, WORKSPACE = 620 };

struct mix {
    int blocks, large; /* the first blocks are large */
    tulle_gidx cut[SMALL + 4];
};

static void mix_init(struct mix *m, int large, int rows)
{
    *m = (struct mix){.blocks = large + SMALL, .large = large};
    for (int b = 0; b < m->blocks; b++)
        m->cut[b + 1] = m->cut[b] + (b < large ? rows : 3 + (tulle_gidx)(tulle__random_at(11, 0, (uint64_t)b) % 20));
}

static double level(tulle_gidx i)
{
    return tulle__random_unit(tulle__random_at(12, 0, (uint64_t)i)) + (i % 3 ? .3 : -1.4);
}

static double component(tulle_gidx i)
{
    return tulle__random_unit(tulle__random_at(13, 0, (uint64_t)i)) - .5;
}

static double same(double x)
{
    return x;
}

/* Sums of v^2 and v^2 f(d) of the block with the rows begin .. end - 1. */
static void sums_of(tulle_gidx begin, tulle_gidx end, double (*f)(double x), double sums[2])
{
    sums[0] = sums[1] = 0;
    for (tulle_gidx i = begin; i < end; i++) {
        sums[0] += component(i) * component(i);
        sums[1] += component(i) * component(i) * f(level(i));
    }
}

static double element(tulle_gidx i, tulle_gidx j, double (*f)(double x), const double sums[2])
{
    double product = component(i) * component(j);
    return (i == j ? f(level(i)) : 0) - 2 * product * (f(level(i)) + f(level(j))) / sums[0] +
           4 * product * sums[1] / (sums[0] * sums[0]);
}

static tulle_status build(tulle_comm *comm, const struct mix *m, tulle_mat **A)
{
    tulle_status status;
    int npes = tulle_comm_size(comm);
    tulle_layout *layout = NULL;
    tulle_mat *entries = NULL;
    int64_t most = 0, count = 0;
    tulle_gidx *row, *col;
    double *val, sums[2];
    for (int b = 0; b < m->blocks; b++) most += (m->cut[b + 1] - m->cut[b]) * (m->cut[b + 1] - m->cut[b]);
    row = malloc((size_t)most * sizeof *row);
    col = malloc((size_t)most * sizeof *col);
    val = malloc((size_t)most * sizeof *val);
    for (int b = tulle_comm_rank(comm); b < m->blocks; b += npes) {
        sums_of(m->cut[b], m->cut[b + 1], same, sums);
        for (tulle_gidx i = m->cut[b]; i < m->cut[b + 1]; i++)
            for (tulle_gidx j = m->cut[b]; j < m->cut[b + 1]; j++) {
                row[count] = i;
                col[count] = j;
                val[count++] = element(i, j, same, sums);
            }
    }
    const tulle_layout_spec spec = {.m = m->cut[m->blocks],
        .n = m->cut[m->blocks],
        .grid_rows = npes,
        .grid_cols = 1,
        .row_blocks = {m->blocks, m->cut},
        .col_blocks = {m->blocks, m->cut}};
    TULLE_TRY(tulle_layout_new(&spec, npes, &layout));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, &entries));
    TULLE_TRY(tulle_mat_to_vbsr(entries, layout, A));
out:
    tulle_mat_free(entries);
    tulle_layout_free(layout);
    free(row);
    free(col);
    free(val);
    return status;
}

/* The largest difference of own tiles. */
static tulle_status compare(const struct mix *m, tulle_mat *F, double (*f)(double x), double *worst)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(F);
    double largest = 0, sums[2];
    int64_t blocks = 0;
    for (int t = 0; t < tulle_layout_tile_rows(l); t++) {
        tulle_fetch *fetch = NULL;
        tulle_tile tile;
        TULLE_TRY(tulle_mat_get_tile(F, t, 0, &fetch));
        TULLE_TRY(tulle_fetch_wait(fetch, &tile));
        for (int64_t r = 0; tile.rowptr && r < tile.block_rows; r++) {
            tulle_gidx begin = tile.row_block[r], n = tile.row_block[r + 1] - begin;
            sums_of(begin, begin + n, f, sums);
            blocks += tile.rowptr[r + 1] - tile.rowptr[r];
            for (int64_t k = 0; k < n * n; k++)
                largest = fmax(largest, fabs(((const double *)tile.val)[tile.offset[tile.rowptr[r]] + k] -
                                             element(begin + k / n, begin + k % n, f, sums)));
        }
        tulle_fetch_free(fetch);
    }
    EXPECT(blocks == m->blocks);
    *worst = fmax(*worst, largest);
out:
    return status;
}

/* Up to three large ones and many small ones, by a step and by eigenvectors. Of three, two are one a thread. */
static tulle_status test_mix(tulle_comm *comm, double *worst, int large, int most)
{
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    bool alone = tulle_comm_size(comm) == 1 && tulle__blas_threads() > 0;
    for (; large <= most; large++)
        for (int k = 0; k < (large == 1 ? 2 : 1); k++) {
            struct mix m;
            const tulle_function f = {.kind = k ? TULLE_FUNCTION_EXP : TULLE_FUNCTION_SIGN, .mu = .1};
            mix_init(&m, large, LARGE);
            TULLE_TRY(build(comm, &m, &A));
            TULLE_TRY(evaluate(A, &f, NULL, 2, 1e-10, &F, &report));
            TULLE_TRY(compare(&m, F, k ? exp : f_sign, worst));
            EXPECT(*worst <= 1e-10 && report.submatrices == m.blocks);
            if (alone) EXPECT(report.wide == large % 2);
            if (tulle_comm_size(comm) > 1) EXPECT(report.wide == 0);
            tulle_mat_free(F);
            tulle_mat_free(A);
            A = F = NULL;
        }
out:
    tulle_mat_free(A);
    return status;
}

static tulle_status test_small(tulle_comm *comm, void *arg)
{
    return test_mix(comm, arg, 0, 0);
}

static tulle_status test_large(tulle_comm *comm, void *arg)
{
    return test_mix(comm, arg, 1, 3);
}

/* For two large ones memory holds the room of one. */
static tulle_status test_memory(tulle_comm *comm, void *arg)
{
    tulle_status status;
    double *worst = arg;
    tulle_mat *A = NULL, *F = NULL;
    tulle_matfun_report report;
    struct mix m;
    const tulle_function f = {.kind = TULLE_FUNCTION_SIGN, .mu = .1};
    mix_init(&m, 2, WORKSPACE);
    TULLE_TRY(build(comm, &m, &A));
    TULLE_TRY(evaluate(A, &f, NULL, 0, 1e-10, &F, &report));
    TULLE_TRY(compare(&m, F, f_sign, worst));
    EXPECT(*worst <= 1e-10 && (!tulle__blas_threads() || report.wide == 2));
    tulle_mat_free(F);
out:
    tulle_mat_free(A);
    return status;
}

static void run(const char *spec, int npes, int megabytes, const char *name, tulle_body body)
{
    tulle_team *team;
    double worst = 0;
    int before = tulle__blas_threads();
    struct blocks blocks[2][64] = {{{0}}};
    tulle_team_options options = {.memory = (size_t)npes * (size_t)megabytes << 20, .threads = 2};
    if (!ok(tulle_team_new(spec, npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message())) return;
    tulle_status status = tulle_team_run(team, test_small, &worst);
    tulle_team_run(team, count_blocks, blocks[0]);
    if (status == TULLE_OK) status = tulle_team_run(team, body, &worst);
    ok(status == TULLE_OK, "%s: %s; worst error %.1e", name, status == TULLE_OK ? "right" : tulle_error_message(),
        worst);
    ok(tulle_team_run(team, count_blocks, blocks[1]) == TULLE_OK && !memcmp(blocks[0], blocks[1], sizeof *blocks),
        "nothing leaks");
    ok(tulle__blas_threads() == before, "the BLAS has its threads again");
    tulle_team_free(team);
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    run(argv[1], npes, 256, "sizes", test_large);
    if (npes == 1) run(argv[1], npes, 64, "little memory", test_memory);
    return tap_done();
}
