/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices on the host: read, transposed, in blocks; and what products of them must be, within rounding. */
#ifndef GPU_RIVAL_MATRIX_H
#define GPU_RIVAL_MATRIX_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "rivals.h"

namespace
{

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

/* Big-endian words of a file. */
template <typename U> std::vector<U> words(std::FILE *file, size_t n, const char *name)
{
    std::vector<U> to(n);
    std::vector<unsigned char> raw(n * sizeof(U));
    if (std::fread(raw.data(), 1, raw.size(), file) != raw.size()) give_up(name, "ends early");
    for (size_t i = 0; i < n; i++) {
        U x = 0;
        for (size_t b = 0; b < sizeof(U); b++) x = x << 8 | raw[i * sizeof(U) + b];
        to[i] = x;
    }
    return to;
}

/* PETSc's binary format, as `tulle convert` writes it. */
template <typename T> matrix read(const char *name)
{
    enum { CLASS = 1211216 };
    std::FILE *file = std::fopen(name, "rb");
    if (!file) give_up(name, "cannot be read");
    at_end close{[&] { (void)std::fclose(file); }};
    const std::vector<uint32_t> head = words<uint32_t>(file, 4, name);
    if (head[0] != CLASS) give_up(name, "is no matrix of PETSc with indices of 32 bits");
    matrix A;
    A.m = head[1], A.n = head[2];
    A.rowptr.push_back(0);
    for (uint32_t length : words<uint32_t>(file, head[1], name))
        A.rowptr.push_back(A.rowptr.back() + static_cast<int>(length));
    for (uint32_t column : words<uint32_t>(file, head[3], name)) A.colind.push_back(static_cast<int>(column));
    for (uint64_t bits : words<uint64_t>(file, head[3], name)) {
        double x;
        std::memcpy(&x, &bits, sizeof x);
        A.val.push_back(static_cast<double>(static_cast<T>(x)));
    }
    return A;
}

matrix transposed(const matrix &A)
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

matrix lower(const matrix &A)
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
matrix in_blocks(const matrix &A, int size)
{
    matrix B;
    if (size < 1 || A.m % size || A.n % size) give_up("blocks", "their size does not divide the matrix");
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

sums multiply(const matrix &A, const sums &x)
{
    sums y{values(static_cast<size_t>(A.m)), values(static_cast<size_t>(A.m))};
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++)
        for (size_t e = A.begin(r); e < A.begin(r + 1); e++) {
            y.is[r] += A.val[e] * x.is[static_cast<size_t>(A.colind[e])];
            y.size[r] += std::fabs(A.val[e]) * x.size[static_cast<size_t>(A.colind[e])];
        }
    return y;
}

sums ones(int64_t n)
{
    return {values(static_cast<size_t>(n), 1), values(static_cast<size_t>(n), 1)};
}

int longest(const matrix &A)
{
    int most = 0;
    for (size_t r = 0; r < static_cast<size_t>(A.m); r++) most = std::max(most, A.rowptr[r + 1] - A.rowptr[r]);
    return most;
}

/* Sums of so many terms of type T. */
template <typename T> void compare(const char *what, const sums &want, int terms, const values &got)
{
    const double unit = wide<T> ? 0x1p-52 : 0x1p-23;
    for (size_t r = 0; r < got.size(); r++)
        if (!(std::fabs(got[r] - want.is[r]) <= unit * (terms + 2) * want.size[r]))
            give_up(what, "the result is wrong");
}

} // namespace

#endif
