/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that names all engines and wrappers. */
#ifndef TULLE_COMM_REGISTRY_H
#define TULLE_COMM_REGISTRY_H

#include "comm/link.h"

/*
 * Finds an engine or a wrapper by name, built in or as a module: sets one of the two outputs, the
 * other to NULL. TULLE_ERR_ARG with the nearest name, or TULLE_ERR_UNSUPPORTED if a module is
 * missing. `mpi` is the module for the given MPI family or, if that is NULL, for the launcher of
 * this process.
 */
tulle_status tulle__registry_find(
    const char *name, const char *family, const tulle__engine **engine, const tulle__wrapper **wrapper);

#endif
