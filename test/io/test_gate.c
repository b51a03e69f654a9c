/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate for values: each format with each of nan, inf, values beyond f32 and below it, integers that are rounded and
 * entries that repeat; as a sparse and as a dense matrix, in f64 and f32, on one PE and three. Without options the
 * warnings count them; with finite_only the entry is named. A format without a row here does not build.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tulle/io.h>
#include <tulle/team.h>

#include "io/number/number.h"
#include "io/operand.h"
#include "tap.h"
#include "temporary.h"

#ifdef TULLE_HAVE_HDF5
#include <hdf5.h>
#endif

/* Oddities of the 3 x 3 matrices: diagonal 1, 2, 3 but for the value at (2, 2), from 1; (3, 1) is there twice. */
enum oddity {
    ORDINARY,
    NAN_VALUE,
    INF_VALUE,
    HUGE_VALUE,
    TINY_VALUE,
    WIDE_INTEGER,
    WIDE_UNSIGNED,
    REPEATED,
    SUM,
    ODDITIES
};

static const struct odd {
    const char *name;
    char kind; /* of the numbers in the file */
    double value;
    const char *warning[TULLE_TYPE_COUNT]; /* NULL: none */
    const char *refusal[TULLE_TYPE_COUNT]; /* of finite_only */
} odd[ODDITIES] = {
    [ORDINARY] = {"ordinary values", 'f', 2, {NULL}, {NULL}},
    [NAN_VALUE] = {"nan", 'f', NAN, {[TULLE_F32] = "1 value is nan", [TULLE_F64] = "1 value is nan"},
        {[TULLE_F32] = "nan", [TULLE_F64] = "nan"}},
    [INF_VALUE] = {"-inf", 'f', -HUGE_VAL, {[TULLE_F32] = "1 value is infinite", [TULLE_F64] = "1 value is infinite"},
        {[TULLE_F32] = "-inf", [TULLE_F64] = "-inf"}},
    [HUGE_VALUE] = {"1e300", 'f', 1e300, {[TULLE_F32] = "1 value is beyond the largest number and became infinite"},
        {[TULLE_F32] = "out of the range of f32"}},
    [TINY_VALUE] = {"1e-300", 'f', 1e-300, {[TULLE_F32] = "1 value is too small and became 0"}, {NULL}},
    [WIDE_INTEGER] = {"-(2^53 + 1)", 'i', -9007199254740993.,
        {[TULLE_F32] = "1 integer is too large to be kept exactly and was rounded",
            [TULLE_F64] = "1 integer is too large to be kept exactly and was rounded"},
        {NULL}},
    [WIDE_UNSIGNED] = {"2^64 - 1", 'u', 18446744073709551615.,
        {[TULLE_F32] = "1 integer is too large to be kept exactly and was rounded",
            [TULLE_F64] = "1 integer is too large to be kept exactly and was rounded"},
        {NULL}},
    [REPEATED] = {"an entry twice", 'f', 2,
        {[TULLE_F32] = "1 entry repeats an earlier one and is added to it",
            [TULLE_F64] = "1 entry repeats an earlier one and is added to it"},
        {NULL}},
    [SUM] = {"an entry twice, whose sum is inf", 'f', 2,
        {[TULLE_F32] = "1 entry repeats an earlier one", [TULLE_F64] = "1 entry repeats an earlier one"},
        {[TULLE_F32] = "inf", [TULLE_F64] = "inf"}},
};

enum { N = 3, ENTRIES = 4 };

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];

/* ---- files ---- */

static int repeats(int what)
{
    return what == REPEATED || what == SUM;
}

static double extra(int what)
{
    return what == SUM ? DBL_MAX : 7;
}

/* Entries of a matrix, from 0; a last one only where one repeats. */
static int entries_of(int what, int row[ENTRIES + 1], int col[ENTRIES + 1], double val[ENTRIES + 1])
{
    static const int r[] = {0, 1, 2, 2, 2}, c[] = {0, 1, 0, 0, 2};
    int n = 0;
    for (int e = 0; e <= ENTRIES; e++) {
        if (e == 3 && !repeats(what)) continue;
        row[n] = r[e], col[n] = c[e];
        val[n++] = e == 1 ? odd[what].value : e == 2 || e == 3 ? extra(what) : e == 4 ? 3 : 1;
    }
    return n;
}

/* A number as the file's kind stores it in 8 bytes. */
static void store(int what, double value, void *to)
{
    int64_t whole = value == odd[WIDE_INTEGER].value ? -9007199254740993 : (int64_t)(fabs(value) < 1e18 ? value : 0);
    uint64_t large = value == odd[WIDE_UNSIGNED].value ? UINT64_MAX : (uint64_t)whole;
    if (odd[what].kind == 'f') memcpy(to, &value, 8);
    if (odd[what].kind == 'i') memcpy(to, &whole, 8);
    if (odd[what].kind == 'u') memcpy(to, &large, 8);
}

static void finish(FILE *f)
{
    if (!f || fclose(f)) printf("Bail out! cannot write %s\n", path), exit(1);
}

static int write_MTX(int what, int dense)
{
    int row[ENTRIES + 1], col[ENTRIES + 1];
    double val[ENTRIES + 1];
    char text[TULLE__NUMBER_TEXT];
    const int n = entries_of(what, row, col, val);
    if (what == WIDE_UNSIGNED || (dense && repeats(what))) return 0; /* no such file */
    snprintf(path, sizeof path, "%s/gate.mtx", folder);
    FILE *f = fopen(path, "w");
    if (!f) return 0;
    const char *field = odd[what].kind == 'i' ? "integer" : "real";
    fprintf(f, "%%%%MatrixMarket matrix %s %s general\n%d %d", dense ? "array" : "coordinate", field, N, N);
    if (!dense) fprintf(f, " %d", n);
    fputs("\n", f);
    for (int at = 0; at < (dense ? N * N : n); at++) {
        int e = 0;
        while (dense && e < n && col[e] * N + row[e] != at) e++;
        double x = !dense ? val[at] : e < n ? val[e] : 0;
        if (!dense) fprintf(f, "%d %d ", row[at] + 1, col[at] + 1);
        if (odd[what].kind == 'i')
            fprintf(f, "%" PRId64 "\n", x == odd[WIDE_INTEGER].value ? -9007199254740993 : (int64_t)x);
        else
            fprintf(f, "%.*s\n", (int)(tulle__number_write_f64(text, x) - text), text);
    }
    finish(f);
    return 1;
}

/* The header of a .npy array. */
static size_t npy_header(char *to, char kind, int width, const char *shape)
{
    char text[128];
    int n =
        snprintf(text, sizeof text, "{'descr': '<%c%d', 'fortran_order': False, 'shape': %s, }\n", kind, width, shape);
    memcpy(to, "\x93NUMPY\x01\x00", 8);
    to[8] = (char)n;
    to[9] = 0;
    memcpy(to + 10, text, (size_t)n);
    return 10 + (size_t)n;
}

static void put8(char *bytes, size_t *used, int what, double value)
{
    store(what, value, bytes + *used);
    *used += 8;
}

static int write_NPY(int what, int dense)
{
    int row[ENTRIES + 1], col[ENTRIES + 1];
    double val[ENTRIES + 1];
    const int n = entries_of(what, row, col, val);
    char bytes[1024];
    if (!dense || repeats(what)) return 0;
    size_t used = npy_header(bytes, odd[what].kind, 8, "(3, 3)");
    for (int at = 0; at < N * N; at++) {
        int e = 0;
        while (e < n && row[e] * N + col[e] != at) e++;
        put8(bytes, &used, what, e < n ? val[e] : 0);
    }
    snprintf(path, sizeof path, "%s/gate.npy", folder);
    FILE *f = fopen(path, "wb");
    if (f && fwrite(bytes, 1, used, f) != used) f = NULL;
    finish(f);
    return 1;
}

/* ---- zip: members stored as they are ---- */

static uint32_t crc_of(const char *data, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)data[i];
        for (int b = 0; b < 8; b++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static char zip[1 << 14], directory[1 << 12];
static size_t zip_used, directory_used, members;

static void put_number(char *to, size_t *used, uint64_t x, int width)
{
    for (int b = 0; b < width; b++) to[(*used)++] = (char)(x >> 8 * b);
}

static void member(const char *name, const char *data, size_t n)
{
    const size_t begin = zip_used, length = strlen(name);
    for (int central = 0; central < 2; central++) {
        char *to = central ? directory : zip;
        size_t *used = central ? &directory_used : &zip_used;
        put_number(to, used, central ? 0x02014b50 : 0x04034b50, 4);
        if (central) put_number(to, used, 20, 2);
        put_number(to, used, 20, 2), put_number(to, used, 0, 8); /* version; flags, stored, time, date */
        put_number(to, used, crc_of(data, n), 4), put_number(to, used, n, 4), put_number(to, used, n, 4);
        put_number(to, used, length, 2), put_number(to, used, 0, 2);
        if (central) put_number(to, used, 0, 2 + 2 + 2), put_number(to, used, 0, 4), put_number(to, used, begin, 4);
        memcpy(to + *used, name, length);
        *used += length;
    }
    memcpy(zip + zip_used, data, n);
    zip_used += n;
    members++;
}

static int write_NPZ(int what, int dense)
{
    int row[ENTRIES + 1], col[ENTRIES + 1];
    double val[ENTRIES + 1];
    const int n = entries_of(what, row, col, val);
    char bytes[1024], shape[16];
    if (dense) return 0;
    zip_used = directory_used = members = 0;
    snprintf(shape, sizeof shape, "(%d,)", n);
    size_t used = npy_header(bytes, 'S', 3, "()");
    memcpy(strchr(bytes + 10, '<'), "|", 1);
    memcpy(bytes + used, "coo", 3);
    member("format.npy", bytes, used + 3);
    used = npy_header(bytes, 'i', 8, "(2,)");
    for (int i = 0; i < 2; i++) put_number(bytes, &used, N, 8);
    member("shape.npy", bytes, used);
    for (int which = 0; which < 2; which++) {
        used = npy_header(bytes, 'i', 8, shape);
        for (int e = 0; e < n; e++) put_number(bytes, &used, (uint64_t)(which ? col : row)[e], 8);
        member(which ? "col.npy" : "row.npy", bytes, used);
    }
    used = npy_header(bytes, odd[what].kind, 8, shape);
    for (int e = 0; e < n; e++) put8(bytes, &used, what, val[e]);
    member("data.npy", bytes, used);
    size_t end = 0;
    char last[22];
    put_number(last, &end, 0x06054b50, 4), put_number(last, &end, 0, 4);
    put_number(last, &end, members, 2), put_number(last, &end, members, 2);
    put_number(last, &end, directory_used, 4), put_number(last, &end, zip_used, 4), put_number(last, &end, 0, 2);
    snprintf(path, sizeof path, "%s/gate.npz", folder);
    FILE *f = fopen(path, "wb");
    if (f && (fwrite(zip, 1, zip_used, f) != zip_used || fwrite(directory, 1, directory_used, f) != directory_used ||
                 fwrite(last, 1, end, f) != end))
        f = NULL;
    finish(f);
    return 1;
}

/* ---- Binsparse ---- */

#ifdef TULLE_HAVE_HDF5
static void data_set(hid_t file, const char *name, hid_t type, int n, const void *data, int chunked)
{
    hsize_t size = (hsize_t)n;
    hid_t space = H5Screate_simple(1, &size, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) H5Pset_chunk(list, 1, &size);
    hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) printf("Bail out! HDF5\n"), exit(1);
    H5Dclose(set), H5Pclose(list), H5Sclose(space);
}

static int write_hdf5(int what, int dense, int chunked)
{
    int row[ENTRIES + 1], col[ENTRIES + 1];
    int32_t index[2][ENTRIES + 1];
    double val[ENTRIES + 1];
    char values[N * N * 8], json[512];
    const int n = entries_of(what, row, col, val), stored = dense ? N * N : n;
    const char kind = odd[what].kind;
    size_t used = 0;
    if (dense && repeats(what)) return 0;
    for (int at = 0; at < stored; at++) {
        int e = at;
        if (dense)
            for (e = 0; e < n && row[e] * N + col[e] != at;) e++;
        put8(values, &used, what, e < n ? val[e] : 0);
        if (!dense) index[0][e] = row[e], index[1][e] = col[e];
    }
    const char *type = kind == 'f' ? "float64" : kind == 'i' ? "int64" : "uint64";
    int length = snprintf(json, sizeof json,
        "{\"binsparse\":{\"version\":\"0.1\",\"format\":\"%s\",\"shape\":[3,3],\"number_of_stored_values\":%d,"
        "\"data_types\":{%s\"values\":\"%s\"}}}",
        dense ? "DMATR" : "COOR", stored, dense ? "" : "\"indices_0\":\"int32\",\"indices_1\":\"int32\",", type);
    snprintf(path, sizeof path, "%s/gate.bsp.h5", folder);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t text = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(text, (size_t)length + 1);
    hid_t attribute = H5Acreate2(file, "binsparse", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, text, json) < 0) printf("Bail out! HDF5\n"), exit(1);
    hid_t stored_as = kind == 'f' ? H5T_NATIVE_DOUBLE : kind == 'i' ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    data_set(file, "values", stored_as, stored, values, chunked);
    for (int i = 0; i < 2 && !dense; i++)
        data_set(file, i ? "indices_1" : "indices_0", H5T_NATIVE_INT32, n, index[i], chunked);
    H5Aclose(attribute), H5Sclose(scalar), H5Tclose(text), H5Fclose(file);
    return 1;
}
#endif

static int write_BINSPARSE(int what, int dense)
{
#ifdef TULLE_HAVE_HDF5
    return write_hdf5(what, dense, 0);
#else
    (void)what, (void)dense;
    return 0;
#endif
}

static int write_chunked(int what, int dense)
{
#ifdef TULLE_HAVE_HDF5
    return write_hdf5(what, dense, 1);
#else
    (void)what, (void)dense;
    return 0;
#endif
}

/* ---- PETSc ---- */

static int write_PETSC(int what, int dense)
{
    int row[ENTRIES + 1], col[ENTRIES + 1];
    double val[ENTRIES + 1];
    const int n = entries_of(what, row, col, val), stored = dense ? N * N : n;
    unsigned char bytes[512];
    size_t used = 0;
    int32_t head[4 + N + ENTRIES + 1] = {1211216, N, N, dense ? -1 : n};
    int words = 4;
    if (odd[what].kind != 'f' || (dense && repeats(what))) return 0;
    for (int r = 0; r < N && !dense; r++, words++)
        for (int e = 0; e < n; e++) head[words] += row[e] == r;
    for (int e = 0; e < n && !dense; e++) head[words++] = col[e];
    for (int w = 0; w < words; w++)
        for (int b = 3; b >= 0; b--) bytes[used++] = (unsigned char)((uint32_t)head[w] >> 8 * b);
    for (int at = 0; at < stored; at++) {
        int e = at;
        uint64_t bits;
        if (dense)
            for (e = 0; e < n && row[e] * N + col[e] != at;) e++;
        double x = e < n ? val[e] : 0;
        memcpy(&bits, &x, 8);
        for (int b = 7; b >= 0; b--) bytes[used++] = (unsigned char)(bits >> 8 * b);
    }
    snprintf(path, sizeof path, "%s/gate.petsc", folder);
    FILE *f = fopen(path, "wb");
    if (f && fwrite(bytes, 1, used, f) != used) f = NULL;
    finish(f);
    return 1;
}

/* Generators make finite values in the type of the matrix. */
static int write_GENERATOR(int what, int dense)
{
    snprintf(path, sizeof path, "%s", dense ? "dense:n=3" : "band:n=3");
    return what == ORDINARY && !dense;
}

/* ---- the table ---- */

typedef int write_function(int what, int dense);

/* A format without its function here does not build. */
#define ROW(name) {#name, write_##name},
static const struct format {
    const char *name;
    write_function *write;
} formats[] = {TULLE__FORMATS(ROW)};

struct attempt {
    int dense;
    tulle_read_options options;
    char warnings[TULLE_WARNINGS_MAX];
};

static tulle_status load(tulle_comm *comm, void *arg)
{
    struct attempt *a = arg;
    char warnings[TULLE_WARNINGS_MAX];
    tulle_mat *A = NULL;
    tulle_status status =
        tulle_mat_load(comm, path, NULL, a->dense ? TULLE_DENSE : TULLE_CSR, &a->options, warnings, &A);
    if (status == TULLE_OK && tulle_comm_rank(comm) == 0) memcpy(a->warnings, warnings, sizeof warnings);
    tulle_mat_free(A);
    return status;
}

/* The message names the file and the entry that is wrong, and why. */
static int names_entry(int what, const char *refusal)
{
    const char *text = tulle_error_message();
    const char *entry = what == SUM ? "(3, 1)" : "(2, 2)";
    const int in_lines = strstr(path, ".mtx") && !strstr(text, "is inf,"); /* line and column instead */
    return strstr(text, path) && strstr(text, refusal) && (in_lines ? strchr(text, ':') : strstr(text, entry)) != NULL;
}

static int try_one(tulle_team *team, int what, int as_dense, tulle_type type, int finite)
{
    struct attempt a = {.dense = as_dense, .options = {.type = type, .finite_only = finite}};
    const char *warning = odd[what].warning[type], *refusal = finite ? odd[what].refusal[type] : NULL;
    if (what == SUM && type == TULLE_F32) warning = "beyond the largest number";
    if (what == SUM && type == TULLE_F32 && finite) refusal = "out of the range of f32";
    tulle_status status = tulle_team_run(team, load, &a);
    if (refusal) return (status == TULLE_ERR_FORMAT || status == TULLE_ERR_OVERFLOW) && names_entry(what, refusal);
    if (status != TULLE_OK) return 0;
    return warning ? strstr(a.warnings, warning) && strstr(a.warnings, path) : !a.warnings[0];
}

static void try_format(const char *name, write_function *write, tulle_team *const team[2])
{
    int files = 0;
    for (int what = 0; what < ODDITIES; what++)
        for (int dense = 0; dense < 2; dense++) {
            if (!write(what, dense)) continue;
            files++;
            for (int t = 0; t < 16; t++) {
                const int finite = t & 1, as_dense = t >> 1 & 1, pes = t >> 3 & 1;
                const tulle_type type = t >> 2 & 1 ? TULLE_F32 : TULLE_F64;
                const int fine = try_one(team[pes], what, as_dense, type, finite);
                if (!fine) printf("# %s\n", tulle_error_message());
                if (!fine || t == 15)
                    ok(fine, "%s, %s file: %s%s%s%s%s", name, dense ? "dense" : "sparse", odd[what].name,
                        fine       ? ""
                        : as_dense ? ", as a dense matrix"
                                   : ", as a sparse matrix",
                        fine                ? ""
                        : type == TULLE_F32 ? ", f32"
                                            : ", f64",
                        !fine && finite ? ", finite" : "", !fine && pes ? ", 3 PEs" : "");
            }
        }
#ifndef TULLE_HAVE_HDF5
    if (strcmp(name, "BINSPARSE") == 0 || strcmp(name, "chunked") == 0) files++;
#endif
    ok(files > 0, "%s: files are tried", name);
}

int main(void)
{
    tulle_team *team[2] = {NULL, NULL};
    if (!temporary_folder(folder) || tulle_team_new("threads", 1, NULL, &team[0]) != TULLE_OK ||
        tulle_team_new("threads", 3, NULL, &team[1]) != TULLE_OK) {
        printf("Bail out! %s\n", tulle_error_message());
        return EXIT_FAILURE;
    }
    _Static_assert(sizeof formats / sizeof *formats == TULLE__FORMAT_COUNT, "a row a format");
    for (int f = 0; f < TULLE__FORMAT_COUNT; f++) {
        try_format(formats[f].name, formats[f].write, team);
        unlink(path);
    }
    try_format("chunked", write_chunked, team);
    unlink(path);
    rmdir(folder);
    tulle_team_free(team[0]);
    tulle_team_free(team[1]);
    return tap_done();
}
