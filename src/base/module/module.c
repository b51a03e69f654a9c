/* SPDX-License-Identifier: Apache-2.0 */
#include "base/module/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/host/limits.h"
#include "base/memory.h"
#include "base/timeline.h"

static size_t mapping_left(void)
{
    return tulle__mapping_headroom("").bytes;
}

static int cores_of_host(void)
{
    return tulle__cores_of_host("");
}

static const tulle__module_host host = {
    .version = TULLE__MODULE_VERSION,
    .fail = tulle__fail,
    .error_message = tulle__error_marked,
    .error_set = tulle__error_set,
    .alloc = tulle__alloc,
    .alloc_zero = tulle__alloc_zero,
    .free = tulle__free,
    .account_enter = tulle__account_enter,
    .memory_available = tulle__memory_available,
    .mapping_left = mapping_left,
    .cores_of_host = cores_of_host,
    .cores_each = tulle__cores_each,
    .memory_left = tulle__memory_left,
    .memory_huge = tulle__memory_huge,
    .spec_int = tulle__spec_int,
    .spec_real = tulle__spec_real,
    .spec_bytes = tulle__spec_bytes,
    .spec_seconds = tulle__spec_seconds,
    .spec_flag = tulle__spec_flag,
    .spec_word = tulle__spec_word,
    .spec_done = tulle__spec_done,
    .name_parse = tulle__name_parse,
    .timeline_span = tulle__timeline_span,
    .lifeline_new = tulle__lifeline_new,
    .lifeline_watch = tulle__lifeline_watch,
    .lifeline_stop = tulle__lifeline_stop,
    .lifeline_free = tulle__lifeline_free,
};

const tulle__module_host *tulle__module_host_table(void)
{
    return &host;
}

/*
 * A file that exists must work: a broken module is an error to report, not a reason to search on.
 */
static tulle_status load_file(const char *path, const tulle__module **module)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return tulle__fail(TULLE_ERR_UNSUPPORTED, "cannot load the module %s: %s", path, dlerror());
    void *symbol = dlsym(handle, "tulle_module_entry");
    if (!symbol) {
        dlclose(handle);
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "%s is no Tulle module: it has no tulle_module_entry", path);
    }
    tulle__module_entry entry;
    memcpy(&entry, &symbol, sizeof entry);
    tulle__error_clear();
    const tulle__module *found = entry(&host);
    /* it stays loaded, refused or not: libraries that began with it may have left variables and handlers behind */
    if (!found)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the module %s cannot be used here: %s", path, tulle__error_marked());
    if (found->version != TULLE__MODULE_VERSION)
        return tulle__fail(TULLE_ERR_UNSUPPORTED, "the module %s is of version %u, this library wants %u", path,
            found->version, (unsigned)TULLE__MODULE_VERSION);
    if (!!found->engine + !!found->wrapper + !!found->direct + !!found->device + !!found->blocks != 1)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "the module %s must be an engine, a wrapper, a direct solver, a device or kernels", path);
    *module = found;
    return TULLE_OK;
}

tulle_status tulle__module_find(const char *name, char *path, size_t size)
{
    char file[256], cause[TULLE_MESSAGE_MAX];
    snprintf(file, sizeof file, "tulle_%.200s.so", name);
    tulle_status status = tulle__module_find_file(file, path, size);
    if (status == TULLE_OK) return TULLE_OK;
    snprintf(cause, sizeof cause, "%s", tulle__error_marked());
    return tulle__fail(status, "there is no '%s': not built in, and %.440s", name, cause);
}

tulle_status tulle__module_load(const char *name, const tulle__module **module)
{
    char path[4096];
    for (const char *p = name; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || *p == '-' || *p == '_'))
            return tulle__fail(TULLE_ERR_ARG, "'%s' is no name of an engine, a wrapper or a device", name);
    TULLE_CALL(tulle__module_find(name, path, sizeof path));
    return load_file(path, module);
}
