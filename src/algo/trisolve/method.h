/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a method of solving is: a row of the table in methods.c, which is all that tells methods apart. Their names and
 * words are in <tulle/trisolve.h>.
 */
#ifndef TULLE_TRISOLVE_METHOD_H
#define TULLE_TRISOLVE_METHOD_H

#include "algo/trisolve/solver.h"

typedef struct tulle__method {
    const tulle__partition *dealing; /* NULL: workers read all rows in place. Else rows are dealt out to PEs for good */
    bool permutes;                   /* rows and unknowns are in the order of solving */
    bool reproducible;               /* X has the bits that serial gives */
    bool alone;                      /* one worker solves */
    /* Collective: what schedules are cut by, into a->state, and its bytes on this PE; NULL: nothing. */
    tulle_status (*prepare)(tulle_trisolve *solver, tulle__method_schedule *a);
    /* Local: the schedule of one worker; NULL: `prepare` has made all. */
    tulle_status (*schedule)(
        const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule);
    /* Collective: copies get the values that the triangle has now; NULL: there are none. */
    tulle_status (*renew)(tulle_trisolve *solver, tulle__method_schedule *a);
    /* Local: frees a->state, which may be NULL. */
    void (*forget)(tulle__method_schedule *a);
    /* Collective: for so many columns, before PEs meet; NULL: nothing. */
    tulle_status (*open)(tulle_trisolve *solver, tulle_gidx cols);
    /* Local: X from B, in the solver's layout. times[mine] is added to. */
    tulle_status (*sweep)(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times);
} tulle__method;

const tulle__method *tulle__method_of(tulle_trisolve_method method);

/* Whether so few solves are to come that nothing is analysed for them. Of auto, too, which is serial then. */
static inline int tulle__solver_is_brief(const tulle_trisolve_options *options)
{
    return options->solves > 0 && options->solves < 3 && tulle__method_of(options->method)->alone;
}

#endif
