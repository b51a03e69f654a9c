/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/symmetry_hash.h"

#include <math.h>
#include <string.h>

enum { PATTERN, VALUES, HASHES };

struct hashes {
    uint64_t sum[HASHES]; /* above the diagonal minus below it: 0 iff both are equal */
    bool nan;
};

/* The finalizer of splitmix64 (S. Vigna), a bijection. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void add_entry(struct hashes *h, tulle_gidx row, tulle_gidx col, double value)
{
    uint64_t bits;
    if (isnan(value)) h->nan = true;
    if (row == col) return;
    if (value == 0) value = 0; /* -0 */
    memcpy(&bits, &value, sizeof bits);
    const uint64_t low = (uint64_t)(row < col ? row : col), high = (uint64_t)(row < col ? col : row);
    const uint64_t place = mixed(mixed(low + 0x9e3779b97f4a7c15u) ^ high), entry = mixed(place ^ mixed(bits));
    h->sum[PATTERN] += row < col ? place : 0 - place;
    h->sum[VALUES] += row < col ? entry : 0 - entry;
}

/* Places are those of the stored rows and columns, whose numbers `stored` has if there are any. */
static void add_tile(
    struct hashes *h, const tulle_tile *t, const tulle_compressed *stored, tulle_gidx row, tulle_gidx col)
{
    for (tulle_gidx r = 0; t->nnz && r < t->m; r++)
        for (int64_t e = t->rowptr[r]; e < t->rowptr[r + 1]; e++)
            add_entry(h, stored->inner ? stored->row[row + r] : row + r,
                stored->inner ? stored->col[col + t->colind[e]] : col + t->colind[e],
                t->type == TULLE_F32 ? (double)((const float *)t->val)[e] : ((const double *)t->val)[e]);
}

/* Sums modulo 2^64 over all PEs, in halves whose sums do not overflow. */
static tulle_status add_all(tulle_comm *comm, struct hashes *h)
{
    int64_t half[2 * HASHES + 1];
    for (int x = 0; x < HASHES; x++) {
        half[2 * x] = (int64_t)(h->sum[x] & UINT32_MAX);
        half[2 * x + 1] = (int64_t)(h->sum[x] >> 32);
    }
    half[2 * HASHES] = h->nan;
    const tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, 2 * HASHES + 1, half);
    for (int x = 0; x < HASHES; x++) h->sum[x] = (uint64_t)half[2 * x] + ((uint64_t)half[2 * x + 1] << 32);
    h->nan = half[2 * HASHES] != 0;
    return status;
}

tulle_status symmetry_of(const tulle_mat *A, int *pattern, int *values)
{
    struct hashes h = {.nan = false};
    tulle_compressed stored;
    tulle_status status = tulle_mat_compressed(A, &stored);
    if (stored.inner) A = stored.inner;
    const tulle_layout *l = tulle_mat_layout(A);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l) && status == TULLE_OK; j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(A))) continue;
            status = tulle_mat_tile(A, i, j, &t);
            if (status == TULLE_OK) add_tile(&h, &t, &stored, tulle_layout_row_cut(l)[i], tulle_layout_col_cut(l)[j]);
        }
    status = tulle_comm_agree(tulle_mat_comm(A), status);
    if (status == TULLE_OK) status = add_all(tulle_mat_comm(A), &h);
    *pattern = h.sum[PATTERN] == 0;
    *values = *pattern && h.sum[VALUES] == 0 && !h.nan;
    return status;
}
