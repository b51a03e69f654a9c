/* SPDX-License-Identifier: Apache-2.0 */
#include "matfun/blocked.h"

#include <inttypes.h>
#include <stdlib.h>

#include "needs.h"
#include "report/plural.h"
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
    if (status == TULLE_OK) status = block_sizes_read(options_word(options, "blocks", "auto"), comm, n, known, &sizes);
    const tulle_layout_spec spec = {.m = shape.m,
        .n = shape.n,
        .grid_rows = tulle_comm_size(comm),
        .grid_cols = 1,
        .row_blocks = sizes.cut[0],
        .col_blocks = sizes.cut[0]};
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_load(comm, operand, layout, TULLE_CSR, reading, warnings, &A);
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
    fprintf(file, "  submatrices    %" PRId64 ", of %.1f rows on average, %" PRId64 " at most; imbalance %.3f\n",
        r->submatrices, r->mean, r->largest, r->imbalance);
    fprintf(file, "  eigenvalues    %.9g .. %.9g\n", r->least, r->most);
    fprintf(file, "  time, s        plan %.4f, execution %.4f (decompositions %.4f, of all threads of a PE)\n",
        r->plan_seconds, r->seconds, r->dense);
    fprintf(file, "  moved, MB      %.3f, in %" PRId64 " %s\n", (double)r->bytes * 1e-6, r->waves,
        plural(r->waves, "wave", "waves"));
}

void blocked_json(const tulle_matfun_report *r, FILE *file)
{
    fprintf(file,
        "\"block_columns\":%" PRId64 ",\"blocks\":%" PRId64 ",\"submatrices\":%" PRId64 ",\"largest\":%" PRId64
        ",\"mean\":%.6g,\"work\":%.6g,\"imbalance\":%.6g,\"inserted\":%" PRId64 ",\"waves\":%" PRId64
        ",\"bytes\":%" PRId64 ",\"plan_seconds\":%.6g,\"seconds\":%.6g,\"dense_seconds\":%.6g,\"least\":%.17g,"
        "\"most\":%.17g",
        r->columns, r->blocks, r->submatrices, r->largest, r->mean, r->work, r->imbalance, r->inserted, r->waves,
        r->bytes, r->plan_seconds, r->seconds, r->dense, r->least, r->most);
}
