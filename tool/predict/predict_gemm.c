/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_gemm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/budget.h>

#include "pe_grid.h"
#include "predict/predict_devices.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "verb.h"
#include "verbs/device_fit.h"

struct forecast {
    int64_t m, n, k;
    int pes, threads;
    tulle_type type;
    tulle_machine machine;
    tulle_gemm_grid grid;
    double compute, transfer;               /* seconds of a PE */
    int tiles, devices;                     /* of a PE; devices 0: the host multiplies */
    double memory, link, peer, device_rate; /* of each device; 0: none */
    tulle_gemm_blocks blocks;
    double copy[3]; /* seconds up, down and between devices */
};

/* ---- devices ---- */

static tulle_status read_devices(const struct options *options, struct forecast *f)
{
    tulle_device_model d;
    tulle_status status = predict_devices_read(options, &d);
    f->devices = d.devices;
    f->memory = d.memory;
    f->link = d.link;
    f->peer = d.peer;
    f->device_rate = d.flops;
    return status;
}

/* Bytes of other PEs' tiles that the host keeps: a quarter of the memory beside its own; 0: there is no limit. */
static int64_t host_capacity(const struct options *options, const struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double memory = options_size(options, "memory", 0) / f->pes, size = (double)tulle_type_size(f->type);
    double own =
        ((double)f->m * (double)f->k + (double)f->k * (double)f->n + (double)f->m * (double)f->n) * size / g->pes;
    if (memory <= 0) return 0;
    return memory - own > 4 ? (int64_t)((memory - own) / 4) : 1;
}

/* The tiles of a PE in the layouts of tulle_gemm_grid_layouts; where parts are even, bytes are those of a run. */
static tulle_status plan_devices(const struct options *options, struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    const tulle_gidx size[3] = {f->m, f->k, f->n};
    const struct device_share share = device_share_of(size, f->type, g->rows, g->cols, g->layers, 0);
    f->tiles = device_fit_fitting(options, &share, (int64_t)f->memory);
    tulle_gemm_tiles tiles = device_fit_of(options, &share, (int64_t)f->memory, f->tiles);
    tiles.peers = f->peer > 0;
    tiles.remote_a = tiles.bytes_a * (tiles.inner - tiles.inner / g->cols);
    tiles.remote_b = tiles.bytes_b * (tiles.inner - tiles.inner / g->rows);
    tiles.host = host_capacity(options, f);
    tulle_status status = tulle_gemm_blocks_best(&tiles, &f->blocks);
    const double rate[3] = {f->link, f->link, f->peer};
    for (int way = 0; way < 3 && status == TULLE_OK; way++)
        if (rate[way] > 0) f->copy[way] = (double)f->blocks.bytes[way] / rate[way] / f->devices;
    return status;
}

/* --grid RxCxL, or RxC for one layer. */
static tulle_status parse_grid(const char *text, int *rows, int *cols, int *layers)
{
    char rest;
    if (grid_parse_layers(text, rows, cols, layers)) return TULLE_OK;
    *layers = 1;
    if (sscanf(text, "%dx%d%c", rows, cols, &rest) == 2) return TULLE_OK;
    return tulle_fail(TULLE_ERR_ARG, "--grid of gemm is RxCxL, as in 2x3x2, RxC or auto, not '%s'", text);
}

static tulle_status choose(const struct options *options, struct forecast *f)
{
    int rows, cols, layers;
    const char *text = options_word(options, "grid", "auto");
    if (strcmp(text, "auto") == 0) {
        double memory = options_size(options, "memory", 0) / f->pes;
        return tulle_gemm_grid_best(f->m, f->n, f->k, f->type, f->pes, (size_t)memory, &f->grid);
    }
    const double limit = options_size(options, "memory", 0);
    tulle_status status = parse_grid(text, &rows, &cols, &layers);
    if (status == TULLE_OK)
        status = tulle_gemm_grid_of(f->m, f->n, f->k, f->type, f->pes, rows, cols, layers, &f->grid);
    if (status == TULLE_OK && limit > 0 && (double)f->grid.memory * f->pes > limit)
        return tulle_fail(TULLE_ERR_LIMIT, "--grid %s takes %.0f bytes on %d PEs, and --memory is %.0f", text,
            (double)f->grid.memory * f->pes, f->pes, limit);
    return status;
}

static void predict(struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double m = (double)f->m / g->rows, n = (double)f->n / g->cols, k = (double)f->k / g->layers;
    double rate = tulle_roofline_gemm(&f->machine, f->threads, f->type, m, k, n).rate;
    int far = f->machine.node_pes && g->pes > f->machine.node_pes;
    const tulle_tier *tier = &f->machine.tier[far ? TULLE_OTHER_NODE : TULLE_SAME_NODE];
    if (f->devices && f->device_rate > 0) rate = f->device_rate * f->devices;
    f->compute = rate > 0 ? 2 * g->multiplied / rate : 0;
    if (tier->bandwidth > 0)
        f->transfer = (g->cols + g->rows + g->layers - 3) * tier->latency + (double)g->most / tier->bandwidth;
}

/* Copies, transfers and products overlap. */
static double seconds_of(const struct forecast *f)
{
    double seconds = f->compute > f->transfer ? f->compute : f->transfer;
    for (int way = 0; way < 3; way++)
        if (f->copy[way] > seconds) seconds = f->copy[way];
    return seconds;
}

static void print_json(const struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    const tulle_gemm_blocks *b = &f->blocks;
    double seconds = seconds_of(f);
    printf("{\"op\":\"gemm\",\"predicted\":true,\"machine\":");
    json_text(f->machine.kind, stdout);
    printf(",\"pes\":%d,\"used\":%d,\"threads\":%d,\"type\":\"%s\",\"grid\":[%d,%d,%d],\"m\":%" PRId64 ",\"k\":%" PRId64
           ",\"n\":%" PRId64,
        f->pes, g->pes, f->threads, tulle_type_name(f->type), g->rows, g->cols, g->layers, f->m, f->k, f->n);
    json_printf(stdout,
        ",\"bytes_moved\":%" PRId64 ",\"bytes_most\":%" PRId64 ",\"bound_bytes\":%.0f,\"memory\":%" PRId64, g->volume,
        g->most, g->bound, g->memory);
    if (f->devices)
        json_printf(stdout,
            ",\"devices\":%d,\"blocks\":{\"block\":[%d,%d],\"chunk\":%d,\"lookahead\":%d,\"host_block\":[%d,%d],"
            "\"case\":\"%s\","
            "\"device_bytes\":%" PRId64 ",\"upload_bytes\":%" PRId64 ",\"download_bytes\":%" PRId64
            ",\"peer_bytes\":%" PRId64 ",\"upload_seconds\":%.6g,\"download_seconds\":%.6g,\"peer_seconds\":%.6g}",
            f->devices, b->rows, b->cols, b->chunk, b->lookahead, b->host_rows, b->host_cols,
            tulle_gemm_case_name(b->fits), b->memory, b->bytes[0], b->bytes[1], b->bytes[2], f->copy[0], f->copy[1],
            f->copy[2]);
    json_printf(stdout, ",\"seconds\":%.6g,\"compute\":%.6g,\"transfers\":%.6g}\n", seconds, f->compute, f->transfer);
}

static void print_text(const struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double all = (double)f->m * (double)f->n * (double)f->k;
    printf("gemm %" PRId64 " x %" PRId64 " times %" PRId64 " x %" PRId64 ", %s, on %d %s of %s\n", f->m, f->k, f->k,
        f->n, tulle_type_name(f->type), f->pes, plural(f->pes, "PE", "PEs"), f->machine.kind);
    printf("grid     %dx%dx%d, %d idle\n", g->rows, g->cols, g->layers, f->pes - g->pes);
    printf("volume   %" PRId64 " bytes by all PEs, at most %" PRId64 " by one\n", g->volume, g->most);
    printf("bound    %.0f bytes by one", g->bound);
    if (g->bound > 0) printf(": the grid moves %.4f of it", (double)g->most / g->bound);
    printf("\nmemory   at most %" PRId64 " bytes a PE\n", g->memory);
    const tulle_gemm_blocks *b = &f->blocks;
    if (f->devices)
        printf("devices  blocks of %d x %d of %d x %d tiles of a PE, chunks of %d, lookahead %d, case %s: %" PRId64
               " bytes of each device\n"
               "host     blocks of %d x %d tiles: %" PRId64 " bytes from other PEs to one\n"
               "copies   by a PE %" PRId64 " bytes up in %.4g s, %" PRId64 " down in %.4g s, %" PRId64
               " between devices in %.4g s\n",
            b->rows, b->cols, f->tiles, f->tiles * g->layers, b->chunk, b->lookahead, tulle_gemm_case_name(b->fits),
            b->memory, b->host_rows, b->host_cols, b->network, b->bytes[0], f->copy[0], b->bytes[1], f->copy[1],
            b->bytes[2], f->copy[2]);
    printf("time     %.4g s: compute %.4g s (balance %.3f), transfers %.4g s at the same time\n", seconds_of(f),
        f->compute, g->multiplied > 0 ? all / f->pes / g->multiplied : 1, f->transfer);
}

tulle_status predict_gemm(const struct options *options)
{
    struct forecast f = {
        .pes = (int)options_int(options, "pes", 1), .threads = (int)options_int(options, "threads", 1)};
    tulle_read_options reading;
    int cores = tulle_cores_free();
    int64_t size = options_int(options, "size", -1), node = options_int(options, "node-pes", 0);
    f.m = options_int(options, "m", size);
    f.n = options_int(options, "n", size >= 0 ? size : f.m);
    f.k = options_int(options, "k", size >= 0 ? size : f.m);
    if (options->noperands > 1)
        return tulle_fail(
            TULLE_ERR_ARG, "predict gemm is of sizes, --size or --m, --n and --k, and not of %s", options->operand[1]);
    if (f.m < 0) return tulle_fail(TULLE_ERR_ARG, "predict gemm needs --size, or --m");
    tulle_status status = reading_options(options, &reading);
    f.type = reading.type;
    if (status == TULLE_OK)
        status = tulle_machine_find(options_word(options, "machine", "here"), cores > 64 ? 64 : cores, &f.machine);
    if (node) f.machine.node_pes = (int)node;
    if (status == TULLE_OK) status = read_devices(options, &f);
    if (status == TULLE_OK) status = choose(options, &f);
    if (status == TULLE_OK && f.devices) status = plan_devices(options, &f);
    if (status != TULLE_OK) return status;
    predict(&f);
    if (options_flag(options, "json"))
        print_json(&f);
    else
        print_text(&f);
    return TULLE_OK;
}
