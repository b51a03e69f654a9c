/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/mirror.h"

#include <string.h>

#include <tulle/algebra.h>

#include "base/error.h"
#include "mat/algebra/elements.h"
#include "tile/tile_blocks.h"

/* A tile: what counts of it on and below the diagonal, and of the transpose above. */
struct halves {
    tulle_tile lower, upper;
    const tulle_gidx *row_cut, *col_cut;
    int64_t rows;
};

/* Elements above the diagonal of diagonal block e come from block f of the transpose. */
static void mirror_block(const struct halves *h, int64_t f, int64_t size, const tulle_own_tile *to, int64_t at)
{
    for (int64_t x = 0; x < size; x++)
        for (int64_t y = x + 1; y < size; y++)
            tulle__element_set(to->type, to->val, at + x * size + y,
                tulle__element(h->upper.type, h->upper.val, tulle__block_at(&h->upper, f, size * size) + x * size + y));
}

/* The tile, or (to NULL) its numbers of blocks and of values. */
static void join_tile(const struct halves *h, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    const tulle_tile *lower = &h->lower, *upper = &h->upper;
    const size_t value = tulle_type_size(lower->type);
    int64_t at = 0, count = 0;
    for (int64_t r = 0; r < h->rows; r++) {
        const int64_t height = h->row_cut[r + 1] - h->row_cut[r];
        int64_t diagonal = -1; /* the transpose's diagonal block of the row */
        if (to) to->rowptr[r] = count;
        for (int half = 0; half < 2; half++) {
            const tulle_tile *from = half ? upper : lower;
            for (int64_t e = from->rowptr ? from->rowptr[r] : 0; from->rowptr && e < from->rowptr[r + 1]; e++) {
                const int64_t c = from->colind[e], width = h->col_cut[c + 1] - h->col_cut[c], size = height * width;
                const tulle_gidx row = h->row_cut[r], col = h->col_cut[c];
                if (half && col == row) diagonal = e;
                if (half ? col <= row : col > row) continue;
                if (to) {
                    to->colind[count] = (tulle_lidx)c;
                    to->offset[count] = at;
                    memcpy((char *)to->val + (size_t)at * value,
                        (const char *)from->val + (size_t)tulle__block_at(from, e, size) * value, (size_t)size * value);
                }
                count++;
                at += size;
            }
            const bool ends = to && half && diagonal >= 0;
            for (int64_t b = ends ? to->rowptr[r] : 0; ends && b < count; b++)
                if (h->col_cut[to->colind[b]] == h->row_cut[r]) mirror_block(h, diagonal, height, to, to->offset[b]);
        }
    }
    if (to) {
        to->rowptr[h->rows] = count;
        to->offset[count] = at;
        tulle__blocks_renew_norms(to);
    }
    *blocks = count;
    *nnz = at;
}

static tulle_status join_tiles(tulle_mat *C, const tulle_mat *T)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = C->layout;
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_own_tile to;
            int64_t blocks, nnz;
            if (!tulle__tile_is_mine(C, i, j)) continue;
            const struct halves h = {.lower = tulle__block_tile(C, i, j),
                .upper = tulle__block_tile(T, i, j),
                .row_cut = l->row_blocks.cut + l->row_blocks.first[i],
                .col_cut = l->col_blocks.cut + l->col_blocks.first[j],
                .rows = tulle__tile_block_rows(C, i)};
            join_tile(&h, NULL, &blocks, &nnz);
            TULLE_TRY(tulle__mat_place_blocks(C, i, j, blocks, nnz, &to));
            join_tile(&h, &to, &blocks, &nnz);
        }
out:
    return status;
}

tulle_status tulle__mat_mirror(tulle_mat *C)
{
    tulle_mat *T = NULL, *moved = NULL;
    tulle_status status = tulle_mat_transpose(C, &T);
    if (status == TULLE_OK && !tulle__layout_equal(C->layout, T->layout))
        status = tulle_mat_redistribute(T, C->layout, &moved);
    if (status == TULLE_OK) status = tulle_comm_agree(C->comm, join_tiles(C, moved ? moved : T));
    if (status == TULLE_OK)
        status = tulle_comm_agree(C->comm, tulle__mat_publish(C));
    else
        tulle__mat_unplace(C);
    tulle_mat_free(moved);
    tulle_mat_free(T);
    return status;
}
