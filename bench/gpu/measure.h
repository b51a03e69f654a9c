/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements on a GPU, one at a time in one process: a job of the list, the operand on the host and in Tulle, and
 * lines of JSON. A part's function prints a line for each figure; a refusal ends it and says why.
 */
#ifndef GPU_MEASURE_H
#define GPU_MEASURE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tulle/tulle.h>
#include <vector>

#include "host_matrix.h"

/* A line of the list, with one variant and one type. */
struct job {
    int round = 0, limit = 0; /* seconds */
    std::string part, input, spec, variant, type;
    bool small = false; /* sizes for the emulation */
    /* "spmm/fem64/32/f64": what a pattern is matched with */
    std::string name() const
    {
        return part + "/" + input + "/" + variant + "/" + type;
    }
    int number() const /* the variant's */
    {
        return std::atoi(variant.c_str());
    }
};

/* Inputs that are left out at a size are "-". */
std::vector<job> read_list(const char *path, bool small);

/* A line of JSON, which begins with the job. */
class line
{
    std::string text;

  public:
    explicit line(const job &of, const char *rival = nullptr);
    line &add(const char *key, double value);
    line &add(const char *key, int64_t value);
    line &add(const char *key, const std::string &value);
    void print() const; /* to standard output, at once */
};

/* A matrix in Tulle and on the host. */
struct operand {
    tulle_mat *A = nullptr;
    matrix host;
    operand() = default;
    operand(const operand &) = delete;
    operand &operator=(const operand &) = delete;
    ~operand()
    {
        tulle_mat_free(A);
    }
};

/* Throws a refusal, with Tulle's message, unless the status is TULLE_OK. */
void ask(tulle_status status, const char *what);
double now();
double median(std::vector<double> of);
/* Bytes a second of a copy on the GPU, read and written, measured once. */
double copy_rate(const job &of);

/* Degrees of freedom of the inputs of slabs, which are their blocks. */
enum { SLAB_BLOCK = 3 };

matrix matrix_of(const tulle_tile &tile);
/* Columns of B or X that Tulle and its rivals have alike: small integers by row and column. */
template <typename T> T column_value(size_t row, size_t column)
{
    return static_cast<T>(1 + (row + 3 * column) % 5);
}

/* Tulle's side: PE 0 of a team of one. */
void our_products(tulle_comm *comm, const job &of, const operand &x); /* spmm, spgemm, blocks */
void our_gemm(tulle_comm *comm, const job &of, const operand &none);
void our_solves(tulle_comm *comm, const job &of, const operand &x);
void our_slabs(tulle_comm *comm, const job &of, const operand &x); /* slabs, stream */
void our_systems(tulle_comm *comm, const job &of, const operand &x);
void our_functions(tulle_comm *comm, const job &of, const operand &x);

/* NVIDIA's libraries. */
void rates(const job &of);
void rival_gemm(const job &of);
void rival_of(const job &of, const matrix &A); /* spmm, spgemm, blocks, slabs, solves */
void signs(const job &of, const matrix &K);

#endif
