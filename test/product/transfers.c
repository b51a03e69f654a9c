/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counted bytes of products whose transfers know the sparsity: transfers SPEC PES for a star, byte by byte; transfers
 * SPEC 64 many for what is demanded of a road network and of finite elements.
 */
#include <string.h>

#include <tulle/io.h>
#include <tulle/machine.h>

#include "algo/chain/transfer_cost.h"
#include "body.h"
#include "star.h"
#include "tap.h"

struct run {
    const char *operand; /* NULL: a star of n rows */
    tulle_gidx n, cols;  /* cols 0: SpGEMM, by a band */
    int tiles;
    tulle_type type;
    tulle_product_options options;
    tulle_product_report report, again;
};

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct run *run = arg;
    tulle_status status = TULLE_OK;
    int size = tulle_comm_size(comm);
    tulle_layout *square = NULL, *thin = NULL;
    tulle_mat *read = NULL, *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report, again;
    tulle_read_options reading = {0};
    tulle_gidx n = run->n;
    double error;
    reading.type = run->type;
    if (run->operand) {
        TULLE_TRY(tulle_mat_load(comm, run->operand, NULL, TULLE_CSR, &reading, NULL, &read));
        n = tulle_mat_rows(read);
    }
    TULLE_TRY(row_layout(size, n, n, run->tiles, &square));
    if (read)
        TULLE_TRY(tulle_mat_redistribute(read, square, &A));
    else
        TULLE_TRY(new_star(comm, square, run->type, n, &A));
    if (run->cols) {
        TULLE_TRY(row_layout(size, n, run->cols, run->tiles, &thin));
        TULLE_TRY(tulle_mat_new_dense(comm, thin, run->type, TULLE_ROW_MAJOR, &B));
        TULLE_TRY(tulle_mat_fill_random(B, 1));
        TULLE_TRY(tulle_mat_new_dense(comm, thin, run->type, TULLE_ROW_MAJOR, &C));
    } else {
        char band[64];
        snprintf(band, sizeof band, "band:n=%d,lower=8", (int)n);
        TULLE_TRY(tulle_mat_load(comm, band, square, TULLE_CSR, &reading, NULL, &B));
        TULLE_TRY(tulle_mat_new_csr(comm, square, run->type, &C));
    }
    TULLE_TRY(tulle_product_new(A, B, C, &run->options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    TULLE_TRY(tulle_product_check_matrices(1, A, run->options.op_a, B, run->options.op_b, C, &error));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &again));
    TULLE_TRY(tulle_product_check_matrices(1, A, run->options.op_a, B, run->options.op_b, C, &error));
    if (tulle_comm_rank(comm) == 0) {
        run->report = report;
        run->again = again;
    }
    status = tulle_comm_barrier(comm);
out:
    tulle_layout_free(square);
    tulle_layout_free(thin);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_mat_free(read);
    return TULLE_OK;
}

static int try(tulle_team *team, struct run *run, tulle_transfers transfers)
{
    run->options.transfers = transfers;
    tulle_status status = tulle_team_run(team, body, run);
    return ok(status == TULLE_OK, "%s, %s, %s, %d columns, %d tiles, %s: %s", run->operand ? run->operand : "star",
        tulle_product_alg_name(run->options.alg), tulle_transfers_name(transfers), (int)run->cols, run->tiles,
        tulle_type_name(run->type), status == TULLE_OK ? "right" : tulle_error_message());
}

/* The PE that has a row of the star; as many rows each. */
static int owner(tulle_gidx row, tulle_gidx n, int pes)
{
    return (int)(row / (n / pes));
}

/*
 * The full row's PE needs all rows of B, or a partial row of each other PE for the values of the row there; each PE
 * also the row of the full column.
 */
static void star_spmm(tulle_team *team, int pes, tulle_gidx cols, tulle_type type, const tulle_machine *machine)
{
    enum { ROWS = 240 };
    tulle_gidx n = (tulle_gidx)ROWS * pes;
    struct run run = {.n = n, .cols = cols, .tiles = 1, .type = type, .options = (tulle_product_options){0}};
    int64_t size = (int64_t)tulle_type_size(type), row = cols * size, others = pes - 1;
    int apart = owner(star_row(n), n, pes) != owner(star_column(n), n, pes);
    int64_t column = others * row, record = TULLE__PARTIAL_RECORD;
    run.options.machine = machine;
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg <= TULLE_PRODUCT_STATIONARY_A; alg++) {
        run.options.alg = (tulle_product_alg)alg;
        if (try(team, &run, TULLE_TRANSFERS_ROWS))
            ok(run.report.bytes_moved == others * ROWS * row + column - apart * row && run.report.cover_pairs == 0,
                "rows of B: %d bytes", (int)run.report.bytes_moved);
        int64_t rows = run.report.bytes_moved;
        for (int by_time = 0; by_time < 2; by_time++) {
            if (!try(team, &run, by_time ? TULLE_TRANSFERS_AUTO : TULLE_TRANSFERS_COVER)) continue;
            const tulle_product_report *r = &run.report;
            int64_t partial = others * (row + ROWS * size + record);
            if (partial + column >= rows) continue; /* one column: values are as many as rows */
            ok(r->bytes_moved == partial + column && r->pair_bytes == r->bytes_moved && r->partials == others,
                "partial rows of C: %d bytes", (int)r->bytes_moved);
            ok(r->cover_pairs == others && (by_time || !r->greedy_pairs), "of %d PEs", (int)r->cover_pairs);
            ok(r->cover_bound == r->bytes_moved - others * record, "no cover takes less than %d", (int)r->cover_bound);
            ok(run.again.bytes_moved == r->bytes_moved, "the same again");
            if (cols >= 100)
                ok(10 * r->bytes_moved < rows && (double)r->bytes_moved <= 1.1 * (double)r->cover_bound,
                    "more than 10 times fewer, %.3f times the bound", (double)r->bytes_moved / (double)r->cover_bound);
        }
    }
}

/*
 * A full row of A makes one row of what many rows of a band hold. Of a sparse result it is known what partial rows take
 * at most; a second execution moves values only.
 */
static void star_spgemm(tulle_team *team, int pes, int tiles, tulle_type type, const tulle_machine *machine)
{
    struct run run = {.n = 60 * pes, .tiles = tiles, .type = type, .options = (tulle_product_options){0}};
    run.options.machine = machine;
    run.options.alg = TULLE_PRODUCT_STATIONARY_C;
    if (!try(team, &run, TULLE_TRANSFERS_ROWS)) return;
    int64_t rows = run.report.bytes_moved;
    if (!try(team, &run, TULLE_TRANSFERS_COVER)) return;
    ok(run.report.cover_pairs > 0 && run.report.bytes_moved < rows, "%d bytes instead of %d",
        (int)run.report.bytes_moved, (int)rows);
    ok(run.again.reused && run.again.bytes_moved < run.report.bytes_moved, "then %d", (int)run.again.bytes_moved);
}

static void stars(tulle_team *team, int pes)
{
    tulle_machine machine;
    /* no latency: by time is by bytes */
    ok(tulle_machine_find("dgx2", 1, &machine) == TULLE_OK, "a machine");
    machine.tier[TULLE_SAME_NODE].latency = machine.tier[TULLE_OTHER_NODE].latency = 1e-15;
    machine.cache = 1e18; /* who multiplies does not matter */
    static const tulle_gidx widths[] = {1, 7, 32, 100};
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int type = 0; type < TULLE_TYPE_COUNT; type++) star_spmm(team, pes, widths[w], (tulle_type)type, &machine);
    for (int tiles = 1; tiles < 4; tiles++)
        for (int type = 0; type < TULLE_TYPE_COUNT; type++) star_spgemm(team, pes, tiles, (tulle_type)type, &machine);
}

/* Demands at 64 PEs; `demanded`: that many times fewer bytes than whole tiles. */
static void large(tulle_team *team, const char *operand, tulle_gidx n, tulle_gidx cols, double demanded)
{
    struct run run = {
        .operand = operand, .n = n, .cols = cols, .tiles = 1, .type = TULLE_F64, .options = (tulle_product_options){0}};
    run.options.alg = TULLE_PRODUCT_STATIONARY_C;
    if (!try(team, &run, TULLE_TRANSFERS_WHOLE)) return;
    double whole = (double)run.report.bytes_moved;
    if (!try(team, &run, TULLE_TRANSFERS_COVER)) return;
    double cover = (double)run.report.bytes_moved, bound = (double)run.report.cover_bound;
    ok(cover * demanded <= whole, "%.0f bytes instead of %.0f: %.1f times fewer", cover, whole, whole / cover);
    ok(run.report.greedy_pairs == 0 && cover <= 1.1 * bound && cover >= bound, "%.3f times the bound", cover / bound);
    if (!try(team, &run, TULLE_TRANSFERS_AUTO)) return;
    double chosen = (double)run.report.bytes_moved;
    ok(chosen * demanded <= whole, "by time %.0f: %.1f times fewer", chosen, whole / chosen);
}

/*
 * Two nodes of three PEs, a full A: each node gets the rows of B that lie on the other one once, and each PE reads all.
 * Of a sparse A a node gets the rows that any of its PEs needs.
 */
static void nodes(void)
{
    enum { PES = 6, N = 120, COLS = 5 };
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)PES << 25, .threads = 1};
    static const char *const operands[] = {"dense:n=120", "er:n=120,degree=3"};
    for (int a = 0; a < 2; a++)
        for (int cols = 0; cols <= COLS; cols += COLS)
            for (int tiles = 1; tiles < 3; tiles++) {
                int64_t bytes[2];
                for (int apart = 0; apart < 2; apart++) {
                    struct run run = {.operand = operands[a],
                        .cols = cols,
                        .tiles = tiles,
                        .type = TULLE_F64,
                        .options = (tulle_product_options){0}};
                    run.options.alg = TULLE_PRODUCT_STATIONARY_C;
                    if (!ok(tulle_team_new(apart ? "check+threads" : "threads:node=3", PES, &options, &team) ==
                                TULLE_OK,
                            "open"))
                        return;
                    try(team, &run, TULLE_TRANSFERS_COVER);
                    bytes[apart] = run.report.bytes_moved;
                    if (!apart && a == 0 && cols)
                        ok(bytes[0] == 2 * (N / 2) * COLS * 8 && run.report.pair_bytes == bytes[0],
                            "each row once a node: %d bytes", (int)bytes[0]);
                    ok(run.again.bytes_moved <= bytes[apart], "again: %d bytes", (int)run.again.bytes_moved);
                    tulle_team_free(team);
                }
                ok(bytes[0] < bytes[1], "%d bytes between two nodes, %d between six", (int)bytes[0], (int)bytes[1]);
            }
}

/*
 * Cost of a range decides between rows and whole tiles: a row here and there is a range of its own. By the
 * machine's figure, and where it has none, by its latency.
 */
static void ranges_priced(tulle_team *team)
{
    struct run run = {.operand = "er:n=400,degree=2",
        .cols = 8,
        .tiles = 1,
        .type = TULLE_F64,
        .options = (tulle_product_options){0}};
    tulle_machine machine;
    ok(tulle_machine_find("dgx2", 1, &machine) == TULLE_OK, "a machine");
    tulle_tier *tier = machine.tier;
    run.options.machine = &machine;
    run.options.alg = TULLE_PRODUCT_STATIONARY_C;
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) tier[d] = (tulle_tier){1e-12, 1e9, 1e-12};
    if (!try(team, &run, TULLE_TRANSFERS_WHOLE)) return;
    int64_t whole = run.report.bytes_moved;
    if (!try(team, &run, TULLE_TRANSFERS_ROWS)) return;
    int64_t rows = run.report.bytes_moved;
    ok(rows < whole, "rows are %d bytes, whole tiles %d", (int)rows, (int)whole);
    if (!try(team, &run, TULLE_TRANSFERS_AUTO)) return;
    ok(run.report.bytes_moved == rows, "ranges cost nothing: rows come, %d bytes", (int)run.report.bytes_moved);
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) tier[d].range = 1e-5;
    if (!try(team, &run, TULLE_TRANSFERS_AUTO)) return;
    ok(run.report.bytes_moved == whole, "a range costs 10 us: whole tiles come, %d bytes", (int)run.report.bytes_moved);
    for (int d = 0; d < TULLE_DISTANCE_COUNT; d++) tier[d] = (tulle_tier){1.6e-4, 1e9, 0};
    if (!try(team, &run, TULLE_TRANSFERS_AUTO)) return;
    ok(run.report.bytes_moved == whole, "the same of a latency of 160 us: %d bytes", (int)run.report.bytes_moved);
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s SPEC PES [many]\n", argv[0]), 2;
    int pes = atoi(argv[2]);
    const char *folder = getenv("TULLE_MATRICES");
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)pes << 25, .threads = 1, .arena = 1 << 16, .panels = 4};
    if (!ok(tulle_team_new(argv[1], pes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    if (argc == 3) {
        stars(team, pes);
        if (pes > 1) ranges_priced(team);
        if (pes == 2) nodes();
    } else {
        char roads[512];
        large(team, "stencil2d:n=384", 0, 4, 5);
        large(team, "fem:nx=8,ny=8,nz=512", 0, 4, 5);
        large(team, NULL, 4096, 256, 5);
        snprintf(roads, sizeof roads, "%s/andorra_osm_roads.mtx.gz", folder ? folder : "");
        if (folder && *folder)
            large(team, roads, 0, 4, 5);
        else
            skip("a road network: $TULLE_MATRICES is not set");
    }
    tulle_team_free(team);
    return tap_done();
}
