/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/assemble.h"

#include <inttypes.h>
#include <string.h>

#include "base/attend.h"
#include "base/error.h"
#include "mat/compressed.h"
#include "mat/context.h"
#include "mat/sort_tile.h"
#include "tile/element.h"

/*
 * The staging blocks of one PE for one owner: where the owner's tiles begin, then rows, columns and
 * values in tile order.
 */
enum part { INDEX, ROWS, COLS, VALS, PARTS };

struct staged {
    tulle__place place[PARTS];
    int64_t count;
};

/* The same blocks, as the PE that fills them writes them. */
struct outbox {
    int64_t *start; /* [tiles of the owner + 1] */
    int32_t *row, *col;
    void *val;
};

/* The same blocks, as their owner reads them. */
struct inbox {
    const int64_t *start; /* NULL: the PE has no entries for this one */
    int64_t *fetched;
    const char *block[PARTS]; /* NULL: not mapped */
};

struct work {
    tulle_comm *comm;
    const tulle_layout *layout;
    const tulle__compressed *axes; /* of a hypersparse matrix, whose inner one is assembled; NULL: none */
    tulle_gidx m, n;               /* of the matrix that the entries are of */
    double row_parts, col_parts;   /* tiles per row and per column, for find_part */
    tulle__numbers lines[2];       /* rows and columns, while they are collected */
    tulle_status collected;        /* the first failure of that */
    tulle_type type;
    size_t value_bytes;
    const tulle__entry_source *source;
    tulle__assembly *assembly;
    int64_t *ordinal;      /* [tiles]: index of a tile among its owner's tiles */
    int64_t *owned;        /* [size]: number of tiles of each owner */
    int64_t *cursor;       /* [tiles]: entries counted, then the next position */
    struct outbox *outbox; /* [size] */
    struct inbox *inbox;   /* [size] */
    struct staged *mine;   /* [size]: the blocks staged by this PE, by owner */
    struct staged *theirs; /* [size]: the blocks staged for this PE, by their PE */
    char *buffer;          /* one run of entries from a PE that is not mapped */
    tulle__context *context;
};

static inline int find_part(const tulle_gidx *cut, int parts, double parts_each, tulle_gidx x)
{
    if (parts == 1) return 0;
    int p = (int)((double)x * parts_each); /* exact for even cuts, up to rounding */
    if (p >= parts) p = parts - 1;
    while (x < cut[p]) p--;
    while (x >= cut[p + 1]) p++;
    return p;
}

enum { RUN = 1 << 16 }; /* entries fetched or placed at a time */

struct entry {
    tulle_gidx row, col;
    double val;
};

static inline struct entry read_entry(const tulle__entry_block *b, tulle_type type, int64_t e)
{
    struct entry x;
    x.row = b->wide ? ((const int64_t *)b->row)[e] : ((const int32_t *)b->row)[e];
    x.col = b->wide ? ((const int64_t *)b->col)[e] : ((const int32_t *)b->col)[e];
    x.val = !b->val ? 1.0 : tulle__element(type, b->val, e);
    return x;
}

static inline int64_t tile_of(const struct work *w, const struct entry *x, int *i, int *j)
{
    const tulle_layout *l = w->layout;
    *i = find_part(l->row_cut, l->mt, w->row_parts, x->row);
    *j = find_part(l->col_cut, l->nt, w->col_parts, x->col);
    return (int64_t)*i * l->nt + *j;
}

static inline void count_entry(struct work *w, const struct entry *x)
{
    int i, j;
    w->cursor[tile_of(w, x, &i, &j)]++;
}

static inline void stage_entry(struct work *w, const struct entry *x)
{
    int i, j;
    int64_t tile = tile_of(w, x, &i, &j), at = w->cursor[tile]++;
    const struct outbox *out = &w->outbox[w->layout->owner[tile]];
    out->row[at] = (int32_t)(x->row - w->layout->row_cut[i]);
    out->col[at] = (int32_t)(x->col - w->layout->col_cut[j]);
    tulle__element_set(w->type, out->val, at, x->val);
}

/* Called for each entry of a block, mirrored entries included. */
typedef void visitor(struct work *w, const struct entry *x);

static inline __attribute__((always_inline)) void visit_entry(struct work *w, struct entry x, visitor visit)
{
    if (w->axes) {
        x.row = tulle__axis_find(&w->axes->rows, x.row);
        x.col = tulle__axis_find(&w->axes->cols, x.col);
    }
    visit(w, &x);
}

/* Inlined together with its visitor: this loop touches every entry. */
static inline __attribute__((always_inline)) tulle_status each_entry(
    struct work *w, const tulle__entry_block *block, visitor visit)
{
    const tulle__mirror mirror = w->assembly->mirror;
    const int drop_zeros = w->assembly->drop_zeros;
    for (int64_t e = 0; e < block->count; e++) {
        if (e % RUN == 0) {
            TULLE_CALL(tulle__attend());
        }
        struct entry x = read_entry(block, w->type, e);
        if (x.row < 0 || x.row >= w->m || x.col < 0 || x.col >= w->n)
            return tulle__fail(TULLE_ERR_ARG,
                "entry (" TULLE__AT ", " TULLE__AT ") of a matrix of %" PRId64 " x %" PRId64 TULLE__COUNTED, x.row,
                x.col, w->m, w->n);
        if (drop_zeros && x.val == 0) continue;
        visit_entry(w, x, visit);
        if (mirror == TULLE__MIRROR_NONE || x.row == x.col) continue;
        visit_entry(w, (struct entry){x.col, x.row, mirror == TULLE__MIRROR_SKEW ? -x.val : x.val}, visit);
    }
    return TULLE_OK;
}

static inline __attribute__((always_inline)) tulle_status each_block(struct work *w, visitor visit)
{
    for (int64_t b = 0; b < w->source->nblocks; b++) {
        tulle__entry_block block;
        w->source->block(w->source->context, b, &block);
        TULLE_CALL(each_entry(w, &block, visit));
    }
    return TULLE_OK;
}

static tulle_status count_entries(struct work *w)
{
    return each_block(w, count_entry);
}

static size_t part_bytes(const struct work *w, int part)
{
    return part == VALS ? w->value_bytes : sizeof(int32_t);
}

/* Commits the pages of the staging blocks up to `done` of `total` entries. */
static tulle_status commit_staging(struct work *w, int64_t done, int64_t total)
{
    for (int r = 0; r < w->comm->size; r++)
        for (int part = ROWS; part < PARTS; part++) {
            const tulle__place *place = &w->mine[r].place[part];
            if (!place->generation) continue;
            size_t bytes = (size_t)((unsigned __int128)place->length * (uint64_t)done / (uint64_t)total);
            TULLE_CALL(tulle__heap_commit(w->comm->pe->data, place, bytes, "staged entries of other PEs"));
        }
    return TULLE_OK;
}

/* The source releases its blocks while the staging blocks fill. */
static tulle_status copy_entries(struct work *w, int64_t total)
{
    int64_t done = 0;
    for (int64_t b = 0; b < w->source->nblocks; b++) {
        tulle__entry_block block;
        w->source->block(w->source->context, b, &block);
        done += w->assembly->mirror == TULLE__MIRROR_NONE ? block.count : 2 * block.count; /* upper bound */
        if (total) TULLE_CALL(commit_staging(w, done < total ? done : total, total));
        TULLE_CALL(each_entry(w, &block, stage_entry));
        if (w->source->release) w->source->release(w->source->context, b);
    }
    return TULLE_OK;
}

static tulle_status reserve_staging(struct work *w, int r)
{
    struct staged *s = &w->mine[r];
    tulle__heap *heap = w->comm->pe->data;
    size_t count = (size_t)s->count, index = ((size_t)w->owned[r] + 1) * sizeof(int64_t);
    TULLE_CALL(tulle__heap_take(heap, index, "index of staged entries", &s->place[INDEX]));
    for (int part = ROWS; part < PARTS; part++)
        TULLE_CALL(
            tulle__heap_reserve(heap, count * part_bytes(w, part), 0, "staged entries of other PEs", &s->place[part]));
    w->outbox[r] = (struct outbox){.start = tulle__mapped(w->comm, &s->place[INDEX]),
        .row = tulle__mapped(w->comm, &s->place[ROWS]),
        .col = tulle__mapped(w->comm, &s->place[COLS]),
        .val = tulle__mapped(w->comm, &s->place[VALS])};
    return TULLE_OK;
}

/* Exclusive sums by owner turn the counts of tiles into positions. */
static tulle_status index_staging(struct work *w)
{
    int64_t *sum;
    TULLE_CALL(tulle__alloc_zero((size_t)w->comm->size, sizeof *sum, "entry counts", &sum));
    for (int64_t t = 0; t < (int64_t)w->layout->mt * w->layout->nt; t++) {
        int owner = w->layout->owner[t];
        int64_t count = w->cursor[t];
        w->cursor[t] = sum[owner];
        if (w->mine[owner].count) w->outbox[owner].start[w->ordinal[t]] = sum[owner];
        sum[owner] += count;
    }
    for (int r = 0; r < w->comm->size; r++)
        if (sum[r]) w->outbox[r].start[w->owned[r]] = sum[r];
    tulle__free(sum);
    return TULLE_OK;
}

/* Counts the entries, allocates the staging blocks and fills them. */
static tulle_status stage(struct work *w)
{
    int64_t total = 0;
    TULLE_CALL(count_entries(w));
    for (int64_t t = 0; t < (int64_t)w->layout->mt * w->layout->nt; t++) {
        w->mine[w->layout->owner[t]].count += w->cursor[t];
        total += w->cursor[t];
    }
    for (int r = 0; r < w->comm->size; r++)
        if (w->mine[r].count) TULLE_CALL(reserve_staging(w, r));
    TULLE_CALL(index_staging(w));
    return copy_entries(w, total);
}

/*
 * Frees one part of the staging blocks together with its pages: it is as large as the matrix. No PE
 * may still read it.
 */
static void discard_part(struct work *w, int part)
{
    for (int r = 0; w->mine && r < w->comm->size; r++) {
        tulle__place *place = &w->mine[r].place[part];
        if (place->generation) tulle__heap_discard(w->comm->pe->data, place);
        *place = (tulle__place){.generation = 0};
    }
}

/* Fetches the record of the blocks that PE r has staged for this PE. */
static tulle_status open_inbox(struct work *w, int r)
{
    const struct staged *s = &w->theirs[r];
    struct inbox *in = &w->inbox[r];
    if (!s->count) return TULLE_OK;
    for (int part = ROWS; part < PARTS; part++) in->block[part] = tulle__mapped(w->comm, &s->place[part]);
    in->start = tulle__mapped(w->comm, &s->place[INDEX]);
    if (in->start) return TULLE_OK;
    int group = tulle__comm_group(w->comm);
    size_t bytes = s->place[INDEX].length;
    TULLE_CALL(tulle__alloc(bytes, 1, "index of staged entries", &in->fetched));
    tulle__get(w->comm, group, &s->place[INDEX], 0, in->fetched, bytes);
    in->start = in->fetched;
    TULLE_CALL(tulle__wait(w->comm, group));
    if (!w->buffer) TULLE_CALL(tulle__alloc(RUN, sizeof(int32_t) + 8, "entries staged by another PE", &w->buffer));
    return TULLE_OK;
}

/*
 * A run of entries of one tile, staged by one PE, in their order: the rows, and either columns or
 * values.
 */
struct run {
    int64_t count;
    const int32_t *row;
    const void *other;
};

/*
 * Reads entries from .. from + count - 1 of the blocks that PE r has staged for this PE. part is
 * COLS, VALS, or ROWS for rows only.
 */
static tulle_status read_run(struct work *w, int r, int part, int64_t from, int64_t count, struct run *run)
{
    const struct staged *s = &w->theirs[r];
    const char *const *block = w->inbox[r].block;
    size_t size = part_bytes(w, part), at = (size_t)from;
    *run = (struct run){.count = count};
    if (block[ROWS]) {
        run->row = (const int32_t *)(const void *)(block[ROWS] + at * sizeof(int32_t));
        run->other = block[part] + at * size;
        return TULLE_OK;
    }
    int group = tulle__comm_group(w->comm);
    char *rows = w->buffer + (size_t)RUN * 8; /* columns or values come first: their alignment is wider */
    tulle__get(w->comm, group, &s->place[ROWS], at * sizeof(int32_t), rows, (size_t)count * sizeof(int32_t));
    if (part != ROWS) tulle__get(w->comm, group, &s->place[part], at * size, w->buffer, (size_t)count * size);
    run->row = (const int32_t *)(const void *)rows;
    run->other = w->buffer;
    return tulle__wait(w->comm, group);
}

/* Passes all runs of the k-th own tile to `use`, in the order of the PEs. */
static tulle_status each_run(struct work *w, int64_t k, int part,
    void (*use)(const struct run *run, const tulle_own_tile *tile), const tulle_own_tile *tile)
{
    for (int r = 0; r < w->comm->size; r++) {
        const struct inbox *in = &w->inbox[r];
        if (!in->start) continue;
        for (int64_t from = in->start[k], end = in->start[k + 1], n; from < end; from += n) {
            struct run run;
            n = end - from < RUN ? end - from : RUN;
            TULLE_CALL(tulle__attend());
            TULLE_CALL(read_run(w, r, part, from, n, &run));
            use(&run, tile);
        }
    }
    return TULLE_OK;
}

static void count_rows(const struct run *run, const tulle_own_tile *tile)
{
    int64_t *rowptr = tile->rowptr;
    for (int64_t e = 0; e < run->count; e++) rowptr[run->row[e]]++;
}

/*
 * Placing an entry advances the start of its row. Afterwards each start is that of the next row;
 * rewind_rows restores them.
 */
static void place_columns(const struct run *run, const tulle_own_tile *tile)
{
    int64_t *cursor = tile->rowptr;
    int32_t *colind = tile->colind;
    const int32_t *col = run->other;
    for (int64_t e = 0; e < run->count; e++) colind[cursor[run->row[e]]++] = col[e];
}

static void place_values(const struct run *run, const tulle_own_tile *tile)
{
    int64_t *cursor = tile->rowptr;
    if (tile->type == TULLE_F32) {
        const float *val = run->other;
        for (int64_t e = 0; e < run->count; e++) ((float *)tile->val)[cursor[run->row[e]]++] = val[e];
    } else {
        const double *val = run->other;
        for (int64_t e = 0; e < run->count; e++) ((double *)tile->val)[cursor[run->row[e]]++] = val[e];
    }
}

static void rewind_rows(const tulle_own_tile *tile)
{
    int64_t *rowptr = tile->rowptr;
    memmove(rowptr + 1, rowptr, (size_t)tile->m * sizeof *rowptr);
    rowptr[0] = 0;
}

static tulle_status build_structure(struct work *w, tulle_mat *A, int i, int j)
{
    int64_t k = w->ordinal[tulle__tile_index(A, i, j)], nnz = 0;
    tulle_own_tile tile;
    for (int r = 0; r < w->comm->size; r++)
        if (w->inbox[r].start) nnz += w->inbox[r].start[k + 1] - w->inbox[r].start[k];
    if (!nnz) return TULLE_OK;
    TULLE_CALL(tulle__mat_reserve(A, i, j, nnz, &tile));
    int64_t *rowptr = tile.rowptr, sum = 0;
    memset(rowptr, 0, ((size_t)tile.m + 1) * sizeof *rowptr);
    TULLE_CALL(each_run(w, k, ROWS, count_rows, &tile));
    for (tulle_gidx r = 0; r <= tile.m; r++) {
        int64_t count = rowptr[r];
        rowptr[r] = sum;
        sum += count;
    }
    TULLE_CALL(each_run(w, k, COLS, place_columns, &tile));
    rewind_rows(&tile);
    return TULLE_OK;
}

/* Returns the view of an own tile that has been placed; 0: the tile is empty. */
static int placed_tile(tulle_mat *A, int i, int j, tulle_own_tile *tile)
{
    const tulle__tile_record *record = &A->replaced[tulle__tile_index(A, i, j)];
    if (!record->place.generation) return 0;
    *tile = tulle__own_tile_view(A, i, j, record, tulle__mapped(A->comm, &record->place));
    return 1;
}

static tulle_status build_values(struct work *w, tulle_mat *A, int i, int j)
{
    tulle_own_tile tile;
    if (!placed_tile(A, i, j, &tile)) return TULLE_OK;
    tulle_status status = tulle__mat_commit(A, i, j);
    if (status == TULLE_OK) status = each_run(w, w->ordinal[tulle__tile_index(A, i, j)], VALS, place_values, &tile);
    rewind_rows(&tile);
    return status;
}

static tulle_status finish_tile(struct work *w, tulle_mat *A, int i, int j)
{
    tulle_own_tile tile;
    if (!placed_tile(A, i, j, &tile)) return TULLE_OK;
    return tulle__tile_sort(A, i, j, &tile, w->context->pool, w->assembly);
}

static tulle_status each_own_tile(
    struct work *w, tulle_mat *A, tulle_status (*act)(struct work *w, tulle_mat *A, int i, int j))
{
    for (int i = 0; i < A->layout->mt; i++)
        for (int j = 0; j < A->layout->nt; j++) {
            TULLE_CALL(tulle__tile_is_mine(A, i, j) ? act(w, A, i, j) : TULLE_OK);
        }
    return TULLE_OK;
}

/*
 * The staging blocks are freed in two steps, so that they and the finished tiles never exist
 * together in full.
 */
static tulle_status build_tiles(struct work *w, tulle_mat *A)
{
    for (int r = 0; r < w->comm->size; r++) TULLE_CALL(open_inbox(w, r));
    TULLE_CALL(each_own_tile(w, A, build_structure));
    TULLE_CALL(tulle_comm_barrier(w->comm)); /* no PE reads the staged columns any more */
    discard_part(w, COLS);
    TULLE_CALL(each_own_tile(w, A, build_values));
    TULLE_CALL(tulle_comm_barrier(w->comm));
    discard_part(w, ROWS);
    discard_part(w, VALS);
    return each_own_tile(w, A, finish_tile);
}

static tulle_status prepare(struct work *w)
{
    const tulle_layout *l = w->layout;
    size_t tiles = (size_t)l->mt * (size_t)l->nt, size = (size_t)w->comm->size;
    for (int i = 0; i < l->mt; i++) {
        int32_t rows;
        TULLE_CALL(tulle__narrow(l->row_cut[i + 1] - l->row_cut[i], "the number of rows of a tile", &rows));
    }
    TULLE_CALL(tulle__context_get(w->comm, &w->context));
    TULLE_CALL(tulle__alloc(tiles, sizeof *w->ordinal, "tile numbers", &w->ordinal));
    TULLE_CALL(tulle__alloc_zero(tiles, sizeof *w->cursor, "entry counts", &w->cursor));
    TULLE_CALL(tulle__alloc_zero(size, sizeof *w->owned, "tile counts", &w->owned));
    TULLE_CALL(tulle__alloc_zero(size, sizeof *w->mine, "staging", &w->mine));
    TULLE_CALL(tulle__alloc_zero(size, sizeof *w->outbox, "staging", &w->outbox));
    TULLE_CALL(tulle__alloc_zero(size, sizeof *w->inbox, "staging", &w->inbox));
    TULLE_CALL(tulle__alloc(size, sizeof *w->theirs, "staging", &w->theirs));
    for (size_t t = 0; t < tiles; t++) w->ordinal[t] = w->owned[l->owner[t]]++;
    return TULLE_OK;
}

static void release(struct work *w)
{
    for (int part = 0; part < PARTS; part++) discard_part(w, part);
    for (int r = 0; w->inbox && r < w->comm->size; r++) tulle__free(w->inbox[r].fetched);
    tulle__free(w->ordinal);
    tulle__free(w->cursor);
    tulle__free(w->owned);
    tulle__free(w->mine);
    tulle__free(w->theirs);
    tulle__free(w->outbox);
    tulle__free(w->inbox);
    tulle__free(w->buffer);
}

static struct work work_of(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle__entry_source *source, tulle__assembly *assembly)
{
    return (struct work){.comm = comm,
        .layout = layout,
        .m = layout->m,
        .n = layout->n,
        .row_parts = (double)layout->mt / (double)layout->m,
        .col_parts = (double)layout->nt / (double)layout->n,
        .type = type,
        .value_bytes = tulle_type_size(type),
        .source = source,
        .assembly = assembly};
}

/* Collective, agreed. */
static tulle_status assemble(struct work *w, tulle_mat **out)
{
    tulle_status status;
    tulle_mat *A = NULL;
    w->assembly->repeated = 0;
    TULLE_TRY(tulle__mat_make(w->comm, w->layout, TULLE_CSR, w->type, TULLE_ROW_MAJOR, &A));
    TULLE_TRY(prepare(w));
    TULLE_TRY(stage(w));
    TULLE_TRY(tulle__comm_exchange(w->comm, w->mine, sizeof *w->mine, w->theirs));
    TULLE_TRY(build_tiles(w, A));
    TULLE_TRY(tulle__mat_publish(A));
out:
    status = tulle_comm_agree(w->comm, status); /* no PE reads the staging blocks any more */
    release(w);
    return tulle__mat_or_drop(status, A, out);
}

/* ---- hypersparse matrices: lines that have entries get positions, then the inner matrix is assembled ---- */

static inline void collect_entry(struct work *w, const struct entry *x)
{
    if (w->collected == TULLE_OK) w->collected = tulle__numbers_add(&w->lines[0], x->row);
    if (w->collected == TULLE_OK) w->collected = tulle__numbers_add(&w->lines[1], x->col);
}

static tulle_status collect_lines(struct work *w)
{
    TULLE_CALL(each_block(w, collect_entry));
    return w->collected;
}

/* The axes of the lines that have entries. Collective, agreed. */
static tulle_status find_axes(const struct work *whole, tulle__compressed *parts)
{
    struct work w = *whole;
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(w.comm, collect_lines(&w)));
    TULLE_TRY(tulle__axis_join(w.comm, &w.lines[0], &parts->rows));
    TULLE_TRY(tulle__axis_join(w.comm, &w.lines[1], &parts->cols));
out:
    tulle__numbers_fini(&w.lines[0]);
    tulle__numbers_fini(&w.lines[1]);
    return status;
}

/* Collective, agreed. */
static tulle_status assemble_inner(const struct work *whole, const tulle_layout *inner, tulle__compressed *parts)
{
    struct work w = work_of(whole->comm, inner, whole->type, whole->source, whole->assembly);
    w.m = whole->m;
    w.n = whole->n;
    w.axes = parts;
    const tulle_status status = assemble(&w, &parts->inner);
    if (status != TULLE_ERR_FORMAT || !w.assembly->repeated) return status;
    w.assembly->row = parts->rows.number[w.assembly->row]; /* its place in the whole matrix */
    w.assembly->col = parts->cols.number[w.assembly->col];
    return tulle__fail_repeated(w.assembly);
}

static tulle_status assemble_compressed(const struct work *w, tulle_mat **out)
{
    TULLE__SCOPED_LAYOUT tulle_layout *inner = NULL;
    TULLE__SCOPED_BY(tulle__compressed_drop) tulle__compressed parts = {.inner = NULL};
    TULLE_CALL(find_axes(w, &parts));
    TULLE_CALL(tulle_comm_agree(w->comm, tulle__compressed_layout(w->layout, &parts.rows, &parts.cols, &inner)));
    TULLE_CALL(assemble_inner(w, inner, &parts));
    return tulle__compressed_finish(w->comm, w->layout, w->type, TULLE_OK, &parts, out);
}

tulle_status tulle__assemble(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle__entry_source *source, tulle__assembly *assembly, tulle_mat **out)
{
    struct work w = work_of(comm, layout, type, source, assembly);
    int64_t entries = 0;
    if (!assembly->compress || !tulle__compressed_may(layout)) return assemble(&w, out);
    for (int64_t b = 0; b < source->nblocks; b++) {
        tulle__entry_block block;
        source->block(source->context, b, &block);
        entries += assembly->mirror == TULLE__MIRROR_NONE ? block.count : 2 * block.count;
    }
    TULLE_CALL(tulle_comm_agree(comm, tulle_comm_reduce_int(comm, TULLE_SUM, 1, &entries)));
    return tulle__compressed_pays(layout, entries) ? assemble_compressed(&w, out) : assemble(&w, out);
}
