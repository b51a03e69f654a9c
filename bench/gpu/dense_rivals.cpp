/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of copies on the GPU and over the link; cuBLAS's products of matrices that lie on the GPU. */
#include <cstring>
#include <thread>

#include "rivals.h"

namespace
{

const char *const ON_GPU = "copy on the GPU, read and written";

double seconds_of_copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return seconds_of([&] { check(cudaMemcpyAsync(to, from, bytes, kind, nullptr), "a copy"); });
}

template <typename T> void gemm(const job &of, size_t n)
{
    const T one = 1, zero = 0;
    const int size = static_cast<int>(n);
    std::vector<T> a(n * n), b(n * n);
    for (size_t e = 0; e < n * n; e++) {
        a[e] = static_cast<T>(dense_a(e % n, e / n));
        b[e] = static_cast<T>(dense_b(e % n, e / n));
    }
    there<T> A(a), B(b), C(n * n);
    cublasHandle_t handle;
    check(cublasCreate(&handle), "cuBLAS");
    at_end destroy{[&] { (void)cublasDestroy(handle); }};
    double seconds = seconds_of([&] {
        check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, A.at, type_of<T>, size, B.at,
                  type_of<T>, size, &zero, C.at, type_of<T>, size, wide<T> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                  CUBLAS_GEMM_DEFAULT),
            "GEMM");
    });
    const std::vector<T> c = C.back(n * n);
    for (size_t column : {size_t(0), n - 1})
        for (size_t r = 0; r < n; r += 1 + n / 64)
            if (static_cast<double>(c[column * n + r]) != dense_product(n, r, column))
                throw refusal{"cuBLAS: the result is wrong"};
    line(of, "cuBLAS")
        .add("op", "gemm")
        .add("cols", static_cast<int64_t>(n))
        .add("seconds", seconds)
        .add("max_difference", 0.0)
        .print();
}

/* Copies memory of the host by so many threads, as staging does (run/staging.h). */
void copy_by(int threads, char *to, const char *from, size_t bytes)
{
    std::vector<std::thread> others;
    const size_t share = bytes / static_cast<size_t>(threads);
    for (int t = 1; t < threads; t++)
        others.emplace_back([=] { std::memcpy(to + static_cast<size_t>(t) * share, from + static_cast<size_t>(t) * share, share); });
    std::memcpy(to, from, share);
    for (std::thread &other : others) other.join();
}

void print_rate(const job &of, const std::string &what, double bytes, double seconds)
{
    line(of).add("rate", what).add("bytes_per_second", bytes / seconds).print();
}

double median_of(const std::function<void()> &call)
{
    std::vector<double> seconds;
    for (int turn = 0; turn < 5; turn++) {
        const double begin = now();
        call();
        seconds.push_back(now() - begin);
    }
    return median(seconds);
}

/* Bounds of staging: the host copies into pinned memory, and pinning in place of it. */
void host_rates(const job &of, char *pinned, char *pageable, size_t bytes)
{
    for (int threads : {1, 4, 8, 16})
        print_rate(of, "copy on the host, " + std::to_string(threads) + " threads", static_cast<double>(bytes),
            median_of([&] { copy_by(threads, pinned, pageable, bytes); }));
    print_rate(of, "pinning memory", static_cast<double>(bytes), median_of([&] {
        check(cudaHostRegister(pageable, bytes, cudaHostRegisterDefault), "pinning");
        check(cudaHostUnregister(pageable), "pinning");
    }));
}

} // namespace

double copy_rate(const job &of)
{
    static double rate = 0;
    if (rate == 0) {
        const size_t bytes = size_t(of.small ? 1 : 256) << 20;
        there<char> a(bytes), b(bytes);
        check(cudaMemsetAsync(a.at, 1, bytes, nullptr), "memory");
        rate = 2 * static_cast<double>(bytes) / seconds_of_copy(b.at, a.at, bytes, cudaMemcpyDeviceToDevice);
    }
    return rate;
}

void rates(const job &of)
{
    const size_t bytes = static_cast<size_t>(std::atoi(of.spec.c_str())) << 20;
    there<char> a(bytes), b(bytes);
    void *pinned;
    check(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault), "pinned memory");
    at_end unpin{[&] { (void)cudaFreeHost(pinned); }};
    std::memset(pinned, 1, bytes);
    check(cudaMemcpy(a.at, pinned, bytes, cudaMemcpyHostToDevice), "an upload");
    std::vector<char> pageable(bytes, 2);
    const struct {
        const char *what;
        void *to;
        const void *from;
        cudaMemcpyKind kind;
        double moved;
    } ways[] = {{"upload, pinned", a.at, pinned, cudaMemcpyHostToDevice, 1},
        {"download, pinned", pinned, a.at, cudaMemcpyDeviceToHost, 1},
        {"upload, pageable", a.at, pageable.data(), cudaMemcpyHostToDevice, 1},
        {"download, pageable", pageable.data(), a.at, cudaMemcpyDeviceToHost, 1},
        {ON_GPU, b.at, a.at, cudaMemcpyDeviceToDevice, 2}};
    for (const auto &way : ways) {
        const double seconds = seconds_of_copy(way.to, way.from, bytes, way.kind);
        print_rate(of, way.what, way.moved * static_cast<double>(bytes), seconds);
    }
    host_rates(of, static_cast<char *>(pinned), pageable.data(), bytes);
}

void rival_gemm(const job &of)
{
    const size_t n = static_cast<size_t>(std::atoi(of.spec.c_str()));
    of.type == "f64" ? gemm<double>(of, n) : gemm<float>(of, n);
}
