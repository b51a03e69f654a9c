/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the emulation. None of it is compiled with a sanitizer's instrumentation, but for kernels. */
#ifndef EMUL_INSIDE_H
#define EMUL_INSIDE_H

#include "emul.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef warpSize

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace emul
{

enum { DEVICES = 16, WARP = 32, SHARED_UNASKED = 48 << 10, ALIGNMENT = 256 };

/* Threads that are resident at the same time: of a multiprocessor, and how many of these there are. */
enum {
    RESIDENT_BLOCKS = 32,
    SHARED_KEPT = 1 << 10, /* of each block, by CUDA */
    PROCESSORS = 4,
};

/* Resources of GPUs of a compute capability, and of those behind it up to the next row. */
struct capability {
    int major, minor;
    size_t shared; /* a block at most, if it asks for it; a multiprocessor has SHARED_KEPT more */
    int threads;   /* of a multiprocessor, at the same time */
};

/* Blocks of a multiprocessor that have so many threads and bytes of shared memory. */
int resident_blocks(int threads, size_t shared);

/* Settings (README.md), and what all threads of the process share. */
struct house {
    std::mutex lock;
    std::condition_variable moved; /* a stream has done something */
    int devices = 1;
    size_t memory = size_t(1) << 30;                /* of each device */
    enum { LATE, EAGER, NOW_AND_THEN } when = LATE; /* work of streams is done */
    uint64_t seed = 0;
    bool guard = false;                       /* the host cannot touch memory of devices */
    bool aligned = true;                      /* cuSPARSE wants vectors at multiples of 16 */
    bool asked = true;                        /* a query does a piece of work */
    size_t pageable = SIZE_MAX;               /* bytes of a copy of pageable memory that are complained of */
    std::string refused;                      /* words between commas: what cuSPARSE does not support (sparse.cpp) */
    bool refuses_late = false;                /* it says so only when the product is made */
    int64_t across = UINT16_MAX;              /* blocks of a grid in y, and in z */
    bool pins = true;                         /* memory of the host can be pinned */
    capability gpu = {9, 0, 227 << 10, 2048}; /* all devices are the same */
    int64_t calls = 0, fails_at = -1, breaks_at = -1; /* of the calls that can fail */
    int patience = 5000; /* milliseconds without progress in any kernel until one that waits is stuck */
    int complaints = 0;
    cudaError_t lost[DEVICES] = {};   /* what the device's context was lost by */
    int working[DEVICES] = {};        /* pieces of work under way on the device */
    bool peer[DEVICES][DEVICES] = {}; /* [d][e]: d reaches the memory of e */
    size_t used[DEVICES] = {};
    house();
};
house &here();
typedef std::unique_lock<std::mutex> held;

uint64_t random_next(uint64_t &state);

/* ---- runtime.cpp ---- */

/* The device that this thread has chosen. */
int current();
/* A call of a thread without a context gives it that of its device. */
void touch_context();
/* Counts a call that can fail, of the device that the thread has chosen: cudaSuccess, or what fails it. */
cudaError_t enter(const char *call, cudaError_t how);
/* Counts something that was done, by its name: a literal. `enter` counts its calls. */
void count(const char *what);
void counted(const char *what); /* under the lock */
/* The error becomes the thread's last one. */
cudaError_t remember(cudaError_t error);
/* Something was done that CUDA does not allow: told on stderr, and the process ends with EXIT_COMPLAINED. */
void complain(const char *what);
void blamed(const char *what); /* under the lock */
enum { EXIT_COMPLAINED = 86 };
/* The device cannot be used any more, for `why`. */
void lose(int device, cudaError_t error, const char *why);
/* The name of the kernel or call that this thread works on, for messages. */
extern thread_local const char *doing;

/* ---- memory.cpp ---- */

struct region {
    size_t bytes;
    int device; /* -1: pinned memory of the host */
    bool registered;
    void *base;    /* of the mapping */
    size_t mapped; /* its bytes */
    bool managed;  /* all devices and the host reach it */
    /* An arena of the module's: bytes of its blocks in use, by their addresses. Nothing else of it may be touched. */
    bool cut = false;
    std::map<uintptr_t, size_t> blocks = {};
};
/* Under the lock: the allocation, or that of the block of an arena, that has all these bytes; NULL: none. */
const region *region_of(const void *at, size_t bytes);
/* Takes the lock: whether all these bytes are of one allocation of the device. */
bool on_device(const void *at, size_t bytes, int device);
/* Takes the lock: memory that somebody else has made is the device's. */
void adopt(void *at, size_t bytes, int device);
/* Under the lock: work on the device begins (1) or has ended (-1): its memory, and that of its peers, can be touched.
 */
void open_memory(int device, int by);

/* ---- stream.cpp ---- */

/* Adds work to a stream (NULL: the device's own), to be done when somebody waits for it. */
void enqueue(cudaStream_t stream, const char *what, std::function<void()> work);
int device_of(cudaStream_t stream);
/* Under the lock: all that the device, or any (-1), was given is done. */
void run_all(held &lock, int device);

/* ---- block.cpp ---- */

/* Runs all blocks of a grid, one after the other, in an order by the seed, or all by turns if they are resident; false:
 * it did not end well. */
bool run_grid(const emul_shape &shape, void (*run)(void *), void *arguments, uint64_t seed);

} // namespace emul

#endif
