/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/supernodal/panels.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { CHUNK = 64 }; /* columns */

static void free_panels(tulle__supernodal_panels *panels)
{
    if (!panels) return;
    tulle__free(panels->block);
    tulle__free(panels->part);
    tulle__free(panels->line);
    tulle__free(panels->val);
    tulle__free(panels->space);
    tulle__free(panels);
}

static size_t bytes_of(const tulle__supernodal_panels *p)
{
    return (size_t)p->block_capacity * sizeof *p->block + (size_t)p->part_capacity * sizeof *p->part +
           (size_t)p->line_capacity * sizeof *p->line + (size_t)p->nval * tulle_type_size(p->type);
}

/* ---- structure ---- */

/* A worker's scratch for the current panel. */
struct building {
    const tulle__triangle *t;
    const tulle__supernodes *s;
    tulle__worker_schedule *schedule;
    tulle__supernodal_panels *p;
    int cursor;
    int32_t panel, low, width; /* its lines low .. low + width - 1 */
    int32_t *mark;             /* [n]: the last panel in which a column, or a supernode, was found */
    int32_t *met, nmet;        /* [n]: the steps, or supernodes, found */
    int32_t *place;            /* [n]: index of a column in its block, or of a supernode among those found */
    int32_t *block;            /* [n] its block */
    int32_t *rows;             /* [n]: rows with entries in a supernode, by its index */
};

static void building_fini(struct building *b)
{
    tulle__free(b->mark);
    tulle__free(b->met);
    tulle__free(b->place);
    tulle__free(b->block);
    tulle__free(b->rows);
}

static tulle_status building_init(struct building *b)
{
    size_t n = (size_t)b->t->n;
    TULLE_CALL(tulle__alloc(n, sizeof *b->mark, "building panels", &b->mark));
    TULLE_CALL(tulle__alloc(n, sizeof *b->met, "building panels", &b->met));
    TULLE_CALL(tulle__alloc(n, sizeof *b->place, "building panels", &b->place));
    TULLE_CALL(tulle__alloc(n, sizeof *b->block, "building panels", &b->block));
    TULLE_CALL(tulle__alloc(n, sizeof *b->rows, "building panels", &b->rows));
    for (size_t c = 0; c < n; c++) b->mark[c] = -1;
    return TULLE_OK;
}

/* In an upper triangle steps and lines count in opposite directions. */
static int32_t flip(const struct building *b, int64_t step)
{
    return (int32_t)(b->t->upper ? b->t->n - 1 - step : step);
}

static void enter_panel(struct building *b, int32_t panel)
{
    const int32_t *cut = b->s->cut;
    b->panel = panel;
    b->width = cut[panel + 1] - cut[panel];
    b->low = b->t->upper ? flip(b, cut[panel + 1] - 1) : cut[panel];
    b->nmet = 0;
}

static int ascending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Row r of the panel. */
static tulle__triangle_span row_of(struct building *b, int32_t r)
{
    return tulle__triangle_at(b->t, b->low + r, &b->cursor);
}

/* Finds the steps, or supernodes, outside the panel in which its rows have entries; ascending. */
static void find_columns(struct building *b)
{
    for (int32_t r = 0; r < b->width; r++) {
        tulle__triangle_span span = row_of(b, r);
        b->schedule->nnz += span.to - span.from;
        for (int64_t e = span.from; e < span.to; e++) {
            int32_t step = flip(b, span.tile->colind[e]), j = b->s->of[step];
            if (j == b->panel) continue;
            if (!b->s->by_columns) j = step;
            if (b->mark[j] == b->panel) continue;
            b->mark[j] = b->panel;
            b->met[b->nmet++] = j;
        }
    }
    qsort(b->met, (size_t)b->nmet, sizeof *b->met, ascending);
}

static tulle_status add_lines(tulle__supernodal_panels *p, int64_t more)
{
    if (p->nlines + more > p->line_capacity) {
        int64_t capacity = 2 * (p->nlines + more) + 256;
        TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *p->line, "lines of panels", &p->line));
        p->line_capacity = capacity;
    }
    p->nlines += more;
    return TULLE_OK;
}

static tulle_status add_block(tulle__supernodal_panels *p, const tulle__panel_block *block)
{
    TULLE_CALL(tulle__grow(p->nblocks, &p->block_capacity, 64, sizeof *p->block, "blocks of panels", &p->block));
    p->block[p->nblocks] = *block;
    p->block[p->nblocks++].val = p->nval;
    p->nval += (int64_t)block->m * block->k;
    if (block->m > p->most) p->most = block->m;
    if (block->k > p->most) p->most = block->k;
    return TULLE_OK;
}

/*
 * Combines the panel's blocks from `first` on to a part; the last one of the panel includes its
 * triangle.
 */
static tulle_status add_part(struct building *b, int64_t *first, int *begins, int last)
{
    tulle__supernodal_panels *p = b->p;
    tulle__row_block group = {.at = b->t->upper ? b->low + b->width - 1 : b->low, .count = last ? b->width : 0};
    if (!last && *first == p->nblocks) return TULLE_OK; /* nothing precedes this wait */
    TULLE_CALL(tulle__grow(p->nparts, &p->part_capacity, 64, sizeof *p->part, "parts of panels", &p->part));
    TULLE_CALL(tulle__worker_schedule_add(b->schedule, &group));
    p->part[p->nparts++] = (tulle__panel_part){.first = *first,
        .last = p->nblocks,
        .triangle = last ? p->nval : -1,
        .line = b->low,
        .width = b->width,
        .begins = *begins};
    if (last) p->nval += (int64_t)b->width * b->width;
    *first = p->nblocks;
    *begins = 0;
    return TULLE_OK;
}

/* Requirement of the panel from a supernode; true if it must wait for it. */
static int needs(struct building *b, int32_t j)
{
    if (b->s->owner[j] != b->schedule->worker)
        tulle__worker_schedule_needs(b->schedule, b->s->owner[j], b->s->after[j]);
    return tulle__worker_schedule_must_wait(b->schedule);
}

/* Omits the list of lines at `at` if they are consecutive. */
static int64_t shorten(tulle__supernodal_panels *p, int64_t at)
{
    if (p->line[p->nlines - 1] - p->line[at] + 1 != p->nlines - at) return at;
    p->nlines = at;
    return -1;
}

/*
 * All rows of the panel, columns found from .. to - 1: lines ascend in either direction of steps.
 */
static tulle_status gather_block(struct building *b, int32_t from, int32_t to)
{
    tulle__supernodal_panels *p = b->p;
    int64_t at = p->nlines;
    TULLE_CALL(add_lines(p, to - from));
    for (int32_t k = 0; k < to - from; k++) p->line[at + k] = flip(b, b->met[b->t->upper ? to - 1 - k : from + k]);
    tulle__panel_block block = {.m = b->width, .k = to - from, .rows = -1, .row = b->low, .col = p->line[at]};
    block.cols = shorten(p, at);
    return add_block(p, &block);
}

/*
 * Blocks of whole supernodes, of at least CHUNK columns: cut independently of the workers, so that
 * sums do not depend on them.
 */
static tulle_status gather_rows(struct building *b, int64_t *first, int *begins)
{
    for (int32_t from = 0, to; from < b->nmet; from = to) {
        int32_t j = -1;
        int waits = 0;
        for (to = from; to < b->nmet; to++) {
            int32_t next = b->s->of[b->met[to]];
            if (next == j) continue;
            if (to - from >= CHUNK) break;
            j = next;
            waits |= needs(b, j);
        }
        if (waits) TULLE_CALL(add_part(b, first, begins, 0));
        TULLE_CALL(tulle__worker_schedule_wait(b->schedule));
        TULLE_CALL(gather_block(b, from, to));
    }
    return TULLE_OK;
}

/* For each supernode found, the rows of the panel with entries there: their number, or the list. */
static void note_rows(struct building *b, int32_t *line, int32_t *next)
{
    for (int32_t r = 0; r < b->width; r++) {
        tulle__triangle_span span = row_of(b, r);
        int32_t last = b->panel;
        for (int64_t e = span.from; e < span.to; e++) {
            int32_t j = b->s->of[flip(b, span.tile->colind[e])];
            if (j == last || j == b->panel) continue;
            last = j;
            if (line)
                line[next[b->place[j]]++] = b->low + r;
            else
                next[b->place[j]]++;
        }
    }
}

/* A block for each supernode found: all its columns, and the rows with entries there. */
static tulle_status scatter_columns(struct building *b, int64_t *first, int *begins)
{
    tulle__supernodal_panels *p = b->p;
    TULLE__SCOPED int32_t *list = NULL;
    int32_t total = 0, at = 0;
    for (int32_t k = 0; k < b->nmet; k++) {
        b->place[b->met[k]] = k;
        b->rows[k] = 0;
    }
    note_rows(b, NULL, b->rows);
    for (int32_t k = 0; k < b->nmet; k++) {
        int32_t count = b->rows[k];
        b->rows[k] = total;
        total += count;
    }
    TULLE_CALL(tulle__alloc((size_t)total, sizeof *list, "rows of a panel", &list));
    note_rows(b, list, b->rows); /* each begins where the previous one ends */
    for (int32_t k = 0; k < b->nmet; k++) {
        int32_t j = b->met[k], count = b->rows[k] - at, width = b->s->cut[j + 1] - b->s->cut[j];
        if (needs(b, j)) TULLE_CALL(add_part(b, first, begins, 0));
        TULLE_CALL(tulle__worker_schedule_wait(b->schedule));
        tulle__panel_block block = {.m = count, .k = width, .cols = -1, .row = list[at], .rows = p->nlines};
        block.col = b->t->upper ? flip(b, b->s->cut[j + 1] - 1) : b->s->cut[j];
        TULLE_CALL(add_lines(p, count));
        memcpy(p->line + block.rows, list + at, (size_t)count * sizeof *list);
        block.rows = shorten(p, block.rows);
        TULLE_CALL(add_block(p, &block));
        at = b->rows[k];
    }
    return TULLE_OK;
}

static tulle_status lay_out(struct building *b)
{
    for (int32_t panel = 0; panel < b->s->count; panel++) {
        int64_t first = b->p->nblocks;
        int begins = 1;
        if (b->s->owner[panel] != b->schedule->worker) continue;
        enter_panel(b, panel);
        find_columns(b);
        TULLE_CALL(b->s->by_columns ? scatter_columns(b, &first, &begins) : gather_rows(b, &first, &begins));
        TULLE_CALL(add_part(b, &first, &begins, 1));
    }
    return TULLE_OK;
}

/* ---- values ---- */

static void put(const tulle__supernodal_panels *p, int64_t at, const tulle_tile *tile, int64_t e)
{
    if (p->type == TULLE_F32)
        ((float *)p->val)[at] = ((const float *)tile->val)[e];
    else
        ((double *)p->val)[at] = ((const double *)tile->val)[e];
}

/*
 * The positions of the columns of the panel's blocks; by columns, the block of each supernode, with
 * no row found yet.
 */
static void find_places(struct building *b, int64_t first, int64_t last)
{
    const tulle__supernodal_panels *p = b->p;
    for (int64_t k = first; k < last; k++) {
        const tulle__panel_block *block = &p->block[k];
        if (b->s->by_columns) {
            int32_t j = b->s->of[flip(b, block->col)];
            b->block[j] = (int32_t)(k - first);
            b->rows[j] = -1;
            continue;
        }
        for (int32_t c = 0; c < block->k; c++) {
            int32_t line = block->cols < 0 ? block->col + c : p->line[block->cols + c];
            b->block[line] = (int32_t)(k - first);
            b->place[line] = c;
        }
    }
}

static void fill_row(struct building *b, int64_t first, int64_t triangle, int32_t r)
{
    const tulle__supernodal_panels *p = b->p;
    const tulle__triangle *t = b->t;
    tulle__triangle_span span = row_of(b, r);
    int32_t last = b->panel;
    for (int64_t e = span.from; e < span.to; e++) {
        int32_t col = span.tile->colind[e], j = b->s->of[flip(b, col)];
        if (j == b->panel) {
            put(p, triangle + (int64_t)r * b->width + col - b->low, span.tile, e);
        } else if (b->s->by_columns) {
            const tulle__panel_block *block = &p->block[first + b->block[j]];
            if (j != last) b->rows[j]++;
            last = j;
            put(p, block->val + (int64_t)b->rows[j] * block->k + col - block->col, span.tile, e);
        } else {
            const tulle__panel_block *block = &p->block[first + b->block[col]];
            put(p, block->val + (int64_t)r * block->k + b->place[col], span.tile, e);
        }
    }
    if (!t->unit) put(p, triangle + (int64_t)r * b->width + r, span.tile, t->upper ? span.from - 1 : span.to);
}

static void fill(struct building *b)
{
    tulle__supernodal_panels *p = b->p;
    memset(p->val, 0, (size_t)p->nval * tulle_type_size(p->type));
    for (int64_t g = 0, first = 0; g < p->nparts; g++) {
        const tulle__panel_part *part = &p->part[g];
        if (part->begins) first = part->first;
        if (part->triangle < 0) continue;
        enter_panel(b, b->s->of[b->t->upper ? flip(b, part->line) : part->line]);
        find_places(b, first, part->last);
        for (int32_t r = 0; r < b->width; r++) fill_row(b, first, part->triangle, r);
    }
}

static tulle_status refill(tulle__worker_schedule *schedule, const tulle__triangle *t)
{
    struct building b = {.t = t, .s = schedule->panels->supernodes, .schedule = schedule, .p = schedule->panels};
    tulle_status status = building_init(&b);
    if (status == TULLE_OK) fill(&b);
    building_fini(&b);
    return status;
}

static const tulle__panel_ops panel_ops = {.solve = tulle__panels_solve,
    .values = tulle__panels_values,
    .refill = refill,
    .bytes = bytes_of,
    .free = free_panels};

tulle_status tulle__panels_schedule(const tulle__triangle *t, const tulle__supernodes *supernodes, int worker,
    int workers, tulle__worker_schedule *schedule)
{
    tulle_status status;
    struct building b = {.t = t, .s = supernodes, .schedule = schedule};
    size_t size = tulle_type_size(t->T->type);
    TULLE_TRY(tulle__worker_schedule_begin(schedule, worker, workers));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *schedule->panels, "panels", &schedule->panels));
    schedule->dense = &panel_ops;
    b.p = schedule->panels;
    b.p->supernodes = supernodes;
    b.p->type = t->T->type;
    b.p->upper = t->upper;
    b.p->unit = t->unit;
    TULLE_TRY(building_init(&b));
    TULLE_TRY(lay_out(&b));
    TULLE_TRY(tulle__alloc((size_t)b.p->nval, size, "values of panels", &b.p->val));
    TULLE_TRY(tulle__alloc(2 * (size_t)b.p->most * TULLE__PANEL_COLUMNS, size, "lines of panels", &b.p->space));
    fill(&b);
out:
    building_fini(&b);
    tulle__worker_schedule_end(schedule);
    return status;
}
