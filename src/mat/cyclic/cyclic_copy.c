/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/cyclic/cyclic_copy.h"

#include <string.h>

#include "base/error.h"
#include "mat/context.h"

enum { RANGES = 128 };    /* ranges of one vector transfer */
enum { LINES_EACH = 16 }; /* columns of the array that a thread takes at a time */

struct copy {
    const tulle__cyclic_map *map;
    char *to;         /* the array, if it receives; else NULL */
    const char *from; /* the array, if it sends */
    size_t size;      /* of an element */
    char **mapped;    /* [tiles]: the memory of each tile that this PE reads or writes; NULL: by transfers */
};

void tulle__cyclic_map_fini(tulle__cyclic_map *map)
{
    tulle__spans_fini(&map->rows);
    tulle__spans_fini(&map->cols);
}

static int64_t tile_index(const tulle__cyclic_map *map, int row_tile, int col_tile)
{
    return map->transposed ? tulle__tile_index(map->mat, col_tile, row_tile)
                           : tulle__tile_index(map->mat, row_tile, col_tile);
}

/* The cuts that array rows, or array columns, meet. */
static const tulle_gidx *cuts(const tulle__cyclic_map *map, int of_rows)
{
    const tulle_layout *l = map->mat->layout;
    return of_rows != map->transposed ? l->row_cut : l->col_cut;
}

/* The element of its tile at which a run of rows begins, in a column of the array. */
static int64_t first_in_tile(const tulle__cyclic_map *map, const tulle__span *rows, const tulle__span *cols, int64_t c)
{
    const tulle_gidx *row_cut = cuts(map, 1), *col_cut = cuts(map, 0);
    int64_t ld = row_cut[rows->tile + 1] - row_cut[rows->tile];
    return (cols->at + c - col_cut[cols->tile]) * ld + rows->at - row_cut[rows->tile];
}

/* Columns begin .. end - 1 of those that the runs of columns have together, in tiles that are mapped. */
static void copy_columns(void *arg, int64_t begin, int64_t end)
{
    const struct copy *x = arg;
    const tulle__cyclic_map *map = x->map;
    int64_t before = 0;
    for (int64_t s = 0; s < map->cols.count && before < end; before += map->cols.span[s++].count) {
        const tulle__span *cols = &map->cols.span[s];
        for (int64_t c = begin > before ? begin - before : 0; c < cols->count && before + c < end; c++)
            for (int64_t r = 0; r < map->rows.count; r++) {
                const tulle__span *rows = &map->rows.span[r];
                char *tile = x->mapped[tile_index(map, rows->tile, cols->tile)];
                size_t at = (size_t)(rows->from + (cols->from + c) * map->ld) * x->size;
                if (!tile) continue;
                tile += (size_t)first_in_tile(map, rows, cols, c) * x->size;
                if (x->to)
                    memcpy(x->to + at, tile, (size_t)rows->count * x->size);
                else
                    memcpy(tile, x->from + at, (size_t)rows->count * x->size);
            }
    }
}

/* A list of ranges of one tile that is being filled. */
struct list {
    tulle__range range[RANGES];
    int count;
};

static void send(const struct copy *x, const tulle__place *place, int group, struct list *list)
{
    if (list->count && x->to)
        tulle__getv(x->map->mat->comm, group, place, list->count, list->range);
    else if (list->count)
        tulle__putv(x->map->mat->comm, group, place, list->count, list->range);
    list->count = 0;
}

/* The runs of columns cols, and runs of rows from `first` on up to `last`, which lie in one tile that is not mapped. */
static void transfer(const struct copy *x, const tulle__span *cols, int64_t first, int64_t last, int group)
{
    const tulle__cyclic_map *map = x->map;
    struct list list = {.count = 0};
    const tulle__place *place = &map->mat->directory[tile_index(map, map->rows.span[first].tile, cols->tile)].place;
    for (int64_t c = 0; c < cols->count; c++)
        for (int64_t r = first; r < last; r++) {
            const tulle__span *rows = &map->rows.span[r];
            size_t at = (size_t)(rows->from + (cols->from + c) * map->ld) * x->size;
            /* a put only reads its local end, which a list has no const for */
            char *local = x->to ? x->to + at : (char *)(uintptr_t)(x->from + at);
            list.range[list.count++] = (tulle__range){
                (uint64_t)first_in_tile(map, rows, cols, c) * x->size, local, (size_t)rows->count * x->size};
            if (list.count == RANGES) send(x, place, group, &list);
        }
    send(x, place, group, &list);
}

static tulle_status copy(const tulle__cyclic_map *map, const char *from, char *to)
{
    tulle_status status = TULLE_OK;
    const tulle_mat *A = map->mat;
    tulle__context *context;
    struct copy x = {.map = map, .from = from, .to = to, .size = tulle_type_size(A->type)};
    int group = -1;
    int64_t columns = 0;
    if (!map->rows.count || !map->cols.count) return TULLE_OK;
    TULLE_TRY(tulle__context_get(A->comm, &context));
    TULLE_TRY(
        tulle__alloc_zero((size_t)A->layout->mt * (size_t)A->layout->nt, sizeof *x.mapped, "mapped tiles", &x.mapped));
    for (int64_t s = 0; s < map->cols.count; s++) {
        const tulle__span *cols = &map->cols.span[s];
        columns += cols->count;
        for (int64_t r = 0, next; r < map->rows.count; r = next) {
            int tile = map->rows.span[r].tile;
            int64_t t = tile_index(map, tile, cols->tile);
            for (next = r + 1; next < map->rows.count && map->rows.span[next].tile == tile;) next++;
            if (!x.mapped[t]) x.mapped[t] = tulle__tile_mapped(A, (int)(t / A->layout->nt), (int)(t % A->layout->nt));
            if (x.mapped[t]) continue;
            if (group < 0) group = tulle__comm_group(A->comm);
            transfer(&x, cols, r, next, group);
        }
    }
    tulle__pool_blocks(context->pool, columns, LINES_EACH, copy_columns, &x);
    if (group >= 0) status = tulle__wait(A->comm, group);
out:
    tulle__free(x.mapped);
    return status;
}

tulle_status tulle__cyclic_put(const tulle__cyclic_map *map, const void *array)
{
    return copy(map, array, NULL);
}

tulle_status tulle__cyclic_get(const tulle__cyclic_map *map, void *array)
{
    return copy(map, NULL, array);
}
