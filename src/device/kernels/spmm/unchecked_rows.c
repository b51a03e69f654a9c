/* SPDX-License-Identifier: Apache-2.0 */
#include "device/kernels/spmm/unchecked_rows.h"

#include <string.h>

#include "base/bisect.h"
#include "base/memory.h"

tulle_status tulle__unchecked_begin(tulle__unchecked_buffer *buffer, const tulle__unchecked_csr *A,
    const tulle__checks *check, size_t value_bytes, int64_t most)
{
    enum { DROPPED = 16 };
    buffer->check = check;
    buffer->narrowed = NULL;
    buffer->value_bytes = value_bytes;
    if (!A || A->ind_bytes == 4) return TULLE_OK;
    buffer->most = A->nnz < most ? A->nnz : most;
    return tulle__alloc_zero(
        (size_t)buffer->most + DROPPED, sizeof *buffer->narrowed, "columns of 32 bits", &buffer->narrowed);
}

void tulle__unchecked_end(tulle__unchecked_buffer *buffer)
{
    tulle__free(buffer->narrowed);
}

/* True if all columns are in 0 .. n - 1; to: their copies of 32 bits. */
static bool narrow(const int64_t *column, int64_t count, int64_t n, int32_t *to)
{
    const uint64_t limit = (uint64_t)n;
    uint64_t outside = 0;
    for (int64_t e = 0; e < count; e++) {
        outside |= (uint64_t)column[e] >= limit;
        to[e] = (int32_t)column[e];
    }
    return outside == 0;
}

/* Pointers begin .. begin + count; false if they descend or do not lie in 0 .. nnz. */
static bool widen(
    const tulle__unchecked_csr *A, tulle__pointers_widen narrow_ones, int64_t begin, int64_t count, int64_t *to)
{
    bool ascend = true;
    if (A->ptr_bytes == 8) {
        memcpy(to, (const int64_t *)A->ptr + begin, (size_t)(count + 1) * sizeof *to);
        for (int64_t i = 0; i < count; i++) ascend &= to[i + 1] >= to[i];
    } else {
        ascend = narrow_ones((const int32_t *)A->ptr + begin, count, to);
    }
    return ascend && to[0] >= 0 && to[count] <= A->nnz;
}

/* Entries rowptr[0] .. rowptr[count] - 1. Narrowed ones begin at 0. */
static bool take_columns(
    const tulle__unchecked_csr *A, int64_t *rowptr, int64_t count, tulle__unchecked_buffer *buffer, tulle__csr *rows)
{
    const int64_t first = rowptr[0], entries = rowptr[count] - first;
    *rows = (tulle__csr){.m = count, .n = A->n, .rowptr = rowptr, .colind = A->ind, .val = A->val};
    if (A->ind_bytes == 4) return !entries || buffer->check->columns((const int32_t *)A->ind + first, entries, A->n);
    rows->colind = buffer->narrowed;
    rows->val = (const char *)A->val + (size_t)first * buffer->value_bytes;
    for (int64_t i = 0; i <= count; i++) rowptr[i] -= first;
    return !entries ||
           (entries <= buffer->most && narrow((const int64_t *)A->ind + first, entries, A->n, buffer->narrowed));
}

int64_t tulle__unchecked_take(
    const tulle__unchecked_csr *A, int64_t begin, int64_t end, tulle__unchecked_buffer *buffer, tulle__csr *rows)
{
    int64_t *rowptr = buffer->rowptr, count = end - begin < TULLE__UNCHECKED_ROWS ? end - begin : TULLE__UNCHECKED_ROWS;
    if (!widen(A, buffer->check->pointers, begin, count, rowptr)) return 0;
    if (rowptr[count] - rowptr[0] > TULLE__UNCHECKED_ENTRIES) {
        int64_t most = count; /* rows below `count` fit, `most` do not */
        count = 0;
        TULLE__LAST_WHERE(count, most, middle, rowptr[middle] - rowptr[0] <= TULLE__UNCHECKED_ENTRIES);
        if (!count) count = 1;
    }
    return take_columns(A, rowptr, count, buffer, rows) ? count : 0;
}

bool tulle__unchecked_piece(
    const tulle__unchecked_csr *A, int64_t begin, int64_t end, tulle__unchecked_buffer *buffer, tulle__csr *row)
{
    buffer->rowptr[0] = begin;
    buffer->rowptr[1] = end;
    return begin >= 0 && begin <= end && end <= A->nnz && take_columns(A, buffer->rowptr, 1, buffer, row);
}

bool tulle__unchecked_sample(
    const tulle__unchecked_csr *A, int64_t first, int64_t count, int64_t *rowptr, tulle__csr *rows)
{
    *rows = (tulle__csr){.m = count, .n = A->n, .rowptr = rowptr, .colind = A->ind_bytes == 4 ? A->ind : NULL};
    return widen(A, tulle__pointers_widen_portable, first, count, rowptr);
}
