/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/view.h"

#include "base/error.h"
#include "base/memory.h"

void tulle__view_set(tulle_mat *view, const tulle_mat *X)
{
    view->whole = X;
    view->nnz = X->nnz;
    for (int i = 0; i < view->layout->mt; i++)
        for (int j = 0; j < view->layout->nt; j++) {
            int64_t nnz = tulle__tile_rows(view, i) * tulle__tile_cols(view, j);
            tulle__tile_record *record = &view->directory[tulle__tile_index(view, i, j)];
            *record = (tulle__tile_record){.place = tulle__view_spot(view, i, j).place, .nnz = nnz};
            record->place.length = (uint64_t)nnz * tulle_type_size(X->type);
        }
}

tulle_status tulle__view_new(const tulle_mat *X, const tulle_layout *layout, tulle_mat **out)
{
    tulle_status status;
    tulle_mat *view = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *view, "a view of a matrix", &view));
    view->comm = X->comm;
    view->kind = X->kind;
    view->format = X->format;
    view->type = X->type;
    view->order = X->order;
    view->whole = X;
    TULLE_TRY(tulle_layout_copy(layout, &view->layout));
    TULLE_TRY(tulle__alloc(
        (size_t)layout->mt * (size_t)layout->nt, sizeof *view->directory, "a view of a matrix", &view->directory));
    tulle__view_set(view, X);
    tulle__pe_own(X->comm->pe, &view->owned, tulle__mat_free_owned);
    *out = view;
    return TULLE_OK;
out:
    tulle__mat_drop(view);
    return status;
}
