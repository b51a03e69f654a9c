/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense products in blocks on devices: device_blocks SPEC PES [RUNS [cuda]]; with cuda they are parts of one GPU.
 * Random shapes, tiles, capacities from three tiles upwards, 1 to 3 devices: results are right, and copies are those of
 * the model to the byte. With equal tiles, also those of the closed count of tulle_gemm_blocks_best. Bits do not depend
 * on the devices; what is too small is refused, with the least that does.
 */
#include <stdio.h>
#include <string.h>

#include <tulle/device.h>
#include <tulle/gemm_blocks.h>
#include <tulle/product.h>

#include "body.h"
#include "tap.h"

struct run {
    tulle_gidx m, n, k;
    int rows, cols, inner; /* tiles of a PE */
    const char *device;
    bool by_auto; /* which chooses stationary C, in blocks */
    tulle_product_options options;
    tulle_product_devices devices;
    tulle_product_blocks blocks;
    tulle_product_report report;
    double beta, sum; /* of C, in a fixed order with weights */
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 11;
}

static int draw(uint64_t *state, int low, int high)
{
    return low + (int)(next_random(state) % (uint64_t)(high - low + 1));
}

static tulle_status make(tulle_comm *comm, tulle_gidx m, tulle_gidx n, int rows, int cols, uint64_t seed, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    int pes = tulle_comm_size(comm), over = pes % 2 ? 1 : 2;
    const tulle_layout_spec spec = {.m = m,
        .n = n,
        .tile_rows = rows * (pes / over),
        .tile_cols = cols * over,
        .map = TULLE_BLOCK,
        .grid_rows = pes / over,
        .grid_cols = over};
    tulle_status status = tulle_layout_new(&spec, pes, &layout);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, X);
    if (status == TULLE_OK) status = tulle_mat_fill_random(*X, seed);
    tulle_layout_free(layout);
    return status;
}

/* A number that changes with any bit of own tiles. */
static double sum_of(tulle_mat *C, int pes)
{
    double sum = 0;
    tulle_own_tile tile;
    const tulle_layout *l = tulle_mat_layout(C);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            if (pes > 1 || tulle_mat_own_tile(C, i, j, &tile) != TULLE_OK) continue;
            for (int64_t e = 0; e < tile.nnz; e++) sum = sum * 0.999 + ((const double *)tile.val)[e];
        }
    return sum;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    int pes = tulle_comm_size(comm), over = pes % 2 ? 1 : 2, down = pes / over;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_options options = run->options;
    tulle_product_report report;
    double error;
    options.size = sizeof options;
    options.alg = run->by_auto ? TULLE_PRODUCT_AUTO : TULLE_PRODUCT_STATIONARY_C;
    options.device = run->device;
    options.devices = &run->devices;
    options.blocks = &run->blocks;
    /* cuts of the inner index match */
    tulle_status status = make(comm, run->m, run->k, run->rows, run->inner * down, 1, &A);
    if (status == TULLE_OK) status = make(comm, run->k, run->n, run->inner * over, run->cols, 2, &B);
    if (status == TULLE_OK) status = make(comm, run->m, run->n, run->rows, run->cols, 3, &C);
    if (status == TULLE_OK) status = tulle_product_new(A, B, C, &options, &plan);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 0.5, run->beta, NULL);
    if (status == TULLE_OK) status = tulle_product_execute(plan, 0.5, 0, &report);
    if (status == TULLE_OK) status = tulle_product_check(plan, &error);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) {
        run->report = report;
        run->sum = sum_of(C, pes);
    }
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    return status;
}

static int same_copies(const struct run *run)
{
    const tulle_device_work *d = &run->report.device;
    const tulle_gemm_blocks *b = &run->report.blocks;
    return b->rows > 0 && memcmp(d->copies, b->copies, sizeof d->copies) == 0 &&
           memcmp(d->bytes, b->bytes, sizeof d->bytes) == 0 && run->report.bytes_moved == b->network;
}

/* The last argument of a random run: little room, or much. */
static int64_t draw_capacity(uint64_t *seed, int64_t triple, int64_t all)
{
    int64_t most = draw(seed, 0, 1) ? all : 4 * triple;
    return triple + (int64_t)(next_random(seed) % (uint64_t)(most + 1));
}

/* Wrapper that gives a device a small memory: in virtual time that of a simulation; or a part of a GPU. */
static const char *small = "limit";

static void random_shapes(tulle_team *team, int runs, uint64_t *seed)
{
    static const char *const formats[] = {
        "%s:mem=%lld,peer=8G+cpu", "%s:mem=%lld+cpu", "late:seed=%lld+%s:mem=%lld,peer=8G+ref"};
    int wrong = 0, unlike = 0, cases[TULLE_GEMM_CASE_COUNT] = {0};
    for (int r = 0; r < runs; r++) {
        char spec[96];
        int a = draw(seed, 1, 9), b = draw(seed, 1, 9), c = draw(seed, 1, 9), format = draw(seed, 0, 2);
        int pes = tulle_team_size(team), over = pes % 2 ? 1 : 2, down = pes / over;
        struct run run = {.rows = draw(seed, 1, 5),
            .cols = draw(seed, 1, 5),
            .inner = draw(seed, 1, 4),
            .device = spec,
            .by_auto = r % 2};
        run.m = (tulle_gidx)a * run.rows * down - draw(seed, 0, 1);
        run.n = (tulle_gidx)b * run.cols * over - draw(seed, 0, 1);
        run.k = (tulle_gidx)c * run.inner * over * down - draw(seed, 0, 1);
        run.beta = draw(seed, 0, 2);
        run.devices.count = draw(seed, 1, 3);
        run.options.deterministic = draw(seed, 0, 1);
        run.options.lookahead = draw(seed, 0, 3) ? 0 : TULLE_NONE;
        if (draw(seed, 0, 1)) {
            run.blocks.host_rows = draw(seed, 1, run.rows);
            run.blocks.host_cols = draw(seed, 1, run.cols);
        }
        int64_t triple = (a * c + c * b + a * b) * 8, all = triple * run.rows * run.cols * run.inner * over * down;
        long long capacity = (long long)draw_capacity(seed, triple, all);
        if (strcmp(small, "cuda") == 0)
            snprintf(spec, sizeof spec, "cuda:0,mem=%lld", capacity);
        else if (format < 2)
            snprintf(spec, sizeof spec, formats[format], small, capacity);
        else
            snprintf(spec, sizeof spec, formats[format], (long long)r, small, capacity);
        tulle_status status = tulle_team_run(team, body, &run);
        int differs = status == TULLE_OK && !same_copies(&run);
        cases[run.report.blocks.fits]++;
        if (status == TULLE_OK && !differs) continue;
        const tulle_gemm_blocks *x = &run.report.blocks;
        printf("# %s, %d devices, %lld x %lld x %lld, tiles %d x %d x %d: %s; blocks %d x %d, chunk %d, lookahead %d, "
               "resident %d: up %lld of %lld, back %lld of %lld, sisters %lld of %lld, network %lld of %lld\n",
            spec, run.devices.count, (long long)run.m, (long long)run.k, (long long)run.n, run.rows, run.inner,
            run.cols, status == TULLE_OK ? "right" : tulle_error_message(), x->rows, x->cols, x->chunk, x->lookahead,
            (int)x->resident, (long long)run.report.device.copies[0], (long long)x->copies[0],
            (long long)run.report.device.copies[1], (long long)x->copies[1], (long long)run.report.device.copies[2],
            (long long)x->copies[2], (long long)run.report.bytes_moved, (long long)x->network);
        wrong += status != TULLE_OK;
        unlike += differs;
    }
    ok(!wrong, "%d random products: %d wrong", runs, wrong);
    ok(!unlike, "copies are those of the model, to the byte: %d are not", unlike);
    ok(runs < 40 || (cases[TULLE_GEMM_CASE_A] && cases[TULLE_GEMM_CASE_B] && cases[TULLE_GEMM_CASE_C1] &&
                        cases[TULLE_GEMM_CASE_C2]),
        "all cases: a %d, b %d, c1 %d, c2 %d", cases[0], cases[1], cases[2], cases[3]);
}

/* One PE, equal tiles of 4 x 4: what the plan does is what tulle_gemm_blocks_best counts. */
static void counts(tulle_team *team, uint64_t *seed)
{
    int wrong = 0;
    for (int r = 0; r < 60; r++) {
        char spec[64];
        struct run run = {
            .rows = draw(seed, 1, 6), .cols = draw(seed, 1, 6), .inner = draw(seed, 1, 6), .device = spec};
        tulle_gemm_tiles t = {.rows = run.rows,
            .cols = run.cols,
            .inner = run.inner,
            .bytes_a = 128,
            .bytes_b = 128,
            .bytes_c = 128,
            .devices = draw(seed, 1, 3),
            .capacity = 128 * draw(seed, 3, 60),
            .peers = draw(seed, 0, 1),
            .ascending = draw(seed, 0, 1)};
        tulle_gemm_blocks best;
        if (draw(seed, 0, 1)) {
            run.blocks.host_rows = t.host_rows = draw(seed, 1, run.rows);
            run.blocks.host_cols = t.host_cols = draw(seed, 1, run.cols);
        }
        run.m = 4 * run.rows;
        run.n = 4 * run.cols;
        run.k = 4 * run.inner;
        run.devices.count = t.devices;
        run.options.deterministic = t.ascending;
        snprintf(spec, sizeof spec, "%s:mem=%lld%s+cpu", small, (long long)t.capacity, t.peers ? ",peer=8G" : "");
        tulle_status status = tulle_gemm_blocks_best(&t, &best);
        if (status == TULLE_OK) status = tulle_team_run(team, body, &run);
        if (status == TULLE_OK && same_copies(&run) && memcmp(&best, &run.report.blocks, sizeof best) == 0) continue;
        printf("# %s, %d devices, %d x %d x %d: %d x %d, resident %d: %lld, the plan %lld\n", spec, t.devices, t.rows,
            t.inner, t.cols, best.rows, best.cols, (int)best.resident, (long long)best.copies[0],
            (long long)run.report.blocks.copies[0]);
        wrong++;
    }
    ok(!wrong, "the count of blocks is what plans do: %d are not", wrong);
}

/* The paper's formulas, with tiles of 1 byte on one device. */
static void formulas(void)
{
    tulle_gemm_tiles t = {.rows = 8, .cols = 8, .inner = 16, .bytes_a = 1, .bytes_b = 1, .bytes_c = 1, .devices = 1};
    tulle_gemm_blocks s;
    t.capacity = 8 * 8 + 2 * 8 * 16;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.fits == TULLE_GEMM_CASE_A && s.copies[0] == 2 * 8 * 16 &&
            s.copies[1] == 64,
        "case a: A, B and C once");
    t.capacity--;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.copies[0] == 2 * 8 * 16 && s.chunk == 8,
        "a tile less: A and B once, and still two kernels for a tile of C");
    t.block_rows = t.block_cols = 8;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.fits == TULLE_GEMM_CASE_C1 && s.copies[0] == 2 * 8 * 16,
        "in one block, case c1: A and B once, past a resident C");
    t.ascending = true;
    t.block_rows = t.block_cols = 4;
    t.chunk = t.lookahead = 1;
    t.capacity = 4 * 4 + 1 + (4 + 4) * 2;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.fits == TULLE_GEMM_CASE_C2 && s.memory == t.capacity &&
            s.copies[0] == 2 * (8 * 16 + 8 * 16),
        "case c2: A for each column of blocks, B for each row: %d", (int)s.copies[0]);
    t.ascending = false;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.copies[0] == 4 * 8 * 16 - 3 * 4,
        "back and forth: less a chunk of A or B at three turns: %d", (int)s.copies[0]);
    tulle_gemm_tiles u = {
        .rows = 24, .cols = 24, .inner = 24, .bytes_a = 1, .bytes_b = 1, .bytes_c = 1, .devices = 1, .capacity = 868};
    const tulle_status status = tulle_gemm_blocks_best(&u, &s);
    ok(status == TULLE_OK && s.copies[0] == 2 * 24 * 24 && s.chunk >= 12,
        "of those with the fewest bytes, the fewest kernels: %d x %d, chunks of %d", s.rows, s.cols, s.chunk);
    t.block_rows = 1;
    t.capacity = 1 * 8 + 1 + 16 * 8 + 2;
    t.block_cols = 8;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.fits == TULLE_GEMM_CASE_B && s.copies[0] == 2 * 8 * 16,
        "case b: B stays: %d", (int)s.copies[0]);
    t.capacity = 2;
    t.block_rows = t.block_cols = t.chunk = t.lookahead = 0;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_ERR_LIMIT && strstr(tulle_error_message(), "takes 3 "), "two tiles: %s",
        tulle_error_message());
    t.capacity = 3;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.rows == 1 && s.cols == 1 && s.chunk == 1 && !s.lookahead,
        "three tiles");
    t.block_rows = t.block_cols = 2;
    t.capacity = 1000;
    t.remote_a = t.remote_b = 16;
    t.host = 16 * 16;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.host_rows == 8 && s.host_cols == 8 && s.network == 16 * 16,
        "a host with room for the tiles of others: %d x %d, %d bytes", s.host_rows, s.host_cols, (int)s.network);
    t.host = 8 * 16;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.host_rows == 4 && s.host_cols == 4 &&
            s.network == 32 * 16 - 3 * 4 * 16,
        "with half of it, less what three turns share: %d x %d, %d bytes", s.host_rows, s.host_cols, (int)s.network);
    t.remote_b = 0;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.host_cols == 8 && s.network == 8 * 16,
        "only A's: %d x %d, %d bytes", s.host_rows, s.host_cols, (int)s.network);
    t.remote_b = 16;
    t.host = 1;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && s.host_rows == 2 && s.host_cols == 2, "with none: %d x %d",
        s.host_rows, s.host_cols);
    t.block_rows = t.block_cols = 0;
    t.rows = 0;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_OK && !s.rows && !s.copies[0], "no tiles");
    t.rows = 8;
    t.chunk = 17;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_ERR_ARG, "a chunk too long: %s", tulle_error_message());
    t.chunk = 0;
    t.devices = 0;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_ERR_ARG, "no devices: %s", tulle_error_message());
    t.devices = 1;
    t.bytes_a = INT64_MAX / 2;
    ok(tulle_gemm_blocks_best(&t, &s) == TULLE_ERR_OVERFLOW, "too many bytes: %s", tulle_error_message());
}

static void bits(tulle_team *team)
{
    double first = 0;
    int unlike = 0;
    for (int devices = 1; devices <= 3; devices++)
        for (int mem = 2; mem <= 8; mem += 3) {
            char spec[64];
            struct run run = {.m = 35, .n = 41, .k = 77, .rows = 4, .cols = 5, .inner = 6, .device = spec};
            run.devices.count = devices;
            run.options.deterministic = true;
            snprintf(spec, sizeof spec, "limit:mem=%dK,peer=8G+cpu", 2 * mem);
            if (tulle_team_run(team, body, &run) != TULLE_OK) unlike++;
            if (devices == 1 && mem == 2) first = run.sum;
            unlike += run.sum != first;
        }
    ok(!unlike, "the same bits on 1 to 3 devices of several sizes");
}

static void given(tulle_team *team)
{
    struct run run = {.m = 32, .n = 32, .k = 32, .rows = 8, .cols = 8, .inner = 8, .device = "limit:mem=64K+cpu"};
    run.blocks.rows = 3;
    run.blocks.cols = 2;
    run.blocks.chunk = 2;
    run.options.lookahead = 3;
    const tulle_gemm_blocks *b = &run.report.blocks;
    ok(tulle_team_run(team, body, &run) == TULLE_OK && b->rows == 3 && b->cols == 2 && b->chunk == 2 &&
            b->lookahead == 3 && same_copies(&run),
        "given blocks: %s", tulle_error_message());
    run.device = "limit:mem=2K+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_LIMIT && strstr(tulle_error_message(), "takes 3968"),
        "they do not fit: %s", tulle_error_message());
    run.device = "limit:mem=3968+cpu";
    ok(tulle_team_run(team, body, &run) == TULLE_OK && same_copies(&run), "in what they take: %s",
        tulle_error_message());
    run.device = NULL;
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_ARG, "without a device: %s", tulle_error_message());
    run.device = "cpu";
    run.blocks.chunk = -1;
    ok(tulle_team_run(team, body, &run) == TULLE_ERR_ARG, "a negative chunk: %s", tulle_error_message());
}

/* The host does not hold all remote tiles either: those of a block are fetched once for it. */
static void small_host(const char *spec)
{
    tulle_team *team;
    const tulle_team_options options = {.size = sizeof options, .memory = 4 * (size_t)5 << 20, .threads = 1};
    struct run run = {.m = 480, .n = 480, .k = 480, .rows = 8, .cols = 8, .inner = 4, .device = "limit:mem=200K+cpu"};
    struct run all = run;
    if (!ok(tulle_team_new(spec, 4, &options, &team) == TULLE_OK, "open: %s", tulle_error_message())) return;
    tulle_status status = tulle_team_run(team, body, &run);
    int64_t whole = 2 * 480 * 480 * 8;
    ok(status == TULLE_OK && same_copies(&run) && run.report.bytes_moved > whole, "little memory: %lld bytes, %lld: %s",
        (long long)run.report.bytes_moved, (long long)run.report.blocks.network, tulle_error_message());
    tulle_team_free(team);
    const tulle_team_options larger = {.size = sizeof options, .memory = (size_t)1 << 30, .threads = 1};
    if (!ok(tulle_team_new(spec, 4, &larger, &team) == TULLE_OK, "open: %s", tulle_error_message())) return;
    status = tulle_team_run(team, body, &all);
    ok(status == TULLE_OK && same_copies(&all) && all.report.bytes_moved == whole, "much: %lld bytes: %s",
        (long long)all.report.bytes_moved, tulle_error_message());
    tulle_team_free(team);
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s SPEC PES [RUNS [cuda]]\n", argv[0]), 2;
    int pes = atoi(argv[2]), runs = argc > 3 ? atoi(argv[3]) : 40;
    uint64_t seed = 88172645463325252u + (uint64_t)pes;
    tulle_team *team;
    const tulle_team_options options = {.size = sizeof options, .memory = (size_t)pes << 26, .threads = 1};
    tulle_device_facts facts;
    if (strstr(argv[1], "sim")) small = "model";
    if (argc > 4) small = "cuda";
    if (argc > 4 && tulle_device_probe(small, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!ok(tulle_team_new(argv[1], pes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    random_shapes(team, runs, &seed);
    if (pes == 1 && strcmp(small, "limit") == 0) {
        formulas();
        counts(team, &seed);
        bits(team);
        given(team);
    }
    tulle_team_free(team);
    if (pes == 4 && strstr(argv[1], "direct=off")) small_host(argv[1]);
    return tap_done();
}
