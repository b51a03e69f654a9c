/* SPDX-License-Identifier: Apache-2.0 */
/* tulle predict: the predicted time of each algorithm on a machine, for any number of PEs. */
#include <inttypes.h>
#include <stdlib.h>

#include <tulle/budget.h>

#include "pe_grid.h"
#include "predict/predict_devices.h"
#include "predict/predict_gemm.h"
#include "predict/predict_spectrum.h"
#include "predict/predict_words.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "solves/spectrum_choice.h"
#include "verb.h"
#include "verbs/block_sizes.h"
#include "verbs/product_operands.h"

struct forecast {
    const struct options *options;
    tulle_read_options reading;
    int sparse;
    struct grid grid;
    tulle_machine machine;
    tulle_model_options model;
    struct result known; /* sizes, entries and flops of the product */
    tulle_prediction prediction[TULLE_PRODUCT_ALG_COUNT];
    tulle_device_model devices; /* of each PE; 0: none are asked about */
    tulle_device_prediction there[TULLE_PRODUCT_ALG_COUNT];
    double *loads; /* [TULLE_PRODUCT_ALG_COUNT][2][pes]: multiplications, bytes */
    char warnings[TULLE_WARNINGS_MAX];
};

static tulle_status predict_all(struct forecast *f, const tulle_counts *counts)
{
    size_t pes = (size_t)f->grid.pes;
    f->known.report.flops = (int64_t)(tulle_counts_flops(counts) + 0.5);
    f->known.nnz_c = (int64_t)(tulle_counts_entries(counts) + 0.5);
    tulle_counts_block_flops(counts, f->known.block_flops);
    f->loads = calloc(2 * pes * TULLE_PRODUCT_ALG_COUNT, sizeof *f->loads);
    if (!f->loads) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for the loads of %zu PEs", pes);
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++) {
        double *loads = f->loads + 2 * pes * (size_t)a;
        tulle_status status = tulle_predict(counts, &f->machine, &f->model, (tulle_product_alg)a, &f->prediction[a]);
        if (status == TULLE_OK && f->prediction[a].suits)
            status = tulle_predict_loads(counts, &f->machine, &f->model, (tulle_product_alg)a, loads, loads + pes);
        if (status == TULLE_OK && f->prediction[a].suits && f->devices.devices)
            status = tulle_predict_devices(counts, &f->prediction[a], &f->devices, &f->there[a]);
        if (status != TULLE_OK) return status;
    }
    return tulle_predict_best(counts, &f->machine, &f->model, &f->prediction[TULLE_PRODUCT_AUTO]);
}

/* A, and B, in blocks, if they are wanted so; B may be A. */
static tulle_status into_blocks(
    struct forecast *f, tulle_comm *comm, struct block_sizes *sizes, tulle_mat **A, tulle_mat **B)
{
    const char *list = options_word(f->options, "blocks", NULL);
    const tulle_gidx n[3] = {tulle_mat_rows(*A), tulle_mat_cols(*A), *B ? tulle_mat_cols(*B) : 0};
    int known[3] = {0, 0, 0};
    tulle_layout *l[2] = {NULL, NULL};
    tulle_mat *a = *A, *b = *B;
    if (!list) return TULLE_OK;
    if (!b) return tulle_fail(TULLE_ERR_ARG, "--blocks is for a product of two sparse matrices");
    tulle_status status = block_sizes_known(f->options, &f->reading, 1, comm, known);
    if (status == TULLE_OK) status = block_sizes_read(list, 3, comm, n, known, sizes);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(tulle_mat_layout(a), &sizes->cut[0], &sizes->cut[1], &l[0]);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(tulle_mat_layout(b), &sizes->cut[1], &sizes->cut[2], &l[1]);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(a, l[0], A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(b, l[1], B);
    for (int x = 0; x < 2; x++) tulle_layout_free(l[x]);
    f->grid.blocks = sizes->cut;
    return status;
}

/* On one PE, which reads the matrices and counts. */
static tulle_status body(tulle_comm *comm, void *arg)
{
    struct forecast *f = arg;
    const struct options *o = f->options;
    tulle_mat *A = NULL, *B = NULL, *other = NULL;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_counts *counts = NULL;
    struct block_sizes sizes = {.even = 0};
    tulle_status status = tulle_mat_load(comm, o->operand[0], NULL, TULLE_CSR, &f->reading, f->warnings, &A);
    if (status == TULLE_OK && o->noperands == 2)
        status = tulle_mat_load(comm, o->operand[1], NULL, TULLE_CSR, &f->reading, NULL, &other);
    else if (status == TULLE_OK && f->sparse && tulle_mat_rows(A) != tulle_mat_cols(A))
        status = tulle_mat_transpose(A, &other);
    if (status != TULLE_OK) return status;
    if (f->sparse) B = other ? other : A;
    struct result *r = &f->known;
    r->m = tulle_mat_rows(A);
    r->k = tulle_mat_cols(A);
    r->n = B ? tulle_mat_cols(B) : options_int(o, "cols", 1);
    r->nnz_a = tulle_mat_nnz(A);
    if (B && tulle_mat_rows(B) != r->k)
        return tulle_fail(TULLE_ERR_ARG, "A has %" PRId64 " %s and B %" PRId64 " %s", r->k,
            plural(r->k, "column", "columns"), tulle_mat_rows(B), plural(tulle_mat_rows(B), "row", "rows"));
    tulle_counting counting = options_flag(o, "estimate") ? TULLE_COUNT_FLOPS : TULLE_COUNT_RESULT;
    int near =
        f->machine.node_pes ? f->machine.node_pes >= f->grid.pes : f->grid.pes * f->model.threads <= f->machine.threads;
    status = into_blocks(f, comm, &sizes, &A, &B);
    if (status == TULLE_OK) status = grid_weigh(&f->grid, A, B);
    if (status == TULLE_OK && f->grid.choose)
        status = grid_choose(&f->grid, A, B, r->n, TULLE_PRODUCT_AUTO, &f->machine, &f->model);
    if (status == TULLE_OK) status = grid_layouts(&f->grid, r->m, r->k, r->n, l);
    if (status == TULLE_OK) status = grid_counts(&f->grid, A, B, l, counting, near && f->machine.in_place, &counts);
    if (status == TULLE_OK) status = predict_all(f, counts);
    tulle_counts_free(counts);
    grid_fini(&f->grid);
    block_sizes_free(&sizes);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status; /* the team frees the matrices */
}

static void print_numbers(const char *name, const double *x, int n)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++) json_printf(stdout, "%s%.0f", i ? "," : "", x[i]);
    putchar(']');
}

static void print_json(const struct forecast *f, tulle_product_alg alg)
{
    const tulle_prediction *p = &f->prediction[alg];
    const struct result *r = &f->known;
    int pes = f->grid.pes;
    const double *loads = f->loads + 2 * (size_t)pes * alg;
    struct roof roof = roof_of(&f->machine, f->sparse ? SPGEMM : SPMM, f->model.threads, pes, f->reading.type, r);
    printf("{\"op\":\"%s\",\"alg\":\"%s\",\"predicted\":true,\"operand\":", f->sparse ? "spgemm" : "spmm",
        tulle_product_alg_name(alg));
    json_text(f->options->operand[0], stdout);
    printf(",\"machine\":");
    json_text(f->machine.kind, stdout);
    printf(",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"grid\":[%d,%d],\"m\":%" PRId64 ",\"k\":%" PRId64
           ",\"n\":%" PRId64 ",\"nnz_a\":%" PRId64 ",\"nnz_c\":%" PRId64 ",\"flops\":%" PRId64,
        pes, f->model.threads, tulle_type_name(f->reading.type), f->grid.rows, f->grid.cols, r->m, r->k, r->n, r->nnz_a,
        r->nnz_c, r->report.flops);
    json_printf(stdout, ",\"seconds\":%.6g,\"predicted_seconds\":%.6g,\"bound_seconds\":%.6g,\"load_imbalance\":%.6g",
        p->seconds, p->seconds, p->roofline, p->load_imbalance);
    json_printf(stdout, ",\"bytes_moved\":%.0f,\"messages\":%.0f,\"partials\":%.0f,\"phases\":{", p->bytes_moved,
        p->messages, p->partials);
    json_imbalance("compute", p->compute, stdout);
    putchar(',');
    json_imbalance("communicate", p->communicate, stdout);
    putchar(',');
    json_imbalance("accumulate", p->accumulate, stdout);
    putchar(',');
    json_imbalance("wait", p->wait, stdout);
    printf("},");
    json_roof(&roof, stdout);
    block_flops_json(r->block_flops, stdout);
    predict_devices_json(&f->devices, &f->there[alg]);
    print_numbers("work_per_pe", loads, pes);
    print_numbers("bytes_per_pe", loads + pes, pes);
    printf("}\n");
}

static void print_head(const struct forecast *f)
{
    const struct result *r = &f->known;
    printf("%s %s: %" PRId64 " x %" PRId64 " (%" PRId64 " %s) times %" PRId64 " x %" PRId64
           ",\n%s, on %d %s of %s, grid %dx%d\n",
        f->sparse ? "spgemm" : "spmm", f->options->operand[0], r->m, r->k, r->nnz_a,
        plural(r->nnz_a, "entry", "entries"), r->k, r->n, tulle_type_name(f->reading.type), f->grid.pes,
        plural(f->grid.pes, "PE", "PEs"), f->machine.kind, f->grid.rows, f->grid.cols);
    printf("%-14s %10s | %9s %9s %9s %9s | %6s %9s %9s\n", "algorithm", "seconds", "compute", "communic.", "accumul.",
        "wait", "imbal.", "moved MB", "messages");
}

static void print_text(const struct forecast *f)
{
    const struct result *r = &f->known;
    struct roof roof =
        roof_of(&f->machine, f->sparse ? SPGEMM : SPMM, f->model.threads, f->grid.pes, f->reading.type, r);
    print_head(f);
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT; a++) {
        const tulle_prediction *p = &f->prediction[a];
        if (!p->suits) {
            printf("%-14s skipped: it does not suit this grid\n", tulle_product_alg_name((tulle_product_alg)a));
            continue;
        }
        printf("%-14s %10.4g | %9.3g %9.3g %9.3g %9.3g | %6.2f %9.3g %9.0f%s\n",
            tulle_product_alg_name((tulle_product_alg)a), p->seconds, p->compute.max, p->communicate.max,
            p->accumulate.max, p->wait.max, p->load_imbalance, p->bytes_moved * 1e-6, p->messages,
            (tulle_product_alg)a == f->prediction[TULLE_PRODUCT_AUTO].alg ? "  <- auto" : "");
    }
    for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT && f->devices.devices; a++)
        if (f->prediction[a].suits) predict_devices_text(tulle_product_alg_name((tulle_product_alg)a), &f->there[a]);
    if (f->devices.devices) printf("devices: modelled where owners of C multiply in an order that is known before\n");
    double entries = (double)r->nnz_c, flops = (double)r->report.flops;
    printf("C: %.4g %s%s; %.4g Gflop", entries, plural(r->nnz_c, "entry", "entries"),
        f->sparse && options_flag(f->options, "estimate") ? " (estimated)" : "", flops * 1e-9);
    if (f->sparse && entries > 0) printf(", %.2f multiplications an entry", flops / 2 / entries);
    printf(";\nat the local roofline of %.3g GF/s a PE (%.3g flop/byte) %.3g s\n", roof.local.rate * 1e-9,
        roof.local.intensity, f->prediction[TULLE_PRODUCT_AUTO].roofline);
    block_flops_text(r->block_flops, stdout);
    if (f->model.transfers != TULLE_TRANSFERS_WHOLE && !f->grid.blocks)
        printf("moved: assumes rows of B of equal length; savings by partial rows of C are not counted\n");
    double moved = f->prediction[TULLE_PRODUCT_AUTO].bytes_moved, pes = f->grid.pes;
    tulle_roofline far = tulle_roofline_network(&f->machine, f->grid.pes, roof.local.rate, flops / pes, moved / pes);
    if (moved > 0)
        printf("the transfers of %s (%.3g flop/byte) allow %.3g GF/s a PE\n",
            tulle_product_alg_name(f->prediction[TULLE_PRODUCT_AUTO].alg), far.intensity, far.rate * 1e-9);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    const enum predicted what = predict_what(options);
    tulle_status status = predict_check_options(options, what);
    if (status != TULLE_OK) return status;
    if (what != PREDICT_PRODUCT) return what == PREDICT_GEMM ? predict_gemm(options) : predict_spectrum(options);
    struct forecast *f = calloc(1, sizeof *f);
    const char *name = options_word(options, "machine", "here");
    int pes = (int)options_int(options, "pes", 1), cores = tulle_cores_free();
    if (!f) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    f->options = options;
    f->sparse = options_int(options, "cols", 0) == 0;
    f->model = (tulle_model_options){0};
    f->model.threads = (int)options_int(options, "threads", 1);
    f->model.lookahead = lookahead_option(options);
    status = reading_options(options, &f->reading);
    if (status == TULLE_OK)
        status = tulle_transfers_parse(options_word(options, "transfers", "auto"), &f->model.transfers);
    if (status == TULLE_OK && !f->sparse && options->noperands == 2)
        status = tulle_fail(TULLE_ERR_ARG, "--cols sets the columns of an unnamed dense operand; omit it or B");
    if (status == TULLE_OK) status = grid_options(options, pes, f->sparse, 0, "auto", &f->grid);
    f->grid.type = f->reading.type;
    if (status == TULLE_OK) status = predict_devices_read(options, &f->devices);
    if (status == TULLE_OK && f->devices.devices && f->model.transfers != TULLE_TRANSFERS_AUTO &&
        f->model.transfers != TULLE_TRANSFERS_WHOLE)
        status = tulle_fail(TULLE_ERR_ARG, "--transfers is whole with --device: what goes to a device is a tile");
    if (f->devices.devices) f->model.transfers = TULLE_TRANSFERS_WHOLE;
    if (status == TULLE_OK) status = filter_option(options, &f->grid.filter);
    if (status == TULLE_OK) status = tulle_machine_find(name, cores > 64 ? 64 : cores, &f->machine);
    int64_t node = options_int(options, "node-pes", 0);
    if (node) f->machine.node_pes = (int)node;
    tulle_team_options chosen = {.memory = (size_t)options_size(options, "memory", 0)};
    if (status == TULLE_OK) status = tulle_team_new("threads", 1, &chosen, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, f);
    if (status == TULLE_OK) {
        show_warnings(options, f->warnings);
        for (int a = TULLE_PRODUCT_AUTO + 1; a < TULLE_PRODUCT_ALG_COUNT && options_flag(options, "json"); a++)
            if (f->prediction[a].suits) print_json(f, (tulle_product_alg)a);
        if (!options_flag(options, "json")) print_text(f);
    }
    tulle_team_free(team);
    free(f->loads);
    free(f);
    return status;
}

#define SIZE_OPTION(option, what)                                                                                      \
    {                                                                                                                  \
        .name = option, .kind = KIND_INT, .argument = "N", .low = 0, .high = INT32_MAX, .text = what                   \
    }

static const struct option options[] = {{.name = "pes",
                                            .letter = 'p',
                                            .kind = KIND_INT,
                                            .argument = "P",
                                            .fallback = "1",
                                            .low = 1,
                                            .high = 32768,
                                            .text = "processing elements; they need not exist"},
    OPTION_MACHINE,
    {.name = "cols",
        .letter = 'n',
        .kind = KIND_INT,
        .argument = "N",
        .low = 1,
        .high = 1 << 24,
        .text = "SpMM with a dense operand of N columns instead of SpGEMM"},
    {.name = "count",
        .letter = 'k',
        .kind = KIND_INT,
        .argument = "K",
        .fallback = "6, or all",
        .low = 1,
        .high = 1000000,
        .text = "eig, lobpcg, svd, pca: pairs, values or components"},
    {.name = "passes",
        .kind = KIND_INT,
        .argument = "Q",
        .fallback = "svd: until convergence; pca: 4",
        .low = 1,
        .high = 100000,
        .text = "svd, pca: so many products of the randomised method"},
    {.name = "tol",
        .kind = KIND_WORD,
        .argument = "X",
        .fallback = "as the verb has it",
        .text = "eig, lobpcg, svd, pca: as these verbs have it; pca: as many passes as it takes, instead of 4"},
    {.name = "block",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "B",
        .fallback = "as the method has it",
        .low = 1,
        .high = 64,
        .text = "eig, lobpcg, svd, pca: directions of a pass"},
    {.name = "basis",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "as the method has it",
        .low = 1,
        .high = 1000000,
        .text = "eig, svd, pca: directions kept"},
    {.name = "which",
        .letter = 'w',
        .kind = KIND_WORD,
        .argument = "END",
        .fallback = "LM",
        .text = "eig: as `tulle eig`"},
    {.name = "method",
        .kind = KIND_CHOICE,
        .argument = EIG_METHODS,
        .fallback = "auto",
        .text = "eig: as `tulle eig` of a matrix in memory; in a file auto is lanczos"},
    {.name = "degree",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "D",
        .fallback = "3 to 60, by --bounds",
        .low = 2,
        .high = 1000,
        .text = "eig: of chebyshev's polynomial, 2 to 1000"},
    {.name = "bounds",
        .kind = KIND_FLAG,
        .text = "eig: read the matrix, and find the bounds of its spectrum by up to 40 passes, and so the degree"},
    SIZE_OPTION("size", "gemm: factors of N x N; also the default of --m, --n and --k"),
    SIZE_OPTION("m", "gemm: rows of A"), SIZE_OPTION("n", "gemm: columns of B (default: as --m)"),
    SIZE_OPTION("k", "gemm: columns of A, rows of B (default: as --m)"),
    {.name = "grid",
        .group = GROUP_TUNING,
        .kind = KIND_WORD,
        .argument = "RxC|auto",
        .fallback = "auto",
        .text = "grid of the PEs; auto: the one with the fastest algorithm; gemm: RxCxL, L layers; auto: the one that "
                "moves the least"},
    {.name = "tiles",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "T",
        .fallback = "1",
        .low = 1,
        .high = 256,
        .text = "tiles of a PE in each direction"},
    {.name = "device",
        .kind = KIND_WORD,
        .argument = "SPEC",
        .text = "devices of limit: or model:mem=SIZE,link=RATE,peer=RATE multiply; they need not exist"},
    {.name = "devices",
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "1",
        .low = 1,
        .high = 64,
        .text = "devices of each PE"},
    {.name = "device-rate",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_SIZE,
        .argument = "FLOPS",
        .text = "flop/s of each device (default: all of a PE's are as fast as its threads)"},
    {.name = "cyclic",
        .group = GROUP_TUNING,
        .kind = KIND_FLAG,
        .text = "distribute tiles cyclically instead of in blocks"},
    {.name = "cut",
        .group = GROUP_TUNING,
        .kind = KIND_CHOICE,
        .argument = "rows|nnz|flops",
        .fallback = "spgemm flops, spmm nnz",
        .text = "what the cuts of A's tile rows balance; of a hypersparse A, flops are nnz"},
    {.name = "threads",
        .letter = 't',
        .kind = KIND_INT,
        .argument = "T",
        .fallback = "1",
        .low = 1,
        .high = 1024,
        .text = "threads of each PE's kernels"},
    {.name = "node-pes",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "N",
        .fallback = "the machine's",
        .low = 1,
        .high = 32768,
        .text = "PEs on a node"},
    {.name = "lookahead",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "D",
        .low = 0,
        .high = 1000,
        .text = "jobs whose tiles are fetched ahead (default: 4 for stationary-c of a dense C, else 2)"},
    OPTION_TRANSFERS, OPTION_BLOCKS, OPTION_BLOCK_FILTER,
    {.name = "estimate",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_FLAG,
        .text = "SpGEMM: estimate the entries of C from some rows instead of counting them, which is faster"},
    OPTION_JSON("one JSON object an algorithm, with the loads of each PE"), OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING,
    OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_predict = {
    .name = "predict",
    .operands = "A [B] | gemm | eig|lobpcg|svd|pca A",
    .summary = "Predict the time of each algorithm on a machine",
    .description =
        "Counts the multiplications of each tile product and the entries of the result. From these it predicts the\n"
        "multiplications, transfers and waits of each PE under each algorithm, for A A (A A^T if A is not square), A "
        "B,\n"
        "or, with --cols, A times a dense matrix. No PE is run, so their number is unlimited.\n"
        "\n"
        "summit and dgx2 are the machines of the paper that the algorithms come from; `here` has the figures of\n"
        "`tulle calibrate`. Bytes and messages of the algorithms without stealing are exactly those of a run with\n"
        "--transfers whole. Otherwise those of rows of B are estimated, and savings by partial rows of C are not\n"
        "counted. Products of layouts that do not match (--grid-b, --grid-c) and of layers (--replication) are not\n"
        "predicted.\n"
        "\n"
        "With the word gemm and --size: the grid of PEs, in rows, columns and layers, that moves the fewest bytes for "
        "a\n"
        "dense product, with up to 5 % of the PEs idle and within --memory; its bytes, exactly, beside the least that\n"
        "any algorithm moves (Al Daas et al. 2022); memory of a PE; time at the machine's rates. With --device and\n"
        "--tiles also the blocks of C on devices, what they copy, and its time.\n"
        "\n"
        "With the words eig, lobpcg, svd or pca and a matrix, of which only the header is read: passes over it "
        "(exactly,\n"
        "where their number is chosen; else the fewest and the most), bytes and time of a pass, and the memory of a "
        "PE.",
    .examples = "tulle predict matrix.mtx.gz --pes 384 --machine summit --cols 128 --type f32\n"
                "tulle predict rmat:scale=16 --pes 4 --grid 2x2 --json\n"
                "tulle predict gemm --size 100000 --pes 96 --machine summit\n"
                "tulle predict pca cells.h5ad -k 50\n"
                "tulle predict gemm --size 200000 --pes 8 --machine summit --tiles 50 --devices 3 --device-rate 7.2T "
                "--device limit:mem=16G,link=50G,peer=50G",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
