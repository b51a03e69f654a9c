/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PETSc's binary files: made here byte by byte as PETSc 3.18 writes them, read in any number of parts; malformed ones;
 * cut short anywhere and with every bit changed; written, byte by byte the same; without memory.
 */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "cases.h"
#include "gate.h"
#include "io/petsc/petsc.h"
#include "tap.h"
#include "temporary.h"

enum { MATRIX = 1211216, VECTOR = 1211214, ROWS = 4, COLS = 5, ENTRIES = 6 };

static const int64_t length[ROWS] = {2, 0, 3, 1}, col[ENTRIES] = {0, 4, 1, 2, 3, 4};
static const double val[ENTRIES] = {1.5, -2, .25, 1e10, -0.0, 3};

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

/* A file being made. */
static unsigned char bytes[1 << 12];
static size_t used;

static void put(uint64_t x, int width)
{
    for (int b = 0; b < width; b++) bytes[used++] = (unsigned char)(x >> 8 * (width - 1 - b));
}

static void put_value(double x, int width)
{
    float narrow = (float)x;
    uint64_t bits = 0;
    uint32_t low;
    memcpy(&bits, &x, sizeof x);
    memcpy(&low, &narrow, sizeof narrow);
    put(width == 4 ? low : bits, width == 4 ? 4 : 8);
    if (width == 16) put(0, 8);
}

static void put_matrix(int index, int value)
{
    put(MATRIX, index), put(ROWS, index), put(COLS, index), put(ENTRIES, index);
    for (int r = 0; r < ROWS; r++) put((uint64_t)length[r], index);
    for (int e = 0; e < ENTRIES; e++) put((uint64_t)col[e], index);
    for (int e = 0; e < ENTRIES; e++) put_value(val[e], value);
}

static void put_vector(int index, int value, int n)
{
    put(VECTOR, index), put((uint64_t)n, index);
    for (int r = 0; r < n; r++) put_value(r + .5, value);
}

static void write_file(void)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, used, f) != used || fclose(f)) printf("Bail out! cannot write %s\n", path), exit(1);
}

/* 1: the entries are those above, times a factor. */
static int read_entries(int nparts, tulle_type type, tulle_status *status)
{
    tulle__petsc *petsc = NULL;
    int64_t at = 0, row = 0, left = length[0];
    int same = 1;
    *status = tulle__petsc_open(path, &petsc);
    for (int p = 0; p < nparts && *status == TULLE_OK; p++) {
        tulle__entries e;
        *status = tulle__petsc_parse(petsc, p, nparts, open_gate(type), &e);
        for (int64_t i = 0; i < e.count && *status == TULLE_OK && at < ENTRIES; i++, at++, left--) {
            while (!left) left = length[++row];
            double value = tulle__entries_val(&e, i), want = type == TULLE_F32 ? (double)(float)val[at] : val[at];
            same &= tulle__entries_row(&e, i) == row && tulle__entries_col(&e, i) == col[at] &&
                    memcmp(&value, &want, sizeof want) == 0;
        }
        tulle__entries_fini(&e);
    }
    tulle__petsc_close(petsc);
    return *status == TULLE_OK && same && at == ENTRIES;
}

static void sparse(int index, int value, int more)
{
    tulle_status status;
    int same = 1;
    used = 0;
    put_matrix(index, value);
    if (more) put_vector(index, value, ROWS);
    write_file();
    for (int nparts = 1; nparts <= 9; nparts++)
        for (int type = 0; type < TULLE_TYPE_COUNT; type++) same &= read_entries(nparts, (tulle_type)type, &status);
    ok(same, "aij, integers of %d bytes, values of %d%s: %s", index, value, more ? ", a vector behind it" : "",
        same ? "in 1 to 9 parts" : tulle_error_message());
    tulle__petsc *petsc = NULL;
    status = tulle__petsc_open(path, &petsc);
    const tulle__petsc_header *h = petsc ? tulle__petsc_head(petsc) : NULL;
    ok(h && h->rows == ROWS && h->cols == COLS && h->stored == ENTRIES && !h->dense && h->index == index &&
            h->value == value && h->more == more,
        "its header");
    tulle__petsc_close(petsc);
}

/* Every sub-block of a dense matrix, in both orders. */
static void dense(int index, int value, int rows, int cols)
{
    tulle__petsc *petsc = NULL;
    int same = 1;
    double to[64];
    used = 0;
    if (cols == 1) {
        put_vector(index, value, rows);
    } else {
        put(MATRIX, index), put((uint64_t)rows, index), put((uint64_t)cols, index), put((uint64_t)-1, index);
        for (int v = 0; v < rows * cols; v++) put_value(v + .5, value);
    }
    write_file();
    if (!ok(tulle__petsc_open(path, &petsc) == TULLE_OK && tulle__petsc_head(petsc)->dense, "dense %d x %d: %s", rows,
            cols, tulle_error_message()))
        return;
    for (int r = 0; r <= rows; r++)
        for (int c = 0; c <= cols; c++)
            for (int m = 0; m <= rows - r; m++)
                for (int n = 0; n <= cols - c; n++)
                    for (int order = 0; order < 2; order++) {
                        int64_t ld = (order == TULLE_ROW_MAJOR ? n : m) + 1;
                        same &= tulle__petsc_read(
                                    petsc, open_gate(TULLE_F64), r, m, c, n, (tulle_order)order, ld, to) == TULLE_OK;
                        for (int i = 0; i < m; i++)
                            for (int j = 0; j < n; j++)
                                same &= to[order == TULLE_ROW_MAJOR ? i * ld + j : j * ld + i] ==
                                        (r + i) * cols + c + j + .5;
                    }
    ok(same, "its blocks, integers of %d bytes, values of %d", index, value);
    ok(tulle__petsc_read(petsc, open_gate(TULLE_F64), 1, rows, 0, 1, TULLE_ROW_MAJOR, 1, to) == TULLE_ERR_ARG,
        "outside: %s", tulle_error_message());
    tulle__petsc_close(petsc);
}

static void refused(tulle_status want, const char *words, const char *what)
{
    tulle_status status;
    write_file();
    int read = read_entries(2, TULLE_F64, &status);
    ok(!read && status == want && strstr(tulle_error_message(), words) && strstr(tulle_error_message(), path), "%s: %s",
        what, status == TULLE_OK ? "read" : tulle_error_message());
}

static void malformed(void)
{
    used = 0, put_matrix(4, 16);
    refused(TULLE_ERR_UNSUPPORTED, "complex", "complex values");
    used = 0, put(1211217, 4), put(0, 8);
    refused(TULLE_ERR_FORMAT, "no binary file of PETSc", "another object");
    used = 0;
    refused(TULLE_ERR_FORMAT, "no binary file of PETSc", "nothing");
    used = 0, put_matrix(4, 8), bytes[4] = 0x80;
    refused(TULLE_ERR_FORMAT, "is no matrix", "rows below 0");
    used = 0, put_matrix(4, 8), bytes[16 + 3] = 7;
    refused(TULLE_ERR_FORMAT, "row 1 has 7 entries", "a row of too many");
    used = 0, put_matrix(4, 8), bytes[16 + 3] = 1;
    refused(TULLE_ERR_FORMAT, "have 5 entries, but the file says 6", "rows of too few");
    used = 0, put_matrix(4, 8), bytes[16] = 0xff;
    refused(TULLE_ERR_FORMAT, "row 1 has -", "a row of less than none");
    used = 0, put_matrix(4, 8), bytes[32 + 3] = COLS;
    refused(TULLE_ERR_FORMAT, "column 6 of 5", "a column outside");
    used = 0, put_matrix(4, 8), put(0, 1);
    refused(TULLE_ERR_FORMAT, "nor where another object begins", "a byte too many");
    tulle__petsc *petsc = NULL;
    tulle__entries e;
    used = 0, put_matrix(4, 8);
    double nan_value = nan("");
    used -= 8, put_value(nan_value, 8);
    write_file();
    ok(tulle__petsc_open(path, &petsc) == TULLE_OK &&
            tulle__petsc_parse(petsc, 0, 1, strict_gate(TULLE_F64), &e) != TULLE_OK &&
            strstr(tulle_error_message(), "entry (4, 5) is "),
        "not a number: %s", tulle_error_message());
    tulle__entries_fini(&e);
    tulle__petsc_close(petsc);
    ok(tulle__petsc_open("no/such.petsc", &petsc) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(tulle__petsc_open("/dev/null", &petsc) == TULLE_ERR_IO, "%s", tulle_error_message());
}

/* Whatever is read keeps its indices inside the matrix, and nothing is left behind. */
static void damaged(void)
{
    int cut = 1, kept = 1;
    tulle_status status;
    used = 0, put_matrix(4, 8);
    size_t all = used, narrow = used - ENTRIES * 4; /* half of the bytes of the values are values of 4 bytes */
    for (used = 0; used < all; used++) {
        write_file();
        int same = read_entries(1, TULLE_F64, &status);
        cut &= !same && (status != TULLE_OK || used == narrow);
    }
    ok(cut, "cut short anywhere it is refused");
    for (size_t bit = 0; bit < used * 8; bit++) {
        tulle__petsc *petsc = NULL;
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_file();
        if (tulle__petsc_open(path, &petsc) == TULLE_OK && !tulle__petsc_head(petsc)->dense) {
            const tulle__petsc_header *h = tulle__petsc_head(petsc);
            tulle__entries e;
            if (tulle__petsc_parse(petsc, 0, 1, open_gate(TULLE_F64), &e) == TULLE_OK) {
                kept &= e.count == h->stored;
                for (int64_t i = 0; i < e.count; i++)
                    kept &= tulle__entries_row(&e, i) < h->rows && tulle__entries_col(&e, i) < h->cols;
            }
            tulle__entries_fini(&e);
        }
        tulle__petsc_close(petsc);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ok(kept, "with any bit changed, what is read lies inside of the matrix");
}

static tulle_status write_sparse(tulle_type type, int64_t count)
{
    tulle__petsc_writer *w = NULL;
    tulle_status status = tulle__petsc_writer_open(path, ROWS, COLS, count, type, &w);
    int64_t e = 0;
    for (int64_t r = 0; r < ROWS && status == TULLE_OK; r++)
        for (int64_t l = 0; l < length[r] && status == TULLE_OK; l++, e++) {
            float narrow = (float)val[e];
            status = tulle__petsc_put(w, r, col[e], type == TULLE_F32 ? (const void *)&narrow : (const void *)&val[e]);
        }
    return tulle__petsc_writer_close(w, status);
}

static int file_is_bytes(void)
{
    static unsigned char read[sizeof bytes];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(read, 1, sizeof read, f) : 0;
    if (f) fclose(f);
    return n == used && memcmp(read, bytes, used) == 0;
}

static void writing(void)
{
    used = 0, put_matrix(4, 8);
    ok(write_sparse(TULLE_F64, ENTRIES) == TULLE_OK && file_is_bytes(), "a sparse matrix is written as PETSc does");
    tulle_status status;
    ok(write_sparse(TULLE_F32, ENTRIES) == TULLE_OK && read_entries(3, TULLE_F32, &status), "from f32");
    unlink(path);
    ok(write_sparse(TULLE_F64, ENTRIES + 1) == TULLE_ERR_STATE && access(path, F_OK) != 0, "too few: %s",
        tulle_error_message());
    const double values[6] = {.5, 1.5, 2.5, 3.5, 4.5, 5.5};
    used = 0, put_vector(4, 8, 6);
    ok(tulle__petsc_write_dense(path, 6, 1, TULLE_F64, values) == TULLE_OK && file_is_bytes(), "a vector");
    used = 0, put(MATRIX, 4), put(2, 4), put(3, 4), put((uint64_t)-1, 4);
    for (int v = 0; v < 6; v++) put_value(values[v], 8);
    ok(tulle__petsc_write_dense(path, 2, 3, TULLE_F64, values) == TULLE_OK && file_is_bytes(), "a dense matrix");
    used = 0, put(MATRIX, 4), put(0, 4), put(3, 4), put((uint64_t)-1, 4);
    ok(tulle__petsc_write_dense(path, 0, 3, TULLE_F64, values) == TULLE_OK && file_is_bytes(), "one without rows");
    ok(tulle__petsc_write_dense("/no/such/x.petsc", 1, 1, TULLE_F64, values) == TULLE_ERR_IO, "%s",
        tulle_error_message());
}

static void no_memory(void)
{
    tulle__account *account = tulle__account_new(0);
    int n = 0, fine = 1, finished = 0;
    tulle__account_enter(account);
    for (; n < 200 && !finished && fine; n++) {
        tulle__account_fail_after(account, n);
        tulle_status status = write_sparse(TULLE_F64, ENTRIES);
        if (status == TULLE_OK) (void)read_entries(2, TULLE_F64, &status);
        tulle__account_fail_after(account, -1);
        finished = status == TULLE_OK;
        fine = (finished || status == TULLE_ERR_MEMORY) && tulle__account_blocks(account) == 0;
    }
    tulle__account_enter(NULL);
    ok(fine && finished && n > 5, "each of %d allocations fails once", n - 1);
    tulle__account_free(account);
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/a.petsc", folder);
    for (int index = 4; index <= 8; index += 4)
        for (int value = 4; value <= 8; value += 4)
            for (int more = 0; more < 2; more++) sparse(index, value, more);
    for (int index = 4; index <= 8; index += 4)
        for (int value = 4; value <= 8; value += 4) {
            dense(index, value, 4, 3);
            dense(index, value, 5, 1);
        }
    malformed();
    damaged();
    writing();
    no_memory();
    unlink(path);
    ok(rmdir(folder) == 0, "no file is left behind");
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
