/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/assemble.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "mat/context.h"

/* A staging block: tile_start[tiles of the owner + 1], then rows, columns, values of all its tiles, in tile order. */
struct staged {
    tulle__place place;
    int64_t count;
    uint64_t row_at, col_at, val_at;
};

struct work {
    tulle_comm *comm;
    const tulle_layout *layout;
    tulle_type type;
    size_t value_bytes;
    const tulle__entry_source *source;
    tulle__assembly *assembly;
    int64_t *ordinal;    /* [tiles]: position of a tile among its owner's */
    int64_t *owned;      /* [size]: tiles of each owner */
    int64_t *cursor;     /* [tiles]: entries counted, then the next position */
    char **block;        /* [size]: the staging blocks here */
    struct staged *mine; /* [size]: what I have for each owner */
    struct staged *all;  /* [size * size]: by (from, to) */
    tulle__context *context;
};

static inline int find_part(const tulle_gidx *cut, int parts, tulle_gidx n, tulle_gidx x)
{
    if (parts == 1) return 0;
    int p = (int)((__int128)x * parts / n); /* right at once where cuts are even */
    while (x < cut[p]) p--;
    while (x >= cut[p + 1]) p++;
    return p;
}

struct entry {
    tulle_gidx row, col;
    double val;
};

static inline struct entry read_entry(const tulle__entry_block *b, tulle_type type, int64_t e)
{
    struct entry x;
    x.row = b->wide ? ((const int64_t *)b->row)[e] : ((const int32_t *)b->row)[e];
    x.col = b->wide ? ((const int64_t *)b->col)[e] : ((const int32_t *)b->col)[e];
    x.val = !b->val ? 1.0 : type == TULLE_F32 ? (double)((const float *)b->val)[e] : ((const double *)b->val)[e];
    return x;
}

/* What is done with each entry, mirrored ones included. */
typedef void (*visitor)(struct work *w, const struct entry *x);

static tulle_status each_entry(struct work *w, visitor visit, int release)
{
    const tulle_layout *l = w->layout;
    for (int64_t b = 0; b < w->source->nblocks; b++) {
        tulle__entry_block block;
        w->source->block(w->source->context, b, &block);
        for (int64_t e = 0; e < block.count; e++) {
            struct entry x = read_entry(&block, w->type, e);
            if (x.row < 0 || x.row >= l->m || x.col < 0 || x.col >= l->n)
                return tulle__fail(TULLE_ERR_ARG,
                    "entry (%" PRId64 ", %" PRId64 ") of a matrix of %" PRId64 " x %" PRId64, x.row, x.col, l->m, l->n);
            if (w->assembly->drop_zeros && x.val == 0) continue;
            visit(w, &x);
            if (w->assembly->mirror == TULLE__MIRROR_NONE || x.row == x.col) continue;
            struct entry y = {x.col, x.row, w->assembly->mirror == TULLE__MIRROR_SKEW ? -x.val : x.val};
            visit(w, &y);
        }
        if (release && w->source->release) w->source->release(w->source->context, b);
    }
    return TULLE_OK;
}

static inline int64_t tile_of(const struct work *w, const struct entry *x, int *i, int *j)
{
    const tulle_layout *l = w->layout;
    *i = find_part(l->row_cut, l->mt, l->m, x->row);
    *j = find_part(l->col_cut, l->nt, l->n, x->col);
    return (int64_t)*i * l->nt + *j;
}

static void count_entry(struct work *w, const struct entry *x)
{
    int i, j;
    w->cursor[tile_of(w, x, &i, &j)]++;
}

static void stage_entry(struct work *w, const struct entry *x)
{
    int i, j;
    int64_t tile = tile_of(w, x, &i, &j), at = w->cursor[tile]++;
    int owner = w->layout->owner[tile];
    const struct staged *s = &w->mine[owner];
    char *block = w->block[owner];
    ((int32_t *)(void *)(block + s->row_at))[at] = (int32_t)(x->row - w->layout->row_cut[i]);
    ((int32_t *)(void *)(block + s->col_at))[at] = (int32_t)(x->col - w->layout->col_cut[j]);
    if (w->type == TULLE_F32)
        ((float *)(void *)(block + s->val_at))[at] = (float)x->val;
    else
        ((double *)(void *)(block + s->val_at))[at] = x->val;
}

/* Counts, lays out the staging blocks, fills them. */
static tulle_status stage(struct work *w)
{
    tulle_status status;
    int64_t tiles = (int64_t)w->layout->mt * w->layout->nt;
    TULLE_TRY(each_entry(w, count_entry, 0));
    for (int64_t t = 0; t < tiles; t++) w->mine[w->layout->owner[t]].count += w->cursor[t];
    for (int r = 0; r < w->comm->size; r++) {
        struct staged *s = &w->mine[r];
        if (!s->count) continue;
        s->row_at = ((uint64_t)w->owned[r] + 1) * sizeof(int64_t);
        s->col_at = s->row_at + (uint64_t)s->count * sizeof(int32_t);
        s->val_at = (s->col_at + (uint64_t)s->count * sizeof(int32_t) + 7) / 8 * 8;
        TULLE_TRY(tulle__heap_take(w->comm->pe->data, s->val_at + (uint64_t)s->count * w->value_bytes,
            "entries on their way to their owner", &s->place));
        w->block[r] = tulle__direct(w->comm, &s->place);
        ((int64_t *)(void *)w->block[r])[w->owned[r]] = s->count;
    }
    /* exclusive sums by owner turn counts into positions */
    int64_t *sum;
    TULLE_TRY(tulle__alloc_zero((size_t)w->comm->size, sizeof *sum, "entry counts", &sum));
    for (int64_t t = 0; t < tiles; t++) {
        int owner = w->layout->owner[t];
        int64_t count = w->cursor[t];
        w->cursor[t] = sum[owner];
        if (w->mine[owner].count) ((int64_t *)(void *)w->block[owner])[w->ordinal[t]] = sum[owner];
        sum[owner] += count;
    }
    tulle__free(sum);
    TULLE_TRY(each_entry(w, stage_entry, 1));
out:
    return status;
}

/* Entries of one tile, staged by one PE, as this PE reads them. */
struct piece {
    int64_t count;
    const int32_t *row, *col;
    const char *val;
    void *buffer;
};

static void drop_pieces(struct piece *piece, int n)
{
    for (int r = 0; piece && r < n; r++) {
        tulle__free(piece[r].buffer);
        piece[r] = (struct piece){.count = 0};
    }
}

static tulle_status read_pieces(struct work *w, int64_t tile, struct piece *piece)
{
    tulle_status status = TULLE_OK;
    int size = w->comm->size, me = w->comm->rank, group = tulle__comm_group(w->comm);
    for (int r = 0; r < size; r++) {
        const struct staged *s = &w->all[(int64_t)r * size + me];
        piece[r] = (struct piece){.count = 0};
        if (!s->count) continue;
        const char *block = tulle__direct(w->comm, &s->place);
        int64_t bound[2];
        uint64_t start_at = (uint64_t)w->ordinal[tile] * sizeof(int64_t);
        if (block) {
            memcpy(bound, block + start_at, sizeof bound);
        } else {
            tulle__get(w->comm, group, &s->place, start_at, bound, sizeof bound);
            TULLE_TRY(tulle__wait(w->comm, group));
        }
        uint64_t from = (uint64_t)bound[0], count = (uint64_t)(bound[1] - bound[0]);
        piece[r].count = (int64_t)count;
        uint64_t row_at = s->row_at + from * 4, col_at = s->col_at + from * 4,
                 val_at = s->val_at + from * w->value_bytes;
        if (block) {
            piece[r].row = (const int32_t *)(const void *)(block + row_at);
            piece[r].col = (const int32_t *)(const void *)(block + col_at);
            piece[r].val = block + val_at;
            continue;
        }
        TULLE_TRY(tulle__alloc(count, 8 + w->value_bytes, "entries from their reader", &piece[r].buffer));
        char *buffer = piece[r].buffer; /* values first: they want the wider alignment */
        tulle__range range[3] = {{val_at, buffer, count * w->value_bytes},
            {row_at, buffer + count * w->value_bytes, count * 4},
            {col_at, buffer + count * (w->value_bytes + 4), count * 4}};
        tulle__getv(w->comm, group, &s->place, 3, range);
        piece[r].val = buffer;
        piece[r].row = range[1].local;
        piece[r].col = range[2].local;
        TULLE_TRY(tulle__wait(w->comm, group));
    }
out:
    return status;
}

struct sorting {
    tulle_type type;
    tulle_duplicates duplicates;
    tulle_gidx m;
    int64_t *rowptr; /* starts of rows; rows are compacted towards their start */
    int64_t *length; /* [m] out: entries left in the row */
    int32_t *colind;
    void *val;
    int64_t repeated;
    tulle_gidx first_row, first_col; /* of a duplicate, -1: none */
};

struct pair {
    int32_t col;
    int32_t order;
    double val;
};

static int pair_before(const struct pair *a, const struct pair *b)
{
    return a->col != b->col ? a->col < b->col : a->order < b->order;
}

/* Heap sort: rows may be long, and the order makes it stable. */
static void sort_pairs(struct pair *p, int64_t n)
{
    for (int64_t phase = n / 2 - 1 + n; phase > 0; phase--) {
        int64_t root, end;
        if (phase >= n) {
            root = phase - n;
            end = n;
        } else {
            end = phase;
            struct pair t = p[0];
            p[0] = p[end];
            p[end] = t;
            root = 0;
        }
        struct pair x = p[root];
        for (int64_t child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && pair_before(&p[child], &p[child + 1])) child++;
            if (!pair_before(&x, &p[child])) break;
            p[root] = p[child];
        }
        p[root] = x;
    }
}

static double value_at(const struct sorting *s, int64_t e)
{
    return s->type == TULLE_F32 ? (double)((const float *)s->val)[e] : ((const double *)s->val)[e];
}

static void set_value(struct sorting *s, int64_t e, double x)
{
    if (s->type == TULLE_F32)
        ((float *)s->val)[e] = (float)x;
    else
        ((double *)s->val)[e] = x;
}

/* Sorts rows by column, in file order where equal, and joins duplicates. Rows that ascend already are left alone. */
static tulle_status sort_rows(void *arg, int thread, int nthreads)
{
    struct sorting *s = arg;
    tulle_status status = TULLE_OK;
    struct pair *pair = NULL;
    int64_t room = 0;
    tulle_gidx from = s->m * thread / nthreads, to = s->m * (thread + 1) / nthreads;
    for (tulle_gidx r = from; r < to; r++) {
        int64_t begin = s->rowptr[r], n = s->rowptr[r + 1] - begin, kept = 0;
        int ascends = 1;
        for (int64_t e = 1; e < n && ascends; e++) ascends = s->colind[begin + e - 1] < s->colind[begin + e];
        s->length[r] = n;
        if (ascends) continue;
        if (n > INT32_MAX) {
            status = tulle__fail(TULLE_ERR_OVERFLOW, "a row with %" PRId64 " entries", n);
            goto out;
        }
        if (n > room) {
            room = 2 * n;
            TULLE_TRY(tulle__realloc((size_t)room, sizeof *pair, "a row to sort", &pair));
        }
        for (int64_t e = 0; e < n; e++)
            pair[e] = (struct pair){s->colind[begin + e], (int32_t)e, value_at(s, begin + e)};
        sort_pairs(pair, n);
        for (int64_t e = 0; e < n; e++) {
            if (kept && s->colind[begin + kept - 1] == pair[e].col) {
                int64_t none = -1;
                /* several threads may meet duplicates: any one of the places will do for the message */
                if (__atomic_compare_exchange_n(&s->first_row, &none, r, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    __atomic_store_n(&s->first_col, pair[e].col, __ATOMIC_RELAXED);
                __atomic_fetch_add(&s->repeated, 1, __ATOMIC_RELAXED);
                double before = value_at(s, begin + kept - 1);
                set_value(
                    s, begin + kept - 1, s->duplicates == TULLE_DUPLICATES_LAST ? pair[e].val : before + pair[e].val);
                continue;
            }
            s->colind[begin + kept] = pair[e].col;
            set_value(s, begin + kept++, pair[e].val);
        }
        s->length[r] = kept;
    }
out:
    tulle__free(pair);
    return status;
}

/* Moves rows that lost duplicates together, into a block of the right size. */
static tulle_status compact(tulle_mat *A, int i, int j, const struct sorting *s)
{
    tulle__tile_record old = A->replaced[tulle__tile_index(A, i, j)];
    A->replaced[tulle__tile_index(A, i, j)] = (tulle__tile_record){.nnz = 0};
    tulle_tile tile;
    size_t size = tulle_type_size(s->type);
    tulle_status status = tulle__mat_place(A, i, j, s->rowptr[s->m] - s->repeated, &tile);
    if (status == TULLE_OK) {
        int64_t *rowptr = (int64_t *)(uintptr_t)tile.rowptr, at = 0;
        for (tulle_gidx r = 0; r < s->m; r++) {
            rowptr[r] = at;
            memcpy((int32_t *)(uintptr_t)tile.colind + at, s->colind + s->rowptr[r],
                (size_t)s->length[r] * sizeof(int32_t));
            memcpy((char *)tile.val + (size_t)at * size, (const char *)s->val + (size_t)s->rowptr[r] * size,
                (size_t)s->length[r] * size);
            at += s->length[r];
        }
        rowptr[s->m] = at;
    }
    tulle__heap_give(A->comm->pe->data, &old.place);
    return status;
}

static tulle_status build_tile(struct work *w, tulle_mat *A, int i, int j, struct piece *piece)
{
    tulle_status status;
    int64_t tile_number = tulle__tile_index(A, i, j), nnz = 0;
    tulle_gidx m = tulle__tile_rows(A, i);
    struct sorting s = {.type = w->type, .duplicates = w->assembly->duplicates, .m = m, .first_row = -1};
    TULLE_TRY(read_pieces(w, tile_number, piece));
    for (int r = 0; r < w->comm->size; r++) nnz += piece[r].count;
    if (!nnz) goto out;
    tulle_tile tile;
    TULLE_TRY(tulle__mat_place(A, i, j, nnz, &tile));
    s.rowptr = (int64_t *)(uintptr_t)tile.rowptr;
    s.colind = (int32_t *)(uintptr_t)tile.colind;
    s.val = tile.val;
    TULLE_TRY(tulle__alloc((size_t)m, sizeof *s.length, "row lengths", &s.length));
    memset(s.rowptr, 0, ((size_t)m + 1) * sizeof *s.rowptr);
    for (int r = 0; r < w->comm->size; r++)
        for (int64_t e = 0; e < piece[r].count; e++) s.rowptr[piece[r].row[e] + 1]++;
    for (tulle_gidx r = 0; r < m; r++) {
        s.rowptr[r + 1] += s.rowptr[r];
        s.length[r] = s.rowptr[r]; /* first the cursor of the row */
    }
    for (int r = 0; r < w->comm->size; r++) {
        const struct piece *p = &piece[r];
        for (int64_t e = 0; e < p->count; e++) {
            int64_t at = s.length[p->row[e]]++;
            s.colind[at] = p->col[e];
            if (w->type == TULLE_F32)
                ((float *)s.val)[at] = ((const float *)(const void *)p->val)[e];
            else
                ((double *)s.val)[at] = ((const double *)(const void *)p->val)[e];
        }
    }
    TULLE_TRY(tulle__pool_run(w->context->pool, sort_rows, &s));
    if (s.repeated) {
        if (!w->assembly->repeated) {
            w->assembly->row = s.first_row + A->layout->row_cut[i];
            w->assembly->col = s.first_col + A->layout->col_cut[j];
        }
        w->assembly->repeated += s.repeated;
        if (w->assembly->duplicates == TULLE_DUPLICATES_ERROR) {
            status =
                tulle__fail(TULLE_ERR_FORMAT, "entry (%" PRId64 ", %" PRId64 ") is given more than once (one-based)",
                    w->assembly->row + 1, w->assembly->col + 1);
            goto out;
        }
        TULLE_TRY(compact(A, i, j, &s));
    }
out:
    drop_pieces(piece, w->comm->size);
    tulle__free(s.length);
    return status;
}

static tulle_status prepare(struct work *w)
{
    tulle_status status;
    const tulle_layout *l = w->layout;
    size_t tiles = (size_t)l->mt * (size_t)l->nt, size = (size_t)w->comm->size;
    for (int i = 0; i < l->mt; i++) {
        int32_t rows;
        TULLE_TRY(tulle__narrow(l->row_cut[i + 1] - l->row_cut[i], "the number of rows of a tile", &rows));
    }
    TULLE_TRY(tulle__context_get(w->comm, &w->context));
    TULLE_TRY(tulle__alloc(tiles, sizeof *w->ordinal, "tile numbers", &w->ordinal));
    TULLE_TRY(tulle__alloc_zero(tiles, sizeof *w->cursor, "entry counts", &w->cursor));
    TULLE_TRY(tulle__alloc_zero(size, sizeof *w->owned, "tile counts", &w->owned));
    TULLE_TRY(tulle__alloc_zero(size, sizeof *w->mine, "staging", &w->mine));
    TULLE_TRY(tulle__alloc_zero(size, sizeof *w->block, "staging", &w->block));
    TULLE_TRY(tulle__alloc(size * size, sizeof *w->all, "staging", &w->all));
    for (size_t t = 0; t < tiles; t++) w->ordinal[t] = w->owned[l->owner[t]]++;
out:
    return status;
}

tulle_status tulle__assemble(tulle_comm *comm, const tulle_layout *layout, tulle_type type,
    const tulle__entry_source *source, tulle__assembly *assembly, tulle_mat **out)
{
    tulle_status status;
    struct work w = {.comm = comm,
        .layout = layout,
        .type = type,
        .value_bytes = tulle_type_size(type),
        .source = source,
        .assembly = assembly};
    struct piece *piece = NULL;
    tulle_mat *A = NULL;
    assembly->repeated = 0;
    TULLE_TRY(tulle__mat_make(comm, layout, TULLE_CSR, type, TULLE_ROW_MAJOR, &A));
    TULLE_TRY(prepare(&w));
    TULLE_TRY(tulle__alloc_zero((size_t)comm->size, sizeof *piece, "staging", &piece));
    TULLE_TRY(stage(&w));
    TULLE_TRY(tulle_comm_allgather(comm, w.mine, (size_t)comm->size * sizeof *w.mine, w.all));
    for (int i = 0; i < layout->mt; i++)
        for (int j = 0; j < layout->nt; j++)
            if (tulle__tile_is_mine(A, i, j)) TULLE_TRY(build_tile(&w, A, i, j, piece));
    TULLE_TRY(tulle__mat_publish(A));
out:
    status = tulle_comm_agree(comm, status); /* nobody reads my blocks any more */
    for (int r = 0; w.mine && r < comm->size; r++)
        if (w.mine[r].place.generation) tulle__heap_give(comm->pe->data, &w.mine[r].place);
    tulle__free(w.ordinal);
    tulle__free(w.cursor);
    tulle__free(w.owned);
    tulle__free(w.mine);
    tulle__free(w.all);
    tulle__free(w.block);
    tulle__free(piece);
    if (status == TULLE_OK)
        *out = A;
    else
        tulle__mat_drop(A);
    return status;
}
