/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tasks a PE should have where rows are dealt out and pushed: PE 0 gets to know what the rows in the middle
 * need, and plays the solve through for one number of tasks after the other. A row can be solved when what it needs is
 * done, and has come if another PE has it, and when its PE has done the work, of solving and of sending, of the rows
 * before it.
 */
#ifndef TULLE_TRISOLVE_TASKS_H
#define TULLE_TRISOLVE_TASKS_H

#include "mat/mat.h"

/* Collective: for the triangle A, whose rows are solved from the last one up if upper. work[m]: by which rows are
 * cut in tasks of about equal work (tulle_cuts_weighted). */
tulle_status tulle__tasks_choose(const tulle_mat *A, int upper, const int64_t *work, int *tasks);

#endif
