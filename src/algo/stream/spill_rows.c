/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spill rows: halves of symmetric matrices on several PEs. A PE's blocks above the diagonal add to
 * lines of Y that other PEs own, at most as many after its own as its rows reach. Its device has
 * room for these spill rows. After a product each PE publishes its spill rows, and adds those of
 * other PEs for its own lines, in the order of PEs.
 */
#include <string.h>

#include "algo/stream/stream.h"
#include "base/error.h"
#include "mat/fetch.h"

void tulle__spill_set(struct tulle_stream *s)
{
    int64_t b = s->format.block, beyond = (s->x_lines - s->first_row) / b - s->lines;
    s->spill = s->format.symmetric ? (s->format.span < beyond ? s->format.span : beyond) * b : 0;
}

/* Collective. A dense matrix with one tile for each PE. */
tulle_status tulle__spill_new(struct tulle_stream *s)
{
    int size = s->comm->size, *owner = NULL;
    tulle_gidx *cut = NULL, mine[2] = {s->first_row + s->lines * s->format.block, s->spill};
    tulle_layout *layout = NULL;
    tulle_status status = TULLE_OK;
    if (!s->format.symmetric || size == 1) return TULLE_OK;
    status = tulle__alloc(2 * (size_t)size, sizeof *s->spill_of, "tails", &s->spill_of);
    if (status == TULLE_OK) status = tulle__alloc_zero((size_t)size + 1, sizeof *cut, "cuts", &cut);
    if (status == TULLE_OK) status = tulle__alloc((size_t)size, sizeof *owner, "owners", &owner);
    TULLE_TRY(tulle_comm_agree(s->comm, status));
    TULLE_TRY(tulle_comm_allgather(s->comm, mine, sizeof mine, s->spill_of));
    for (int p = 0; p < size; p++) {
        cut[p + 1] = cut[p] + s->spill_of[2 * p + 1];
        owner[p] = p;
    }
    tulle_layout_spec spec = {
        .m = cut[size], .n = s->options.cols, .tile_rows = size, .tile_cols = 1, .row_cut = cut, .owner = owner};
    TULLE_TRY(tulle_comm_agree(s->comm, tulle_layout_new(&spec, size, &layout)));
    status = tulle_mat_new_dense(s->comm, layout, s->type, TULLE_ROW_MAJOR, &s->spilled);
out:
    tulle_layout_free(layout);
    tulle__free(cut);
    tulle__free(owner);
    return status;
}

void *tulle__spill_here(const struct tulle_stream *s)
{
    return s->spilled ? tulle__own_tile_in_place(s->spilled, s->comm->rank, 0).val : NULL;
}

static void add(tulle_type type, void *to, const void *from, int64_t count)
{
    if (type == TULLE_F32)
        for (int64_t i = 0; i < count; i++) ((float *)to)[i] += ((const float *)from)[i];
    else
        for (int64_t i = 0; i < count; i++) ((double *)to)[i] += ((const double *)from)[i];
}

/* Adds lines begin .. end - 1, interleaved in `lines`, to this PE's tiles of Y. */
static void add_lines(struct tulle_stream *s, tulle_mat *Y, tulle_gidx begin, tulle_gidx end, const char *lines)
{
    const tulle_gidx *cut = Y->layout->row_cut;
    size_t line = (size_t)Y->layout->n * tulle_type_size(s->type);
    for (int i = 0; i < Y->layout->mt; i++) {
        if (!tulle__tile_is_mine(Y, i, 0)) continue;
        tulle_gidx from = begin > cut[i] ? begin : cut[i], until = end < cut[i + 1] ? end : cut[i + 1];
        if (from >= until) continue;
        char *y = tulle__own_tile_in_place(Y, i, 0).val;
        add(s->type, y + (size_t)(from - cut[i]) * line, lines + (size_t)(from - begin) * line,
            (until - from) * Y->layout->n);
    }
}

tulle_status tulle__spill_add(struct tulle_stream *s, tulle_mat *Y)
{
    tulle_gidx first = s->first_row, end = first + s->lines * s->format.block;
    for (int p = 0; p < s->comm->size; p++) {
        tulle_gidx begins = s->spill_of[2 * p], spill = s->spill_of[2 * p + 1];
        TULLE__SCOPED_BY(tulle__fetch_fini) tulle__fetch fetch = {.group = -1};
        tulle_tile tile;
        if (p == s->comm->rank || begins >= end || begins + spill <= first) continue;
        TULLE_CALL(tulle__fetch_read(s->spilled, p, 0, &fetch, &tile));
        add_lines(s, Y, begins, begins + spill, tile.val);
    }
    return TULLE_OK;
}
