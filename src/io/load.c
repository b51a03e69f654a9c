/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads operands into distributed matrices: dense ones here, sparse ones in load_sparse.c, those of
 * generators in load_generated.c. All collective functions here end in an agreement.
 */
#include "io/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/options.h"
#include "io/content.h"
#include "io/dense.h"
#include "io/operand.h"
#include "mat/algebra/elements.h"

tulle__mtx_options tulle__mtx_options_for(const tulle_read_options *options)
{
    return (tulle__mtx_options){.lenient = options->lenient,
        .zero_based = options->zero_based,
        .finite_only = options->finite_only,
        .drop_zeros = options->drop_zeros,
        .assume = options->assume};
}

tulle__gate tulle__gate_for(const tulle__loading *load, const char *name)
{
    return (tulle__gate){.name = name, .type = load->options->type, .finite = load->options->finite_only};
}

/* ---- dense ---- */

/* The number of values in the own tiles. */
static int64_t own_values(const tulle_mat *A)
{
    int64_t values = 0;
    TULLE__EACH_OWN_TILE(A, i, j) values += tulle__tile_rows(A, i) * tulle__tile_cols(A, j);
    return values;
}

static tulle_status read_tiles(tulle__dense *dense, tulle__gate *gate, tulle_mat *A)
{
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_own_tile tile;
        tulle_status status = tulle_mat_own_tile(A, i, j, &tile);
        if (status == TULLE_OK && tile.nnz)
            status = tulle__dense_read(dense, gate, A->layout->row_cut[i], tile.m, A->layout->col_cut[j], tile.n,
                tile.order, tile.ld, tile.val);
        if (status != TULLE_OK) return status;
    }
    return TULLE_OK;
}

int tulle__load_by_blocks(const tulle__loading *load)
{
    return load->shape->dense && load->format != TULLE__FORMAT_MTX && load->format != TULLE__FORMAT_GENERATOR;
}

static tulle_status fill_from_file(const tulle__loading *load, tulle_mat *A)
{
    tulle__dense *dense;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    tulle__gate gate = tulle__gate_for(load, load->operand);
    tulle_status status = tulle__dense_open(load->operand, load->format, &dense);
    if (status == TULLE_OK) {
        tulle__dense_watch(dense, meter, own_values(A));
        status = read_tiles(dense, &gate, A);
        tulle__progress_meter_stop(meter, status == TULLE_OK);
        tulle__dense_close(dense);
    }
    TULLE_CALL(tulle_comm_agree(load->comm, status));
    TULLE_CALL(tulle__gate_sum(load->comm, &gate));
    tulle__gate_warnings(gate.name, &gate.counts, load->warnings, TULLE_WARNINGS_MAX);
    return TULLE_OK;
}

static void scatter(const tulle_tile *from, const tulle_own_tile *to)
{
    for (tulle_gidx r = 0; from->rowptr && r < from->m; r++)
        for (int64_t e = from->rowptr[r]; e < from->rowptr[r + 1]; e++) {
            int64_t at = to->order == TULLE_ROW_MAJOR ? r * to->ld + from->colind[e] : from->colind[e] * to->ld + r;
            if (to->type == TULLE_F32)
                ((float *)to->val)[at] = ((const float *)from->val)[e];
            else
                ((double *)to->val)[at] = ((const double *)from->val)[e];
        }
}

static tulle_status fill_from_sparse(tulle_mat *S, tulle_mat *A)
{
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile from;
        tulle_own_tile to;
        TULLE_CALL(tulle_mat_tile(S, i, j, &from));
        TULLE_CALL(tulle_mat_own_tile(A, i, j, &to));
        scatter(&from, &to);
    }
    return TULLE_OK;
}

static tulle_status load_dense(tulle__loading *load, tulle_mat **A)
{
    tulle_mat *made = NULL, *sparse = NULL;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_mat_new_dense(load->comm, load->layout, load->options->type, TULLE_ROW_MAJOR, &made));
    if (tulle__load_by_blocks(load)) {
        status = fill_from_file(load, made);
    } else if (load->format == TULLE__FORMAT_GENERATOR && load->shape->dense) {
        status = tulle__fill_generated(load, made);
    } else {
        status = tulle__load_sparse(load, &sparse);
        if (status == TULLE_OK) status = tulle_mat_expand(sparse);
        if (status == TULLE_OK) status = fill_from_sparse(sparse, made);
    }
    status = tulle_comm_agree(load->comm, status);
    tulle_mat_free(sparse);
    return tulle__mat_or_free(status, made, A);
}

struct refused {
    tulle__gate *gate;
    tulle_status status; /* of the first entry that is refused */
};

static void refuse_entry(void *context, tulle_gidx row, tulle_gidx col, double value)
{
    struct refused *r = context;
    const float narrow = (float)value;
    if (r->status == TULLE_OK)
        r->status =
            tulle__gate_block(r->gate, row, col, false, r->gate->type == TULLE_F32 ? (const void *)&narrow : &value, 1);
}

/* The last check of `finite_only`, whatever was read: duplicates may add up to inf. */
static tulle_status refuse_infinite(const tulle__loading *load, const tulle_mat *A)
{
    tulle__gate gate = tulle__gate_for(load, load->operand);
    if (A->compressed) {
        struct refused refused = {.gate = &gate};
        tulle__each_own_entry(A, refuse_entry, &refused);
        return refused.status;
    }
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile tile;
        TULLE_CALL(tulle_mat_tile(A, i, j, &tile));
        TULLE_CALL(tulle__gate_tile(&gate, A->layout->row_cut[i], A->layout->col_cut[j], &tile));
    }
    return TULLE_OK;
}

tulle_status tulle_mat_load(tulle_comm *comm, const char *operand, const tulle_layout *layout, tulle_kind kind,
    const tulle_read_options *options, char *warnings, tulle_mat **A)
{
    tulle_read_options chosen;
    if (TULLE__NULL(comm) || TULLE__NULL(operand) || TULLE__OUTSIDE(kind, TULLE_CSR) || TULLE__NULL(A) ||
        TULLE__OPTIONS(options, &chosen, duplicates) || TULLE__OUTSIDE(options->type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(options->duplicates, TULLE_DUPLICATES_LAST))
        return tulle__refuse(comm);
    char unread[TULLE_WARNINGS_MAX];
    tulle_layout *rows = NULL;
    tulle_operand_shape shape;
    tulle__loading load = {.comm = comm,
        .operand = operand,
        .layout = layout,
        .options = &chosen,
        .warnings = warnings ? warnings : unread,
        .shape = &shape};
    load.warnings[0] = '\0';
    tulle_status status = tulle__input_format(operand, chosen.assume, &load.format);
    if (status == TULLE_OK) status = tulle_operand_inspect(operand, &chosen, &shape);
    if (status == TULLE_OK && !layout) {
        tulle_layout_spec spec = {.m = shape.m, .n = shape.n, .grid_rows = comm->size, .grid_cols = 1};
        status = tulle_layout_new(&spec, comm->size, &rows);
        load.layout = rows;
    }
    if (status == TULLE_OK && (load.layout->m != shape.m || load.layout->n != shape.n))
        status =
            tulle__fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ", but the layout is for %" PRId64 " x %" PRId64,
                operand, shape.m, shape.n, load.layout->m, load.layout->n);
    tulle__set_up_begin(comm);
    status = tulle_comm_agree(comm, status);
    tulle_mat *made = NULL;
    if (status == TULLE_OK) status = kind == TULLE_DENSE ? load_dense(&load, &made) : tulle__load_sparse(&load, &made);
    if (status == TULLE_OK && chosen.finite_only) status = tulle_comm_agree(comm, refuse_infinite(&load, made));
    if (status == TULLE_OK)
        *A = made;
    else
        tulle_mat_free(made);
    tulle__set_up_end(comm);
    tulle_layout_free(rows);
    return status;
}
