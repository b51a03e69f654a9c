/* SPDX-License-Identifier: Apache-2.0 */
/* What saving a matrix whole and in pieces share. */
#ifndef TULLE_IO_SAVE_H
#define TULLE_IO_SAVE_H

#include <tulle/mat.h>

#include "io/mtx_write.h"

/* Appends all entries of A, row by row. Called by one PE while nobody changes A. */
tulle_status tulle__save_rows(tulle_mat *A, const tulle__mtx_shape *shape, tulle__mtx_writer *writer);

#endif
