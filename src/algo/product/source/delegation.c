/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/source/delegation.h"

#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "comm/alltoallv.h"

/*
 * A list is a sequence of delegations: this, row pointers, runs, column indices up to a multiple of
 * 8 bytes.
 */
struct head {
    int64_t i, j, k, rows, nnz, nruns;
};

struct tulle__delegations {
    tulle_comm *comm;
    tulle__alltoallv *alltoallv;
    tulle__delegation *delegation;
    int64_t count;
};

tulle_status tulle__delegations_new(tulle_comm *comm, tulle__delegations **out)
{
    tulle_status status;
    tulle__delegations *e = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *e, "delegated rows", &e));
    e->comm = comm;
    TULLE_TRY(tulle__alltoallv_new(comm, &e->alltoallv));
    *out = e;
    return TULLE_OK;
out:
    tulle__delegations_free(e);
    return status;
}

void tulle__delegations_end_exchange(tulle__delegations *e)
{
    tulle__alltoallv_release(e->alltoallv);
}

void tulle__delegations_free(tulle__delegations *e)
{
    if (!e) return;
    tulle__alltoallv_free(e->alltoallv);
    tulle__free(e->delegation);
    tulle__free(e);
}

static int64_t words_of(const struct head *h)
{
    return (int64_t)(sizeof *h / sizeof(int64_t)) + h->rows + 1 + 2 * h->nruns + (h->nnz + 1) / 2;
}

/* Runs of elements of delegated rows: rows that follow each other lie together. */
static int64_t find_runs(const tulle__csr *A, const tulle__cut *cut, int64_t *run)
{
    int64_t n = 0;
    for (int64_t g = 0; g < cut->rows; g++) {
        int64_t from = A->rowptr[cut->row[g]], count = A->rowptr[cut->row[g] + 1] - from;
        if (n && run[2 * n - 2] + run[2 * n - 1] == from) {
            run[2 * n - 1] += count;
        } else {
            run[2 * n] = from;
            run[2 * n + 1] = count;
            n++;
        }
    }
    return n;
}

tulle_status tulle__delegations_add(
    tulle__delegations *e, int to, int i, int j, int k, const tulle__csr *A, const tulle__cut *cut)
{
    char *text;
    /* runs are at most rows: written there first, and counted */
    struct head head = {.i = i, .j = j, .k = k, .rows = cut->rows, .nnz = cut->given, .nruns = cut->rows};
    TULLE_CALL(tulle__alltoallv_reserve(e->alltoallv, to, (size_t)words_of(&head) * sizeof(int64_t), &text));
    int64_t *rowptr = (int64_t *)(void *)(text + sizeof head), *run = rowptr + cut->rows + 1;
    head.nruns = find_runs(A, cut, run);
    int32_t *colind = (int32_t *)(void *)(run + 2 * head.nruns);
    memcpy(text, &head, sizeof head);
    if (head.nnz % 2) colind[head.nnz] = 0;
    rowptr[0] = 0;
    for (int64_t g = 0; g < cut->rows; g++) {
        int64_t from = A->rowptr[cut->row[g]], count = A->rowptr[cut->row[g] + 1] - from;
        memcpy(colind + rowptr[g], A->colind + from, (size_t)count * sizeof *colind);
        rowptr[g + 1] = rowptr[g] + count;
    }
    tulle__alltoallv_written(e->alltoallv, to, (size_t)words_of(&head) * sizeof(int64_t));
    return TULLE_OK;
}

/* The delegations of all lists, if delegation is not NULL; returns how many. */
static int64_t read_lists(const tulle__delegations *e, tulle__delegation *delegation)
{
    int64_t count = 0;
    for (int r = 0; r < e->comm->size; r++) {
        size_t bytes;
        const char *at = tulle__alltoallv_from(e->alltoallv, r, &bytes), *end = at + bytes;
        for (; at < end; count++) {
            struct head h;
            memcpy(&h, at, sizeof h);
            const int64_t *rowptr = (const int64_t *)(const void *)(at + sizeof h), *run = rowptr + h.rows + 1;
            if (delegation)
                delegation[count] = (tulle__delegation){.i = (int)h.i,
                    .j = (int)h.j,
                    .k = (int)h.k,
                    .rows = h.rows,
                    .nnz = h.nnz,
                    .nruns = h.nruns,
                    .rowptr = rowptr,
                    .run = run,
                    .colind = (const int32_t *)(const void *)(run + 2 * h.nruns)};
            at += (size_t)words_of(&h) * sizeof(int64_t);
        }
    }
    return count;
}

tulle_status tulle__delegations_exchange(tulle__delegations *e)
{
    TULLE_CALL(tulle__alltoallv_exchange(e->alltoallv));
    int64_t count = read_lists(e, NULL);
    TULLE_CALL(tulle__alloc((size_t)count, sizeof *e->delegation, "rows of others", &e->delegation));
    e->count = read_lists(e, e->delegation);
    return TULLE_OK;
}

int64_t tulle__delegations_count(const tulle__delegations *e)
{
    return e ? e->count : 0;
}

const tulle__delegation *tulle__delegations_at(const tulle__delegations *e, int64_t n)
{
    return &e->delegation[n];
}

size_t tulle__delegations_held(const tulle__delegations *e)
{
    return e ? sizeof *e + tulle__alltoallv_bytes(e->alltoallv) + (size_t)e->count * sizeof *e->delegation : 0;
}

tulle_status tulle__delegation_fetch(const tulle__delegation *delegation, const tulle_mat *A, tulle__fetch *fetch)
{
    size_t size = tulle_type_size(A->type);
    tulle__tile_record record = A->directory[tulle__tile_index(A, delegation->i, delegation->k)];
    tulle__csr_offsets from = tulle__csr_offsets_of(tulle__tile_rows(A, delegation->i), record.nnz, A->type);
    TULLE__SCOPED_BY(tulle__fetch_fini)
    tulle__fetch f = {.A = A, .i = delegation->i, .j = delegation->k, .group = -1, .record = record};
    TULLE__SCOPED tulle__range *range = NULL;
    size_t at = 0;
    if (delegation->nruns > INT_MAX)
        return tulle__fail(TULLE_ERR_OVERFLOW, "%lld runs of values", (long long)delegation->nruns);
    TULLE_CALL(tulle__fetch_buffer((size_t)delegation->nnz * size, NULL, false, &f));
    TULLE_CALL(tulle__alloc((size_t)delegation->nruns, sizeof *range, "a vector get", &range));
    for (int64_t n = 0; n < delegation->nruns; n++) {
        size_t bytes = (size_t)delegation->run[2 * n + 1] * size;
        range[n] = (tulle__range){from.val + (uint64_t)delegation->run[2 * n] * size, (char *)f.block + at, bytes};
        at += bytes;
    }
    f.group = tulle__comm_group(A->comm);
    f.count = tulle__getv(A->comm, f.group, &record.place, (int)delegation->nruns, range).count;
    *fetch = f;
    f = (tulle__fetch){.group = -1};
    return TULLE_OK;
}

tulle_status tulle__delegation_await(const tulle__delegation *delegation, tulle__fetch *fetch, tulle__csr *A)
{
    const tulle_status status = tulle__fetch_arrive(fetch);
    *A = (tulle__csr){.m = delegation->rows,
        .n = tulle__tile_cols(fetch->A, delegation->k),
        .rowptr = delegation->rowptr,
        .colind = delegation->colind,
        .val = fetch->block};
    return status;
}
