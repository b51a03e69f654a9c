/* SPDX-License-Identifier: Apache-2.0 */
#ifdef TULLE_HAVE_HDF5

#include "io/binsparse/hdf5_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum { JSON_MOST = 1 << 20 };

/* The target of an external link that HDF5 was about to follow. */
struct elsewhere {
    char file[256], object[256];
    int met;
};

static herr_t refuse_link(const char *parent_file, const char *parent_group, const char *child_file,
    const char *child_object, unsigned *flags, hid_t access, void *arg)
{
    (void)parent_file, (void)parent_group, (void)flags, (void)access;
    struct elsewhere *to = arg;
    to->met = 1;
    snprintf(to->file, sizeof to->file, "%s", child_file ? child_file : "");
    snprintf(to->object, sizeof to->object, "%s", child_object ? child_object : "");
    return -1;
}

/* Looks objects up: no link to another file is followed, whatever leads to it. */
static hid_t links_of_this_file(hid_t class, struct elsewhere *to)
{
    hid_t plist = H5Pcreate(class);
    to->met = 0;
    if (plist >= 0 && H5Pset_elink_cb(plist, refuse_link, to) < 0) {
        H5Pclose(plist);
        return -1;
    }
    return plist;
}

static tulle_status fail_elsewhere(const char *path, const char *name, const struct elsewhere *to)
{
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "%s: '%s' is an external link, to '%s' of the file '%s': numbers of other files are not read", path, name,
        to->object, to->file);
}

/* The filters of a data set are there to undo, and its numbers lie in this file. */
static tulle_status check_storage(const char *path, const char *name, hid_t plist)
{
    if (H5Pget_layout(plist) == H5D_VIRTUAL)
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: '%s' is a virtual data set, whose numbers lie in other files: these are not read", path, name);
    if (H5Pget_external_count(plist) > 0) {
        char file[256] = "";
        (void)H5Pget_external(plist, 0, sizeof file - 1, file, NULL, NULL);
        return tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: the numbers of '%s' are stored in the file '%s': those of other files are not read", path, name, file);
    }
    for (int f = 0; f < H5Pget_nfilters(plist); f++) {
        unsigned flags, config;
        size_t values = 0;
        char filter[64] = "";
        const H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)f, &flags, &values, NULL, sizeof filter, filter, &config);
        if (id >= 0 && H5Zfilter_avail(id) <= 0)
            return tulle__fail(TULLE_ERR_UNSUPPORTED,
                "%s: '%s' is packed by the filter '%s' (number %d), which this HDF5 does not have: write "
                "the file without it, or with gzip",
                path, name, *filter ? filter : "?", (int)id);
    }
    return TULLE_OK;
}

/* A chunk or two, so that reads in order unpack each chunk once. */
static void keep_chunks(hid_t *set, hid_t group, const char *name, hid_t access)
{
    enum { LEAST = 1 << 20, MOST = 64 << 20, SLOTS = 521 };
    hid_t plist = H5Dget_create_plist(*set), type = H5Dget_type(*set);
    hsize_t chunk = 0;
    const int chunked = plist >= 0 && H5Pget_layout(plist) == H5D_CHUNKED && H5Pget_chunk(plist, 1, &chunk) == 1;
    const size_t bytes = 2 * (size_t)chunk * H5Tget_size(type);
    if (chunked && bytes > LEAST && bytes <= MOST && H5Pset_chunk_cache(access, SLOTS, bytes, 1) >= 0) {
        hid_t again = H5Dopen2(group, name, access);
        if (again >= 0) H5Dclose(*set), *set = again;
    }
    if (type >= 0) H5Tclose(type);
    if (plist >= 0) H5Pclose(plist);
}

tulle_status tulle__hdf5_open_set(const char *path, hid_t group, const char *name, hid_t *set)
{
    struct elsewhere to;
    *set = -1;
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0) return TULLE_OK;
    hid_t access = links_of_this_file(H5P_DATASET_ACCESS, &to);
    if (access < 0) return tulle__fail(TULLE_ERR_MEMORY, "%s: HDF5 has no memory", path);
    *set = H5Dopen2(group, name, access);
    if (*set >= 0) keep_chunks(set, group, name, access);
    H5Pclose(access);
    if (*set < 0 && to.met) return fail_elsewhere(path, name, &to);
    if (*set < 0) return tulle__fail(TULLE_ERR_FORMAT, "%s: '%s' is no data set", path, name);
    hid_t plist = H5Dget_create_plist(*set);
    tulle_status status = plist < 0 ? tulle__fail(TULLE_ERR_FORMAT, "%s: how '%s' is stored cannot be read", path, name)
                                    : check_storage(path, name, plist);
    if (plist >= 0) H5Pclose(plist);
    if (status == TULLE_OK) return TULLE_OK;
    H5Dclose(*set);
    *set = -1;
    return status;
}

tulle_status tulle__hdf5_open_group(const char *path, hid_t file, const char *name, hid_t *group)
{
    struct elsewhere to;
    hid_t access = links_of_this_file(H5P_GROUP_ACCESS, &to);
    *group = access < 0 ? -1 : H5Gopen2(file, name, access);
    if (access >= 0) H5Pclose(access);
    return *group < 0 && to.met ? fail_elsewhere(path, name, &to) : TULLE_OK;
}

tulle_status tulle__hdf5_text(const char *path, hid_t group, const char *name, char **to)
{
    tulle_status status = TULLE_OK;
    char *text = NULL, *variable = NULL;
    hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute), memory = -1,
          space = attribute < 0 ? -1 : H5Aget_space(attribute);
    if (type < 0 || H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
        TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT, "%s: the attribute '%s' is no text", path, name));
    if (H5Tis_variable_str(type) > 0) {
        memory = H5Tcopy(H5T_C_S1);
        H5Tset_size(memory, H5T_VARIABLE);
        H5Tset_cset(memory, H5Tget_cset(type));
        if (H5Aread(attribute, memory, &variable) < 0 || !variable)
            TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT, "%s: the attribute '%s' cannot be read", path, name));
        size_t n = strnlen(variable, JSON_MOST);
        TULLE_TRY(tulle__alloc(n + 1, 1, "a description", &text));
        memcpy(text, variable, n);
        text[n] = '\0';
    } else {
        size_t n = H5Tget_size(type);
        if (n > JSON_MOST)
            TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT, "%s: the attribute '%s' has %zu bytes", path, name, n));
        TULLE_TRY(tulle__alloc_zero(n + 1, 1, "a description", &text));
        if (H5Aread(attribute, type, text) < 0)
            TULLE_TRY(tulle__fail(TULLE_ERR_FORMAT, "%s: the attribute '%s' cannot be read", path, name));
    }
    *to = text;
    text = NULL;
out:
    if (variable) H5free_memory(variable);
    tulle__free(text);
    if (memory >= 0) H5Tclose(memory);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (attribute >= 0) H5Aclose(attribute);
    return status;
}

#endif
