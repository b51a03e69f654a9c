/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices from the arrays of a block-cyclic distribution, and back. */
#include <inttypes.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/cyclic/cyclic_copy.h"

/* Maps this PE's elements of the part to A. Local. */
static tulle_status map_part(const tulle_mat *A, const tulle_cyclic_part *part, tulle__cyclic_map *map)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = A->layout;
    const tulle__cyclic_axis rows = tulle__axis_rows(part->cyclic), cols = tulle__axis_cols(part->cyclic);
    tulle__spans m = {.span = NULL}, n = {.span = NULL};
    int p, q;
    *map = (tulle__cyclic_map){.mat = A, .ld = part->ld};
    if (!tulle__cyclic_position(part->cyclic, A->comm->rank, &p, &q)) return TULLE_OK;
    TULLE_TRY(tulle__spans_same(part->m, &m));
    TULLE_TRY(tulle__spans_same(part->n, &n));
    TULLE_TRY(tulle__spans_of_part(&rows, p, part->row, part->m, &m, l->row_cut, l->mt, &map->rows));
    TULLE_TRY(tulle__spans_of_part(&cols, q, part->col, part->n, &n, l->col_cut, l->nt, &map->cols));
out:
    tulle__spans_fini(&m);
    tulle__spans_fini(&n);
    return status;
}

/* The checks that all PEs make before any of them transfers. Collective, agreed. */
static tulle_status check(
    const char *function, tulle_comm *comm, const tulle_cyclic_part *part, const void *val, const tulle_layout *layout)
{
    tulle_status status;
    TULLE_TRY(tulle__wants_values(comm, "the copy of a block-cyclic matrix"));
    TULLE_TRY(tulle__cyclic_check(function, part, "val", comm->size, comm->rank, val));
    if (part->m != layout->m || part->n != layout->n)
        TULLE_TRY(tulle__fail(TULLE_ERR_ARG,
            "a part of %" PRId64 " x %" PRId64 " and a layout of %" PRId64 " x %" PRId64 " have different shapes",
            part->m, part->n, layout->m, layout->n));
    TULLE_TRY(tulle__cyclic_same(comm, 1, &part));
out:
    return tulle_comm_agree(comm, status);
}

static tulle_status put_part(tulle_mat *A, const tulle_cyclic_part *part, const void *val)
{
    TULLE__SCOPED_BY(tulle__cyclic_map_fini) tulle__cyclic_map map = {.mat = NULL};
    TULLE_CALL(map_part(A, part, &map));
    return tulle__cyclic_put(&map, val);
}

static tulle_status get_part(const tulle_mat *A, const tulle_cyclic_part *part, void *val)
{
    TULLE__SCOPED_BY(tulle__cyclic_map_fini) tulle__cyclic_map map = {.mat = NULL};
    TULLE_CALL(map_part(A, part, &map));
    return tulle__cyclic_get(&map, val);
}

tulle_status tulle_mat_from_cyclic(tulle_comm *comm, const tulle_cyclic_part *part, tulle_type type, const void *val,
    const tulle_layout *layout, tulle_mat **A)
{
    if (TULLE__NULL(comm) || TULLE__NULL(part) || TULLE__NULL_AS(part->cyclic, "part") ||
        TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(layout) || TULLE__NULL(A))
        return tulle__refuse(comm);
    tulle_mat *made = NULL;
    TULLE_CALL(check(__func__, comm, part, val, layout));
    TULLE_CALL(tulle_mat_new_dense_undefined(comm, layout, type, TULLE_COL_MAJOR, &made));
    tulle__set_up_begin(comm);
    const tulle_status status = put_part(made, part, val);
    tulle__set_up_end(comm);
    return tulle__mat_or_drop(tulle_comm_agree(comm, status), made, A);
}

tulle_status tulle_mat_to_cyclic(const tulle_mat *A, const tulle_cyclic_part *part, void *val)
{
    if (TULLE__NULL(A)) return TULLE_ERR_ARG;
    if (TULLE__NULL(part) || TULLE__NULL_AS(part->cyclic, "part")) return tulle__refuse(A->comm);
    if (A->kind != TULLE_DENSE || A->order != TULLE_COL_MAJOR)
        return tulle_comm_agree(
            A->comm, tulle__fail(TULLE_ERR_ARG, "only dense column-major matrices are copied to block-cyclic arrays"));
    TULLE_CALL(check(__func__, A->comm, part, val, A->layout)); /* ends with all PEs there: tiles are complete */
    tulle__set_up_begin(A->comm);
    const tulle_status status = get_part(A, part, val);
    tulle__set_up_end(A->comm);
    return tulle_comm_agree(A->comm, status);
}
