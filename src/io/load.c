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
#include "mat/reshape/reshape.h"

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
        TULLE_CALL(tulle_mat_own_tile(A, i, j, &tile));
        if (tile.nnz)
            TULLE_CALL(tulle__dense_read(dense, gate, A->layout->row_cut[i], tile.m, A->layout->col_cut[j], tile.n,
                tile.order, tile.ld, tile.val));
    }
    return TULLE_OK;
}

int tulle__load_by_blocks(const tulle__loading *load)
{
    return load->shape->dense && load->format != TULLE__FORMAT_MTX && load->format != TULLE__FORMAT_GENERATOR;
}

static tulle_status read_file(const tulle__loading *load, tulle__gate *gate, tulle_mat *A)
{
    tulle__dense *dense;
    tulle__progress_meter *meter = tulle__comm_progress_meter(load->comm, 0);
    TULLE_CALL(tulle__dense_open(load->operand, load->format, &dense));
    tulle__dense_watch(dense, meter, own_values(A));
    const tulle_status status = read_tiles(dense, gate, A);
    tulle__progress_meter_stop(meter, status == TULLE_OK);
    tulle__dense_close(dense);
    return status;
}

static tulle_status fill_from_file(const tulle__loading *load, tulle_mat *A)
{
    tulle__gate gate = tulle__gate_for(load, load->operand);
    TULLE_CALL(tulle_comm_agree(load->comm, read_file(load, &gate, A)));
    TULLE_CALL(tulle__gate_sum(load->comm, &gate));
    tulle__gate_warnings(gate.name, &gate.counts, load->warnings, TULLE_WARNINGS_MAX);
    return TULLE_OK;
}

static tulle_status fill_from_sparse(tulle__loading *load, tulle_mat *A)
{
    TULLE__SCOPED_MAT tulle_mat *sparse = NULL;
    TULLE_CALL(tulle__load_sparse(load, &sparse));
    TULLE_CALL(tulle_mat_expand(sparse));
    return tulle_comm_agree(load->comm, tulle__mat_scatter(sparse, A));
}

static tulle_status load_dense(tulle__loading *load, tulle_mat **A)
{
    tulle_mat *made = NULL;
    TULLE_CALL(tulle_mat_new_dense(load->comm, load->layout, load->options->type, TULLE_ROW_MAJOR, &made));
    const bool generated = load->format == TULLE__FORMAT_GENERATOR && load->shape->dense;
    const tulle_status status = tulle__load_by_blocks(load) ? fill_from_file(load, made)
                                : generated ? tulle_comm_agree(load->comm, tulle__fill_generated(load, made))
                                            : fill_from_sparse(load, made);
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

/* The format, the shape, and the layout, which is *rows if none is given. Local. */
static tulle_status inspect(
    tulle__loading *load, const tulle_read_options *chosen, tulle_operand_shape *shape, tulle_layout **rows)
{
    TULLE_CALL(tulle__input_format(load->operand, chosen->assume, &load->format));
    TULLE_CALL(tulle_operand_inspect(load->operand, chosen, shape));
    if (!load->layout) {
        tulle_layout_spec spec = {.m = shape->m, .n = shape->n, .grid_rows = load->comm->size, .grid_cols = 1};
        TULLE_CALL(tulle_layout_new(&spec, load->comm->size, rows));
        load->layout = *rows;
    }
    if (load->layout->m == shape->m && load->layout->n == shape->n) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ", but the layout is for %" PRId64 " x %" PRId64,
        load->operand, shape->m, shape->n, load->layout->m, load->layout->n);
}

/* *A is the caller's also after a failure. Collective, agreed. */
static tulle_status load_any(tulle__loading *load, tulle_kind kind, tulle_mat **A)
{
    TULLE_CALL(kind == TULLE_DENSE ? load_dense(load, A) : tulle__load_sparse(load, A));
    return load->options->finite_only ? tulle_comm_agree(load->comm, refuse_infinite(load, *A)) : TULLE_OK;
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
    TULLE__SCOPED_LAYOUT tulle_layout *rows = NULL;
    tulle_operand_shape shape;
    tulle__loading load = {.comm = comm,
        .operand = operand,
        .layout = layout,
        .options = &chosen,
        .warnings = warnings ? warnings : unread,
        .shape = &shape};
    load.warnings[0] = '\0';
    const tulle_status inspected = inspect(&load, &chosen, &shape, &rows);
    tulle__set_up_begin(comm);
    tulle_mat *made = NULL;
    tulle_status status = tulle_comm_agree(comm, inspected);
    if (status == TULLE_OK) status = load_any(&load, kind, &made);
    status = tulle__mat_or_free(status, made, A);
    tulle__set_up_end(comm);
    return status;
}
