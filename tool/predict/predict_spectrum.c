/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_spectrum.h"

#include <inttypes.h>
#include <string.h>

#include <tulle/spectrum.h>

#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "verb.h"

enum { EIG, LOBPCG, SVD, PCA, WORDS };
static const char *const words[WORDS] = {"eig", "lobpcg", "svd", "pca"};

struct forecast {
    int word, pes, threads, count, block;
    tulle_gidx m, n; /* n: of the vectors that are iterated */
    double nnz;
    tulle_type type;
    tulle_spectrum_options spectrum;
    tulle_svd_options svd;
    int64_t least, most;   /* passes over A */
    double memory, matrix; /* bytes of a PE beside A; of A */
    double bytes, seconds; /* of a pass: read by all PEs; by the roofline of one */
    tulle_machine machine;
};

int predict_spectrum_word(const char *word)
{
    for (int w = 0; w < WORDS; w++)
        if (strcmp(word, words[w]) == 0) return 1;
    return 0;
}

static tulle_gidx least_of(tulle_gidx x, tulle_gidx y)
{
    return x < y ? x : y;
}

/* Directions of a pass, as the methods choose them. */
static int choose_block(const struct forecast *f, int asked, int passes)
{
    enum { BLOCK = 4, BESIDE = 10, MOST = 64 };
    const int more = f->count / 4 > 2 ? f->count / 4 : 2;
    int block = asked ? asked : passes ? f->count + BESIDE : f->word == LOBPCG ? f->count + more : BLOCK;
    if (block > MOST) block = MOST;
    return (int)least_of(block, f->n > 0 ? f->n : 1);
}

/* One pass for residuals, and U, of all; one more for the means of components. */
static void count_passes(struct forecast *f, int passes)
{
    enum { PASSES = 1000 };
    const int64_t others = 1 + (f->word == PCA), fewest = (f->count + f->block - 1) / f->block;
    f->least = (passes ? passes : fewest) + others;
    f->most = passes ? f->least : PASSES + others;
}

static tulle_status choose(struct forecast *f, const struct options *o)
{
    enum { PASSES = 4, COUNT = 6 };
    const int asked = (int)options_int(o, "block", 0), basis = (int)options_int(o, "basis", 0);
    const tulle_gidx most = f->word <= LOBPCG ? f->n : least_of(f->m, f->n);
    const int passes = (int)options_int(o, "passes", f->word == PCA ? PASSES : 0);
    f->count = (int)options_int(o, "count", 0);
    if (!f->count) f->count = (int)least_of(COUNT, most);
    if (f->count > most || f->count < 1)
        return tulle_fail(TULLE_ERR_ARG, "--count %d of a matrix of %" PRId64 " x %" PRId64, f->count, f->m, f->n);
    if (passes && f->word <= LOBPCG)
        return tulle_fail(
            TULLE_ERR_ARG, "--passes is of svd and pca: %s ends when its pairs have converged", words[f->word]);
    if (f->word <= LOBPCG && f->m != f->n)
        return tulle_fail(
            TULLE_ERR_ARG, "%s needs a square matrix, not %" PRId64 " x %" PRId64, words[f->word], f->m, f->n);
    if (f->word == SVD && f->m < f->n) { /* A^T takes the place of A */
        const tulle_gidx m = f->m;
        f->m = f->n, f->n = m;
    }
    f->block = choose_block(f, asked, passes);
    f->spectrum = (tulle_spectrum_options){.count = f->count, .block = f->block, .basis = basis};
    if (f->word == LOBPCG) f->spectrum.basis = 3 * f->block;
    f->svd = (tulle_svd_options){
        .count = f->count, .block = f->block, .basis = basis, .passes = passes, .centre = f->word == PCA};
    count_passes(f, passes);
    return TULLE_OK;
}

/* A pass: products of A with a block, and with its transpose for singular values; each reads A once. */
static void predict(struct forecast *f)
{
    const double value = (double)tulle_type_size(f->type), rows = (double)f->m / f->pes;
    const tulle_roofline roof =
        tulle_roofline_spmm(&f->machine, f->threads, f->type, rows, (double)f->n, f->nnz / f->pes, f->block);
    f->matrix = f->nnz * (value + 4) + 8 * ((double)f->m + 1);
    f->bytes = f->matrix;
    f->seconds = roof.rate > 0 ? (f->word >= SVD ? 2 : 1) * 2 * f->nnz / f->pes * f->block / roof.rate : 0;
    f->memory = f->word <= LOBPCG
                    ? (double)tulle_spectrum_memory(&f->spectrum, f->n, f->n / f->pes + 1, f->type, f->pes)
                    : (double)tulle_svd_memory(&f->svd, f->m, f->n, f->type, f->pes);
}

static void print_json(const struct forecast *f, const struct options *o)
{
    printf("{\"op\":\"%s\",\"predicted\":true,\"operand\":", words[f->word]);
    json_text(o->operand[1], stdout);
    printf(",\"machine\":");
    json_text(options_word(o, "machine", "here"), stdout);
    json_printf(stdout,
        ",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"m\":%" PRId64 ",\"n\":%" PRId64
        ",\"nnz\":%.0f,\"count\":%d,\"block\":%d,\"passes_least\":%" PRId64 ",\"passes_most\":%" PRId64
        ",\"matrix_bytes\":%.0f,\"pass_bytes\":%.0f,\"pass_seconds\":%.6g,\"memory\":%.0f}\n",
        f->pes, f->threads, tulle_type_name(f->type), f->m, f->n, f->nnz, f->count, f->block, f->least, f->most,
        f->matrix, f->bytes, f->seconds, f->memory);
}

static void print_text(const struct forecast *f, const struct options *o)
{
    printf("%s %s: %" PRId64 " x %" PRId64 ", %.0f entries, %s, %d %s on %d %s\n", words[f->word], o->operand[1], f->m,
        f->n, f->nnz, tulle_type_name(f->type), f->count,
        f->word <= LOBPCG ? plural(f->count, "pair", "pairs") : plural(f->count, "value", "values"), f->pes,
        plural(f->pes, "PE", "PEs"));
    if (f->least == f->most)
        printf(
            "passes   %" PRId64 " over A, of %d %s\n", f->least, f->block, plural(f->block, "direction", "directions"));
    else
        printf("passes   at least %" PRId64 " over A, of %d %s, and at most %" PRId64
               ":\n         how many it takes to converge depends on its values\n",
            f->least, f->block, plural(f->block, "direction", "directions"), f->most);
    printf("a pass   reads %.0f bytes, by all PEs together, in %.4g s at the machine's rates\n", f->bytes, f->seconds);
    printf("time     at least %.4g s in products\n", (double)f->least * f->seconds);
    printf("memory   %.0f bytes a PE beside A, which has %.0f in memory\n", f->memory, f->matrix);
}

tulle_status predict_spectrum(const struct options *options)
{
    const int cores = tulle_cores_free();
    struct forecast f = {
        .pes = (int)options_int(options, "pes", 1), .threads = (int)options_int(options, "threads", 1)};
    tulle_read_options reading;
    tulle_operand_shape shape;
    while (strcmp(options->operand[0], words[f.word]) != 0) f.word++;
    if (options->noperands < 2) return tulle_fail(TULLE_ERR_ARG, "predict %s needs a matrix", words[f.word]);
    tulle_status status = reading_options(options, &reading);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[1], &reading, &shape);
    if (status == TULLE_OK)
        status = tulle_machine_find(options_word(options, "machine", "here"), cores > 64 ? 64 : cores, &f.machine);
    if (status != TULLE_OK) return status;
    f.type = reading.type;
    f.m = shape.m;
    f.n = shape.n;
    if (shape.stored < 0)
        return tulle_fail(TULLE_ERR_ARG, "%s does not say in its header how many entries it has", options->operand[1]);
    f.nnz = (double)shape.stored * (shape.symmetric ? 2 : 1);
    status = choose(&f, options);
    if (status != TULLE_OK) return status;
    predict(&f);
    if (f.memory == 0)
        return tulle_fail(TULLE_ERR_ARG, "--count, --block and --basis do not go together: see `tulle %s --help`",
            f.word == LOBPCG ? "eig" : words[f.word]);
    options_flag(options, "json") ? print_json(&f, options) : print_text(&f, options);
    return TULLE_OK;
}
