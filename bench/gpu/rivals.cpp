/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVIDIA's libraries take on this GPU, beside Tulle (all.sh):
 *
 *   gpu_rivals rates MIB                  copies on the GPU and over the link
 *   gpu_rivals gemm TYPE SIZE             cuBLAS, three square matrices on the GPU
 *   gpu_rivals A.petsc NAME TYPE OP...    cuSPARSE, everything on the GPU
 *
 * TYPE is f32 or f64. OP is spmm:COLS (A X, row-major; of one column also as SpMV), bsr:SIZE:COLS (the same, A in
 * blocks), spgemm (A A, or A A^T if A is not square) or trisolve:COLS (A's lower triangle). Lines of JSON: the time of
 * the fastest algorithm, after its preprocess; an analysis has a time of its own; `error`: no algorithm has a result.
 * Buffers stay for the next call, so no time has their allocation. Results are checked against the host's, within the
 * bound of rounding. 77: no GPU.
 */
#include <cstring>
#include <string>

#include "rival_matrix.h"

namespace
{

/* ---- rates ---- */

void rates(size_t bytes)
{
    there<char> a(bytes), b(bytes);
    void *pinned;
    check(cudaHostAlloc(&pinned, bytes, cudaHostAllocDefault), "pinned memory");
    std::memset(pinned, 1, bytes);
    check(cudaMemcpy(a.at, pinned, bytes, cudaMemcpyHostToDevice), "an upload");
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

/* ---- cuBLAS ---- */

/* Integers so small that any order of sums has the same result: the first and the last column are compared with it. */
template <typename T> void gemm(size_t n)
{
    const T one = 1, zero = 0;
    const int size = static_cast<int>(n);
    std::vector<T> a(n * n), b(n * n);
    for (size_t e = 0; e < n * n; e++) {
        a[e] = static_cast<T>(e % n * 7 % 5) - 2 + static_cast<T>(e / n % 3);
        b[e] = static_cast<T>(e % n % 3) - 1 + static_cast<T>(e / n % 2);
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
    for (size_t column : {size_t(0), n - 1}) {
        std::vector<T> want(n, 0);
        for (size_t k = 0; k < n; k++)
            for (size_t r = 0; r < n; r++) want[r] += a[k * n + r] * b[column * n + k];
        if (!std::equal(want.begin(), want.end(), &c[column * n])) give_up("GEMM", "the result is wrong");
    }
    std::printf("{\"rival\":\"cuBLAS\",\"op\":\"gemm\",\"operand\":\"of random matrices\",\"type\":\"%s\",\"n\":%zu,"
                "\"seconds\":%.6g}\n",
        name_of<T>, n, seconds);
}

/* ---- cuSPARSE ---- */

/* A matrix on the GPU, with its description: in rows, or in blocks. */
template <typename T> struct sparse {
    there<int> rowptr, colind;
    there<T> val;
    cusparseSpMatDescr_t descr = nullptr;
    explicit sparse(const matrix &A, int block = 0)
        : rowptr(A.rowptr), colind(A.colind), val(std::vector<T>(A.val.begin(), A.val.end()))
    {
        const cusparseIndexType_t index = CUSPARSE_INDEX_32I;
        check(block ? cusparseCreateBsr(&descr, A.m, A.n, A.entries(), block, block, rowptr.at, colind.at, val.at,
                          index, index, CUSPARSE_INDEX_BASE_ZERO, type_of<T>, CUSPARSE_ORDER_ROW)
                    : cusparseCreateCsr(&descr, A.m, A.n, A.entries(), rowptr.at, colind.at, val.at, index, index,
                          CUSPARSE_INDEX_BASE_ZERO, type_of<T>),
            "a matrix");
    }
    ~sparse()
    {
        if (descr) (void)cusparseDestroySpMat(descr);
    }
};

/* Dense columns on the GPU, row-major, as a matrix and, if it is one, as a vector. */
template <typename T> struct dense {
    there<T> at;
    cusparseDnMatDescr_t matrix = nullptr;
    cusparseDnVecDescr_t vector = nullptr;
    dense(const std::vector<T> &from, int64_t rows, int cols) : at(from)
    {
        check(cusparseCreateDnMat(&matrix, rows, cols, cols, at.at, type_of<T>, CUSPARSE_ORDER_ROW), "columns");
        check(cusparseCreateDnVec(&vector, rows * cols, at.at, type_of<T>), "a vector");
    }
    ~dense()
    {
        if (matrix) (void)cusparseDestroyDnMat(matrix);
        if (vector) (void)cusparseDestroyDnVec(vector);
    }
    /* The first and the last column. */
    std::vector<values> ends(int64_t rows, int cols) const
    {
        const std::vector<T> all = at.back(static_cast<size_t>(rows) * static_cast<size_t>(cols));
        std::vector<values> to(2);
        for (size_t e = 0; e < all.size(); e += static_cast<size_t>(cols)) {
            to[0].push_back(static_cast<double>(all[e]));
            to[1].push_back(static_cast<double>(all[e + static_cast<size_t>(cols) - 1]));
        }
        return to;
    }
};

const cusparseOperation_t AS_IS = CUSPARSE_OPERATION_NON_TRANSPOSE;

/* An algorithm: analysis, if its time is of interest, then what is timed by calls. */
struct way {
    const char *name;
    std::function<double()> prepare;
    std::function<void()> run;
};

template <typename T> struct rival {
    cusparseHandle_t handle;
    const matrix &A;
    const char *operand;
    const T one = 1, zero = 0;
    there<char> room, more;
    rival(cusparseHandle_t by, const matrix &of, const char *name) : handle(by), A(of), operand(name) {}

    /* The fastest of the ways, checked, as a line. */
    void fastest(const char *op, int cols, const std::vector<way> &ways, const std::function<void()> &verify)
    {
        double best = 1e30, analysis = 0;
        const char *name = nullptr, *why = "";
        for (const way &w : ways) {
            try {
                double before = w.prepare(), seconds = seconds_of(w.run);
                verify();
                if (seconds < best) best = seconds, analysis = before, name = w.name;
            } catch (const refusal &r) {
                why = r.why;
            }
        }
        std::printf("{\"rival\":\"cuSPARSE\",\"op\":\"%s\",\"operand\":\"%s\",\"type\":\"%s\",\"cols\":%d,", op,
            operand, name_of<T>, cols);
        if (name)
            std::printf("\"detail\":\"%s\",\"analysis_seconds\":%.6g,\"seconds\":%.6g}\n", name, analysis, best);
        else
            std::printf("\"error\":\"%s\"}\n", why);
    }

    /* block: 0, rows */
    void spmm(const char *op, int cols, int block)
    {
        const size_t k = static_cast<size_t>(cols);
        std::vector<T> x(static_cast<size_t>(A.n) * k);
        for (size_t e = 0; e < x.size(); e++) x[e] = static_cast<T>(1 + (e / k + 3 * (e % k)) % 5);
        const matrix blocks = block ? in_blocks(A, block) : matrix();
        sparse<T> a(block ? blocks : A, block);
        dense<T> X(x, A.n, cols), Y(std::vector<T>(static_cast<size_t>(A.m) * k), A.m, cols);
        /* what the algorithm before has made must not pass for a result */
        const auto forget = [&] { check(cudaMemsetAsync(Y.at.at, 0xff, Y.at.count * sizeof(T), nullptr), "Y"); };
        const auto by_matrix = [&](const char *name, cusparseSpMMAlg_t alg) -> way {
            return {name,
                [&, alg] {
                    size_t bytes = 0;
                    check(cusparseSpMM_bufferSize(
                              handle, AS_IS, AS_IS, &one, a.descr, X.matrix, &zero, Y.matrix, type_of<T>, alg, &bytes),
                        "SpMM");
                    check(cusparseSpMM_preprocess(handle, AS_IS, AS_IS, &one, a.descr, X.matrix, &zero, Y.matrix,
                              type_of<T>, alg, room.reserve(bytes)),
                        "SpMM's preprocess");
                    forget();
                    return 0.0;
                },
                [&, alg] {
                    check(cusparseSpMM(
                              handle, AS_IS, AS_IS, &one, a.descr, X.matrix, &zero, Y.matrix, type_of<T>, alg, room.at),
                        "SpMM");
                }};
        };
        const auto by_vector = [&](const char *name, cusparseSpMVAlg_t alg) -> way {
            return {name,
                [&, alg] {
                    size_t bytes = 0;
                    check(cusparseSpMV_bufferSize(
                              handle, AS_IS, &one, a.descr, X.vector, &zero, Y.vector, type_of<T>, alg, &bytes),
                        "SpMV");
                    check(cusparseSpMV_preprocess(handle, AS_IS, &one, a.descr, X.vector, &zero, Y.vector, type_of<T>,
                              alg, room.reserve(bytes)),
                        "SpMV's preprocess");
                    forget();
                    return 0.0;
                },
                [&, alg] {
                    check(
                        cusparseSpMV(handle, AS_IS, &one, a.descr, X.vector, &zero, Y.vector, type_of<T>, alg, room.at),
                        "SpMV");
                }};
        };
        std::vector<way> ways;
        if (block) {
            ways.push_back(by_matrix("SpMM, BSR", CUSPARSE_SPMM_BSR_ALG1));
            if (cols == 1) ways.push_back(by_vector("SpMV, BSR", CUSPARSE_SPMV_BSR_ALG1));
        } else {
            ways = {by_matrix("SpMM 1", CUSPARSE_SPMM_CSR_ALG1), by_matrix("SpMM 2", CUSPARSE_SPMM_CSR_ALG2),
                by_matrix("SpMM 3", CUSPARSE_SPMM_CSR_ALG3)};
            if (cols == 1) ways.push_back(by_vector("SpMV 1", CUSPARSE_SPMV_CSR_ALG1));
            if (cols == 1) ways.push_back(by_vector("SpMV 2", CUSPARSE_SPMV_CSR_ALG2));
        }
        fastest(op, cols, ways, [&] {
            const std::vector<values> from = X.ends(A.n, cols), got = Y.ends(A.m, cols);
            for (size_t c : {0, 1}) compare<T>("SpMM", multiply(A, {from[c], from[c]}), longest(A), got[c]);
        });
    }

    /* The whole product each time: estimate, structure and values. */
    void spgemm()
    {
        const matrix B = A.m == A.n ? A : transposed(A);
        sparse<T> a(A), b(B);
        there<int> rowptr, colind;
        there<T> val;
        there<char> third;
        int64_t m = 0, n = 0, nnz = 0;
        const auto product = [&](cusparseSpGEMMAlg_t alg) {
            const cusparseIndexType_t index = CUSPARSE_INDEX_32I;
            cusparseSpGEMMDescr_t work;
            cusparseSpMatDescr_t C;
            size_t first = 0, second = 0, last = 0;
            check(cusparseSpGEMM_createDescr(&work), "SpGEMM");
            at_end without_work{[&] { (void)cusparseSpGEMM_destroyDescr(work); }};
            check(cusparseCreateCsr(&C, A.m, B.n, 0, rowptr.reserve(static_cast<size_t>(A.m) + 1), nullptr, nullptr,
                      index, index, CUSPARSE_INDEX_BASE_ZERO, type_of<T>),
                "C");
            at_end without_c{[&] { (void)cusparseDestroySpMat(C); }};
            const auto estimate = [&](void *to) {
                check(cusparseSpGEMM_workEstimation(
                          handle, AS_IS, AS_IS, &one, a.descr, b.descr, &zero, C, type_of<T>, alg, work, &first, to),
                    "SpGEMM's estimate");
            };
            const auto bound = [&](void *to) {
                check(cusparseSpGEMM_estimateMemory(handle, AS_IS, AS_IS, &one, a.descr, b.descr, &zero, C, type_of<T>,
                          alg, work, 0.2f, &last, to, &second),
                    "SpGEMM's memory");
            };
            const auto compute = [&](void *to) {
                check(cusparseSpGEMM_compute(
                          handle, AS_IS, AS_IS, &one, a.descr, b.descr, &zero, C, type_of<T>, alg, work, &second, to),
                    "SpGEMM");
            };
            estimate(nullptr);
            estimate(room.reserve(first));
            if (alg == CUSPARSE_SPGEMM_ALG1) {
                compute(nullptr);
            } else {
                bound(nullptr);
                bound(third.reserve(last));
            }
            compute(more.reserve(second));
            check(cusparseSpMatGetSize(C, &m, &n, &nnz), "C");
            check(cusparseCsrSetPointers(
                      C, rowptr.at, colind.reserve(static_cast<size_t>(nnz)), val.reserve(static_cast<size_t>(nnz))),
                "C");
            check(cusparseSpGEMM_copy(handle, AS_IS, AS_IS, &one, a.descr, b.descr, &zero, C, type_of<T>, alg, work),
                "C");
        };
        const auto by = [&](const char *name, cusparseSpGEMMAlg_t alg) -> way {
            return {name,
                [&] { /* memory that the algorithm before has taken */
                    room.clear(), more.clear(), third.clear(), colind.clear(), val.clear();
                    return 0.0;
                },
                [&, alg] { product(alg); }};
        };
        fastest("spgemm", 0,
            {by("SpGEMM 1", CUSPARSE_SPGEMM_ALG1), by("SpGEMM 2", CUSPARSE_SPGEMM_ALG2),
                by("SpGEMM 3", CUSPARSE_SPGEMM_ALG3)},
            [&] {
                const std::vector<T> made = val.back(static_cast<size_t>(nnz));
                matrix C;
                C.m = m, C.n = n;
                C.rowptr = rowptr.back(static_cast<size_t>(m) + 1);
                C.colind = colind.back(static_cast<size_t>(nnz));
                C.val.assign(made.begin(), made.end());
                compare<T>("SpGEMM", multiply(A, multiply(B, ones(B.n))), longest(A), multiply(C, ones(n)).is);
            });
    }

    void trisolve(int cols)
    {
        const matrix L = lower(A);
        sparse<T> l(L);
        const sums b = multiply(L, ones(L.n));
        std::vector<T> right;
        for (double x : b.is) right.insert(right.end(), static_cast<size_t>(cols), static_cast<T>(x));
        dense<T> B(right, L.m, cols), X(std::vector<T>(right.size()), L.m, cols);
        const cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
        const cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
        cusparseSpSVDescr_t one_column = nullptr;
        cusparseSpSMDescr_t columns = nullptr;
        check(cusparseSpMatSetAttribute(
                  l.descr, CUSPARSE_SPMAT_FILL_MODE, const_cast<cusparseFillMode_t *>(&fill), sizeof fill),
            "a triangle");
        check(cusparseSpMatSetAttribute(
                  l.descr, CUSPARSE_SPMAT_DIAG_TYPE, const_cast<cusparseDiagType_t *>(&diag), sizeof diag),
            "a triangle");
        check(cusparseSpSV_createDescr(&one_column), "SpSV");
        check(cusparseSpSM_createDescr(&columns), "SpSM");
        at_end destroy{[&] { (void)cusparseSpSV_destroyDescr(one_column), (void)cusparseSpSM_destroyDescr(columns); }};
        const way by_vector = {"SpSV",
            [&] {
                size_t bytes = 0;
                const cusparseSpSVAlg_t alg = CUSPARSE_SPSV_ALG_DEFAULT;
                check(cusparseSpSV_bufferSize(
                          handle, AS_IS, &one, l.descr, B.vector, X.vector, type_of<T>, alg, one_column, &bytes),
                    "SpSV");
                room.reserve(bytes);
                return seconds_of([&] {
                    check(cusparseSpSV_analysis(
                              handle, AS_IS, &one, l.descr, B.vector, X.vector, type_of<T>, alg, one_column, room.at),
                        "SpSV's analysis");
                });
            },
            [&] {
                check(cusparseSpSV_solve(handle, AS_IS, &one, l.descr, B.vector, X.vector, type_of<T>,
                          CUSPARSE_SPSV_ALG_DEFAULT, one_column),
                    "SpSV");
            }};
        const way by_matrix = {"SpSM",
            [&] {
                size_t bytes = 0;
                const cusparseSpSMAlg_t alg = CUSPARSE_SPSM_ALG_DEFAULT;
                check(cusparseSpSM_bufferSize(
                          handle, AS_IS, AS_IS, &one, l.descr, B.matrix, X.matrix, type_of<T>, alg, columns, &bytes),
                    "SpSM");
                room.reserve(bytes);
                return seconds_of([&] {
                    check(cusparseSpSM_analysis(handle, AS_IS, AS_IS, &one, l.descr, B.matrix, X.matrix, type_of<T>,
                              alg, columns, room.at),
                        "SpSM's analysis");
                });
            },
            [&] {
                check(cusparseSpSM_solve(handle, AS_IS, AS_IS, &one, l.descr, B.matrix, X.matrix, type_of<T>,
                          CUSPARSE_SPSM_ALG_DEFAULT, columns),
                    "SpSM");
            }};
        fastest("trisolve", cols, {cols == 1 ? by_vector : by_matrix}, [&] {
            for (const values &got : X.ends(L.m, cols)) {
                sums x{got, values()}, want;
                for (double v : got) x.size.push_back(std::fabs(v));
                want = multiply(L, x); /* its terms are what rounding is measured by */
                for (size_t r = 0; r < b.is.size(); r++) want.size[r] += std::fabs(b.is[r]);
                compare<T>("SpSV", want, longest(L), b.is);
            }
        });
    }
};

template <typename T> void all(int count, char **words)
{
    const matrix A = read<T>(words[0]);
    cusparseHandle_t handle;
    check(cusparseCreate(&handle), "cuSPARSE");
    at_end destroy{[&] { (void)cusparseDestroy(handle); }};
    for (int w = 3; w < count; w++) {
        int cols = 1, block = 0;
        rival<T> r(handle, A, words[1]);
        try {
            if (std::sscanf(words[w], "spmm:%d", &cols) == 1)
                r.spmm("spmm", cols, 0);
            else if (std::sscanf(words[w], "bsr:%d:%d", &block, &cols) == 2)
                r.spmm("bsr", cols, block);
            else if (std::sscanf(words[w], "trisolve:%d", &cols) == 1)
                r.trisolve(cols);
            else if (!std::strcmp(words[w], "spgemm"))
                r.spgemm();
            else
                give_up(words[w], "is no operation");
        } catch (const refusal &why) { /* before any algorithm */
            std::printf("{\"rival\":\"cuSPARSE\",\"op\":\"%.*s\",\"operand\":\"%s\",\"type\":\"%s\",\"cols\":%d,"
                        "\"error\":\"%s\"}\n",
                static_cast<int>(std::strcspn(words[w], ":")), words[w], words[1], name_of<T>, cols, why.why);
        }
        std::fflush(stdout); /* what there is stays if this is cut off */
    }
}

} // namespace

int main(int argc, char **argv)
{
    int gpus = 0;
    const std::string verb = argc > 1 ? argv[1] : "", type = argc > 3 ? argv[verb == "gemm" ? 2 : 3] : "";
    if (verb != "rates" ? argc < (verb == "gemm" ? 4 : 5) || (type != "f32" && type != "f64") : argc != 3)
        return std::fprintf(stderr, "usage: gpu_rivals rates MIB | gemm TYPE SIZE | A.petsc NAME TYPE OP...\n"), 2;
    cudaError_t found = cudaGetDeviceCount(&gpus);
    if (found == cudaErrorNoDevice || found == cudaErrorInsufficientDriver || (found == cudaSuccess && !gpus))
        return std::fprintf(stderr, "gpu_rivals: no GPU: %s\n", cudaGetErrorString(found)), 77;
    if (found != cudaSuccess) give_up("GPUs", cudaGetErrorString(found));
    if (verb == "rates")
        rates(static_cast<size_t>(std::atoi(argv[2])) << 20);
    else if (verb == "gemm")
        type == "f64" ? gemm<double>(static_cast<size_t>(std::atoi(argv[3])))
                      : gemm<float>(static_cast<size_t>(std::atoi(argv[3])));
    else
        type == "f64" ? all<double>(argc - 1, argv + 1) : all<float>(argc - 1, argv + 1);
    return 0;
}
