/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/pe_device.h"

#include "base/memory.h"

/* A share of hardware that devices of the PE use, retained until the PE ends. */
struct retained {
    tulle__owned owned;
    void (*release)(void *shared);
    void *shared;
};

static void free_retained(tulle__owned *object)
{
    struct retained *r = (struct retained *)object;
    r->release(r->shared);
    tulle__free(r);
}

static int is_retained(const tulle__pe *pe, const void *shared)
{
    for (const tulle__owned *object = pe->owned.next; object != &pe->owned; object = object->next)
        if (object->free == free_retained && ((const struct retained *)object)->shared == shared) return 1;
    return 0;
}

/* The memory is the process's, as the share is: both outlive the plan that opens the device. */
static tulle_status retain(tulle__pe *pe, tulle__device *device)
{
    struct retained *made = NULL;
    while (device->inner) device = device->inner;
    if (!device->ops->retain) return TULLE_OK;
    void *shared = device->ops->retain(device);
    if (is_retained(pe, shared)) {
        device->ops->release(shared);
        return TULLE_OK;
    }
    tulle__account *before = tulle__account_enter(NULL);
    tulle_status status = tulle__alloc_zero(1, sizeof *made, "a device", &made);
    tulle__account_enter(before);
    if (status != TULLE_OK) {
        device->ops->release(shared);
        return status;
    }
    made->release = device->ops->release;
    made->shared = shared;
    tulle__pe_own(pe, &made->owned, free_retained);
    return TULLE_OK;
}

tulle_status tulle__pe_device_open(
    tulle__pe *pe, const char *spec, const tulle__device_setting *setting, tulle__device **device)
{
    tulle__device_setting own = *setting;
    tulle__device *made = NULL;
    own.owner = pe;
    tulle_status status = tulle__device_open(spec, &own, &made);
    if (status == TULLE_OK) status = retain(pe, made);
    if (status == TULLE_OK)
        *device = made;
    else
        tulle__device_close(made);
    return status;
}
