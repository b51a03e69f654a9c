/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch of this process, and launchers for teams of processes. None of these functions loads
 * an MPI.
 */
#ifndef TULLE_LAUNCH_H
#define TULLE_LAUNCH_H

#include <stdbool.h>

#include <stddef.h>

#include <tulle/status.h>
#include <tulle/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_launcher {
    const char *family;  /* "openmpi", "mpich"; "oshmem": Open MPI's OpenSHMEM */
    const char *module;  /* its engine's module */
    const char *command; /* the name to use if several MPIs are installed */
    const char *program; /* the command that its engine is linked into; NULL: any program */
} tulle_launcher;

/* The known launchers, most preferred first, terminated by NULL. All results here are static. */
TULLE_API const tulle_launcher *tulle_launcher_list(int i);

/*
 * The program that the launcher must start: "" if it is this one, else the one that the engine is
 * linked into. TULLE_ERR_UNSUPPORTED, with the places searched.
 */
TULLE_API tulle_status tulle_launcher_program(const tulle_launcher *launcher, char *path, size_t size);

/*
 * True if its module, or its program, is installed; else the error message has the places searched.
 */
TULLE_API bool tulle_launcher_usable(const tulle_launcher *launcher);

/* The launcher that started this process, by its environment; NULL: none. */
TULLE_API const tulle_launcher *tulle_launched_by(void);

/*
 * This process's rank and the number of processes, according to its launcher (0: several, their number is not known);
 * 0 and 1 without one, and where TULLE_ALONE is set, to anything but 0: each process then works alone.
 */
TULLE_API int tulle_launched_rank(void);
TULLE_API int tulle_launched_size(void);

/* The launcher's name, such as "srun", as claims of tulle_launched_check name it; NULL: none. */
TULLE_API const char *tulle_launched_name(void);

/*
 * TULLE_ERR_ARG if a launcher has started more processes than `processes`, which have found each other: with the
 * launcher and what joins them. Teams check it when they open, unless their spec names the engine `threads`.
 */
TULLE_API tulle_status tulle_launched_check(int processes);

#ifdef __cplusplus
}
#endif
#endif
