/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of CUDA and its libraries, memory of the GPU and times by its clock. */
#ifndef GPU_RIVALS_H
#define GPU_RIVALS_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <functional>

#include "measure.h"

inline void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    if (error == cudaErrorMemoryAllocation) throw refusal{"out of memory"};
    throw refusal{std::string(what) + ": " + cudaGetErrorString(error)};
}

inline void check(cusparseStatus_t error, const char *what)
{
    if (error == CUSPARSE_STATUS_SUCCESS) return;
    if (error == CUSPARSE_STATUS_ALLOC_FAILED || error == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES)
        throw refusal{"out of memory"};
    throw refusal{std::string(what) + ": " + cusparseGetErrorString(error)};
}

inline void check(cublasStatus_t error, const char *what)
{
    if (error == CUBLAS_STATUS_SUCCESS) return;
    if (error == CUBLAS_STATUS_ALLOC_FAILED) throw refusal{"out of memory"};
    throw refusal{std::string(what) + ": " + cublasGetStatusString(error)};
}

/* Done at the end of a scope, also after a refusal. */
struct at_end {
    std::function<void()> call;
    ~at_end()
    {
        call();
    }
};

/* Memory of the GPU, which grows and stays. */
template <typename T> struct there {
    T *at = nullptr;
    size_t count = 0;
    there() = default;
    explicit there(size_t n)
    {
        reserve(n);
    }
    explicit there(const std::vector<T> &from) : there(from.size())
    {
        check(cudaMemcpy(at, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "an upload");
    }
    there(const there &) = delete;
    there &operator=(const there &) = delete;
    ~there()
    {
        (void)cudaFree(at);
    }
    void clear()
    {
        (void)cudaFree(at);
        at = nullptr;
    }
    T *reserve(size_t n)
    {
        if (at && n <= count) return at;
        clear();
        check(cudaMalloc(reinterpret_cast<void **>(&at), std::max<size_t>(n, 1) * sizeof(T)), "memory");
        count = n;
        return at;
    }
    std::vector<T> back(size_t n) const
    {
        std::vector<T> to(n);
        check(cudaMemcpy(to.data(), at, n * sizeof(T), cudaMemcpyDeviceToHost), "a download");
        return to;
    }
};

/* Seconds of a call: the median of five, after one that is not counted. */
inline double seconds_of(const std::function<void()> &call)
{
    cudaEvent_t begin, end;
    std::vector<double> found;
    check(cudaEventCreate(&begin), "an event");
    check(cudaEventCreate(&end), "an event");
    at_end destroy{[&] { (void)cudaEventDestroy(begin), (void)cudaEventDestroy(end); }};
    for (int turn = 0; turn < 6; turn++) {
        float ms;
        check(cudaEventRecord(begin, nullptr), "an event");
        call();
        check(cudaEventRecord(end, nullptr), "an event");
        check(cudaEventSynchronize(end), "what was timed");
        check(cudaEventElapsedTime(&ms, begin, end), "a time");
        if (turn) found.push_back(ms * 1e-3);
    }
    return median(found);
}

template <typename T> constexpr bool wide = sizeof(T) == 8;
template <typename T> constexpr cudaDataType type_of = wide<T> ? CUDA_R_64F : CUDA_R_32F;

#endif
