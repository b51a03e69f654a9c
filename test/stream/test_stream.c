/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by streams compared with the formula: test_stream SPEC PES THREADS DEVICE. Shapes,
 * layouts, numbers of slabs, buffers and columns, transfer modes, formats, both types; counts of
 * reports; refusals.
 */
#include <stdio.h>

#include <tulle/device.h>

#include "streams.h"
#include "tap.h"

struct cases {
    enum shape shape;
    int64_t m, n, cols;
    int tiles, tile_cols, cyclic; /* of A */
    int x_tiles, x_tile_cols, x_col_major;
    tulle_type type;
    tulle_stream_options options;
    const char *format; /* expected in the plan's description; or NULL */
    int wider_first;    /* a product of more columns, all nan, comes before */
};

/* A product whose X is nan in as many columns as the stream takes: nothing of it may be left in later ones. */
static tulle_status multiply_nan(tulle_comm *comm, const struct cases *c, tulle_stream *stream)
{
    int size = tulle_comm_size(comm);
    tulle_layout_spec x = {.m = c->n, .n = c->options.cols, .grid_rows = size, .grid_cols = 1};
    tulle_layout *lx = NULL;
    tulle_mat *X = NULL, *Y = NULL;
    tulle_status status;
    TULLE_TRY(tulle_layout_new(&x, size, &lx));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(make_y(comm, tulle_stream_layout(stream), c->options.cols, c->type, &Y));
    TULLE_TRY(spoil(X));
    status = tulle_stream_multiply(stream, X, Y, NULL);
out:
    tulle_mat_free(X);
    tulle_mat_free(Y);
    tulle_layout_free(lx);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    int size = tulle_comm_size(comm);
    tulle_layout *la = NULL, *lx = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_stream *stream = NULL;
    tulle_stream_report report;
    tulle_status status;
    double error = 0;
    tulle_layout_spec a = {.m = c->m, .n = c->n, .tile_rows = c->tiles ? c->tiles : size, .tile_cols = c->tile_cols};
    tulle_layout_spec x = {.m = c->n, .n = c->cols, .tile_rows = c->x_tiles, .tile_cols = c->x_tile_cols};
    a.grid_rows = x.grid_rows = size;
    a.grid_cols = x.grid_cols = 1;
    a.map = c->cyclic ? TULLE_CYCLIC : TULLE_BLOCK;
    TULLE_TRY(tulle_layout_new(&a, size, &la));
    TULLE_TRY(tulle_layout_new(&x, size, &lx));
    TULLE_TRY(make_matrix(comm, c->shape, la, c->type, &A));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, c->type, c->x_col_major ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_stream_new(A, &c->options, &stream));
    const tulle_stream_plan *plan = tulle_stream_planned(stream);
    EXPECT(plan->device_bytes <= plan->capacity && plan->vectors <= plan->device_bytes && *plan->device);
    EXPECT(!c->format || strstr(plan->format, c->format));
    TULLE_TRY(make_y(comm, tulle_stream_layout(stream), c->cols, c->type, &Y));
    if (c->wider_first) TULLE_TRY(multiply_nan(comm, c, stream));
    for (int turn = 0; turn < 3; turn++) {
        TULLE_TRY(fill_x(X, turn));
        TULLE_TRY(spoil(Y));
        TULLE_TRY(tulle_stream_multiply(stream, X, Y, turn == 2 ? NULL : &report));
        EXPECT(wrong_of(c->shape, Y, c->n, turn) == 0);
        TULLE_TRY(tulle_stream_check(stream, X, Y, &error));
        EXPECT(error <= 1);
        if (turn == 2) continue;
        EXPECT(report.flops == 2 * tulle_mat_nnz(A) * c->cols);
        int64_t slabs = plan->slabs, resident = plan->resident, bytes = (int64_t)plan->matrix;
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &slabs));
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &bytes));
        EXPECT(report.slabs == slabs);
        EXPECT(report.overlap >= 0 && report.overlap <= 1 && report.seconds > 0);
        EXPECT(report.compute.max * (1 + 1e-12) >= report.compute.mean && report.loop.max <= report.seconds * 1.0001);
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MIN, 1, &resident));
        /* pointers of a slab begin with one more than its rows */
        if (resident && (turn == 1 || c->wider_first)) EXPECT(report.bytes == 0);
        EXPECT(report.bytes <= bytes + 8 * slabs);
    }
out:
    tulle_stream_free(stream);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    tulle_layout_free(la);
    tulle_layout_free(lx);
    return status;
}

static void tell(tulle_status status, const struct cases *c, const char *what)
{
    char name[200];
    snprintf(name, sizeof name, "%s: shape %d, %d x %d, %d columns, %d tiles x %d, slabs %d, ring %d, hide %d", what,
        (int)c->shape, (int)c->m, (int)c->n, (int)c->cols, c->tiles, c->tile_cols, c->options.slabs, c->options.ring,
        !c->options.no_overlap);
    ok(status == TULLE_OK, "%s%s%s", name, status ? ": " : "", status ? tulle_error_message() : "");
}

static void test_products(tulle_team *team, const char *device)
{
    static const int64_t sizes[][2] = {{40, 40}, {1, 1}, {0, 5}, {5, 0}, {23, 61}, {61, 9}};
    struct cases base = {.m = 40, .n = 40, .cols = 3, .tile_cols = 1, .x_tile_cols = 1, .type = TULLE_F64};
    base.options = (tulle_stream_options){0};
    base.options.device = device;
    base.options.cols = 8;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int slabs = 0; slabs < 10; slabs += slabs ? 4 : 1) {
            struct cases c = base;
            c.m = sizes[s][0];
            c.n = sizes[s][1];
            c.options.slabs = slabs;
            c.type = slabs % 2 ? TULLE_F32 : TULLE_F64;
            tell(tulle_team_run(team, run_case, &c), &c, "sizes");
        }
    for (int shape = SCATTERED; shape <= TRAILING; shape++)
        for (int hide = 0; hide < 2; hide++)
            for (int ring = hide ? 2 : 1; ring < 6; ring += 2) {
                struct cases c = base;
                c.shape = (enum shape)shape;
                c.options.no_overlap = !hide;
                c.options.ring = ring;
                c.options.slabs = 11;
                tell(tulle_team_run(team, run_case, &c), &c, "rings");
            }
    for (int kind = 0; kind < 12; kind++) {
        struct cases c = base;
        c.cols = kind % 3 == 0 ? 1 : 8;
        c.tiles = kind % 4 == 1 ? 5 : 0;
        c.cyclic = kind % 4 == 1;
        c.tile_cols = kind == 6 ? 3 : 1;
        c.x_tiles = kind % 2 ? 4 : 0;
        c.x_tile_cols = kind == 7 || kind == 8 ? 2 : 1;
        c.x_col_major = kind > 8;
        c.options.column_by_column = kind % 5 == 2 || kind == 10;
        c.options.rebalance = kind % 2;
        c.options.slabs = kind == 3 ? 0 : 4;
        tell(tulle_team_run(team, run_case, &c), &c, "layouts");
    }
}

/* Rows in other formats: layouts that cut blocks, halves that reach other PEs' rows, both types. */
static void test_formats(tulle_team *team, const char *device)
{
    static const struct {
        const char *format, *told;
    } formats[] = {{"auto", "half"}, {"bsr", "bsr 3 x 3, f"}, {"bsr:b=3,half", "bsr 3 x 3, half"},
        {"bsr:b=2,index=4", "4-byte"}, {"bsr:b=6,half,values=f32", "half, f32"}, {"bsr:b=1,half=off", "csr"},
        {"csr:half,index=2", "csr, half"}, {"csr:values=f32", "csr, f32"}, {"bsr:b=5,half,index=4", "bsr 5 x 5, half"}};
    struct cases base = {
        .shape = SYMMETRIC, .m = 60, .n = 60, .cols = 3, .tile_cols = 1, .x_tile_cols = 1, .type = TULLE_F64};
    base.options = (tulle_stream_options){0};
    base.options.device = device;
    base.options.cols = 8;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int kind = 0; kind < 8; kind++) {
            struct cases c = base;
            c.options.format = formats[f].format;
            c.format = formats[f].told;
            c.cols = kind % 3 == 0 ? 1 : kind % 3 == 1 ? 3 : 8;
            c.options.slabs = kind % 4 == 3 ? 0 : 1 + 2 * (kind % 4);
            c.options.column_by_column = kind == 2 || kind == 5;
            c.options.rebalance = kind == 4;
            c.tiles = kind == 1 || kind == 6 ? 11 : 0;
            c.cyclic = kind == 6;
            c.tile_cols = kind == 7 ? 2 : 1;
            c.type = kind % 2 && !strstr(c.options.format, "f32") ? TULLE_F32 : TULLE_F64;
            tell(tulle_team_run(team, run_case, &c), &c, c.options.format);
        }
    struct cases c = base;
    c.shape = EMPTY;
    c.options.format = "bsr:b=3,half";
    tell(tulle_team_run(team, run_case, &c), &c, "no entries");
    c.m = c.n = 0;
    tell(tulle_team_run(team, run_case, &c), &c, "no rows");
    c = base;
    c.shape = SCATTERED;
    c.m = 24;
    c.n = 61;
    c.options.format = "auto";
    c.format = "csr, f64, 4-byte";
    tell(tulle_team_run(team, run_case, &c), &c, "nothing is gained by blocks");
}

/* Sizes that are no multiple of the blocks: the last ones are padded, X and Y are not. */
static void test_ragged(tulle_team *team, const char *device)
{
    static const char *const formats[] = {"bsr:b=3", "bsr:b=3,half", "bsr:b=2,half,values=f32", "bsr:b=7,half,index=4",
        "bsr:b=7", "bsr:b=8", "bsr:b=64,half"};
    static const int64_t sizes[][2] = {{1, 1}, {2, 2}, {5, 5}, {59, 59}, {61, 61}, {23, 61}, {61, 9}, {0, 5}, {5, 0}};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            const int kind = (int)(n + f) % 8, square = sizes[n][0] == sizes[n][1];
            if (!square && strstr(formats[f], "half")) continue;
            struct cases c = {.shape = square ? SYMMETRIC : SCATTERED,
                .m = sizes[n][0],
                .n = sizes[n][1],
                .cols = kind % 3 == 0   ? 1
                        : kind % 3 == 1 ? 3
                                        : 8,
                .tiles = kind == 1 || kind == 6 ? 11 : 0,
                .tile_cols = kind == 7 ? 2 : 1,
                .cyclic = kind == 6,
                .x_tile_cols = 1,
                .x_col_major = kind == 5,
                .type = kind % 2 && !strstr(formats[f], "f32") ? TULLE_F32 : TULLE_F64,
                .wider_first = 1};
            c.options = (tulle_stream_options){.device = device, .cols = 8, .format = formats[f]};
            c.options.slabs = kind % 4 == 3 ? 0 : 1 + 2 * (kind % 4);
            c.options.column_by_column = kind == 2 || kind == 5;
            c.options.rebalance = kind == 4;
            tell(tulle_team_run(team, run_case, &c), &c, c.options.format);
        }
}

static void refuse_format(tulle_team *team, struct cases c, const char *format, const char *cause)
{
    c.options.format = format;
    tulle_status status = tulle_team_run(team, run_case, &c);
    ok(status == TULLE_ERR_ARG && strstr(tulle_error_message(), cause), "%s: %s", format, tulle_error_message());
}

static void test_format_refusals(tulle_team *team, const char *device)
{
    struct cases base = {.shape = SYMMETRIC, .m = 60, .n = 60, .cols = 1, .tile_cols = 1, .x_tile_cols = 1};
    base.type = TULLE_F64;
    base.options = (tulle_stream_options){0};
    base.options.device = device;
    refuse_format(team, base, "ell", "unknown format 'ell'");
    refuse_format(team, base, "bsr:b=3+csr", "is not a single format");
    refuse_format(team, base, "csr:b=3", "no key 'b'");
    refuse_format(team, base, "bsr:index=3", "2 or 4 bytes");
    refuse_format(team, base, "bsr:values=f16", "unknown type of values 'f16'");
    struct cases c = base;
    c.shape = SCATTERED;
    refuse_format(team, c, "bsr:b=3,half", "not symmetric");
    c.n = 63;
    refuse_format(team, c, "csr:half", "not symmetric");
    c = base;
    c.type = TULLE_F32;
    refuse_format(team, c, "csr:values=f64", "f64");
    c = base;
    c.shape = DENSE_ROW;
    c.m = 4;
    c.n = 80000;
    refuse_format(team, c, "csr:index=2", "index=2: a row extends over");
}

/* Devices that hold the vectors and little more; and one that does not. */
static void test_memory(tulle_team *team, const char *device)
{
    struct cases c = {.m = 300, .n = 300, .cols = 1, .tile_cols = 1, .x_tile_cols = 1, .type = TULLE_F64};
    int pes = tulle_team_size(team), streamed = 0;
    c.options = (tulle_stream_options){0};
    c.options.device = device;
    for (size_t memory = 400000; memory > 4000; memory = memory * 2 / 3) {
        c.options.memory = memory;
        tulle_status status = tulle_team_run(team, run_case, &c);
        if (status == TULLE_ERR_LIMIT) {
            ok(strstr(tulle_error_message(), "bytes of the device") != NULL, "%zu bytes a PE: %s", memory,
                tulle_error_message());
            ok(streamed >= 3, "refused only when little was left");
            return;
        }
        streamed++;
        ok(status == TULLE_OK, "%zu bytes for %d PEs%s%s", memory, pes, status ? ": " : "",
            status ? tulle_error_message() : "");
    }
    ok(0, "4000 bytes cannot do");
}

static void test_refusals(tulle_team *team, const char *device)
{
    struct cases base = {.m = 6, .n = 6, .cols = 1, .tile_cols = 1, .x_tile_cols = 1, .type = TULLE_F64};
    base.options = (tulle_stream_options){0};
    base.options.device = device;
    struct cases c = base;
    c.options.cols = -1;
    ok(tulle_team_run(team, run_case, &c) == TULLE_ERR_ARG, "fewer than no columns");
    c = base;
    c.cols = 2;
    ok(tulle_team_run(team, run_case, &c) == TULLE_ERR_ARG, "more columns than options.cols");
    c = base;
    c.options.ring = 1;
    ok(tulle_team_run(team, run_case, &c) == TULLE_ERR_ARG, "a ring of one that hides");
    c = base;
    c.options.device = "abacus";
    ok(tulle_team_run(team, run_case, &c) == TULLE_ERR_UNSUPPORTED, "a device that is not there");
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    tulle_device_facts facts;
    if (argc != 5) return 2;
    if (tulle_device_probe(argv[4], &facts) == TULLE_ERR_UNSUPPORTED) { /* a GPU; the others are always here */
        skip("%s: %s", argv[4], tulle_error_message());
        return tap_done();
    }
    tulle_team_options options = {.threads = atoi(argv[3]), .memory = (size_t)256 << 20};
    tulle_status status = tulle_team_new(argv[1], atoi(argv[2]), &options, &team);
    if (!ok(status == TULLE_OK, "%s: %s", argv[1], status ? tulle_error_message() : "")) return tap_done();
    test_products(team, argv[4]);
    test_formats(team, argv[4]);
    test_ragged(team, argv[4]);
    test_format_refusals(team, argv[4]);
    test_memory(team, argv[4]);
    test_refusals(team, argv[4]);
    tulle_team_free(team);
    return tap_done();
}
