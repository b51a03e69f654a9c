/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every line of the table of Matrix Market inputs, read in 1, 2, 3 and 7 parts, by the fast and the
 * careful parser, in large and tiny blocks, plain and gzipped, always with the same outcome.
 * Argument: the table.
 */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "cases.h"
#include "io/file/inflate.h"
#include "io/file/output.h"
#include "io/mtx/mtx.h"
#include "io/number/number.h"
#include "tap.h"
#include "temporary.h"

static const case_macro macros[] = {{"R", "%%MatrixMarket matrix coordinate real general\\n"},
    {"I", "%%MatrixMarket matrix coordinate integer general\\n"},
    {"P", "%%MatrixMarket matrix coordinate pattern general\\n"},
    {"S", "%%MatrixMarket matrix coordinate real symmetric\\n"},
    {"K", "%%MatrixMarket matrix coordinate real skew-symmetric\\n"},
    {"A", "%%MatrixMarket matrix array real general\\n"}, {NULL, NULL}};

/* The outcome of a file, as the table writes it. */
struct outcome {
    tulle_status status;
    char text[4096];
    char warnings[1024];
};

__attribute__((format(printf, 2, 3))) static void say(struct outcome *o, const char *format, ...)
{
    size_t n = strlen(o->text);
    va_list args;
    va_start(args, format);
    vsnprintf(o->text + n, sizeof o->text - n, format, args);
    va_end(args);
}

static void say_value(struct outcome *o, double x)
{
    char text[TULLE__NUMBER_TEXT + 1];
    *tulle__number_write_f64(text, x) = '\0';
    say(o, "%s", text);
}

static tulle_status read_array_part(tulle__mtx *mtx, int part, int nparts, tulle_type type, int64_t first, int64_t n,
    struct outcome *o, tulle__mtx_stats *stats)
{
    void *values;
    tulle_status status = tulle__alloc((size_t)n, sizeof(double), "values", &values);
    if (status != TULLE_OK) return status;
    status = tulle__mtx_array_parse(mtx, part, nparts, first, n, type, values, stats);
    for (int64_t k = 0; k < n && status == TULLE_OK; k++) {
        int64_t row, col;
        tulle__mtx_array_place(tulle__mtx_head(mtx), first + k, &row, &col);
        say(o, " %" PRId64 ",%" PRId64 ",", row + 1, col + 1);
        say_value(o, type == TULLE_F32 ? (double)((float *)values)[k] : ((double *)values)[k]);
    }
    tulle__free(values);
    return status;
}

static tulle_status read_parts(tulle__mtx *mtx, int nparts, tulle_type type, struct outcome *o)
{
    tulle_status status = TULLE_OK;
    tulle__mtx_stats sum = {0}, stats;
    int64_t counts[8] = {0}, first = 0;
    if (tulle__mtx_head(mtx)->array) {
        for (int k = 0; k < nparts && status == TULLE_OK; k++) {
            status = tulle__mtx_array_count(mtx, k, nparts, &counts[k]);
            sum.stored += counts[k];
        }
        if (status == TULLE_OK) status = tulle__mtx_check(mtx, &sum);
        sum.stored = 0;
    }
    for (int k = 0; k < nparts && status == TULLE_OK; k++) {
        if (tulle__mtx_head(mtx)->array) {
            status = read_array_part(mtx, k, nparts, type, first, counts[k], o, &stats);
            first += counts[k];
        } else {
            tulle__entries entries;
            status = tulle__mtx_parse(mtx, k, nparts, type, &entries, &stats);
            for (int64_t e = 0; e < entries.count && status == TULLE_OK && e < 20; e++) {
                int64_t row = tulle__entries_row(&entries, e), col = tulle__entries_col(&entries, e);
                say(o, " %" PRId64 ",%" PRId64 ",", row + 1, col + 1);
                say_value(o, tulle__entries_val(&entries, e));
            }
            tulle__entries_fini(&entries);
        }
        tulle__mtx_stats_add(&sum, &stats);
    }
    if (status == TULLE_OK) status = tulle__mtx_check(mtx, &sum);
    if (status == TULLE_OK) {
        tulle__mtx_warnings(mtx, &sum, o->warnings, sizeof o->warnings);
        tulle__gate_warnings("file", &sum.values, o->warnings, sizeof o->warnings);
        if (sum.upper + sum.lower + sum.diagonal != sum.stored) say(o, " (triangles do not add up)");
    }
    return status;
}

static void read_file(
    const char *path, const tulle__mtx_options *options, int nparts, tulle_type type, struct outcome *o)
{
    tulle__mtx *mtx = NULL;
    memset(o, 0, sizeof *o);
    o->status = tulle__mtx_open(path, options, &mtx);
    if (o->status == TULLE_OK) {
        const tulle__mtx_header *head = tulle__mtx_head(mtx);
        say(o, "OK %" PRId64 "x%" PRId64 ":", head->rows, head->cols);
        o->status = read_parts(mtx, nparts, type, o);
    }
    tulle__mtx_close(mtx);
}

static int as_expected(const struct outcome *o, const char *expect, const char *path)
{
    if (strncmp(expect, "OK", 2) != 0) return case_fails_as(expect, path, o->status, tulle_error_message());
    const char *warning = strstr(expect, " ! ");
    size_t n = warning ? (size_t)(warning - expect) : strlen(expect);
    return o->status == TULLE_OK && strlen(o->text) == n && memcmp(o->text, expect, n) == 0 &&
           (warning ? strstr(o->warnings, warning + 3) != NULL : o->warnings[0] == '\0');
}

static void pack(const char *path, const char *data, size_t bytes)
{
    tulle__output *out = NULL;
    tulle_status status = tulle__output_open(path, 1, &out);
    if (status == TULLE_OK) status = tulle__output_write(out, data, bytes);
    if (status == TULLE_OK) status = tulle__output_close(out);
    if (status != TULLE_OK) printf("# %s\n", tulle_error_message());
}

static void run(test_case *c, const char *plain, const char *packed)
{
    tulle__mtx_options options = {0};
    tulle_type type = TULLE_F64;
    char *assume = strstr(c->options, "assume=");
    if (assume) options.assume = assume + strlen("assume=");
    options.lenient = strstr(c->options, "lenient") != NULL;
    options.zero_based = strstr(c->options, "zero") != NULL;
    options.finite_only = strstr(c->options, "finite") != NULL;
    options.drop_zeros = strstr(c->options, "drop") != NULL;
    if (strstr(c->options, "f32")) type = TULLE_F32;
    case_write(plain, c->input, c->bytes);
    const char *const *engines = tulle__inflate_engines();
    /* the size of a packed file says little about the numbers in it, so such refusals come later */
    int can_pack = engines[0] && !strstr(c->expect, "cannot be in a file of");
    if (can_pack) pack(packed, c->input, c->bytes);
    int large = c->bytes > 10000, fine = 1;
    static const int parts[] = {1, 2, 3, 7};
    struct outcome o;
    for (int engine = -1; engine < 0 || (can_pack && engines[engine]); engine++)
        for (int k = 0; k < 4; k++)
            for (int careful = 0; careful < 2; careful++)
                for (int block = 0; block < (large ? 1 : 3); block++) {
                    const char *path = engine < 0 ? plain : packed;
                    options.engine = engine < 0 ? NULL : engines[engine];
                    options.careful = careful;
                    options.block = block == 0 ? 0 : block == 1 ? 7 : 31;
                    options.no_thread = block != 2;
                    read_file(path, &options, parts[k], type, &o);
                    if (as_expected(&o, c->expect, path)) continue;
                    if (fine)
                        printf("# %s, %d parts%s, block %d: %s%s%s (%s)\n# wanted: %s\n", path, parts[k],
                            careful ? ", careful" : "", (int)options.block,
                            o.status == TULLE_OK ? o.text : tulle_status_name(o.status),
                            o.status == TULLE_OK ? " ! " : " ",
                            o.status == TULLE_OK ? o.warnings : tulle_error_message(), c->options, c->expect);
                    fine = 0;
                }
    ok(fine, "%s", c->name);
}

int main(int argc, char **argv)
{
    char folder[TEMPORARY_MOST], plain[TEMPORARY_MOST + 16], packed[TEMPORARY_MOST + 16];
    FILE *table = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!table || !temporary_folder(folder)) {
        printf("Bail out! no table\n");
        return EXIT_FAILURE;
    }
    snprintf(plain, sizeof plain, "%s/a.mtx", folder);
    snprintf(packed, sizeof packed, "%s/a.mtx.gz", folder);
    test_case c;
    while (case_next(table, macros, &c)) run(&c, plain, packed);
    fclose(table);
    unlink(plain);
    unlink(packed);
    rmdir(folder);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
