/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by loading and inspecting. */
#ifndef TULLE_IO_LOAD_H
#define TULLE_IO_LOAD_H

#include <tulle/io.h>

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

/* Entries as a source for the assembly, which releases them as it goes. */
tulle__entry_source tulle__load_source(tulle__entries *entries);

/* Loads a Matrix Market file. Collective, and agreed on. */
tulle_status tulle__load_mtx(tulle__loading *load, tulle_mat **A);

/*
 * Loads a generator's matrix. Collective. A sparse matrix is agreed on; the values of the own tiles
 * of a dense one are not.
 */
tulle_status tulle__load_generated(const tulle__loading *load, tulle_mat **A);
tulle_status tulle__fill_generated(const tulle__loading *load, tulle_mat *A);

#endif
