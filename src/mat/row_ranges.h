/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of rows that each PE contributes or receives: one tile a PE, consecutive. */
#ifndef TULLE_MAT_ROW_RANGES_H
#define TULLE_MAT_ROW_RANGES_H

#include <tulle/layout.h>

#include "comm/comm.h"

/*
 * Collective, without a final agreement: the layout of an m x n matrix of which each PE has rows
 * first ... first + count - 1. TULLE_ERR_ARG, with the PE, if together they are not all rows in the
 * order of PEs; it calls them `lines`, rows or, of a transpose, columns.
 */
tulle_status tulle__layout_of_ranges(tulle_comm *comm, const char *lines, tulle_gidx m, tulle_gidx n, tulle_gidx first,
    tulle_gidx count, tulle_layout **layout);

#endif
