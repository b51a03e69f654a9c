/* SPDX-License-Identifier: Apache-2.0 */
#include "report/result.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "report/json_write.h"
#include "report/kernels.h"
#include "report/plural.h"
#include "report/terminal.h"

static const char *const block_kernel_words[TULLE_BLOCK_KERNELS] = {"own", "libxsmm", "blas"};

const char *product_word(enum product_kind kind)
{
    static const char *const words[] = {"spmm", "spgemm", "gemm"};
    return words[kind];
}

int median_run(const double *values, int n)
{
    for (int i = 0; i < n; i++) {
        int faster = 0;
        for (int j = 0; j < n; j++) faster += values[j] < values[i] || (values[j] == values[i] && j < i);
        if (faster == (n - 1) / 2) return i;
    }
    return 0;
}

double median(const double *values, int n)
{
    return values[median_run(values, n)];
}

void json_warnings(const char *warnings, FILE *file)
{
    char line[TULLE_WARNINGS_MAX];
    fprintf(file, "\"warnings\":[");
    for (const char *p = warnings; *p;) {
        size_t n = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        if (p > warnings) fputc(',', file);
        json_text(line, file);
        p += n + (p[n] == '\n');
    }
    fputc(']', file);
}

void json_imbalance(const char *name, tulle_imbalance s, FILE *file)
{
    json_printf(file, "\"%s\":{\"max\":%.6g,\"mean\":%.6g}", name, s.max, s.mean);
}

void json_machine(int simulated, const char *comm, FILE *file)
{
    char host[64] = "here";
    (void)gethostname(host, sizeof host - 1);
    fprintf(file, "\"machine\":");
    json_text(simulated ? comm : host, file);
}

void json_roof(const struct roof *roof, FILE *file)
{
    json_printf(file,
        "\"roof\":{\"peak\":%.6g,\"stream\":%.6g,\"network\":%.6g,\"local_intensity\":%.6g,\"local_rate\":%.6g}",
        roof->peak, roof->stream, roof->network, roof->local.intensity, roof->local.rate);
}

struct roof roof_of(
    const tulle_machine *machine, enum product_kind kind, int threads, int pes, tulle_type type, const struct result *r)
{
    double share = threads < machine->threads ? (double)threads / machine->threads : 1;
    int far = machine->node_pes && pes > machine->node_pes;
    struct roof roof = {.peak = share * machine->fma[type],
        .stream = share * machine->stream,
        .network = machine->tier[far ? TULLE_OTHER_NODE : TULLE_SAME_NODE].bandwidth};
    double flops = (double)r->report.flops, entries = (double)r->nnz_c, p = pes;
    if (kind == GEMM)
        roof.local = tulle_roofline_gemm(machine, threads, type, (double)r->m / p, (double)r->k, (double)r->n);
    else
        roof.local = kind == SPGEMM
                         ? tulle_roofline_spgemm(machine, threads, type, entries > 0 ? flops / 2 / entries : 1)
                         : tulle_roofline_spmm(machine, threads, type, (double)r->m / p, (double)r->k,
                               (double)r->nnz_a / p, (double)r->n);
    return roof;
}

/* Blocks on devices, and what the model predicts that these copy. */
static void blocks_json(const tulle_gemm_blocks *b, FILE *file)
{
    static const char *const residents[] = {"none", "A", "B"};
    if (!b->rows) return;
    fprintf(file,
        ",\"blocks\":{\"block\":[%d,%d],\"chunk\":%d,\"lookahead\":%d,\"host_block\":[%d,%d],\"resident\":\"%s\","
        "\"case\":\"%s\","
        "\"device_bytes\":%" PRId64 ",\"uploads\":%" PRId64 ",\"upload_bytes\":%" PRId64 ",\"downloads\":%" PRId64
        ",\"download_bytes\":%" PRId64 ",\"peer_copies\":%" PRId64 ",\"peer_bytes\":%" PRId64
        ",\"network_bytes\":%" PRId64 "}",
        b->rows, b->cols, b->chunk, b->lookahead, b->host_rows, b->host_cols, residents[b->resident],
        tulle_gemm_case_name(b->fits), b->memory, b->copies[0], b->bytes[0], b->copies[1], b->bytes[1], b->copies[2],
        b->bytes[2], b->network);
}

void ordered_text(const struct ordered *ordered, FILE *file)
{
    if (ordered->name) fprintf(file, "ordering by %s: %.4g s\n", ordered->name, ordered->seconds);
}

void ordered_json(const struct ordered *ordered, FILE *file)
{
    if (ordered->name)
        json_printf(file, ",\"ordering\":{\"name\":\"%s\",\"seconds\":%.6g}", ordered->name, ordered->seconds);
}

void result_json(const struct result *r, FILE *file)
{
    fprintf(file, "{\"op\":\"%s\",\"alg\":\"%s\",\"operand\":", product_word(r->kind), r->alg);
    json_text(r->operand, file);
    fprintf(file, ",\"comm\":");
    json_text(r->comm, file);
    fprintf(file, ",\"time\":\"%s\",", r->simulated ? "virtual" : "real");
    json_machine(r->simulated, r->comm, file);
    fprintf(file, ",\"calibrated\":%s", r->guessed ? "false" : "true");
    fprintf(file,
        ",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"kind\":\"%s\",\"m\":%" PRId64 ",\"k\":%" PRId64 ",\"n\":%" PRId64,
        r->pes, r->threads, tulle_type_name(r->type), tulle_kind_name(r->format), r->m, r->k, r->n);
    fprintf(file, ",\"nnz_a\":%" PRId64 ",\"nnz_b\":%" PRId64 ",\"nnz_c\":%" PRId64 ",\"flops\":%" PRId64, r->nnz_a,
        r->nnz_b, r->nnz_c, r->report.flops);
    json_printf(file, ",\"seconds\":%.6g,\"seconds_reused_plan\":%.6g,\"seconds_all\":[", r->seconds, r->reused);
    for (int i = 0; i < r->reps; i++) json_printf(file, "%s%.6g", i ? "," : "", r->all[i]);
    json_printf(file, "],\"run\":%d,\"execute_seconds\":%.6g", r->run, r->report.seconds);
    json_printf(
        file, ",\"predicted_seconds\":%.6g,\"grid\":[%d,%d]", r->report.predicted_seconds, r->grid_rows, r->grid_cols);
    fprintf(file, ",\"messages\":%" PRId64, r->report.messages);
    ordered_json(&r->ordered, file);
    if (!r->simulated) {
        fputc(',', file);
        json_roof(&r->roof, file);
    }
    json_printf(file, ",\"reading_included\":false,\"gflops\":%.6g", (double)r->report.flops / r->seconds * 1e-9);
    const struct {
        const char *name;
        double value;
    } bounds[] = {{"bound_seconds", r->bound.seconds}, {"bound_flops", r->bound.flops},
        {"bound_memory", r->bound.memory}, {"bound_cache", r->bound.cache},
        {"roofline_fraction", r->bound.seconds / r->seconds}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        fprintf(file, ",\"%s\":", bounds[i].name);
        json_printf(file, "%.6g", r->simulated ? NAN : bounds[i].value);
    }
    json_printf(file,
        ",\"load_imbalance\":%.6g,\"bytes_moved\":%" PRId64 ",\"partials\":%" PRId64
        ",\"phases_of_columns\":%d,\"replication\":%d,\"unordered\":%s",
        r->report.load_imbalance, r->report.bytes_moved, r->report.partials, r->report.phases, r->report.replication,
        r->report.unordered ? "true" : "false");
    json_printf(file, ",\"units\":%" PRId64 ",\"largest_unit\":%.6g,\"stolen\":%" PRId64 ",\"probes\":%" PRId64,
        r->report.units, r->report.largest_unit, r->report.stolen, r->report.probes);
    fprintf(file,
        ",\"transfers\":{\"whole\":%" PRId64 ",\"rows\":%" PRId64 ",\"cover\":%" PRId64 ",\"greedy\":%" PRId64
        ",\"bytes\":%" PRId64 ",\"bound\":%" PRId64 "}",
        r->report.whole_pairs, r->report.rows_pairs, r->report.cover_pairs, r->report.greedy_pairs,
        r->report.pair_bytes, r->report.cover_bound);
    json_printf(file,
        ",\"filter\":{\"eps\":%.6g,\"skipped_products\":%" PRId64 ",\"filtered_blocks\":%" PRId64
        ",\"unfetched_blocks\":%" PRId64 ",\"unfetched_bytes\":%" PRId64 "}",
        r->filter, r->report.skipped_products, r->report.filtered_blocks, r->report.unfetched_blocks,
        r->report.unfetched_bytes);
    block_flops_json(r->block_flops, file);
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++)
        fprintf(file, "%s\"%s\":%" PRId64, q ? "," : ",\"kernel_flops\":{", block_kernel_words[q],
            r->report.kernel_flops[q]);
    fputc('}', file);
    const tulle_device_work *d = &r->report.device;
    json_printf(file,
        ",\"device\":{\"devices\":%d,\"uploads\":%" PRId64 ",\"upload_bytes\":%" PRId64 ",\"downloads\":%" PRId64
        ",\"download_bytes\":%" PRId64 ",\"peer_copies\":%" PRId64 ",\"peer_bytes\":%" PRId64 ",\"kernels\":%" PRId64
        ",\"hits\":%" PRId64
        ",\"upload_seconds\":%.6g,\"download_seconds\":%.6g,\"peer_seconds\":%.6g,\"kernel_seconds\":%.6g",
        d->devices, d->copies[0], d->bytes[0], d->copies[1], d->bytes[1], d->copies[2], d->bytes[2], d->kernels,
        d->hits, d->copy_seconds[0], d->copy_seconds[1], d->copy_seconds[2], d->kernel_seconds);
    kernels_json(d->refused, file);
    fputc('}', file);
    blocks_json(&r->report.blocks, file);
    fprintf(file, ",\"memory_peak\":%zu,\"phases\":{", r->memory_peak);
    json_imbalance("compute", r->report.compute, file);
    fputc(',', file);
    json_imbalance("communicate", r->report.communicate, file);
    fputc(',', file);
    json_imbalance("accumulate", r->report.accumulate, file);
    fputc(',', file);
    json_imbalance("wait", r->report.wait, file);
    fprintf(file, "},\"check\":");
    if (r->checked) {
        fprintf(file, "{\"passed\":%s,\"error\":", r->passed ? "true" : "false");
        json_printf(file, "%.6g", r->error);
        fprintf(file, ",\"rows_not_finite\":%" PRId64 "}", r->infinite);
    } else {
        fprintf(file, "null");
    }
    fprintf(file, "}\n");
}

static int is_wide(const struct result *r, FILE *file)
{
    enum { COLUMNS = 126 };
    return terminal_fits(file, COLUMNS, r->wide);
}

/* True if a table that is not wide has room for the time of the model: on a terminal of 100 columns. */
static int has_prediction(FILE *file)
{
    enum { COLUMNS = 92 };
    return terminal_fits(file, COLUMNS, 0);
}

void result_head(const struct result *r, FILE *file)
{
    fprintf(file,
        "%s %s: %" PRId64 " x %" PRId64 " (%" PRId64 " %s) times %" PRId64 " x %" PRId64 ",%s%s, %d %s of %d %s, %s\n",
        product_word(r->kind), r->operand, r->m, r->k, r->nnz_a, plural(r->nnz_a, "entry", "entries"), r->k, r->n,
        is_wide(r, file) ? " " : "\n", tulle_type_name(r->type), r->pes, plural(r->pes, "PE", "PEs"), r->threads,
        plural(r->threads, "thread", "threads"), r->comm);
    ordered_text(&r->ordered, file);
    if (!is_wide(r, file))
        fprintf(file, "%-14s %10s %10s%s %8s %7s %6s %9s  %s\n", "algorithm", "seconds", "reused",
            has_prediction(file) ? "  predicted" : "", "GF/s", "bound", "imbal.", "moved MB", "check");
    else
        fprintf(file, "%-14s %10s %10s %10s %8s %7s | %9s %9s %9s %9s | %6s %9s  %s\n", "algorithm", "seconds",
            "reused", "predicted", "GF/s", "bound", "compute", "communic.", "accumul.", "wait", "imbal.", "moved MB",
            "check");
}

void result_line(const struct result *r, FILE *file)
{
    if (*r->refusal) {
        fprintf(file, "%-14s skipped: %s\n", r->alg, r->refusal);
        return;
    }
    char predicted[32] = "-", bound[32] = "-", rows[48];
    const int wide = is_wide(r, file);
    const double rate = (double)r->report.flops / r->seconds * 1e-9, moved = (double)r->report.bytes_moved * 1e-6;
    if (r->report.predicted_seconds > 0) snprintf(predicted, sizeof predicted, "%.4g", r->report.predicted_seconds);
    if (!r->simulated) snprintf(bound, sizeof bound, "%.0f%%", 100 * r->bound.seconds / r->seconds);
    if (wide)
        fprintf(file, "%-14s %10.4g %10.4g %10s %8.2f %7s | %9.3g %9.3g %9.3g %9.3g | %6.2f %9.3g  ", r->alg,
            r->seconds, r->reused, predicted, rate, bound, r->report.compute.max, r->report.communicate.max,
            r->report.accumulate.max, r->report.wait.max, r->report.load_imbalance, moved);
    else
        fprintf(file, "%-14s %10.4g %10.4g%*s %8.2f %7s %6.2f %9.3g  ", r->alg, r->seconds, r->reused,
            has_prediction(file) ? 11 : 0, has_prediction(file) ? predicted : "", rate, bound, r->report.load_imbalance,
            moved);
    if (!r->checked)
        fprintf(file, "-\n");
    else if (r->passed && wide)
        fprintf(file, "%s (%.2g of the rounding bound%s)\n", passed_word(1, file), r->error,
            infinite_rows(r->infinite, rows, sizeof rows));
    else if (r->passed)
        fprintf(file, "%s%s\n", passed_word(1, file), infinite_rows(r->infinite, rows, sizeof rows));
    else
        fprintf(file, "%s: %s\n", passed_word(0, file), r->failure);
}

static void show_bound(const struct result *r, FILE *file)
{
    const char *what = r->bound.seconds <= r->bound.flops ? "arithmetic" : "memory";
    if (r->kind == GEMM)
        fprintf(file, "; bound %.3g s (%s)", r->bound.seconds, what);
    else
        fprintf(file, "; bound %.3g s (%s;\nB's rows from the second-level cache: %.3g s)", r->bound.seconds, what,
            r->bound.cache);
}

void result_foot(const struct result *r, FILE *file)
{
    fprintf(file, "C: %" PRId64 " %s; %.3g Gflop", r->nnz_c, plural(r->nnz_c, "entry", "entries"),
        (double)r->report.flops * 1e-9);
    if (!r->simulated) show_bound(r, file);
    fprintf(file,
        "; peak memory %.1f MB a PE.\n"
        "seconds: with planning and output allocation, without reading; reused: with the plan and C reused;\n"
        "%s\n",
        (double)r->memory_peak * 1e-6,
        is_wide(r, file) ? "predicted: by the model, for an execution. Phases: the slowest PE."
        : has_prediction(file)
            ? "predicted: by the model, for an execution. --wide shows the phases, and the check's error."
            : "--wide shows the phases, the model's time and the error of the check.");
    if (r->guessed)
        fprintf(
            file, "Bound and prediction: by figures of this kind of processor; `tulle calibrate` measures this one.\n");
    if (r->simulated) fprintf(file, "Times are virtual: a simulation of %s, no measurement.\n", r->comm);
}

void result_transfers(const struct result *r, FILE *file)
{
    const tulle_product_report *t = &r->report;
    if (!(t->whole_pairs + t->rows_pairs + t->cover_pairs)) return;
    fprintf(file,
        "%s: transfers for pairs of tiles:\n    whole tiles of B for %" PRId64 ", rows of B for %" PRId64
        ", also partial rows of C for %" PRId64 ":\n    %.3g MB, of at least %.3g MB by any vertex cover\n",
        r->alg, t->whole_pairs, t->rows_pairs, t->cover_pairs, (double)t->pair_bytes * 1e-6,
        (double)t->cover_bound * 1e-6);
}

void block_flops_text(const double flops[TULLE_BLOCK_SIZES], FILE *file)
{
    double all = 0;
    const char *between = "flops by the size of blocks: ";
    for (int s = 0; s < TULLE_BLOCK_SIZES; s++) all += flops[s];
    for (int s = 0; s < TULLE_BLOCK_SIZES; s++) {
        if (flops[s] <= 0) continue;
        fprintf(file, "%s%.3g %% from %d", between, 100 * flops[s] / all, 1 << s);
        if (s + 1 < TULLE_BLOCK_SIZES) fprintf(file, " to below %d", 2 << s);
        between = ", ";
    }
    if (all > 0) fputc('\n', file);
}

void block_flops_json(const double flops[TULLE_BLOCK_SIZES], FILE *file)
{
    fprintf(file, ",\"block_flops\":[");
    for (int s = 0; s < TULLE_BLOCK_SIZES; s++) json_printf(file, "%s%.0f", s ? "," : "", flops[s]);
    fputc(']', file);
}

void result_block_kernels(const struct result *r, FILE *file)
{
    static const char *const names[TULLE_BLOCK_KERNELS] = {"Tulle's own kernel", "LIBXSMM", "the BLAS"};
    const char *between = "";
    double all = 0;
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) all += (double)r->report.kernel_flops[q];
    if (!(all > 0)) return;
    fprintf(file, "%s: flops of blocks by ", r->alg);
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) {
        if (!r->report.kernel_flops[q]) continue;
        fprintf(file, "%s%s %.3g %%", between, names[q], 100 * (double)r->report.kernel_flops[q] / all);
        between = ", ";
    }
    fputc('\n', file);
}

void result_filter(const struct result *r, FILE *file)
{
    if (r->filter <= 0) return;
    fprintf(file, "%s: the filter %.3g skipped %" PRId64 " %s of blocks and removed %" PRId64 " %s from C\n", r->alg,
        r->filter, r->report.skipped_products, plural(r->report.skipped_products, "product", "products"),
        r->report.filtered_blocks, plural(r->report.filtered_blocks, "block", "blocks"));
    const double unfetched = (double)r->report.unfetched_bytes, moved = (double)r->report.bytes_moved;
    if (r->report.unfetched_blocks)
        fprintf(file, "%s: %" PRId64 " %s without a partner that survives %s not fetched: %.3g MB, %.1f %% of all\n",
            r->alg, r->report.unfetched_blocks, plural(r->report.unfetched_blocks, "block", "blocks"),
            plural(r->report.unfetched_blocks, "was", "were"), unfetched * 1e-6, 100 * unfetched / (unfetched + moved));
}

void result_devices(const struct result *r, FILE *file)
{
    const tulle_device_work *d = &r->report.device;
    if (!d->devices) return;
    fprintf(file,
        "%s: %.3g MB in %" PRId64 " copies to devices in %.3g s, %.3g MB in %" PRId64
        " back in %.3g s,\n    %.3g MB in %" PRId64 " between devices of a PE in %.3g s, %" PRId64
        " kernels in %.3g s; %" PRId64 " %s there already\n",
        r->alg, (double)d->bytes[0] * 1e-6, d->copies[0], d->copy_seconds[0], (double)d->bytes[1] * 1e-6, d->copies[1],
        d->copy_seconds[1], (double)d->bytes[2] * 1e-6, d->copies[2], d->copy_seconds[2], d->kernels, d->kernel_seconds,
        d->hits, plural(d->hits, "tile lay", "tiles lay"));
    if (d->refused) fprintf(file, "%s: ", r->alg);
    kernels_text("", d->refused, file);
    const tulle_gemm_blocks *b = &r->report.blocks;
    if (!b->rows) return;
    fprintf(file,
        "%s: blocks of %d x %d tiles of C, in blocks of %d x %d of the host, chunks of %d,\n"
        "    lookahead %d, %s; case %s of the model: %.3g MB to devices, "
        "%.3g MB back, %.3g MB between devices, %.3g MB from other PEs\n",
        r->alg, b->rows, b->cols, b->host_rows, b->host_cols, b->chunk, b->lookahead,
        b->resident == TULLE_GEMM_RESIDENT_NONE ? "neither factor resident"
        : b->resident == TULLE_GEMM_RESIDENT_A  ? "A resident"
                                                : "B resident",
        tulle_gemm_case_name(b->fits), (double)b->bytes[0] * 1e-6, (double)b->bytes[1] * 1e-6,
        (double)b->bytes[2] * 1e-6, (double)b->network * 1e-6);
}

void result_steals(const struct result *r, FILE *file)
{
    fprintf(file,
        "%s: %" PRId64 " of %" PRId64 " %s (tile products, chains, or bands of their rows)\n"
        "%s stolen from other PEs, in %" PRId64 " %s; the largest is %.3g of a PE's mean work\n",
        r->alg, r->report.stolen, r->report.units, plural(r->report.units, "unit", "units"),
        plural(r->report.stolen, "was", "were"), r->report.probes, plural(r->report.probes, "attempt", "attempts"),
        r->report.largest_unit);
}
