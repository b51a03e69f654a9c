/* SPDX-License-Identifier: Apache-2.0 */
/* tulle stream: Y = A X with A in slabs through a device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "result.h"
#include "streaming.h"
#include "verb.h"

struct setting {
    const struct options *options;
    tulle_read_options reading;
    struct streaming streaming;
    int products;
    tulle_stream_plan plan;     /* PE 0's, like all below */
    tulle_stream_report report; /* of the product whose time is the median */
    double seconds[REPS_MAX], median;
    tulle_gidx m, n;
    int64_t nnz;
    char manner[128];
    int checked, passed;
    double error;
    char warnings[TULLE_WARNINGS_MAX], wrong[256];
};

/* ---- on each PE ---- */

struct sides {
    tulle_mat *A, *X, *Y;
    tulle_rows *rows;
    tulle_stream *stream;
};

static tulle_status open_source(struct setting *s, tulle_comm *comm, struct sides *x, char *warnings)
{
    const char *operand = s->options->operand[0];
    tulle_status status;
    if (s->streaming.from_file) {
        status = tulle_rows_open(comm, operand, &x->rows);
        if (status == TULLE_OK) status = tulle_stream_of_rows(x->rows, &s->streaming.options, &x->stream);
    } else {
        status = tulle_mat_load(comm, operand, NULL, TULLE_CSR, &s->reading, warnings, &x->A);
        if (status == TULLE_OK) status = tulle_stream_new(x->A, &s->streaming.options, &x->stream);
    }
    if (status != TULLE_OK || tulle_comm_rank(comm) != 0) return status;
    s->m = x->A ? tulle_mat_rows(x->A) : tulle_rows_count(x->rows);
    s->n = x->A ? tulle_mat_cols(x->A) : tulle_rows_cols(x->rows);
    s->nnz = x->A ? tulle_mat_nnz(x->A) : tulle_rows_nnz(x->rows);
    if (x->rows) snprintf(s->manner, sizeof s->manner, "%s", tulle_rows_manner(x->rows));
    s->plan = *tulle_stream_planned(x->stream);
    return TULLE_OK;
}

/* X random, in rows of its own; Y as the stream has its rows. */
static tulle_status make_sides(struct setting *s, tulle_comm *comm, struct sides *x)
{
    const tulle_layout *rows = tulle_stream_layout(x->stream);
    tulle_gidx n = x->A ? tulle_mat_cols(x->A) : tulle_rows_cols(x->rows);
    tulle_type type = x->A ? tulle_mat_type(x->A) : tulle_rows_type(x->rows);
    tulle_layout *lx = NULL, *ly = NULL;
    int size = tulle_comm_size(comm), tiles = tulle_layout_tile_rows(rows);
    int *owner = malloc((size_t)tiles * sizeof *owner + 1);
    tulle_status status = owner ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    for (int i = 0; i < tiles && owner; i++) owner[i] = tulle_layout_owner(rows, i, 0);
    tulle_layout_spec sx = {.m = n, .n = s->streaming.options.cols, .grid_rows = size, .grid_cols = 1};
    tulle_layout_spec sy = {.m = tulle_layout_rows(rows),
        .n = s->streaming.options.cols,
        .tile_rows = tiles,
        .tile_cols = 1,
        .row_cut = tulle_layout_row_cut(rows),
        .owner = owner};
    if (status == TULLE_OK) status = tulle_layout_new(&sx, size, &lx);
    if (status == TULLE_OK) status = tulle_layout_new(&sy, size, &ly);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, lx, type, TULLE_ROW_MAJOR, &x->X);
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, ly, type, TULLE_ROW_MAJOR, &x->Y);
    if (status == TULLE_OK) status = tulle_mat_fill_random(x->X, (uint64_t)options_int(s->options, "seed", 1));
    tulle_layout_free(lx);
    tulle_layout_free(ly);
    free(owner);
    return status;
}

static tulle_status multiply(struct setting *s, tulle_comm *comm, struct sides *x)
{
    int leads = tulle_comm_rank(comm) == 0;
    double nearest = -1;
    tulle_stream_report report;
    /* the first one is not counted: memory is fresh, and what stays is brought */
    tulle_status status = tulle_stream_multiply(x->stream, x->X, x->Y, NULL);
    for (int p = 0; p < s->products && status == TULLE_OK; p++) {
        status = tulle_stream_multiply(x->stream, x->X, x->Y, &report);
        if (!leads || status != TULLE_OK) continue;
        s->seconds[p] = report.seconds;
        double middle = median(s->seconds, p + 1),
               off = report.seconds > middle ? report.seconds - middle : middle - report.seconds;
        if (nearest < 0 || off <= nearest) s->report = report;
        if (nearest < 0 || off <= nearest) nearest = off;
    }
    if (leads && s->products) s->median = median(s->seconds, s->products);
    return status;
}

/* Of a file: with the matrix read by other means, which needs the memory. */
static tulle_status check(struct setting *s, tulle_comm *comm, struct sides *x)
{
    double error = 0;
    tulle_mat *A = x->A;
    tulle_status status = TULLE_OK;
    if (!A) status = tulle_mat_load(comm, s->options->operand[0], NULL, TULLE_CSR, &s->reading, NULL, &A);
    if (status == TULLE_OK) status = tulle_product_check(A, x->X, x->Y, NULL, &error);
    if (status != TULLE_OK && status != TULLE_ERR_CHECK) return status;
    if (tulle_comm_rank(comm) != 0) return TULLE_OK;
    s->checked = 1;
    s->passed = status == TULLE_OK;
    s->error = error;
    if (!s->passed) snprintf(s->wrong, sizeof s->wrong, "%s", tulle_error_message());
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct setting *s = arg;
    struct sides x = {NULL, NULL, NULL, NULL, NULL};
    char warnings[TULLE_WARNINGS_MAX] = "";
    tulle_status status = open_source(s, comm, &x, warnings);
    if (tulle_comm_rank(comm) == 0) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    if (status == TULLE_OK) status = make_sides(s, comm, &x);
    if (status == TULLE_OK) status = multiply(s, comm, &x);
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, &x);
    return status; /* the team frees what was made */
}

/* ---- what is shown ---- */

static void print_json(const struct setting *s, const tulle_team *team)
{
    const tulle_stream_report *r = &s->report;
    printf("{\"op\":\"stream\",\"operand\":");
    json_text(s->options->operand[0], stdout);
    printf(",\"comm\":");
    json_text(chosen_comm(s->options), stdout);
    printf(",\"time\":\"%s\",\"pes\":%d,\"threads\":%d,\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"nnz\":%" PRId64
           ",\"cols\":%" PRId64 ",\"source\":\"%s\",\"hide\":%s,\"separate\":%s,\"spec\":",
        tulle_team_virtual(team) ? "virtual" : "real", tulle_team_size(team), tulle_team_threads(team), s->m, s->n,
        s->nnz, s->streaming.options.cols, options_word(s->options, "source", "memory"),
        s->streaming.options.hide ? "true" : "false", s->streaming.options.separate ? "true" : "false");
    json_text(s->streaming.options.device, stdout);
    streaming_json(&s->plan, stdout);
    if (*s->manner) {
        printf(",\"manner\":");
        json_text(s->manner, stdout);
    }
    printf(",\"products\":%d,\"seconds\":%.6g,\"bytes\":%" PRId64 ",\"read\":%" PRId64 ",\"all_slabs\":%" PRId64
           ",\"flops\":%" PRId64 ",\"overlap\":%.4g,",
        s->products, s->median, r->bytes, r->read, r->slabs, r->flops, r->overlap);
    const struct {
        const char *name;
        tulle_spread spread;
    } phase[] = {{"transfer", r->transfer}, {"compute", r->compute}, {"loop", r->loop}, {"vectors", r->vectors},
        {"reading", r->reading}};
    for (size_t i = 0; i < sizeof phase / sizeof *phase; i++) {
        if (i) putchar(',');
        json_spread(phase[i].name, phase[i].spread, stdout);
    }
    if (s->checked) printf(",\"check\":{\"passed\":%s,\"error\":%.6g}", s->passed ? "true" : "false", s->error);
    printf("}\n");
}

static void print_table(const struct setting *s, const tulle_team *team)
{
    const tulle_stream_report *r = &s->report;
    char text[512];
    printf("stream %s: %" PRId64 " x %" PRId64 " (%" PRId64 " entries) times %" PRId64
           " column%s, %d PEs of %d thread%s, %s\n",
        s->options->operand[0], s->m, s->n, s->nnz, s->streaming.options.cols,
        s->streaming.options.cols == 1 ? "" : "s", tulle_team_size(team), tulle_team_threads(team),
        tulle_team_threads(team) == 1 ? "" : "s", chosen_comm(s->options));
    printf("PE 0: %s\n", tulle_stream_describe(&s->plan, text, sizeof text));
    if (*s->manner) printf("file: read %s\n", s->manner);
    if (s->plan.bandwidth > 0 && !s->plan.in_place)
        printf("link %.3g GB/s, %.3g us a copy; a product should take %.4g s (transfer %.4g, compute %.4g)\n",
            s->plan.bandwidth / 1e9, s->plan.latency * 1e6, s->plan.seconds, s->plan.transfer, s->plan.compute);
    printf("  seconds     GF/s |  transfer   compute      loop   vectors   reading | overlap  copied MB    read MB\n");
    printf("%9.4g %8.2f | %9.4g %9.4g %9.4g %9.4g %9.4g | %6.0f%% %10.4g %10.4g\n", s->median,
        s->median > 0 ? (double)r->flops / s->median / 1e9 : 0, r->transfer.max, r->compute.max, r->loop.max,
        r->vectors.max, r->reading.max, 100 * r->overlap, (double)r->bytes * 1e-6, (double)r->read * 1e-6);
    if (s->checked) printf("check %s (%.3g of the rounding bound)\n", s->passed ? "passed" : "FAILED", s->error);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    struct setting *s = calloc(1, sizeof *s);
    if (!s) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    s->options = options;
    tulle_status status = reading_options(options, &s->reading);
    if (status == TULLE_OK) status = streaming_options(options, &s->streaming);
    s->streaming.options.cols = options_int(options, "cols", 1);
    s->streaming.options.separate = options_flag(options, "separate");
    s->products = (int)options_int(options, "products", 5);
    const char *trace = options_word(options, "trace", NULL);
    status = open_team(options, trace ? "trace+" : "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, s);
    if (trace && team && status == TULLE_OK) status = tulle_team_trace_write(team, trace);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        show_warnings(options, s->warnings);
        options_flag(options, "json") ? print_json(s, team) : print_table(s, team);
        if (s->checked && !s->passed) status = tulle_fail(TULLE_ERR_CHECK, "%s", s->wrong);
    }
    tulle_team_free(team);
    free(s);
    return status;
}

static const struct option options[] = {{.name = "cols",
                                            .kind = KIND_INT,
                                            .argument = "K",
                                            .fallback = "1",
                                            .low = 1,
                                            .high = 1 << 20,
                                            .text = "columns of X"},
    OPTIONS_STREAMING,
    {.name = "separate",
        .kind = KIND_FLAG,
        .text = "multiply each column by itself, slab after slab, as the paper does"},
    {.name = "products",
        .kind = KIND_INT,
        .argument = "P",
        .fallback = "5",
        .low = 1,
        .high = REPS_MAX,
        .text = "products that are timed, after one that is not; the median is told"},
    {.name = "check",
        .letter = 'c',
        .kind = KIND_FLAG,
        .text = "check Y independently; of a file with the whole matrix in memory"},
    {.name = "seed", .kind = KIND_INT, .argument = "S", .fallback = "1", .low = 0, .high = INT32_MAX, .text = "of X"},
    {.name = "json", .kind = KIND_FLAG, .text = "print one JSON object"},
    {.name = "trace", .kind = KIND_WORD, .argument = "FILE", .text = "write a timeline that Perfetto opens"},
    OPTION_PES, OPTION_COMM, OPTION_THREADS, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING, OPTION_QUIET, OPTION_HELP,
    {.name = NULL}};

const struct verb verb_stream = {
    .name = "stream",
    .operands = "A",
    .summary = "Multiply by a matrix that goes through a device's memory in slabs",
    .description =
        "Y = A X for a matrix that may be larger than the memory of the device that multiplies: slabs of whole rows "
        "go\n"
        "through a ring of buffers there, and are copied while others are multiplied. X and Y stay on the device. "
        "What\n"
        "is planned is told first: whether the matrix stays, how many slabs, the memory, and the time by the model.\n"
        "`transfer` is how long the link was busy, `compute` kernels, `loop` both together; `overlap` what of the "
        "lesser\n"
        "was hidden. `vectors` is gathering X and fetching Y, `reading` waiting for a file or another PE.",
    .examples = "tulle stream fem:nodes=48,dof=3 --device limit:mem=64M,link=4G+cpu --cols 16\n"
                "tulle stream A.mtx --device limit:link=2G+cpu --slabs 12 --hide off --separate --cols 50\n"
                "tulle stream A.bsp.h5 --source file --budget 500M --cols 8 --json",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
