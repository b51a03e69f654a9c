/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of tests to the emulation beneath the module `cuda` that libtulle has loaded. */
#ifndef TULLE_TEST_EMULATION_H
#define TULLE_TEST_EMULATION_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/module/module.h"

typedef struct emulation {
    /* the n-th call that can fail from now on fails, or loses its device; n < 0: none */
    void (*fail_at)(int64_t n), (*break_at)(int64_t n);
    void (*repair)(void);   /* lost devices are as new */
    int64_t (*calls)(void); /* calls since then */
    int (*blocks)(void);    /* blocks of memory that were not given back, also to an arena */
    int (*context)(void);   /* the device whose context this thread has; -1: none */
    void (*choose)(int device);
    int64_t (*count)(const char *what);          /* how often this was done (EMUL_CALLS) */
    void (*refuse)(const char *words, int late); /* what cuSPARSE does not support (EMUL_UNSUPPORTED) */
    int (*held)(void);                           /* allocations of CUDA that were not given back */
} emulation;

/* 1: found. */
static int emulation_find(emulation *found)
{
    static const char *const names[] = {"emul_fail_at", "emul_break_at", "emul_repair", "emul_calls", "emul_blocks",
        "emul_context", "emul_choose", "emul_count", "emul_refuse", "emul_held"};
    enum { COUNT = sizeof names / sizeof *names };
    void *symbol[COUNT], *library;
    char path[4096];
    const tulle__module *module;
    if (tulle__module_load("cuda", &module) != TULLE_OK) return 0;
    if (tulle__module_find("cuda", path, sizeof path) != TULLE_OK) return 0;
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < COUNT; i++) {
        symbol[i] = library ? dlsym(library, names[i]) : NULL;
        if (!symbol[i]) return 0;
    }
    memcpy(found, symbol, sizeof symbol);
    return 1;
}

/* Handles of the library (cuSPARSE, cuBLAS, cuSOLVER) that are open. */
static inline int64_t emulation_open(const emulation *emul, const char *library)
{
    char begins[32], ends[32];
    snprintf(begins, sizeof begins, "%s begins", library);
    snprintf(ends, sizeof ends, "%s ends", library);
    return emul->count(begins) - emul->count(ends);
}

/* Open handles of all libraries. */
static inline int64_t emulation_all_open(const emulation *emul)
{
    return emulation_open(emul, "cuSPARSE") + emulation_open(emul, "cuBLAS") + emulation_open(emul, "cuSOLVER");
}

#endif
