/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, data sets and attributes of one HDF5 file: no link to another one is followed. Callers hold HDF5's lock. */
#ifndef TULLE_IO_HDF5_INSIDE_H
#define TULLE_IO_HDF5_INSIDE_H

#include <hdf5.h>

#include <tulle/status.h>

/* The text of an attribute of a group, freed by tulle__free. */
tulle_status tulle__hdf5_text(const char *path, hid_t group, const char *name, char **text);

/* Opens a data set whose numbers lie in this file and can be unpacked; *set stays negative if there is none. */
tulle_status tulle__hdf5_open_set(const char *path, hid_t group, const char *name, hid_t *set);

/* Negative: there is no such group. */
tulle_status tulle__hdf5_open_group(const char *path, hid_t file, const char *name, hid_t *group);

#endif
