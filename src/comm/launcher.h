/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the modules that are called `mpi` does here. */
#ifndef TULLE_COMM_LAUNCHER_H
#define TULLE_COMM_LAUNCHER_H

/* The module of MPI. Of the family, if one is given; else of the launcher that started this process; else the first one
 * installed. */
const char *tulle__launcher_module(const char *family);

#endif
