/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/sink/merge.h"

#include <stdlib.h>

#include "algo/product/plan/sources.h"
#include "algo/product/sink/deposit.h"
#include "algo/product/sink/sink.h"
#include "algo/product/source/required_rows.h"
#include "algo/product/stage/selection_stage.h"
#include "base/error.h"
#include "base/planted.h"
#include "mat/context.h"

static int goes_before(const tulle__part *a, const tulle__part *b)
{
    return a->key != b->key ? a->key < b->key : a->rank < b->rank;
}

static void sort_parts(tulle__target *target)
{
    for (int p = 1; p < target->nparts; p++) {
        tulle__part part = target->part[p];
        int q = p;
        for (; q > 0 && goes_before(&part, &target->part[q - 1]); q--) target->part[q] = target->part[q - 1];
        target->part[q] = part;
    }
}

/*
 * The division of A[i, key] if the rows of a part are its delegated rows; NULL: consecutive rows.
 */
static const tulle__cut *delegated_cut(const tulle__exec *x, const tulle__target *target, const tulle__part *part)
{
    if (part->rank == x->plan->comm->rank) return NULL;
    return tulle__required_cut(x->plan->sources->required, target->i, part->key, target->j);
}

/* Gives parts of delegated rows the row pointers of a whole tile. */
static tulle_status spread_parts(tulle__exec *x, tulle__target *target)
{
    for (int p = 0; p < target->nparts; p++) {
        tulle__part *part = &target->part[p];
        const tulle__cut *cut = delegated_cut(x, target, part);
        if (!cut || part->spread) continue;
        int64_t m = tulle__tile_rows(x->plan->C, target->i), g = 0;
        const int64_t *rowptr = tulle__result_view(x->plan->C, &part->size, part->block).rowptr;
        TULLE_CALL(tulle__alloc((size_t)m + 1, sizeof *part->spread, "row pointers of a part", &part->spread));
        for (int64_t r = 0; r < m; r++) {
            part->spread[r] = rowptr[g];
            g += g < cut->rows && cut->row[g] == r;
        }
        part->spread[m] = part->size.nnz;
    }
    return TULLE_OK;
}

/* Rows of a tile of C as a summand, of a result whose first row is row `first` of the tile. */
static tulle__csr result_csr(const tulle_mat *C, const tulle__csr_result *result, int64_t first,
    const tulle__target *tile, int64_t row, int64_t rows)
{
    tulle__csr csr = {.m = rows,
        .n = tulle__tile_csr_cols(C, tile->j),
        .rowptr = result->rowptr + (row - first),
        .colind = result->colind,
        .val = result->val,
        .offset = result->offset,
        .norm = result->norm};
    if (C->format->in_blocks) {
        csr.row_block = C->layout->row_blocks.cut + C->layout->row_blocks.first[tile->i] + row;
        csr.col_block = C->layout->col_blocks.cut + C->layout->col_blocks.first[tile->j];
    }
    return csr;
}

/*
 * Makes rows row .. row + rows - 1 of all parts with entries there summands; returns their number.
 */
static int summands(tulle__exec *x, const tulle__target *target, int64_t row, int64_t rows)
{
    int pairs = 0;
    for (int p = 0; p < target->nparts; p++) {
        const tulle__part *part = &target->part[p];
        if (!part->size.nnz || (!part->spread && (part->row > row || part->row + part->size.rows < row + rows)))
            continue;
        tulle__csr_result r = tulle__result_view(x->plan->C, &part->size, part->block);
        if (part->spread) r.rowptr = part->spread;
        x->pair[pairs++] = (tulle__spgemm_pair){.A = {.m = rows, .n = rows},
            .B = result_csr(x->plan->operands.C, &r, part->spread ? 0 : part->row, target, row, rows),
            .scale = 1};
    }
    if (TULLE__PLANTED(merged_twice) && pairs && x->plan->scalars.job_beta == 0)
        x->pair[pairs] = x->pair[pairs - 1], pairs++;
    return tulle__add_old(x, target->i, target->j, row, rows, pairs);
}

/* ---- tiles that bands have cut ---- */

/* The sum of rows row .. row + rows - 1 of the tile. */
struct piece {
    int64_t row, rows;
    tulle__csr_result sum; /* nnz = 0: nothing to be read */
    char *block;           /* made for it; NULL: a part's */
};

static int compare_rows(const void *left, const void *right)
{
    const int64_t *x = left, *y = right;
    return (*x > *y) - (*x < *y);
}

/* The pieces between the edges of all parts. */
static tulle_status cut(const tulle__exec *x, const tulle__target *target, int *npieces, struct piece **pieces)
{
    int edges = 0;
    TULLE__SCOPED int64_t *edge = NULL;
    TULLE_CALL(tulle__alloc(2 * (size_t)target->nparts + 2, sizeof *edge, "edges of bands", &edge));
    edge[edges++] = 0;
    edge[edges++] = tulle__tile_csr_rows(x->plan->operands.C, target->i);
    for (int p = 0; p < target->nparts; p++) {
        if (target->part[p].spread) continue;
        edge[edges++] = target->part[p].row;
        edge[edges++] = target->part[p].row + target->part[p].size.rows;
    }
    qsort(edge, (size_t)edges, sizeof *edge, compare_rows);
    TULLE_CALL(tulle__alloc_zero((size_t)edges, sizeof **pieces, "pieces of a tile", pieces));
    for (int e = 0; e + 1 < edges; e++)
        if (edge[e] < edge[e + 1])
            (*pieces)[(*npieces)++] = (struct piece){.row = edge[e], .rows = edge[e + 1] - edge[e]};
    return TULLE_OK;
}

/* Values of rows that may lie within a larger result. */
static int64_t values_of(const tulle__csr_result *sum)
{
    if (!sum->nnz || !sum->offset) return sum->nnz;
    return sum->offset[sum->rowptr[0] + sum->nnz] - sum->offset[sum->rowptr[0]];
}

/* The pieces one below the other as the tile. */
static tulle_status join(tulle__exec *x, const tulle__target *target, int npieces, const struct piece *pieces)
{
    tulle__csr_result C = {.nnz = 0};
    const tulle__kernels *kernels = x->plan->context->kernels;
    int64_t nnz = 0, values = 0;
    size_t size = tulle_type_size(x->plan->operands.C->type);
    for (int p = 0; p < npieces; p++) {
        nnz += pieces[p].sum.nnz;
        values += values_of(&pieces[p].sum);
    }
    C.values = values;
    TULLE_CALL(tulle__mat_place_result(x->plan->operands.C, target->i, target->j, nnz, &C));
    C.rowptr[0] = nnz = values = 0;
    for (int p = 0; p < npieces; p++) {
        const struct piece *piece = &pieces[p];
        const tulle__csr_result *from = &piece->sum;
        if (!from->nnz) {
            for (int64_t r = 1; r <= piece->rows; r++) C.rowptr[piece->row + r] = nnz;
            continue;
        }
        int64_t first = from->rowptr[0], first_value = from->offset ? from->offset[first] : first;
        for (int64_t r = 1; r <= piece->rows; r++) C.rowptr[piece->row + r] = nnz + from->rowptr[r] - first;
        kernels->copy(C.colind + nnz, from->colind + first, (size_t)from->nnz * sizeof *C.colind);
        for (int64_t e = 0; from->offset && e < from->nnz; e++) {
            C.offset[nnz + e] = values + from->offset[first + e] - first_value;
            C.norm[nnz + e] = from->norm[first + e];
        }
        kernels->copy((char *)C.val + (size_t)values * size, (const char *)from->val + (size_t)first_value * size,
            (size_t)values_of(from) * size);
        tulle__work_copy(&x->inbox.work, values_of(from) * (int64_t)size + from->nnz * (int64_t)sizeof *C.colind);
        nnz += from->nnz;
        values += values_of(from);
    }
    if (C.offset) C.offset[nnz] = values;
    return TULLE_OK;
}

/* Sums a piece. A single part is used where it lies. */
static tulle_status sum_piece(tulle__exec *x, const tulle__target *target, struct piece *piece)
{
    tulle_status status;
    tulle__tile_output output = {.i = target->i, .j = target->j, .first = piece->row, .rows = piece->rows};
    int pairs = summands(x, target, piece->row, piece->rows);
    if (!pairs) return TULLE_OK;
    const tulle__spgemm_pair *only = &x->pair[0];
    if (pairs == 1 && only->scale == 1 && !x->plan->options.keep_pattern && !x->plan->options.selection) {
        /* entries are where the part has them; only the rows are the piece's */
        piece->sum = (tulle__csr_result){.nnz = only->B.rowptr[piece->rows] - only->B.rowptr[0],
            .rowptr = (int64_t *)(uintptr_t)only->B.rowptr,
            .colind = (int32_t *)(uintptr_t)only->B.colind,
            .val = (void *)(uintptr_t)only->B.val,
            .offset = (int64_t *)(uintptr_t)only->B.offset,
            .norm = (double *)(uintptr_t)only->B.norm};
        return TULLE_OK;
    }
    tulle__output_block(x, NULL, NULL, &output);
    output.select = tulle__selection_of_rows(x->plan, output.i, output.j, output.first); /* its sums are complete */
    status = tulle__sum_pairs(x, pairs, &output);
    piece->block = output.block;
    if (status == TULLE_OK && output.result.nnz) piece->sum = output.result;
    return status;
}

static tulle_status merge_bands(tulle__exec *x, const tulle__target *target, int npieces, struct piece *pieces)
{
    for (int p = 0; p < npieces; p++) TULLE_CALL(sum_piece(x, target, &pieces[p]));
    return join(x, target, npieces, pieces);
}

tulle_status tulle__merge_parts(tulle__exec *x, tulle__target *target)
{
    tulle_status status;
    int npieces = 0;
    struct piece *pieces = NULL;
    sort_parts(target);
    TULLE_TRY(spread_parts(x, target));
    TULLE_TRY(tulle__reserve_pairs(x, target->nparts + 1));
    TULLE_TRY(cut(x, target, &npieces, &pieces));
    if (npieces > 1) {
        TULLE_TRY(merge_bands(x, target, npieces, pieces));
    } else {
        tulle__tile_output output = {.i = target->i, .j = target->j};
        int pairs = summands(x, target, 0, tulle__tile_csr_rows(x->plan->operands.C, target->i));
        TULLE_TRY(tulle__output_tile(x, &output));
        if (!output.none) TULLE_TRY(tulle__sum_pairs(x, pairs, &output));
    }
    if (!x->sink->same_jobs) tulle__target_drop_parts(target);
out:
    for (int p = 0; p < npieces; p++) tulle__free(pieces[p].block);
    tulle__free(pieces);
    return status;
}
