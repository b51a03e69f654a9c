/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse matrices of AnnData and 10x Genomics. Callers hold HDF5's lock. */
#ifndef TULLE_IO_HDF5_FOREIGN_H
#define TULLE_IO_HDF5_FOREIGN_H

#include <hdf5.h>

#include "io/binsparse/hdf5_found.h"

/*
 * The matrix of a group without the attribute `binsparse`, or of one below the root; *at: that group, to be closed, or
 * the group itself.
 */
tulle_status tulle__hdf5_find_foreign(
    const char *path, const char *name, hid_t group, hid_t *at, tulle__hdf5_found *found);

#endif
