/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as PEs: which engine is meant, and starting the processes it needs. */
#ifndef TULLE_TOOL_LAUNCH_H
#define TULLE_TOOL_LAUNCH_H

#include "option.h"

/* The spec that --comm gives or the launcher implies, without a prefix. */
const char *chosen_comm(const struct options *options);

/* Whether this process must start others to do what it was asked: --comm mpi, and no launcher has started it. */
int wants_launch(const struct options *options);

/* Runs this very command as the processes of an MPI job; the exit status of the command. */
int launch(const struct options *options, char **argv);

#endif
