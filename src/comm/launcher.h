/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among modules for MPI, and what a launcher claims against what an engine has found. */
#ifndef TULLE_COMM_LAUNCHER_H
#define TULLE_COMM_LAUNCHER_H

#include <stdbool.h>

#include <tulle/status.h>

/*
 * The MPI module: of the given family; else of the launcher that started this process; else the
 * first one installed.
 */
const char *tulle__launcher_module(const char *family);

/* True: the PEs of the spec's engine are threads of this process: one of them can be the caller. */
bool tulle__is_threads(const char *spec);

/* tulle_launched_check, but for threads by name: they are meant. */
tulle_status tulle__launcher_check(const char *spec, int processes);

#endif
