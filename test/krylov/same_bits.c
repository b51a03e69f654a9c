/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inner products have the same bits for any cuts, PEs and threads, alone or two of a vector; linear
 * combinations have those of a loop over summands, alone or several of the same vectors; and so
 * have the residuals of a solve whose product has one entry a row: same_bits SPEC MOST, on 1 ..
 * MOST PEs.
 */
#include "algo/krylov/space.h"
#include "systems.h"
#include "tap.h"

enum { STEPS = 12, DOTS = 3, SIZES = 7, COLS = 5, SUMMANDS = 6 };
static const int64_t sizes[SIZES] = {1, 127, 128, 129, 1000, 131072, 150001};

/* PE 0's results; those of the first team are the reference. */
struct found {
    double dot[SIZES][DOTS];
    double history[TULLE_KRYLOV_METHOD_COUNT][STEPS];
    int different, far;
};

/*
 * Cuts rows at multiples of the block, unevenly by a seed, and assigns them to PEs in an order by
 * it.
 */
static tulle_status cut_somehow(tulle_comm *comm, int64_t n, uint64_t seed, tulle_layout **layout)
{
    int parts = tulle_comm_size(comm), owner[64];
    int64_t block = tulle__space_block(n);
    tulle_gidx cut[65] = {0};
    for (int p = 1; p < parts; p++) {
        double share = (p + tulle__random_unit(tulle__random_at(seed, 31, (uint64_t)p)) - 0.5) / parts;
        cut[p] = (int64_t)((double)n * share) / block * block;
    }
    cut[parts] = n;
    for (int p = 0; p < parts; p++) owner[p] = (p * (seed % 2 ? 1 : parts - 1) + (int)seed) % parts;
    if (parts > 1 && seed % 2 == 0)
        for (int p = 0; p < parts; p++) owner[p] = parts - 1 - p;
    tulle_layout_spec spec = {.m = n, .n = 1, .tile_rows = parts, .tile_cols = 1, .row_cut = cut, .owner = owner};
    return tulle_layout_new(&spec, parts, layout);
}

static tulle_status try_dots(tulle_comm *comm, int s, uint64_t seed, tulle_type type, double *dot)
{
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle__space space = {.comm = NULL};
    int64_t n = sizes[s];
    size_t size = tulle_type_size(type);
    char *x = malloc((size_t)n * size), *y = malloc((size_t)n * size);
    TULLE_TRY(cut_somehow(comm, n, seed, &layout));
    TULLE_TRY(tulle__space_init(comm, layout, type, DOTS, DOTS, &space));
    for (int64_t r = 0; r < space.rows; r++) {
        put(x, type, r, side(space.first + r, 0) * ldexp(1, (int)((space.first + r) % 40) - 20));
        put(y, type, r, side(space.first + r, 1));
    }
    TULLE_TRY(tulle__space_dots(&space, DOTS, (const void *[]){x, x, y}, (const void *[]){y, x, y}, dot));
out:
    tulle__space_fini(&space);
    tulle_layout_free(layout);
    free(x);
    free(y);
    return status;
}

/* to[r] = beta to[r] + the sum of coef[v] x[v][r], summand by summand, in the type. */
static void combine_one_by_one(
    tulle_type type, int count, const double *coef, const char *const *x, double beta, char *to, int64_t rows)
{
    for (int64_t r = 0; r < rows; r++) {
        float f = 0, *to_f = (float *)(void *)to + r;
        double d = 0, *to_d = (double *)(void *)to + r;
        if (type == TULLE_F32 && beta != 0) f = (float)beta * *to_f;
        if (type == TULLE_F64 && beta != 0) d = beta * *to_d;
        for (int v = 0; v < count; v++) {
            if (type == TULLE_F32) f = f + (float)coef[v] * ((const float *)(const void *)x[v])[r];
            if (type == TULLE_F64) d = d + coef[v] * ((const double *)(const void *)x[v])[r];
        }
        if (type == TULLE_F32) *to_f = f;
        if (type == TULLE_F64) *to_d = d;
    }
}

/*
 * *different: combinations of some vectors that are not those of the loop, the second of the first
 * among them; or inner products, two of each vector, that are not those made one by one.
 */
static tulle_status try_combine(tulle_comm *comm, int s, uint64_t seed, tulle_type type, int *different)
{
    static const int counts[] = {0, 1, 4, SUMMANDS};
    static const double beta[] = {0, 1, 0.375}, coef[SUMMANDS] = {1, -0.1, 3, 1e-3, 0.7, -2};
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle__space space = {.comm = NULL};
    size_t size = tulle_type_size(type), bytes = (size_t)sizes[s] * size;
    char *x[SUMMANDS], *y[2] = {malloc(bytes), malloc(bytes)}, *want[2] = {malloc(bytes), malloc(bytes)};
    double together[2 * SUMMANDS], alone;
    const void *left[2 * SUMMANDS], *right[2 * SUMMANDS];
    for (int v = 0; v < SUMMANDS; v++) x[v] = malloc(bytes);
    TULLE_TRY(cut_somehow(comm, sizes[s], seed, &layout));
    TULLE_TRY(tulle__space_init(comm, layout, type, 2 * SUMMANDS, 2 * SUMMANDS, &space));
    for (int v = 0; v < SUMMANDS; v++)
        for (int64_t r = 0; r < space.rows; r++) put(x[v], type, r, side(space.first + r, v));
    bytes = (size_t)space.rows * size;
    for (int c = 0; c < 4; c++)
        for (int b = 0; b < 3; b++) {
            const char *list[2][SUMMANDS], *wanted[2][SUMMANDS];
            tulle__combine_task combination[2];
            for (int i = 0; i < 2; i++) {
                for (int64_t r = 0; r < space.rows; r++) put(y[i], type, r, side(space.first + r, 7 + i));
                memcpy(want[i], y[i], bytes);
                for (int v = 0; v < SUMMANDS; v++) list[i][v] = wanted[i][v] = x[v];
                if (i) list[i][0] = y[0], wanted[i][0] = want[0];
                combine_one_by_one(type, counts[c], coef, wanted[i], beta[b], want[i], space.rows);
                combination[i] = (tulle__combine_task){.nx = counts[c],
                    .ny = 1,
                    .x = (const void **)(void *)list[i],
                    .coef = coef,
                    .beta = {beta[b]},
                    .y = {y[i]}};
            }
            tulle__space_combine_all(&space, 2, combination);
            for (int i = 0; i < 2; i++) *different += bytes && memcmp(y[i], want[i], bytes) != 0;
        }
    for (int d = 0; d < 2 * SUMMANDS; d++) {
        left[d] = x[d / 2];
        right[d] = d % 2 ? y[0] : y[1];
    }
    TULLE_TRY(tulle__space_dots(&space, 2 * SUMMANDS, left, right, together));
    for (int d = 0; d < 2 * SUMMANDS; d++) {
        TULLE_TRY(tulle__space_dots(&space, 1, left + d, right + d, &alone));
        *different += memcmp(&alone, &together[d], sizeof alone) != 0;
    }
out:
    tulle__space_fini(&space);
    tulle_layout_free(layout);
    for (int v = 0; v < SUMMANDS; v++) free(x[v]);
    for (int i = 0; i < 2; i++) {
        free(y[i]);
        free(want[i]);
    }
    return status;
}

static tulle_status run(tulle_comm *comm, void *arg)
{
    struct found *found = arg, mine = {.different = 0};
    tulle_status status = TULLE_OK;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_layout *layout = NULL;
    tulle_operator op = {.comm = NULL};
    int first = tulle_comm_size(comm) == 1;
    for (int s = 0; s < SIZES; s++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            double dot[DOTS], single[DOTS];
            TULLE_TRY(try_dots(comm, s, seed, TULLE_F64, dot));
            TULLE_TRY(try_dots(comm, s, seed, TULLE_F32, single));
            TULLE_TRY(try_combine(comm, s, seed, TULLE_F64, &mine.different));
            TULLE_TRY(try_combine(comm, s, seed, TULLE_F32, &mine.different));
            if (!seed) memcpy(mine.dot[s], dot, sizeof dot);
            mine.different += memcmp(mine.dot[s], dot, sizeof dot) != 0;
            long double exact = 0;
            for (int64_t r = 0; r < sizes[s]; r++) exact += (long double)side(r, 1) * (long double)side(r, 1);
            mine.far += !(fabsl((long double)dot[2] - exact) < 1e-14L * exact) ||
                        !(fabsl((long double)single[2] - exact) < 1e-6L * exact);
        }
    TULLE_TRY(distribute(comm, SPREAD, 3000, 0, 1, TULLE_F64, -1, &A));
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    TULLE_TRY(make_layout(comm, 3000, COLS, 0, 1, &layout));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(B, 5));
    for (int m = 0; m < TULLE_KRYLOV_METHOD_COUNT; m++) {
        tulle_krylov_options options = {0};
        options.method = (tulle_krylov_method)m;
        options.max_iterations = STEPS - 1;
        options.tolerance = 1e-14;
        options.restart = options.method == TULLE_KRYLOV_GMRES ? 5 : 0;
        options.history = mine.history[m];
        options.history_capacity = STEPS;
        tulle_status met = tulle_krylov_solve(&op, NULL, B, X, &options, NULL);
        if (met != TULLE_ERR_CONVERGENCE) TULLE_TRY(met == TULLE_OK ? TULLE_ERR_CHECK : met);
    }
    if (tulle_comm_rank(comm) == 0) {
        if (first) memcpy(found, &mine, sizeof mine);
        found->different += mine.different + (memcmp(found->dot, mine.dot, sizeof mine.dot) != 0) +
                            (memcmp(found->history, mine.history, sizeof mine.history) != 0);
        found->far += mine.far;
    }
out:
    tulle_layout_free(layout);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(X);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC MOST\n", argv[0]), 2;
    struct found found = {.different = 0};
    for (int npes = 1; npes <= atoi(argv[2]); npes++)
        for (int threads = 1; threads <= (npes <= 2 ? 3 : 1); threads++) {
            tulle_team *team;
            tulle_team_options options = {.memory = (size_t)npes << 26, .threads = threads};
            if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
                return tap_done();
            tulle_status status = tulle_team_run(team, run, &found);
            ok(status == TULLE_OK && !found.different && !found.far,
                "%d PEs of %d threads: %d differ, %d are far off%s%s", npes, threads, found.different, found.far,
                status == TULLE_OK ? "" : ": ", status == TULLE_OK ? "" : tulle_error_message());
            tulle_team_free(team);
        }
    return tap_done();
}
