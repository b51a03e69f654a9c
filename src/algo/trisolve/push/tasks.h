/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of tasks of a PE where rows are distributed and pushed, by a model: PE 0 learns what
 * the rows in the middle require, and simulates the solve for one number of tasks after the other.
 * A row can be solved when what it requires is solved, and has arrived if another PE has it, and
 * when its PE has finished the work, of solving and of sending, of the previous rows.
 */
#ifndef TULLE_TRISOLVE_TASKS_H
#define TULLE_TRISOLVE_TASKS_H

#include "mat/mat.h"

/*
 * For the triangle A, whose rows are solved from the last one up if upper. work[m]: weights by
 * which rows are divided into tasks (tulle_cuts_weighted). Collective.
 */
tulle_status tulle__tasks_choose(const tulle_mat *A, int upper, const int64_t *work, int *tasks);

#endif
