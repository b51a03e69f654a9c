/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/reshape/transposed.h"

#include <string.h>

#include <tulle/algebra.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "tile/tile_blocks.h"

static void transpose_dense(const tulle_tile *from, const tulle_own_tile *to)
{
    enum { BLOCK = 32 };
    size_t size = tulle_type_size(from->type);
    int64_t f_row = from->order == TULLE_ROW_MAJOR ? from->ld : 1,
            f_col = from->order == TULLE_ROW_MAJOR ? 1 : from->ld;
    int64_t t_row = to->order == TULLE_ROW_MAJOR ? to->ld : 1, t_col = to->order == TULLE_ROW_MAJOR ? 1 : to->ld;
    for (tulle_gidx rb = 0; rb < from->m; rb += BLOCK)
        for (tulle_gidx cb = 0; cb < from->n; cb += BLOCK)
            for (tulle_gidx r = rb; r < from->m && r < rb + BLOCK; r++)
                for (tulle_gidx c = cb; c < from->n && c < cb + BLOCK; c++)
                    memcpy((char *)to->val + (size_t)(c * t_row + r * t_col) * size,
                        (const char *)from->val + (size_t)(r * f_row + c * f_col) * size, size);
}

/* Indices of the entries of a tile. The transpose kernel moves them as if they were values. */
static size_t number_bytes(int64_t nnz)
{
    return nnz <= UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t);
}

static tulle_status number_entries(int64_t nnz, char **numbers)
{
    size_t size = number_bytes(nnz);
    TULLE_CALL(tulle__alloc((size_t)nnz, size, "source indices of a transpose", numbers));
    for (int64_t e = 0; e < nnz; e++) {
        uint32_t narrow = (uint32_t)e;
        uint64_t wide = (uint64_t)e;
        memcpy(*numbers + (size_t)e * size, size == sizeof wide ? (void *)&wide : (void *)&narrow, size);
    }
    return TULLE_OK;
}

static tulle_status gather(
    const tulle__context *context, const char *order, const tulle_tile *from, const tulle_own_tile *to)
{
    if (from->row_block) {
        tulle__blocks_transpose(from, order, number_bytes(from->blocks), to);
        return TULLE_OK;
    }
    return context->kernels->gather(
        context->pool, from->type, from->nnz, order, number_bytes(from->nnz), from->val, to->val);
}

/* order: NULL, or receives the source index of each entry, or block. */
static tulle_status transpose_sparse(
    const tulle__context *context, const tulle_tile *from, const tulle_own_tile *to, char **order)
{
    TULLE__SCOPED char *numbers = NULL, *own = NULL;
    tulle__csr csr = tulle__tile_csr(from);
    tulle__csr_result result = tulle__tile_csr_result(to, from->nnz);
    int64_t count = from->row_block ? from->blocks : from->nnz;
    if (!order && !from->row_block) return context->kernels->transpose(context->pool, from->type, &csr, &result);
    if (!order) order = &own;
    TULLE_CALL(number_entries(count, &numbers));
    TULLE_CALL(tulle__alloc((size_t)count, number_bytes(count), "source indices of a transpose", order));
    csr.val = numbers;
    result.val = *order;
    TULLE_CALL(context->kernels->transpose(
        context->pool, number_bytes(count) == sizeof(float) ? TULLE_F32 : TULLE_F64, &csr, &result));
    return gather(context, *order, from, to);
}

/* order: NULL, or one array for each tile of A^T. */
static tulle_status transpose(const tulle_mat *A, tulle_mat **out, char **order)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle__context *context;
    TULLE_CALL(tulle__context_get(A->comm, &context));
    TULLE_CALL(tulle_layout_transpose(A->layout, &layout));
    TULLE_CALL(tulle__mat_make(A->comm, layout, A->kind, A->type, A->order, out));
    tulle_mat *T = *out;
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile from;
        tulle_own_tile to;
        TULLE_CALL(tulle_mat_tile(A, i, j, &from));
        if (!from.nnz) continue;
        if (A->kind == TULLE_DENSE && tulle__is_shape_only(T->comm)) continue;
        int64_t t = tulle__tile_index(T, j, i);
        if (A->kind == TULLE_DENSE) {
            to = tulle__own_tile_view(T, j, i, &T->replaced[t], tulle__mapped(T->comm, &T->replaced[t].place));
            transpose_dense(&from, &to);
            continue;
        }
        int32_t narrow;
        TULLE_CALL(tulle__narrow(from.m, "the number of columns of a transposed tile", &narrow));
        TULLE_CALL(tulle__mat_place_blocks(T, j, i, from.blocks, from.nnz, &to));
        TULLE_CALL(transpose_sparse(context, &from, &to, order ? &order[t] : NULL));
    }
    return tulle__mat_publish(T);
}

/* A half is its own transpose but for the sign and the owners. Collective, agreed. */
static tulle_status transpose_half(const tulle_mat *A, tulle_mat **T)
{
    TULLE__SCOPED_MAT tulle_mat *made = NULL;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE_CALL(tulle_comm_agree(A->comm, tulle_layout_transpose(A->layout, &layout)));
    TULLE_CALL(tulle_mat_redistribute(A, layout, &made));
    if (A->symmetry == TULLE_SKEW) TULLE_CALL(tulle_mat_scale(made, -1, NULL, NULL));
    *T = made;
    made = NULL;
    return TULLE_OK;
}

static tulle_status exchange_axes(const tulle_mat *A, tulle_layout **layout, tulle__compressed *parts)
{
    TULLE_CALL(tulle_layout_transpose(A->layout, layout));
    return tulle__compressed_axes_copy(&A->compressed->cols, &A->compressed->rows, parts);
}

/* The transpose of the inner matrix, with the axes exchanged. Collective, agreed. */
static tulle_status transpose_compressed(const tulle_mat *A, tulle_mat **T)
{
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    TULLE_CALL(tulle_mat_transpose(A->compressed->inner, &parts.inner));
    const tulle_status status = exchange_axes(A, &layout, &parts);
    return tulle__compressed_finish(A->comm, layout, A->type, status, &parts, T);
}

tulle_status tulle_mat_transpose(const tulle_mat *A, tulle_mat **T)
{
    if (TULLE__NULL(A) || TULLE__NULL(T)) return tulle__refuse(A ? A->comm : NULL);
    tulle_mat *made = NULL;
    if (A->symmetry != TULLE_GENERAL) return transpose_half(A, T);
    if (A->compressed) return transpose_compressed(A, T);
    TULLE_CALL(tulle__mat_order(A));
    const tulle_status status = tulle_comm_agree(A->comm, transpose(A, &made, NULL));
    return tulle__mat_or_drop(status, made, T);
}

/* ---- the cached transpose ---- */

void tulle__transposed_drop(tulle__transposed *transposed)
{
    for (int64_t t = 0; transposed->order && t < transposed->tiles; t++) tulle__free(transposed->order[t]);
    tulle__free(transposed->order);
    tulle__mat_drop(transposed->mat);
    *transposed = (tulle__transposed){.mat = NULL};
}

static tulle_status make(const tulle_mat *A, tulle__transposed *made)
{
    made->of = A->structure;
    made->tiles = (int64_t)A->layout->mt * A->layout->nt;
    if (A->kind != TULLE_DENSE && !tulle__is_shape_only(A->comm))
        TULLE_CALL(
            tulle__alloc_zero((size_t)made->tiles, sizeof *made->order, "source indices of a transpose", &made->order));
    return transpose(A, &made->mat, made->order);
}

/* Copies the values of own tiles. */
static tulle_status copy_values(const tulle_mat *A, const tulle__transposed *transposed, int64_t *copied)
{
    tulle_mat *T = transposed->mat;
    tulle__context *context;
    TULLE_CALL(tulle__context_get(A->comm, &context));
    TULLE__EACH_OWN_TILE(A, i, j) {
        tulle_tile from;
        tulle_own_tile to;
        TULLE_CALL(tulle_mat_tile(A, i, j, &from));
        if (!from.nnz) continue;
        *copied += from.nnz * (int64_t)tulle_type_size(A->type);
        if (tulle__is_shape_only(A->comm)) continue;
        TULLE_CALL(tulle_mat_own_tile(T, j, i, &to));
        if (A->kind == TULLE_DENSE)
            transpose_dense(&from, &to);
        else
            TULLE_CALL(gather(context, transposed->order[tulle__tile_index(T, j, i)], &from, &to));
    }
    return TULLE_OK;
}

tulle_status tulle__transposed_renew(const tulle_mat *A, tulle__transposed *transposed, int64_t *copied)
{
    tulle__transposed made = {.mat = NULL};
    if (transposed->mat && (A->kind == TULLE_DENSE || transposed->of == A->structure))
        return tulle_comm_agree(A->comm, copy_values(A, transposed, copied));
    tulle_status status = tulle_comm_agree(A->comm, make(A, &made));
    if (status != TULLE_OK) {
        tulle__transposed_drop(&made);
        return status;
    }
    tulle__pe_disown(&made.mat->owned);
    tulle__transposed_drop(transposed); /* the transposition has synchronised: no PE still reads the old one */
    *transposed = made;
    return TULLE_OK;
}

size_t tulle__transposed_bytes(const tulle__transposed *transposed)
{
    size_t bytes = 0;
    const tulle_mat *T = transposed->mat;
    for (int64_t t = 0; T && t < (int64_t)T->layout->mt * T->layout->nt; t++) {
        if (T->layout->owner[t] != T->comm->rank) continue;
        bytes += T->directory[t].place.length;
        int64_t count = T->format->in_blocks ? T->directory[t].blocks : T->directory[t].nnz;
        if (transposed->order) bytes += (size_t)count * number_bytes(count);
    }
    return bytes;
}
