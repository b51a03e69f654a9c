/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the emulated cuSPARSE. */
#ifndef EMUL_SPARSE_H
#define EMUL_SPARSE_H

#include "inside.h"

#include <cusparse.h>

struct cusparseContext {
    cudaStream_t stream;
};
struct cusparseSpMatDescr {
    int alive;
    int64_t rows, cols, nnz, block;
    void *rowptr, *colind, *val;
    cudaDataType type;
    void *prepared; /* the buffer of the last preprocess */
    int attributes; /* bits, by their numbers: set, as those of a lower triangle */
};
struct cusparseDnVecDescr {
    int alive;
    int64_t size;
    void *val;
    cudaDataType type;
};
struct cusparseDnMatDescr {
    int alive;
    int64_t rows, cols, ld;
    void *val;
    cudaDataType type;
};

namespace emul
{
enum { ALIVE = 0x11117, WORKSPACE_ALIGNED = 128 };

inline size_t size_of(cudaDataType type)
{
    return type == CUDA_R_64F ? sizeof(double) : sizeof(float);
}

/* Bytes that any operation with the matrix asks for. */
inline size_t capacity_of(const cusparseSpMatDescr &A)
{
    return static_cast<size_t>(256 + 8 * A.rows + A.nnz / 2);
}

/* A buffer on the device of the stream, aligned, of the size that was asked for. */
inline cusparseStatus_t check_workspace(const cusparseSpMatDescr &A, const void *workspace, int device)
{
    if (reinterpret_cast<uintptr_t>(workspace) % WORKSPACE_ALIGNED == 0 && on_device(workspace, capacity_of(A), device))
        return CUSPARSE_STATUS_SUCCESS;
    complain("cuSPARSE was given a buffer that is not its");
    return CUSPARSE_STATUS_INVALID_VALUE;
}
} // namespace emul

#endif
