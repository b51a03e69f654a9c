/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that call HDF5: callers hold its lock. */
#ifndef TULLE_IO_HDF5_INSIDE_H
#define TULLE_IO_HDF5_INSIDE_H

#include <hdf5.h>

#include "io/binsparse/hdf5_file.h"

/* The text of an attribute of a group, freed by tulle__free. */
tulle_status tulle__hdf5_text(const char *path, hid_t group, const char *name, char **text);

/* Opens a data set, of this file alone; *set stays negative if there is none of this name. */
tulle_status tulle__hdf5_open_set(const char *path, hid_t group, const char *name, hid_t *set);

/* A group of this file alone; negative: there is none. */
tulle_status tulle__hdf5_open_group(const char *path, hid_t file, const char *name, hid_t *group);

/*
 * The matrix of a group without the attribute `binsparse`, or of one below the root; *at: that group, to be closed, or
 * the group itself.
 */
tulle_status tulle__hdf5_find_foreign(
    const char *path, const char *name, hid_t group, hid_t *at, tulle__hdf5_found *found);

#endif
