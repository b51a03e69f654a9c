/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules: engines, wrappers, direct solvers, devices and kernels that are loaded on demand, so one
 * program runs with nothing installed, under an MPI, or on GPUs. A module is a shared object
 * tulle_NAME.so with one symbol, tulle_module_entry. It imports nothing from libtulle: it gets a table of
 * functions and returns its own, so it also loads into a program linked with libtulle.a.
 *
 * Search order: the folders of TULLE_MODULE_PATH (absolute, separated by colons), those of the build
 * tree if the library, or the program that it is linked into, lies there, the folder `tulle` beside
 * the shared library, the installation, and the same place seen from the program (so that an
 * installation may be moved), if only the program's owner and the superuser write there.
 * Programs that run with more rights than their user's (setuid) take the installation alone.
 */
#ifndef TULLE_BASE_MODULE_H
#define TULLE_BASE_MODULE_H

#include <stdint.h>

#include "base/lifeline.h"
#include "base/memory.h"
#include "base/spec.h"

enum { TULLE__MODULE_VERSION = 22 };

struct tulle__timeline;

typedef struct tulle__module_host {
    uint32_t version;
    tulle_status (*fail)(tulle_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
    const char *(*error_message)(void);
    void (*error_set)(const char *message);
    tulle_status (*alloc)(size_t count, size_t size, const char *what, void *block);
    tulle_status (*alloc_zero)(size_t count, size_t size, const char *what, void *block);
    void (*free)(void *block);
    tulle__account *(*account_enter)(tulle__account *account);
    size_t (*memory_available)(void);
    size_t (*memory_left)(void);
    size_t (*mapping_left)(void);
    int (*cores_of_host)(void);
    int (*cores_each)(int processes);
    void (*memory_huge)(void *address, size_t bytes);
    tulle_status (*spec_int)(tulle__spec_part *part, const char *key, int64_t low, int64_t high, int64_t *value);
    tulle_status (*spec_real)(tulle__spec_part *part, const char *key, double low, double high, double *value);
    tulle_status (*spec_bytes)(tulle__spec_part *part, const char *key, double *value);
    tulle_status (*spec_seconds)(tulle__spec_part *part, const char *key, double *value);
    tulle_status (*spec_flag)(tulle__spec_part *part, const char *key, int *value);
    tulle_status (*spec_word)(tulle__spec_part *part, const char *key, const char **value);
    tulle_status (*spec_done)(const tulle__spec_part *part, const char *const *known, int nknown);
    tulle_status (*name_parse)(const char *what, const char *name, const char *const *names, int count, int *found);
    void (*timeline_span)(
        struct tulle__timeline *timeline, const char *name, int64_t start, int64_t end, int64_t bytes, int peer);
    tulle_status (*lifeline_new)(tulle__presence *mine, tulle__lifeline **lifeline);
    tulle_status (*lifeline_watch)(tulle__lifeline *lifeline, int rank, int npes, const tulle__presence *all);
    void (*lifeline_stop)(tulle__lifeline *lifeline);
    void (*lifeline_free)(tulle__lifeline *lifeline);
} tulle__module_host;

/* The functions that a module gets. */
const tulle__module_host *tulle__module_host_table(void);

/*
 * Result of a module's entry; one pointer is set. NULL from the entry: it cannot work here, message set.
 */
typedef struct tulle__module {
    uint32_t version;
    const struct tulle__engine *engine;         /* comm/link.h */
    const struct tulle__wrapper *wrapper;       /* comm/link.h */
    const struct tulle__direct_library *direct; /* algo/factor/library.h */
    const struct tulle__device_driver *device;  /* device/device.h */
    const struct tulle__block_library *blocks;  /* device/block_library.h */
} tulle__module;

typedef const tulle__module *(*tulle__module_entry)(const tulle__module_host *host);

/*
 * Finds a file; TULLE_ERR_UNSUPPORTED with all folders searched, TULLE_ERR_ARG for a folder of
 * TULLE_MODULE_PATH that is not absolute.
 */
tulle_status tulle__module_find_file(const char *file, char *path, size_t size);

/* Finds tulle_NAME.so; TULLE_ERR_UNSUPPORTED with all folders searched. */
tulle_status tulle__module_find(const char *name, char *path, size_t size);

/*
 * Loads tulle_NAME.so, which stays loaded. TULLE_ERR_UNSUPPORTED if there is none, or with the
 * reason why the file found cannot be used.
 */
tulle_status tulle__module_load(const char *name, const tulle__module **module);

#endif
