/* SPDX-License-Identifier: Apache-2.0 */
/* Half storage: where it comes from, and what is made of it. */
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/algebra/elements.h"
#include "mat/half/expanded.h"
#include "mat/reshape/reshape.h"

tulle_symmetry tulle_mat_symmetry(const tulle_mat *A)
{
    if (TULLE__NULL(A)) return TULLE_GENERAL;
    return A->symmetry;
}

static tulle_status make_empty_half(tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_mat **made)
{
    TULLE_CALL(tulle__layout_check_half(layout));
    TULLE_CALL(tulle__mat_make(comm, layout, TULLE_VBSR, type, TULLE_ROW_MAJOR, made));
    return tulle__mat_publish(*made);
}

static tulle_status new_half(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_symmetry symmetry, tulle_mat **H)
{
    tulle_mat *made = NULL;
    const tulle_status status = tulle_comm_agree(comm, make_empty_half(comm, layout, type, &made));
    if (status == TULLE_OK) made->symmetry = symmetry;
    return tulle__mat_or_drop(status, made, H);
}

static bool is_general(tulle_symmetry symmetry)
{
    if (symmetry == TULLE_GENERAL) tulle__fail(TULLE_ERR_ARG, "half of a matrix without a symmetry: TULLE_GENERAL");
    return symmetry == TULLE_GENERAL;
}

tulle_status tulle_mat_new_half(
    tulle_comm *comm, const tulle_layout *layout, tulle_type type, tulle_symmetry symmetry, tulle_mat **H)
{
    if (TULLE__NULL(comm) || TULLE__NULL(layout) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) ||
        TULLE__OUTSIDE(symmetry, TULLE_SKEW) || is_general(symmetry) || TULLE__NULL(H))
        return tulle__refuse(comm);
    return new_half(comm, layout, type, symmetry, H);
}

/* ---- half of a matrix ---- */

/* The stored blocks of own tile (i, j) of A, or (to NULL) their numbers of blocks and of values. */
static void keep_blocks(
    const tulle_mat *A, const tulle_tile *from, int i, int j, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    const size_t size = tulle_type_size(from->type);
    const int shift = tulle__half_shift(A->layout->row_blocks.count);
    const tulle_gidx row = A->layout->row_blocks.first[i], col = A->layout->col_blocks.first[j];
    *blocks = *nnz = 0;
    for (int64_t r = 0; r < from->block_rows; r++) {
        if (to) to->rowptr[r] = *blocks;
        for (int64_t e = from->rowptr[r]; e < from->rowptr[r + 1]; e++) {
            const int64_t values = from->offset[e + 1] - from->offset[e];
            if (!tulle__half_stores(shift, row + r, col + from->colind[e])) continue;
            if (to) {
                to->colind[*blocks] = from->colind[e];
                to->offset[*blocks] = *nnz;
                to->norm[*blocks] = from->norm[e];
                memcpy((char *)to->val + (size_t)*nnz * size, (const char *)from->val + (size_t)from->offset[e] * size,
                    (size_t)values * size);
            }
            ++*blocks;
            *nnz += values;
        }
    }
    if (!to) return;
    to->rowptr[from->block_rows] = *blocks;
    to->offset[*blocks] = *nnz;
}

static tulle_status keep_half(const tulle_mat *A, tulle_mat *H)
{
    TULLE__EACH_OWN_TILE(A, i, j) {
        int64_t blocks, nnz;
        tulle_own_tile to;
        if (!A->directory[tulle__tile_index(A, i, j)].blocks) continue;
        const tulle_tile from = tulle__tile_in_place(A, i, j);
        keep_blocks(A, &from, i, j, NULL, &blocks, &nnz);
        if (!blocks) continue;
        TULLE_CALL(tulle__mat_place_blocks(H, i, j, blocks, nnz, &to));
        keep_blocks(A, &from, i, j, &to, &blocks, &nnz);
    }
    return TULLE_OK;
}

/* True if the value at `at` of a is that at `bt` of b times `sign`; at < 0: it is 0. */
static bool are_equal(const tulle_tile *a, int64_t at, const tulle_tile *b, int64_t bt, double sign)
{
    const double x = at < 0 ? 0 : tulle__element(a->type, a->val, at),
                 y = bt < 0 ? 0 : tulle__element(b->type, b->val, bt);
    return x == sign * y;
}

/* True if row r of two tiles is the same, blocks of zeros or none; and, of diagonal blocks, has the symmetry. */
static bool same_row(const tulle_tile *a, const tulle_tile *b, int64_t r, bool diagonal, double sign)
{
    int64_t e = a->rowptr ? a->rowptr[r] : 0, e1 = a->rowptr ? a->rowptr[r + 1] : 0;
    int64_t f = b->rowptr ? b->rowptr[r] : 0, f1 = b->rowptr ? b->rowptr[r + 1] : 0;
    const int64_t height = a->row_block[r + 1] - a->row_block[r];
    bool same = true;
    while (e < e1 || f < f1) {
        const bool in_a = e < e1 && (f >= f1 || a->colind[e] <= b->colind[f]),
                   in_b = f < f1 && (e >= e1 || b->colind[f] <= a->colind[e]);
        const int64_t c = in_a ? a->colind[e] : b->colind[f], width = a->col_block[c + 1] - a->col_block[c];
        for (int64_t k = 0; same && k < height * width; k++) {
            const int64_t at = in_a ? a->offset[e] + k : -1;
            same = are_equal(a, at, b, in_b ? b->offset[f] + k : -1, 1);
            if (diagonal && c == r && in_a) /* height is width */
                same &= are_equal(a, at, a, a->offset[e] + k % width * width + k / width, sign);
        }
        e += in_a;
        f += in_b;
    }
    return same;
}

/* A tile of all of the half, in memory to be freed: *block. Without blocks its rowptr is NULL. */
static tulle_status expand_tile(const tulle_mat *H, int i, int j, tulle_tile *tile, void **block)
{
    TULLE__SCOPED_BY(tulle__expansion_fini) tulle__expansion x = {.fetch = {{.group = -1}, {.group = -1}}};
    *tile = (tulle_tile){.rowptr = NULL};
    TULLE_CALL(tulle__expansion_init(H, i, j, &x));
    if (!x.blocks) return TULLE_OK;
    const tulle__shape shape = tulle__tile_shape(H, i, j, x.nnz, x.blocks);
    const tulle__tile_record record = {.nnz = x.nnz, .blocks = x.blocks, .place = {.length = H->format->bytes(&shape)}};
    TULLE_CALL(tulle__alloc(record.place.length, 1, "a tile of a half", block));
    const tulle_own_tile to = tulle__own_tile_view(H, i, j, &record, *block);
    *tile = tulle__tile_of(&to);
    return tulle__expansion_write(&x, H->symmetry, TULLE_OP_N, &to);
}

/* True if own tiles of A are those that follow from the half. *same: of this PE. */
static tulle_status compare_tiles(const tulle_mat *A, const tulle_mat *H, bool *same)
{
    TULLE__SCOPED void *block = NULL;
    tulle_tile b;
    *same = true;
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt && *same; j++) {
            if (!tulle__tile_is_mine(A, i, j)) continue;
            const tulle_tile a = tulle__block_tile(A, i, j);
            TULLE_CALL(expand_tile(H, i, j, &b, &block));
            for (int64_t r = 0; *same && r < a.block_rows; r++)
                *same = same_row(&a, &b, r, i == j, H->symmetry == TULLE_SKEW ? -1 : 1);
            tulle__free(block);
            block = NULL;
        }
    return TULLE_OK;
}

/* TULLE_ERR_ARG on all PEs if A, of H's layout, has another half than H. Collective, agreed. */
static tulle_status check_symmetry(const tulle_mat *A, const tulle_mat *H)
{
    bool same = true;
    tulle_status status = compare_tiles(A, H, &same);
    if (status == TULLE_OK && !same)
        status = tulle__fail(TULLE_ERR_ARG, "half of a matrix that is not %s bit by bit: tulle_mat_symmetrise first",
            H->symmetry == TULLE_SKEW ? "antisymmetric" : "symmetric");
    return tulle_comm_agree(A->comm, status);
}

static tulle_status check_whole(const tulle_mat *A)
{
    TULLE_CALL(tulle__wants_full(A));
    if (A->kind != TULLE_VBSR)
        return tulle__fail(TULLE_ERR_ARG, "half of a %s matrix: vbsr only", tulle_kind_name(A->kind));
    if (A->layout->m != A->layout->n || !tulle__block_cuts_same(&A->layout->row_blocks, &A->layout->col_blocks))
        return tulle__fail(TULLE_ERR_ARG, "half of a matrix whose row blocks are not its column blocks");
    return tulle__wants_values(A->comm, "half of a matrix");
}

/* Collective, agreed. */
static tulle_status make_half(const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **H)
{
    tulle_mat *made = NULL;
    tulle_status status;
    TULLE_TRY(tulle_mat_new_half(A->comm, A->layout, A->type, symmetry, &made));
    TULLE_TRY(tulle_comm_agree(A->comm, keep_half(A, made)));
    TULLE_TRY(tulle_mat_renew(made));
    TULLE_TRY(check_symmetry(A, made));
out:
    return tulle__mat_or_free(status, made, H);
}

tulle_status tulle_mat_to_half(const tulle_mat *A, tulle_symmetry symmetry, tulle_mat **H)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__OUTSIDE(symmetry, TULLE_SKEW) || is_general(symmetry) || TULLE__NULL(H)) return tulle__refuse(A->comm);
    TULLE__SCOPED_LAYOUT tulle_layout *square = NULL;
    TULLE__SCOPED_MAT tulle_mat *moved = NULL;
    tulle_status status = check_whole(A);
    if (status == TULLE_OK) status = tulle_layout_square(A->layout, &square);
    TULLE_CALL(tulle_comm_agree(A->comm, status));
    if (!tulle__layout_equal(A->layout, square)) TULLE_CALL(tulle_mat_redistribute(A, square, &moved));
    return make_half(moved ? moved : A, symmetry, H);
}

tulle_status tulle_mat_to_full(const tulle_mat *H, tulle_mat **A)
{
    if (TULLE__NULL(H)) return TULLE_ERR_ARG;
    if (TULLE__NULL(A)) return tulle__refuse(H->comm);
    if (H->symmetry == TULLE_GENERAL) return tulle_mat_redistribute(H, H->layout, A);
    return tulle__expand(H, TULLE_OP_N, A, &(int64_t){0});
}
