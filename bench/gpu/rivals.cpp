/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's libraries take on this GPU, beside Tulle (all.sh, part rivals): gpu_rivals rates, or
 * gpu_rivals A.mtx COLS. Lines of JSON: the rates of copies and of the link; cuSPARSE's SpMM by its best algorithm
 * after preprocess, SpGEMM (A A), and SpSV with A's lower triangle, its analysis apart. Each result is checked against
 * a product or a residual on the host. 77: no GPU.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <functional>
#include <string>
#include <vector>

namespace
{

typedef std::vector<double> values;

struct matrix {
    int n = 0;
    std::vector<int> rowptr, colind;
    values val;
};

[[noreturn]] void give_up(const char *what, const char *why)
{
    std::fprintf(stderr, "gpu_rivals: %s: %s\n", what, why);
    std::exit(1);
}

void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) give_up(what, cudaGetErrorString(error));
}

void check(cusparseStatus_t error, const char *what)
{
    if (error != CUSPARSE_STATUS_SUCCESS) give_up(what, cusparseGetErrorString(error));
}

/* Memory of the GPU, with a copy of what the host has. */
template <typename T> struct there {
    T *at = nullptr;
    size_t count;
    explicit there(size_t n) : count(n)
    {
        check(cudaMalloc(reinterpret_cast<void **>(&at), n ? n * sizeof(T) : 1), "memory");
    }
    explicit there(const std::vector<T> &from) : there(from.size())
    {
        check(cudaMemcpy(at, from.data(), count * sizeof(T), cudaMemcpyHostToDevice), "an upload");
    }
    there(const there &) = delete;
    there &operator=(const there &) = delete;
    ~there()
    {
        (void)cudaFree(at);
    }
    std::vector<T> back() const
    {
        std::vector<T> to(count);
        check(cudaMemcpy(to.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost), "a download");
        return to;
    }
};

/* Seconds of a call: the best of five, after one that is not counted. */
double seconds_of(const std::function<void()> &call)
{
    cudaEvent_t begin, end;
    double best = 1e30;
    check(cudaEventCreate(&begin), "an event");
    check(cudaEventCreate(&end), "an event");
    for (int turn = 0; turn < 6; turn++) {
        float ms;
        check(cudaEventRecord(begin), "an event");
        call();
        check(cudaEventRecord(end), "an event");
        check(cudaEventSynchronize(end), "what was timed");
        check(cudaEventElapsedTime(&ms, begin, end), "a time");
        if (turn && ms * 1e-3 < best) best = ms * 1e-3;
    }
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
    return best;
}

void tell(const char *operation, const char *detail, double seconds)
{
    std::printf("{\"rival\":\"cusparse\",\"operation\":\"%s\",\"detail\":\"%s\",\"seconds\":%.6g}\n", operation, detail,
        seconds);
}

/* ---- rates ---- */

void rates()
{
    const size_t bytes = static_cast<size_t>(256) << 20;
    there<char> a(bytes), b(bytes);
    void *pinned;
    check(cudaMallocHost(&pinned, bytes), "pinned memory");
    std::memset(pinned, 1, bytes);
    std::vector<char> pageable(bytes, 2);
    struct {
        const char *what;
        void *to;
        const void *from;
        cudaMemcpyKind kind;
        double moved;
    } const ways[] = {{"upload, pinned", a.at, pinned, cudaMemcpyHostToDevice, 1},
        {"download, pinned", pinned, a.at, cudaMemcpyDeviceToHost, 1},
        {"upload, pageable", a.at, pageable.data(), cudaMemcpyHostToDevice, 1},
        {"copy on the GPU, read and written", b.at, a.at, cudaMemcpyDeviceToDevice, 2}};
    for (const auto &way : ways) {
        double seconds =
            seconds_of([&] { check(cudaMemcpyAsync(way.to, way.from, bytes, way.kind, nullptr), way.what); });
        std::printf("{\"rate\":\"%s\",\"bytes_per_second\":%.6g}\n", way.what,
            way.moved * static_cast<double>(bytes) / seconds);
    }
    (void)cudaFreeHost(pinned);
}

/* ---- matrices ---- */

/* Matrix Market, square, coordinates of real numbers, general or symmetric. */
matrix read(const char *name)
{
    std::FILE *file = std::fopen(name, "r");
    if (!file) give_up(name, "cannot be read");
    char line[1024];
    long m, n, stored;
    if (!std::fgets(line, sizeof line, file)) give_up(name, "is empty");
    const bool symmetric = std::strstr(line, "symmetric") != nullptr;
    while (std::fgets(line, sizeof line, file) && line[0] == '%') continue;
    if (std::sscanf(line, "%ld %ld %ld", &m, &n, &stored) != 3 || m != n) give_up(name, "is no square matrix");
    struct entry {
        int r, c;
        double v;
    };
    std::vector<entry> entries;
    matrix A;
    A.n = static_cast<int>(n);
    A.rowptr.assign(static_cast<size_t>(n) + 1, 0);
    for (long e = 0; e < stored; e++) {
        entry x;
        if (std::fscanf(file, "%d %d %lf", &x.r, &x.c, &x.v) != 3) give_up(name, "ends early");
        x.r--, x.c--;
        entries.push_back(x);
        if (symmetric && x.r != x.c) entries.push_back({x.c, x.r, x.v});
    }
    std::fclose(file);
    for (const entry &x : entries) A.rowptr[static_cast<size_t>(x.r) + 1]++;
    for (size_t r = 0; r < static_cast<size_t>(n); r++) A.rowptr[r + 1] += A.rowptr[r];
    std::vector<int> at(A.rowptr);
    A.colind.resize(entries.size());
    A.val.resize(entries.size());
    /* by columns, then by rows: columns ascend */
    std::vector<std::vector<const entry *>> of_column(static_cast<size_t>(n));
    for (const entry &x : entries) of_column[static_cast<size_t>(x.c)].push_back(&x);
    for (const auto &column : of_column)
        for (const entry *x : column) {
            size_t to = static_cast<size_t>(at[static_cast<size_t>(x->r)]++);
            A.colind[to] = x->c;
            A.val[to] = x->v;
        }
    return A;
}

matrix lower(const matrix &A)
{
    matrix L;
    L.n = A.n;
    L.rowptr.push_back(0);
    for (int r = 0; r < A.n; r++) {
        for (int e = A.rowptr[static_cast<size_t>(r)]; e < A.rowptr[static_cast<size_t>(r) + 1]; e++)
            if (A.colind[static_cast<size_t>(e)] <= r) {
                L.colind.push_back(A.colind[static_cast<size_t>(e)]);
                L.val.push_back(A.val[static_cast<size_t>(e)]);
            }
        L.rowptr.push_back(static_cast<int>(L.colind.size()));
    }
    return L;
}

values multiply(const std::vector<int> &rowptr, const std::vector<int> &colind, const values &val, const values &x)
{
    values y(rowptr.size() - 1, 0.0);
    for (size_t r = 0; r + 1 < rowptr.size(); r++)
        for (size_t e = static_cast<size_t>(rowptr[r]); e < static_cast<size_t>(rowptr[r + 1]); e++)
            y[r] += val[e] * x[static_cast<size_t>(colind[e])];
    return y;
}

void compare(const char *what, const values &x, const values &y)
{
    double most = 0, error = 0;
    for (size_t i = 0; i < x.size(); i++) {
        most = std::fmax(most, std::fabs(x[i]));
        error = std::fmax(error, std::fabs(x[i] - y[i]));
    }
    if (!(error <= 1e-9 * (most + 1))) give_up(what, "the result is wrong");
}

/* A matrix on the GPU, with its description. */
struct csr {
    there<int> rowptr, colind;
    there<double> val;
    cusparseSpMatDescr_t descr;
    explicit csr(const matrix &A) : rowptr(A.rowptr), colind(A.colind), val(A.val)
    {
        check(cusparseCreateCsr(&descr, A.n, A.n, static_cast<int64_t>(A.val.size()), rowptr.at, colind.at, val.at,
                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
            "a matrix");
    }
    ~csr()
    {
        (void)cusparseDestroySpMat(descr);
    }
};

const cusparseOperation_t AS_IS = CUSPARSE_OPERATION_NON_TRANSPOSE;
const double ONE = 1, ZERO = 0;

/* ---- operations ---- */

void spmm(cusparseHandle_t handle, const matrix &A, int cols)
{
    csr a(A);
    const size_t n = static_cast<size_t>(A.n), k = static_cast<size_t>(cols);
    there<double> x(values(n * k, 1.0)), y(n * k);
    cusparseDnMatDescr_t X, Y;
    check(cusparseCreateDnMat(&X, A.n, cols, cols, x.at, CUDA_R_64F, CUSPARSE_ORDER_ROW), "X");
    check(cusparseCreateDnMat(&Y, A.n, cols, cols, y.at, CUDA_R_64F, CUSPARSE_ORDER_ROW), "Y");
    double best = 1e30;
    std::string name;
    const struct {
        const char *name;
        cusparseSpMMAlg_t alg;
    } ways[] = {{"alg1", CUSPARSE_SPMM_CSR_ALG1}, {"alg2", CUSPARSE_SPMM_CSR_ALG2}, {"alg3", CUSPARSE_SPMM_CSR_ALG3}};
    const values want = multiply(A.rowptr, A.colind, A.val, values(n, 1.0));
    for (const auto &way : ways) {
        size_t bytes = 0;
        if (cusparseSpMM_bufferSize(handle, AS_IS, AS_IS, &ONE, a.descr, X, &ZERO, Y, CUDA_R_64F, way.alg, &bytes) !=
            CUSPARSE_STATUS_SUCCESS)
            continue;
        there<char> room(bytes);
        check(cusparseSpMM_preprocess(handle, AS_IS, AS_IS, &ONE, a.descr, X, &ZERO, Y, CUDA_R_64F, way.alg, room.at),
            "preprocess");
        double seconds = seconds_of([&] {
            check(cusparseSpMM(handle, AS_IS, AS_IS, &ONE, a.descr, X, &ZERO, Y, CUDA_R_64F, way.alg, room.at), "SpMM");
        });
        values got = y.back(), first(n);
        for (size_t r = 0; r < n; r++) first[r] = got[r * k];
        compare("SpMM", want, first);
        if (seconds < best) best = seconds, name = way.name;
    }
    tell("spmm", (name + ", " + std::to_string(cols) + " columns").c_str(), best);
    (void)cusparseDestroyDnMat(X);
    (void)cusparseDestroyDnMat(Y);
}

void spgemm(cusparseHandle_t handle, const matrix &A)
{
    csr a(A);
    std::vector<int> rowptr, colind;
    values val;
    const cusparseSpGEMMAlg_t alg = CUSPARSE_SPGEMM_DEFAULT;
    double seconds = seconds_of([&] {
        cusparseSpGEMMDescr_t work;
        cusparseSpMatDescr_t C;
        size_t first = 0, second = 0;
        int64_t m, n, nnz;
        check(cusparseSpGEMM_createDescr(&work), "SpGEMM");
        check(cusparseCreateCsr(&C, A.n, A.n, 0, nullptr, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                  CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
            "C");
        const auto estimate = [&](void *room) {
            check(cusparseSpGEMM_workEstimation(
                      handle, AS_IS, AS_IS, &ONE, a.descr, a.descr, &ZERO, C, CUDA_R_64F, alg, work, &first, room),
                "SpGEMM's estimate");
        };
        const auto compute = [&](void *room) {
            check(cusparseSpGEMM_compute(
                      handle, AS_IS, AS_IS, &ONE, a.descr, a.descr, &ZERO, C, CUDA_R_64F, alg, work, &second, room),
                "SpGEMM");
        };
        estimate(nullptr);
        there<char> room1(first);
        estimate(room1.at);
        compute(nullptr);
        there<char> room2(second);
        compute(room2.at);
        check(cusparseSpMatGetSize(C, &m, &n, &nnz), "C");
        there<int> c_rowptr(static_cast<size_t>(m) + 1), c_colind(static_cast<size_t>(nnz));
        there<double> c_val(static_cast<size_t>(nnz));
        check(cusparseCsrSetPointers(C, c_rowptr.at, c_colind.at, c_val.at), "C");
        check(cusparseSpGEMM_copy(handle, AS_IS, AS_IS, &ONE, a.descr, a.descr, &ZERO, C, CUDA_R_64F, alg, work), "C");
        check(cudaDeviceSynchronize(), "SpGEMM");
        if (val.empty()) rowptr = c_rowptr.back(), colind = c_colind.back(), val = c_val.back();
        check(cusparseSpGEMM_destroyDescr(work), "SpGEMM");
        check(cusparseDestroySpMat(C), "C");
    });
    const values ones(static_cast<size_t>(A.n), 1.0);
    compare("SpGEMM", multiply(A.rowptr, A.colind, A.val, multiply(A.rowptr, A.colind, A.val, ones)),
        multiply(rowptr, colind, val, ones));
    tell("spgemm", "with memory, structure and values", seconds);
}

void spsv(cusparseHandle_t handle, const matrix &A)
{
    const matrix L = lower(A);
    csr l(L);
    const size_t n = static_cast<size_t>(L.n);
    const values want(n, 1.0), right = multiply(L.rowptr, L.colind, L.val, want);
    there<double> b(right), x(n);
    cusparseDnVecDescr_t B, X;
    cusparseSpSVDescr_t work;
    const cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
    const cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
    const cusparseSpSVAlg_t alg = CUSPARSE_SPSV_ALG_DEFAULT;
    size_t bytes = 0;
    check(cusparseSpMatSetAttribute(
              l.descr, CUSPARSE_SPMAT_FILL_MODE, const_cast<cusparseFillMode_t *>(&fill), sizeof fill),
        "a triangle");
    check(cusparseSpMatSetAttribute(
              l.descr, CUSPARSE_SPMAT_DIAG_TYPE, const_cast<cusparseDiagType_t *>(&diag), sizeof diag),
        "a triangle");
    check(cusparseCreateDnVec(&B, L.n, b.at, CUDA_R_64F), "b");
    check(cusparseCreateDnVec(&X, L.n, x.at, CUDA_R_64F), "x");
    check(cusparseSpSV_createDescr(&work), "SpSV");
    check(cusparseSpSV_bufferSize(handle, AS_IS, &ONE, l.descr, B, X, CUDA_R_64F, alg, work, &bytes), "SpSV");
    there<char> room(bytes);
    tell("spsv", "analysis", seconds_of([&] {
        check(cusparseSpSV_analysis(handle, AS_IS, &ONE, l.descr, B, X, CUDA_R_64F, alg, work, room.at), "analysis");
    }));
    double seconds = seconds_of(
        [&] { check(cusparseSpSV_solve(handle, AS_IS, &ONE, l.descr, B, X, CUDA_R_64F, alg, work), "SpSV"); });
    compare("SpSV", right, multiply(L.rowptr, L.colind, L.val, x.back()));
    tell("spsv", "solve", seconds);
    (void)cusparseSpSV_destroyDescr(work);
    (void)cusparseDestroyDnVec(B);
    (void)cusparseDestroyDnVec(X);
}

} // namespace

int main(int argc, char **argv)
{
    int gpus = 0;
    if (argc < 2 || (std::strcmp(argv[1], "rates") && argc < 3))
        return std::fprintf(stderr, "usage: gpu_rivals rates | A.mtx COLS\n"), 2;
    cudaError_t found = cudaGetDeviceCount(&gpus);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver || (found == cudaSuccess && !gpus))
        return std::fprintf(stderr, "gpu_rivals: no GPU: %s\n", cudaGetErrorString(found)), 77;
    if (found != cudaSuccess) return std::fprintf(stderr, "gpu_rivals: %s\n", cudaGetErrorString(found)), 1;
    if (!std::strcmp(argv[1], "rates")) {
        rates();
        return 0;
    }
    const matrix A = read(argv[1]);
    cusparseHandle_t handle;
    check(cusparseCreate(&handle), "cuSPARSE");
    spmm(handle, A, std::atoi(argv[2]));
    spgemm(handle, A);
    spsv(handle, A);
    (void)cusparseDestroy(handle);
    return 0;
}
