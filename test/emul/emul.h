/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA C++ for a host compiler: what kernels are compiled with in place of nvcc's built-ins (-include emul.h). A CUDA
 * thread is a fiber, and the fibers of a block take turns on one thread of the host, so a kernel runs as it is written,
 * with its barriers, shuffles and atomics. Collectives are checked where they meet (warp.cpp).
 */
#ifndef EMUL_H
#define EMUL_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <tuple>
#include <type_traits>

#define TULLE__EMULATED 1
#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline

/* View of a CUDA thread of itself. */
struct emul_thread {
    uint3 thread, block;
    dim3 threads, blocks;
    int lane, warp, number; /* number: in its block */
    char *dynamic;          /* dynamic shared memory */
};
extern __thread emul_thread *emul_self;

#define threadIdx (emul_self->thread)
#define blockIdx (emul_self->block)
#define blockDim (emul_self->threads)
#define gridDim (emul_self->blocks)
#define warpSize 32

enum emul_operation { EMUL_SYNC, EMUL_SHUFFLE, EMUL_BALLOT, EMUL_MATCH, EMUL_SUM };
enum emul_count { EMUL_COUNT, EMUL_AND, EMUL_OR };

extern "C" {
/* Waits for all threads of the block; how many of them, whether all or any had the predicate. */
int emul_barrier(int predicate, int what, int line);
/* Waits for the lanes of the mask; what the operation makes of their values for this one. */
uint64_t emul_warp(unsigned mask, uint64_t value, int source, int operation);
/* Lets other threads run: in whatever waits for another thread. */
void emul_yield(void);
/* The same now and then, as the seed has it: where the order of threads may matter. */
void emul_perhaps(void);
/* Something that others may wait for has been done. */
void emul_progress(void);
/* The kernel ends here, and its device is lost. */
void emul_trap(const char *why);
/* Shared memory of the block, the same for all its threads: the number-th such array. */
void *emul_shared(int number, size_t bytes);
/* A copy that is under way until the thread waits for its group (cp.async). */
void emul_async_copy(void *to, const void *from, size_t bytes);
void emul_async_commit(void);
void emul_async_wait(int groups_left);
}

/* ---- barriers and warps ---- */

#define __syncthreads() ((void)emul_barrier(0, EMUL_COUNT, __LINE__))
#define __syncthreads_count(predicate) emul_barrier((predicate) != 0, EMUL_COUNT, __LINE__)
#define __syncthreads_and(predicate) emul_barrier((predicate) != 0, EMUL_AND, __LINE__)
#define __syncthreads_or(predicate) emul_barrier((predicate) != 0, EMUL_OR, __LINE__)

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    (void)emul_warp(mask, 0, 0, EMUL_SYNC);
}

template <typename T>
__attribute__((no_sanitize("thread", "address"))) T emul_shuffle(unsigned mask, T value, int source)
{
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a shuffled value has 8 bytes at most");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emul_warp(mask, bits, source, EMUL_SHUFFLE);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Lanes of groups of `width`; a source outside of the group is the lane itself. */
template <typename T> T __shfl_sync(unsigned mask, T value, int source, int width = 32)
{
    int first = emul_self->lane & ~(width - 1);
    return emul_shuffle(mask, value, first + (source & (width - 1)));
}

template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int lane = emul_self->lane, first = lane & ~(width - 1), source = lane - static_cast<int>(by);
    return emul_shuffle(mask, value, source < first ? lane : source);
}

template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int lane = emul_self->lane, last = lane | (width - 1), source = lane + static_cast<int>(by);
    return emul_shuffle(mask, value, source > last ? lane : source);
}

template <typename T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    int lane = emul_self->lane, last = lane | (width - 1), source = lane ^ with;
    return emul_shuffle(mask, value, source > last ? lane : source);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate)
{
    return static_cast<unsigned>(emul_warp(mask, predicate != 0, 0, EMUL_BALLOT));
}

static inline int __any_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, predicate) != 0;
}

static inline int __all_sync(unsigned mask, int predicate)
{
    return __ballot_sync(mask, !predicate) == 0;
}

template <typename T> unsigned __match_any_sync(unsigned mask, T value)
{
    return static_cast<unsigned>(emul_warp(mask, static_cast<uint64_t>(value), 0, EMUL_MATCH));
}

static inline unsigned __reduce_add_sync(unsigned mask, unsigned value)
{
    return static_cast<unsigned>(emul_warp(mask, value, 0, EMUL_SUM));
}

static inline unsigned __activemask(void)
{
    emul_trap("__activemask says nothing that a kernel may rely on");
    return 0;
}

static inline void __nanosleep(unsigned)
{
    emul_yield();
}

static inline void __threadfence_block(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void __threadfence_system(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define __trap() emul_trap("a trap")

/* ---- atomics: relaxed, as CUDA's are; sanitizers see them ---- */

template <typename T> struct emul_type {
    typedef T same;
};

template <typename T, typename F> T emul_update(T *at, F next)
{
    typedef typename std::conditional<sizeof(T) == 8, uint64_t, uint32_t>::type bits;
    static_assert(sizeof(T) == sizeof(bits), "atomics have 4 or 8 bytes");
    bits *word = reinterpret_cast<bits *>(at), wanted;
    emul_perhaps();
    bits seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
        T old, fresh;
        memcpy(&old, &seen, sizeof old);
        fresh = next(old);
        memcpy(&wanted, &fresh, sizeof fresh);
        if (__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
    }
}

#define EMUL_ATOMIC(NAME, EXPRESSION)                                                                                  \
    template <typename T> T NAME(T *at, typename emul_type<T>::same x)                                                 \
    {                                                                                                                  \
        return emul_update(at, [x](T old) {                                                                            \
            (void)old;                                                                                                 \
            return static_cast<T>(EXPRESSION);                                                                         \
        });                                                                                                            \
    }
EMUL_ATOMIC(atomicAdd, old + x)
EMUL_ATOMIC(atomicSub, old - x)
EMUL_ATOMIC(atomicExch, x)
EMUL_ATOMIC(atomicMin, x < old ? x : old)
EMUL_ATOMIC(atomicMax, x > old ? x : old)
EMUL_ATOMIC(atomicOr, old | x)
EMUL_ATOMIC(atomicAnd, old &x)
#undef EMUL_ATOMIC

template <typename T> T atomicCAS(T *at, typename emul_type<T>::same expected, typename emul_type<T>::same x)
{
    return emul_update(at, [=](T old) { return old == expected ? static_cast<T>(x) : old; });
}

/* ---- arithmetic ---- */

template <typename T> T __ldg(const T *at)
{
    return *at;
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

static inline int __clz(int x)
{
    return x ? __builtin_clz(static_cast<unsigned>(x)) : 32;
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline double __dadd_rn(double a, double b)
{
    return a + b;
}

static inline double __dmul_rn(double a, double b)
{
    return a * b;
}

static inline long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline int __float_as_int(float x)
{
    int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float __fadd_rn(float a, float b)
{
    return a + b;
}

static inline float __fmul_rn(float a, float b)
{
    return a * b;
}

static inline double __fma_rn(double a, double b, double c)
{
    return std::fma(a, b, c);
}

/* ---- launches ---- */

struct emul_shape {
    dim3 blocks, threads;
    size_t shared;
    cudaStream_t stream;
    bool resident;          /* all blocks run at the same time */
    size_t shared_most = 0; /* bytes of shared memory that a block may have; the launch finds it */
};

/* Blocks that a grid has in its second and third direction (EMUL_ACROSS). */
extern "C" int64_t emul_across(void);

/* Queues a kernel: `run` is called by each CUDA thread with the arguments, which `drop` frees when all are done. */
cudaError_t emul_launch(
    const void *kernel, const emul_shape &shape, void (*run)(void *), void *arguments, void (*drop)(void *));

/* CUDA's own call; the arguments are copied now. */
template <typename... P>
cudaError_t cudaLaunchKernel(
    void (*kernel)(P...), dim3 blocks, dim3 threads, void **arguments, size_t shared, cudaStream_t stream)
{
    struct call {
        void (*kernel)(P...);
        std::tuple<P...> arguments;
    };
    size_t i = 0;
    (void)i;
    return emul_launch(
        reinterpret_cast<const void *>(kernel), {blocks, threads, shared, stream, false},
        [](void *c) { std::apply(static_cast<call *>(c)->kernel, static_cast<call *>(c)->arguments); },
        new call{kernel, std::tuple<P...>{*static_cast<P *>(arguments[i++])...}},
        [](void *c) { delete static_cast<call *>(c); });
}

#endif
