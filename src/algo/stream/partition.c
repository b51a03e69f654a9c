/* SPDX-License-Identifier: Apache-2.0 */
/* The partition: which rows a PE streams, and their number of entries. */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/error.h"
#include "mat/blocks/blocks.h"

/* The partition of A itself: tile rows and their owners. */
static tulle_status layout_as_is(struct tulle_stream *s)
{
    const tulle_layout *l = s->A->layout;
    TULLE__SCOPED int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)l->mt, sizeof *owner, "owners", &owner));
    for (int i = 0; i < l->mt; i++) owner[i] = tulle__layout_owner(l, i, 0);
    tulle_layout_spec spec = {
        .m = s->m, .n = 1, .tile_rows = l->mt, .tile_cols = 1, .row_cut = l->row_cut, .owner = owner};
    return tulle_layout_new(&spec, s->comm->size, &s->layout);
}

/* One range of rows a PE, with so many columns; cut[size + 1]. */
static tulle_status layout_of_cuts(
    const struct tulle_stream *s, const tulle_gidx *cut, tulle_gidx cols, tulle_layout **layout)
{
    TULLE__SCOPED int *owner = NULL;
    int size = s->comm->size;
    TULLE_CALL(tulle__alloc((size_t)size, sizeof *owner, "owners", &owner));
    for (int p = 0; p < size; p++) owner[p] = p;
    tulle_layout_spec spec = {.m = s->m, .n = cols, .tile_rows = size, .tile_cols = 1, .row_cut = cut, .owner = owner};
    return tulle_layout_new(&spec, size, layout);
}

/* Rebalances the rows of A by their entries, blocks kept whole. Collective. */
static tulle_status rebalance_matrix(struct tulle_stream *s)
{
    tulle_gidx b = s->format.block;
    int64_t *work = NULL;
    tulle_gidx *cut = NULL;
    tulle_status status = tulle__alloc((size_t)s->m, sizeof *work, "entries of rows", &work);
    if (status == TULLE_OK) status = tulle__alloc((size_t)s->comm->size + 1, sizeof *cut, "cuts", &cut);
    TULLE_TRY(tulle_comm_agree(s->comm, status));
    TULLE_TRY(tulle_mat_row_nnz(s->A, work));
    tulle_cuts_weighted(s->m, work, s->comm->size, cut);
    for (int p = 1; p < s->comm->size; p++) cut[p] -= cut[p] % b;
    status = layout_of_cuts(s, cut, 1, &s->layout);
out:
    tulle__free(work);
    tulle__free(cut);
    return status;
}

/* The first row of the file that begins at or after this entry. */
static tulle_status row_at(struct tulle_stream *s, int64_t entry, tulle_gidx *row)
{
    tulle_gidx low = 0, high = tulle__blocks_over(s->m, s->rows->block);
    while (low < high) {
        tulle_gidx middle = low + (high - low) / 2;
        int64_t begins;
        TULLE_CALL(s->rows->ops->pointers(s->rows, middle, 1, &begins));
        if (begins < entry)
            low = middle + 1;
        else
            high = middle;
    }
    *row = low;
    return TULLE_OK;
}

/* Rebalances the rows of a file; all PEs find the same cuts. */
static tulle_status rebalance_rows(struct tulle_stream *s)
{
    int size = s->comm->size;
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE_CALL(tulle__alloc_zero((size_t)size + 1, sizeof *cut, "cuts", &cut));
    for (int p = 1; p < size; p++) {
        TULLE_CALL(row_at(s, (int64_t)((__int128)s->rows->stored * p / size), &cut[p]));
        cut[p] = cut[p] * s->rows->block < s->m ? cut[p] * s->rows->block : s->m;
    }
    cut[size] = s->m;
    s->first_row = tulle__blocks_over(cut[s->comm->rank], s->rows->block) * s->rows->block;
    return layout_of_cuts(s, cut, 1, &s->layout);
}

/* The number of entries, of both halves, that this PE's share of the file represents. */
static int64_t share_of_entries(const struct tulle_stream *s)
{
    __int128 nnz = s->rows->nnz;
    int64_t stored = s->rows->stored, begin = s->nranges ? s->range[0].entry : 0;
    return stored ? (int64_t)(nnz * (begin + s->entries) / stored) - (int64_t)(nnz * begin / stored) : 0;
}

/* The row ranges of this PE: its tiles of the layout, and where they lie. */
static tulle_status make_ranges(struct tulle_stream *s)
{
    const tulle_layout *mine = s->layout, *theirs = s->A ? s->A->layout : NULL;
    tulle_gidx b = s->format.block; /* of the file */
    int most = mine->mt + (theirs ? theirs->mt : 0);
    TULLE_CALL(tulle__alloc((size_t)most, sizeof *s->range, "pieces", &s->range));
    for (int i = 0; i < mine->mt; i++) {
        if (tulle__layout_owner(mine, i, 0) != s->comm->rank) continue;
        for (tulle_gidx row = mine->row_cut[i], end = mine->row_cut[i + 1]; row < end;) {
            int tile = theirs ? tulle__layout_find(theirs->row_cut, theirs->mt, row) : -1;
            tulle_gidx from = theirs ? theirs->row_cut[tile] : 0, to = theirs ? theirs->row_cut[tile + 1] : s->m;
            tulle_gidx until = to < end ? to : end;
            const int64_t rows = tulle__blocks_over(until - row, b);
            s->range[s->nranges++] =
                (tulle__row_range){.tile = tile, .row = (row - from) / b, .rows = rows, .line = s->lines};
            s->lines += rows;
            row = until;
        }
    }
    return TULLE_OK;
}

/* Reads the row pointers of a range as they are in its tile or file. */
static tulle_status read_pointers(struct tulle_stream *s, const tulle__row_range *p, int64_t *to)
{
    const tulle_mat *A = s->A;
    if (p->tile < 0) return s->rows->ops->pointers(s->rows, p->row, p->rows + 1, to);
    const tulle__tile_record *record = &A->directory[tulle__tile_index(A, p->tile, 0)];
    if (!record->place.length) {
        memset(to, 0, (size_t)(p->rows + 1) * sizeof *to);
        return TULLE_OK;
    }
    tulle_tile tile = tulle__tile_in_place(A, p->tile, 0);
    if (tile.rowptr) {
        memcpy(to, tile.rowptr + p->row, (size_t)(p->rows + 1) * sizeof *to);
        return TULLE_OK;
    }
    int group = tulle__comm_group(s->comm);
    tulle__get(s->comm, group, &record->place, (uint64_t)p->row * sizeof *to, to, (size_t)(p->rows + 1) * sizeof *to);
    return tulle__wait(s->comm, group);
}

/*
 * Concatenates the row pointers of all ranges. (The last one of each is overwritten by the next
 * range's.)
 */
static tulle_status make_rowptr(struct tulle_stream *s)
{
    TULLE_CALL(tulle__alloc((size_t)s->lines + 1, sizeof *s->rowptr, "row pointers", &s->rowptr));
    s->rowptr[0] = 0;
    for (int i = 0; i < s->nranges; i++) {
        tulle__row_range *p = &s->range[i];
        int64_t *at = s->rowptr + p->line;
        TULLE_CALL(read_pointers(s, p, at));
        p->entry = at[0];
        for (int64_t r = 0; r <= p->rows; r++) at[r] += s->entries - p->entry;
        s->entries = at[p->rows];
    }
    return TULLE_OK;
}

/* True if tiles of A consist of whole blocks and, for a half, those of each PE are contiguous. */
static int lies_in_blocks(const struct tulle_stream *s)
{
    const tulle_layout *l = s->A->layout;
    int whole = 1, runs = 0;
    for (int i = 0; i < l->mt; i++) {
        whole = whole && (l->row_cut[i] % s->format.block == 0 || l->row_cut[i] == l->m);
        runs += i == 0 || tulle__layout_owner(l, i, 0) != tulle__layout_owner(l, i - 1, 0);
    }
    return whole && (!s->format.symmetric || runs <= s->comm->size);
}

/* A, or a copy partitioned by entries, as it will be packed in place. Collective. */
static tulle_status partition_packed(struct tulle_stream *s)
{
    tulle_mat *copy = NULL;
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    if (!s->options.rebalance && lies_in_blocks(s)) return layout_as_is(s);
    TULLE_CALL(tulle_comm_agree(s->comm, rebalance_matrix(s)));
    TULLE_CALL(tulle_comm_agree(s->comm, layout_of_cuts(s, s->layout->row_cut, s->n, &layout)));
    TULLE_CALL(tulle_mat_redistribute(s->A, layout, &copy));
    tulle_mat_free(s->copy);
    s->A = s->copy = copy;
    return TULLE_OK;
}

tulle_status tulle__stream_partition(struct tulle_stream *s)
{
    tulle_status status;
    if (s->format.packed)
        status = partition_packed(s);
    else if (s->rows)
        status = rebalance_rows(s);
    else if (s->options.rebalance)
        status = rebalance_matrix(s);
    else
        status = layout_as_is(s);
    TULLE_CALL(tulle_comm_agree(s->comm, status));
    if (s->format.packed) {
        status = tulle__packed_new(s);
    } else {
        status = make_ranges(s);
        if (status == TULLE_OK) status = make_rowptr(s);
        s->nnz = s->rows ? share_of_entries(s) : s->entries;
        tulle__spill_set(s);
    }
    return tulle_comm_agree(s->comm, status);
}
