/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_spectrum.h"

#include <inttypes.h>
#include <string.h>

#include <tulle/spectrum.h>

#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "solves/eig_method.h"
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
    const char *operand;
    tulle_read_options reading;
    int degree;            /* of a filter; 0: unknown */
    int64_t least, most;   /* passes over A */
    int64_t about;         /* a filter's, as they usually are; 0: unknown */
    double memory, matrix; /* bytes of a PE beside A; of A */
    double bytes, seconds; /* of a pass: read by all PEs; by the roofline of one */
    double vectors;        /* seconds of orthogonalising a block, with its part of restarts; 0: not counted */
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

/* Passes of a filter of that degree, or of the lowest and the highest that are chosen. */
static void count_filtered(struct forecast *f)
{
    enum { LOWEST = 3, HIGHEST = 60 };
    const tulle_spectrum_options *s = &f->spectrum;
    f->least = tulle_spectrum_filter_passes(s, f->n, f->degree ? f->degree : LOWEST);
    f->most = tulle_spectrum_filter_passes(s, f->n, f->degree ? f->degree : HIGHEST);
    f->about = f->degree ? f->least : 0;
}

/* The degree by the passes that find the bounds of A's spectrum. */
static tulle_status find_degree(tulle_comm *comm, void *arg)
{
    struct forecast *f = arg;
    char warnings[TULLE_WARNINGS_MAX];
    tulle_mat *A = NULL;
    tulle_operator op = {.comm = NULL};
    tulle_spectrum *plan = NULL;
    tulle_status status = tulle_mat_load(comm, f->operand, NULL, TULLE_CSR, &f->reading, warnings, &A);
    if (status == TULLE_OK) status = tulle_operator_of_mat(A, NULL, &op);
    if (status == TULLE_OK) status = tulle_spectrum_new(&op, &f->spectrum, &plan);
    if (status == TULLE_OK) status = tulle_spectrum_filter_degree(plan, &f->degree);
    if (status != TULLE_OK) return status; /* the team frees the rest */
    tulle_spectrum_free(plan);
    tulle_operator_free(&op);
    tulle_mat_free(A);
    return TULLE_OK;
}

static tulle_status read_bounds(struct forecast *f, const struct options *o)
{
    tulle_team *team = NULL;
    const tulle_team_options chosen = {.threads = f->threads, .memory = (size_t)options_size(o, "memory", 0)};
    tulle_status status = tulle_team_new("threads", 1, &chosen, &team);
    if (status == TULLE_OK) status = run_team(o, team, find_degree, f);
    tulle_team_free(team);
    if (status == TULLE_OK && !f->degree) f->spectrum.chebyshev = false;
    return status;
}

/* The method of `tulle eig`, its basis and passes. */
static tulle_status choose_eig(struct forecast *f, const struct options *o, const tulle_operand_shape *shape)
{
    enum { LEAST = 20 };
    tulle_spectrum_options *s = &f->spectrum;
    tulle_status status = tulle_spectrum_end_parse(options_word(o, "which", "LM"), &s->end);
    if (status != TULLE_OK) return status;
    choose_filter(o, shape, 0, s);
    if (s->chebyshev && s->end != TULLE_SPECTRUM_SMALLEST && s->end != TULLE_SPECTRUM_LARGEST)
        return tulle_fail(TULLE_ERR_ARG,
            "a Chebyshev filter is for the smallest (SA) or the largest (LA) pairs, not %s",
            tulle_spectrum_end_name(s->end));
    if (!s->basis) s->basis = (int)least_of(f->count + (f->count > LEAST ? f->count : LEAST) + 4 * f->block, f->n);
    f->degree = s->degree;
    if (s->chebyshev && !f->degree && options_flag(o, "bounds")) status = read_bounds(f, o);
    if (s->chebyshev) count_filtered(f);
    return status;
}

static tulle_status choose(struct forecast *f, const struct options *o, const tulle_operand_shape *shape)
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
    f->spectrum = (tulle_spectrum_options){.count = f->count, .block = f->block, .basis = basis, .seed = 1};
    if (f->word == LOBPCG) f->spectrum.basis = 3 * f->block;
    f->svd = (tulle_svd_options){
        .count = f->count, .block = f->block, .basis = basis, .passes = passes, .centre = f->word == PCA};
    count_passes(f, passes);
    return f->word == EIG ? choose_eig(f, o, shape) : TULLE_OK;
}

/*
 * Seconds of a block beside its products: twice V^T W and W - V H, V of three quarters of the basis; and its part of
 * restarts, each of which leaves about half of the basis that is not wanted.
 */
static double seconds_of_block(const struct forecast *f)
{
    const double rows = (double)f->m / f->pes, basis = f->spectrum.basis, held = .75 * basis,
                 freed = (basis - f->count) / 2, kept = basis - freed;
    const tulle_roofline project = tulle_roofline_gemm(&f->machine, f->threads, f->type, held, rows, f->block),
                         rotate = tulle_roofline_gemm(&f->machine, f->threads, f->type, rows, basis, kept);
    if (!(project.rate > 0 && rotate.rate > 0)) return 0;
    const double restart = freed > 0 ? 2 * rows * basis * kept / rotate.rate * f->block / freed : 0;
    return 8 * held * rows * f->block / project.rate + restart;
}

/* Seconds of so many passes. */
static double seconds_of(const struct forecast *f, int64_t passes)
{
    const int degree = !f->spectrum.chebyshev ? 1 : f->degree ? f->degree : passes == f->least ? 3 : 60;
    return (double)passes * (f->seconds + f->vectors / degree);
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
    f->vectors = f->word == EIG ? seconds_of_block(f) : 0;
    f->memory = f->word <= LOBPCG ? eig_memory(&f->spectrum, f->n, f->type, f->pes)
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
        ",\"matrix_bytes\":%.0f,\"pass_bytes\":%.0f,\"pass_seconds\":%.6g,\"memory\":%.0f",
        f->pes, f->threads, tulle_type_name(f->type), f->m, f->n, f->nnz, f->count, f->block, f->least, f->most,
        f->matrix, f->bytes, f->seconds, f->memory);
    if (f->word == EIG)
        json_printf(stdout,
            ",\"method\":\"%s\",\"basis\":%d,\"degree\":%d,\"passes\":%" PRId64 ",\"block_seconds\":%.6g",
            f->spectrum.chebyshev ? "chebyshev" : "lanczos", f->spectrum.basis, f->spectrum.chebyshev ? f->degree : 0,
            f->about, f->vectors);
    printf("}\n");
}

static void print_passes(const struct forecast *f)
{
    const char *directions = plural(f->block, "direction", "directions");
    if (f->about)
        printf("passes   about %" PRId64 " over A, of %d %s, by a Chebyshev filter of degree %d\n", f->about, f->block,
            directions, f->degree);
    else if (f->spectrum.chebyshev)
        printf("passes   about %" PRId64 " to %" PRId64 " over A, of %d %s, by a Chebyshev filter of degree 3 to 60:\n"
               "         --bounds reads A to find the degree\n",
            f->least, f->most, f->block, directions);
    else if (f->least == f->most)
        printf("passes   %" PRId64 " over A, of %d %s\n", f->least, f->block, directions);
    else
        printf("passes   at least %" PRId64 " over A, of %d %s, and at most %" PRId64
               ":\n         how many it takes to converge depends on its values\n",
            f->least, f->block, directions, f->most);
}

static void print_text(const struct forecast *f, const struct options *o)
{
    printf("%s %s: %" PRId64 " x %" PRId64 ", %.0f entries, %s, %d %s on %d %s\n", words[f->word], o->operand[1], f->m,
        f->n, f->nnz, tulle_type_name(f->type), f->count,
        f->word <= LOBPCG ? plural(f->count, "pair", "pairs") : plural(f->count, "value", "values"), f->pes,
        plural(f->pes, "PE", "PEs"));
    print_passes(f);
    printf("a pass   reads %.0f bytes, by all PEs together, in %.4g s at the machine's rates\n", f->bytes, f->seconds);
    if (f->word == EIG) printf("a block  takes %.4g s more to be orthogonalised and for restarts\n", f->vectors);
    printf("time     %s %.4g s%s\n", f->about ? "about" : "at least", seconds_of(f, f->least),
        f->word == EIG ? "" : " in products");
    printf("memory   %.0f bytes a PE beside A, which has %.0f in memory\n", f->memory, f->matrix);
}

tulle_status predict_spectrum(const struct options *options)
{
    const int cores = tulle_cores_free();
    struct forecast f = {.operand = options->noperands > 1 ? options->operand[1] : NULL,
        .pes = (int)options_int(options, "pes", 1),
        .threads = (int)options_int(options, "threads", 1)};
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
    f.reading = reading;
    status = choose(&f, options, &shape);
    if (status != TULLE_OK) return status;
    predict(&f);
    if (f.memory == 0)
        return tulle_fail(TULLE_ERR_ARG, "--count, --block and --basis do not go together: see `tulle %s --help`",
            f.word == LOBPCG ? "eig" : words[f.word]);
    options_flag(options, "json") ? print_json(&f, options) : print_text(&f, options);
    return TULLE_OK;
}
