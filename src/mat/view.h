/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: a finer grid over a dense matrix X. Its tiles are parts of the tiles of X, read and
 * written in place. A view owns only its directory. The length in a record is that of a part in
 * transit, where its rows (row-major) or columns are contiguous; in place they are as far apart as
 * in X.
 */
#ifndef TULLE_MAT_VIEW_H
#define TULLE_MAT_VIEW_H

#include "mat/mat.h"

/*
 * Creates a view. Local. The layout contains all cuts of X, and a part has the owner of its tile. X
 * must outlive the view.
 */
tulle_status tulle__view_new(const tulle_mat *X, const tulle_layout *layout, tulle_mat **view);

/* Moves the view to X, which has the layout of the previous matrix. */
void tulle__view_set(tulle_mat *view, const tulle_mat *X);

#endif
