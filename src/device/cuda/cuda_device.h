/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `cuda`. */
#ifndef TULLE_DEVICE_CUDA_CUDA_DEVICE_H
#define TULLE_DEVICE_CUDA_CUDA_DEVICE_H

#include <cuda_runtime_api.h>
#include <cusparse.h>

#include "base/error.h"
#include "base/module.h"
#include "device/device.h"

/* What libtulle has handed over; written once, when the module is loaded. */
extern const tulle__module_host *tulle__cuda_host;

typedef struct tulle__cuda {
    tulle__device device;
    int ordinal;
    cusparseHandle_t sparse;
    tulle__timeline *kernels_line, *copies_line;
    int broken; /* a copy has failed and nobody was told yet */
} tulle__cuda;

/* A span of work whose time is known when the device has done it. */
typedef struct tulle__cuda_span {
    cudaEvent_t begin, end;
    const char *name;
    int kind; /* 0 upload, 1 download, 2 kernel */
    int64_t bytes;
} tulle__cuda_span;

enum { TULLE__CUDA_SPANS = 64, TULLE__CUDA_KERNEL = 2 };

struct tulle__device_queue {
    tulle__cuda *cuda;
    cudaStream_t stream;
    tulle_status status;
    int breaks; /* what failed was a copy */
    char message[TULLE_MESSAGE_MAX];
    void *room; /* of cuSPARSE */
    size_t room_bytes;
    cudaEvent_t origin; /* at host time origin_ns */
    int64_t origin_ns;
    int first_span, nspans; /* a ring: of what is not told yet */
    tulle__cuda_span span[TULLE__CUDA_SPANS];
};

struct tulle__device_event {
    cudaEvent_t event;
};

/* TULLE_OK, or why not, with `what` was asked for. */
tulle_status tulle__cuda_check(cudaError_t error, const char *what);

/* The status sticks to the queue, with the last message. */
void tulle__cuda_stick(tulle__device_queue *queue, tulle_status status);

/* 1: work may be started in the queue, by this thread. */
int tulle__cuda_ready(tulle__device_queue *queue, int copy);

/* A span begins and ends; its time is told when the queue is waited for. */
void tulle__cuda_begin(tulle__device_queue *queue, const char *name, int kind, int64_t bytes);
void tulle__cuda_end(tulle__device_queue *queue);

/* Of a value; a module imports nothing. */
static inline size_t tulle__cuda_size(tulle_type type)
{
    return type == TULLE_F32 ? sizeof(float) : sizeof(double);
}

void *tulle__cuda_at(const tulle__device_place *place);

/* The kernels of the contract. */
void tulle__cuda_queue_multiply(tulle__device_queue *queue, const tulle__slab_task *task);
void tulle__cuda_queue_scale(
    tulle__device_queue *queue, tulle_type type, int64_t lines, int64_t width, const tulle__vectors *Y, double beta);

#endif
