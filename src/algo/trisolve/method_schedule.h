/* SPDX-License-Identifier: Apache-2.0 */
/* Making and renewing the schedule of a method. */
#ifndef TULLE_TRISOLVE_METHOD_SCHEDULE_H
#define TULLE_TRISOLVE_METHOD_SCHEDULE_H

#include "algo/trisolve/solver.h"

/* Collective: by the method and chunk that it says. */
tulle_status tulle__method_schedule_make(tulle_trisolve *solver, tulle__method_schedule *a);
/* Collective: copies get the values that the triangle has now. */
tulle_status tulle__method_schedule_renew(tulle_trisolve *solver, tulle__method_schedule *a);
/* Local: each worker's own copies do so; what methods whose rows are copied renew by. */
tulle_status tulle__worker_schedules_renew(tulle_trisolve *solver, tulle__method_schedule *a);
/* Local. */
void tulle__method_schedule_fini(tulle__method_schedule *a);

#endif
