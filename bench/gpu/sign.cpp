/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_sign K.mtx ATOMS MU: the sign of a Hamiltonian in an orthogonal basis by Pade's iteration of order 3,
 * X' = X (15 I - 10 X^2 + 3 X^4) / 8, with products by cuBLAS in f64, f32, TF32 and f16 with sums in f32: how accurate,
 * and how fast, a submatrix is in each (Lass, Schade, Kuehne, Plessl, "A submatrix-based method for approximate matrix
 * function evaluation in the quantum chemistry code CP2K", SC 2020, section VI, and its exploration of precisions). A
 * line of JSON for each: iterations, the residual |X^2 - I| / sqrt(n), Tflop/s of the products alone, and the error of
 * E - mu N in meV an atom beside f64. What is not a product is done on the host, in the precision of the sums. 77: no
 * GPU.
 */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <vector>

namespace
{

const double HARTREE = 27211.386, SPIN = 2; /* meV; electrons of a level */
const int MOST = 60;                        /* iterations */

enum mode { F64, F32, TF32, F16, MODES };
const char *const names[MODES] = {"f64", "f32", "tf32", "f16"};
const double epsilon[MODES] = {0x1p-52, 0x1p-23, 0x1p-10, 0x1p-10};

typedef std::vector<double> values;

[[noreturn]] void give_up(const char *what, const char *why)
{
    std::fprintf(stderr, "gpu_sign: %s: %s\n", what, why);
    std::exit(1);
}

void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) give_up(what, cudaGetErrorString(error));
}

void check(cublasStatus_t error, const char *what)
{
    if (error != CUBLAS_STATUS_SUCCESS) give_up(what, cublasGetStatusString(error));
}

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

values read_matrix(const char *path, int *n)
{
    std::FILE *file = std::fopen(path, "r");
    char line[1024] = "";
    int rows = 0, columns = 0;
    long long entries = 0;
    if (!file || !std::fgets(line, sizeof line, file)) give_up(path, "it cannot be read");
    bool symmetric = std::strstr(line, "symmetric") != nullptr;
    while (std::fgets(line, sizeof line, file) && line[0] == '%') continue;
    if (std::sscanf(line, "%d %d %lld", &rows, &columns, &entries) != 3 || rows != columns || rows < 1)
        give_up(path, "it is no square matrix in coordinates");
    values A(static_cast<size_t>(rows) * static_cast<size_t>(rows), 0);
    for (long long e = 0; e < entries; e++) {
        int i, j;
        double x;
        if (std::fscanf(file, "%d %d %lf", &i, &j, &x) != 3 || i < 1 || j < 1 || i > rows || j > rows)
            give_up(path, "an entry is missing or wrong");
        size_t at = static_cast<size_t>(j - 1) * static_cast<size_t>(rows) + static_cast<size_t>(i - 1);
        A[at] = x;
        if (symmetric) A[static_cast<size_t>(i - 1) * static_cast<size_t>(rows) + static_cast<size_t>(j - 1)] = x;
    }
    (void)std::fclose(file);
    *n = rows;
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

int main(int argc, char **argv)
{
    int devices = 0, n = 0;
    if (argc != 4) return std::fprintf(stderr, "usage: gpu_sign K.mtx ATOMS MU\n"), 2;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "gpu_sign: no GPU\n");
        return 77;
    }
    values A = read_matrix(argv[1], &n);
    double atoms = std::atof(argv[2]), mu = std::atof(argv[3]), exact = 0;
    if (!(atoms > 0)) return std::fprintf(stderr, "gpu_sign: the number of atoms must be above 0\n"), 2;
    for (int i = 0; i < n; i++) A[static_cast<size_t>(i) * (static_cast<size_t>(n) + 1)] -= mu;
    for (int m = 0; m < MODES; m++) {
        result r = run(static_cast<enum mode>(m), A, n);
        double flops = 2.0 * n * n * n * static_cast<double>(r.products > 1 ? r.products - 1 : 0);
        if (m == F64) exact = r.energy;
        std::printf("{\"sign\":\"%s\",\"n\":%d,\"iterations\":%d,\"residual\":%.3g,\"products\":%lld,\"seconds\":%.6g,"
                    "\"flops_per_second\":%.6g,\"energy\":%.12g,\"error_mev\":%.6g}\n",
            names[m], n, r.iterations, r.residual, static_cast<long long>(r.products), r.seconds,
            r.seconds > 0 ? flops / r.seconds : 0.0, r.energy, (r.energy - exact) * HARTREE / atoms);
        if (!(r.residual < 0.1)) return std::fprintf(stderr, "gpu_sign: %s does not converge\n", names[m]), 1;
    }
    return 0;
}
