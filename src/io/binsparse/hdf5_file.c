/* SPDX-License-Identifier: Apache-2.0 */
#include "io/binsparse/hdf5_file.h"

#include "base/attend.h"
#include "base/error.h"

static const char *const names[TULLE__BINSPARSE_ARRAYS] = {"pointers_to_1", "indices_0", "indices_1", "values"};

const char *tulle__binsparse_name(int which)
{
    return names[which];
}

#ifdef TULLE_HAVE_HDF5

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "io/binsparse/hdf5_foreign.h"
#include "io/binsparse/hdf5_inside.h"

enum { BLOCK = 4096 };

/* The one writable file-scope variable: HDF5's state is global. */
static pthread_mutex_t hdf5_lock = PTHREAD_MUTEX_INITIALIZER;

/* HDF5's type names are function calls, so no constant table is possible. */
static void common_types(char kind, size_t size, hid_t *little, hid_t *big)
{
    int k = kind == 'f' ? 0 : kind == 'i' ? 1 : 2, s = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    const hid_t little_types[3][4] = {{H5T_IEEE_F32LE, H5T_IEEE_F32LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE},
        {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE},
        {H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE}};
    const hid_t big_types[3][4] = {{H5T_IEEE_F32BE, H5T_IEEE_F32BE, H5T_IEEE_F32BE, H5T_IEEE_F64BE},
        {H5T_STD_I8BE, H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_I64BE},
        {H5T_STD_U8BE, H5T_STD_U16BE, H5T_STD_U32BE, H5T_STD_U64BE}};
    *little = little_types[k][s];
    *big = big_types[k][s];
}

/* ---- reading ---- */

/* Type and location of a data set; not `present` if there is none of this name. */
static tulle_status examine_set(const char *path, hid_t group, const char *name, tulle__binsparse_array *array)
{
    hid_t set;
    memset(array, 0, sizeof *array);
    array->offset = -1;
    if (!*name) return TULLE_OK;
    tulle_status status = tulle__hdf5_open_set(path, group, name, &set);
    if (status != TULLE_OK || set < 0) return status;
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    hsize_t count = 0;
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    int power = size == 1 || size == 2 || size == 4 || size == 8;
    if (class == H5T_INTEGER && power)
        array->kind = H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i';
    else if (class == H5T_FLOAT && (size == 4 || size == 8))
        array->kind = 'f';
    else
        status = tulle__fail(TULLE_ERR_UNSUPPORTED,
            "%s: the data set '%s' holds neither integers nor floats of up to 64 bits", path, name);
    if (status == TULLE_OK &&
        (H5Sget_simple_extent_type(space) != H5S_SIMPLE || H5Sget_simple_extent_ndims(space) != 1 ||
            H5Sget_simple_extent_dims(space, &count, NULL) != 1 || count > INT64_MAX))
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' is not a list of numbers", path, name);
    if (status == TULLE_OK) {
        array->present = 1;
        array->size = (int)size;
        array->count = (int64_t)count;
        /* only numbers in a native layout can be read without HDF5 */
        hid_t little, big;
        common_types(array->kind, size, &little, &big);
        int is_little = H5Tequal(type, little) > 0, is_big = H5Tequal(type, big) > 0;
        array->swapped = size > 1 && is_little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
        hid_t plist = H5Dget_create_plist(set);
        haddr_t offset = H5Dget_offset(set);
        if ((is_little || is_big) && plist >= 0 && H5Pget_layout(plist) == H5D_CONTIGUOUS && offset != HADDR_UNDEF &&
            offset <= INT64_MAX / 2)
            array->offset = (int64_t)offset;
        if (plist >= 0) H5Pclose(plist);
    }
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    H5Dclose(set);
    return status;
}

/*
 * HDF5 looks for the real name of what a link of /dev names, which a file without a name lacks: a pipe
 * that was written to one. Its driver over stdio does without.
 */
static hid_t open_file(const char *name)
{
    struct stat info;
    if (stat(name, &info) != 0 || info.st_nlink) return H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = access < 0 || H5Pset_fapl_stdio(access) < 0 ? -1 : H5Fopen(name, H5F_ACC_RDONLY, access);
    if (access >= 0) H5Pclose(access);
    return file;
}

/* Opens file and group; both negative on failure. */
static tulle_status open_group(const char *path, const char *name, hid_t *file, hid_t *group)
{
    struct stat info;
    const char *called = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    *file = *group = -1;
    if (stat(called, &info) == 0 && !S_ISREG(info.st_mode))
        return tulle__fail(TULLE_ERR_IO, "%s: is not a regular file", path);
    *file = open_file(called);
    if (*file < 0) return tulle__fail(TULLE_ERR_FORMAT, "%s: is no HDF5 file, or a damaged one", path);
    tulle_status status = tulle__hdf5_open_group(path, *file, name ? name : "/", group);
    if (status == TULLE_OK && *group < 0)
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: has no group '%s'", path, name ? name : "/");
    if (status == TULLE_OK) return TULLE_OK;
    H5Fclose(*file);
    *file = -1;
    return status;
}

static tulle_status examine(const char *path, const char *name, tulle__hdf5_found *found)
{
    hid_t file, group, at;
    tulle_status status = TULLE_OK;
    TULLE_CALL(open_group(path, name, &file, &group));
    at = group;
    found->names = names;
    if (H5Aexists(group, "binsparse") > 0)
        TULLE_TRY(tulle__hdf5_text(path, group, "binsparse", &found->json));
    else
        TULLE_TRY(tulle__hdf5_find_foreign(path, name, group, &at, found));
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        TULLE_TRY(examine_set(path, at, found->names[w], &found->array[w]));
out:
    if (at != group) H5Gclose(at);
    H5Gclose(group);
    H5Fclose(file);
    return status;
}

struct tulle__hdf5_sets {
    hid_t file, group, set[TULLE__BINSPARSE_ARRAYS]; /* -1: not open */
};

tulle_status tulle__hdf5_sets_new(tulle__hdf5_sets **sets)
{
    TULLE_CALL(tulle__alloc(1, sizeof **sets, "data sets", sets));
    **sets = (tulle__hdf5_sets){-1, -1, {-1, -1, -1, -1}};
    return TULLE_OK;
}

void tulle__hdf5_sets_free(tulle__hdf5_sets *sets)
{
    if (!sets) return;
    pthread_mutex_lock(&hdf5_lock);
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (sets->set[w] >= 0) H5Dclose(sets->set[w]);
    if (sets->group >= 0) H5Gclose(sets->group);
    if (sets->file >= 0) H5Fclose(sets->file);
    pthread_mutex_unlock(&hdf5_lock);
    tulle__free(sets);
}

static tulle_status read_slab(tulle__hdf5_sets *sets, const char *path, const char *group, const char *name, int which,
    int64_t first, int64_t count, char kind, void *to)
{
    hsize_t start = (hsize_t)first, n = (hsize_t)count;
    hid_t type = kind == 'f' ? H5T_NATIVE_DOUBLE : kind == 'u' ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    tulle_status status = TULLE_OK;
    if (sets->file < 0) status = open_group(path, group, &sets->file, &sets->group);
    if (status == TULLE_OK && sets->set[which] < 0)
        status = tulle__hdf5_open_set(path, sets->group, name, &sets->set[which]);
    if (status != TULLE_OK) return status;
    const hid_t set = sets->set[which];
    hid_t space = set < 0 ? -1 : H5Dget_space(set), memory = H5Screate_simple(1, &n, NULL);
    if (set < 0 || space < 0 || memory < 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL) < 0 ||
        H5Dread(set, type, memory, space, H5P_DEFAULT, to) < 0)
        status = tulle__fail(TULLE_ERR_IO, "%s: numbers %" PRId64 " to %" PRId64 " of the data set '%s' cannot be read",
            path, first, first + count - 1, name);
    if (memory >= 0) H5Sclose(memory);
    if (space >= 0) H5Sclose(space);
    return status;
}

static tulle_status create_set(hid_t file, int which, tulle__binsparse_array *array)
{
    hsize_t n = (hsize_t)array->count;
    hid_t type = array->kind == 'f' ? (array->size == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE)
                                    : (array->size == 4 ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT64);
    hid_t space = H5Screate_simple(1, &n, NULL), plist = H5Pcreate(H5P_DATASET_CREATE), set = -1;
    int fine = space >= 0 && plist >= 0 && H5Pset_layout(plist, H5D_CONTIGUOUS) >= 0 &&
               H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER) >= 0;
    if (fine) set = H5Dcreate2(file, names[which], type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (set >= 0) {
        haddr_t offset = H5Dget_offset(set);
        array->offset = offset == HADDR_UNDEF ? -1 : (int64_t)offset;
        H5Dclose(set);
    }
    if (plist >= 0) H5Pclose(plist);
    if (space >= 0) H5Sclose(space);
    return set >= 0 && (array->offset >= 0 || n == 0)
               ? TULLE_OK
               : tulle__fail(TULLE_ERR_IO, "HDF5 could not make room for the data set '%s'", names[which]);
}

static tulle_status create(const char *path, const char *json, tulle__binsparse_array *array)
{
    tulle_status status = TULLE_OK;
    hid_t type = -1, space = -1, attribute = -1;
    /* aligned data sets, so that they can be read with O_DIRECT */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0) H5Pset_alignment(access, BLOCK, BLOCK);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access >= 0 ? access : H5P_DEFAULT);
    if (access >= 0) H5Pclose(access);
    if (file < 0) return tulle__fail(TULLE_ERR_IO, "%s: HDF5 cannot create it", path);
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (array[w].present) TULLE_TRY(create_set(file, w, &array[w]));
    type = H5Tcopy(H5T_C_S1);
    space = H5Screate(H5S_SCALAR);
    if (type >= 0 && space >= 0 && H5Tset_size(type, strlen(json) + 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        attribute = H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, type, json) < 0)
        status = tulle__fail(TULLE_ERR_IO, "%s: HDF5 cannot write the attribute 'binsparse'", path);
out:
    if (attribute >= 0) H5Aclose(attribute);
    if (space >= 0) H5Sclose(space);
    if (type >= 0) H5Tclose(type);
    if (H5Fclose(file) < 0 && status == TULLE_OK)
        status = tulle__fail(TULLE_ERR_IO, "%s: HDF5 cannot complete it", path);
    return status;
}

/* status = an operation, which holds the lock, with HDF5's error printing off. */
#define ALONE(operation)                                                                                               \
    do {                                                                                                               \
        pthread_mutex_lock(&hdf5_lock);                                                                                \
        H5E_BEGIN_TRY                                                                                                  \
        {                                                                                                              \
            status = (operation);                                                                                      \
        }                                                                                                              \
        H5E_END_TRY                                                                                                    \
        pthread_mutex_unlock(&hdf5_lock);                                                                              \
    } while (0)

tulle_status tulle__hdf5_examine(const char *path, const char *group, tulle__hdf5_found *found)
{
    tulle_status status;
    ALONE(examine(path, group, found));
    return status;
}

tulle_status tulle__hdf5_read(tulle__hdf5_sets *sets, const char *path, const char *group, const char *const *called,
    int which, int64_t first, int64_t count, char kind, void *to)
{
    tulle_status status = tulle__attend(); /* not while the lock is held: a program may read there, too */
    if (status == TULLE_OK) ALONE(read_slab(sets, path, group, called[which], which, first, count, kind, to));
    return status;
}

tulle_status tulle__hdf5_create(const char *path, const char *json, tulle__binsparse_array *array)
{
    tulle_status status;
    ALONE(create(path, json, array));
    return status;
}
#undef ALONE

tulle_status tulle__hdf5_present(const char *path)
{
    (void)path;
    return TULLE_OK;
}

#else

tulle_status tulle__hdf5_present(const char *path)
{
    return tulle__fail(
        TULLE_ERR_UNSUPPORTED, "%s: this build has no HDF5 (with cJSON), which Binsparse files need", path);
}

tulle_status tulle__hdf5_examine(const char *path, const char *group, tulle__hdf5_found *found)
{
    (void)group, (void)found;
    return tulle__hdf5_present(path);
}

tulle_status tulle__hdf5_sets_new(tulle__hdf5_sets **sets)
{
    *sets = NULL;
    return TULLE_OK;
}

void tulle__hdf5_sets_free(tulle__hdf5_sets *sets)
{
    (void)sets;
}

tulle_status tulle__hdf5_read(tulle__hdf5_sets *sets, const char *path, const char *group, const char *const *called,
    int which, int64_t first, int64_t count, char kind, void *to)
{
    (void)sets, (void)group, (void)called, (void)which, (void)first, (void)count, (void)kind, (void)to;
    return tulle__hdf5_present(path);
}

tulle_status tulle__hdf5_create(const char *path, const char *json, tulle__binsparse_array *array)
{
    (void)json, (void)array;
    return tulle__hdf5_present(path);
}

#endif
