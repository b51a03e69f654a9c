/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of a solve that stay on the device of the matrix: resident DEVICE. An iteration copies no vector there or
 * back, but for rows that PEs exchange, which the device's counts tell; the solution has the bits of one whose vectors
 * are on the host. Preconditioners are there as well.
 */
#include <math.h>
#include <string.h>

#include <tulle/tulle.h>

#include "algo/stream/stream.h"
#include "body.h"
#include "built_with.h"
#include "tap.h"

enum { COLUMNS = 9 }; /* of X, at most */

struct run {
    const char *device;
    tulle_type type;
    tulle_krylov_method method;
    tulle_precond_kind precond;
    int preconditioned, block;
    int cols;           /* 0: one */
    double absolute;    /* 0: no tolerance; else columns of B are ever smaller, so that they converge one by one */
    const char *matrix; /* NULL: the usual one */
    int restart, guess, slabs, away; /* away: vectors are on the host */
    int64_t iterations;
    int64_t taken;                       /* out: iterations of the first column */
    int64_t up, down, rows, own, pieces; /* out, of PE 0: bytes of the solve */
    uint64_t bits;                       /* of X */
    double square;                       /* of its norm */
    tulle_status status;
};

static tulle_status solve(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_layout *thin = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL;
    tulle_stream *stream = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    const tulle_precond_options preconditioning = {
        .block = run->precond == TULLE_PRECOND_BLOCK_JACOBI ? run->block : 0};
    const int cols = run->cols ? run->cols : 1, leads = tulle_comm_rank(comm) == 0, pes = tulle_comm_size(comm);
    tulle_stream_options streaming = {.device = run->device, .cols = cols, .slabs = run->slabs};
    tulle_krylov_options options = {.method = run->method,
        .tolerance = TULLE_NONE,
        .absolute = run->absolute,
        .max_iterations = run->iterations,
        .restart = run->method == TULLE_KRYLOV_GMRES ? run->restart : 0,
        .guess = run->guess};
    const tulle_read_options reading = {.type = run->type};
    tulle_krylov_report report[COLUMNS];
    tulle_own_tile x;
    tulle_status status;
    TULLE_TRY(
        tulle_mat_load(comm, run->matrix ? run->matrix : "fem:nodes=7,dof=3", NULL, TULLE_CSR, &reading, NULL, &A));
    const int64_t rows = tulle_mat_rows(A);
    const tulle_layout_spec spec = {
        .m = rows, .n = cols, .tile_rows = pes, .tile_cols = 1, .grid_rows = pes, .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&spec, pes, &thin));
    TULLE_TRY(tulle_mat_new_dense(comm, thin, run->type, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, thin, run->type, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_fill_random(B, 5));
    TULLE_TRY(tulle_mat_fill_random(X, 6));
    if (run->absolute > 0) {
        TULLE_TRY(tulle_mat_own_tile(B, tulle_comm_rank(comm), 0, &x));
        for (int64_t r = 0; r < x.m; r++)
            for (int64_t c = 0; c < x.n; c++) ((double *)x.val)[r * x.ld + c] *= pow(0.1, (double)c);
    }
    TULLE_TRY(tulle_stream_new(A, &streaming, &stream));
    TULLE_TRY(tulle_operator_of_stream(stream, &op));
    EXPECT(tulle_operator_on_device(&op));
    if (run->away) op = tulle__resident_without(&op);
    const tulle__device_counts *counts = &stream->device->counting->counts;
    int64_t up = counts->bytes[TULLE__COPY_UP], down = counts->bytes[TULLE__COPY_DOWN];
    if (run->preconditioned) TULLE_TRY(tulle_precond_new(A, run->precond, &preconditioning, &M));
    status = tulle_krylov_solve(&op, run->preconditioned ? &M : NULL, B, X, &options, report);
    tulle_status solved = status;
    if (status == TULLE_ERR_CONVERGENCE) status = TULLE_OK;
    if (!leads) goto out;
    TULLE_TRY(tulle_mat_own_tile(X, 0, 0, &x));
    run->status = solved;
    run->rows = rows;
    for (int i = 0; i < op.layout->mt; i++)
        if (tulle__layout_owner(op.layout, i, 0) == 0) run->own = op.layout->row_cut[i + 1] - op.layout->row_cut[i];
    run->up = counts->bytes[TULLE__COPY_UP] - up;
    run->down = counts->bytes[TULLE__COPY_DOWN] - down;
    run->pieces = (rows + 127) / 128;
    run->bits = 0;
    run->square = 0;
    run->taken = report[0].iterations;
    for (size_t i = 0; i < (size_t)(x.m * cols) * tulle_type_size(run->type); i++)
        run->bits = (run->bits ^ ((const unsigned char *)x.val)[i]) * 0x100000001b3;
    for (int64_t i = 0; i < x.m * cols && run->type == TULLE_F64; i++)
        run->square += ((const double *)x.val)[i] * ((const double *)x.val)[i];
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_stream_free(stream);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(thin);
    return status;
}

/* The bytes of ten more iterations. */
static void test_bytes(tulle_team *team, struct run run, const char *what)
{
    struct run few = run, many = run, away = run, away_few = run;
    few.iterations = away_few.iterations = 4;
    many.iterations = away.iterations = 14;
    away.away = away_few.away = 1;
    int right = tulle_team_run(team, solve, &few) == TULLE_OK && tulle_team_run(team, solve, &many) == TULLE_OK &&
                tulle_team_run(team, solve, &away) == TULLE_OK && tulle_team_run(team, solve, &away_few) == TULLE_OK;
    const int cols = run.cols ? run.cols : 1, block = run.method == TULLE_KRYLOV_BLOCK_CG;
    int64_t size = (int64_t)tulle_type_size(run.type), vector = many.own * size * cols;
    int64_t rest = many.rows * size * cols - vector;
    int64_t others = many.rows > many.own ? vector : 0; /* that they read, of an iteration */
    int64_t sums = run.method == TULLE_KRYLOV_CG ? 3 : block ? 4 * cols * cols + 2 * cols : 2 * (many.iterations + 2);
    int64_t small = block ? 5 * cols * 64 * size : 0; /* coefficients of a block, in lines of 64 */
    ok(right, "%s: %s", what, right ? "solved" : tulle_error_message());
    ok(many.up - few.up >= 10 * rest && many.up - few.up <= 10 * (rest + small),
        "%s: ten iterations copy others' rows to the device alone (%d bytes)", what, (int)(many.up - few.up));
    ok(many.down - few.down <= 10 * (many.pieces * sums * (int64_t)sizeof(double) + others) && many.down > few.down,
        "%s: and from there sums only (%d bytes; a vector has %d)", what, (int)(many.down - few.down), (int)vector);
    ok(away.up - away_few.up >= 10 * (vector + rest) && away.down - away_few.down >= 10 * vector,
        "%s: without resident vectors, %d bytes of vectors", what, (int)(away.up - away_few.up));
    if (run.preconditioned && run.precond == TULLE_PRECOND_BLOCK_JACOBI)
        ok(fabs(many.square - away.square) <= 1e-9 * away.square && many.square != few.square,
            "%s: blocks are inverted there: %.15g and %.15g", what, many.square, away.square);
    else
        ok(many.bits == away.bits && few.bits == away_few.bits && many.bits != few.bits, "%s: the same bits", what);
}

static void test_long(tulle_team *team, const char *device)
{
    struct run run = {.device = device, .type = TULLE_F64, .method = TULLE_KRYLOV_GMRES, .restart = 40};
    run.iterations = 50;
    struct run away = run;
    away.away = 1;
    int right = tulle_team_run(team, solve, &run) == TULLE_OK && tulle_team_run(team, solve, &away) == TULLE_OK;
    ok(right && run.bits == away.bits, "more directions than a task has vectors: the same bits: %s",
        right ? "ok" : tulle_error_message());
}

/* To the end: columns converge one after the other, and the block becomes narrower. */
static void test_block(tulle_team *team, const char *device, int pes, int precond)
{
    struct run run = {.device = device,
        .type = TULLE_F64,
        .method = TULLE_KRYLOV_BLOCK_CG,
        .cols = COLUMNS,
        .absolute = 1e-9,
        .matrix = "cantilever:nodes=4,dof=3",
        .iterations = 400};
    run.preconditioned = precond > 0;
    run.precond = (tulle_precond_kind)precond;
    struct run away = run;
    away.away = 1;
    int right = tulle_team_run(team, solve, &run) == TULLE_OK && tulle_team_run(team, solve, &away) == TULLE_OK;
    ok(right && run.status == TULLE_OK && run.bits == away.bits && run.taken > 5,
        "block-cg with %s, %d PEs: solved in %d iterations, the same bits: %s", tulle_precond_kind_name(run.precond),
        pes, (int)run.taken, right ? "ok" : tulle_error_message());
}

/* Devices with ever more room: vectors go there or not, and may come back in the middle. */
static void test_block_tight(tulle_team *team)
{
    struct run run = {.type = TULLE_F64, .method = TULLE_KRYLOV_BLOCK_CG, .cols = COLUMNS, .absolute = 1e-9};
    int differ = 0, failed = 0, fewest = 0, most = 0;
    uint64_t bits = 0;
    run.iterations = 400;
    run.slabs = 20;
    run.preconditioned = 1;
    run.precond = TULLE_PRECOND_JACOBI;
    run.matrix = "cantilever:nodes=4,dof=3";
    for (int kb = 60; kb <= 600; kb += 20) {
        char device[64];
        snprintf(device, sizeof device, "limit:mem=%dK+cpu", kb);
        run.device = device;
        if (tulle_team_run(team, solve, &run) != TULLE_OK || run.status != TULLE_OK) {
            failed++;
            continue;
        }
        differ += bits && run.bits != bits;
        bits = run.bits;
        int64_t vectors = run.down / (run.rows * (int64_t)sizeof(double) * COLUMNS);
        fewest = !fewest || vectors < fewest ? (int)vectors : fewest;
        most = vectors > most ? (int)vectors : most;
    }
    ok(!failed && !differ, "block-cg on devices of 60 to 600 KB: %d fail, %d have other bits: %s", failed, differ,
        tulle_error_message());
    ok(fewest < most / 2, "between %d and %d blocks of vectors come from there", fewest, most);
}

/* Triangular solves of several PEs go to PE 0's device, if devices are peers. brief: under emulation. */
static void test_preconditioners(tulle_team *team, struct run run, int pes, int brief)
{
    static const tulle_precond_kind kinds[] = {
        TULLE_PRECOND_JACOBI, TULLE_PRECOND_BLOCK_JACOBI, TULLE_PRECOND_IC0, TULLE_PRECOND_ILU0};
    char what[64];
    const int peers = pes == 1 || !strstr(run.device, "limit") || strstr(run.device, "peer=");
    for (size_t k = 0; k < (peers ? 4 : 2); k++)
        for (int gmres = 0; gmres < 2; gmres++) {
            if (kinds[k] == TULLE_PRECOND_ILU0 && !gmres) continue;
            if (kinds[k] == TULLE_PRECOND_BLOCK_JACOBI && !built_with("LAPACK: yes")) {
                printf("# block-jacobi needs LAPACK: it is left out\n");
                continue;
            }
            if (brief && (gmres || kinds[k] == (pes > 1 ? TULLE_PRECOND_JACOBI : TULLE_PRECOND_BLOCK_JACOBI))) continue;
            run.precond = kinds[k];
            run.block = 7;
            run.method = gmres ? TULLE_KRYLOV_GMRES : TULLE_KRYLOV_CG;
            snprintf(what, sizeof what, "%s with %s, %d PEs", tulle_krylov_method_name(run.method),
                tulle_precond_kind_name(kinds[k]), pes);
            test_bytes(team, run, what);
        }
}

/* A device without room for the vectors beside slabs: these stay on the host. */
static void test_tight(tulle_team *team)
{
    struct run run = {.device = "limit:mem=48K+cpu", .type = TULLE_F64, .method = TULLE_KRYLOV_CG, .iterations = 6};
    struct run wide = run;
    wide.device = "limit+cpu";
    wide.slabs = 40;
    int right = tulle_team_run(team, solve, &run) == TULLE_OK && tulle_team_run(team, solve, &wide) == TULLE_OK;
    int64_t vector = run.rows * (int64_t)sizeof(double);
    ok(right && run.down >= 6 * vector && wide.down < 6 * vector,
        "no room for vectors: they are copied (%d and %d): %s", (int)run.down, (int)wide.down,
        right ? "ok" : tulle_error_message());
    ok(run.bits == wide.bits, "the same bits");
}

/* Each operation of the device fails in turn: the solve says so, and leaves nothing. */
static void test_faults(tulle_team *team, tulle_krylov_method method, int precond, int rank)
{
    int told = 0, silent = 0, n = 0;
    for (int done = 0; !done && n < 400; n += 3) {
        char device[64];
        snprintf(device, sizeof device, "fault:op=%d,rank=%d+cpu", n, rank);
        struct run run = {.device = device,
            .type = TULLE_F64,
            .method = method,
            .cols = method == TULLE_KRYLOV_CG ? 1 : 3,
            .preconditioned = precond > 0,
            .precond = (tulle_precond_kind)precond,
            .iterations = 4};
        tulle_status status = tulle_team_run(team, solve, &run);
        done = status == TULLE_OK;
        told += status != TULLE_OK && *tulle_error_message();
        silent += status != TULLE_OK && !*tulle_error_message();
    }
    ok(n < 400 && told > 10 && !silent, "%d failing operations are told (%d are not)", told, silent);
}

int main(int argc, char **argv)
{
    tulle_team *team;
    tulle_device_facts facts;
    if (argc < 2) return 2;
    const char *device = argv[1];
    const int brief = strstr(device, "cuda") != NULL;
    if (strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!ok(tulle_team_new("threads", 1, &(tulle_team_options){.threads = 2}, &team) == TULLE_OK, "open"))
        return tap_done();
    struct run run = {.device = device, .type = TULLE_F64, .method = TULLE_KRYLOV_CG};
    test_bytes(team, run, "cg");
    run.guess = 1;
    run.type = TULLE_F32;
    test_bytes(team, run, "cg from a guess, f32");
    run.method = TULLE_KRYLOV_GMRES;
    run.type = TULLE_F64;
    test_bytes(team, run, "gmres from a guess");
    run.method = TULLE_KRYLOV_BLOCK_CG;
    run.cols = COLUMNS;
    test_bytes(team, run, "block-cg from a guess");
    run.type = TULLE_F32;
    test_bytes(team, run, "block-cg from a guess, f32");
    if (!brief) test_block(team, device, 1, TULLE_PRECOND_NONE);
    if (!brief) test_block(team, device, 1, TULLE_PRECOND_IC0);
    test_long(team, device);
    run = (struct run){.device = device, .type = TULLE_F64, .preconditioned = 1};
    test_preconditioners(team, run, 1, brief);
    if (strcmp(device, "limit+cpu") == 0) {
        test_tight(team);
        test_block_tight(team);
        test_faults(team, TULLE_KRYLOV_CG, 0, 0);
        test_faults(team, TULLE_KRYLOV_BLOCK_CG, 0, 0);
    }
    tulle_team_free(team);
    if (!ok(tulle_team_new("threads:direct=off", 3, &(tulle_team_options){.threads = 1}, &team) == TULLE_OK, "open"))
        return tap_done();
    run.preconditioned = 0;
    for (int rank = 0; rank < 2 && strcmp(device, "limit:peer=100G+cpu") == 0; rank++)
        test_faults(team, TULLE_KRYLOV_CG, TULLE_PRECOND_IC0, rank);
    if (!brief) test_bytes(team, run, "cg of three PEs");
    if (!brief) test_block(team, device, 3, TULLE_PRECOND_JACOBI);
    if (!brief) test_block(team, device, 3, TULLE_PRECOND_IC0);
    run.method = TULLE_KRYLOV_BLOCK_CG;
    run.cols = 3;
    test_bytes(team, run, "block-cg of three PEs");
    run.type = TULLE_F32;
    test_bytes(team, run, "block-cg of three PEs, f32");
    run.type = TULLE_F64;
    run.cols = 0;
    run.preconditioned = 1;
    test_preconditioners(team, run, 3, brief);
    tulle_team_free(team);
    return tap_done();
}
