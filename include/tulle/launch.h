/* SPDX-License-Identifier: Apache-2.0 */
/* How this process was started, and what could start a team of processes. No MPI is loaded by any of these. */
#ifndef TULLE_LAUNCH_H
#define TULLE_LAUNCH_H

#include <stdbool.h>

#include <stddef.h>

#include <tulle/export.h>
#include <tulle/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_launcher {
    const char *family;  /* "openmpi", "mpich"; "oshmem": Open MPI's OpenSHMEM */
    const char *module;  /* the engine made for it */
    const char *command; /* its name where several MPIs are installed side by side */
    const char *program; /* the command that its engine is linked into; NULL: any program will do */
} tulle_launcher;

/* The launchers known, most preferred first; NULL ends. Static, as all that is returned here. */
TULLE_API const tulle_launcher *tulle_launcher_list(int i);

/*
 * The program that the launcher must start: "" if this one does, else where the one is that the engine is linked into.
 * TULLE_ERR_UNSUPPORTED with where it was looked for.
 */
TULLE_API tulle_status tulle_launcher_program(const tulle_launcher *launcher, char *path, size_t size);

/* 1 if the module for it, or the program, is installed; else 0, and the error message says where it was looked for. */
TULLE_API bool tulle_launcher_usable(const tulle_launcher *launcher);

/* The launcher that started this process, by its environment; NULL: none, it stands alone. */
TULLE_API const tulle_launcher *tulle_launched_by(void);

/* This process's rank and the number of processes, as its launcher tells them; 0 and 1 without one. */
TULLE_API int tulle_launched_rank(void);
TULLE_API int tulle_launched_size(void);

#ifdef __cplusplus
}
#endif
#endif
