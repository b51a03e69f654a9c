/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by loading and inspecting. */
#ifndef TULLE_IO_LOAD_H
#define TULLE_IO_LOAD_H

#include <tulle/io.h>

#include "io/file/gate.h"
#include "io/mtx/mtx.h"
#include "io/operand.h"
#include "mat/assemble.h"

/* The reader's options for the public ones; NULL: the defaults. */
tulle__mtx_options tulle__mtx_options_for(const tulle_read_options *options);

/* A load in progress. */
typedef struct tulle__loading {
    tulle_comm *comm;
    const char *operand;
    tulle__format format; /* of the operand */
    const tulle_layout *layout;
    const tulle_read_options *options;
    char *warnings; /* never NULL */
    const tulle_operand_shape *shape;
} tulle__loading;

/*
 * Loads a generator's matrix. Collective. A sparse matrix is agreed on; the values of the own tiles
 * of a dense one are not.
 */
tulle_status tulle__load_generated(const tulle__loading *load, tulle_mat **A);
tulle_status tulle__fill_generated(const tulle__loading *load, tulle_mat *A);

/* The gate for the values of a file. */
tulle__gate tulle__gate_for(const tulle__loading *load, const char *name);

/*
 * True if the file is dense and allows reading sub-blocks. A Matrix Market array does not: it is
 * loaded as entries.
 */
int tulle__load_by_blocks(const tulle__loading *load);

/* Collective. A file's or generator's matrix as CSR; zeros of a dense file are left out. */
tulle_status tulle__load_sparse(tulle__loading *load, tulle_mat **A);

#endif
