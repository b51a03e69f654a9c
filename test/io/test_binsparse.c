/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binsparse files: a table of inputs (argument) in 1 to 4 parts, writing, and files of other
 * formats.
 */
#include <inttypes.h>
#include <unistd.h>

#ifdef TULLE_HAVE_HDF5
#include <hdf5.h>
#endif

#include "base/memory.h"
#include "base/random.h"
#include "cases.h"
#include "gate.h"
#include "io/binsparse/binsparse.h"
#include "io/number/number.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

#ifdef TULLE_HAVE_HDF5

static const case_macro macros[] = {
    {"J", "\\{\"binsparse\":\\{\"version\":\"0.1\",\"format\":\"CSR\",\"shape\":[3,4],"},
    {"J'", "\"binsparse\":\\{\"format\":\"CSR\",\"shape\":[3,4],"},
    {"T", "\"data_types\":\\{\"pointers_to_1\":\"uint64\",\"indices_1\":\"uint64\",\"values\":\"float64\"}}}"},
    {"L", "\"format\":\"custom\",\"custom\":\\{\"level\":\\{\"level_desc\":\"dense\",\"rank\":1,"
          "\"level\":\\{\"level_desc\":\"sparse\",\"rank\":1,\"level\":\\{\"level_desc\":\"dense\",\"rank\":2,"
          "\"level\":\\{\"level_desc\":\"element\"}}}}},"},
    {"K", "\\{\"tulle\":\\{\"blocks\":2},\"binsparse\":\\{"},
    {"H", "\\{\"tulle\":\\{\"blocks\":2,\"half\":true},\"binsparse\":\\{"}, {NULL, NULL}};

static void make_set(hid_t file, char *word)
{
    int packed = *word == '*';
    word += packed;
    char *type = strchr(word, ':') + 1, *numbers = strchr(word, '=') + 1;
    type[-1] = '\0';
    numbers[-1] = '\0';
    double values[64];
    hsize_t n = 0;
    for (char *end = numbers; *end && *end != ' '; end += *end == ',') values[n++] = strtod(end, &end);
    hid_t stored = !strcmp(type, "u1")   ? H5T_STD_U8LE
                   : !strcmp(type, "u4") ? H5T_STD_U32LE
                   : !strcmp(type, "u8") ? H5T_STD_U64LE
                   : !strcmp(type, "i4") ? H5T_STD_I32LE
                   : !strcmp(type, "i8") ? H5T_STD_I64LE
                   : !strcmp(type, "f4") ? H5T_IEEE_F32LE
                   : !strcmp(type, "F8") ? H5T_IEEE_F64BE
                                         : H5T_IEEE_F64LE;
    hid_t space = H5Screate_simple(1, &n, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = 2;
    if (packed) {
        H5Pset_chunk(plist, 1, &chunk);
        H5Pset_deflate(plist, 1);
    }
    hid_t set = H5Dcreate2(file, word, stored, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Pclose(plist);
    H5Sclose(space);
}

static void build(const test_case *c, int variable)
{
    char sets[1024];
    snprintf(sets, sizeof sets, "%s",
        strcmp(c->options, "-") == 0 ? "pointers_to_1:u8=0,2,2,3 indices_1:u8=1,3,0 values:f8=1.5,2,-3" : c->options);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (char *word = strtok(sets, " "); word; word = strtok(NULL, " ")) make_set(file, word);
    if (!(c->bytes == 4 && memcmp(c->input, "NONE", 4) == 0)) {
        c->input[c->bytes] = '\0';
        hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
        H5Tset_size(type, variable ? H5T_VARIABLE : c->bytes + 1);
        hid_t attribute = H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, type, variable ? (void *)&c->input : c->input);
        H5Aclose(attribute);
        H5Sclose(space);
        H5Tclose(type);
    }
    H5Fclose(file);
}

static tulle_status read_parts(int nparts, char *text)
{
    tulle__binsparse *file = NULL;
    tulle_status status = tulle__binsparse_open(path, NULL, &file);
    if (status != TULLE_OK) return status;
    const tulle__binsparse_header *head = tulle__binsparse_head(file);
    text += sprintf(text, "OK %" PRId64 "x%" PRId64 ":", head->rows, head->cols);
    if (head->format >= TULLE__BINSPARSE_DMATR) {
        double values[64]; /* row by row, in nparts bands of columns */
        for (int k = 0; k < nparts && status == TULLE_OK; k++) {
            int64_t from = head->cols * k / nparts, to = head->cols * (k + 1) / nparts;
            status = tulle__binsparse_read_block(
                file, open_gate(TULLE_F64), 0, head->rows, from, to - from, TULLE_ROW_MAJOR, head->cols, values + from);
        }
        for (int64_t i = 0; i < head->stored && status == TULLE_OK; i++) text += sprintf(text, " %g", values[i]);
    }
    for (int k = 0; k < nparts && head->format < TULLE__BINSPARSE_DMATR && status == TULLE_OK; k++) {
        tulle__entries entries;
        status = tulle__binsparse_parse(file, k, nparts, open_gate(TULLE_F64), &entries);
        for (int64_t e = 0; e < entries.count && status == TULLE_OK; e++)
            text += sprintf(text, " %" PRId64 ",%" PRId64 ",%g", tulle__entries_row(&entries, e),
                tulle__entries_col(&entries, e), tulle__entries_val(&entries, e));
        tulle__entries_fini(&entries);
    }
    tulle__binsparse_close(file);
    return status;
}

static void run(const test_case *c)
{
    int fine = 1;
    for (int nparts = 1; nparts <= 4; nparts++) {
        char text[1024] = "";
        build(c, nparts & 1);
        tulle_status status = read_parts(nparts, text);
        int right = strncmp(c->expect, "OK", 2) == 0 ? status == TULLE_OK && strcmp(text, c->expect) == 0
                    /* with several wrong pointers, the parts find them in another order */
                    : nparts == 1 || !strstr(c->expect, "pointers_to_1' is")
                        ? case_fails_as(c->expect, path, status, tulle_error_message())
                        : status == TULLE_ERR_FORMAT && strstr(tulle_error_message(), "pointers_to_1") != NULL;
        if (!right && fine)
            printf("# %d parts: %s %s\n# wanted: %s\n", nparts, text, status == TULLE_OK ? "" : tulle_error_message(),
                c->expect);
        fine &= right;
    }
    ok(fine, "%s", c->name);
}

static void write_and_read(int wide, tulle_type type)
{
    enum { ROWS = 5000, EACH = 17, N = ROWS * EACH };
    static int64_t pointer[ROWS + 1], index[N];
    static double value[N];
    static float single[N];
    tulle__binsparse_writer *writer = NULL;
    for (int64_t i = 0; i <= ROWS; i++) pointer[i] = i < ROWS / 2 ? i : i == ROWS ? N : ROWS / 2 + (i - ROWS / 2) * 30;
    for (int64_t i = 0; i < N; i++) {
        index[i] = (int64_t)(tulle__random_at(1, 1, (uint64_t)i) % 1000);
        value[i] = single[i] = (float)i + 0.5f;
    }
    tulle__binsparse_sparse sparse = {.rows = ROWS, .cols = 1000, .count = N, .type = type, .wide = wide};
    tulle_status status = tulle__binsparse_writer_open(path, &sparse, &writer);
    if (status == TULLE_OK)
        status = tulle__binsparse_write_values(
            writer, N / 2, N - N / 2, type == TULLE_F32 ? (void *)(single + N / 2) : (void *)(value + N / 2));
    if (status == TULLE_OK)
        status = tulle__binsparse_write_values(writer, 0, N / 2, type == TULLE_F32 ? (void *)single : (void *)value);
    if (status == TULLE_OK) status = tulle__binsparse_write_indices(writer, 0, N, index);
    if (status == TULLE_OK) status = tulle__binsparse_write_pointers(writer, 0, ROWS + 1, pointer);
    if (status == TULLE_OK) status = tulle__binsparse_writer_close(writer, status);
    ok(status == TULLE_OK, "written, %d bits, %s %s", wide ? 64 : 32, tulle_type_name(type),
        status == TULLE_OK ? "" : tulle_error_message());
    for (int nparts = 1; nparts <= 7 && status == TULLE_OK; nparts += 3) {
        tulle__binsparse *file;
        int64_t e = 0, row = 0;
        int fine = tulle__binsparse_open(path, "/", &file) == TULLE_OK;
        for (int k = 0; k < nparts && fine; k++) {
            tulle__entries entries;
            fine = tulle__binsparse_parse(file, k, nparts, open_gate(type), &entries) == TULLE_OK;
            for (int64_t i = 0; i < entries.count && fine; i++, e++) {
                while (pointer[row + 1] <= e) row++;
                fine = tulle__entries_row(&entries, i) == row && tulle__entries_col(&entries, i) == index[e] &&
                       tulle__entries_val(&entries, i) == value[e];
            }
            tulle__entries_fini(&entries);
        }
        ok(fine && e == N, "read back in %d parts", nparts);
        if (fine) tulle__binsparse_close(file);
    }
}

/*
 * A dense matrix in pieces longer than one read, written in one order and read in blocks of either.
 */
static void write_and_read_dense(tulle_order written, tulle_order read)
{
    enum { ROWS = 411, COLS = 203, N = ROWS * COLS };
    static double value[N], block[N];
    tulle__binsparse_writer *writer = NULL;
    tulle__binsparse *file = NULL;
    for (int64_t i = 0; i < N; i++) value[i] = (double)i - 0.25;
    tulle_status status = tulle__binsparse_writer_open_dense(path, ROWS, COLS, TULLE_F64, written, &writer);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, N / 2, N - N / 2, value + N / 2);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, 0, N / 2, value);
    if (status == TULLE_OK) status = tulle__binsparse_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__binsparse_open(path, NULL, &file);
    static const int64_t blocks[][4] = {{0, ROWS, 0, COLS}, {3, 200, 0, COLS}, {0, ROWS, 7, 100}, {400, 11, 202, 1}};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks && status == TULLE_OK; b++) {
        int64_t r0 = blocks[b][0], m = blocks[b][1], c0 = blocks[b][2], n = blocks[b][3];
        int64_t ld = read == TULLE_ROW_MAJOR ? n : m, wrong = 0;
        status = tulle__binsparse_read_block(file, open_gate(TULLE_F64), r0, m, c0, n, read, ld, block);
        for (int64_t r = 0; r < m; r++)
            for (int64_t c = 0; c < n; c++) {
                int64_t at = written == TULLE_ROW_MAJOR ? (r0 + r) * COLS + c0 + c : (c0 + c) * ROWS + r0 + r;
                wrong += block[read == TULLE_ROW_MAJOR ? r * ld + c : c * ld + r] != value[at];
            }
        ok(status == TULLE_OK && !wrong, "dense, %s to %s, block %d", written ? "columns" : "rows",
            read ? "columns" : "rows", (int)b);
    }
    ok(status == TULLE_OK, "dense: %s", status == TULLE_OK ? "written and read" : tulle_error_message());
    ok(file && tulle__binsparse_read_block(file, open_gate(TULLE_F64), 1, ROWS, 0, 1, read, 1, block) == TULLE_ERR_ARG,
        "%s", tulle_error_message());
    tulle__binsparse_close(file);
}

/* ---- files whose numbers lie elsewhere, or are packed by a filter that is not there ---- */

enum where { HERE, SOFT, LINK, SOFT_TO_LINK, GROUP_LINK, STORAGE, VIRTUAL, FILTER, WHERES };
static const struct {
    const char *name, *says; /* NULL: the file is read */
} wheres[] = {{"in the file", NULL}, {"by a soft link in the file", NULL}, {"by an external link", "external link"},
    {"by a soft link to an external link", "external link"}, {"in a group behind an external link", "external link"},
    {"in external storage", "other files"}, {"in a virtual data set", "virtual data set"},
    {"packed by an unknown filter", "filter 'odd'"}};

/* A filter that the library does not find again. */
static size_t odd_filter(
    unsigned flags, size_t n, const unsigned *values, size_t bytes, size_t *allocated, void **buffer)
{
    (void)flags, (void)n, (void)values, (void)allocated, (void)buffer;
    return bytes;
}

enum { ODD = 300 };

static void make_values(hid_t file, const char *other, enum where where)
{
    const double values[] = {1.5, 2, -3};
    const hsize_t n = 3;
    hid_t space = H5Screate_simple(1, &n, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    const char *name = where == SOFT || where == SOFT_TO_LINK ? "elsewhere" : "values";
    if (where == SOFT || where == SOFT_TO_LINK) H5Lcreate_soft("elsewhere", file, "values", H5P_DEFAULT, H5P_DEFAULT);
    if (where == LINK || where == SOFT_TO_LINK) {
        H5Lcreate_external(other, "values", file, name, H5P_DEFAULT, H5P_DEFAULT);
    } else {
        if (where == STORAGE) H5Pset_external(plist, other, 0, sizeof values);
        if (where == VIRTUAL) H5Pset_virtual(plist, space, other, "values", space);
        if (where == FILTER) H5Pset_chunk(plist, 1, &n), H5Pset_filter(plist, ODD, H5Z_FLAG_MANDATORY, 0, NULL);
        hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
        if (where != VIRTUAL) H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(set);
    }
    H5Pclose(plist);
    H5Sclose(space);
}

static void make_file(const char *at, const char *other, enum where where)
{
    static const char json[] =
        "{\"binsparse\":{\"version\":\"0.1\",\"format\":\"CSR\",\"shape\":[3,4],\"number_of_stored_values\":3,"
        "\"data_types\":{\"pointers_to_1\":\"uint64\",\"indices_1\":\"uint64\",\"values\":\"float64\"}}}";
    char pointers[] = "pointers_to_1:u8=0,2,2,3", indices[] = "indices_1:u8=1,3,0";
    hid_t file = H5Fcreate(at, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (where == GROUP_LINK) H5Lcreate_external(other, "/", file, "inside", H5P_DEFAULT, H5P_DEFAULT);
    make_set(file, pointers);
    make_set(file, indices);
    make_values(file, other, where);
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, sizeof json);
    hid_t attribute = H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, json);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

/* Numbers of other files are neither read as a file's own bytes nor by HDF5. */
static void elsewhere(void)
{
    const H5Z_class2_t odd = {H5Z_CLASS_T_VERS, ODD, 1, 1, "odd", NULL, NULL, odd_filter};
    char other[sizeof path];
    for (int w = 0; w < WHERES; w++) {
        tulle__binsparse *file = NULL;
        snprintf(other, sizeof other, "%s/%s", folder, w == STORAGE ? "raw" : "other.h5");
        if (w != STORAGE) make_file(other, other, HERE);
        if (w == FILTER) H5Zregister(&odd);
        make_file(path, other, (enum where)w);
        if (w == FILTER) H5Zunregister(ODD);
        tulle_status status = tulle__binsparse_open(path, w == GROUP_LINK ? "inside" : NULL, &file);
        if (status == TULLE_OK) tulle__binsparse_close(file);
        ok(wheres[w].says ? status == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), wheres[w].says)
                          : status == TULLE_OK,
            "values %s: %s", wheres[w].name, status == TULLE_OK ? "read" : tulle_error_message());
        unlink(other);
    }
}

int main(int argc, char **argv)
{
    FILE *table = argc > 1 ? fopen(argv[1], "r") : NULL;
    test_case c;
    if (!table || !temporary_folder(folder)) {
        printf("Bail out! no table\n");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/a.h5", folder);
    while (case_next(table, macros, &c)) run(&c);
    fclose(table);
    elsewhere();
    for (int k = 0; k < 4; k++) write_and_read(k & 1, k & 2 ? TULLE_F32 : TULLE_F64);
    for (int k = 0; k < 4; k++) write_and_read_dense((tulle_order)(k & 1), (tulle_order)(k >> 1));
    tulle__binsparse *file;
    tulle__binsparse_writer *writer;
    tulle__binsparse_sparse one = {.rows = 1, .cols = 1, .count = 1, .type = TULLE_F64};
    tulle_status status = tulle__binsparse_writer_open(path, &one, &writer);
    if (status == TULLE_OK) status = tulle__binsparse_writer_close(writer, status);
    ok(status == TULLE_ERR_STATE, "%s", tulle_error_message());
    ok(tulle__binsparse_open(path, "nowhere", &file) == TULLE_ERR_FORMAT, "%s", tulle_error_message());
    case_write(path, "no HDF5", 7);
    ok(tulle__binsparse_open(path, NULL, &file) == TULLE_ERR_FORMAT, "%s", tulle_error_message());
    unlink(path);
    ok(tulle__binsparse_open(path, NULL, &file) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(rmdir(folder) == 0, "no file is left");
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}

#else

int main(void)
{
    tulle__binsparse *file;
    tulle_status status;
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/a.h5", folder);
    case_write(path, "", 0);
    status = tulle__binsparse_open(path, NULL, &file);
    ok(status == TULLE_ERR_UNSUPPORTED, "%s", tulle_error_message());
    unlink(path);
    rmdir(folder);
    return tap_done();
}

#endif
