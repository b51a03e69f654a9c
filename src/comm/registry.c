/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/registry.h"

#include <string.h>

#include "base/error.h"
#include "base/module/module.h"
#include "comm/launcher.h"
#include "comm/shmem/shmem.h"
#include "comm/threads/threads.h"
#include "comm/wrap/wrap.h"

/* The last one is NULL in programs not linked with OpenSHMEM. */
static const tulle__engine *const engines[] = {&tulle__engine_threads, &tulle__engine_shmem};
static const tulle__wrapper *const wrappers[] = {
    &tulle__wrapper_check, &tulle__wrapper_trace, &tulle__wrapper_net, &tulle__wrapper_fault, &tulle__wrapper_migrate};

static const char engine_shmem[] = "shmem";

/* Engines that are modules. */
static const char *const modules[] = {"mpi", "sim"};

enum {
    ENGINES = sizeof engines / sizeof *engines,
    WRAPPERS = sizeof wrappers / sizeof *wrappers,
    MODULES = sizeof modules / sizeof *modules
};

tulle_status tulle__registry_find(
    const char *name, const char *family, const tulle__engine **engine, const tulle__wrapper **wrapper)
{
    const char *names[ENGINES + WRAPPERS + MODULES];
    *engine = NULL;
    *wrapper = NULL;
    for (int i = 0; i < ENGINES; i++) {
        names[i] = engines[i] ? engines[i]->name : engine_shmem;
        if (engines[i] && tulle__word_same(names[i], name)) *engine = engines[i];
    }
    for (int i = 0; i < WRAPPERS; i++) {
        names[ENGINES + i] = wrappers[i]->name;
        if (tulle__word_same(wrappers[i]->name, name)) *wrapper = wrappers[i];
    }
    if (*engine || *wrapper) return TULLE_OK;
    if (tulle__word_same(name, engine_shmem))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "the engine 'shmem' must be linked with the program, as in " TULLE__PROGRAM_SHMEM ": OpenSHMEM cannot be "
            "loaded late");
    const tulle__module *module = NULL;
    int known = -1;
    /* a module's file has its name, in lower case for ours */
    for (int i = 0; i < MODULES; i++)
        if (tulle__word_same(modules[i], name)) known = i;
    const char *file = known == 0 ? tulle__launcher_module(family) : known > 0 ? modules[known] : name;
    tulle_status status = tulle__module_load(file, &module);
    if (status == TULLE_OK && !module->engine && !module->wrapper)
        return tulle__fail(TULLE_ERR_ARG, "'%s' is neither an engine nor a wrapper", name);
    if (status == TULLE_OK) {
        *engine = module->engine;
        *wrapper = module->wrapper;
        return TULLE_OK;
    }
    if (known >= 0) return status;
    for (int i = 0; i < MODULES; i++) names[ENGINES + WRAPPERS + i] = modules[i];
    return tulle__name_unknown(status, name, names, ENGINES + WRAPPERS + MODULES);
}
