/* SPDX-License-Identifier: Apache-2.0 */
#include "matfun/blocked.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "needs.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/terminal.h"
#include "verbs/block_sizes.h"

tulle_status blocked_options(const struct options *options, tulle_matfun_options *matfun)
{
    const char *combine = options_word(options, "combine", "auto");
    int64_t count = 0;
    tulle_status status = TULLE_OK;
    matfun->combine = same_word(combine, "none") ? TULLE_NONE : 0;
    if (!same_word(combine, "none") && !same_word(combine, "auto")) {
        status = tulle_parse_int(combine, "--combine", 1, INT32_MAX, &count);
        matfun->combine = (int)count;
    }
    matfun->device = options_word(options, "device", NULL);
    matfun->mixed = same_word(options_word(options, "precision", "full"), "mixed");
    matfun->symmetric = options_has(options, "symmetric") && options_flag(options, "symmetric");
    if (status == TULLE_OK)
        status = tulle_parse_real(options_word(options, "filter", "0"), "--filter", 0, 1e300, &matfun->filter);
    return status;
}

tulle_status blocked_load(const struct options *options, tulle_comm *comm, const char *operand,
    const tulle_read_options *reading, char *warnings, tulle_mat **V)
{
    tulle_operand_shape shape = {.m = 0};
    struct block_sizes sizes = {.even = 0};
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_status status = tulle_comm_agree(comm, tulle_operand_inspect(operand, reading, &shape));
    if (status == TULLE_OK && shape.m != shape.n)
        status = tulle_fail(TULLE_ERR_ARG, "%s has %" PRId64 " rows and %" PRId64 " columns; it must be square",
            operand, shape.m, shape.n);
    const tulle_gidx n[3] = {shape.m, shape.m, shape.m};
    const int known[3] = {shape.block, shape.block, shape.block};
    if (status == TULLE_OK)
        status = block_sizes_read(options_word(options, "blocks", "auto"), 1, comm, n, known, &sizes);
    const tulle_layout_spec spec = {.m = shape.m,
        .n = shape.n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .row_blocks = sizes.cut[0],
        .col_blocks = sizes.cut[0]};
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = load_operand(comm, operand, layout, TULLE_CSR, reading, warnings, &A);
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, layout, V);
    if (status == TULLE_OK) tulle_mat_free(A);
    tulle_layout_free(layout);
    block_sizes_free(&sizes);
    return status;
}

tulle_status blocked_check_needs(
    const struct options *options, const tulle_read_options *reading, int first, const char *verb)
{
    struct needs n;
    double largest = 0;
    needs_begin(&n, options, reading->type);
    for (int o = first; o < options->noperands; o++) {
        tulle_operand_shape shape;
        tulle_status status = tulle_operand_inspect(options->operand[o], reading, &shape);
        if (status != TULLE_OK) return status;
        double bytes = needs_bytes(&n, &shape, 0);
        needs_matrix(&n, bytes);
        needs_reading(&n, bytes);
        if (bytes > largest) largest = bytes;
    }
    needs_stage(&n, 2 * largest);
    return needs_check(&n, verb);
}

void blocked_text(const tulle_matfun_report *r, FILE *file)
{
    double columns = (double)r->columns;
    fprintf(file, "  blocks         %" PRId64 " block columns, %" PRId64 " blocks (%.3g %%)\n", r->columns, r->blocks,
        r->columns ? 100 * (double)r->blocks / columns / columns : 0);
    if (r->iterations) {
        fprintf(file, "  iterations     %d, the last residual %.3g; %.3f Gflop\n", r->iterations, r->residual,
            r->flops * 1e-9);
        fprintf(file, "  time, s        plan %.4f, execution %.4f\n", r->plan_seconds, r->seconds);
        return;
    }
    fprintf(file,
        "  submatrices    %" PRId64 ", of %.1f rows on average, %" PRId64 " at most; imbalance %.3f;\n"
        "                 stolen %" PRId64 ", imbalance of time %.3f\n",
        r->submatrices, r->mean, r->largest, r->imbalance, r->stolen, r->busy);
    if (r->wide)
        fprintf(file, "                 %" PRId64 " of the largest by all threads of a PE together\n", r->wide);
    if (r->device.devices)
        fprintf(file, "  device         %" PRId64 " %s, to it %.3f MB, from it %.3f MB; kernels %.4f s of all PEs\n",
            r->on_device, plural(r->on_device, "decomposition", "decompositions"), (double)r->device.bytes[0] * 1e-6,
            (double)r->device.bytes[1] * 1e-6, r->device.kernel_seconds);
    if (r->off_device)
        fprintf(file, "                 %" PRId64 " by threads, as its memory does not hold the submatrices\n",
            r->off_device);
    fprintf(file, "  eigenvalues    %.9g .. %.9g\n", r->least, r->most);
    if (isfinite(r->asymmetry))
        fprintf(
            file, "  asymmetry      %.3g: |F - F^T| / |F| in the pattern, of the order of the error\n", r->asymmetry);
    if (r->rounding > 1e-10)
        fprintf(file, "  rounding       norms of columns differ by %.2g in dense work\n", r->rounding);
    fprintf(file, "  time, s        plan %.4f, execution %.4f (decompositions %.4f, of all threads of a PE)\n",
        r->plan_seconds, r->seconds, r->dense);
    if (isfinite(r->outside))
        fprintf(file, "                 %.1f %% of the threads' time outside of these and of transfers\n",
            100 * r->outside);
    fprintf(file, "  moved, MB      %.3f, in %" PRId64 " %s\n", (double)r->bytes * 1e-6, r->waves,
        plural(r->waves, "wave", "waves"));
}

void blocked_json(const tulle_matfun_report *r, FILE *file)
{
    json_printf(file,
        "\"block_columns\":%" PRId64 ",\"blocks\":%" PRId64 ",\"submatrices\":%" PRId64 ",\"largest\":%" PRId64
        ",\"mean\":%.6g,\"work\":%.6g,\"imbalance\":%.6g,\"stolen\":%" PRId64 ",\"by_all_threads\":%" PRId64
        ",\"busy\":%.6g,\"inserted\":%" PRId64 ",\"waves\":%" PRId64 ",\"bytes\":%" PRId64
        ",\"plan_seconds\":%.6g,\"seconds\":%.6g,\"dense_seconds\":%.6g,\"outside\":",
        r->columns, r->blocks, r->submatrices, r->largest, r->mean, r->work, r->imbalance, r->stolen, r->wide, r->busy,
        r->inserted, r->waves, r->bytes, r->plan_seconds, r->seconds, r->dense);
    json_number(r->outside, file);
    fprintf(file, ",\"least\":");
    json_number(r->least, file);
    json_printf(file, ",\"rounding\":%.6g,\"asymmetry\":", r->rounding);
    json_number(r->asymmetry, file);
    fprintf(file, ",\"most\":");
    json_number(r->most, file);
    if (!r->device.devices) return;
    json_printf(file,
        ",\"device\":{\"decompositions\":%" PRId64 ",\"by_threads\":%" PRId64 ",\"up_bytes\":%" PRId64
        ",\"down_bytes\":%" PRId64 ",\"kernels\":%" PRId64
        ",\"up_seconds\":%.6g,\"down_seconds\":%.6g,\"kernel_seconds\":%.6g}",
        r->on_device, r->off_device, r->device.bytes[0], r->device.bytes[1], r->device.kernels,
        r->device.copy_seconds[0], r->device.copy_seconds[1], r->device.kernel_seconds);
}

/* ---- iterations ---- */

void blocked_history_text(const struct blocked_history *h, int counted, FILE *file)
{
    if (h->count)
        fprintf(file, "  iteration   residual    blocks, %%  %16s  %14s     Gflop         s\n",
            counted ? "electrons" : "trace", "mu");
    for (int k = 0; k < h->count; k++) {
        const tulle_matfun_iteration *x = &h->step[k];
        fprintf(file, "  %9d  %9.3g  %11.2f  %16.8f  %14.8g  %8.3f  %8.4f\n", k + 1, x->residual, 100 * x->occupation,
            x->trace, x->mu, x->flops * 1e-9, x->seconds);
    }
}

void blocked_history_json(const struct blocked_history *h, FILE *file)
{
    fprintf(file, ",\"history\":[");
    for (int k = 0; k < h->count; k++) {
        const tulle_matfun_iteration *x = &h->step[k];
        json_printf(file,
            "%s{\"residual\":%.6g,\"occupation\":%.6g,\"trace\":%.17g,\"mu\":%.17g,\"flops\":%.17g,"
            "\"seconds\":%.6g}",
            k ? "," : "", x->residual, x->occupation, x->trace, x->mu, x->flops, x->seconds);
    }
    fprintf(file, "]");
}

void blocked_check_text(int passed, int whole, double error, FILE *file)
{
    fprintf(file, "  check          %s: %s: relative difference %.2g\n", passed_word(passed, file),
        whole ? "times a vector, by the Lanczos method" : "some columns again, by another method", error);
}

void blocked_truncation_text(double truncation, FILE *file)
{
    if (isfinite(truncation))
        fprintf(file, "  truncation     %.2g of a product with a vector, by the pattern and the filter\n", truncation);
    else
        fprintf(file, "  truncation     not measured: the Lanczos method does not converge\n");
}
