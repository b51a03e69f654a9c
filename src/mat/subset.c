/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/subset.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "mat/view.h"

/* Elements at .. at + count - 1 of the tile's arrays become elements to .. of the subset's. */
struct run {
    int64_t at, to, count;
};

struct tulle__subset {
    int64_t m, nnz, nruns;
    int sparse;
    int64_t *rowptr; /* [m + 1], sparse only */
    struct run *run;
    size_t bytes;
};

void tulle__bits_named_by(const tulle__csr *A, uint64_t *bits)
{
    for (int64_t a = A->rowptr[0]; a < A->rowptr[A->m]; a++)
        bits[A->colind[a] >> 6] |= (uint64_t)1 << (A->colind[a] & 63);
}

tulle_status tulle__row_set_of_bits(const uint64_t *bits, int64_t words, tulle__row_set *rows)
{
    int64_t nranges = 0;
    *rows = (tulle__row_set){0};
    /* a range begins at a set bit after a clear one */
    for (int64_t w = 0, carry = 0; w < words; w++) {
        nranges += __builtin_popcountll(bits[w] & ~(bits[w] << 1 | (uint64_t)carry));
        carry = (int64_t)(bits[w] >> 63);
    }
    TULLE_CALL(tulle__alloc((size_t)nranges, sizeof *rows->range, "required rows", &rows->range));
    for (int64_t w = 0, end = -1; w < words; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1) {
            int64_t k = 64 * w + __builtin_ctzll(left);
            if (k == end)
                rows->range[rows->nranges - 1].count++;
            else
                rows->range[rows->nranges++] = (struct tulle__row_interval){k, 1};
            end = k + 1;
        }
    return TULLE_OK;
}

tulle_status tulle__row_set_named_by_tile(const tulle_tile *A, tulle__row_set *rows)
{
    uint64_t *bits;
    int64_t words = A->n / 64 + 1;
    *rows = (tulle__row_set){0};
    TULLE_CALL(tulle__alloc_zero((size_t)words, sizeof *bits, "columns with entries", &bits));
    tulle__tile_format_of(A->kind)->names(A, bits);
    tulle_status status = tulle__row_set_of_bits(bits, words, rows);
    tulle__free(bits);
    return status;
}

tulle_status tulle__row_set_named_by(const tulle__csr *A, tulle__row_set *rows)
{
    uint64_t *bits;
    int64_t words = A->n / 64 + 1;
    *rows = (tulle__row_set){0};
    TULLE_CALL(tulle__alloc_zero((size_t)words, sizeof *bits, "columns with entries", &bits));
    tulle__bits_named_by(A, bits);
    tulle_status status = tulle__row_set_of_bits(bits, words, rows);
    tulle__free(bits);
    return status;
}

void tulle__row_set_fini(tulle__row_set *rows)
{
    tulle__free(rows->range);
    *rows = (tulle__row_set){0};
}

/* Appends a run of elements; extends the last one if only empty rows lie between. */
static void append(tulle__subset *e, int64_t at, int64_t to, int64_t count)
{
    struct run *last = e->nruns ? &e->run[e->nruns - 1] : NULL;
    if (!count) return;
    if (last && last->at + last->count == at && last->to + last->count == to)
        last->count += count;
    else
        e->run[e->nruns++] = (struct run){at, to, count};
}

/*
 * spot: of a tile whose rows may be farther apart than their width; each row is then a run of its
 * own.
 */
static void cut_dense(tulle__subset *e, const tulle__row_set *rows, const tulle__spot *spot, int64_t width, size_t size)
{
    for (int64_t r = 0; r < rows->nranges; r++) {
        int64_t first = rows->range[r].first, end = first + rows->range[r].count;
        int64_t step = spot->ld == width ? rows->range[r].count : 1;
        for (int64_t row = first; row < end; row += step)
            append(e, spot->first + row * spot->ld, row * width, step * width);
        e->bytes += (size_t)((end - first) * width) * size;
    }
}

static tulle__spot spot_of(const tulle_mat *B, int i, int j)
{
    if (B->whole) return tulle__view_spot(B, i, j);
    return (tulle__spot){.place = B->directory[tulle__tile_index(B, i, j)].place, .ld = tulle__tile_cols(B, j)};
}

/* An upper bound on the number of runs. */
static int64_t runs_of(const tulle__row_set *rows, int apart)
{
    int64_t runs = 0;
    for (int64_t r = 0; r < rows->nranges; r++) runs += apart ? rows->range[r].count : 1;
    return runs;
}

static void cut_sparse(tulle__subset *e, const tulle__row_set *rows, const int64_t *rowptr, size_t size)
{
    int64_t row = 0, nnz = 0;
    for (int64_t r = 0; r < rows->nranges; r++) {
        int64_t first = rows->range[r].first, end = first + rows->range[r].count;
        for (; row < first; row++) e->rowptr[row + 1] = nnz;
        append(e, rowptr[first], nnz, rowptr[end] - rowptr[first]);
        for (; row < end; row++) {
            nnz += rowptr[row + 1] - rowptr[row];
            e->rowptr[row + 1] = nnz;
        }
    }
    for (; row < e->m; row++) e->rowptr[row + 1] = nnz;
    e->rowptr[0] = 0;
    e->nnz = nnz;
    e->bytes = (size_t)nnz * (sizeof(int32_t) + size);
}

tulle_status tulle__rowptr_read(const tulle_mat *B, int i, int j, int64_t **rowptr)
{
    size_t rows = (size_t)tulle__tile_rows(B, i) + 1;
    int group = tulle__comm_group(B->comm);
    int64_t *read;
    TULLE_CALL(tulle__alloc(rows, sizeof *read, "row pointers of a tile", &read));
    tulle__get(B->comm, group, &B->directory[tulle__tile_index(B, i, j)].place, 0, read, rows * sizeof *read);
    tulle_status status = tulle__wait(B->comm, group);
    if (status == TULLE_OK)
        *rowptr = read;
    else
        tulle__free(read);
    return status;
}

int tulle__subset_possible(const tulle_mat *B, int i, int j)
{
    return tulle__fetch_bytes(B, i, j) && !B->format->in_blocks &&
           (B->kind == TULLE_CSR || B->order == TULLE_ROW_MAJOR) && tulle__tile_rows(B, i) < INT_MAX / 2;
}

tulle_status tulle__subset_new(
    const tulle_mat *B, int i, int j, const tulle__row_set *rows, const int64_t *rowptr, tulle__subset **subset)
{
    tulle_status status;
    size_t size = tulle_type_size(B->type);
    tulle__subset *e = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *e, "a row subset of a tile", &e));
    tulle__spot spot = spot_of(B, i, j);
    int64_t runs = runs_of(rows, B->kind == TULLE_DENSE && spot.ld != tulle__tile_cols(B, j));
    TULLE_TRY(tulle__alloc((size_t)runs, sizeof *e->run, "a row subset of a tile", &e->run));
    e->m = tulle__tile_rows(B, i);
    e->sparse = B->kind == TULLE_CSR;
    e->nnz = B->directory[tulle__tile_index(B, i, j)].nnz;
    if (B->kind == TULLE_DENSE) {
        cut_dense(e, rows, &spot, tulle__tile_cols(B, j), size);
    } else {
        TULLE_TRY(tulle__alloc((size_t)e->m + 1, sizeof *e->rowptr, "row pointers of a row subset", &e->rowptr));
        cut_sparse(e, rows, rowptr, size);
        if (tulle__is_shape_only(B->comm)) { /* sizes are enough: a shape-only tile is never cut */
            tulle__free(e->rowptr);
            tulle__free(e->run);
            e->rowptr = NULL;
            e->run = NULL;
        }
    }
    *subset = e;
    return TULLE_OK;
out:
    tulle__subset_free(e);
    return status;
}

void tulle__subset_free(tulle__subset *e)
{
    if (!e) return;
    tulle__free(e->rowptr);
    tulle__free(e->run);
    tulle__free(e);
}

size_t tulle__subset_bytes(const tulle__subset *e)
{
    return e->bytes;
}

int64_t tulle__subset_ranges(const tulle__subset *e)
{
    return e->sparse ? 2 * e->nruns : e->nruns;
}

size_t tulle__subset_held(const tulle__subset *e)
{
    return sizeof *e + (e->run ? (size_t)e->nruns * sizeof *e->run : 0) +
           (e->rowptr ? ((size_t)e->m + 1) * sizeof *e->rowptr : 0);
}

size_t tulle__subset_workspace(const tulle_mat *B, int i, int j, const tulle__subset *e)
{
    if (!e->rowptr) return B->directory[tulle__tile_index(B, i, j)].place.length;
    return tulle__csr_offsets_of(e->m, e->nnz, B->type).length;
}

int64_t tulle__subset_entries(const tulle__subset *e)
{
    return e->nnz;
}

tulle_status tulle__subset_start(
    const tulle_mat *B, int i, int j, const tulle__subset *e, void *to_block, tulle__transfer *transfer)
{
    size_t size = tulle_type_size(B->type);
    const tulle__tile_record *record = &B->directory[tulle__tile_index(B, i, j)];
    tulle__csr_offsets from = tulle__csr_offsets_of(e->m, record->nnz, B->type),
                       to = tulle__csr_offsets_of(e->m, e->nnz, B->type);
    tulle__range *range;
    char *block = to_block;
    int n = 0;
    *transfer = (tulle__transfer){.group = -1};
    TULLE_CALL(tulle__alloc(2 * (size_t)e->nruns, sizeof *range, "a vector get", &range));
    if (e->rowptr) memcpy(block, e->rowptr, ((size_t)e->m + 1) * sizeof *e->rowptr);
    for (int64_t p = 0; p < e->nruns; p++) {
        const struct run *run = &e->run[p];
        size_t at = (size_t)run->at, put = (size_t)run->to, count = (size_t)run->count;
        if (e->rowptr)
            range[n++] = (tulle__range){
                from.colind + at * sizeof(int32_t), block + to.colind + put * sizeof(int32_t), count * sizeof(int32_t)};
        range[n++] = e->rowptr ? (tulle__range){from.val + at * size, block + to.val + put * size, count * size}
                               : (tulle__range){at * size, block + put * size, count * size};
    }
    if (n) {
        tulle__spot spot = spot_of(B, i, j);
        *transfer = tulle__getv(B->comm, tulle__comm_group(B->comm), &spot.place, n, range);
    }
    tulle__free(range);
    return TULLE_OK;
}

/* Shape-only: a vector get with as many ranges and bytes, which moves nothing. */
static tulle_status start_shape_only(
    const tulle_mat *B, const tulle__place *place, const tulle__subset *e, tulle__transfer *transfer)
{
    int n = (int)tulle__subset_ranges(e);
    tulle__range *range;
    *transfer = (tulle__transfer){.group = -1};
    if (!n) return TULLE_OK;
    TULLE_CALL(tulle__alloc_zero((size_t)n, sizeof *range, "a vector get", &range));
    range->bytes = e->bytes;
    *transfer = tulle__getv(B->comm, tulle__comm_group(B->comm), place, n, range);
    tulle__free(range);
    return TULLE_OK;
}

tulle_status tulle__subset_fetch(
    const tulle_mat *B, int i, int j, const tulle__subset *e, tulle__receiver *receiver, tulle__fetch *fetch)
{
    tulle__fetch f = {.A = B, .i = i, .j = j, .group = -1, .record = B->directory[tulle__tile_index(B, i, j)]};
    tulle__transfer transfer = {.group = -1};
    tulle_status status = TULLE_OK;
    f.block = tulle__peek(B->comm, &f.record.place);
    if (f.block) {
        status = start_shape_only(B, &f.record.place, e, &transfer);
    } else {
        f.record.nnz = e->nnz;
        status = tulle__fetch_buffer(tulle__subset_workspace(B, i, j, e), receiver, false, &f);
        if (status == TULLE_OK) status = tulle__subset_start(B, i, j, e, f.block, &transfer);
    }
    f.group = transfer.group;
    f.count = transfer.count;
    if (status == TULLE_OK)
        *fetch = f;
    else
        tulle__fetch_fini(&f);
    return status;
}
