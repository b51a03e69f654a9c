/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `shmem`. OpenSHMEM cannot be loaded late (README.md), so it is not a module: it is there in programs that
 * were linked with it, and absent in others.
 */
#ifndef TULLE_COMM_SHMEM_SHMEM_H
#define TULLE_COMM_SHMEM_SHMEM_H

#include "comm/link.h"

/* The command, linked with it. */
#define TULLE__PROGRAM_SHMEM "tulle-oshmem"

extern const tulle__engine tulle__engine_shmem __attribute__((weak));

#endif
