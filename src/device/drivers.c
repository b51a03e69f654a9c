/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that names all devices; the others are modules. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tulle/device.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/module/module.h"
#include "device/device.h"
#include "device/device_arena.h"
#include "device/host/host.h"
#include "device/wrap/device_wrap.h"

static const tulle__device_driver *const drivers[] = {&tulle__device_cpu, &tulle__device_ref, &tulle__device_limit,
    &tulle__device_fault, &tulle__device_late, &tulle__device_model};

/* Modules that there may be. */
static const char *const modules[] = {"cuda", "openacc"};

enum { DRIVERS = sizeof drivers / sizeof *drivers, MODULES = sizeof modules / sizeof *modules };

static tulle_status find(const char *name, const tulle__device_driver **driver)
{
    const char *names[DRIVERS + MODULES];
    const tulle__module *module = NULL;
    for (int i = 0; i < DRIVERS; i++) {
        names[i] = drivers[i]->name;
        *driver = drivers[i];
        if (tulle__word_same(name, names[i])) return TULLE_OK;
    }
    int known = 0;
    for (int i = 0; i < MODULES; i++) {
        names[DRIVERS + i] = modules[i];
        if (!tulle__word_same(name, modules[i])) continue;
        name = modules[i];
        known = 1;
    }
    tulle_status status = tulle__module_load(name, &module);
    if (status == TULLE_OK && module->device) {
        *driver = module->device;
        return TULLE_OK;
    }
    if (status == TULLE_OK) return tulle__fail(TULLE_ERR_ARG, "the module '%s' is no device", name);
    return known ? status : tulle__name_unknown(status, name, names, DRIVERS + MODULES);
}

void tulle__device_close(tulle__device *device)
{
    for (tulle__device *inner; device; device = inner) {
        inner = device->inner;
        device->ops->close(device);
    }
}

tulle_status tulle__device_open(const char *text, const tulle__device_setting *asked, tulle__device **out)
{
    const tulle__device_driver *driver[TULLE__SPEC_PARTS] = {NULL};
    tulle__device_setting setting = *asked;
    tulle__device *device = NULL;
    tulle__spec *spec = NULL;
    tulle_status status;
    setting.arenas = &tulle__device_arena_calls;
    TULLE_TRY(tulle__alloc(1, sizeof *spec, "a spec", &spec));
    TULLE_TRY(tulle__spec_parse(text, spec));
    for (int i = 0; i < spec->nparts; i++) {
        TULLE_TRY(find(spec->part[i].name, &driver[i]));
        if (!driver[i]->open && i == spec->nparts - 1)
            TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "'%s' is laid over a device, as in '%s+cpu'", text, text));
        if (!driver[i]->wrap && i < spec->nparts - 1)
            TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "'%s' is a device and stands last in a spec", spec->part[i].name));
        if (driver[i]->copier) setting.copied = 1;
    }
    if (setting.copied && setting.overlap && setting.threads > 1) setting.threads--;
    TULLE_TRY(driver[spec->nparts - 1]->open(&spec->part[spec->nparts - 1], &setting, &device));
    setting.copied = 0;
    for (int i = spec->nparts - 2; i >= 0; i--) {
        tulle__device *inner = device;
        TULLE_TRY(driver[i]->wrap(&spec->part[i], &setting, inner, &device));
    }
    *out = device;
    device = NULL;
out:
    tulle__device_close(device);
    tulle__free(spec);
    return status;
}

int tulle__device_has_product(const tulle__device *device)
{
    for (; device; device = device->inner)
        if (!device->ops->product) return 0;
    return 1;
}

tulle_status tulle__device_buffer_new(
    tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    if (bytes > device->capacity - device->used)
        return tulle__fail(TULLE_ERR_LIMIT,
            "%s: %zu bytes were asked for, but of the %zu bytes of the device '%s' %zu are used", what, bytes,
            device->capacity, device->name, device->used);
    TULLE_CALL(device->ops->buffer_new(device, bytes, what, buffer));
    device->used += bytes;
    return TULLE_OK;
}

void tulle__device_buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    if (!buffer) return;
    if (!buffer->borrowed) device->used -= buffer->bytes;
    device->ops->buffer_free(device, buffer);
}

const char *tulle_device_list(int i, const char **summary, int *wrapper)
{
    if (i < 0 || i >= DRIVERS + MODULES) return NULL;
    if (wrapper) *wrapper = i < DRIVERS && drivers[i]->wrap;
    if (summary) *summary = i < DRIVERS ? drivers[i]->summary : "a module";
    return i < DRIVERS ? drivers[i]->name : modules[i - DRIVERS];
}

tulle_status tulle_device_probe(const char *spec, tulle_device_facts *facts)
{
    if (TULLE__NULL(spec) || TULLE__NULL(facts)) return TULLE_ERR_ARG;
    tulle__device_setting setting = {.threads = 1};
    tulle__device *device;
    TULLE_CALL(tulle__device_open(spec, &setting, &device));
    *facts = (tulle_device_facts){.memory = device->capacity, .on_host = device->on_host != 0};
    snprintf(facts->text, sizeof facts->text, "%s", device->text);
    tulle__device_close(device);
    return TULLE_OK;
}
