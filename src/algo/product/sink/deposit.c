/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/sink/deposit.h"

#include "algo/product/sink/sink.h"
#include "algo/product/stage/selection_stage.h"
#include "base/planted.h"

/* Bytes that are used of it: where values are not held, row pointers alone. */
static size_t bytes_used(const tulle_product *plan, const tulle__result_size *size)
{
    return tulle__is_shape_only(plan->comm) ? tulle__csr_offsets_of(size->rows, size->nnz, plan->C->type).colind
                                            : tulle__result_bytes(plan->C, size);
}

tulle_status tulle__block_new(const tulle_product *plan, const tulle__result_size *size, char **block)
{
    TULLE_CALL(tulle__alloc(bytes_used(plan, size), 1, "a partial result", block));
    if (!tulle__is_shape_only(plan->comm)) return TULLE_OK;
    int64_t *rowptr = (int64_t *)(void *)*block;
    double each = size->rows ? (double)size->nnz / (double)size->rows : 0;
    for (int64_t r = 0; r < size->rows; r++) rowptr[r] = (int64_t)((double)r * each);
    rowptr[size->rows] = size->nnz;
    return TULLE_OK;
}

/* ---- memory, once entries are counted ---- */

static tulle_status place_block(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__tile_output *output = context;
    const tulle__result_size size = {.rows = m, .nnz = nnz, .values = C->values};
    TULLE_CALL(tulle__block_new(output->plan, &size, &output->block));
    *C = tulle__result_view(output->plan->C, &size, output->block);
    return TULLE_OK;
}

static tulle_status place_panel(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    tulle__tile_output *output = context;
    const tulle_product *plan = output->plan;
    const tulle__result_size size = {.rows = m, .nnz = nnz, .values = C->values};
    const size_t length = tulle__result_bytes(plan->C, &size);
    if (length > tulle__arena_panel_bytes(plan->exchange.arena))
        TULLE_CALL(tulle__arena_grow(plan->exchange.arena, length, bytes_used(plan, &size), &output->panel));
    *C = tulle__result_view(plan->C, &size, output->panel.local);
    return TULLE_OK;
}

static tulle_status place_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)m;
    const tulle__tile_output *output = context;
    return tulle__mat_place_result(output->plan->operands.C, output->i, output->j, nnz, C);
}

static tulle_status trim_tile(void *context, int64_t m, int64_t nnz, tulle__csr_result *C)
{
    (void)m;
    const tulle__tile_output *output = context;
    tulle_own_tile tile;
    TULLE_CALL(tulle__mat_trim(output->plan->operands.C, output->i, output->j, nnz, &tile));
    *C = tulle__tile_csr_result(&tile, nnz);
    return TULLE_OK;
}

/* ---- outputs ---- */

tulle_status tulle__output_rows(const tulle__exec *x, tulle__tile_output *output)
{
    tulle_own_tile C;
    const tulle_status status = tulle_mat_own_tile(x->plan->operands.C, output->i, output->j, &C);
    output->none = status == TULLE_OK && !C.nnz;
    if (status != TULLE_OK || output->none) return status;
    output->known = true;
    output->counts = !x->sink->same_jobs;
    output->unsorted = x->plan->operands.C->unordered;
    output->result = tulle__tile_csr_result(&C, C.rowptr[output->first + output->rows] - C.rowptr[output->first]);
    output->result.rowptr += output->first;
    return TULLE_OK;
}

bool tulle__plan_unordered(const tulle_product *plan)
{
    return plan->options.unordered && plan->operands.C == plan->C;
}

tulle_status tulle__output_tile(const tulle__exec *x, tulle__tile_output *output)
{
    output->plan = x->plan;
    output->first = 0;
    output->rows = tulle__tile_csr_rows(x->plan->operands.C, output->i);
    output->tile = true;
    if (x->inbox.reuse) return tulle__output_rows(x, output);
    output->unsorted = tulle__plan_unordered(x->plan);
    output->find = place_tile;
    output->trim = trim_tile;
    output->select = tulle__selection_of_rows(x->plan, output->i, output->j, 0);
    return TULLE_OK;
}

void tulle__output_block(const tulle__exec *x, const tulle__result_size *size, char *known, tulle__tile_output *output)
{
    output->plan = x->plan;
    output->find = place_block;
    if (TULLE__PLANTED(early_selection))
        output->select = tulle__selection_of_rows(x->plan, output->i, output->j, output->first);
    if (!x->inbox.reuse || !known) return;
    output->known = true;
    output->counts = !x->sink->same_jobs;
    output->result = tulle__result_view(x->plan->C, size, known);
}

void tulle__output_panel(const tulle__exec *x, tulle__tile_output *output)
{
    output->plan = x->plan;
    output->find = place_panel;
}

tulle__result_size tulle__output_size(const tulle__tile_output *output)
{
    return (tulle__result_size){.rows = output->rows, .nnz = output->result.nnz, .values = output->result.values};
}
