/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of the process. Each is opened once, with its facts, loaded kernels and handles of libraries, for all devices
 * (tulle__cuda) on it, of any PE, plan and team. Those of a PE share an arena of its memory. Devices and teams use
 * shares, and these a GPU; the last user closes either, and a failed opening or start is tried again by the next. The
 * context of the calling thread is the caller's again when a call returns. Errors that CUDA does not forgive (an
 * illegal address, a lost card) are reported with their first cause from then on; devices that are opened afterwards
 * find out anew.
 *
 * Locks, in this order: `start` while a GPU is opened or started; `libraries` from the choice of a handle's stream to
 * the last call that depends on it. Calls under them may wait for work of the device: kernels that wait for another
 * PE's are started with neither, by PEs that have their queues already. The table's lock and `loss` are held for no
 * call of CUDA. An arena's own lock is taken last; calls under it may wait for the device, so other PEs only try it.
 */
#include "device/cuda/cuda_device.h"

#include <stdio.h>
#include <string.h>

#include "device/cuda/kernels/cuda_kernels.h"

static struct {
    pthread_mutex_t lock;
    tulle__cuda_gpu *first;
} cuda_gpus = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* ---- errors ---- */

int tulle__cuda_quietly(cudaError_t error)
{
    if (error != cudaSuccess) (void)cudaGetLastError();
    return error == cudaSuccess;
}

/* After an error: tests if a call fails that has no reason to. */
static void find_loss(tulle__cuda_gpu *gpu, const char *what, const char *error)
{
    size_t left, whole;
    if (tulle__cuda_quietly(cudaMemGetInfo(&left, &whole))) return;
    pthread_mutex_lock(&gpu->loss);
    if (!gpu->lost)
        snprintf(gpu->cause, sizeof gpu->cause, "GPU %d cannot be used any more in this process: CUDA, %s: %s",
            gpu->ordinal, what, error);
    __atomic_store_n(&gpu->lost, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&gpu->loss);
}

static tulle_status report_loss(const tulle__cuda_gpu *gpu)
{
    if (!__atomic_load_n(&gpu->lost, __ATOMIC_ACQUIRE)) return TULLE_OK;
    return tulle__cuda_host->fail(TULLE_ERR_COMM, "%s", gpu->cause);
}

tulle_status tulle__cuda_state(tulle__device *device)
{
    return report_loss(((const tulle__cuda *)device)->gpu);
}

static tulle_status check(tulle__cuda_gpu *gpu, cudaError_t error, const char *what)
{
    if (tulle__cuda_quietly(error)) return TULLE_OK;
    find_loss(gpu, what, cudaGetErrorString(error));
    tulle_status lost = report_loss(gpu);
    if (lost != TULLE_OK) return lost;
    return tulle__cuda_host->fail(error == cudaErrorMemoryAllocation ? TULLE_ERR_MEMORY : TULLE_ERR_COMM,
        "CUDA, %s: %s", what, cudaGetErrorString(error));
}

tulle_status tulle__cuda_check(tulle__cuda *cuda, cudaError_t error, const char *what)
{
    return check(cuda->gpu, error, what);
}

tulle_status tulle__cuda_check_blas(tulle__cuda *cuda, cublasStatus_t error)
{
    if (error == CUBLAS_STATUS_SUCCESS) return TULLE_OK;
    find_loss(cuda->gpu, "cuBLAS", cublasGetStatusString(error));
    tulle_status lost = report_loss(cuda->gpu);
    if (lost != TULLE_OK) return lost;
    return tulle__cuda_host->fail(error == CUBLAS_STATUS_ALLOC_FAILED ? TULLE_ERR_MEMORY : TULLE_ERR_COMM, "cuBLAS: %s",
        cublasGetStatusString(error));
}

tulle_status tulle__cuda_check_sparse(tulle__cuda *cuda, cusparseStatus_t error)
{
    if (error == CUSPARSE_STATUS_SUCCESS) return TULLE_OK;
    find_loss(cuda->gpu, "cuSPARSE", cusparseGetErrorString(error));
    tulle_status lost = report_loss(cuda->gpu);
    if (lost != TULLE_OK) return lost;
    return tulle__cuda_host->fail(error == CUSPARSE_STATUS_NOT_SUPPORTED  ? TULLE_ERR_UNSUPPORTED
                                  : error == CUSPARSE_STATUS_ALLOC_FAILED ? TULLE_ERR_MEMORY
                                                                          : TULLE_ERR_COMM,
        "cuSPARSE: %s", cusparseGetErrorString(error));
}

/* ---- contexts ---- */

static void leave(const tulle__cuda_gpu *gpu, void *before)
{
    void *mine = NULL;
    if (gpu->driver.current(&mine) == 0 && mine != before) (void)gpu->driver.choose(before);
}

static void enter_anyway(tulle__cuda_gpu *gpu, void **before)
{
    if (gpu->driver.current(before) != 0) *before = NULL;
    (void)check(gpu, cudaSetDevice(gpu->ordinal), "choosing the device");
}

tulle_status tulle__cuda_enter(tulle__cuda *cuda, void **before)
{
    tulle__cuda_gpu *gpu = cuda->gpu;
    TULLE_CALL(report_loss(gpu));
    if (gpu->driver.current(before) != 0)
        return tulle__cuda_host->fail(TULLE_ERR_COMM, "CUDA: the current context is not known");
    tulle_status status = check(gpu, cudaSetDevice(gpu->ordinal), "choosing the device");
    if (status != TULLE_OK) leave(gpu, *before);
    return status;
}

void tulle__cuda_enter_anyway(tulle__cuda *cuda, void **before)
{
    enter_anyway(cuda->gpu, before);
}

void tulle__cuda_leave(const tulle__cuda *cuda, void *before)
{
    leave(cuda->gpu, before);
}

static tulle_status find_driver(tulle__cuda_driver *driver)
{
    static const char *const names[] = {"cuCtxGetCurrent", "cuCtxSetCurrent"};
    void *found[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        enum cudaDriverEntryPointQueryResult result;
        cudaError_t error = cudaGetDriverEntryPointByVersion(names[i], &found[i], 12000, cudaEnableDefault, &result);
        if (tulle__cuda_quietly(error) && result == cudaDriverEntryPointSuccess) continue;
        return tulle__cuda_host->fail(TULLE_ERR_UNSUPPORTED, "the CUDA driver has no %s", names[i]);
    }
    memcpy(&driver->current, &found[0], sizeof found[0]);
    memcpy(&driver->choose, &found[1], sizeof found[1]);
    return TULLE_OK;
}

/* ---- opening and closing ---- */

/* Reads facts of the GPU, with its context chosen; the kernels of one file show if there is code for it. */
static tulle_status read_facts(tulle__cuda *cuda)
{
    tulle__cuda_gpu *gpu = cuda->gpu;
    struct cudaDeviceProp facts;
    size_t left = 0, whole = 0;
    TULLE_CALL(check(gpu, cudaGetDeviceProperties(&facts, gpu->ordinal), "the device's properties"));
    TULLE_CALL(tulle__cuda_check_code(cuda, tulle__cuda_load_scan()));
    TULLE_CALL(check(gpu, cudaMemGetInfo(&left, &whole), "the device's memory"));
    snprintf(gpu->name, sizeof gpu->name, "%.60s", facts.name);
    gpu->shared = facts.sharedMemPerBlockOptin;
    gpu->processors = facts.multiProcessorCount;
    gpu->piece = tulle__cuda_piece(whole);
    gpu->blas_bytes = tulle__cuda_blas_bytes(whole, facts.major);
    return TULLE_OK;
}

static tulle_status open_gpu(tulle__cuda *cuda)
{
    void *before;
    TULLE_CALL(find_driver(&cuda->gpu->driver));
    TULLE_CALL(tulle__cuda_enter(cuda, &before));
    tulle_status status = read_facts(cuda);
    cuda->gpu->opened = status == TULLE_OK;
    tulle__cuda_leave(cuda, before);
    return status;
}

/* The memory is the process's: a GPU may outlive the PE that opens it. */
static tulle__cuda_gpu *make_gpu(int ordinal)
{
    tulle__cuda_gpu *gpu = NULL;
    tulle__account *before = tulle__cuda_host->account_enter(NULL);
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof *gpu, "a GPU", &gpu);
    tulle__cuda_host->account_enter(before);
    if (status != TULLE_OK) return NULL;
    gpu->ordinal = ordinal;
    pthread_mutex_init(&gpu->start, NULL);
    pthread_mutex_init(&gpu->libraries, NULL);
    pthread_mutex_init(&gpu->loss, NULL);
    return gpu;
}

/* A lost GPU stays with its users; others open it again. NULL: no memory, message set. */
static tulle__cuda_gpu *find_gpu(int ordinal)
{
    tulle__cuda_gpu *gpu;
    pthread_mutex_lock(&cuda_gpus.lock);
    for (gpu = cuda_gpus.first; gpu; gpu = gpu->next)
        if (gpu->ordinal == ordinal && !__atomic_load_n(&gpu->lost, __ATOMIC_ACQUIRE)) break;
    if (!gpu && (gpu = make_gpu(ordinal))) {
        gpu->next = cuda_gpus.first;
        cuda_gpus.first = gpu;
    }
    if (gpu) gpu->users++;
    pthread_mutex_unlock(&cuda_gpus.lock);
    return gpu;
}

static void close_gpu(tulle__cuda_gpu *gpu)
{
    void *before;
    if (gpu->sparse || gpu->solver) {
        enter_anyway(gpu, &before);
        if (gpu->sparse) (void)cusparseDestroy(gpu->sparse);
        if (gpu->blas) (void)cublasDestroy(gpu->blas);
        if (gpu->solver_params) (void)cusolverDnDestroyParams(gpu->solver_params);
        if (gpu->solver) (void)cusolverDnDestroy(gpu->solver);
        leave(gpu, before);
    }
    pthread_mutex_destroy(&gpu->start);
    pthread_mutex_destroy(&gpu->libraries);
    pthread_mutex_destroy(&gpu->loss);
    tulle__cuda_host->free(gpu);
}

static void release_gpu(tulle__cuda_gpu *gpu)
{
    pthread_mutex_lock(&cuda_gpus.lock);
    int last = --gpu->users == 0;
    for (tulle__cuda_gpu **at = &cuda_gpus.first; last && *at; at = &(*at)->next)
        if (*at == gpu) {
            *at = gpu->next;
            break;
        }
    pthread_mutex_unlock(&cuda_gpus.lock);
    if (last) close_gpu(gpu);
}

/* ---- shares ---- */

/* The owner's share of the GPU, and one user more. Under the table's lock; NULL: there is none. */
static tulle__cuda_share *find_share(const tulle__cuda_gpu *gpu, const void *owner)
{
    for (tulle__cuda_share *s = owner ? gpu->shares : NULL; s; s = s->next)
        if (s->owner == owner) {
            s->users++;
            return s;
        }
    return NULL;
}

static tulle_status make_share(tulle__cuda_gpu *gpu, const tulle__device_setting *setting, tulle__cuda_share **share)
{
    tulle__account *before = tulle__cuda_host->account_enter(NULL);
    tulle_status status = tulle__cuda_host->alloc_zero(1, sizeof **share, "memory of a GPU", share);
    if (status == TULLE_OK) {
        (*share)->gpu = gpu;
        (*share)->owner = setting->owner;
        (*share)->users = 1;
        (*share)->arenas = setting->arenas;
        status = setting->arenas->make(&(*share)->arena);
        if (status != TULLE_OK) tulle__cuda_host->free(*share);
    }
    tulle__cuda_host->account_enter(before);
    return status;
}

/* The share is a user of the GPU in place of the caller, unless there was one. */
static tulle_status enter_share(tulle__cuda *cuda, const tulle__device_setting *setting)
{
    tulle__cuda_gpu *gpu = cuda->gpu;
    tulle_status status = TULLE_OK;
    pthread_mutex_lock(&cuda_gpus.lock);
    if ((cuda->share = find_share(gpu, setting->owner)))
        gpu->users--;
    else if ((status = make_share(gpu, setting, &cuda->share)) == TULLE_OK) {
        cuda->share->next = gpu->shares;
        gpu->shares = cuda->share;
    }
    pthread_mutex_unlock(&cuda_gpus.lock);
    return status;
}

tulle_status tulle__cuda_gpu_open(tulle__cuda *cuda, int ordinal, const tulle__device_setting *setting)
{
    tulle_status status = TULLE_OK;
    if (!(cuda->gpu = find_gpu(ordinal))) return TULLE_ERR_MEMORY;
    pthread_mutex_lock(&cuda->gpu->start);
    if (!cuda->gpu->opened) status = open_gpu(cuda);
    pthread_mutex_unlock(&cuda->gpu->start);
    if (status == TULLE_OK) status = enter_share(cuda, setting);
    if (status != TULLE_OK) release_gpu(cuda->gpu);
    return status;
}

static void close_share(tulle__cuda_share *share)
{
    const tulle__device_arena_source source = tulle__cuda_source(NULL);
    size_t held, used;
    void *before;
    share->arenas->sizes(share->arena, &held, &used);
    if (held) enter_anyway(share->gpu, &before);
    share->arenas->free(share->arena, &source);
    if (held) leave(share->gpu, before);
    release_gpu(share->gpu);
    tulle__cuda_host->free(share);
}

void *tulle__cuda_retain(tulle__device *device)
{
    tulle__cuda_share *share = ((tulle__cuda *)device)->share;
    pthread_mutex_lock(&cuda_gpus.lock);
    share->users++;
    pthread_mutex_unlock(&cuda_gpus.lock);
    return share;
}

void tulle__cuda_release(void *shared)
{
    tulle__cuda_share *share = shared;
    pthread_mutex_lock(&cuda_gpus.lock);
    int last = --share->users == 0;
    for (tulle__cuda_share **at = &share->gpu->shares; last && *at; at = &(*at)->next)
        if (*at == share) {
            *at = share->next;
            break;
        }
    pthread_mutex_unlock(&cuda_gpus.lock);
    if (last) close_share(share);
}

size_t tulle__cuda_idle(tulle__cuda_gpu *gpu)
{
    size_t idle = 0;
    pthread_mutex_lock(&cuda_gpus.lock);
    for (const tulle__cuda_share *s = gpu->shares; s; s = s->next) {
        size_t held, used;
        s->arenas->sizes(s->arena, &held, &used);
        if (held > used) idle += held - used;
    }
    pthread_mutex_unlock(&cuda_gpus.lock);
    return idle;
}

/* The n-th share of the GPU, and one user more; NULL: there are fewer. */
static tulle__cuda_share *nth_share(const tulle__cuda_gpu *gpu, int n)
{
    pthread_mutex_lock(&cuda_gpus.lock);
    tulle__cuda_share *s = gpu->shares;
    while (s && n--) s = s->next;
    if (s) s->users++;
    pthread_mutex_unlock(&cuda_gpus.lock);
    return s;
}

int tulle__cuda_trim_others(tulle__cuda *cuda)
{
    const tulle__device_arena_source source = tulle__cuda_source(NULL);
    tulle__cuda_share *share;
    int some = 0;
    for (int n = 0; (share = nth_share(cuda->gpu, n)); n++) {
        if (share != cuda->share) some |= share->arenas->trim(share->arena, &source);
        tulle__cuda_release(share);
    }
    return some;
}
