/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as PEs: the engine in use, and starting the processes that it needs. */
#ifndef TULLE_TOOL_LAUNCH_H
#define TULLE_TOOL_LAUNCH_H

#include <stdbool.h>

#include "option.h"

/* The spec of --comm, or the one implied by the launcher, without a prefix. */
const char *chosen_comm(const struct options *options);

/*
 * Replaces this process by another program if a launcher started it and the options require that
 * program. Returns if not, or on failure.
 */
tulle_status become_program(const struct options *options, char **argv);

/* True if this process must start others: --comm mpi or shmem, and no launcher has started it. */
int wants_launch(const struct options *options);

/* The number of these processes. */
int launch_size(const struct options *options);

/* Runs this command as the processes of a job; returns its exit status. */
int launch(const struct options *options, char **argv);

/*
 * Begins the program anew with OPENBLAS_NUM_THREADS=1, unless the user has set it, where limits (ulimit -v, -d) leave
 * less than OpenBLAS's threads take: each, from the library's loading on, asks for 128 MB again and again until it gets
 * them, and the program waits for its threads at its end. Returns if there is nothing to do, or it cannot be done.
 */
void spare_blas_threads(char **argv);

/*
 * True if the stack may grow to what verbs take. Where its limit (ulimit -s) may be raised, the program begins anew with
 * a usual one, which its threads get, too; else it says so.
 */
bool has_stack(char **argv);

#endif
