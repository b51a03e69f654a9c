/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sign of a Hamiltonian in an orthogonal basis by Pade's iteration of order 3, X' = X (15 I - 10 X^2 + 3 X^4) / 8,
 * with products by cuBLAS in f64, f32, TF32 and f16 with sums in f32: how accurate, and how fast, a submatrix is in
 * each (Lass, Schade, Kuehne, Plessl, "A submatrix-based method for approximate matrix function evaluation in the
 * quantum chemistry code CP2K", SC 2020, section VI, and its exploration of precisions). A line for each: iterations,
 * the residual |X^2 - I| / sqrt(n), Tflop/s of the products alone, and the error of E - mu N in meV an atom beside f64.
 * What is not a product is done on the host, in the precision of the sums.
 */
#include <cmath>
#include <cstring>

#include "rivals.h"

namespace
{

const double HARTREE = 27211.386, SPIN = 2; /* meV; electrons of a level */
const int MOST = 60;                        /* iterations */

enum mode { F64, F32, TF32, F16, MODES };
const char *const names[MODES] = {"f64", "f32", "tf32", "f16"};
const double epsilon[MODES] = {0x1p-52, 0x1p-23, 0x1p-10, 0x1p-10};

/* The nearest f16, ties to even, as its bits. */
uint16_t half_of(double x)
{
    uint32_t sign = std::signbit(x) ? 0x8000u : 0u;
    double size = std::fabs(x);
    if (!(size < 65520)) return static_cast<uint16_t>(sign | (std::isnan(x) ? 0x7e00u : 0x7c00u));
    int exponent;
    (void)std::frexp(size, &exponent);
    if (size == 0 || exponent < -13) exponent = -13; /* subnormal */
    double units = std::nearbyint(std::ldexp(size, 11 - exponent));
    uint32_t bits = static_cast<uint32_t>(units) + (static_cast<uint32_t>(exponent + 13) << 10);
    return static_cast<uint16_t>(sign | bits);
}

/* Products of n x n matrices, column-major, in one mode. */
struct products {
    enum mode mode;
    int n;
    cublasHandle_t blas = nullptr;
    void *at[3] = {nullptr, nullptr, nullptr};
    cudaEvent_t begin = nullptr, end = nullptr;
    double seconds = 0;
    int64_t count = 0;

    products(enum mode which, int size) : mode(which), n(size)
    {
        check(cublasCreate(&blas), "cuBLAS");
        for (void *&a : at) check(cudaMalloc(&a, static_cast<size_t>(n) * static_cast<size_t>(n) * 8), "memory");
        check(cudaEventCreate(&begin), "an event");
        check(cudaEventCreate(&end), "an event");
    }
    products(const products &) = delete;
    products &operator=(const products &) = delete;
    ~products()
    {
        for (void *a : at) (void)cudaFree(a);
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
        (void)cublasDestroy(blas);
    }

    void send(const values &X, void *to) const
    {
        std::vector<float> single(X.begin(), X.end());
        std::vector<uint16_t> half;
        const void *from = mode == F64 ? static_cast<const void *>(X.data()) : single.data();
        size_t size = mode == F64 ? 8 : 4;
        if (mode == F16) {
            for (double x : X) half.push_back(half_of(x));
            from = half.data();
            size = 2;
        }
        check(cudaMemcpy(to, from, X.size() * size, cudaMemcpyHostToDevice), "an upload");
    }

    values multiply(const values &A, const values &B)
    {
        static const double one = 1, zero = 0;
        static const float one32 = 1, zero32 = 0;
        const bool wide = mode == F64;
        const cudaDataType in = wide          ? CUDA_R_64F
                                : mode == F16 ? CUDA_R_16F
                                              : CUDA_R_32F,
                           out = wide ? CUDA_R_64F : CUDA_R_32F;
        const cublasComputeType_t sums = wide           ? CUBLAS_COMPUTE_64F
                                         : mode == TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                        : CUBLAS_COMPUTE_32F;
        const void *alpha = wide ? static_cast<const void *>(&one) : &one32,
                   *beta = wide ? static_cast<const void *>(&zero) : &zero32;
        send(A, at[0]);
        send(B, at[1]);
        check(cudaEventRecord(begin, nullptr), "an event");
        check(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, alpha, at[0], in, n, at[1], in, n, beta, at[2], out,
                  n, sums, CUBLAS_GEMM_DEFAULT),
            "a product");
        check(cudaEventRecord(end, nullptr), "an event");
        check(cudaEventSynchronize(end), "a product");
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "a time");
        if (count++) seconds += ms * 1e-3; /* the first one loads kernels */
        values C(A.size());
        if (wide) {
            check(cudaMemcpy(C.data(), at[2], C.size() * 8, cudaMemcpyDeviceToHost), "a download");
            return C;
        }
        std::vector<float> single(C.size());
        check(cudaMemcpy(single.data(), at[2], single.size() * 4, cudaMemcpyDeviceToHost), "a download");
        for (size_t e = 0; e < C.size(); e++) C[e] = static_cast<double>(single[e]);
        return C;
    }

    double rounded(double x) const
    {
        return mode == F64 ? x : static_cast<double>(static_cast<float>(x));
    }
};

/* Column-major, less mu on the diagonal. */
values dense_of(const matrix &K, double mu)
{
    const size_t n = static_cast<size_t>(K.m);
    values A(n * n, 0);
    for (size_t r = 0; r < n; r++)
        for (size_t e = K.begin(r); e < K.begin(r + 1); e++) A[static_cast<size_t>(K.colind[e]) * n + r] = K.val[e];
    for (size_t r = 0; r < n; r++) A[r * (n + 1)] -= mu;
    return A;
}

/* The largest sum of a row: a bound of the spectrum. */
double bound_of(const values &A, int n)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++)
            sum += std::fabs(A[static_cast<size_t>(j) * static_cast<size_t>(n) + static_cast<size_t>(i)]);
        if (sum > most) most = sum;
    }
    return most;
}

/* |Y - I|_F / sqrt(n). */
double distance(const values &Y, int n)
{
    double sum = 0;
    for (size_t e = 0; e < Y.size(); e++) {
        double x = Y[e] - (e % (static_cast<size_t>(n) + 1) == 0);
        sum += x * x;
    }
    return std::sqrt(sum / n);
}

struct result {
    int iterations = 0;
    double residual = 0, seconds = 0, energy = 0;
    int64_t products = 0;
};

/* E - mu N = tr (K - mu I) (I - sign) / 2, both spins; A = K - mu I. */
double energy_of(const values &A, const values &X, int n)
{
    double sum = 0;
    for (size_t e = 0; e < A.size(); e++) sum += A[e] * ((e % (static_cast<size_t>(n) + 1) == 0) - X[e]) / 2;
    return SPIN * sum;
}

result run(enum mode mode, const values &A, int n)
{
    products by(mode, n);
    result r;
    values X(A);
    double bound = bound_of(A, n), before = INFINITY;
    for (double &x : X) x = by.rounded(x / bound);
    for (;; r.iterations++) {
        values Y = by.multiply(X, X);
        r.residual = distance(Y, n);
        bool close = r.residual < 0.1; /* from there on it falls with the third power, unless rounding is reached */
        if (r.iterations == MOST || !std::isfinite(r.residual) || (close && r.residual > before / 2) ||
            r.residual < epsilon[mode] * 4)
            break;
        before = r.residual;
        values T = by.multiply(Y, Y);
        for (size_t e = 0; e < T.size(); e++)
            T[e] = by.rounded((15.0 * (e % (static_cast<size_t>(n) + 1) == 0) - 10 * Y[e] + 3 * T[e]) / 8);
        X = by.multiply(X, T);
    }
    r.energy = energy_of(A, X, n);
    r.seconds = by.seconds;
    r.products = by.count;
    return r;
}

} // namespace

/* Water: three atoms have six functions. */
void signs(const job &of, const matrix &K)
{
    const int n = static_cast<int>(K.m);
    const double atoms = n / 2.0, mu = std::atof(of.variant.c_str());
    const values A = dense_of(K, mu);
    double exact = 0;
    for (int m = 0; m < MODES; m++) {
        const result r = run(static_cast<enum mode>(m), A, n);
        const double flops = 2.0 * n * n * n * static_cast<double>(r.products > 1 ? r.products - 1 : 0);
        if (m == F64) exact = r.energy;
        if (!(r.residual < 0.1)) throw refusal{std::string(names[m]) + " does not converge"};
        line(of)
            .add("sign", names[m])
            .add("n", static_cast<int64_t>(n))
            .add("iterations", static_cast<int64_t>(r.iterations))
            .add("residual", r.residual)
            .add("products", r.products)
            .add("seconds", r.seconds)
            .add("flops_per_second", r.seconds > 0 ? flops / r.seconds : 0.0)
            .add("energy", r.energy)
            .add("error_mev", (r.energy - exact) * HARTREE / atoms)
            .print();
    }
}
