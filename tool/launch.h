/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as PEs: which engine is meant, and starting the processes it needs. */
#ifndef TULLE_TOOL_LAUNCH_H
#define TULLE_TOOL_LAUNCH_H

#include "option.h"

/* The spec that --comm gives or the launcher implies, without a prefix. */
const char *chosen_comm(const struct options *options);

/*
 * If what was asked for wants another program than this one, which a launcher has started: becomes that. Returns if
 * not, or with a failure.
 */
tulle_status become_program(const struct options *options, char **argv);

/* Whether this process must start others to do what it was asked: --comm mpi or shmem, and no launcher has started it.
 */
int wants_launch(const struct options *options);

/* How many processes these would be. */
int launch_size(const struct options *options);

/* Runs this very command as the processes of a job; the exit status of the command. */
int launch(const struct options *options, char **argv);

#endif
