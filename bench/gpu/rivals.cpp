/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuSPARSE with everything on the GPU: the median time of the fastest algorithm, after its preprocess; an analysis has
 * a time of its own. Buffers stay for the next call, so no time has their allocation. Results are compared with the
 * host's sums, within the bound of rounding.
 */
#include "rivals.h"

namespace
{

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
    cusparseHandle_t handle = nullptr;
    const job &of;
    const matrix &A;
    const T one = 1, zero = 0;
    there<char> workspace, more;
    rival(const job &which, const matrix &with) : of(which), A(with)
    {
        check(cusparseCreate(&handle), "cuSPARSE");
    }
    rival(const rival &) = delete;
    rival &operator=(const rival &) = delete;
    ~rival()
    {
        (void)cusparseDestroy(handle);
    }

    /* The fastest of the ways, checked, as a line; `verify` returns the largest difference. */
    void fastest(const char *op, int cols, const std::vector<way> &ways, const std::function<double()> &verify)
    {
        double best = 1e30, analysis = 0, off = 0;
        const char *name = nullptr;
        std::string why;
        for (const way &w : ways) {
            try {
                double before = w.prepare(), seconds = seconds_of(w.run);
                double difference = verify();
                if (seconds < best) best = seconds, analysis = before, name = w.name, off = difference;
            } catch (const refusal &r) {
                why = r.why;
                (void)cudaGetLastError(); /* one that stays is found after the job */
            }
        }
        line to(of, "cuSPARSE");
        to.add("op", op).add("cols", static_cast<int64_t>(cols));
        if (name)
            to.add("detail", name).add("analysis_seconds", analysis).add("seconds", best).add("max_difference", off);
        else
            to.add("error", why);
        to.print();
    }

    /* block: 0, rows */
    void spmm(const char *op, int cols, int block)
    {
        const size_t k = static_cast<size_t>(cols);
        std::vector<T> x(static_cast<size_t>(A.n) * k);
        for (size_t e = 0; e < x.size(); e++) x[e] = column_value<T>(e / k, e % k);
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
                              type_of<T>, alg, workspace.reserve(bytes)),
                        "SpMM's preprocess");
                    forget();
                    return 0.0;
                },
                [&, alg] {
                    check(cusparseSpMM(
                              handle, AS_IS, AS_IS, &one, a.descr, X.matrix, &zero, Y.matrix, type_of<T>, alg, workspace.at),
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
                              alg, workspace.reserve(bytes)),
                        "SpMV's preprocess");
                    forget();
                    return 0.0;
                },
                [&, alg] {
                    check(
                        cusparseSpMV(handle, AS_IS, &one, a.descr, X.vector, &zero, Y.vector, type_of<T>, alg, workspace.at),
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
            double off = 0;
            for (size_t c : {0, 1})
                off = std::max(off, compare(multiply(A, {from[c], from[c]}), longest(A), got[c], wide<T>));
            return off;
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
            estimate(workspace.reserve(first));
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
                    workspace.clear(), more.clear(), third.clear(), colind.clear(), val.clear();
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
                const sums want = multiply(A, multiply(B, weights(B.n)));
                return compare(want, longest(A) + longest(C), multiply(C, weights(n)).is, wide<T>);
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
                workspace.reserve(bytes);
                return seconds_of([&] {
                    check(cusparseSpSV_analysis(
                              handle, AS_IS, &one, l.descr, B.vector, X.vector, type_of<T>, alg, one_column, workspace.at),
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
                workspace.reserve(bytes);
                return seconds_of([&] {
                    check(cusparseSpSM_analysis(handle, AS_IS, AS_IS, &one, l.descr, B.matrix, X.matrix, type_of<T>,
                              alg, columns, workspace.at),
                        "SpSM's analysis");
                });
            },
            [&] {
                check(cusparseSpSM_solve(handle, AS_IS, AS_IS, &one, l.descr, B.matrix, X.matrix, type_of<T>,
                          CUSPARSE_SPSM_ALG_DEFAULT, columns),
                    "SpSM");
            }};
        fastest("trisolve", cols, {cols == 1 ? by_vector : by_matrix}, [&] {
            double off = 0;
            for (const values &got : X.ends(L.m, cols)) off = std::max(off, residual(L, got, b.is, wide<T>));
            return off;
        });
    }
};

template <typename T> void all(const job &of, const matrix &A)
{
    rival<T> r(of, A);
    if (of.part == "spmm") {
        r.spmm("spmm", of.number(), 0);
    } else if (of.part == "slabs") {
        r.spmm("spmm", of.number(), 0);
        r.spmm("bsr", of.number(), SLAB_BLOCK);
    } else if (of.part == "solves") {
        r.trisolve(of.number());
    } else {
        r.spgemm();
    }
}

} // namespace

void rival_of(const job &of, const matrix &A)
{
    of.type == "f64" ? all<double>(of, A) : all<float>(of, A);
}
