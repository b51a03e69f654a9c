/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first use of an open GPU in the process: kernels are loaded, libraries started, and each kind of product is made
 * once. Who only asks what there is (tulle info, a probe) makes no queue and pays for none of that. Everything is
 * loaded at the first queue, before a kernel may wait for another PE's: loading waits for kernels to end.
 */
#include <stdlib.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernels/cuda_kernels.h"

tulle_status tulle__cuda_check_code(tulle__cuda *cuda, cudaError_t error)
{
    struct cudaDeviceProp facts;
    if (error != cudaErrorNoKernelImageForDevice) return tulle__cuda_check(cuda, error, "loading kernels");
    (void)cudaGetLastError();
    TULLE_CALL(tulle__cuda_check(cuda, cudaGetDeviceProperties(&facts, cuda->gpu->ordinal), "the device's properties"));
    return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED,
        "this build has no kernels for %s, whose compute capability is %d.%d", facts.name, facts.major, facts.minor);
}

/* Multiplies a matrix of one block, with one column and two, in both types; by the libraries, whatever this device
 * takes, as others may take them later. */
static tulle_status warm_up(tulle__cuda *cuda)
{
    enum { ROWPTR = 0, COLIND = 256, VAL = 512, X = 768, Y = 1024, BYTES = 1280 };
    static const int32_t rowptr[] = {0, 1};
    static const char zeros[BYTES] = {0};
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device *device = &cuda->device;
    const tulle__device_ops *ops = device->ops;
    const int kernels = cuda->kernels;
    cuda->kernels = TULLE__CUDA_LIBRARY;
    tulle_status status;
    TULLE_TRY(ops->buffer_new(device, BYTES, "a first product", &buffer));
    TULLE_TRY(tulle__cuda_queue_make(cuda, &queue));
    ops->upload(queue, &(tulle__device_place){buffer, 0}, zeros, BYTES);
    ops->upload(queue, &(tulle__device_place){buffer, ROWPTR}, rowptr, sizeof rowptr);
    for (int kind = 0; kind < 8; kind++) {
        tulle_type type = kind & 1 ? TULLE_F64 : TULLE_F32;
        int64_t cols = kind & 2 ? 2 : 1;
        tulle__slab_task task = {.A = {.type = type,
                                     .block = kind & 4 ? 2 : 1,
                                     .index_bytes = 4,
                                     .m = 1,
                                     .n = 1,
                                     .blocks = 1,
                                     .rowptr = {buffer, ROWPTR},
                                     .colind = {buffer, COLIND},
                                     .val = {buffer, VAL}},
            .vectors = type,
            .X = {{buffer, X}, cols},
            .Y = {{buffer, Y}, cols},
            .cols = cols};
        tulle__start_multiply(device, queue, &task);
    }
    for (int kind = 0; kind < 8; kind++) { /* tiles: sparse or dense, B by rows or columns */
        tulle_type type = kind & 1 ? TULLE_F64 : TULLE_F32;
        tulle__device_chain chain = {
            .type = type, .m = 1, .n = 1, .npairs = 1, .C = {buffer, Y}, .c_row = 1, .c_col = 1, .alpha = 1};
        chain.A[0] = (tulle__device_tile){.kind = kind & 2 ? TULLE_DENSE : TULLE_CSR,
            .type = type,
            .order = TULLE_ROW_MAJOR,
            .m = 1,
            .n = 1,
            .ld = 1,
            .nnz = 1,
            .rowptr = {buffer, ROWPTR},
            .colind = {buffer, COLIND},
            .val = {buffer, VAL}};
        chain.B[0] = (tulle__device_tile){.kind = TULLE_DENSE,
            .type = type,
            .order = kind & 4 ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR,
            .m = 1,
            .n = 1,
            .ld = 1,
            .val = {buffer, X}};
        tulle__start_chain(device, queue, &chain);
    }
    TULLE_TRY(ops->queue_wait(queue));
out:
    ops->queue_free(device, queue);
    if (buffer) ops->buffer_free(device, buffer);
    device->counts = (tulle__device_counts){.kernels = 0};
    cuda->refused = 0; /* by the products that somebody asks for */
    cuda->kernels = kernels;
    return status;
}

static tulle_status start(tulle__cuda *cuda)
{
    tulle__cuda_gpu *gpu = cuda->gpu;
    TULLE_CALL(tulle__cuda_check_code(cuda, tulle__cuda_load(gpu->shared)));
    if (!gpu->sparse) TULLE_CALL(tulle__cuda_check_sparse(cuda, cusparseCreate(&gpu->sparse)));
    if (!gpu->blas) TULLE_CALL(tulle__cuda_check_blas(cuda, cublasCreate(&gpu->blas)));
    return warm_up(cuda);
}

tulle_status tulle__cuda_start(tulle__cuda *cuda)
{
    tulle_status status = TULLE_OK;
    pthread_mutex_lock(&cuda->gpu->start);
    if (!cuda->gpu->started) {
        status = start(cuda);
        cuda->gpu->started = status == TULLE_OK;
    }
    pthread_mutex_unlock(&cuda->gpu->start);
    return status;
}

int tulle__cuda_connections(void)
{
    enum { USUAL = 8, MOST = 32 };
    const char *text = secure_getenv(TULLE__CUDA_CONNECTIONS);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    if (n < 1 || *end) return USUAL;
    return n > MOST ? MOST : (int)n;
}
