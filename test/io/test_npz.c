/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SciPy's sparse files: those that SciPy wrote (folder in the argument) in any number of parts,
 * truncated and with every bit changed; malformed ones made here, member by member; writing.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases.h"
#include "gate.h"
#include "io/npy/npz.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

enum { ROWS = 9, COLS = 8, ENTRIES = 15 };
static const double matrix[ROWS][COLS] = {{4.375, 0, 0, 0, 0, 0, 0, 1.25}, {0, 1.75}, {3.875, 0, 0, .75, 0, 0, 0, 2.75},
    {0, 0, 0, 3.25, -2.75}, {0, 0, 0, 0, 0, -4.5}, {0, 0, 0, 0, 0, -2}, {0, -2.25, 0, 0, 0, 0, 3.625}, {0},
    {4.125, 0, -5, 0, 0, 0, 0, -.125}};

/* The sums of a file's contents; the status of the first call that failed. */
static tulle_status read_file(const char *file, int nparts, tulle_type type, double sum[ROWS][COLS])
{
    tulle__npz *npz = NULL;
    tulle__npz_sums sums[8];
    tulle_status status = tulle__npz_open(file, &npz);
    memset(sum, 0, sizeof(double) * ROWS * COLS);
    for (int p = 0; p < nparts && status == TULLE_OK; p++) {
        tulle__entries e;
        status = tulle__npz_parse(npz, p, nparts, open_gate(type), &e, &sums[p]);
        for (int64_t i = 0; i < e.count && status == TULLE_OK; i++) {
            int64_t row = tulle__entries_row(&e, i), col = tulle__entries_col(&e, i);
            if (row < ROWS && col < COLS) sum[row][col] += tulle__entries_val(&e, i);
        }
        tulle__entries_fini(&e);
    }
    if (status == TULLE_OK) status = tulle__npz_check(npz, nparts, sums);
    tulle__npz_close(npz);
    return status;
}

/* True if it is the matrix times a factor; 0: ones in the places of its entries. */
static int is_matrix(double sum[ROWS][COLS], double factor)
{
    int same = 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            same &= sum[i][j] == (factor != 0 ? factor * matrix[i][j] : (double)(matrix[i][j] != 0));
    return same;
}

static char *slurp(const char *file, size_t *bytes)
{
    static char text[1 << 13];
    FILE *f = fopen(file, "rb");
    *bytes = f ? fread(text, 1, sizeof text, f) : 0;
    if (f) fclose(f);
    return text;
}

/*
 * A file whose bytes are changed one by one: opened once, as reopening it for writing is slow on
 * some disks.
 */
static int open_copy(const char *all, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd >= 0 && pwrite(fd, all, bytes, 0) == (ssize_t)bytes) return fd;
    printf("Bail out! cannot write %s\n", path);
    exit(EXIT_FAILURE);
}

/* Takes, of the bits that are changed and of the places where it is cut, one in `step`. */
static void of_scipy(const char *data, size_t step)
{
    static const struct {
        const char *name;
        double factor;
    } files[] = {{"csr_packed", 1}, {"csr_stored", 1}, {"csc_packed", 1}, {"csc_stored", 1}, {"coo_packed", 1},
        {"coo_stored", 1}, {"bsr_packed", 1}, {"bsr_stored", 1}, {"coords", 1}, {"spare", 1}, {"wide_f4", 1},
        {"integers", 8}, {"booleans", 0}};
    double sum[ROWS][COLS];
    char file[512];
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        int fine = 1, cut = 1, changed = 1;
        size_t bytes;
        snprintf(file, sizeof file, "%s/npz/%s.npz", data, files[f].name);
        for (int nparts = 1; nparts <= 8 && fine; nparts++)
            for (int type = 0; type < 2 && fine; type++)
                fine = read_file(file, nparts, type ? TULLE_F64 : TULLE_F32, sum) == TULLE_OK &&
                       is_matrix(sum, files[f].factor);
        ok(fine, "%s in 1 to 8 parts%s%s", files[f].name, fine ? "" : ": ", fine ? "" : tulle_error_message());
        char *all = slurp(file, &bytes);
        int fd = open_copy(all, bytes);
        for (size_t i = 0; i < bytes * 8 && changed; i += step) { /* names, times and flags may go unnoticed */
            char byte = (char)(all[i / 8] ^ (1 << i % 8));
            changed = pwrite(fd, &byte, 1, (off_t)(i / 8)) == 1;
            if (read_file(path, (int)(i % 3) + 1, TULLE_F64, sum) == TULLE_OK)
                changed &= is_matrix(sum, files[f].factor);
            changed &= pwrite(fd, &all[i / 8], 1, (off_t)(i / 8)) == 1;
            if (!changed) printf("# bit %zu of byte %zu\n", i % 8, i / 8);
        }
        for (size_t n = (bytes - 1) / step * step; cut; n -= step) {
            cut = ftruncate(fd, (off_t)n) == 0 && read_file(path, 1, TULLE_F64, sum) != TULLE_OK &&
                  strstr(tulle_error_message(), path);
            if (n == 0) break;
        }
        close(fd);
        ok(cut, "cut short anywhere, it is refused");
        ok(changed, "with a bit changed, it is refused or is the same");
    }
    static const struct {
        const char *name;
        tulle_status status;
        const char *cause;
    } refused[] = {{"dia", TULLE_ERR_UNSUPPORTED, "the format 'dia' is not read"},
        {"complex", TULLE_ERR_UNSUPPORTED, "member data.npy: values of type '<c16' are not supported"},
        {"dense", TULLE_ERR_FORMAT, "has no member format.npy"}};
    for (size_t f = 0; f < sizeof refused / sizeof *refused; f++) {
        snprintf(file, sizeof file, "%s/npz/%s.npz", data, refused[f].name);
        ok(read_file(file, 1, TULLE_F64, sum) == refused[f].status && strstr(tulle_error_message(), refused[f].cause),
            "%s: %s", refused[f].name, tulle_error_message());
    }
}

/* ---- malformed files ---- */

struct text {
    unsigned char bytes[1 << 13];
    size_t n;
};

static void put(struct text *t, uint64_t x, int bytes)
{
    for (int b = 0; b < bytes; b++) t->bytes[t->n++] = (unsigned char)(x >> 8 * b);
}

static void put_text(struct text *t, const char *text, size_t n)
{
    memcpy(t->bytes + t->n, text, n);
    t->n += n;
}

/* A NumPy array: values separated by blanks, numbers as its type has them, or one word of text. */
static void make_array(struct text *t, const char *type, const char *shape, const char *values)
{
    char header[119];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", type,
        shape[0] == 'F' ? "True" : "False", shape[0] == 'F' ? shape + 1 : shape);
    memset(header + n, ' ', sizeof header - (size_t)n);
    header[117] = '\n';
    put_text(t, "\x93NUMPY\x01", 8);
    put(t, 118, 2);
    put_text(t, header, 118);
    if (type[1] == 'S') {
        put_text(t, values, strlen(values));
        return;
    }
    for (char *end = (char *)(uintptr_t)values; *end;) {
        double x = strtod(end, &end);
        uint64_t bits;
        float narrow = (float)x;
        memcpy(&bits, &x, 8);
        if (type[1] == 'i') bits = (uint64_t)(int64_t)x;
        if (type[1] == 'f' && type[2] == '4') memcpy(&bits, &narrow, 4);
        put(t, bits, type[2] - '0');
        end += strspn(end, " ");
    }
}

/* Changes of the zip file: the directory's method, flags, size. */
struct zip_change {
    int method, flags, more;
};

/* name:type:shape:values lines, ending in a newline each. */
static void make_file(const char *lines, struct zip_change change)
{
    static struct text file, directory, array;
    int count = 0;
    file.n = directory.n = 0;
    while (*lines) {
        char line[512], *field[4], *p = line;
        size_t length = strcspn(lines, "\n");
        memcpy(line, lines, length);
        line[length] = '\0';
        lines += length + 1;
        for (int i = 0; i < 4; i++) {
            field[i] = p;
            p = strchr(p, ':');
            if (p) *p++ = '\0';
            if (!p) p = line + length;
        }
        char name[64];
        snprintf(name, sizeof name, "%.40s.npy", field[0]);
        array.n = 0;
        make_array(&array, field[1], field[2], field[3]);
        size_t at = file.n, n = strlen(name);
        for (int d = 0; d < 2; d++) { /* the member's own header, its entry in the directory */
            struct text *t = d ? &directory : &file;
            put(t, d ? 0x02014b50 : 0x04034b50, 4);
            if (d) put(t, 20, 2);
            put(t, 20, 2);
            put(t, (uint64_t)change.flags, 2);
            put(t, (uint64_t)change.method, 2);
            put(t, 0, 4);
            put(t, tulle__zip_crc(0, array.bytes, array.n), 4);
            put(t, array.n, 4);
            put(t, array.n + (size_t)change.more, 4);
            put(t, n, 2);
            put(t, 0, 2);
            if (d) put(t, 0, 8), put(t, 0, 2), put(t, at, 4);
            put_text(t, name, n);
        }
        put_text(&file, (const char *)array.bytes, array.n);
        count++;
    }
    size_t at = file.n;
    put_text(&file, (const char *)directory.bytes, directory.n);
    put(&file, 0x06054b50, 4);
    put(&file, 0, 4);
    put(&file, (uint64_t)count, 2);
    put(&file, (uint64_t)count, 2);
    put(&file, directory.n, 4);
    put(&file, at, 4);
    put(&file, 0, 2);
    case_write(path, file.bytes, file.n);
}

#define FORMAT_ "format:|S3:():csr\n"
#define SHAPE_ "shape:<i8:(2,):2 3\n"
#define DATA_ "data:<f8:(3,):1 2 3\n"
#define INDICES_ "indices:<i4:(3,):0 2 1\n"
#define POINTERS_ "indptr:<i4:(3,):0 2 3\n"

static void malformed(void)
{
    static const struct {
        const char *lines;
        struct zip_change change;
        const char *expect; /* of the message after the file's name; NULL: valid */
    } cases[] = {
        {FORMAT_ SHAPE_ DATA_ INDICES_ POINTERS_, {0}, NULL},
        {SHAPE_ DATA_ INDICES_ POINTERS_, {0}, "FORMAT : has no member format.npy"},
        {FORMAT_ DATA_ INDICES_ POINTERS_, {0}, "FORMAT : has no member shape.npy"},
        {FORMAT_ SHAPE_ INDICES_ POINTERS_, {0}, "FORMAT : has no member data.npy"},
        {FORMAT_ SHAPE_ DATA_ POINTERS_, {0}, "FORMAT : has no member indices.npy"},
        {FORMAT_ SHAPE_ DATA_ INDICES_, {0}, "FORMAT : has no member indptr.npy"},
        {"format:|S3:():lil\n" SHAPE_ DATA_, {0}, "UNSUPPORTED : the format 'lil' is not read"},
        {"format:<i8:():1\n" SHAPE_ DATA_, {0}, "FORMAT : member format.npy: the array does not hold text"},
        {"format:|S3:(2,):csrcsr\n" SHAPE_ DATA_, {0}, "FORMAT : member format.npy: the array has 1 dimensions"},
        {FORMAT_ "shape:<i8:(3,):2 3 4\n" DATA_, {0}, "FORMAT : member shape.npy: 24 bytes are too many"},
        {FORMAT_ "shape:<i8:(1,):2\n" DATA_, {0}, "UNSUPPORTED : member shape.npy: has 1 sizes"},
        {FORMAT_ "shape:<i8:(2,):2 -3\n" DATA_, {0}, "FORMAT : member shape.npy: a size is negative"},
        {FORMAT_ "shape:<f8:(2,):2 3\n" DATA_, {0}, "FORMAT : member shape.npy: the array does not hold integers"},
        {FORMAT_ SHAPE_ "data:<f8:(1, 3):1 2 3\n", {0}, "FORMAT : member data.npy: the array has 2 dimensions"},
        {FORMAT_ SHAPE_ "data:<f8:(4,):1 2 3\n", {0},
            "FORMAT : member data.npy: 4 values of 8 bytes are 32 bytes, but 24 follow"},
        {FORMAT_ SHAPE_ "data:|S3:(1,):abc\n", {0}, "UNSUPPORTED : member data.npy: values of type '|S3'"},
        {FORMAT_ SHAPE_ DATA_ "indices:<i4:(2,):0 2\n" POINTERS_, {0},
            "FORMAT : member indices.npy: has 2 numbers, but there are 3 values"},
        {FORMAT_ SHAPE_ DATA_ "indices:<f4:(3,):0 2 1\n" POINTERS_, {0},
            "FORMAT : member indices.npy: the array does not hold integers"},
        {FORMAT_ SHAPE_ DATA_ "indices:<i4:(3,):0 3 1\n" POINTERS_, {0},
            "FORMAT : member indices.npy: index 3 of number 1 is outside 0 to 2"},
        {FORMAT_ SHAPE_ DATA_ "indices:<i4:(3,):0 2 -1\n" POINTERS_, {0},
            "FORMAT : member indices.npy: index -1 of number 2"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ "indptr:<i4:(4,):0 2 3 3\n", {0},
            "FORMAT : member indptr.npy: has 4 numbers instead of 3"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ "indptr:<i4:(3,):1 2 3\n", {0}, "FORMAT : member indptr.npy: begins with 1"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ "indptr:<i4:(3,):0 2 1\n", {0}, "FORMAT : member indptr.npy: number 2 is 1"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ "indptr:<i4:(3,):0 2 4\n", {0}, "FORMAT : member indptr.npy: number 2 is 4"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ POINTERS_, {.method = 12},
            "UNSUPPORTED : member format.npy: is packed by method 12"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ POINTERS_, {.method = 8}, "FORMAT : member format.npy: "},
        {FORMAT_ SHAPE_ DATA_ INDICES_ POINTERS_, {.flags = 1}, "UNSUPPORTED : member format.npy: is encrypted"},
        {FORMAT_ SHAPE_ DATA_ INDICES_ POINTERS_, {.more = 1},
            "FORMAT : member format.npy: 132 bytes cannot lie in 131"},
        {"format:|S3:():coo\n" SHAPE_ DATA_ "row:<i8:(3,):0 0 2\ncol:<i8:(3,):0 1 2\n", {0},
            "FORMAT : member row.npy: index 2 of number 2 is outside 0 to 1"},
        {"format:|S3:():coo\n" SHAPE_ DATA_ "row:<i8:(3,):0 0 1\ncol:<i8:(2,):0 1\n", {0},
            "FORMAT : member col.npy: has 2 numbers, but there are 3 values"},
        {"format:|S3:():coo\n" SHAPE_ DATA_ "coords:<i8:(3, 3):0 0 1 0 1 2 0 0 0\n", {0},
            "UNSUPPORTED : member coords.npy: has 3 dimensions, a matrix has 2"},
        {"format:|S3:():coo\n" SHAPE_ DATA_ "coords:<i8:F(2, 3):0 0 1 0 1 2\n", {0},
            "UNSUPPORTED : member coords.npy: the array lies in Fortran order"},
        {"format:|S3:():bsr\n" SHAPE_ "data:<f8:(1, 1, 2):1 2\n", {0},
            "FORMAT : member data.npy: blocks of 1 x 2 do not make up a matrix of 2 x 3"},
        {"format:|S3:():bsr\n" SHAPE_ "data:<f8:(0, 0, 3):\n", {0},
            "FORMAT : member data.npy: blocks of 0 x 3 do not make up"},
        {"format:|S3:():bsr\nshape:<i8:(2,):0 0\ndata:<f8:(0, 4000000000000, 4000000000000):\n", {0},
            "FORMAT : member data.npy: blocks of 4000000000000 x"},
    };
    double sum[ROWS][COLS];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char expect[512];
        const char *cause = cases[c].expect ? strchr(cases[c].expect, ' ') : NULL;
        make_file(cases[c].lines, cases[c].change);
        tulle_status status = read_file(path, 2, TULLE_F64, sum);
        if (cause) snprintf(expect, sizeof expect, "%s", cases[c].expect);
        int fine = cause ? case_fails_as(expect, path, status, tulle_error_message())
                         : status == TULLE_OK && sum[0][0] == 1 && sum[0][2] == 2 && sum[1][1] == 3;
        ok(fine, "%s", cause ? tulle_error_message() : "a file made here");
    }
    static const char *const others[] = {
        "", "PK", "not a zip file at all, but some text that is longer than its end", "\x93NUMPY\x01"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        case_write(path, others[i], strlen(others[i]));
        ok(read_file(path, 1, TULLE_F64, sum) == TULLE_ERR_FORMAT, "%s", tulle_error_message());
    }
    unlink(path);
    ok(read_file(path, 1, TULLE_F64, sum) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(read_file(folder, 1, TULLE_F64, sum) == TULLE_ERR_IO, "%s", tulle_error_message());
}

/* ---- writing ---- */

static tulle_status write_matrix(int entries, tulle_type type)
{
    tulle__npz_writer *writer = NULL;
    tulle_status status = tulle__npz_writer_open(
        path, &(tulle__npz_sparse){.rows = ROWS, .cols = COLS, .count = entries, .type = type}, &writer);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            float narrow = (float)matrix[i][j];
            if (matrix[i][j] != 0 && status == TULLE_OK)
                status =
                    tulle__npz_put(writer, i, j, type == TULLE_F32 ? (void *)&narrow : (const void *)&matrix[i][j]);
        }
    return tulle__npz_writer_close(writer, status);
}

/* More than is written at a time. */
static int write_long(int64_t rows, int64_t cols)
{
    enum { EACH = 7 };
    tulle__npz_writer *writer = NULL;
    tulle__npz *npz = NULL;
    tulle__npz_sums sums[3];
    int64_t next = 0;
    tulle_status status = tulle__npz_writer_open(
        path, &(tulle__npz_sparse){.rows = rows, .cols = cols, .count = rows * EACH, .type = TULLE_F64}, &writer);
    for (int64_t e = 0; e < rows * EACH && status == TULLE_OK; e++) {
        double x = (double)e;
        status = tulle__npz_put(writer, e / EACH, cols - EACH + e % EACH, &x);
    }
    if (status == TULLE_OK) status = tulle__npz_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__npz_open(path, &npz);
    for (int p = 0; p < 3 && status == TULLE_OK; p++) {
        tulle__entries e;
        status = tulle__npz_parse(npz, p, 3, open_gate(TULLE_F64), &e, &sums[p]);
        for (int64_t i = 0; i < e.count && status == TULLE_OK; i++, next++)
            if (tulle__entries_row(&e, i) != next / EACH || tulle__entries_col(&e, i) != cols - EACH + next % EACH ||
                tulle__entries_val(&e, i) != (double)next)
                status = TULLE_ERR_CHECK;
        tulle__entries_fini(&e);
    }
    if (status == TULLE_OK) status = tulle__npz_check(npz, 3, sums);
    tulle__npz_close(npz);
    return status == TULLE_OK && next == rows * EACH;
}

static void writing(void)
{
    double sum[ROWS][COLS];
    for (int t = 0; t < 2; t++) {
        tulle_type type = t ? TULLE_F64 : TULLE_F32;
        ok(write_matrix(ENTRIES, type) == TULLE_OK && read_file(path, 3, type, sum) == TULLE_OK && is_matrix(sum, 1),
            "%s, written and read", tulle_type_name(type));
    }
    unlink(path);
    ok(write_matrix(ENTRIES + 1, TULLE_F64) == TULLE_ERR_STATE && access(path, F_OK) != 0, "%s", tulle_error_message());
    ok(write_long(20000, 100), "140000 entries");
    ok(write_long(40, INT64_C(3) << 32), "columns of 64 bits");
    unlink(path);
    double nan[1] = {0.0 / 0.0};
    tulle__npz_writer *writer = NULL;
    tulle__npz *npz = NULL;
    tulle__npz_sums sums;
    tulle__entries e;
    tulle_status status = tulle__npz_writer_open(
        path, &(tulle__npz_sparse){.rows = 1, .cols = 1, .count = 1, .type = TULLE_F64}, &writer);
    if (status == TULLE_OK) status = tulle__npz_put(writer, 0, 0, nan);
    if (status == TULLE_OK) status = tulle__npz_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__npz_open(path, &npz);
    if (status == TULLE_OK) status = tulle__npz_parse(npz, 0, 1, strict_gate(TULLE_F64), &e, &sums);
    ok(status == TULLE_ERR_FORMAT, "%s", tulle_error_message());
    tulle__entries_fini(&e);
    tulle__npz_close(npz);
    unlink(path);
}

/* Every allocation of writing and reading fails once. */
static void no_memory(const char *data)
{
    tulle__account *account = tulle__account_new(0);
    double sum[ROWS][COLS];
    char packed[512];
    int n = 0, fine = 1, finished = 0;
    snprintf(packed, sizeof packed, "%s/npz/bsr_packed.npz", data);
    tulle__account_enter(account);
    for (; n < 500 && !finished && fine; n++) {
        tulle__account_fail_after(account, n);
        tulle_status status = write_matrix(ENTRIES, TULLE_F64);
        if (status == TULLE_OK) status = read_file(path, 2, TULLE_F64, sum);
        if (status == TULLE_OK) status = read_file(packed, 2, TULLE_F64, sum);
        tulle__account_fail_after(account, -1);
        finished = status == TULLE_OK;
        fine = (finished || status == TULLE_ERR_MEMORY) && tulle__account_blocks(account) == 0;
    }
    ok(fine && finished, "each of %d allocations fails once: no leak, the right status", n - 1);
    tulle__account_enter(NULL);
    tulle__account_free(account);
    unlink(path);
}

int main(int argc, char **argv)
{
    double sum[ROWS][COLS];
    if (argc < 2 || !temporary_folder(folder)) {
        printf("Bail out! no folder of data\n");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/a.npz", folder);
    if (tulle__zip_present(path) != TULLE_OK) {
        case_write(path, "PK", 2);
        ok(read_file(path, 1, TULLE_F64, sum) == TULLE_ERR_UNSUPPORTED, "without zlib: %s", tulle_error_message());
        unlink(path);
    } else {
        of_scipy(argv[1], argc > 2 ? 7 : 1);
        malformed();
        writing();
        no_memory(argv[1]);
    }
    ok(rmdir(folder) == 0, "no file is left behind");
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
