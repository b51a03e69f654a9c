/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/excerpt.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { RANGE_BYTES = 64 }; /* a range costs the engine as much as these */

/* Elements at .. at + count - 1 of the tile's arrays become elements to .. of the excerpt's. */
struct piece {
    int64_t at, to, count;
};

struct tulle__excerpt {
    int64_t m, nnz, npieces;
    int64_t *rowptr; /* m + 1, of a sparse one */
    struct piece *piece;
    size_t bytes;
};

tulle_status tulle__rows_named_by(const tulle__csr *A, tulle__rows *rows)
{
    tulle_status status;
    uint64_t *bits = NULL;
    int64_t words = A->n / 64 + 1, nranges = 0;
    *rows = (tulle__rows){0};
    TULLE_TRY(tulle__alloc_zero((size_t)words, sizeof *bits, "columns with entries", &bits));
    for (int64_t a = A->rowptr[0]; a < A->rowptr[A->m]; a++)
        bits[A->colind[a] >> 6] |= (uint64_t)1 << (A->colind[a] & 63);
    /* a range begins where a bit is set and the one before is not */
    for (int64_t w = 0, carry = 0; w < words; w++) {
        nranges += __builtin_popcountll(bits[w] & ~(bits[w] << 1 | (uint64_t)carry));
        carry = (int64_t)(bits[w] >> 63);
    }
    TULLE_TRY(tulle__alloc((size_t)nranges, sizeof *rows->range, "rows that are needed", &rows->range));
    for (int64_t w = 0, end = -1; w < words; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1) {
            int64_t k = 64 * w + __builtin_ctzll(left);
            if (k == end)
                rows->range[rows->nranges - 1].count++;
            else
                rows->range[rows->nranges++] = (struct tulle__row_range){k, 1};
            end = k + 1;
        }
out:
    tulle__free(bits);
    return status;
}

void tulle__rows_fini(tulle__rows *rows)
{
    tulle__free(rows->range);
    *rows = (tulle__rows){0};
}

/* Appends elements, which are next to those of the piece before where rows without any lie between. */
static void append(tulle__excerpt *e, int64_t at, int64_t to, int64_t count)
{
    struct piece *last = e->npieces ? &e->piece[e->npieces - 1] : NULL;
    if (!count) return;
    if (last && last->at + last->count == at && last->to + last->count == to)
        last->count += count;
    else
        e->piece[e->npieces++] = (struct piece){at, to, count};
}

static void cut_dense(tulle__excerpt *e, const tulle__rows *rows, int64_t width, size_t size)
{
    for (int64_t r = 0; r < rows->nranges; r++) {
        int64_t at = rows->range[r].first * width, count = rows->range[r].count * width;
        append(e, at, at, count);
        e->bytes += (size_t)count * size;
    }
}

/* rowptr: the tile's, which become the excerpt's. */
static void cut_sparse(tulle__excerpt *e, const tulle__rows *rows, int64_t *rowptr, size_t size)
{
    int64_t row = 0, nnz = 0, at = rowptr[0]; /* at: where the row of that number began before it was written over */
    for (int64_t r = 0; r < rows->nranges; r++) {
        int64_t first = rows->range[r].first, end = first + rows->range[r].count;
        for (; row < first; row++) {
            at = rowptr[row + 1];
            rowptr[row + 1] = nnz;
        }
        append(e, at, nnz, rowptr[end] - at);
        for (; row < end; row++) {
            int64_t next = rowptr[row + 1];
            nnz += next - at;
            rowptr[row + 1] = nnz;
            at = next;
        }
    }
    for (; row < e->m; row++) rowptr[row + 1] = nnz;
    rowptr[0] = 0;
    e->rowptr = rowptr;
    e->nnz = nnz;
    e->bytes = (size_t)nnz * (sizeof(int32_t) + size);
}

tulle_status tulle__excerpt_new(tulle_mat *B, int i, int j, const tulle__rows *rows, tulle__excerpt **excerpt)
{
    tulle_status status = TULLE_OK;
    const tulle__tile_record *record = &B->directory[tulle__tile_index(B, i, j)];
    size_t whole = tulle__fetch_bytes(B, i, j), size = tulle_type_size(B->type);
    int64_t *rowptr = NULL, m = tulle__tile_rows(B, i);
    tulle__excerpt *e = NULL;
    *excerpt = NULL;
    if (!whole || (B->kind == TULLE_DENSE && B->order != TULLE_ROW_MAJOR) || rows->nranges > INT_MAX / 2)
        return TULLE_OK;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *e, "an excerpt of a tile", &e));
    TULLE_TRY(tulle__alloc((size_t)rows->nranges, sizeof *e->piece, "an excerpt of a tile", &e->piece));
    e->m = m;
    e->nnz = record->nnz;
    if (B->kind == TULLE_DENSE) {
        cut_dense(e, rows, tulle__tile_cols(B, j), size);
    } else {
        int group = tulle__comm_group(B->comm);
        TULLE_TRY(tulle__alloc((size_t)m + 1, sizeof *rowptr, "row pointers of an excerpt", &rowptr));
        tulle__get(B->comm, group, &record->place, 0, rowptr, ((size_t)m + 1) * sizeof *rowptr);
        TULLE_TRY(tulle__wait(B->comm, group));
        cut_sparse(e, rows, rowptr, size);
        rowptr = NULL;
    }
    if (tulle__is_hollow(B->comm)) { /* how much it is will do: nothing is cut out of a tile that is looked at */
        tulle__free(e->rowptr);
        tulle__free(e->piece);
        e->rowptr = NULL;
        e->piece = NULL;
    }
    if ((double)e->bytes + RANGE_BYTES * (double)e->npieces < TULLE__EXCERPT_MOST * (double)whole) {
        *excerpt = e;
        e = NULL;
    }
out:
    tulle__free(rowptr);
    tulle__excerpt_free(e);
    return status;
}

void tulle__excerpt_free(tulle__excerpt *e)
{
    if (!e) return;
    tulle__free(e->rowptr);
    tulle__free(e->piece);
    tulle__free(e);
}

size_t tulle__excerpt_bytes(const tulle__excerpt *e)
{
    return e->bytes;
}

size_t tulle__excerpt_held(const tulle__excerpt *e)
{
    return sizeof *e + (e->piece ? (size_t)e->npieces * sizeof *e->piece : 0) +
           (e->rowptr ? ((size_t)e->m + 1) * sizeof *e->rowptr : 0);
}

tulle_status tulle__excerpt_fetch(tulle_mat *B, int i, int j, const tulle__excerpt *e, tulle__fetch *fetch)
{
    tulle_status status;
    size_t size = tulle_type_size(B->type);
    tulle__tile_record record = B->directory[tulle__tile_index(B, i, j)];
    tulle__csr_offsets from = tulle__csr_offsets_of(e->m, record.nnz, B->type),
                       to = tulle__csr_offsets_of(e->m, e->nnz, B->type);
    tulle__fetch f = {.A = B, .i = i, .j = j, .group = -1, .record = record};
    tulle__range *range = NULL;
    int n = 0;
    f.block = tulle__peek(B->comm, &record.place);
    if (f.block) {
        f.group = tulle__comm_group(B->comm);
        tulle__get(B->comm, f.group, &record.place, 0, NULL, e->bytes);
        *fetch = f;
        return TULLE_OK;
    }
    f.record.nnz = e->nnz;
    TULLE_TRY(tulle__fetch_room(e->rowptr ? to.length : record.place.length, &f));
    TULLE_TRY(tulle__alloc(2 * (size_t)e->npieces, sizeof *range, "a vector get", &range));
    char *block = f.block;
    if (e->rowptr) memcpy(block, e->rowptr, ((size_t)e->m + 1) * sizeof *e->rowptr);
    for (int64_t p = 0; p < e->npieces; p++) {
        const struct piece *piece = &e->piece[p];
        size_t at = (size_t)piece->at, put = (size_t)piece->to, count = (size_t)piece->count;
        if (e->rowptr)
            range[n++] = (tulle__range){
                from.colind + at * sizeof(int32_t), block + to.colind + put * sizeof(int32_t), count * sizeof(int32_t)};
        range[n++] = e->rowptr ? (tulle__range){from.val + at * size, block + to.val + put * size, count * size}
                               : (tulle__range){at * size, block + put * size, count * size};
    }
    if (n) {
        f.group = tulle__comm_group(B->comm);
        tulle__getv(B->comm, f.group, &record.place, n, range);
    }
    *fetch = f;
    f = (tulle__fetch){.group = -1};
out:
    tulle__free(range);
    tulle__fetch_fini(&f);
    return status;
}
