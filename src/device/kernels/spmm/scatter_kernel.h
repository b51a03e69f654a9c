/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of a row kernel of the transposed sparse-dense product, and the kernels of each instruction set. */
#ifndef TULLE_DEVICE_KERNELS_SCATTER_KERNEL_H
#define TULLE_DEVICE_KERNELS_SCATTER_KERNEL_H

#include "device/kernels/isa.h"
#include "kernel/kernel.h"

/* C += alpha A^T X, entry by entry: X row-major with a line for each row of A, C with one for each column, n of both.
 */
typedef struct tulle__scatter_rows {
    tulle__csr A;
    const void *X;
    int64_t ldx, ldc, n;
    void *C;
    double alpha;
    int fetches; /* lines of C are worth fetching ahead */
} tulle__scatter_rows;

typedef void (*tulle__scatter_kernel)(const tulle__scatter_rows *rows);

/* `lines` lines of n values, element (i, j) at val[i * row + j * col]: they become lines without gaps. */
typedef struct tulle__columns {
    const void *val;
    int64_t lines, n, row, col;
} tulle__columns;

#define TULLE__DECLARE(isa, index)                                                                                     \
    void tulle__scatter_##isa(tulle_type type, const tulle__scatter_rows *rows);                                       \
    void tulle__lines_##isa(tulle_type type, const tulle__columns *columns, void *to);
TULLE__EACH_ISA(TULLE__DECLARE)
#undef TULLE__DECLARE

#endif
