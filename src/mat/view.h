/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finer grid over a dense matrix: tiles that are parts of the tiles of another matrix, read and written where those
 * lie. A view has no memory but its directory. Its records tell the bytes that a part takes when it travels, one line
 * behind the other; where it is read in place, lines lie as far apart as in the whole tile.
 */
#ifndef TULLE_MAT_VIEW_H
#define TULLE_MAT_VIEW_H

#include "mat/mat.h"

/* Local. The layout has all cuts of X, and owners of parts are those of the tiles. The view must not outlive X. */
tulle_status tulle__view_new(const tulle_mat *X, const tulle_layout *layout, tulle_mat **view);

/* Makes it one over X, of the same layout as the matrix before. */
void tulle__view_set(tulle_mat *view, const tulle_mat *X);

#endif
