/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `shmem`. OpenSHMEM cannot be loaded at run time (README.md), so the engine is no
 * module: programs linked with OpenSHMEM have it.
 */
#ifndef TULLE_COMM_SHMEM_SHMEM_H
#define TULLE_COMM_SHMEM_SHMEM_H

#include "comm/link.h"

/* The command, linked with OpenSHMEM. */
#define TULLE__PROGRAM_SHMEM "tulle-oshmem"

extern const tulle__engine tulle__engine_shmem __attribute__((weak));

#endif
