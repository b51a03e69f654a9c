/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NumPy files: a table of inputs (argument), sub-blocks of any shape and order against a plain
 * loop, writing.
 */
#include <inttypes.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases.h"
#include "gate.h"
#include "io/npy/npy.h"
#include "io/number/number.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

/* Builds the file of a case. */
static void build(const test_case *c)
{
    static char file[CASE_MOST];
    char *p = file;
    if (strcmp(c->options, "raw") == 0) {
        case_write(path, c->input, c->bytes);
        return;
    }
    const char *v = strstr(c->options, "v="), *d = strstr(c->options, "d="), *x = strstr(c->options, "x=");
    int version = v ? atoi(v + 2) : 1;
    memcpy(p, "\x93NUMPY", 6);
    p[6] = (char)version;
    p[7] = 0;
    p[8] = (char)(c->bytes & 255);
    p[9] = (char)(c->bytes >> 8);
    p[10] = p[11] = 0;
    p += version > 1 ? 12 : 10;
    memcpy(p, c->input, c->bytes);
    p += c->bytes;
    if (d)
        for (char *end = (char *)(uintptr_t)d + 1; *end == ',' || *end == '='; p += sizeof(double)) {
            double value = strtod(end + 1, &end);
            memcpy(p, &value, sizeof value);
        }
    if (x)
        for (x += 2; x[0] && x[1] && x[0] != ' '; x += 2) {
            char hex[3] = {x[0], x[1], 0};
            *p++ = (char)strtol(hex, NULL, 16);
        }
    case_write(path, file, (size_t)(p - file));
}

static void run(const test_case *c)
{
    char text[4096] = "";
    tulle__npy *npy = NULL;
    build(c);
    tulle_status status = tulle__npy_open(path, &npy);
    if (status == TULLE_OK) {
        const tulle__npy_header *head = tulle__npy_head(npy);
        double values[64];
        int n = snprintf(text, sizeof text, "OK %" PRId64 "x%" PRId64 ":", head->rows, head->cols);
        status = tulle__npy_read(
            npy, open_gate(TULLE_F64), 0, head->rows, 0, head->cols, TULLE_ROW_MAJOR, head->cols, values);
        for (int64_t i = 0; i < head->rows * head->cols; i++) {
            text[n++] = ' ';
            n = (int)(tulle__number_write_f64(text + n, values[i]) - text);
        }
        text[n] = '\0';
    }
    tulle__npy_close(npy);
    int fine = strncmp(c->expect, "OK", 2) == 0 ? status == TULLE_OK && strcmp(text, c->expect) == 0
                                                : case_fails_as(c->expect, path, status, tulle_error_message());
    if (!fine) printf("# %s %s\n# wanted: %s\n", text, status == TULLE_OK ? "" : tulle_error_message(), c->expect);
    ok(fine, "%s", c->name);
}

static void blocks(tulle_type stored, tulle_order stored_order)
{
    enum { ROWS = 37, COLS = 53 };
    static double a[ROWS][COLS], file[ROWS * COLS];
    static float single[ROWS * COLS];
    tulle__npy_writer *writer = NULL;
    tulle__npy *npy = NULL;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            a[i][j] = i * 100 + j + 0.5;
            int at = stored_order == TULLE_ROW_MAJOR ? i * COLS + j : j * ROWS + i;
            file[at] = a[i][j];
            single[at] = (float)a[i][j];
        }
    const char *data = stored == TULLE_F32 ? (const char *)single : (const char *)file;
    tulle_status status = tulle__npy_writer_open(path, ROWS, COLS, stored, stored_order, &writer);
    for (int64_t first = 0, n; status == TULLE_OK && first < ROWS * COLS; first += n) {
        n = ROWS * COLS - first < 700 ? ROWS * COLS - first : 700;
        status = tulle__npy_writer_append(writer, data + (size_t)first * tulle_type_size(stored), n);
    }
    if (status == TULLE_OK) status = tulle__npy_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__npy_open(path, &npy);
    ok(status == TULLE_OK, "written and opened");
    int fine = status == TULLE_OK;
    for (int t = 0; t < 400 && fine; t++) {
        uint64_t r = tulle__random_at(5, 1, (uint64_t)t);
        int64_t row = (int64_t)(r % ROWS), rows = (int64_t)((r >> 8) % (uint64_t)(ROWS - row + 1));
        int64_t col = (int64_t)((r >> 16) % COLS), cols = (int64_t)((r >> 24) % (uint64_t)(COLS - col + 1));
        if (t < 4) row = col = 0, rows = ROWS, cols = COLS;
        tulle_order order = r >> 40 & 1 ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR;
        tulle_type type = r >> 41 & 1 ? TULLE_F32 : TULLE_F64;
        int64_t ld = (order == TULLE_ROW_MAJOR ? cols : rows) + (int64_t)(r >> 50 & 3);
        static double to[(ROWS + 4) * (COLS + 4)];
        for (size_t i = 0; i < sizeof to / sizeof *to; i++) to[i] = -1;
        fine = tulle__npy_read(npy, open_gate(type), row, rows, col, cols, order, ld, to) == TULLE_OK;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < cols; j++) {
                int64_t at = order == TULLE_ROW_MAJOR ? i * ld + j : j * ld + i;
                double x = type == TULLE_F32 ? (double)((float *)(void *)to)[at] : to[at];
                fine &= x == a[row + i][col + j];
            }
    }
    ok(fine, "400 sub-blocks of an %s file %s", tulle_type_name(stored),
        stored_order == TULLE_ROW_MAJOR ? "by rows" : "by columns");
    ok(tulle__npy_read(npy, open_gate(TULLE_F64), 0, ROWS + 1, 0, 1, TULLE_ROW_MAJOR, 1, file) == TULLE_ERR_ARG, "%s",
        tulle_error_message());
    tulle__npy_close(npy);
}

int main(int argc, char **argv)
{
    FILE *table = argc > 1 ? fopen(argv[1], "r") : NULL;
    test_case c;
    if (!table || !temporary_folder(folder)) {
        printf("Bail out! no table\n");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/a.npy", folder);
    while (case_next(table, NULL, &c)) run(&c);
    fclose(table);
    for (int k = 0; k < 4; k++) blocks(k & 1 ? TULLE_F32 : TULLE_F64, k & 2 ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR);
    tulle__npy_writer *writer;
    tulle_status status = tulle__npy_writer_open(path, 2, 2, TULLE_F64, TULLE_ROW_MAJOR, &writer);
    double two[2] = {1, 2};
    if (status == TULLE_OK) status = tulle__npy_writer_append(writer, two, 2);
    if (status == TULLE_OK) status = tulle__npy_writer_close(writer, status);
    ok(status == TULLE_ERR_STATE, "%s", tulle_error_message());
    tulle__npy *npy;
    unlink(path);
    ok(tulle__npy_open(path, &npy) == TULLE_ERR_IO, "%s", tulle_error_message());
    rmdir(folder);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
