/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of reading Matrix Market files, beside a loop of strtol and strtod over the same bytes,
 * and of writing. Not a test: `test_time_mtx FILE.mtx [REPEATS]` prints megabytes of text a second,
 * the median of the repeats, by wall-clock time and by the processor time of all threads (which
 * other programs disturb less).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "format_entries.h"
#include "io/file/inflate.h"
#include "io/file/output.h"
#include "io/mtx/mtx.h"
#include "io/mtx/mtx_write.h"
#include "temporary.h"

enum { MOST = 99 };

struct times {
    double wall[MOST], cpu[MOST];
    int n;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *what, struct times *t, double bytes)
{
    qsort(t->wall, (size_t)t->n, sizeof *t->wall, ascending);
    qsort(t->cpu, (size_t)t->n, sizeof *t->cpu, ascending);
    printf("%-28s %7.0f MB/s by the clock, %7.0f MB/s by processor time (%.4f s)\n", what,
        bytes / 1e6 / t->wall[t->n / 2], bytes / 1e6 / t->cpu[t->n / 2], t->cpu[t->n / 2]);
}

static void fail(void)
{
    fprintf(stderr, "%s\n", tulle_error_message());
    exit(EXIT_FAILURE);
}

static void read_once(
    const char *path, const tulle__mtx_options *options, tulle__entries *entries, tulle__mtx_shape *shape)
{
    tulle__mtx *mtx;
    tulle__mtx_stats stats;
    if (tulle__mtx_open(path, options, &mtx) != TULLE_OK ||
        tulle__mtx_parse(mtx, 0, 1, TULLE_F64, entries, &stats) != TULLE_OK ||
        tulle__mtx_check(mtx, &stats) != TULLE_OK)
        fail();
    const tulle__mtx_header *head = tulle__mtx_head(mtx);
    *shape = (tulle__mtx_shape){.rows = head->rows,
        .cols = head->cols,
        .stored = head->stored,
        .field = head->field,
        .symmetry = head->symmetry,
        .type = TULLE_F64};
    tulle__mtx_close(mtx);
}

static void time_reading(
    const char *what, const char *path, const tulle__mtx_options *options, int repeats, double bytes)
{
    struct times t = {.n = repeats};
    for (int k = 0; k < repeats; k++) {
        tulle__entries entries;
        tulle__mtx_shape shape;
        double wall = tulle__clock_seconds(), cpu = cpu_seconds();
        read_once(path, options, &entries, &shape);
        tulle__entries_fini(&entries);
        t.wall[k] = tulle__clock_seconds() - wall;
        t.cpu[k] = cpu_seconds() - cpu;
    }
    report(what, &t, bytes);
}

/* The simplest reader: one read, then strtol and strtod, without checks. */
static void time_library(const char *path, int repeats, double bytes, int valued)
{
    struct times t = {.n = repeats};
    for (int k = 0; k < repeats; k++) {
        double wall = tulle__clock_seconds(), cpu = cpu_seconds();
        FILE *f = fopen(path, "rb");
        char *text = malloc((size_t)bytes + 1), *p = text;
        if (!f || !text || fread(text, 1, (size_t)bytes, f) != (size_t)bytes) exit(EXIT_FAILURE);
        fclose(f);
        text[(size_t)bytes] = '\0';
        while (*p == '%') p = strchr(p, '\n') + 1;
        strtol(p, &p, 10);
        strtol(p, &p, 10);
        size_t n = (size_t)strtol(p, &p, 10);
        int *row = malloc(n * sizeof *row), *col = malloc(n * sizeof *col);
        double *val = malloc(n * sizeof *val);
        if (!row || !col || !val) exit(EXIT_FAILURE);
        for (size_t e = 0; e < n; e++) {
            row[e] = (int)strtol(p, &p, 10);
            col[e] = (int)strtol(p, &p, 10);
            if (valued) val[e] = strtod(p, &p);
        }
        free(row);
        free(col);
        free(val);
        free(text);
        t.wall[k] = tulle__clock_seconds() - wall;
        t.cpu[k] = cpu_seconds() - cpu;
    }
    report("strtol and strtod", &t, bytes);
}

static void time_writing(const char *path, int repeats)
{
    tulle__entries entries;
    tulle__mtx_shape shape;
    read_once(path, NULL, &entries, &shape);
    struct times t = {.n = repeats};
    double bytes = 0;
    for (int k = 0; k < repeats; k++) {
        tulle__mtx_writer *writer;
        double wall = tulle__clock_seconds(), cpu = cpu_seconds();
        if (tulle__mtx_writer_open("/dev/null", &shape, 0, &writer) != TULLE_OK) fail();
        tulle__mtx_text text = {0};
        bytes = 0;
        for (int64_t e = 0, n; e < entries.count; e += n) {
            n = entries.count - e < TULLE__ENTRIES_CHUNK ? entries.count - e : TULLE__ENTRIES_CHUNK;
            text.bytes = 0;
            text.entries = 0;
            if (format_entries(&shape, &entries, e, n, &text) != TULLE_OK ||
                tulle__mtx_writer_append(writer, &text) != TULLE_OK)
                fail();
            bytes += (double)text.bytes;
        }
        tulle__mtx_text_fini(&text);
        if (tulle__mtx_writer_close(writer, TULLE_OK) != TULLE_OK) fail();
        t.wall[k] = tulle__clock_seconds() - wall;
        t.cpu[k] = cpu_seconds() - cpu;
    }
    tulle__entries_fini(&entries);
    report("writing", &t, bytes);
}

int main(int argc, char **argv)
{
    int repeats = argc > 2 ? atoi(argv[2]) : 7;
    char folder[TEMPORARY_MOST], packed[TEMPORARY_MOST + 16];
    if (argc < 2 || repeats < 1 || repeats > MOST) {
        fprintf(stderr, "usage: %s FILE.mtx [REPEATS]\n", argv[0]);
        return EXIT_FAILURE;
    }
    FILE *f = fopen(argv[1], "rb");
    if (!f) return EXIT_FAILURE;
    fseek(f, 0, SEEK_END);
    double bytes = (double)ftell(f);
    fclose(f);
    size_t peak = tulle__account_peak(tulle__account_current());
    tulle__mtx_options options = {0};
    time_reading("reading", argv[1], &options, repeats, bytes);
    peak = tulle__account_peak(tulle__account_current()) - peak;
    options.careful = 1;
    time_reading("reading, careful parser", argv[1], &options, 1, bytes);
    options.careful = 0;
    tulle__entries entries;
    tulle__mtx_shape shape;
    read_once(argv[1], &options, &entries, &shape);
    printf("peak memory of reading: %.1f bytes an entry\n", (double)peak / (double)entries.count);
    tulle__entries_fini(&entries);
    time_library(argv[1], repeats < 3 ? repeats : 3, bytes, shape.field != TULLE__MTX_PATTERN);
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(packed, sizeof packed, "%s/a.mtx.gz", folder);
    for (const char *const *engine = tulle__inflate_engines(); *engine; engine++) {
        if (engine == tulle__inflate_engines()) {
            tulle__output *out;
            char *text = malloc((size_t)bytes);
            f = fopen(argv[1], "rb");
            if (!f || !text || fread(text, 1, (size_t)bytes, f) != (size_t)bytes) return EXIT_FAILURE;
            fclose(f);
            if (tulle__output_open(packed, 6, &out) != TULLE_OK ||
                tulle__output_write(out, text, (size_t)bytes) != TULLE_OK || tulle__output_close(out) != TULLE_OK)
                fail();
            free(text);
        }
        char what[64];
        options.engine = *engine;
        for (options.no_thread = 0; options.no_thread < 2; options.no_thread++) {
            snprintf(what, sizeof what, "packed, %s%s", *engine, options.no_thread ? ", no helper" : "");
            time_reading(what, packed, &options, repeats < 3 ? repeats : 3, bytes);
        }
    }
    unlink(packed);
    rmdir(folder);
    time_writing(argv[1], repeats < 3 ? repeats : 3);
    return EXIT_SUCCESS;
}
