/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/algebra/mirror.h"

#include <string.h>

#include <tulle/algebra.h>

#include "base/error.h"
#include "mat/algebra/elements.h"
#include "tile/element.h"
#include "tile/tile_blocks.h"

/* Own tile (i, j) of C, and of its transpose. */
struct halves {
    tulle_tile own, transposed;
    const tulle_gidx *row_cut, *col_cut;
    int shift;
    int64_t row, col, rows; /* the first block row and column among all */
};

/* The first block from e on, before `end`, that counts of one: those that a half stores, or the others. */
static int64_t next_block(
    const struct halves *h, const tulle_tile *from, int64_t r, bool stored, int64_t e, int64_t end)
{
    while (e < end && tulle__half_stores(h->shift, h->row + r, h->col + from->colind[e]) != stored) e++;
    return e;
}

/* Elements above the diagonal of diagonal block e become those below. */
static void mirror_block(const tulle_own_tile *to, int64_t size, int64_t at)
{
    for (int64_t x = 0; x < size; x++)
        for (int64_t y = x + 1; y < size; y++)
            tulle__element_set(
                to->type, to->val, at + x * size + y, tulle__element(to->type, to->val, at + y * size + x));
}

/* The tile, or (to NULL) its numbers of blocks and of values. */
static void join_tile(const struct halves *h, const tulle_own_tile *to, int64_t *blocks, int64_t *nnz)
{
    const tulle_tile *own = &h->own, *other = &h->transposed;
    const size_t value = tulle_type_size(own->type);
    int64_t at = 0, count = 0;
    for (int64_t r = 0; r < h->rows; r++) {
        const int64_t height = h->row_cut[r + 1] - h->row_cut[r];
        int64_t e = own->rowptr ? own->rowptr[r] : 0, e1 = own->rowptr ? own->rowptr[r + 1] : 0;
        int64_t f = other->rowptr ? other->rowptr[r] : 0, f1 = other->rowptr ? other->rowptr[r + 1] : 0;
        if (to) to->rowptr[r] = count;
        for (;;) {
            e = next_block(h, own, r, true, e, e1);
            f = next_block(h, other, r, false, f, f1);
            if (e == e1 && f == f1) break;
            const bool mine = f == f1 || (e < e1 && own->colind[e] < other->colind[f]);
            const tulle_tile *from = mine ? own : other;
            const int64_t b = mine ? e++ : f++, c = from->colind[b],
                          size = height * (h->col_cut[c + 1] - h->col_cut[c]);
            if (to) {
                to->colind[count] = (tulle_lidx)c;
                to->offset[count] = at;
                memcpy((char *)to->val + (size_t)at * value,
                    (const char *)from->val + (size_t)tulle__block_at(from, b, size) * value, (size_t)size * value);
                if (h->col_cut[c] == h->row_cut[r]) mirror_block(to, height, at);
            }
            count++;
            at += size;
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

static tulle_status join_tiles(tulle_mat *C, const tulle_mat *T, int shift)
{
    const tulle_layout *l = C->layout;
    TULLE__EACH_OWN_TILE(C, i, j) {
        tulle_own_tile to;
        int64_t blocks, nnz;
        const struct halves h = {.own = tulle__block_tile(C, i, j),
            .transposed = tulle__block_tile(T, i, j),
            .shift = shift,
            .row = l->row_blocks.first[i],
            .col = l->col_blocks.first[j],
            .row_cut = l->row_blocks.cut + l->row_blocks.first[i],
            .col_cut = l->col_blocks.cut + l->col_blocks.first[j],
            .rows = tulle__tile_block_rows(C, i)};
        join_tile(&h, NULL, &blocks, &nnz);
        TULLE_CALL(tulle__mat_place_blocks(C, i, j, blocks, nnz, &to));
        join_tile(&h, &to, &blocks, &nnz);
    }
    return TULLE_OK;
}

tulle_status tulle__mat_mirror(tulle_mat *C, int shift)
{
    tulle_mat *T = NULL, *moved = NULL;
    tulle_status status = tulle_mat_transpose(C, &T);
    if (status == TULLE_OK && !tulle__layout_equal(C->layout, T->layout))
        status = tulle_mat_redistribute(T, C->layout, &moved);
    if (status == TULLE_OK) status = tulle_comm_agree(C->comm, join_tiles(C, moved ? moved : T, shift));
    if (status == TULLE_OK)
        status = tulle_comm_agree(C->comm, tulle__mat_publish(C));
    else
        tulle__mat_unplace(C);
    tulle_mat_free(moved);
    tulle_mat_free(T);
    return status;
}
