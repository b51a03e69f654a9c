/* SPDX-License-Identifier: Apache-2.0 */
/* Teams of the processes of BLACS grids. */
#ifndef TULLE_SCALAPACK_GRID_TEAM_H
#define TULLE_SCALAPACK_GRID_TEAM_H

#include <tulle/team.h>

/* The grid of a context, and this process's team on it: PE p * cols + q is at (p, q). */
typedef struct tulle__grid_team {
    int rows, cols;
    tulle_team *team;
} tulle__grid_team;

/*
 * Finds or opens the team. Collective over the context's grid. TULLE_ERR_ARG without a message, and
 * alone, if this process is not in the grid.
 */
tulle_status tulle__grid_team_of(int context, tulle__grid_team *grid);

/* The BLACS, in C; their headers are not installed. */
void Cblacs_gridinfo(int context, int *rows, int *cols, int *row, int *col);
void Cblacs_abort(int context, int error);
void Cigsum2d(int context, const char *scope, const char *top, int m, int n, int *A, int ld, int row, int col);

#endif
