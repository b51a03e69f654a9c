/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/joined_blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/tile_blocks.h"

/* A head that comes: of the stored tiles, and where it is made. */
struct tulle__joined_head {
    const tulle_mat *X;
    int i, j;
    char *room, *to;
    tulle__joined_parts parts;
};

/* ---- heads ---- */

static const tulle__tile_record *record_of(const tulle_mat *X, int i, int j)
{
    return &X->directory[tulle__tile_index(X, i, j)];
}

/* Of a tile that is stored, or of one that is joined: what comes before the values. */
static tulle__blocks_offsets offsets(const tulle_mat *X, int i, int j)
{
    const tulle__tile_record *record = record_of(X, i, j);
    return tulle__vbsr_offsets_of(tulle__tile_block_rows(X, i), record->blocks, record->nnz, X->type);
}

static int64_t *source_of(const tulle_mat *X, int i, int j, char *head)
{
    return (int64_t *)(void *)(head + offsets(X, i, j).val);
}

size_t tulle__joined_head_bytes(const tulle_mat *X, int i, int j)
{
    return offsets(X, i, j).val + (size_t)record_of(X, i, j)->blocks * sizeof(int64_t);
}

/* The head of a stored tile: in place, or in the buffer that it is got into. */
static tulle_tile get_stored(const tulle_mat *H, int i, int j, int group, char **to)
{
    const tulle__tile_record *record = record_of(H, i, j);
    void *block = tulle__tile_mapped(H, i, j);
    if (!block && record->place.length) {
        block = *to;
        tulle__get(H->comm, group, &record->place, 0, block, offsets(H, i, j).val);
        *to += offsets(H, i, j).val;
    }
    return tulle__tile_view(H, i, j, record, block);
}

static size_t stored_bytes(const tulle_mat *H, int i, int j)
{
    return tulle__fetch_bytes(H, i, j) ? offsets(H, i, j).val : 0;
}

tulle_status tulle__joined_heads_get(tulle__joined_heads *heads, const tulle_mat *X, int i, int j, int group, char *to)
{
    tulle_status status;
    const tulle_mat *H = X->half;
    struct tulle__joined_head h = {.X = X, .i = i, .j = j, .to = to, .parts = {.diagonal = i == j}};
    if (heads->count == heads->room) {
        const int64_t room = heads->room ? 2 * heads->room : 16;
        TULLE_TRY(tulle__realloc((size_t)room, sizeof *heads->head, "heads of tiles", &heads->head));
        heads->room = room;
    }
    TULLE_TRY(
        tulle__alloc(stored_bytes(H, i, j) + (i == j ? 0 : stored_bytes(H, j, i)), 1, "the head of a tile", &h.room));
    char *at = h.room;
    h.parts.direct = get_stored(H, i, j, group, &at);
    h.parts.mirrored = i == j ? h.parts.direct : get_stored(H, j, i, group, &at);
    heads->head[heads->count++] = h;
out:
    return status;
}

tulle_status tulle__joined_heads_make(tulle__joined_heads *heads, tulle_status status)
{
    for (int64_t n = 0; n < heads->count; n++) {
        struct tulle__joined_head *h = &heads->head[n];
        const tulle_own_tile to = tulle__own_tile_view(h->X, h->i, h->j, record_of(h->X, h->i, h->j), h->to);
        if (status == TULLE_OK) status = tulle__joined_index(&h->parts, &to, source_of(h->X, h->i, h->j, h->to));
        tulle__free(h->room);
    }
    heads->count = 0;
    return status;
}

void tulle__joined_heads_fini(tulle__joined_heads *heads)
{
    (void)tulle__joined_heads_make(heads, TULLE_ERR_STATE);
    tulle__free(heads->head);
    *heads = (tulle__joined_heads){.count = 0};
}

/* ---- needed blocks ---- */

/* A needed block in a stored tile, in values. */
struct block {
    int64_t at, size, e;
};

/* The needed blocks of one of the two stored tiles, and the ranges that hold them. */
struct list {
    int64_t count, runs, values;
    struct block *block;
};

static int compare(const void *left, const void *right)
{
    const struct block *x = left, *y = right;
    return (x->at > y->at) - (x->at < y->at);
}

/* Whether block b of a list begins a range. */
static bool begins(const struct list *l, int64_t b, double gap)
{
    return b == 0 || (double)(l->block[b].at - l->block[b - 1].at - l->block[b - 1].size) > gap;
}

/* The needed blocks that come from the mirrored tile, or the direct one; gap: in values. */
static tulle_status list_blocks(
    const tulle__joined_wish *w, const tulle_tile *head, bool mirrored, double gap, struct list *l)
{
    const int64_t *source = source_of(w->X, w->i, w->j, w->head);
    tulle_status status = tulle__alloc((size_t)head->blocks, sizeof *l->block, "blocks that are needed", &l->block);
    for (int64_t e = 0; status == TULLE_OK && e < head->blocks; e++)
        if (w->needed[e] && (source[e] < 0) == mirrored)
            l->block[l->count++] =
                (struct block){mirrored ? ~source[e] : source[e], head->offset[e + 1] - head->offset[e], e};
    if (status != TULLE_OK) return status;
    if (mirrored) qsort(l->block, (size_t)l->count, sizeof *l->block, compare); /* the direct ones ascend */
    for (int64_t b = 0; b < l->count; b++) {
        l->runs += begins(l, b, gap);
        l->values += l->block[b].size;
        if (!begins(l, b, gap)) l->values += l->block[b].at - l->block[b - 1].at - l->block[b - 1].size;
    }
    return TULLE_OK;
}

/* Gets the ranges of a stored tile to `to`, and says where blocks begin there; in place they are where they are. */
static tulle_status get_values(const tulle__joined_wish *w, int i, int j, const struct list *l, double gap,
    bool mirrored, int64_t *source, tulle__fetch *f, char **to, const void **val)
{
    tulle_status status;
    const tulle_mat *H = w->X->half;
    const size_t size = tulle_type_size(H->type);
    const uint64_t first = offsets(H, i, j).val;
    const char *mapped = tulle__tile_mapped(H, i, j);
    tulle__range *range = NULL;
    int64_t n = 0, at = 0;
    *val = mapped ? mapped + first : *to;
    TULLE_TRY(tulle__alloc((size_t)l->runs, sizeof *range, "a vector get", &range));
    for (int64_t b = 0; b < l->count; b++) {
        const struct block *x = &l->block[b];
        if (!mapped && begins(l, b, gap))
            range[n++] = (tulle__range){first + (uint64_t)x->at * size, *to + (size_t)at * size, 0};
        else if (!mapped)
            at += x->at - x[-1].at - x[-1].size;
        const int64_t place = mapped ? x->at : at;
        source[x->e] = mirrored ? ~place : place;
        at += x->size;
        if (!mapped) range[n - 1].bytes = (size_t)(*to + (size_t)at * size - (char *)range[n - 1].local);
    }
    if (n) {
        if (f->group < 0) f->group = tulle__comm_group(H->comm);
        f->count = tulle__getv(H->comm, f->group, &record_of(H, i, j)->place, (int)n, range).count;
    }
    *to += tulle__joined_padded((size_t)(mapped ? 0 : at) * size);
out:
    tulle__free(range);
    return status;
}

/* Whether all of a stored tile costs less than the ranges. */
static double saved(const tulle__joined_wish *w, int i, int j, const struct list *l)
{
    const tulle_mat *H = w->X->half;
    const double size = (double)tulle_type_size(H->type);
    const int owner = tulle__layout_owner(H->layout, i, j);
    if (!tulle__fetch_bytes(H, i, j)) return 0;
    return w->cost(w->context, owner, (double)record_of(H, i, j)->nnz * size, 1) -
           w->cost(w->context, owner, (double)l->values * size, (double)l->runs);
}

static size_t got_bytes(const tulle_mat *H, int i, int j, const struct list *l)
{
    return tulle__fetch_bytes(H, i, j) ? tulle__joined_padded((size_t)l->values * tulle_type_size(H->type)) : 0;
}

/* The joined tile, with the index of the head and room for the values that come. */
static tulle_status make_room(const tulle__joined_wish *w, const tulle_tile *head, int64_t values, size_t staged,
    tulle__joined_values **made, tulle__fetch *f)
{
    const tulle__blocks_offsets o = offsets(w->X, w->i, w->j);
    const size_t size = tulle_type_size(w->X->type);
    const size_t map =
        tulle__joined_padded(sizeof **made) + tulle__joined_padded((size_t)head->blocks * sizeof(int64_t));
    tulle_status status = tulle__fetch_room(0, NULL, false, f);
    if (status != TULLE_OK) return status;
    tulle__fetch_head *joint = f->head;
    status = tulle__alloc(o.val + (size_t)values * size, 1, "a joined tile", &joint->block);
    if (status == TULLE_OK) status = tulle__alloc(map + staged, 1, "parts of a joined tile", &joint->parts);
    if (status != TULLE_OK) return status;
    memcpy(joint->block, head->rowptr, o.val);
    int64_t *offset = (int64_t *)(void *)((char *)joint->block + o.offset), next = 0;
    for (int64_t e = 0; e < head->blocks; e++) {
        offset[e] = next;
        if (w->needed[e]) next += head->offset[e + 1] - head->offset[e];
    }
    offset[head->blocks] = next;
    *made = joint->parts;
    **made = (tulle__joined_values){.source = (int64_t *)(void *)((char *)*made + tulle__joined_padded(sizeof **made))};
    return TULLE_OK;
}

tulle_status tulle__joined_start(
    const tulle__joined_wish *w, bool *whole, int64_t *blocks, int64_t *bytes, tulle__fetch *fetch)
{
    tulle_status status;
    const tulle_mat *X = w->X, *H = X->half;
    const double size = (double)tulle_type_size(X->type);
    const bool diagonal = w->i == w->j;
    tulle__fetch f = {.A = X, .i = w->i, .j = w->j, .group = -1, .record = *record_of(X, w->i, w->j)};
    const tulle_tile head = tulle__tile_view(X, w->i, w->j, &f.record, w->head);
    struct list direct = {.count = 0}, mirrored = {.count = 0};
    tulle__joined_values *v;
    *blocks = *bytes = 0;
    TULLE_TRY(list_blocks(w, &head, false, w->gap[0] / size, &direct));
    TULLE_TRY(list_blocks(w, &head, true, w->gap[1] / size, &mirrored));
    const double less = saved(w, w->i, w->j, &direct) + saved(w, w->j, w->i, &mirrored);
    *whole = less <= 0 || direct.runs >= INT_MAX || mirrored.runs >= INT_MAX || diagonal;
    if (*whole) goto out;
    int64_t values = 0;
    for (int64_t e = 0; e < head.blocks; e++) {
        const int64_t of_block = head.offset[e + 1] - head.offset[e];
        values += w->needed[e] ? of_block : 0;
        *blocks += !w->needed[e];
    }
    f.record.nnz = values;
    TULLE_TRY(
        make_room(w, &head, values, got_bytes(H, w->i, w->j, &direct) + got_bytes(H, w->j, w->i, &mirrored), &v, &f));
    int64_t *source = (int64_t *)(uintptr_t)v->source;
    for (int64_t e = 0; e < head.blocks; e++) source[e] = TULLE__JOINED_NONE;
    char *to = (char *)source + tulle__joined_padded((size_t)head.blocks * sizeof *source);
    TULLE_TRY(get_values(w, w->i, w->j, &direct, w->gap[0] / size, false, source, &f, &to, &v->direct));
    TULLE_TRY(get_values(w, w->j, w->i, &mirrored, w->gap[1] / size, true, source, &f, &to, &v->mirrored));
    if (tulle__fetch_bytes(H, w->i, w->j)) *bytes += (record_of(H, w->i, w->j)->nnz - direct.values) * (int64_t)size;
    if (tulle__fetch_bytes(H, w->j, w->i)) *bytes += (record_of(H, w->j, w->i)->nnz - mirrored.values) * (int64_t)size;
    *fetch = f;
out:
    tulle__free(direct.block);
    tulle__free(mirrored.block);
    if (status != TULLE_OK) tulle__fetch_fini(&f);
    return status;
}
