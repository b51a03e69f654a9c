/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among modules for MPI. */
#ifndef TULLE_COMM_LAUNCHER_H
#define TULLE_COMM_LAUNCHER_H

/*
 * The MPI module: of the given family; else of the launcher that started this process; else the
 * first one installed.
 */
const char *tulle__launcher_module(const char *family);

#endif
