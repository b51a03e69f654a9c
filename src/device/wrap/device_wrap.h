/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of devices. */
#ifndef TULLE_DEVICE_WRAP_DEVICE_WRAP_H
#define TULLE_DEVICE_WRAP_DEVICE_WRAP_H

#include "device/device.h"

extern const tulle__device_driver tulle__device_limit;
extern const tulle__device_driver tulle__device_fault;
extern const tulle__device_driver tulle__device_late;
extern const tulle__device_driver tulle__device_model;

/* A buffer of a wrapper: that of the device below, which it may hide. */
typedef struct tulle__wrapped_buffer {
    tulle__device_buffer buffer;
    tulle__device_buffer *inner;
} tulle__wrapped_buffer;

/* buffer_new and buffer_free of a wrapper whose buffers the host does not reach. */
tulle_status tulle__wrapped_buffer_new(
    tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer);
void tulle__wrapped_buffer_free(tulle__device *device, tulle__device_buffer *buffer);

/* workspace and forget of a wrapper; what the device below lacks takes no bytes. */
tulle_status tulle__wrapped_workspace(tulle__device *device, const tulle__slab_task *task, size_t *bytes);
void tulle__wrapped_forget(tulle__device *device, tulle__device_prepared *prepared);

/* eigen_bytes of a wrapper. */
tulle_status tulle__wrapped_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes);

/* Operations that wrappers with the buffers above leave to the device below. */
#define TULLE__WRAPPED_OPS                                                                                             \
    .buffer_free = tulle__wrapped_buffer_free, .host_free = tulle__wrapped_host_free,                                  \
    .host_unregister = tulle__wrapped_host_unregister, .eigen_bytes = tulle__wrapped_eigen_bytes,                      \
    .workspace = tulle__wrapped_workspace, .forget = tulle__wrapped_forget

/* host_new and host_free of a wrapper. */
tulle_status tulle__wrapped_host_new(tulle__device *device, size_t bytes, const char *what, void *block);
void tulle__wrapped_host_free(tulle__device *device, void *block);

/* host_register and host_unregister of a wrapper; state of one that is lost with the device below. */
tulle_status tulle__wrapped_host_register(tulle__device *device, void *memory, size_t bytes);
void tulle__wrapped_host_unregister(tulle__device *device, void *memory);
tulle_status tulle__wrapped_state(tulle__device *device);

/* peer of a wrapper: the other is one of the same kind, and what they hold are peers. */
int tulle__wrapped_peer(const tulle__device *device, const tulle__device *other);

/* The same place, and copy, for the device below. */
tulle__device_place tulle__wrapped_place(const tulle__device_place *place);
tulle__device_copy tulle__wrapped_copy(const tulle__device_copy *copy);

/* The task of any kernel that wrappers pass on. */
typedef union tulle__wrapped_any {
#define MEMBER(kind, name, type) type name;
    TULLE__DEVICE_PASSED_LIST(MEMBER)
#undef MEMBER
} tulle__wrapped_any;

/* The same task for the device below; returns its bytes. */
size_t tulle__wrapped_task(enum tulle__device_kernel kernel, const void *task, tulle__wrapped_any *inner);
tulle__slab_task tulle__wrapped_slab(const tulle__slab_task *task);
tulle__device_product tulle__wrapped_product(const tulle__device_product *task);

/* Bits of the kernels that wrappers pass on. */
enum { TULLE__WRAPPED_KERNELS = 0 TULLE__DEVICE_PASSED_LIST(TULLE__KERNEL_BIT) };

/* A place for a result of the device below, by one of the wrapper's: context is this. A tulle__device_result. */
typedef struct tulle__wrapped_result {
    tulle__device_result place;
    void *context;
    tulle__device_tile made; /* what was placed, if it was */
} tulle__wrapped_result;
tulle_status tulle__wrapped_place_result(void *context, int64_t m, int64_t nnz, tulle__device_tile *C);

#endif
