/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lost process ends the job, whatever started it. Processes of one machine watch each other's
 * ids: one that is gone is lost, at once, and a slow one never is. The first process of each
 * machine is tied by TCP to those of the machines before and after it, in a ring. The kernels
 * answer for their processes (keepalive), so a PE that computes, or is stopped, lives; a machine
 * that has not answered for TULLE_PATIENCE seconds (7 unless set; 0: machines are not watched) is
 * lost.
 *
 * A thread of each process waits for these events. It costs nothing until one comes. It then sends
 * the cause to the others, prints it, once a machine, and ends the process with status 4: calls of
 * an MPI that wait for a lost process never return, so no error could be.
 */
#ifndef TULLE_BASE_LIFELINE_H
#define TULLE_BASE_LIFELINE_H

#include <tulle/status.h>

#include "base/host/host_ties.h"

enum { TULLE__EXIT_LOST = 4 }; /* status of a process that has lost another one, as the command's */

typedef struct tulle__lifeline tulle__lifeline;

/* Local: fills in this process's presence, which the caller exchanges. */
tulle_status tulle__lifeline_new(tulle__presence *mine, tulle__lifeline **lifeline);
/* Local: watches the others from here on. all[npes] by rank. */
tulle_status tulle__lifeline_watch(tulle__lifeline *lifeline, int rank, int npes, const tulle__presence *all);
/*
 * Stops watching. A process may end, or free its lifeline, once all of the team have stopped: the
 * caller meets the others in between.
 */
void tulle__lifeline_stop(tulle__lifeline *lifeline);
void tulle__lifeline_free(tulle__lifeline *lifeline);

#endif
