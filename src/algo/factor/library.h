/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a module with a direct solver: factors as columns, on one PE. It allocates its
 * results with the host's functions, so that they are charged to the PE; the caller frees them,
 * even after a failure.
 */
#ifndef TULLE_FACTOR_LIBRARY_H
#define TULLE_FACTOR_LIBRARY_H

#include <tulle/direct.h>

#include "base/module/module.h"

/* Columns, with rows in any order. */
typedef struct tulle__factor_columns {
    int64_t *ptr, *row; /* [n + 1], [ptr[n]] */
    double *val;
} tulle__factor_columns;

typedef struct tulle__direct_work {
    int64_t n;               /* at least 1 */
    tulle__factor_columns A; /* rows ascend; Cholesky reads the upper triangle only */
    tulle_elimination elimination;
    double threshold;
    /* out, NULL before: as in direct.h, with the ones of L stored */
    tulle__factor_columns L, U;
    int64_t *row, *col;
    double *scale;
} tulle__direct_work;

struct tulle__direct_library {
    tulle_status (*lu)(const tulle__module_host *host, tulle__direct_work *work);
    tulle_status (*cholesky)(const tulle__module_host *host, tulle__direct_work *work);
};
typedef struct tulle__direct_library tulle__direct_library;

#endif
