/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels [FAULT]: kernels of the kinds that the library wants - sums over a warp, a hash table in shared memory, a
 * solve that waits for other rows, copies under way while others are worked on, two GPUs - and what is wrong with them
 * on request. The emulation must find each fault, and none without; nvcc compiles the same file, for a GPU.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "device/cuda/kernels/cuda_wrap.h"

using namespace tulle_cuda;

enum fault {
    NONE,
    MASK,          /* a shuffle whose mask names lanes that are not there */
    LEFT,          /* the same, with lanes that have left the kernel */
    BARRIER,       /* threads meet in different barriers */
    NO_BARRIER,    /* a table is used before all of it is written */
    OVERRUN,       /* a write behind an array in shared memory */
    BEYOND,        /* a write behind an allocation */
    UNBEGUN,       /* a block waits for one that has not begun */
    NO_ACQUIRE,    /* a flag is read without an order towards what it stands for */
    RELAXED,       /* the same by a relaxed load, which suffices for a value that is its own flag only */
    NO_ASYNC_WAIT, /* a copy to shared memory is used before it was waited for */
    HOST_ACCESS,   /* the host reads memory of a device */
    NO_PEER,       /* a kernel reads another device's memory without permission */
    NO_WAIT,       /* the host uses what a stream has not been waited for */
    NO_SHARED,     /* more shared memory than kernels have that have not asked for it */
    BOTH_SHARED,   /* the same by arrays and the launch together */
    ALL_SHARED,    /* more shared memory than a block can have */
    TOO_MANY,      /* more blocks wait for each other than run at the same time */
    ONE_MISSING,   /* they wait for one that has left */
    MANAGED,       /* the host writes managed memory while a kernel runs */
    UNLOADED,      /* one of a program's kernels is loaded in advance, but not the others */
    BLOCK_BEYOND,  /* a write behind a block of an allocation */
    BLOCK_GIVEN,   /* a write to a block that was given back */
    BLOCK_LEFT,    /* an allocation is freed, and one of its blocks is in use */
    FAULTS
};
static const char *const names[FAULTS] = {"none", "mask", "left", "barrier", "no-barrier", "overrun", "beyond",
    "unbegun", "no-acquire", "relaxed", "no-async-wait", "host-access", "no-peer", "no-wait", "no-shared",
    "both-shared", "all-shared", "too-many", "one-missing", "managed", "unloaded", "block-beyond", "block-given",
    "block-left"};

namespace
{

const int LANES = 32, TABLE = 1024, STAGE = 128;

/* y = A x: a warp a row. */
__global__ void spmv(int fault, int m, const int *ptr, const int *col, const double *val, const double *x, double *y)
{
    int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / LANES);
    int lane = static_cast<int>(threadIdx.x % LANES);
    if (row >= m) return;
    if (fault == LEFT && lane >= 16) return;
    double sum = 0;
    for (int e = ptr[row] + lane; e < ptr[row + 1]; e += LANES) sum += val[e] * x[col[e]];
    if (fault != MASK || lane < 16)
        for (int d = LANES / 2; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(d));
    if (fault == BEYOND && lane == 0 && row == m - 1) y[m] = 0;
    if (lane == 0) y[row] = sum;
}

/* A token goes round, from the last block to the first: each waits for the one behind it, all must be there. */
__global__ void pass_on(int fault, int *token, int *order)
{
    int me = static_cast<int>(blockIdx.x), last = static_cast<int>(gridDim.x) - 1;
    if (threadIdx.x) return;
    if (fault == ONE_MISSING && me == last) return;
    if (me < last)
        while (load_acquire(token + me + 1) == 0) continue;
    order[me] = last - me;
    store_release(token + me, 1);
}

/* Counts the entries that each row of A A has: a block a row, its columns in a hash table. */
__global__ void count(int fault, const int *ptr, const int *col, int *counts)
{
    TULLE__SHARED_DYNAMIC(int, table);
    TULLE__SHARED(int, part, 4);
    int row = static_cast<int>(blockIdx.x), mine = 0, thread = static_cast<int>(threadIdx.x);
    int threads = static_cast<int>(blockDim.x), warps = threads / LANES;
    for (int i = thread; i < TABLE; i += threads) table[i] = -1;
    if (fault != NO_BARRIER) __syncthreads();
    for (int e = ptr[row] + thread / LANES; e < ptr[row + 1]; e += warps)
        for (int k = ptr[col[e]] + thread % LANES; k < ptr[col[e] + 1]; k += LANES) {
            int c = col[k], at = static_cast<int>(static_cast<unsigned>(c) * 107u % static_cast<unsigned>(TABLE));
            for (;;) {
                int old = atomicCAS(&table[at], -1, c);
                if (old == -1) mine++;
                if (old == -1 || old == c) break;
                at = at + 1 < TABLE ? at + 1 : 0;
            }
        }
    for (int d = LANES / 2; d; d /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, d);
    if (thread % LANES == 0) part[thread / LANES + (fault == OVERRUN ? 3 : 0)] = mine;
    if (fault == BARRIER && thread < LANES)
        __syncthreads();
    else
        __syncthreads();
    if (thread == 0) {
        counts[row] = 0;
        for (int w = 0; w < warps; w++) counts[row] += part[w];
    }
}

/* L x = b, the pivot last in each row: warps take rows in turn and wait for the rows that they need. */
__global__ void solve(int fault, int m, const int *ptr, const int *col, const double *val, const double *b, double *x,
    int *there, int *next)
{
    int row, lane = static_cast<int>(threadIdx.x % LANES);
    if (fault == UNBEGUN)
        row = m - 1 - static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / LANES);
    else
        row = __shfl_sync(0xffffffffu, lane == 0 ? atomicAdd(next, 1) : 0, 0);
    if (row < 0 || row >= m) return;
    double sum = 0;
    for (int e = ptr[row] + lane; e < ptr[row + 1] - 1; e += LANES) {
        if (fault == NO_ACQUIRE)
            while (atomicAdd(&there[col[e]], 0) == 0) __nanosleep(20);
        else if (fault == RELAXED)
            while (!load_relaxed(&there[col[e]])) __nanosleep(20);
        else
            while (!load_acquire(&there[col[e]])) __nanosleep(20);
        sum += val[e] * x[col[e]];
    }
    for (int d = LANES / 2; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, static_cast<unsigned>(d));
    if (lane == 0) {
        x[row] = (b[row] - sum) / val[ptr[row + 1] - 1];
        store_release(&there[row], 1);
    }
}

/* The same by a thread a row, of values that are their own flags: begun as NaN, and nothing else is read by their
 * leave. */
__global__ void solve_by_values(int m, const int *ptr, const int *col, const double *val, const double *b, double *x)
{
    int row = static_cast<int>(threadIdx.x); /* one block has all rows: none waits for a block that has not begun */
    if (row >= m) return;
    double sum = 0;
    for (int e = ptr[row]; e < ptr[row + 1] - 1; e++) {
        double value = load_relaxed(&x[col[e]]);
        while (value != value) value = load_relaxed_system(&x[col[e]]);
        sum += val[e] * value;
    }
    store_relaxed(&x[row], (b[row] - sum) / val[ptr[row + 1] - 1]);
}

/* y = 2 x in stages of a block's threads, the next one under way while one is worked on. */
__global__ void twice(int fault, int m, const double *x, double *y)
{
    TULLE__SHARED(double, stage, 2 * STAGE);
    int thread = static_cast<int>(threadIdx.x);
    if (thread < m) async_copy<8>(&stage[thread], &x[thread]);
    async_commit();
    for (int first = 0, now = 0; first < m; first += STAGE, now = 1 - now) {
        int ahead = first + STAGE + thread;
        if (ahead < m) async_copy<8>(&stage[(1 - now) * STAGE + thread], &x[ahead]);
        async_commit();
        if (fault == NO_ASYNC_WAIT)
            async_wait<2>();
        else
            async_wait<1>();
        if (first + thread < m) y[first + thread] = 2 * stage[now * STAGE + thread];
    }
    async_wait<0>();
}

/* Until the host says so, which is told when it may. */
__global__ void run_until(const int *stop, int *begun)
{
    store_release_system(begun, 1);
    while (!load_relaxed_system(stop)) continue;
}

__global__ void add_one(int m, const double *x, double *y)
{
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < m) y[i] = x[i] + 1;
}

/* ---- the host's side ---- */

void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

template <typename T> T *up(const std::vector<T> &v)
{
    void *at = nullptr;
    check(cudaMalloc(&at, v.size() * sizeof(T)), "memory");
    check(cudaMemcpy(at, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice), "a copy");
    return static_cast<T *>(at);
}

template <typename T> std::vector<T> down(const T *at, size_t n)
{
    std::vector<T> v(n);
    check(cudaMemcpy(v.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost), "a copy");
    return v;
}

struct matrix { /* lower, the diagonal last in each row */
    int m;
    std::vector<int> ptr, col;
    std::vector<double> val;
};

matrix make_matrix(int m)
{
    matrix A = {m, {0}, {}, {}};
    uint64_t r = 88172645463325252u;
    auto random = [&r]() { return r ^= r << 13, r ^= r >> 7, r ^= r << 17; };
    for (int i = 0; i < m; i++) {
        int degree = static_cast<int>(random() % 40), last = -1;
        for (int e = 0; e < degree && i > 0; e++) {
            int c = static_cast<int>(random() % static_cast<unsigned>(i));
            if (c <= last) continue;
            A.col.push_back(last = c);
            A.val.push_back(static_cast<double>(random() % 7) / 100);
        }
        A.col.push_back(i);
        A.val.push_back(2);
        A.ptr.push_back(static_cast<int>(A.col.size()));
    }
    return A;
}

int wrong_of(const matrix &A, const std::vector<double> &x, const std::vector<double> &y,
    const std::vector<int> &counts, const std::vector<double> &solved, const std::vector<double> &doubled)
{
    int wrong = 0;
    for (int i = 0; i < A.m; i++) {
        size_t at = static_cast<size_t>(i);
        double want = 0;
        std::vector<char> seen(static_cast<size_t>(A.m), 0);
        int entries = 0;
        for (int e = A.ptr[at]; e < A.ptr[at + 1]; e++) {
            size_t c = static_cast<size_t>(A.col[static_cast<size_t>(e)]);
            want += A.val[static_cast<size_t>(e)] * x[c];
            for (int k = A.ptr[c]; k < A.ptr[c + 1]; k++) {
                size_t j = static_cast<size_t>(A.col[static_cast<size_t>(k)]);
                entries += !seen[j];
                seen[j] = 1;
            }
        }
        wrong += !(std::fabs(y[at] - want) < 1e-12 * (1 + std::fabs(want)));
        wrong += counts[at] != entries;
        wrong += !(std::fabs(solved[at] - x[at]) < 1e-9);
        wrong += !(doubled[at] == 2 * x[at]);
    }
    return wrong;
}

/* A kernel that runs until the host writes a word. */
void stop_from_host(int fault)
{
    void *words = nullptr, *word = nullptr;
    check(cudaHostAlloc(&words, 2 * sizeof(int), cudaHostAllocMapped), "pinned memory");
    int *begun = static_cast<int *>(words), *stop = begun + 1;
    if (fault == MANAGED) {
        check(cudaMallocManaged(&word, sizeof(int), cudaMemAttachGlobal), "managed memory");
        stop = static_cast<int *>(word);
    }
    *begun = *stop = 0;
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "a stream");
    check(launch(run_until, 1, 1, 0, stream, static_cast<const int *>(stop), begun), "a launch");
    std::thread waits([stream]() { check(cudaStreamSynchronize(stream), "a kernel that the host stops"); });
    while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE)) std::this_thread::yield();
    __atomic_store_n(stop, 1, __ATOMIC_RELAXED);
    waits.join();
    check(cudaStreamDestroy(stream), "a stream");
    check(cudaFreeHost(words), "pinned memory");
    if (word) check(cudaFree(word), "managed memory");
}

/* A grid with more blocks than CUDA has is refused, by the launch and, if that does not look, by CUDA; and no count is
 * cut to one that fits. */
int wrongly_started()
{
    const int64_t many = INT64_C(1) << 32, across = 65536;
    const grid grids[] = {
        grid(many + 1), grid(1, across), grid(1, 1, across), grid(many / 2), grid(0), grid(-1), grid(1, many + 1)};
    double *none = nullptr;
    int wrong = 0;
    for (const grid &g : grids)
        wrong += launch(add_one, g, 32, 0, nullptr, 0, none, none) != cudaErrorInvalidConfiguration;
    wrong += launch_resident(add_one, grids[0], 32, 0, nullptr, 0, none, none) != cudaErrorInvalidConfiguration;
    int m = 0;
    void *arguments[] = {&m, &none, &none, nullptr};
    for (dim3 g : {dim3(1, 65536, 1), dim3(1, 1, 65536), dim3(0x80000000u, 1, 1)})
        wrong += cudaLaunchKernel(add_one, g, dim3(32), arguments, 0, nullptr) == cudaSuccess; /* releases differ in why */
    (void)cudaGetLastError();
    return wrong;
}

/* Blocks across are started in pieces, each of which a grid has, and all of them once. */
int wrongly_divided()
{
    const int64_t most = grid_most_across();
    int wrong = 0;
    for (int64_t count : {INT64_C(0), INT64_C(1), most, most + 1, 3 * most + 2}) {
        int64_t next = 0;
        cudaError_t error = by_pieces(count, [&](int64_t first, int64_t some) {
            wrong += first != next || some < 1 || some > most;
            next = first + some;
            return cudaSuccess;
        });
        wrong += next != count || error != cudaSuccess;
    }
    int starts = 0;
    wrong += by_pieces(2 * most, [&](int64_t, int64_t) { return starts++, cudaErrorUnknown; }) != cudaErrorUnknown ||
             starts != 1;
    return wrong;
}

#ifdef EMUL_BLOCK
/* A kernel writes a block of an allocation, or somewhere else there. */
void use_block(int fault, const std::vector<double> &x)
{
    enum { VALUES = 30, BYTES = VALUES * sizeof(double), LENGTH = 256 };
    void *all = nullptr;
    double *from = up(x);
    check(cudaMalloc(&all, 2 * LENGTH), "memory");
    emul_block(all, BYTES, LENGTH, 1);
    for (int last = 0; last < 2; last++) {
        if (last && fault != BLOCK_GIVEN) break;
        const int m = fault == BLOCK_BEYOND ? VALUES + 1 : VALUES;
        check(launch(add_one, 1, 128, 0, nullptr, m, from, static_cast<double *>(all)), "a launch");
        check(cudaDeviceSynchronize(), "a kernel on a block");
        if (fault != BLOCK_LEFT) emul_block(all, BYTES, LENGTH, last);
    }
    if (fault == BLOCK_GIVEN) emul_block(all, BYTES, LENGTH, 0);
    check(cudaFree(all), "memory");
    check(cudaFree(from), "memory");
}
#endif

/* The second device adds one to what lies on the first. */
int use_peer(int fault, const std::vector<double> &x)
{
    int devices = 0, can = 0;
    check(cudaGetDeviceCount(&devices), "devices");
    if (devices > 1) check(cudaDeviceCanAccessPeer(&can, 1, 0), "peers");
    if (!can) return 0;
    double *first = up(x), *second;
    check(cudaSetDevice(1), "a device");
    second = up(std::vector<double>(x.size(), 0));
    if (fault != NO_PEER) check(cudaDeviceEnablePeerAccess(0, 0), "access to a peer");
    int m = static_cast<int>(x.size());
    check(launch(add_one, (m + 127) / 128, 128, 0, nullptr, m, first, second), "a launch");
    check(cudaDeviceSynchronize(), "a kernel on a peer's memory");
    std::vector<double> y = down(second, x.size());
    int wrong = 0;
    for (size_t i = 0; i < x.size(); i++) wrong += y[i] != x[i] + 1;
    check(cudaFree(second), "memory");
    check(cudaSetDevice(0), "a device");
    check(cudaFree(first), "memory");
    return wrong;
}

/* Says what is wrong. */
int told(const char *what, int wrong)
{
    if (wrong) std::printf("%s: %d wrong\n", what, wrong);
    return wrong;
}

} // namespace

int main(int argc, char **argv)
{
    int fault = 0, m = 300;
    while (argc > 1 && fault < FAULTS && std::strcmp(argv[1], names[fault])) fault++;
    if (fault == FAULTS) {
        std::printf("there is no fault '%s'\n", argv[1]);
        return 2;
    }
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("there is no GPU: these kernels are left out\n");
        return 77;
    }
    matrix A = make_matrix(m);
    size_t n = static_cast<size_t>(m);
    std::vector<double> x(n);
    for (size_t i = 0; i < n; i++) x[i] = static_cast<double>(i % 13) - 6;
    int *ptr = up(A.ptr), *col = up(A.col), *counts = up(std::vector<int>(n, 0)), *there = up(std::vector<int>(n, 0));
    int *next = up(std::vector<int>(1, 0));
    double *val = up(A.val), *dx = up(x), *y = up(std::vector<double>(n, 0)), *solved = up(std::vector<double>(n, 0)),
           *doubled = up(std::vector<double>(n, 0));
    double *by_values = up(std::vector<double>(n, NAN));
    const int warps = (m * LANES + 127) / 128;
    /* from 48 KB on they are asked for */
    size_t table = static_cast<size_t>(TABLE) * sizeof(int) * (fault == BOTH_SHARED ? 12 : 13);
    int asked = fault == ALL_SHARED ? 256 << 10 : static_cast<int>(table);
    if (fault != NO_SHARED && fault != BOTH_SHARED)
        check(cudaFuncSetAttribute(
                  reinterpret_cast<const void *>(count), cudaFuncAttributeMaxDynamicSharedMemorySize, asked),
            "shared memory");
    cudaStream_t stream;
    check(cudaStreamCreate(&stream), "a stream");
    const void *const some[] = {reinterpret_cast<const void *>(spmv)};
    if (fault == UNLOADED) check(load(some), "loading a kernel");
    check(launch(spmv, warps, 128, 0, stream, fault, m, ptr, col, val, dx, y), "a launch");
    check(launch(count, m, 64, table, stream, fault, ptr, col, counts), "a launch");
    check(launch(solve, warps, 128, 0, stream, fault, m, ptr, col, val, y, solved, there, next), "a launch");
    check(launch(solve_by_values, 1, static_cast<unsigned>(m), 0, stream, m, ptr, col, val, y, by_values), "a launch");
    check(launch(twice, 1, STAGE, 0, stream, fault, m, dx, doubled), "a launch");
    const int ring = 40;
    int *token = up(std::vector<int>(ring, 0)), *order = up(std::vector<int>(ring, -1));
    const int blocks = fault == TOO_MANY ? 100000 : ring;
    check(launch_resident(pass_on, blocks, 64, 0, stream, fault, token, order), "a launch of blocks that wait");
    if (fault == HOST_ACCESS) std::printf("the host reads %g\n", y[0]);
    void *pinned = nullptr;
    check(cudaHostAlloc(&pinned, n * sizeof(double), cudaHostAllocDefault), "pinned memory");
    double *early = static_cast<double *>(pinned);
    for (size_t i = 0; i < n; i++) early[i] = NAN;
    check(cudaMemcpyAsync(early, doubled, n * sizeof(double), cudaMemcpyDeviceToHost, stream), "a copy");
    if (fault != NO_WAIT) check(cudaStreamSynchronize(stream), "kernels");
    std::vector<double> copied(early, early + n);
    check(cudaStreamSynchronize(stream), "kernels");
    int wrong = told("kernels", wrong_of(A, x, down(y, n), down(counts, n), down(solved, n), copied));
    std::vector<double> values = down(by_values, n);
    for (size_t i = 0; i < n; i++) wrong += !(std::fabs(values[i] - x[i]) < 1e-9);
    wrong += told("a peer", use_peer(fault, x)) + told("grids", wrongly_started()) + told("pieces", wrongly_divided());
#ifdef EMUL_BLOCK
    use_block(fault, x);
#endif
    stop_from_host(fault);
    std::vector<int> passed = down(order, ring);
    for (int b = 0; b < ring; b++) wrong += passed[static_cast<size_t>(b)] != ring - 1 - b;
    check(cudaFreeHost(pinned), "pinned memory");
    for (void *at : {static_cast<void *>(ptr), static_cast<void *>(col), static_cast<void *>(counts),
             static_cast<void *>(there), static_cast<void *>(next), static_cast<void *>(val), static_cast<void *>(dx),
             static_cast<void *>(y), static_cast<void *>(solved), static_cast<void *>(doubled),
             static_cast<void *>(token), static_cast<void *>(order), static_cast<void *>(by_values)})
        check(cudaFree(at), "memory");
    check(cudaStreamDestroy(stream), "a stream");
    std::printf("%d rows, %zu entries: %d wrong\n", m, A.col.size(), wrong);
    return wrong != 0;
}
