/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row subsets of remote tiles compared with the whole tiles: the required rows arrive, and nothing
 * more.
 */
#include <stdlib.h>
#include <string.h>

#include <tulle/io.h>

#include "body.h"
#include "mat/subset.h"
#include "tap.h"

enum { M = 150, N = M, TILES = 4 };

/* Sets of rows: none, every seventh, a few runs, the ends, all. */
static int wanted(int set, int64_t m, int64_t row)
{
    switch (set) {
    case 0:
        return 0;
    case 1:
        return row % 7 == 3;
    case 2:
        return row % 16 >= 5 && row % 16 < 9;
    case 3:
        return row == 0 || row == m - 1;
    default:
        return 1;
    }
}

/* The set as the columns of a matrix of two rows. */
static tulle_status rows_of_set(int set, int64_t m, tulle__row_set *rows)
{
    int64_t rowptr[3] = {0}, n = 0;
    int32_t colind[2 * M];
    for (int r = 0; r < 2; r++) {
        for (int64_t k = 0; k < m; k++)
            if (wanted(set, m, k) && (r || k % 3)) colind[n++] = (int32_t)k;
        rowptr[r + 1] = n;
    }
    tulle__csr A = {.m = 2, .n = m, .rowptr = rowptr, .colind = colind};
    return tulle__row_set_named_by(&A, rows);
}

static int same_row(const tulle_tile *want, const tulle_tile *got, int64_t r, int is_wanted)
{
    size_t size = tulle_type_size(want->type);
    if (want->kind == TULLE_DENSE) {
        size_t at = (size_t)(r * want->ld) * size;
        return !is_wanted || !memcmp((const char *)want->val + at, (const char *)got->val + at, (size_t)want->n * size);
    }
    int64_t a = want->rowptr[r], b = got->rowptr[r], n = got->rowptr[r + 1] - b;
    if (n != (is_wanted ? want->rowptr[r + 1] - a : 0)) return 0;
    return !memcmp(want->colind + a, got->colind + b, (size_t)n * sizeof *got->colind) &&
           !memcmp(
               (const char *)want->val + (size_t)a * size, (const char *)got->val + (size_t)b * size, (size_t)n * size);
}

/* Bytes that the rows of a set take in the tile. */
static size_t bytes_of_set(int set, const tulle_tile *tile)
{
    size_t bytes = 0, size = tulle_type_size(tile->type);
    for (int64_t r = 0; r < tile->m; r++)
        if (wanted(set, tile->m, r))
            bytes += tile->kind == TULLE_DENSE
                         ? (size_t)tile->n * size
                         : (size_t)(tile->rowptr[r + 1] - tile->rowptr[r]) * (size + sizeof(int32_t));
    return bytes;
}

static tulle_status try_set(tulle_mat *A, int i, int j, int set, int *subsets)
{
    tulle_status status;
    tulle__row_set rows = {0};
    tulle__subset *subset = NULL;
    tulle__fetch fetch = {.group = -1};
    tulle_fetch *all = NULL;
    tulle_tile got, want;
    int64_t m = tulle__tile_rows(A, i);
    int64_t *rowptr = NULL;
    TULLE_TRY(rows_of_set(set, m, &rows));
    EXPECT(tulle__subset_possible(A, i, j) == (tulle__fetch_bytes(A, i, j) > 0));
    if (!tulle__subset_possible(A, i, j)) goto out;
    if (A->kind == TULLE_CSR) TULLE_TRY(tulle__rowptr_read(A, i, j, &rowptr));
    TULLE_TRY(tulle__subset_new(A, i, j, &rows, rowptr, &subset));
    (*subsets)++;
    TULLE_TRY(tulle_mat_get_tile(A, i, j, &all));
    TULLE_TRY(tulle_fetch_wait(all, &want));
    int64_t before = A->comm->pe->counters.bytes;
    TULLE_TRY(tulle__subset_fetch(A, i, j, subset, NULL, &fetch));
    EXPECT((size_t)(A->comm->pe->counters.bytes - before) == bytes_of_set(set, &want));
    EXPECT(tulle__subset_bytes(subset) == bytes_of_set(set, &want));
    TULLE_TRY(tulle__fetch_await(&fetch, &got));
    EXPECT(got.m == want.m && got.n == want.n);
    for (int64_t r = 0; r < want.m; r++) EXPECT(same_row(&want, &got, r, wanted(set, want.m, r)));
out:
    tulle__fetch_fini(&fetch);
    tulle_fetch_free(all);
    tulle__subset_free(subset);
    tulle__row_set_fini(&rows);
    tulle__free(rowptr);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    int *subsets = arg, mine = 0;
    tulle_layout_spec spec = {.m = M, .n = N, .tile_rows = TILES, .tile_cols = 2, .map = TULLE_CYCLIC};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    for (int kind = 0; kind < 2; kind++)
        for (int type = 0; type < TULLE_TYPE_COUNT; type++) {
            if (kind) {
                TULLE_TRY(tulle_mat_new_dense(comm, layout, (tulle_type)type, TULLE_ROW_MAJOR, &A));
                TULLE_TRY(tulle_mat_fill_random(A, 3));
            } else {
                tulle_read_options options = {.type = (tulle_type)type};
                TULLE_TRY(tulle_mat_load(comm, "er:n=150,degree=6", layout, TULLE_CSR, &options, NULL, &A));
            }
            for (int i = 0; i < TILES; i++)
                for (int j = 0; j < 2; j++)
                    for (int set = 0; set < 5 && status == TULLE_OK; set++) status = try_set(A, i, j, set, &mine);
            TULLE_TRY(tulle_comm_agree(comm, status)); /* also ensures that no PE frees what others read */
            tulle_mat_free(A);
            A = NULL;
        }
    if (tulle_comm_rank(comm) == 0) *subsets = mine;
out:
    tulle_layout_free(layout);
    return status;
}

int main(void)
{
    static const char *const specs[] = {"threads", "threads:direct=off", "check+threads:direct=off"};
    for (int s = 0; s < 3; s++) {
        tulle_team *team;
        int subsets = 0;
        if (!ok(tulle_team_new(specs[s], 3, NULL, &team) == TULLE_OK, "open %s", specs[s])) continue;
        tulle_status status = tulle_team_run(team, body, &subsets);
        ok(status == TULLE_OK, "%s: %s", specs[s],
            status == TULLE_OK ? "rows are those of the tile" : tulle_error_message());
        ok((subsets > 0) == (s > 0), "%s: %d subsets", specs[s], subsets);
        tulle_team_free(team);
    }
    return tap_done();
}
