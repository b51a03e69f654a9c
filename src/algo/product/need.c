/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/need.h"

#include "base/error.h"
#include "base/memory.h"

struct tulle__needs {
    int K, N;
    int *row; /* [M K]: of the table, for own tiles of A; -1: not own */
    int64_t rows;
    tulle__excerpt **excerpt; /* [rows N]; NULL: whole */
};

static tulle__excerpt *find(const tulle__needs *needs, int i, int k, int j)
{
    int row = needs ? needs->row[(int64_t)i * needs->K + k] : -1;
    return row < 0 ? NULL : needs->excerpt[(int64_t)row * needs->N + j];
}

/* What own tile (i, k) of A needs of row k of tiles of B. */
static tulle_status look_at(
    tulle_comm *comm, const tulle__policy *policy, const tulle__operands *o, int i, int k, tulle__excerpt **excerpt)
{
    tulle_status status = TULLE_OK;
    tulle__rows rows = {0};
    tulle_tile tile;
    for (int j = 0; j < o->N; j++) {
        if (!tulle__operands_meet(o, i, k, j) || !tulle__fetch_bytes(o->B, k, j)) continue;
        if (policy->worker(o, i, k, j) != comm->rank) continue;
        if (!rows.range) {
            TULLE_TRY(tulle_mat_tile(o->A, i, k, &tile));
            tulle__csr A = tulle__tile_csr(&tile);
            TULLE_TRY(tulle__rows_named_by(&A, &rows));
        }
        TULLE_TRY(tulle__excerpt_new(o->B, k, j, &rows, &excerpt[j]));
    }
out:
    tulle__rows_fini(&rows);
    return status;
}

tulle_status tulle__needs_new(
    tulle_comm *comm, const tulle__policy *policy, const tulle__operands *o, tulle__needs **out)
{
    tulle_status status;
    tulle__needs *needs = NULL;
    int64_t tiles = (int64_t)o->M * o->K;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *needs, "needed rows", &needs));
    needs->K = o->K;
    needs->N = o->N;
    TULLE_TRY(tulle__alloc((size_t)tiles, sizeof *needs->row, "needed rows", &needs->row));
    for (int64_t t = 0; t < tiles; t++)
        needs->row[t] = tulle__tile_is_mine(o->A, (int)(t / o->K), (int)(t % o->K)) ? (int)needs->rows++ : -1;
    TULLE_TRY(tulle__alloc_zero((size_t)(needs->rows * o->N), sizeof *needs->excerpt, "needed rows", &needs->excerpt));
    for (int64_t t = 0; t < tiles; t++)
        if (needs->row[t] >= 0)
            TULLE_TRY(look_at(
                comm, policy, o, (int)(t / o->K), (int)(t % o->K), needs->excerpt + (int64_t)needs->row[t] * o->N));
    *out = needs;
    return TULLE_OK;
out:
    tulle__needs_free(needs);
    return status;
}

void tulle__needs_free(tulle__needs *needs)
{
    if (!needs) return;
    for (int64_t e = 0; needs->excerpt && e < needs->rows * needs->N; e++) tulle__excerpt_free(needs->excerpt[e]);
    tulle__free(needs->excerpt);
    tulle__free(needs->row);
    tulle__free(needs);
}

size_t tulle__needs_held(const tulle__needs *needs)
{
    size_t bytes = 0;
    for (int64_t e = 0; needs && e < needs->rows * needs->N; e++)
        bytes += sizeof needs->excerpt[e] + (needs->excerpt[e] ? tulle__excerpt_held(needs->excerpt[e]) : 0);
    return bytes;
}

int tulle__needs_whole(const tulle__needs *needs, int i, int k, int j)
{
    return !find(needs, i, k, j);
}

tulle_status tulle__needs_fetch(
    const tulle__needs *needs, const tulle__operands *o, int i, int k, int j, tulle__fetch *fetch)
{
    const tulle__excerpt *excerpt = find(needs, i, k, j);
    return excerpt ? tulle__excerpt_fetch(o->B, k, j, excerpt, fetch) : tulle__fetch_init(o->B, k, j, fetch);
}

size_t tulle__needs_bytes(const tulle__needs *needs, const tulle__operands *o, int i, int k, int j)
{
    const tulle__excerpt *excerpt = find(needs, i, k, j);
    return excerpt ? tulle__excerpt_bytes(excerpt) : tulle__fetch_bytes(o->B, k, j);
}
