/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices on the host: transposed, in blocks; and the sums that products of them must be, within rounding. */
#ifndef GPU_HOST_MATRIX_H
#define GPU_HOST_MATRIX_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

typedef std::vector<double> values;

/* Reason why a measurement has no figure; others may have one. */
struct refusal {
    std::string why;
};

struct matrix {
    int64_t m = 0, n = 0;
    std::vector<int> rowptr, colind;
    values val; /* of the type that is asked for */
    int64_t entries() const
    {
        return static_cast<int64_t>(colind.size());
    }
    size_t begin(size_t r) const
    {
        return static_cast<size_t>(rowptr[r]);
    }
};

inline matrix transposed(const matrix &A)
{
    matrix B;
    B.m = A.n, B.n = A.m;
    B.rowptr.assign(static_cast<size_t>(B.m) + 1, 0);
    B.colind.resize(A.colind.size());
    B.val.resize(A.val.size());
    for (int c : A.colind) B.rowptr[static_cast<size_t>(c) + 1]++;
    for (size_t r = 0; r < static_cast<size_t>(B.m); r++) B.rowptr[r + 1] += B.rowptr[r];
    std::vector<int> next(B.rowptr);
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++)
        for (size_t e = A.begin(r); e < A.begin(r + 1); e++) {
            size_t to = static_cast<size_t>(next[static_cast<size_t>(A.colind[e])]++);
            B.colind[to] = static_cast<int>(r);
            B.val[to] = A.val[e];
        }
    return B;
}

inline matrix lower(const matrix &A)
{
    matrix L;
    L.m = L.n = A.m;
    L.rowptr.push_back(0);
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++) {
        for (size_t e = A.begin(r); e < A.begin(r + 1); e++)
            if (static_cast<size_t>(A.colind[e]) <= r) {
                L.colind.push_back(A.colind[e]);
                L.val.push_back(A.val[e]);
            }
        L.rowptr.push_back(static_cast<int>(L.colind.size()));
    }
    return L;
}

/* Rows, columns and values of blocks, these row-major. */
inline matrix in_blocks(const matrix &A, int size)
{
    matrix B;
    if (size < 1 || A.m % size || A.n % size) throw refusal{"the size of blocks does not divide the matrix"};
    const size_t b = static_cast<size_t>(size);
    std::vector<int> place(static_cast<size_t>(A.n) / b);
    B.m = A.m / size, B.n = A.n / size;
    B.rowptr.push_back(0);
    for (size_t row = 0; row < static_cast<size_t>(B.m); row++) {
        const size_t first = B.colind.size();
        for (size_t e = A.begin(row * b); e < A.begin((row + 1) * b); e++) B.colind.push_back(A.colind[e] / size);
        const auto begin = B.colind.begin() + static_cast<std::ptrdiff_t>(first);
        std::sort(begin, B.colind.end());
        B.colind.erase(std::unique(begin, B.colind.end()), B.colind.end());
        for (size_t e = first; e < B.colind.size(); e++) place[static_cast<size_t>(B.colind[e])] = static_cast<int>(e);
        B.val.resize(B.colind.size() * b * b, 0);
        for (size_t r = 0; r < b; r++)
            for (size_t e = A.begin(row * b + r); e < A.begin(row * b + r + 1); e++) {
                size_t column = static_cast<size_t>(A.colind[e]);
                B.val[(static_cast<size_t>(place[column / b]) * b + r) * b + column % b] = A.val[e];
            }
        B.rowptr.push_back(static_cast<int>(B.colind.size()));
    }
    return B;
}

/* Sums in f64, and the same sums of magnitudes, by which rounding is bounded. */
struct sums {
    values is, size;
};

inline sums multiply(const matrix &A, const sums &x)
{
    sums y{values(static_cast<size_t>(A.m)), values(static_cast<size_t>(A.m))};
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++)
        for (size_t e = A.begin(r); e < A.begin(r + 1); e++) {
            y.is[r] += A.val[e] * x.is[static_cast<size_t>(A.colind[e])];
            y.size[r] += std::fabs(A.val[e]) * x.size[static_cast<size_t>(A.colind[e])];
        }
    return y;
}

inline sums ones(int64_t n)
{
    return {values(static_cast<size_t>(n), 1), values(static_cast<size_t>(n), 1)};
}

/* 1, 2, .. 7, 1, ..: a sum by them tells where in a row an element is. */
inline sums weights(int64_t n)
{
    sums x = ones(n);
    for (size_t i = 0; i < x.is.size(); i++) x.is[i] = x.size[i] = static_cast<double>(1 + i % 7);
    return x;
}

inline int longest(const matrix &A)
{
    int most = 0;
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++) most = std::max(most, A.rowptr[r + 1] - A.rowptr[r]);
    return most;
}

/*
 * The largest difference from sums of so many terms, relative to their magnitudes. A refusal: it exceeds the bound of
 * rounding in f64 or f32.
 */
inline double compare(const sums &want, int terms, const values &got, bool wide)
{
    const double bound = (wide ? 0x1p-52 : 0x1p-23) * (terms + 2);
    double most = 0;
    for (size_t r = 0; r < got.size(); r++) {
        double off = std::fabs(got[r] - want.is[r]);
        if (!(off <= bound * want.size[r])) throw refusal{"the result is wrong in row " + std::to_string(r)};
        if (off > 0) most = std::max(most, off / want.size[r]);
    }
    return most;
}

/* The largest difference of L x from b: rounding is bounded by the terms of x and by b. */
inline double residual(const matrix &L, const values &x, const values &b, bool wide)
{
    sums with{x, x};
    for (double &v : with.size) v = std::fabs(v);
    sums want = multiply(L, with);
    for (size_t r = 0; r < b.size(); r++) want.size[r] += std::fabs(b[r]);
    return compare(want, longest(L), b, wide);
}

/* Dense factors of integers so small that any order of sums has the same result. */
inline int dense_a(size_t row, size_t column)
{
    return static_cast<int>(row * 7 % 5) - 2 + static_cast<int>(column % 3);
}

inline int dense_b(size_t row, size_t column)
{
    return static_cast<int>(row % 3) - 1 + static_cast<int>(column % 2);
}

/* Element (row, column) of their product, of n inner indices. */
inline double dense_product(size_t n, size_t row, size_t column)
{
    int64_t sum = 0;
    for (size_t k = 0; k < n; k++) sum += dense_a(row, k) * dense_b(k, column);
    return static_cast<double>(sum);
}

#endif
