/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse matrices in HDF5 files of single-cell data, found by what they hold. AnnData (.h5ad): a group with the
 * attribute `encoding-type`, csr_matrix or csc_matrix, and `shape` (in files before 0.7 h5sparse_format and
 * h5sparse_shape). 10x Genomics (.h5): a group with the data set `shape`, features x cells by columns; as both store
 * them, and as their users have them, cells are rows here.
 */
#ifdef TULLE_HAVE_HDF5

#include "io/binsparse/hdf5_foreign.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/hdf5_inside.h"

static const char *const names[TULLE__BINSPARSE_ARRAYS] = {"indptr", "", "indices", "data"};

/* Two numbers of a data set or an attribute. */
static bool two_numbers(hid_t space, int64_t *shape)
{
    const bool two = space >= 0 && H5Sget_simple_extent_npoints(space) == 2;
    if (space >= 0) H5Sclose(space);
    return two && shape;
}

static bool shape_of_attribute(hid_t group, const char *name, int64_t *shape)
{
    hid_t attribute = H5Aexists(group, name) > 0 ? H5Aopen(group, name, H5P_DEFAULT) : -1;
    if (attribute < 0) return false;
    const bool read = two_numbers(H5Aget_space(attribute), shape) && H5Aread(attribute, H5T_NATIVE_INT64, shape) >= 0;
    H5Aclose(attribute);
    return read;
}

/* A sparse matrix of AnnData. *is: this group is one. */
static tulle_status look_for_anndata(const char *path, hid_t group, bool *is, tulle__hdf5_found *found)
{
    const bool old = H5Aexists(group, "h5sparse_format") > 0;
    const char *name = old ? "h5sparse_format" : "encoding-type";
    char *text = NULL;
    int64_t shape[2];
    *is = false;
    if (H5Aexists(group, name) <= 0) return TULLE_OK;
    TULLE_CALL(tulle__hdf5_text(path, group, name, &text));
    *is = strncmp(text, "csr", 3) == 0 || strncmp(text, "csc", 3) == 0;
    if (*is) found->by_columns = text[2] == 'c';
    tulle__free(text);
    if (!*is) return TULLE_OK;
    if (!shape_of_attribute(group, old ? "h5sparse_shape" : "shape", shape))
        return tulle__fail(TULLE_ERR_FORMAT, "%s: a sparse matrix of AnnData lacks its shape", path);
    found->rows = shape[0];
    found->cols = shape[1];
    return TULLE_OK;
}

/* One of 10x Genomics. */
static tulle_status look_for_tenx(const char *path, hid_t group, bool *is, tulle__hdf5_found *found)
{
    int64_t shape[2];
    hid_t set = -1;
    *is = H5Lexists(group, "shape", H5P_DEFAULT) > 0 && H5Lexists(group, "indptr", H5P_DEFAULT) > 0;
    if (!*is) return TULLE_OK;
    tulle_status status = tulle__hdf5_open_set(path, group, "shape", &set);
    if (status != TULLE_OK || set < 0) return status;
    if (!two_numbers(H5Dget_space(set), shape) ||
        H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, shape) < 0)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the data set 'shape' is no pair of numbers", path);
    H5Dclose(set);
    found->by_columns = 0;
    found->rows = shape[1];
    found->cols = shape[0];
    return status;
}

static tulle_status look(const char *path, hid_t group, bool *is, tulle__hdf5_found *found)
{
    TULLE_CALL(look_for_anndata(path, group, is, found));
    return *is ? TULLE_OK : look_for_tenx(path, group, is, found);
}

static bool holds_numbers(const char *path, hid_t group, const char *name)
{
    hid_t set = -1;
    (void)tulle__hdf5_open_set(path, group, name, &set);
    if (set >= 0) H5Dclose(set);
    return set >= 0;
}

static tulle_status refuse(const char *path, const char *name, hid_t group)
{
    if (!name && holds_numbers(path, group, "X"))
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: its matrix X is dense: name a sparse layer, as in %s:layers/counts, or make X sparse "
            "(adata.X = scipy.sparse.csr_matrix(adata.X)) and write it again",
            path, path);
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s: has no attribute 'binsparse'%s%s%s, so it is an HDF5 file, but no Binsparse file, and no sparse matrix of "
        "AnnData or 10x Genomics: write the matrix in another format, or with its description, or name its group, as "
        "in "
        "%s:GROUP",
        path, name ? " in the group '" : "", name ? name : "", name ? "'" : "", path);
}

tulle_status tulle__hdf5_find_foreign(
    const char *path, const char *name, hid_t group, hid_t *at, tulle__hdf5_found *found)
{
    static const char *const places[] = {"X", "matrix"};
    bool is;
    tulle_status status = look(path, group, &is, found);
    found->names = names;
    if (status != TULLE_OK || is) return status;
    for (size_t i = 0; !name && i < sizeof places / sizeof *places; i++) {
        hid_t inner = -1;
        if (H5Lexists(group, places[i], H5P_DEFAULT) <= 0) continue;
        TULLE_TRY(tulle__hdf5_open_group(path, group, places[i], &inner));
        if (inner < 0) continue;
        status = look(path, inner, &is, found);
        if (status == TULLE_OK && is) {
            *at = inner;
            TULLE_TRY(tulle__alloc(strlen(places[i]) + 1, 1, "a path", &found->group));
            strcpy(found->group, places[i]);
            return TULLE_OK;
        }
        H5Gclose(inner);
        if (status != TULLE_OK) return status;
    }
    return refuse(path, name, group);
out:
    return status;
}

#endif
