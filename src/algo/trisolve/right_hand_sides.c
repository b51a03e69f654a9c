/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/right_hand_sides.h"

#include <string.h>

tulle_status tulle__rhs_stage(tulle_trisolve *solver, tulle_gidx cols, tulle_mat **stage)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    if (*stage && (*stage)->layout->n == cols) return TULLE_OK;
    tulle_mat_free(*stage);
    *stage = NULL;
    TULLE_CALL(tulle_comm_agree(solver->comm, tulle__triangle_rhs_layout(&solver->triangle, cols, &layout)));
    return tulle_mat_new_dense(solver->comm, layout, solver->triangle.T->type, TULLE_ROW_MAJOR, stage);
}

int tulle__rhs_suit(const tulle_trisolve *solver, const tulle_mat *X)
{
    const tulle_layout *l = X->layout, *distributed = solver->triangle.distributed;
    if (l->nt > 1) return 0;
    if (X->order == TULLE_COL_MAJOR && l->n > 1) return 0; /* columns are solved together, interleaved */
    if (distributed)
        return tulle__layout_same_cuts(l->row_cut, l->mt, distributed->row_cut, distributed->mt) &&
               memcmp(l->owner, distributed->owner, (size_t)l->mt * sizeof *l->owner) == 0;
    if (l->mt > 1) return 0;
    return solver->triangle.reach == TULLE__ROWS_GATHERED ? l->owner[0] == 0 : tulle__tile_mapped(X, 0, 0) != NULL;
}

/* Copies the elements of a dense tile to another of the same shape. */
static void copy_elements(const tulle_tile *from, const tulle_tile *to, size_t size)
{
    int rows = from->order == TULLE_ROW_MAJOR && to->order == TULLE_ROW_MAJOR;
    int64_t from_row = from->order == TULLE_ROW_MAJOR ? from->ld : 1,
            to_row = to->order == TULLE_ROW_MAJOR ? to->ld : 1;
    int64_t from_col = from->order == TULLE_ROW_MAJOR ? 1 : from->ld,
            to_col = to->order == TULLE_ROW_MAJOR ? 1 : to->ld;
    for (tulle_gidx r = 0; r < to->m; r++)
        for (tulle_gidx c = 0; c < to->n; c += rows ? to->n : 1)
            memcpy((char *)to->val + (size_t)(r * to_row + c * to_col) * size,
                (const char *)from->val + (size_t)(r * from_row + c * from_col) * size,
                size * (size_t)(rows ? to->n : 1));
}

/* Copies own tiles of X to the only tile of the stage, which this PE reaches, or back. */
static void copy_tiles(const tulle_mat *X, const tulle_mat *stage, int back)
{
    const tulle_layout *l = X->layout;
    size_t size = tulle_type_size(X->type);
    TULLE__EACH_OWN_TILE(X, i, j) {
        tulle_tile tile = tulle__tile_in_place(X, i, j), part = tulle__tile_in_place(stage, 0, 0);
        if (!tile.nnz) continue;
        part.val = (char *)part.val + (size_t)(l->row_cut[i] * part.ld + l->col_cut[j]) * size;
        part.m = tile.m;
        part.n = tile.n;
        copy_elements(back ? &part : &tile, back ? &tile : &part, size);
    }
}

/* Copies own tiles to another matrix of the same layout. */
static void copy_own(const tulle_mat *from, const tulle_mat *to)
{
    size_t size = tulle_type_size(to->type);
    TULLE__EACH_OWN_TILE(to, i, j) {
        tulle_tile of = tulle__tile_in_place(from, i, j), into = tulle__tile_in_place(to, i, j);
        if (into.nnz) copy_elements(&of, &into, size);
    }
}

tulle_status tulle__rhs_copy_in(tulle_trisolve *solver, const tulle_mat *B)
{
    tulle_mat *parts = NULL;
    TULLE_CALL(tulle__rhs_stage(solver, B->layout->n, &solver->stage_B));
    if (solver->triangle.reach == TULLE__ROWS_ALL) {
        copy_tiles(B, solver->stage_B, 0);
        return tulle_comm_barrier(solver->comm);
    }
    TULLE_CALL(tulle_mat_redistribute(B, solver->stage_B->layout, &parts));
    copy_own(parts, solver->stage_B);
    tulle_mat_free(parts);
    return TULLE_OK;
}

tulle_status tulle__rhs_copy_out(tulle_trisolve *solver, tulle_mat *X)
{
    tulle_mat *parts = NULL;
    if (solver->triangle.reach == TULLE__ROWS_ALL) {
        copy_tiles(X, solver->stage_X, 1);
        return tulle_comm_barrier(solver->comm);
    }
    TULLE_CALL(tulle_mat_redistribute(solver->stage_X, X->layout, &parts));
    copy_own(parts, X);
    tulle_status status = tulle_comm_barrier(solver->comm);
    tulle_mat_free(parts);
    return status;
}

void tulle__rhs_lines(const tulle_trisolve *solver, const tulle_mat *X, void *lines, int back)
{
    const tulle__triangle *t = &solver->triangle;
    size_t size = tulle_type_size(X->type), line = (size_t)X->layout->n * size;
    char *at = lines;
    for (int s = 0; s < t->ntiles; s++) {
        int i = t->upper ? t->ntiles - 1 - s : s;
        if (!tulle__tile_is_mine(X, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(X, i, 0);
        for (tulle_gidx r = 0; tile.nnz && r < tile.m; r++, at += line) {
            tulle_gidx row = t->upper ? tile.m - 1 - r : r;
            tulle_tile one = tile, mine = {.order = TULLE_ROW_MAJOR, .m = 1, .n = tile.n, .ld = tile.n, .val = at};
            one.m = 1;
            one.val = (char *)tile.val + (size_t)(row * (tile.order == TULLE_ROW_MAJOR ? tile.ld : 1)) * size;
            copy_elements(back ? &mine : &one, back ? &one : &mine, size);
        }
    }
}
