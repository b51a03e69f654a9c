/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the module `cuda`: cuda_gpu.c (GPUs of the process), cuda_device.c (a device and its memory),
 * cuda_queue.c (streams, events, copies), cuda_sparse.c (slabs by cuSPARSE), cuda_chain.c (tiles by cuSPARSE and
 * cuBLAS), cuda_product.c (sparse tiles), cuda_eigen.c (eigenvectors by cuSOLVER), cuda_together.c (triangular
 * solves of one PE and of several), cuda_space.c (vectors); cuda_start.c (the first use), cuda_memory.c
 * (the arena, and workspaces of queues), cuda_refused.c (what cuSPARSE does not support); cuda_*.cu (kernels, which
 * cuda_kernels.h declares). */
#ifndef TULLE_DEVICE_CUDA_CUDA_DEVICE_H
#define TULLE_DEVICE_CUDA_CUDA_DEVICE_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <pthread.h>

#include "base/error.h"
#include "base/module/module.h"
#include "device/device.h"
#include "device/device_arena.h"

/* Functions that libtulle has handed over; written once, when the module is loaded. */
extern const tulle__module_host *tulle__cuda_host;

/* The driver's calls that tell and choose the context of a thread, found through the runtime. */
typedef struct tulle__cuda_driver {
    int (*current)(void **context);
    int (*choose)(void *context);
} tulle__cuda_driver;

/* The variable that says how many hardware queues there are. */
#define TULLE__CUDA_CONNECTIONS "CUDA_DEVICE_MAX_CONNECTIONS"

/* Kernels where cuSPARSE has some: its own, ours, or the faster of both (the option kernels=). */
enum { TULLE__CUDA_LIBRARY, TULLE__CUDA_OWN, TULLE__CUDA_MEASURED };

/* A chain that was timed; and which kernel chains of a kind take (cuda_choice.c). */
struct tulle__cuda_trial {
    cudaEvent_t begin, end;
    int begun;
    double multiplications;
};
enum { TULLE__CUDA_CHOICES = 32, TULLE__CUDA_TRIES = 2 };
struct tulle__cuda_choice {
    int key, chosen; /* chosen: 1 ours, 0 the library's, -1 not known yet */
    struct tulle__cuda_trial trial[2][TULLE__CUDA_TRIES];
};

/* A GPU of the process, which all its devices share (cuda_gpu.c). */
typedef struct tulle__cuda_gpu {
    struct tulle__cuda_gpu *next;
    int ordinal;
    int users; /* shares; under the table's lock, as these are */
    struct tulle__cuda_share *shares;
    tulle__cuda_driver driver;
    char name[64];
    size_t piece;      /* least bytes of a piece of an arena */
    int processors;    /* multiprocessors */
    size_t shared;     /* bytes of shared memory that a block may have */
    size_t blas_bytes; /* of cuBLAS's workspace */
    /* 1: all above is known; libraries are started, and kernels loaded (cuda_start.c). Under `start`. */
    pthread_mutex_t start;
    int opened, started;
    /* Handles, under `libraries`; NULL until the first use, the solver's until eigenvectors are wanted. */
    pthread_mutex_t libraries;
    cusparseHandle_t sparse;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t solver_params;
    /* The context is lost: CUDA forgives some errors never. The first cause stays; lost is 0 before it is whole. */
    pthread_mutex_t loss;
    int lost;
    char cause[TULLE_MESSAGE_MAX];
} tulle__cuda_gpu;

/* Share of a GPU that the devices of one owner have: an arena, from which all their buffers and workspaces come. */
typedef struct tulle__cuda_share {
    struct tulle__cuda_share *next;
    tulle__cuda_gpu *gpu;
    const void *owner; /* the PE; NULL: one device */
    int users;         /* devices, and teams that retain it */
    const tulle__device_arena_ops *arenas;
    tulle__device_arena *arena;
} tulle__cuda_share;

/* Memory of a queue for libraries and kernels. */
typedef struct tulle__cuda_scratch_block {
    tulle__device_arena_block block;
    size_t bytes; /* 0: there is none */
} tulle__cuda_scratch_block;

/* A device: a PE's part of a GPU. */
typedef struct tulle__cuda {
    tulle__device device;
    tulle__cuda_share *share;
    tulle__cuda_gpu *gpu; /* the share's */
    size_t piece;         /* least bytes of a piece; 0: each buffer is one (piece=0) */
    int kernels;
    int sharers;            /* PEs of the host that have the same GPU */
    int connections;        /* hardware queues: kernels of more streams wait for each other */
    size_t capacities;      /* bytes that queues have for libraries and kernels */
    size_t capacities_kept; /* of these, beside the capacity */
    unsigned refused;       /* bits: what cuSPARSE has not supported (cuda_refused.c) */
    struct tulle__cuda_choice choice[TULLE__CUDA_CHOICES];
    int nchoices;
    tulle__timeline *kernels_line, *copies_line;
    int broken; /* queues of which a copy has failed, not reported yet */
} tulle__cuda;

/* A span of work whose time is known when the device has done it. */
typedef struct tulle__cuda_span {
    cudaEvent_t begin, end;
    const char *name;
    int kind; /* tulle__copy_kind, or TULLE__CUDA_KERNEL */
    int64_t bytes;
} tulle__cuda_span;

enum { TULLE__CUDA_SPANS = 64, TULLE__CUDA_KERNEL = TULLE__COPY_KINDS };

struct tulle__device_queue {
    tulle__cuda *cuda;
    cudaStream_t stream;
    tulle_status status;
    int breaks;   /* 1: it is one of cuda->broken */
    void *before; /* the caller's context, while a call is under way */
    char message[TULLE_MESSAGE_MAX];
    tulle__cuda_scratch_block workspace,
        old_workspace;  /* for tasks without a workspace; that of work which may not be done */
    cudaEvent_t origin; /* at host time origin_ns */
    int64_t origin_ns;
    int first_span, nspans; /* a ring: of what is not reported yet */
    tulle__cuda_span span[TULLE__CUDA_SPANS];
};

/* ---- cuda_gpu.c ---- */

/* Makes the device a user of what its owner shares on the GPU, which the first user opens. On failure nothing is to be
 * released. */
tulle_status tulle__cuda_gpu_open(tulle__cuda *cuda, int ordinal, const tulle__device_setting *setting);
/* The calls of the contract (device.h). */
void *tulle__cuda_retain(tulle__device *device);
void tulle__cuda_release(void *share);
/* Bytes of the GPU that arenas of this process hold and that are free. */
size_t tulle__cuda_idle(tulle__cuda_gpu *gpu);
/* Idle pieces of other owners' arenas go back to the GPU. 1: there were some. */
int tulle__cuda_trim_others(tulle__cuda *cuda);
tulle_status tulle__cuda_state(tulle__device *device);

/* Held from the choice of a handle's stream to the last call that depends on it: handles are the process's. */
static inline void tulle__cuda_lock_libraries(tulle__cuda *cuda)
{
    pthread_mutex_lock(&cuda->gpu->libraries);
}

static inline void tulle__cuda_unlock_libraries(tulle__cuda *cuda)
{
    pthread_mutex_unlock(&cuda->gpu->libraries);
}

/*
 * Between the two this thread works on the GPU; behind, its context is the caller's again. Fails, with the cause, on a
 * GPU that is lost; then there is nothing to leave.
 */
tulle_status tulle__cuda_enter(tulle__cuda *cuda, void **before);
/* The same for what frees, or waits for, what is there, also of a lost GPU: a call without it would give a thread that
 * has no context one. */
void tulle__cuda_enter_anyway(tulle__cuda *cuda, void **before);
void tulle__cuda_leave(const tulle__cuda *cuda, void *before);

/* TULLE_OK, or why not, with `what` was asked for; finds out whether the GPU is lost. */
tulle_status tulle__cuda_check(tulle__cuda *cuda, cudaError_t error, const char *what);

tulle_status tulle__cuda_check_sparse(tulle__cuda *cuda, cusparseStatus_t error);
tulle_status tulle__cuda_check_blas(tulle__cuda *cuda, cublasStatus_t error);

/* 1: no error; else it is forgotten, so that the next call does not return it. */
int tulle__cuda_quietly(cudaError_t error);

/* ---- cuda_device.c ---- */

void *tulle__cuda_at(const tulle__device_place *place);

/* ---- cuda_queue.c ---- */

/* The calls of the contract (device.h). */
tulle_status tulle__cuda_queue_new(tulle__device *device, tulle__device_queue **queue);
/* A queue of a GPU that is being started. */
tulle_status tulle__cuda_queue_make(tulle__cuda *cuda, tulle__device_queue **queue);
void tulle__cuda_queue_free(tulle__device *device, tulle__device_queue *queue);
tulle_status tulle__cuda_queue_wait(tulle__device_queue *queue);
tulle_status tulle__cuda_event_new(tulle__device *device, tulle__device_event **event);
void tulle__cuda_event_free(tulle__device *device, tulle__device_event *event);
void tulle__cuda_record(tulle__device_queue *queue, tulle__device_event *event);
void tulle__cuda_join(tulle__device_queue *queue, tulle__device_event *event);
void tulle__cuda_event_wait(tulle__device_event *event);
int tulle__cuda_event_done(tulle__device_event *event);
void tulle__cuda_upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes);
void tulle__cuda_download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes);
void tulle__cuda_copy(tulle__device_queue *queue, const tulle__device_copy *copy);

/* The status sticks to the queue, with the last message. */
void tulle__cuda_stick(tulle__device_queue *queue, tulle_status status);

/* 1: a kernel may be started in the queue, and finish follows. */
int tulle__cuda_start_kernel(tulle__device_queue *queue, const char *name);
/* Records the outcome of the start. */
void tulle__cuda_finish_kernel(tulle__device_queue *queue, tulle_status status);

/* ---- the kernels of the contract ---- */

#define TULLE__CUDA_KERNEL(kind, name, type)                                                                           \
    void tulle__cuda_queue_##name(tulle__device_queue *queue, const type *task);
TULLE__DEVICE_KERNEL_LIST(TULLE__CUDA_KERNEL)
#undef TULLE__CUDA_KERNEL

/* ---- cuda_sparse.c ---- */

/* Bytes of a value; a module imports nothing. */
static inline size_t tulle__cuda_size(tulle_type type)
{
    return type == TULLE_F32 ? sizeof(float) : sizeof(double);
}

tulle_status tulle__cuda_workspace(tulle__device *device, const tulle__slab_task *task, size_t *bytes);
tulle_status tulle__cuda_prepare(
    tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **prepared);
void tulle__cuda_forget(tulle__device *device, tulle__device_prepared *prepared);

/* ---- cuda_choice.c ---- */

/* kernels=measured: 1: our kernel multiplies; *trial: record its events around it; NULL: there are none. */
int tulle__cuda_choose(tulle__device_queue *queue, const tulle__device_chain *task, struct tulle__cuda_trial **trial);
void tulle__cuda_choices_free(tulle__cuda *cuda);

/* ---- cuda_product.c ---- */

tulle_status tulle__cuda_queue_product(tulle__device_queue *queue, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts);

/* ---- cuda_block_product.c ---- */

/* The same in blocks, within a kernel that has been started. */
tulle_status tulle__cuda_block_product(tulle__device_queue *queue, const tulle__device_product *task,
    tulle__device_result place, void *context, tulle__device_product_counts *counts);

/* Likewise the values of a C whose structure is there. */
tulle_status tulle__cuda_block_values(
    tulle__device_queue *queue, const tulle__device_product *task, const tulle__device_tile *there);

/* ---- cuda_eigen.c ---- */

tulle_status tulle__cuda_eigen_bytes(tulle__device *device, const tulle__device_eigen *task, size_t *bytes);

/* ---- cuda_together.c ---- */

tulle_status tulle__cuda_reach(tulle__device *device, const tulle__device *other);
tulle_status tulle__cuda_waits(tulle__device *device, int queues);

/* ---- cuda_memory.c ---- */

/* Bytes of a card of `whole` bytes that each process leaves free for what is loaded and taken later. */
size_t tulle__cuda_reserved(size_t whole);
/* Bytes of the workspace of cuBLAS. */
size_t tulle__cuda_blas_bytes(size_t whole, int major);
/* Sets what this PE has: its part of the `left` bytes that are free and of the `idle` ones of this process's arenas,
 * beside what is kept for so many processes. */
void tulle__cuda_divide(tulle__cuda *cuda, size_t left, size_t idle, size_t whole, int processes);

/* cuSPARSE refuses NULL in some releases even if it wants nothing. */
enum { TULLE__CUDA_WORKSPACE_LEAST = 256 };
/* Workspace of the queue for a library, of at least so many bytes: *workspace. It stays until more is asked for. */
tulle_status tulle__cuda_scratch(tulle__device_queue *queue, size_t bytes, void **workspace);
/* Gives back a workspace that nothing uses, if there is one. */
void tulle__cuda_scratch_give(tulle__device_queue *queue, tulle__cuda_scratch_block *workspace);

/* A block of the arena; `still`: bytes of the capacity that others may take behind it. */
tulle_status tulle__cuda_take(
    tulle__cuda *cuda, size_t bytes, size_t still, const char *what, tulle__device_arena_block *block);
void tulle__cuda_give(tulle__cuda *cuda, const tulle__device_arena_block *block);
/* Source of pieces; for an arena that is freed cuda is NULL. */
tulle__device_arena_source tulle__cuda_source(tulle__cuda *cuda);
/* Least bytes of a piece on a card of `whole` bytes. */
size_t tulle__cuda_piece(size_t whole);

/* Rooms that had `old` bytes have `now`: what all of them take beyond rooms_kept counts against the device's memory.
 * 0: that is not there, and nothing changes. */
int tulle__cuda_count_workspace(tulle__cuda *cuda, size_t old, size_t now);

/* ---- cuda_start.c ---- */

/* Loads and starts all that products and solves need, once a GPU; with its context. */
tulle_status tulle__cuda_start(tulle__cuda *cuda);
/* Outcome of loading kernels: TULLE_ERR_UNSUPPORTED if there is no code for the GPU. */
tulle_status tulle__cuda_check_code(tulle__cuda *cuda, cudaError_t error);
/* Hardware queues of a GPU, as the environment has them when CUDA starts. */
int tulle__cuda_connections(void);

/* ---- cuda_refused.c ---- */

/* Products of cuSPARSE that it may not support, each for f32 and f64. */
enum tulle__cuda_kind {
    TULLE__CUDA_CSR_VECTOR,
    TULLE__CUDA_CSR_VECTORS,
    TULLE__CUDA_BSR_VECTOR,
    TULLE__CUDA_BSR_VECTORS,
    TULLE__CUDA_TILE,
    TULLE__CUDA_TILE_TRANSPOSED /* B is column-major */
};

/* 1: cuSPARSE has refused such a product, which is our kernels' then; the report says so. */
int tulle__cuda_refused(tulle__cuda *cuda, enum tulle__cuda_kind kind, tulle_type type);
/* 1: `status` is cuSPARSE's "not supported". It refuses such products from now on. */
int tulle__cuda_refuse(tulle__cuda *cuda, enum tulle__cuda_kind kind, tulle_type type, tulle_status status);

#endif
