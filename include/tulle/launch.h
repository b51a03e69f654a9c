/* SPDX-License-Identifier: Apache-2.0 */
/* How this process was started, and what could start a team of processes. No MPI is loaded by any of these. */
#ifndef TULLE_LAUNCH_H
#define TULLE_LAUNCH_H

#include <tulle/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_launcher {
    const char *family;  /* of MPI: "openmpi", "mpich" */
    const char *module;  /* the engine made for it */
    const char *command; /* its name where several MPIs are installed side by side */
} tulle_launcher;

/* The launchers known, most preferred first; NULL ends. Static, as all that is returned here. */
TULLE_API const tulle_launcher *tulle_launcher_list(int i);

/* 1 if the module for it is installed; else 0, and the error message says where it was looked for. */
TULLE_API int tulle_launcher_usable(const tulle_launcher *launcher);

/* The launcher that started this process, by its environment; NULL: none, it stands alone. */
TULLE_API const tulle_launcher *tulle_launched_by(void);

/* This process's rank and the number of processes, as its launcher tells them; 0 and 1 without one. */
TULLE_API int tulle_launched_rank(void);
TULLE_API int tulle_launched_size(void);

#ifdef __cplusplus
}
#endif
#endif
