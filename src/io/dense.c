/* SPDX-License-Identifier: Apache-2.0 */
#include "io/dense.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse.h"
#include "io/npy/npy.h"
#include "io/operand.h"
#include "io/petsc/petsc.h"

/* Exactly one is set. */
struct tulle__dense {
    tulle__npy *npy;
    tulle__binsparse *binsparse;
    tulle__petsc *petsc;
};

tulle_status tulle__dense_open(const char *path, tulle__format format, tulle__dense **dense)
{
    tulle__dense *made;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a dense file", &made));
    if (format == TULLE__FORMAT_NPY)
        status = tulle__npy_open(path, &made->npy);
    else if (format == TULLE__FORMAT_PETSC)
        status = tulle__petsc_open(path, &made->petsc);
    else
        status = tulle__binsparse_open(path, NULL, &made->binsparse);
    if (status == TULLE_OK)
        *dense = made;
    else
        tulle__free(made);
    return status;
}

void tulle__dense_close(tulle__dense *dense)
{
    if (!dense) return;
    tulle__npy_close(dense->npy);
    tulle__binsparse_close(dense->binsparse);
    tulle__petsc_close(dense->petsc);
    tulle__free(dense);
}

void tulle__dense_watch(tulle__dense *dense, tulle__progress_meter *meter, int64_t values)
{
    if (dense->npy)
        tulle__npy_watch(dense->npy, meter, values);
    else if (dense->petsc)
        tulle__petsc_watch(dense->petsc, meter, values);
    else
        tulle__binsparse_watch(dense->binsparse, meter, values);
}

tulle_status tulle__dense_read(tulle__dense *dense, tulle__gate *gate, int64_t row, int64_t rows, int64_t col,
    int64_t cols, tulle_order order, int64_t ld, void *to)
{
    if (dense->npy) return tulle__npy_read(dense->npy, gate, row, rows, col, cols, order, ld, to);
    if (dense->petsc) return tulle__petsc_read(dense->petsc, gate, row, rows, col, cols, order, ld, to);
    return tulle__binsparse_read_block(dense->binsparse, gate, row, rows, col, cols, order, ld, to);
}
