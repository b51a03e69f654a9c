/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that names all engines and wrappers. */
#ifndef TULLE_COMM_REGISTRY_H
#define TULLE_COMM_REGISTRY_H

#include "comm/link.h"

/*
 * Finds an engine or a wrapper by name, among those built in, then among the modules: one of the two outputs is set,
 * the other NULL. TULLE_ERR_ARG with the nearest name, or TULLE_ERR_UNSUPPORTED if a module would be needed. `mpi` is
 * the module for the given family of MPIs, or, if it is NULL, for how this process was started.
 */
tulle_status tulle__registry_find(
    const char *name, const char *family, const tulle__engine **engine, const tulle__wrapper **wrapper);

/* Lists what is built in: engines, then wrappers; NULL ends. */
const tulle__engine *tulle__registry_engine(int i);
const tulle__wrapper *tulle__registry_wrapper(int i);

#endif
