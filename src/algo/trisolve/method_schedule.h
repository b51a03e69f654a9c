/* SPDX-License-Identifier: Apache-2.0 */
/* Making and updating the schedule of a method. */
#ifndef TULLE_TRISOLVE_METHOD_SCHEDULE_H
#define TULLE_TRISOLVE_METHOD_SCHEDULE_H

#include "algo/trisolve/solver.h"

/* By the method and chunk that it says. Collective. */
tulle_status tulle__method_schedule_make(tulle_trisolve *solver, tulle__method_schedule *a);
/* Updates copied values to the triangle's current ones. Collective. */
tulle_status tulle__method_schedule_renew(tulle_trisolve *solver, tulle__method_schedule *a);
/* The update of each worker's copies, for methods that copy rows. Local. */
tulle_status tulle__worker_schedules_renew(tulle_trisolve *solver, tulle__method_schedule *a);
/* Local. */
void tulle__method_schedule_fini(tulle__method_schedule *a);

#endif
