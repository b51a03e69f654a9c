/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "algo/matfun/sweep_state.h"
#include "base/error.h"

tulle_status tulle__sweep_number_blocks(struct tulle__sweep_state *w)
{
    const tulle__block_rows *pattern = &w->s->pattern;
    int64_t blocks = 0;
    TULLE_CALL(tulle__alloc((size_t)pattern->count, sizeof *w->first, "fetched rows", &w->first));
    for (int64_t k = 0; k < pattern->count; k++) {
        w->first[k] = pattern->row[k].val ? -1 : blocks;
        if (!pattern->row[k].val) blocks += pattern->row[k].count;
    }
    TULLE_CALL(tulle__alloc((size_t)blocks, sizeof *w->at, "fetched blocks", &w->at));
    memset(w->at, 0xff, (size_t)blocks * sizeof *w->at);
    return TULLE_OK;
}

static tulle_status need(struct tulle__sweep_state *w, int32_t slot, int64_t block)
{
    enum { WANTED = -2 };
    int64_t *at = &w->at[w->first[slot] + block];
    if (*at != -1) return TULLE_OK;
    TULLE_CALL(tulle__grow(w->nneeded, &w->needed_capacity, 1024, sizeof *w->needed, "fetched blocks", &w->needed));
    const tulle__block_row *row = &w->s->pattern.row[slot];
    w->needed[w->nneeded++] = (struct tulle__needed_block){slot, (int32_t)block, row->tile, row->first + block};
    *at = WANTED;
    return TULLE_OK;
}

/* Blocks of submatrix k that are not mapped, and not needed by others of the wave. */
static tulle_status need_submatrix(struct tulle__sweep_state *w, int64_t k)
{
    const tulle__submatrix *sub = &w->s->sub[k];
    const int32_t *R = w->s->index + sub->rows;
    for (int64_t i = 0; i < sub->nrows; i++) {
        int32_t slot = w->s->pattern.slot[R[i]];
        const tulle__block_row *row = &w->s->pattern.row[slot];
        if (w->first[slot] < 0) continue;
        for (int64_t e = tulle__block_row_find(row, R[i]), q = i; e < row->count && q < sub->nrows;) {
            if (row->col[e] < R[q]) {
                e++;
            } else if (row->col[e] > R[q]) {
                q++;
            } else {
                TULLE_CALL(need(w, slot, e));
                e++;
                q++;
            }
        }
    }
    for (int64_t c = 0; c < sub->ncols; c++) {
        int32_t j = w->s->index[sub->cols + c], slot = w->s->pattern.slot[j];
        if (w->first[slot] < 0) continue;
        for (int64_t e = 0; e < w->s->pattern.row[slot].count; e++) TULLE_CALL(need(w, slot, e));
    }
    return TULLE_OK;
}

static int64_t values_of(const struct tulle__sweep_state *w, const struct tulle__needed_block *x)
{
    const int64_t *offset = w->s->pattern.row[x->slot].offset;
    return offset[x->block + 1] - offset[x->block];
}

void tulle__sweep_forget(struct tulle__sweep_state *w, int64_t from)
{
    for (int64_t k = from; k < w->nneeded; k++) w->at[w->first[w->needed[k].slot] + w->needed[k].block] = -1;
    w->nneeded = from;
}

int64_t tulle__sweep_result_values(const struct tulle__sweep_state *w, int64_t k)
{
    const tulle__submatrix *sub = &w->s->sub[k];
    int64_t values = 0;
    for (int64_t c = 0; w->F && c < sub->ncols; c++) {
        const tulle__block_row *row = tulle__sweep_row(w, w->s->index[sub->cols + c]);
        if (!tulle__tile_mapped(w->F, row->tile, 0)) values += row->offset[row->count] - row->offset[0];
    }
    return values;
}

tulle_status tulle__sweep_choose_wave(struct tulle__sweep_state *w, int64_t limit)
{
    int64_t bytes = 0;
    w->nneeded = 0;
    for (w->end = w->begin; w->end < w->bound; w->end++) {
        int64_t before = w->nneeded;
        if (tulle__sweep_skips(w, w->end)) continue;
        if (!tulle__sweep_restores(w, w->end)) TULLE_CALL(need_submatrix(w, w->end));
        int64_t more = tulle__sweep_result_values(w, w->end) * (int64_t)w->size;
        int64_t each = (int64_t)w->size * (w->plan->S ? 2 : 1);
        for (int64_t k = before; k < w->nneeded; k++) more += values_of(w, &w->needed[k]) * each;
        if (w->end > w->begin && bytes + more > limit) {
            tulle__sweep_forget(w, before);
            break;
        }
        bytes += more;
    }
    return TULLE_OK;
}

static int by_place(const void *left, const void *right)
{
    const struct tulle__needed_block *x = left, *y = right;
    if (x->tile != y->tile) return x->tile < y->tile ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Starts the gets of A's or S's blocks; range: workspace. */
static void fetch_blocks(
    const struct tulle__sweep_state *w, const tulle_mat *A, int group, char *copies, tulle__range *range)
{
    for (int64_t k = 0, at = 0; k < w->nneeded;) {
        int tile = w->needed[k].tile, n = 0;
        uint64_t begin = tulle__block_rows_values_at(A, tile);
        for (int64_t previous = -2; k < w->nneeded && w->needed[k].tile == tile && n < INT32_MAX - 1; k++) {
            const struct tulle__needed_block *x = &w->needed[k];
            size_t bytes = (size_t)values_of(w, x) * w->size;
            uint64_t from = begin + (uint64_t)w->s->pattern.row[x->slot].offset[x->block] * w->size;
            if (x->place == previous + 1)
                range[n - 1].bytes += bytes;
            else
                range[n++] = (tulle__range){from, copies + at, bytes};
            previous = x->place;
            at += (int64_t)bytes;
        }
        (void)tulle__getv(w->comm, group, &A->directory[tulle__tile_index(A, tile, 0)].place, n, range);
    }
}

tulle_status tulle__sweep_fetch_wave(struct tulle__sweep_state *w)
{
    tulle_status status;
    const tulle_mat *const of[2] = {w->s->pattern.A, w->plan->S};
    int64_t values = 0;
    tulle__range *range = NULL;
    int group = tulle__comm_group(w->comm);
    if (!w->nneeded) return TULLE_OK;
    qsort(w->needed, (size_t)w->nneeded, sizeof *w->needed, by_place);
    for (int64_t k = 0; k < w->nneeded; k++) {
        w->at[w->first[w->needed[k].slot] + w->needed[k].block] = values;
        values += values_of(w, &w->needed[k]);
    }
    TULLE_TRY(tulle__alloc((size_t)w->nneeded, sizeof *range, "ranges of blocks", &range));
    for (int i = 0; i < 2 && of[i]; i++) {
        TULLE_TRY(tulle__alloc((size_t)values, w->size, "copies of remote blocks", &w->copies[i]));
        fetch_blocks(w, of[i], group, w->copies[i], range);
        w->report->bytes += values * (int64_t)w->size;
    }
out:
    if (status == TULLE_OK) status = tulle__wait(w->comm, group);
    tulle__free(range);
    return status;
}
