/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A method of solving is a row of the table in methods.c; nothing else distinguishes methods.
 * <tulle/trisolve.h> has their names and descriptions.
 */
#ifndef TULLE_TRISOLVE_METHOD_H
#define TULLE_TRISOLVE_METHOD_H

#include "algo/trisolve/solver.h"

typedef struct tulle__method {
    /* NULL: workers read all rows in place. Otherwise rows are distributed permanently */
    const tulle__partition *partition;
    bool permutes;     /* rows and unknowns are in the order of solving */
    bool reproducible; /* X has the bits of the serial method */
    bool alone;        /* a single worker solves */
    /*
     * Computes what the schedules have in common, into a->state, and its bytes on this PE; NULL:
     * nothing. Collective.
     */
    tulle_status (*prepare)(tulle_trisolve *solver, tulle__method_schedule *a);
    /* Makes the schedule of one worker; NULL: `prepare` has made all. Local. */
    tulle_status (*schedule)(
        const tulle_trisolve *solver, const tulle__method_schedule *a, int worker, tulle__worker_schedule *schedule);
    /*
     * Updates copied values to the triangle's current ones; NULL: there are no copies. Collective.
     */
    tulle_status (*renew)(tulle_trisolve *solver, tulle__method_schedule *a);
    /* Frees a->state, which may be NULL. Local. */
    void (*forget)(tulle__method_schedule *a);
    /* Allocates for so many columns, before PEs meet; NULL: nothing. Collective. */
    tulle_status (*open)(tulle_trisolve *solver, tulle_gidx cols);
    /* Computes X from B, in the solver's layout. Adds to times[mine]. Local. */
    tulle_status (*sweep)(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times);
    /* The same by a device of each PE, of one process; NULL: PE 0's device solves alone. */
    const struct tulle__method *together;
    const struct tulle__together_rows *rows; /* of such a method (device/together.h) */
} tulle__method;

/*
 * device: one of PE 0 solves, with the bits of serial. push_together: push on a device of each PE. The paper's four:
 * baselines/baselines.h.
 */
extern const tulle__method tulle__method_serial, tulle__method_chunked, tulle__method_levels, tulle__method_p2p,
    tulle__method_growlocal, tulle__method_supernodal, tulle__method_push, tulle__method_device,
    tulle__method_push_together;

const tulle__method *tulle__method_of(tulle_trisolve_method method);
/* The method of a schedule, which may be a device's. */
const tulle__method *tulle__method_in_use(const tulle__method_schedule *a);

/*
 * True if so few solves are expected that none of the analyses pays. This holds for auto too, which
 * is then serial.
 */
static inline int tulle__solver_is_brief(const tulle_trisolve_options *options)
{
    if (options->device) return 0;
    return options->solves > 0 && options->solves < 3 && tulle__method_of(options->method)->alone;
}

#endif
