/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that kernels use beyond plain CUDA C++, each with a half for the GPU, where it is inline PTX or a keyword,
 * and a half for the emulation on the host (test/emul/), which compiles kernels by a C++ compiler. Kernels contain no
 * PTX, no launch, no shared memory and no polling but by these; a loop that polls contains load_acquire or
 * load_relaxed.
 *
 * launch(kernel, grid, threads, shared, stream, arguments...)   starts a kernel; returns the status of the start, which
 *   is cudaErrorInvalidConfiguration where the grid is empty or has more blocks than CUDA allows
 * launch_resident(...)   the same for a kernel whose blocks wait for each other: all of them run at the same time, or
 *   the start fails with cudaErrorCooperativeLaunchTooLarge
 * TULLE__SHARED(T, name, count)          an array in shared memory
 * TULLE__SHARED_DYNAMIC(T, name)         the shared memory of the launch
 * TULLE__UNROLL(times) before a loop     times: none for all of them
 * step(address, times, bytes)            address + times * bytes, in global memory: the compiler takes such a sum apart
 *   and adds its parts one by one at each use
 * load_acquire(at), store_release(at, x)                 words of 4 or 8 bytes, towards all threads of this GPU
 * load_acquire_system(at), store_release_system(at, x)   the same towards other GPUs and the host
 * load_relaxed(at), store_relaxed(at, x), ..._system     the same without an order towards other memory: for a word
 *   that is all that its reader wants. An acquire throws away L1 (CCTL.IVALL), a release waits for all that the thread
 *   has stored before (MEMBAR); these do neither.
 * add_release(at, x), add_release_system(at, x)   adds to an int32_t, behind all that the thread has done before
 * add_system(at, x)   adds to a float or a double that other GPUs add to
 * shared_blocks(kernel, threads, processors, sharers)   blocks that run at the same time on a GPU of so many
 *   multiprocessors if as many kernels share it
 * async_copy<bytes>(to, from), async_commit(), async_wait<left>()   4, 8 or 16 bytes from global to shared memory: a
 *   thread waits for its own copies until at most `left` of its committed groups are under way
 */
#ifndef TULLE_DEVICE_CUDA_CUDA_WRAP_H
#define TULLE_DEVICE_CUDA_CUDA_WRAP_H

#include <cstdint>
#include <cstring>
#include <cuda_runtime_api.h>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tulle_cuda
{

#ifdef TULLE__EMULATED
static inline int64_t grid_most_across(void) /* EMUL_ACROSS makes it small */
{
    return emul_across();
}
#else
static inline int64_t grid_most_across(void)
{
    return UINT16_MAX;
}
#endif

/*
 * Blocks of a launch. Counts come here as they were computed, of 64 bits with a sign: what is cut to 32 bits before it
 * is compared may fit by accident. A kernel whose y or z grows with its input is started in pieces (by_pieces).
 */
struct grid {
    int64_t x, y, z;

    template <typename X> grid(X blocks, int64_t down = 1, int64_t deep = 1) : x(blocks), y(down), z(deep)
    {
        static_assert(std::is_signed<X>::value, "counts of blocks keep their sign and their bits");
    }

    bool fits() const
    {
        return x > 0 && y > 0 && z > 0 && x <= INT32_MAX && y <= grid_most_across() && z <= grid_most_across();
    }

    dim3 blocks() const
    {
        return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
    }
};

/* Starts `count` blocks across, as many at a time as a grid has: start(first, some). */
template <typename F> cudaError_t by_pieces(int64_t count, const F &start)
{
    cudaError_t error = cudaSuccess;
    const int64_t most = grid_most_across();
    for (int64_t first = 0; first < count && error == cudaSuccess; first += most)
        error = start(first, count - first < most ? count - first : most);
    return error;
}

/* All threads of the block, or of the warp, meet. */
template <bool WARP> __device__ void meet(void)
{
    if (WARP)
        __syncwarp();
    else
        __syncthreads();
}

/*
 * Sorts n numbers by all `threads` threads of a block, or of a warp, of which this is number `me`. Bitonic, with each
 * merge's first step mirrored, so that all comparisons go one way and what is beyond the end, which counts as larger,
 * is left out.
 */
template <bool WARP = false, typename N> __device__ void sort_together(N *data, int64_t n, int me, int threads)
{
    for (int64_t size = 2; size < 2 * n; size *= 2)
        for (int64_t step = size / 2; step; step /= 2) {
            for (int64_t i = me; i < n; i += threads) {
                int64_t with = step == size / 2 ? (i ^ (size - 1)) : (i ^ step);
                if (with <= i || with >= n || !(data[with] < data[i])) continue;
                N value = data[i];
                data[i] = data[with];
                data[with] = value;
            }
            meet<WARP>();
        }
}

#ifdef TULLE__EMULATED

template <typename... P>
cudaError_t start(bool resident, void (*kernel)(P...), const grid &blocks, dim3 threads, size_t shared,
    cudaStream_t stream, const std::tuple<P...> &arguments)
{
    struct call {
        void (*kernel)(P...);
        std::tuple<P...> arguments;
    };
    if (!blocks.fits()) return cudaErrorInvalidConfiguration;
    return emul_launch(
        reinterpret_cast<const void *>(kernel), {blocks.blocks(), threads, shared, stream, resident},
        [](void *c) { std::apply(static_cast<call *>(c)->kernel, static_cast<call *>(c)->arguments); },
        new call{kernel, arguments}, [](void *c) { delete static_cast<call *>(c); });
}

template <typename... P, typename... A>
cudaError_t launch(
    void (*kernel)(P...), const grid &blocks, dim3 threads, size_t shared, cudaStream_t stream, A... arguments)
{
    return start(false, kernel, blocks, threads, shared, stream, std::tuple<P...>(arguments...));
}

template <typename... P, typename... A>
cudaError_t launch_resident(
    void (*kernel)(P...), const grid &blocks, dim3 threads, size_t shared, cudaStream_t stream, A... arguments)
{
    return start(true, kernel, blocks, threads, shared, stream, std::tuple<P...>(arguments...));
}

template <typename T> const T *step(const T *address, uint32_t times, uint32_t bytes)
{
    return reinterpret_cast<const T *>(reinterpret_cast<const char *>(address) + uint64_t(times) * bytes);
}

#define TULLE__UNROLL(times)
#define TULLE__SHARED(T, name, count)                                                                                  \
    T(&name)[count] = *static_cast<T(*)[count]>(emul_shared(__COUNTER__, sizeof(T[count])))
#define TULLE__SHARED_DYNAMIC(T, name) T *name = reinterpret_cast<T *>(emul_self->dynamic)

template <typename T> T load_acquire(const T *at)
{
    emul_yield();
    T value;
    __atomic_load(at, &value, __ATOMIC_ACQUIRE);
    return value;
}

template <typename T, typename V> void store_release(T *at, V x)
{
    T value = static_cast<T>(x);
    emul_progress();
    __atomic_store(at, &value, __ATOMIC_RELEASE);
}

template <typename T> T load_acquire_system(const T *at)
{
    return load_acquire(at);
}

/* A relaxed atomic orders nothing: the thread sanitizer finds other data that are read on its strength. */
template <typename T> T load_relaxed(const T *at)
{
    emul_yield();
    T value;
    __atomic_load(at, &value, __ATOMIC_RELAXED);
    return value;
}

template <typename T> T load_relaxed_system(const T *at)
{
    return load_relaxed(at);
}

template <typename T, typename V> void store_relaxed(T *at, V x)
{
    T value = static_cast<T>(x);
    emul_progress();
    __atomic_store(at, &value, __ATOMIC_RELAXED);
}

template <typename T, typename V> void store_relaxed_system(T *at, V x)
{
    store_relaxed(at, x);
}

template <typename T, typename V> void store_release_system(T *at, V x)
{
    store_release(at, x);
}

static inline void add_release(int32_t *at, int32_t x)
{
    emul_progress();
    __atomic_fetch_add(at, x, __ATOMIC_ACQ_REL);
}

static inline void add_release_system(int32_t *at, int32_t x)
{
    add_release(at, x);
}

template <typename T> void add_system(T *at, T x)
{
    atomicAdd(at, x);
}

template <int bytes> void async_copy(void *to, const void *from)
{
    emul_async_copy(to, from, bytes);
}

static inline void async_commit()
{
    emul_async_commit();
}

template <int left> void async_wait()
{
    emul_async_wait(left);
}

#else

namespace detail
{
template <typename... P, std::size_t... I>
cudaError_t launch(bool resident, const void *kernel, const grid &blocks, dim3 threads, size_t shared,
    cudaStream_t stream, std::tuple<P...> &arguments, std::index_sequence<I...>)
{
    void *list[] = {static_cast<void *>(&std::get<I>(arguments))..., nullptr};
    if (!blocks.fits()) return cudaErrorInvalidConfiguration;
    return resident ? cudaLaunchCooperativeKernel(kernel, blocks.blocks(), threads, list, shared, stream)
                    : cudaLaunchKernel(kernel, blocks.blocks(), threads, list, shared, stream);
}
} // namespace detail

template <typename... P, typename... A>
cudaError_t launch(
    void (*kernel)(P...), const grid &blocks, dim3 threads, size_t shared, cudaStream_t stream, A... arguments)
{
    std::tuple<P...> list(arguments...);
    return detail::launch(false, reinterpret_cast<const void *>(kernel), blocks, threads, shared, stream, list,
        std::index_sequence_for<P...>());
}

template <typename... P, typename... A>
cudaError_t launch_resident(
    void (*kernel)(P...), const grid &blocks, dim3 threads, size_t shared, cudaStream_t stream, A... arguments)
{
    std::tuple<P...> list(arguments...);
    return detail::launch(true, reinterpret_cast<const void *>(kernel), blocks, threads, shared, stream, list,
        std::index_sequence_for<P...>());
}

template <typename T> __device__ __forceinline__ const T *step(const T *address, uint32_t times, uint32_t bytes)
{
    size_t place;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(place) : "r"(times), "r"(bytes), "l"(__cvta_generic_to_global(address)));
    return static_cast<const T *>(__cvta_global_to_generic(place));
}

#define TULLE__PRAGMA(text) _Pragma(#text)
#define TULLE__UNROLL(times) TULLE__PRAGMA(unroll times)
#define TULLE__SHARED(T, name, count) __shared__ T name[count]
#define TULLE__SHARED_DYNAMIC(T, name)                                                                                 \
    extern __shared__ __align__(16) unsigned char tulle__dynamic[];                                                    \
    T *name = reinterpret_cast<T *>(tulle__dynamic)

#define TULLE__LOAD(NAME, ORDER)                                                                                       \
    template <typename T> __device__ __forceinline__ T NAME(const T *at)                                               \
    {                                                                                                                  \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 or 8 bytes");                                      \
        typename std::conditional<sizeof(T) == 8, unsigned long long, unsigned>::type bits;                            \
        const size_t place = __cvta_generic_to_global(at);                                                             \
        T value;                                                                                                       \
        if constexpr (sizeof(T) == 8)                                                                                  \
            asm volatile("ld." ORDER ".global.u64 %0, [%1];" : "=l"(bits) : "l"(place) : "memory");                    \
        else                                                                                                           \
            asm volatile("ld." ORDER ".global.u32 %0, [%1];" : "=r"(bits) : "l"(place) : "memory");                    \
        memcpy(&value, &bits, sizeof value);                                                                           \
        return value;                                                                                                  \
    }
TULLE__LOAD(load_acquire, "acquire.gpu")
TULLE__LOAD(load_acquire_system, "acquire.sys")
TULLE__LOAD(load_relaxed, "relaxed.gpu")
TULLE__LOAD(load_relaxed_system, "relaxed.sys")
#undef TULLE__LOAD

#define TULLE__STORE(NAME, ORDER)                                                                                      \
    template <typename T, typename V> __device__ __forceinline__ void NAME(T *at, V x)                                 \
    {                                                                                                                  \
        static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 or 8 bytes");                                      \
        typename std::conditional<sizeof(T) == 8, unsigned long long, unsigned>::type bits;                            \
        const size_t place = __cvta_generic_to_global(at);                                                             \
        T value = static_cast<T>(x);                                                                                   \
        memcpy(&bits, &value, sizeof value);                                                                           \
        if constexpr (sizeof(T) == 8)                                                                                  \
            asm volatile("st." ORDER ".global.u64 [%0], %1;" : : "l"(place), "l"(bits) : "memory");                    \
        else                                                                                                           \
            asm volatile("st." ORDER ".global.u32 [%0], %1;" : : "l"(place), "r"(bits) : "memory");                    \
    }
TULLE__STORE(store_release, "release.gpu")
TULLE__STORE(store_release_system, "release.sys")
TULLE__STORE(store_relaxed, "relaxed.gpu")
TULLE__STORE(store_relaxed_system, "relaxed.sys")
#undef TULLE__STORE

__device__ __forceinline__ void add_release(int32_t *at, int32_t x)
{
    asm volatile("red.release.gpu.add.s32 [%0], %1;" : : "l"(at), "r"(x) : "memory");
}

__device__ __forceinline__ void add_release_system(int32_t *at, int32_t x)
{
    asm volatile("red.release.sys.add.s32 [%0], %1;" : : "l"(at), "r"(x) : "memory");
}

template <typename T> __device__ __forceinline__ void add_system(T *at, T x)
{
    atomicAdd_system(at, x);
}

/* Before compute capability 8.0 the copy is done when the call returns. */
template <int bytes> __device__ __forceinline__ void async_copy(void *to, const void *from)
{
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "an asynchronous copy has 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "n"(bytes)
                 : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

__device__ __forceinline__ void async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}

template <int left> __device__ __forceinline__ void async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory");
#endif
}

#endif

template <typename... P> int64_t shared_blocks(void (*kernel)(P...), int threads, int processors, int sharers)
{
    int each = 0;
    cudaError_t error =
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, reinterpret_cast<const void *>(kernel), threads, 0);
    if (error != cudaSuccess) (void)cudaGetLastError();
    int blocks = error == cudaSuccess ? each * processors / sharers : processors / sharers;
    return blocks > 1 ? blocks : 1;
}

/* Loads kernels onto the current device, as their first launch would. */
template <size_t n> cudaError_t load(const void *const (&kernels)[n])
{
    cudaError_t error = cudaSuccess;
    for (const void *kernel : kernels) {
        cudaFuncAttributes facts;
        if (error == cudaSuccess) error = cudaFuncGetAttributes(&facts, kernel);
    }
    return error;
}

} // namespace tulle_cuda

#endif
