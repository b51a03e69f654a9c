/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as PEs: the engine in use, and starting the processes that it needs. */
#ifndef TULLE_TOOL_LAUNCH_H
#define TULLE_TOOL_LAUNCH_H

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

#endif
