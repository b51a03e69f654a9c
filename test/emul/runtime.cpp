/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, errors and launches. The n-th call that can fail does so if it is asked for; an error that CUDA would not
 * forgive makes all later calls of that device fail. The current device is each thread's own, as with CUDA.
 */
#include "block.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <set>
#include <string>
#include <unistd.h>

namespace emul
{

namespace
{
thread_local cudaError_t last = cudaSuccess;
thread_local int chosen = 0;          /* the thread's device; meant by calls even if it has no context yet */
thread_local void *context = nullptr; /* that of the device, once it was chosen */
char contexts[DEVICES];

/* As NVIDIA's tables have them. Older than the first row: there is no code for them, which CUDA 13 cannot make. */
const capability capabilities[] = {
    {7, 5, 64 << 10, 1024},
    {8, 0, 163 << 10, 2048},
    {8, 6, 99 << 10, 1536},
    {9, 0, 227 << 10, 2048},
    {12, 0, 99 << 10, 1536},
};

bool is_older(const capability &a, const capability &b)
{
    return a.major < b.major || (a.major == b.major && a.minor < b.minor);
}

bool has_code()
{
    return !is_older(here().gpu, capabilities[0]);
}

void set_capability(capability *gpu, const char *number)
{
    if (sscanf(number, "%d.%d", &gpu->major, &gpu->minor) != 2) return;
    for (const capability &c : capabilities) {
        if (is_older(*gpu, c)) break;
        gpu->shared = c.shared;
        gpu->threads = c.threads;
    }
}

/* Dynamic shared memory that was asked for beyond what each kernel has. */
std::map<const void *, size_t> &asked()
{
    static auto *all = new std::map<const void *, size_t>;
    return *all;
}

/* Kernels that were loaded, by device. A program that loads some loads all: the first launch of another would wait for
 * kernels that may wait for it. */
std::set<std::pair<int, const void *>> &loaded()
{
    static auto *all = new std::set<std::pair<int, const void *>>;
    return *all;
}

/* EMUL_KERNELS: a file to which is added that a kernel was loaded, or launched, with its place in the module. */
void note(const char *what, const void *kernel)
{
    static const char *const name = getenv("EMUL_KERNELS");
    static auto *noted = new std::set<std::pair<const char *, const void *>>;
    Dl_info module;
    held lock(here().lock);
    FILE *file = name && noted->insert({what, kernel}).second && dladdr(kernel, &module) ? fopen(name, "a") : nullptr;
    if (!file) return;
    fprintf(file, "%s %zx\n", what, reinterpret_cast<size_t>(kernel) - reinterpret_cast<size_t>(module.dli_fbase));
    fclose(file);
}

/* Counts of calls by name; EMUL_CALLS: a file to which it is added at the end. */
std::map<std::string, int64_t> &counts()
{
    static auto *all = new std::map<std::string, int64_t>;
    return *all;
}

struct tell_counts {
    ~tell_counts()
    {
        const char *name = getenv("EMUL_CALLS");
        FILE *file = name ? fopen(name, "a") : nullptr;
        if (!file) return;
        for (const auto &c : counts()) fprintf(file, "%lld %s\n", static_cast<long long>(c.second), c.first.c_str());
        fclose(file);
    }
};

/* A process that did what CUDA does not allow does not end well, whatever its own status is. */
struct end_badly {
    ~end_badly()
    {
        if (!here().complaints) return;
        fprintf(stderr, "emul: %d complaint(s)\n", here().complaints);
        fflush(nullptr);
        _exit(EXIT_COMPLAINED);
    }
} at_end;
tell_counts before_end; /* the last one is taken down first */
} // namespace

thread_local const char *doing = "";

house::house()
{
    if (const char *s = getenv("EMUL_DEVICES")) devices = atoi(s);
    if (devices < 0 || devices > DEVICES) devices = DEVICES;
    if (const char *s = getenv("EMUL_MEMORY")) memory = strtoull(s, nullptr, 10);
    if (const char *s = getenv("EMUL_WHEN")) when = !strcmp(s, "eager") ? EAGER : LATE;
    if (const char *s = getenv("EMUL_SEED")) {
        seed = strtoull(s, nullptr, 10) * 0x9e3779b97f4a7c15u | 1;
        when = NOW_AND_THEN;
    }
    if (const char *s = getenv("EMUL_PATIENCE")) patience = atoi(s);
    if (const char *s = getenv("EMUL_GUARD")) guard = atoi(s) != 0;
    if (const char *s = getenv("EMUL_ALIGNED")) aligned = atoi(s) != 0;
    if (const char *s = getenv("EMUL_ASKED")) asked = atoi(s) != 0;
    if (const char *s = getenv("EMUL_PAGEABLE")) pageable = strtoull(s, nullptr, 10);
    if (const char *s = getenv("EMUL_UNSUPPORTED")) refused = s;
    if (const char *s = getenv("EMUL_PINS")) pins = atoi(s) != 0;
    if (const char *s = getenv("EMUL_ACROSS")) across = atoi(s);
    if (const char *s = getenv("EMUL_CAPABILITY")) set_capability(&gpu, s);
}

house &here()
{
    static house *one = new house; /* never taken down: other threads may still use it */
    return *one;
}

uint64_t random_next(uint64_t &state)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int current()
{
    return chosen;
}

cudaError_t remember(cudaError_t error)
{
    last = error;
    return error;
}

void touch_context()
{
    if (!context) context = &contexts[chosen];
}

cudaError_t enter(const char *call, cudaError_t how)
{
    house &h = here();
    touch_context();
    held lock(h.lock);
    if (h.lost[chosen] != cudaSuccess) return remember(h.lost[chosen]);
    counts()[call]++;
    int64_t n = h.calls++;
    if (n == h.breaks_at) {
        h.lost[chosen] = cudaErrorECCUncorrectable;
        fprintf(stderr, "emul: device %d is lost at call %lld, %s, as asked for\n", chosen, static_cast<long long>(n),
            call);
        return remember(h.lost[chosen]);
    }
    if (n != h.fails_at) return cudaSuccess;
    fprintf(stderr, "emul: call %lld, %s, fails as asked for\n", static_cast<long long>(n), call);
    return remember(how);
}

void count(const char *what)
{
    held lock(here().lock);
    counted(what);
}

void counted(const char *what)
{
    counts()[what]++;
}

void complain(const char *what)
{
    held lock(here().lock);
    blamed(what);
}

void blamed(const char *what)
{
    if (here().complaints++ < 20) fprintf(stderr, "emul: %s%s%s\n", doing, *doing ? ": " : "", what);
}

void lose(int device, cudaError_t error, const char *)
{
    held lock(here().lock);
    if (here().lost[device] == cudaSuccess) here().lost[device] = error;
}

} // namespace emul

using namespace emul;

int64_t emul_across(void)
{
    return here().across;
}

cudaError_t emul_launch(
    const void *kernel, const emul_shape &shape, void (*run)(void *), void *arguments, void (*drop)(void *))
{
    cudaError_t error = enter("a launch", cudaErrorLaunchOutOfResources);
    size_t threads = size_t(shape.threads.x) * shape.threads.y * shape.threads.z, most = SHARED_UNASKED;
    bool raised;
    int device = device_of(shape.stream);
    uint64_t seed = 0;
    bool unloaded = false;
    {
        held lock(here().lock);
        unloaded = !loaded().empty() && !loaded().count({device, kernel});
        auto it = asked().find(kernel);
        raised = it != asked().end() && it->second > most;
        if (raised) most = it->second;
        if (here().seed) seed = random_next(here().seed);
    }
    note("launched", kernel);
    if (unloaded) complain("a kernel is started that was not loaded with the others");
    if (error == cudaSuccess && (threads == 0 || threads > 1024 || shape.threads.z > 64 || !shape.blocks.x ||
                                    !shape.blocks.y || !shape.blocks.z || shape.blocks.x > 0x7fffffffu ||
                                    shape.blocks.y > here().across || shape.blocks.z > here().across))
        error = remember(cudaErrorInvalidConfiguration);
    if (error == cudaSuccess && !has_code()) error = remember(cudaErrorNoKernelImageForDevice);
    uint64_t blocks = uint64_t(shape.blocks.x) * shape.blocks.y * shape.blocks.z;
    if (error == cudaSuccess && shape.resident &&
        blocks > uint64_t(resident_blocks(static_cast<int>(threads), shape.shared)) * PROCESSORS) {
        fprintf(stderr, "emul: a launch of %llu blocks that wait for each other, of which %d run at the same time\n",
            static_cast<unsigned long long>(blocks),
            resident_blocks(static_cast<int>(threads), shape.shared) * PROCESSORS);
        error = remember(cudaErrorCooperativeLaunchTooLarge);
    }
    if (error == cudaSuccess && shape.shared > most) {
        fprintf(stderr, "emul: a launch with %zu bytes of shared memory; its kernel may have %zu%s\n", shape.shared,
            most, raised ? "" : " until cudaFuncSetAttribute asks for more");
        error = remember(cudaErrorInvalidValue);
    }
    if (error == cudaSuccess && device != current()) error = remember(cudaErrorInvalidResourceHandle);
    if (error != cudaSuccess) {
        drop(arguments);
        return error;
    }
    /* whoever lets go of them last does so behind the kernel, which the thread sanitizer does not see by itself */
    std::shared_ptr<void> kept(arguments, [drop](void *at) {
        EMUL_ACQUIRE(at);
        drop(at);
    });
    emul_shape whole = shape;
    whole.shared_most = raised ? here().gpu.shared : size_t(SHARED_UNASKED);
    enqueue(shape.stream, "a kernel", [=]() {
        if (!run_grid(whole, run, kept.get(), seed)) lose(device, cudaErrorLaunchFailure, "a kernel");
        EMUL_RELEASE(kept.get());
    });
    return cudaSuccess;
}

#define VISIBLE __attribute__((visibility("default")))

extern "C" {

/* For tests: the n-th call from now that can fail does so (n = 0: the next), or loses the device for good; n < 0: none
 * does. How many there were since. */
VISIBLE void emul_fail_at(int64_t n)
{
    held lock(here().lock);
    here().calls = 0;
    here().fails_at = n;
    here().breaks_at = -1;
}

VISIBLE void emul_break_at(int64_t n)
{
    held lock(here().lock);
    here().calls = 0;
    here().breaks_at = n;
    here().fails_at = -1;
}

/* For tests: the device whose context this thread has; -1: none. It has that of another from now on. */
VISIBLE int emul_context(void)
{
    return context ? static_cast<int>(static_cast<char *>(context) - contexts) : -1;
}

VISIBLE void emul_choose(int device)
{
    chosen = device < 0 ? 0 : device;
    context = device < 0 ? nullptr : &contexts[device];
}

VISIBLE int64_t emul_calls(void)
{
    held lock(here().lock);
    return here().calls;
}

/* For tests: how often this was done, by the name that EMUL_CALLS writes. */
VISIBLE int64_t emul_count(const char *what)
{
    held lock(here().lock);
    return counts()[what];
}

/* For tests: what cuSPARSE does not support from now on, and whether only the product says so. */
VISIBLE void emul_refuse(const char *words, int late)
{
    held lock(here().lock);
    here().refused = words;
    here().refuses_late = late != 0;
}

/* For tests: lost devices are as new. */
VISIBLE void emul_repair(void)
{
    held lock(here().lock);
    for (cudaError_t &e : here().lost) e = cudaSuccess;
    here().breaks_at = here().fails_at = -1;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = last, lost = here().lost[current()];
    last = cudaSuccess;
    return lost == cudaSuccess ? error : lost;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

struct error_text {
    cudaError_t error;
    const char *name, *text;
};

static const error_text texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image is available for the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const char *cudaGetErrorString(cudaError_t error)
{
    for (const error_text &t : texts)
        if (t.error == error) return t.text;
    return "an error that the emulation has no text for";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (const error_text &t : texts)
        if (t.error == error) return t.name;
    return "cudaError";
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = here().devices;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = enter("cudaSetDevice", cudaErrorUnknown);
    if (device < 0 || device >= here().devices) return remember(cudaErrorInvalidDevice);
    if (error != cudaSuccess && here().lost[chosen] == cudaSuccess) return error;
    chosen = device;
    context = &contexts[device];
    return here().lost[device] == cudaSuccess ? cudaSuccess : remember(here().lost[device]);
}

cudaError_t cudaGetDevice(int *device)
{
    *device = chosen;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *facts, int device)
{
    cudaError_t error = enter("cudaGetDeviceProperties", cudaErrorUnknown);
    if (error != cudaSuccess) return error;
    memset(facts, 0, sizeof *facts);
    snprintf(facts->name, sizeof facts->name, "GPU %d of the emulation", device);
    facts->totalGlobalMem = here().memory;
    facts->sharedMemPerBlock = SHARED_UNASKED;
    facts->sharedMemPerBlockOptin = here().gpu.shared;
    facts->warpSize = WARP;
    facts->major = here().gpu.major;
    facts->minor = here().gpu.minor;
    facts->multiProcessorCount = PROCESSORS;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned)
{
    cudaError_t error = enter("cudaDeviceEnablePeerAccess", cudaErrorUnknown);
    if (error != cudaSuccess) return error;
    held lock(here().lock);
    if (peer < 0 || peer >= here().devices || peer == chosen) return remember(cudaErrorInvalidDevice);
    if (here().peer[chosen][peer]) return remember(cudaErrorPeerAccessAlreadyEnabled);
    here().peer[chosen][peer] = true;
    return cudaSuccess;
}

static int current_context(void **out)
{
    *out = context;
    return 0;
}

static int choose_context(void *wanted)
{
    context = wanted;
    chosen = wanted ? static_cast<int>(static_cast<char *>(wanted) - contexts) : 0;
    return 0;
}

cudaError_t cudaGetDriverEntryPointByVersion(
    const char *name, void **function, unsigned, unsigned long long, cudaDriverEntryPointQueryResult *result)
{
    *function = !strcmp(name, "cuCtxGetCurrent")   ? reinterpret_cast<void *>(current_context)
                : !strcmp(name, "cuCtxSetCurrent") ? reinterpret_cast<void *>(choose_context)
                                                   : nullptr;
    *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel)
{
    cudaError_t error = enter("cudaFuncGetAttributes", cudaErrorNoKernelImageForDevice);
    if (error != cudaSuccess) return error;
    if (!has_code()) return remember(cudaErrorNoKernelImageForDevice);
    note("loaded", kernel);
    {
        held lock(here().lock);
        loaded().insert({chosen, kernel});
    }
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->maxDynamicSharedSizeBytes = SHARED_UNASKED;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int)
{
    *value = attribute == cudaDevAttrConcurrentManagedAccess;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int threads, size_t shared)
{
    *blocks = resident_blocks(threads, shared);
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute, int value)
{
    cudaError_t error = enter("cudaFuncSetAttribute", cudaErrorUnknown);
    if (error != cudaSuccess) return error;
    if (value < 0 || static_cast<size_t>(value) > here().gpu.shared) {
        fprintf(stderr, "emul: a kernel with %d bytes of shared memory: a block has %zu at most\n", value,
            here().gpu.shared);
        return remember(cudaErrorInvalidValue);
    }
    held lock(here().lock);
    asked()[function] = static_cast<size_t>(value);
    return cudaSuccess;
}
}
