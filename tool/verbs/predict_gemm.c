/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/predict_gemm.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plural.h"
#include "result.h"
#include "verb.h"

struct forecast {
    int64_t m, n, k;
    int pes, threads;
    tulle_type type;
    tulle_machine machine;
    tulle_gemm_grid grid;
    double compute, transfer; /* seconds of a PE */
};

/* --grid RxCxL, or RxC for one layer. */
static tulle_status parse_grid(const char *text, int *rows, int *cols, int *layers)
{
    int used = 0;
    *layers = 1;
    if ((sscanf(text, "%dx%d%n", rows, cols, &used) == 2 && used == (int)strlen(text)) ||
        (sscanf(text, "%dx%dx%d%n", rows, cols, layers, &used) == 3 && used == (int)strlen(text)))
        return TULLE_OK;
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
    tulle_status status = parse_grid(text, &rows, &cols, &layers);
    if (status != TULLE_OK) return status;
    return tulle_gemm_grid_of(f->m, f->n, f->k, f->type, f->pes, rows, cols, layers, &f->grid);
}

static void predict(struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double m = (double)f->m / g->rows, n = (double)f->n / g->cols, k = (double)f->k / g->layers;
    double rate = tulle_roofline_gemm(&f->machine, f->threads, f->type, m, k, n).rate;
    int far = f->machine.node_pes && g->pes > f->machine.node_pes;
    const tulle_tier *tier = &f->machine.tier[far ? TULLE_OTHER_NODE : TULLE_SAME_NODE];
    f->compute = rate > 0 ? 2 * g->multiplied / rate : 0;
    if (tier->bandwidth > 0)
        f->transfer = (g->cols + g->rows + g->layers - 3) * tier->latency + (double)g->most / tier->bandwidth;
}

static void print_json(const struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double seconds = f->compute > f->transfer ? f->compute : f->transfer;
    printf("{\"op\":\"gemm\",\"predicted\":true,\"machine\":");
    json_text(f->machine.host, stdout);
    printf(",\"pes\":%d,\"used\":%d,\"threads\":%d,\"type\":\"%s\",\"grid\":[%d,%d,%d],\"m\":%" PRId64 ",\"k\":%" PRId64
           ",\"n\":%" PRId64,
        f->pes, g->pes, f->threads, tulle_type_name(f->type), g->rows, g->cols, g->layers, f->m, f->k, f->n);
    printf(",\"bytes_moved\":%" PRId64 ",\"bytes_most\":%" PRId64 ",\"bound_bytes\":%.0f,\"memory\":%" PRId64,
        g->volume, g->most, g->bound, g->memory);
    printf(",\"seconds\":%.6g,\"compute\":%.6g,\"transfers\":%.6g}\n", seconds, f->compute, f->transfer);
}

static void print_text(const struct forecast *f)
{
    const tulle_gemm_grid *g = &f->grid;
    double all = (double)f->m * (double)f->n * (double)f->k;
    printf("gemm %" PRId64 " x %" PRId64 " times %" PRId64 " x %" PRId64 ", %s, on %d %s of %s\n", f->m, f->k, f->k,
        f->n, tulle_type_name(f->type), f->pes, plural(f->pes, "PE", "PEs"), f->machine.host);
    printf("grid     %dx%dx%d, %d idle\n", g->rows, g->cols, g->layers, f->pes - g->pes);
    printf("volume   %" PRId64 " bytes by all PEs, at most %" PRId64 " by one\n", g->volume, g->most);
    printf("bound    %.0f bytes by one", g->bound);
    if (g->bound > 0) printf(": the grid moves %.4f of it", (double)g->most / g->bound);
    printf("\nmemory   at most %" PRId64 " bytes a PE\n", g->memory);
    printf("time     %.4g s: compute %.4g s (balance %.3f), transfers %.4g s at the same time\n",
        f->compute > f->transfer ? f->compute : f->transfer, f->compute,
        g->multiplied > 0 ? all / f->pes / g->multiplied : 1, f->transfer);
}

tulle_status predict_gemm(const struct options *options)
{
    struct forecast f = {
        .pes = (int)options_int(options, "pes", 1), .threads = (int)options_int(options, "threads", 1)};
    tulle_read_options reading;
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    int64_t size = options_int(options, "size", -1), node = options_int(options, "node-pes", 0);
    f.m = options_int(options, "m", size);
    f.n = options_int(options, "n", size >= 0 ? size : f.m);
    f.k = options_int(options, "k", size >= 0 ? size : f.m);
    if (f.m < 0) return tulle_fail(TULLE_ERR_ARG, "predict gemm needs --size, or --m");
    tulle_status status = reading_options(options, &reading);
    f.type = reading.type;
    if (status == TULLE_OK)
        status = tulle_machine_find(options_word(options, "machine", "here"), cores > 64 ? 64 : cores, &f.machine);
    if (node) f.machine.node_pes = (int)node;
    if (status == TULLE_OK) status = choose(options, &f);
    if (status != TULLE_OK) return status;
    predict(&f);
    if (options_flag(options, "json"))
        print_json(&f);
    else
        print_text(&f);
    return TULLE_OK;
}
