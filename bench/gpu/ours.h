/* SPDX-License-Identifier: Apache-2.0 */
/* Tulle's objects as the measurements want them: freed at the end of a scope, also after a refusal. */
#ifndef GPU_OURS_H
#define GPU_OURS_H

#include "measure.h"

struct guard {
    std::function<void()> call;
    ~guard()
    {
        call();
    }
};

template <typename T, void (*FREE)(T *)> class handle
{
    T *at;

  public:
    explicit handle(T *of) : at(of) {}
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle()
    {
        FREE(at);
    }
    T *get() const
    {
        return at;
    }
};

inline tulle_type type_of(const job &of)
{
    return of.type == "f64" ? TULLE_F64 : TULLE_F32;
}

tulle_tile tile_of(const tulle_mat *A, int i = 0, int j = 0);
/* Dense, row-major, one tile: zeros; and columns of small integers (column_value). */
tulle_mat *empty(tulle_comm *comm, int64_t rows, int64_t cols, tulle_type type);
tulle_mat *columns(tulle_comm *comm, int64_t rows, int64_t cols, tulle_type type);
tulle_mat *in_even_blocks(const operand &x, int size);
/* Column c of a dense matrix of one tile. */
values column_of(const tulle_mat *A, int c);
/* The largest difference of the first and the last column of Y = A `columns` from the host's sums; all are compared. */
double difference_of_columns(const job &of, const matrix &A, const tulle_mat *Y, int cols);
/* Compulsory traffic of A X in rows: A, X and Y once. */
double bytes_of(const matrix &A, const job &of, int cols);

#endif
