/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/triangle.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/attend.h"
#include "base/error.h"
#include "tile/element.h"

/*
 * Partitions the rows of A into parts of about equal numbers of entries, which are assigned to PEs
 * cyclically, in the order of solving.
 */
static tulle_status partition_rows(tulle__triangle *t, const tulle_mat *A, tulle_layout **layout)
{
    tulle_status status;
    tulle_gidx *cut = NULL;
    int64_t *nnz = NULL;
    int pes = A->comm->size, parts, *owner = NULL;
    status = tulle__alloc((size_t)A->layout->m, sizeof *nnz, "entries of rows", &nnz);
    TULLE_TRY(tulle_comm_agree(A->comm, status));
    TULLE_TRY(tulle_mat_row_nnz(A, nnz));
    for (tulle_gidx r = 0; r < A->layout->m; r++) nnz[r]++; /* an empty row is work too */
    if (t->partition && !t->tasks) TULLE_TRY(t->partition->choose(A, t->upper, nnz, &t->tasks));
    parts = pes * (t->partition ? t->tasks : 1);
    status = tulle__alloc((size_t)parts + 1, sizeof *cut, "row cuts", &cut);
    if (status == TULLE_OK) status = tulle__alloc((size_t)parts, sizeof *owner, "owners", &owner);
    TULLE_TRY(tulle_comm_agree(A->comm, status));
    if (t->partition && t->partition->even)
        tulle_cuts_even(A->layout->m, parts, cut);
    else
        tulle_cuts_weighted(A->layout->m, nnz, parts, cut);
    for (int p = 0; p < parts; p++) owner[p] = (t->upper ? parts - 1 - p : p) % pes;
    tulle_layout_spec spec = {
        .m = A->layout->m, .n = A->layout->n, .tile_rows = parts, .tile_cols = 1, .row_cut = cut, .owner = owner};
    TULLE_TRY(tulle_comm_agree(A->comm, tulle_layout_new(&spec, pes, layout)));
out:
    tulle__free(nnz);
    tulle__free(owner);
    tulle__free(cut);
    return status;
}

static tulle_status gather(tulle_gidx m, tulle_gidx n, tulle_layout **layout)
{
    static const int first = 0;
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    return tulle_layout_new(&spec, INT32_MAX, layout);
}

tulle_status tulle__triangle_rhs_layout(const tulle__triangle *t, tulle_gidx cols, tulle_layout **layout)
{
    if (!t->distributed) return gather(t->n, cols, layout);
    tulle_layout_spec spec = {.m = t->n,
        .n = cols,
        .tile_rows = t->distributed->mt,
        .tile_cols = 1,
        .row_cut = t->distributed->row_cut,
        .owner = t->distributed->owner};
    return tulle_layout_new(&spec, t->T->comm->size, layout);
}

/*
 * True if its rows have the required layout. Equal parts are only known later; a new partition is
 * made then.
 */
static int suits(const tulle__triangle *t, const tulle_mat *A)
{
    if (t->reach == TULLE__ROWS_ALL) return A->layout->nt == 1;
    return t->reach == TULLE__ROWS_GATHERED && A->layout->mt == 1 && A->layout->nt == 1 && A->layout->owner[0] == 0;
}

/* Replaces *made, or else *A, by a matrix made of it. */
static void replace(tulle_mat *by, const tulle_mat **A, tulle_mat **made)
{
    tulle_mat_free(*made);
    *made = by;
    *A = by;
}

/* op(T) by rows, without a diagonal that only some of them store; with its previous layout, if it had one. */
static tulle_status make_rows(tulle__triangle *t, tulle_mat **rows)
{
    const tulle_mat *A = t->T;
    tulle_mat *made = NULL, *next = NULL;
    tulle_layout *layout = NULL;
    tulle_status status = TULLE_OK;
    if (t->strips) {
        TULLE_TRY(tulle_mat_triangle(A, t->options->uplo, TULLE_DIAG_UNIT, &next));
        replace(next, &A, &made);
    }
    if (t->options->op == TULLE_OP_T) {
        TULLE_TRY(tulle_mat_transpose(A, &next));
        replace(next, &A, &made);
    }
    if (made && suits(t, made)) {
        *rows = made;
        return TULLE_OK;
    }
    if (t->distributed)
        status = tulle_mat_redistribute(A, t->distributed, rows);
    else {
        if (t->reach == TULLE__ROWS_GATHERED)
            status = tulle_comm_agree(A->comm, gather(t->n, t->n, &layout));
        else
            status = partition_rows(t, A, &layout);
        if (status == TULLE_OK) status = tulle_mat_redistribute(A, layout, rows);
        if (status == TULLE_OK && t->partition) {
            t->distributed = layout;
            layout = NULL;
        }
    }
out:
    tulle_mat_free(made);
    tulle_layout_free(layout);
    return status;
}

/* True if every PE reads all memory of every other: the same answer on all PEs. */
static tulle_status read_each_other(tulle_comm *comm, int *direct)
{
    int64_t all = 1;
    tulle__link *link = comm->pe->link;
    for (int r = 0; r < comm->size; r++)
        for (int segment = 0; segment < TULLE__SEGMENTS; segment++)
            if (!link->ops->mapped(link, tulle__comm_world(comm, r), segment)) all = 0;
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_MIN, 1, &all);
    *direct = all != 0;
    return status;
}

/* 0: by the model. */
static int tasks_of(const tulle__partition *partition, const tulle_trisolve_options *options)
{
    if (partition->fixed) return partition->tasks;
    return options->tasks ? options->tasks : partition->choose ? 0 : partition->tasks;
}

/* Tiles of T, or of rows made of it. Collective. */
static tulle_status place_rows(tulle__triangle *t)
{
    if (t->options->op == TULLE_OP_T || t->strips || !suits(t, t->T)) TULLE_CALL(make_rows(t, &t->own));
    const tulle_mat *rows = t->own ? t->own : t->T;
    t->ntiles = rows->layout->mt;
    t->cut = rows->layout->row_cut;
    TULLE_CALL(tulle_comm_agree(t->T->comm, tulle__alloc_zero((size_t)t->ntiles, sizeof *t->tile, "tiles", &t->tile)));
    for (int i = 0; i < t->ntiles; i++)
        if (t->reach == TULLE__ROWS_ALL || tulle__tile_is_mine(rows, i, 0))
            t->tile[i] = tulle__tile_in_place(rows, i, 0);
    return TULLE_OK;
}

tulle_status tulle__triangle_init(
    const tulle_mat *T, const tulle_trisolve_options *options, const tulle__partition *partition, tulle__triangle *t)
{
    int direct;
    *t = (tulle__triangle){
        .T = T, .options = options, .partition = partition, .n = T->layout->m, .structure = T->structure};
    if (partition) t->tasks = tasks_of(partition, options);
    t->upper = (options->uplo == TULLE_UPPER) != (options->op == TULLE_OP_T);
    t->unit = options->diag == TULLE_DIAG_UNIT;
    TULLE_CALL(read_each_other(T->comm, &direct));
    t->reach = partition ? TULLE__ROWS_OWN : direct ? TULLE__ROWS_ALL : TULLE__ROWS_GATHERED;
    return place_rows(t);
}

void tulle__triangle_fini(tulle__triangle *t)
{
    tulle_layout_free(t->distributed);
    tulle__free(t->tile);
    t->distributed = NULL;
    t->tile = NULL;
}

/* Defects of a row. */
enum fault { SOUND, OTHER_TRIANGLE, NO_PIVOT, ZERO_PIVOT, TINY_PIVOT };

static tulle_status refuse(const tulle__triangle *t, tulle_gidx row, enum fault fault)
{
    int upper = t->options->uplo == TULLE_UPPER;
    const char *const what[] = {[NO_PIVOT] = "has no entry on the diagonal",
        [ZERO_PIVOT] = "has a pivot of 0",
        [TINY_PIVOT] = "has a pivot so small that its inverse is beyond the type",
        [OTHER_TRIANGLE] = upper ? "has an entry below the diagonal, but the triangle should be upper"
                                 : "has an entry above the diagonal, but the triangle should be lower"};
    return tulle__fail(TULLE_ERR_ARG, "%s " TULLE__AT " %s", t->options->op == TULLE_OP_T ? "column" : "row",
        (int64_t)row, what[fault]);
}

/* Methods multiply by inverses. Those of pivots up to these are infinite, and nan times a right-hand side of 0. */
static const double largest_tiny = 0x1p-1024;
static const float largest_tiny_f32 = 0x1p-128f;

static enum fault inspect_pivot(const tulle_tile *tile, int64_t e)
{
    const double pivot = tulle__tile_element(tile, e),
                 tiny = tile->type == TULLE_F32 ? (double)largest_tiny_f32 : largest_tiny;
    return pivot == 0 ? ZERO_PIVOT : fabs(pivot) <= tiny ? TINY_PIVOT : SOUND;
}

/* *stored: whether the row has a pivot. */
static enum fault inspect_row(
    const tulle__triangle *t, const tulle_tile *tile, tulle_gidx local, tulle_gidx row, int *stored)
{
    int64_t from = tile->nnz ? tile->rowptr[local] : 0, to = tile->nnz ? tile->rowptr[local + 1] : 0;
    int64_t near = t->upper ? from : to - 1; /* the entry nearest to the other triangle */
    *stored = from < to && tile->colind[near] == row;
    if (from < to && (t->upper ? tile->colind[near] < row : tile->colind[near] > row)) return OTHER_TRIANGLE;
    if (t->unit) return SOUND;
    return *stored ? inspect_pivot(tile, near) : NO_PIVOT;
}

/* True if none of rows from .. to - 1 of a non-empty tile is empty. */
static int none_is_empty(const tulle_tile *tile, tulle_gidx from, tulle_gidx to)
{
    int empty = 0;
    for (tulle_gidx r = from; r < to; r++) empty |= tile->rowptr[r] == tile->rowptr[r + 1];
    return !empty;
}

/*
 * True if rows from .. to - 1 of a non-empty tile, the first of them being row `row`, are valid and
 * store their pivots; by loops without branches.
 */
static int all_store(const tulle__triangle *t, const tulle_tile *tile, tulle_gidx from, tulle_gidx to, tulle_gidx row)
{
    const int64_t *near = tile->rowptr + (t->upper ? 0 : 1), back = t->upper ? 0 : 1;
    const double *f64 = tile->val;
    const float *f32 = tile->val;
    int bad = 0;
    if (!none_is_empty(tile, from, to)) return 0;
    for (tulle_gidx r = from; r < to; r++) bad |= tile->colind[near[r] - back] != row + (r - from);
    if (t->unit) return !bad;
    if (tile->type == TULLE_F32)
        for (tulle_gidx r = from; r < to; r++) bad |= fabsf(f32[near[r] - back]) <= largest_tiny_f32;
    else
        for (tulle_gidx r = from; r < to; r++) bad |= fabs(f64[near[r] - back]) <= largest_tiny;
    return !bad;
}

/* The number of the first invalid own row; and whether any row has a pivot, or lacks one. */
static tulle_gidx validate_rows(const tulle__triangle *t, enum fault *fault, int64_t pivots[2])
{
    const tulle_mat *rows = t->own ? t->own : t->T;
    int64_t passed = 0;
    for (int i = 0; i < t->ntiles; i++) {
        if (!tulle__tile_is_mine(rows, i, 0)) continue;
        if (t->tile[i].nnz && all_store(t, &t->tile[i], 0, t->cut[i + 1] - t->cut[i], t->cut[i])) {
            pivots[0] = 1;
            continue;
        }
        for (tulle_gidx r = 0; r < t->cut[i + 1] - t->cut[i]; r++) {
            int stored;
            (void)tulle__attend_each(1024, &passed); /* an interruption is met by the operation */
            *fault = inspect_row(t, &t->tile[i], r, t->cut[i] + r, &stored);
            if (*fault != SOUND) return t->cut[i] + r;
            pivots[!stored] = 1;
        }
    }
    return INT64_MAX;
}

/* Rows anew, without the diagonal of ones that some of them store. Collective. */
static tulle_status strip(tulle__triangle *t)
{
    tulle_mat_free(t->own);
    tulle__free(t->tile);
    t->own = NULL;
    t->tile = NULL;
    t->strips = 1;
    return place_rows(t);
}

tulle_status tulle__triangle_validate(tulle__triangle *t)
{
    enum fault fault = SOUND;
    int64_t pivots[2] = {0, 0};
    tulle_gidx mine = validate_rows(t, &fault, pivots);
    int64_t first = mine;
    tulle_status status = tulle_comm_reduce_int(t->T->comm, TULLE_MIN, 1, &first);
    if (status == TULLE_OK) status = tulle_comm_reduce_int(t->T->comm, TULLE_MAX, 2, pivots);
    if (status == TULLE_OK && first == mine && fault != SOUND) status = refuse(t, mine, fault);
    TULLE_CALL(tulle_comm_agree(t->T->comm, status));
    const int mixed = pivots[0] && pivots[1]; /* of ones: any other diagonal is whole */
    t->head = pivots[0] && !mixed && t->upper;
    t->tail = pivots[0] && !mixed && !t->upper;
    return mixed ? strip(t) : TULLE_OK;
}

void tulle__triangle_skip_validation(tulle__triangle *t)
{
    int stored = 0, i = 0;
    while (i < t->ntiles && !t->tile[i].m) i++; /* PEs may have no rows */
    if (i < t->ntiles) inspect_row(t, &t->tile[i], 0, t->cut[i], &stored);
    t->head = stored && t->upper;
    t->tail = stored && !t->upper;
}

/*
 * `count` rows from one on, in the order of solving, if they are in one non-empty tile: [*from,
 * *from + count) of it, which begins with row *row.
 */
static const tulle_tile *tile_of(
    const tulle__triangle *t, tulle_gidx *row, int64_t count, tulle_gidx *from, int *cursor)
{
    tulle__triangle_span at = tulle__triangle_at(t, *row, cursor);
    *from = t->upper ? at.local - count + 1 : at.local;
    if (t->upper) *row -= count - 1;
    return *from >= 0 && *from + count <= t->cut[*cursor + 1] - t->cut[*cursor] && at.tile->nnz ? at.tile : NULL;
}

tulle_status tulle__triangle_check_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor)
{
    tulle_gidx first = row, from;
    if (!t->head && !t->tail) return tulle__triangle_validate_rows(t, row, count, cursor);
    const tulle_tile *tile = tile_of(t, &first, count, &from, cursor);
    if (tile && none_is_empty(tile, from, from + count)) return TULLE_OK;
    return tulle__triangle_validate_rows(t, row, count, cursor);
}

tulle_status tulle__triangle_validate_rows(const tulle__triangle *t, tulle_gidx row, int64_t count, int *cursor)
{
    tulle_gidx first = row, from;
    int expected = t->head || t->tail;
    const tulle_tile *tile = expected ? tile_of(t, &first, count, &from, cursor) : NULL;
    if (tile && all_store(t, tile, from, from + count, first)) return TULLE_OK;
    for (int64_t k = 0; k < count; k++) {
        int stored;
        tulle_gidx r = t->upper ? row - k : row + k;
        tulle__triangle_span span = tulle__triangle_at(t, r, cursor);
        enum fault fault = inspect_row(t, span.tile, span.local, r, &stored);
        if (fault != SOUND) return refuse(t, r, fault);
        if (stored != expected) return refuse(t, 0, NO_PIVOT); /* the row by which the others were judged */
    }
    return TULLE_OK;
}

tulle_status tulle__triangle_renew(tulle__triangle *t)
{
    tulle_mat *rows = NULL;
    if (!t->own) return TULLE_OK; /* they are validated in place */
    TULLE_CALL(make_rows(t, &rows));
    for (int i = 0; i < t->ntiles; i++) {
        tulle_tile from;
        if (!tulle__tile_is_mine(rows, i, 0) || !t->tile[i].nnz) continue;
        from = tulle__tile_in_place(rows, i, 0);
        memcpy(tulle__own_tile_in_place(t->own, i, 0).val, from.val, (size_t)from.nnz * tulle_type_size(from.type));
    }
    tulle_mat_free(rows);
    return TULLE_OK;
}

tulle__triangle_span tulle__triangle_at(const tulle__triangle *t, tulle_gidx row, int *cursor)
{
    int i = *cursor;
    while (row >= t->cut[i + 1]) i++;
    while (row < t->cut[i]) i--;
    *cursor = i;
    tulle__triangle_span span = {.tile = &t->tile[i], .local = row - t->cut[i]};
    if (!span.tile->nnz) return span;
    span.from = span.tile->rowptr[span.local] + t->head;
    span.to = span.tile->rowptr[span.local + 1] - t->tail;
    return span;
}
