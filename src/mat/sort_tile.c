/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts unordered rows by heap sort, with all threads of the PE. */
#include "mat/sort_tile.h"

#include <inttypes.h>
#include <string.h>

#include "base/attend.h"
#include "base/error.h"
#include "tile/element.h"

enum { LOST = -1 }; /* the column of entries at a row's end that its duplicates have left */

struct sorting {
    tulle_type type;
    tulle_duplicates duplicates;
    tulle_gidx m;
    int64_t *rowptr; /* starts of rows; rows shrink towards their start */
    int32_t *colind;
    void *val;
    int64_t repeated;
    tulle_gidx first_row, first_col; /* of one duplicate; -1: none */
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

/* Heap sort, since rows may be long; the order field makes it stable. */
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

/*
 * Sorts rows by column, in file order among equals, and combines duplicates. Ascending rows are
 * skipped.
 */
static tulle_status sort_rows(void *arg, int thread, int nthreads)
{
    struct sorting *s = arg;
    TULLE__SCOPED struct pair *pair = NULL;
    int64_t capacity = 0, passed = 0;
    tulle_gidx from = s->m * thread / nthreads, to = s->m * (thread + 1) / nthreads;
    for (tulle_gidx r = from; r < to; r++) {
        int64_t begin = s->rowptr[r], n = s->rowptr[r + 1] - begin, kept = 0;
        int ascends = 1;
        TULLE_CALL(tulle__attend_each(256, &passed));
        for (int64_t e = 1; e < n && ascends; e++) ascends = s->colind[begin + e - 1] < s->colind[begin + e];
        if (ascends) continue;
        if (n > INT32_MAX)
            return tulle__fail(
                TULLE_ERR_OVERFLOW, "a row of %" PRId64 " entries is too long to be sorted: the limit is 2^31 - 1", n);
        if (n > capacity) {
            capacity = 2 * n;
            TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *pair, "a row to sort", &pair));
        }
        for (int64_t e = 0; e < n; e++)
            pair[e] = (struct pair){s->colind[begin + e], (int32_t)e, tulle__element(s->type, s->val, begin + e)};
        sort_pairs(pair, n);
        for (int64_t e = 0; e < n; e++) {
            if (kept && s->colind[begin + kept - 1] == pair[e].col) {
                int64_t none = -1;
                /* several threads may find duplicates: the message names any one of them */
                if (__atomic_compare_exchange_n(&s->first_row, &none, r, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    __atomic_store_n(&s->first_col, pair[e].col, __ATOMIC_RELAXED);
                __atomic_fetch_add(&s->repeated, 1, __ATOMIC_RELAXED);
                double before = tulle__element(s->type, s->val, begin + kept - 1);
                tulle__element_set(s->type, s->val, begin + kept - 1,
                    s->duplicates == TULLE_DUPLICATES_LAST ? pair[e].val : before + pair[e].val);
                continue;
            }
            s->colind[begin + kept] = pair[e].col;
            tulle__element_set(s->type, s->val, begin + kept++, pair[e].val);
        }
        for (int64_t e = kept; e < n; e++) s->colind[begin + e] = LOST;
    }
    return TULLE_OK;
}

/* Moves rows that lost duplicates into a new block of the exact size. */
static tulle_status compact(tulle_mat *A, int i, int j, const struct sorting *s)
{
    tulle__tile_record old = A->replaced[tulle__tile_index(A, i, j)];
    A->replaced[tulle__tile_index(A, i, j)] = (tulle__tile_record){.nnz = 0};
    tulle_own_tile tile;
    size_t size = tulle_type_size(s->type);
    tulle_status status = tulle__mat_place(A, i, j, s->rowptr[s->m] - s->repeated, &tile);
    if (status == TULLE_OK) {
        int64_t *rowptr = tile.rowptr, at = 0;
        for (tulle_gidx r = 0; r < s->m; r++) {
            const int64_t begin = s->rowptr[r];
            int64_t length = s->rowptr[r + 1] - begin;
            while (length && s->colind[begin + length - 1] == LOST) length--;
            rowptr[r] = at;
            memcpy(tile.colind + at, s->colind + begin, (size_t)length * sizeof(int32_t));
            memcpy((char *)tile.val + (size_t)at * size, (const char *)s->val + (size_t)begin * size,
                (size_t)length * size);
            at += length;
        }
        rowptr[s->m] = at;
    }
    tulle__heap_give(A->comm->pe->data, &old.place);
    return status;
}

tulle_status tulle__fail_repeated(const tulle__assembly *assembly)
{
    return tulle__fail(TULLE_ERR_FORMAT, "entry (" TULLE__AT ", " TULLE__AT ") occurs more than once" TULLE__COUNTED,
        (int64_t)assembly->row, (int64_t)assembly->col);
}

tulle_status tulle__tile_sort(
    tulle_mat *A, int i, int j, const tulle_own_tile *tile, tulle__pool *pool, tulle__assembly *assembly)
{
    tulle_status status;
    struct sorting s = {.type = tile->type,
        .duplicates = assembly->duplicates,
        .m = tile->m,
        .rowptr = tile->rowptr,
        .colind = tile->colind,
        .val = tile->val,
        .first_row = -1};
    TULLE_TRY(tulle__pool_run(pool, sort_rows, &s));
    if (!s.repeated) goto out;
    if (!assembly->repeated) {
        assembly->row = s.first_row + A->layout->row_cut[i];
        assembly->col = s.first_col + A->layout->col_cut[j];
    }
    assembly->repeated += s.repeated;
    if (assembly->duplicates == TULLE_DUPLICATES_ERROR)
        status = tulle__fail_repeated(assembly);
    else
        status = compact(A, i, j, &s);
out:
    return status;
}
