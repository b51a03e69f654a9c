/* SPDX-License-Identifier: Apache-2.0 */
#include "predict/predict_spectrum.h"

#include <inttypes.h>
#include <stdlib.h>

#include <tulle/spectrum.h>

#include "predict/predict_words.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "solves/spectrum_choice.h"
#include "verb.h"

struct forecast {
    enum predicted word;
    int pes, threads;
    tulle_spectrum_sizes sizes;
    tulle_gidx m, n, iterated; /* of A; rows of the vectors that are iterated */
    double nnz;
    tulle_type type;
    tulle_spectrum_options spectrum;
    tulle_svd_options svd;
    const char *operand;
    tulle_read_options reading;
    int degree;              /* of a filter; 0: unknown, or none */
    int plain;               /* A's bounds leave no filter */
    int64_t least, most;     /* bounds of the passes over A */
    int64_t usual[2], about; /* a filter's, as they usually are, of its least and its highest degree; 0: unknown */
    double memory, matrix;   /* bytes of a PE beside A; of A */
    double bytes, seconds;   /* of a pass: read by all PEs; by the roofline of one */
    double vectors;          /* seconds of orthogonalising a block, with its part of restarts; 0: not counted */
    tulle_machine machine;
};

/* ---- passes ---- */

static int64_t parts_of(int64_t count, int64_t width)
{
    return width > 0 ? (count + width - 1) / width : 0;
}

/* Passes for residuals, and U, of all. */
static int64_t passes_of_all(const struct forecast *f)
{
    enum { MOST = 64 };
    return f->sizes.count > MOST ? parts_of(f->sizes.count, MOST) : 1;
}

/* These, and one more for the means of components. */
static int64_t last_passes(const struct forecast *f)
{
    return passes_of_all(f) + (f->word == PREDICT_PCA);
}

/* Singular values that are 0, or have not converged, have residuals by products of their own. */
static int64_t passes_of_zeros(const struct forecast *f)
{
    return f->word >= PREDICT_SVD ? passes_of_all(f) : 0;
}

/* Bounds of the passes of a method that iterates; filtered: one that may have a filter of up to that degree. */
static void bound_passes(struct forecast *f, int filtered)
{
    enum { PASSES = 1000, FILTERED = 10000 };
    const int64_t fewest = parts_of(f->sizes.count, f->sizes.block), last = last_passes(f);
    f->least = fewest + last;
    f->most = PASSES + last + passes_of_zeros(f);
    if (filtered) f->most = FILTERED + filtered + fewest + 2 * last + 1; /* and without it, if pairs are left */
    if (f->word != PREDICT_LOBPCG) return;
    f->least = 1;
    f->most = 2 * PASSES + 2; /* steps, and products anew */
}

/* So many passes, or fewer that span all vectors, or more where blocks of a low rank span too few. */
static void fix_passes(struct forecast *f, int passes)
{
    const int64_t whole = parts_of(f->iterated, f->sizes.block), last = last_passes(f);
    f->most = passes + last + passes_of_zeros(f);
    if (f->sizes.block < f->sizes.count) f->most += f->sizes.count - f->sizes.block;
    f->least = (whole < passes ? whole : passes) + last;
}

/* Passes of a filter of that degree, or of the lowest and the highest that are chosen; few pairs may need none. */
static void count_filtered(struct forecast *f)
{
    enum { LOWEST = 3, HIGHEST = 60, MANY = 20 };
    const tulle_spectrum_options *s = &f->spectrum;
    const int most = f->degree   ? f->degree
                     : s->degree ? s->degree
                                 : HIGHEST,
              least = f->degree || most < LOWEST ? most : LOWEST;
    f->usual[0] = tulle_spectrum_filter_passes(s, f->n, f->degree || s->degree || s->count >= MANY ? least : 0);
    f->usual[1] = tulle_spectrum_filter_passes(s, f->n, most);
    f->about = f->degree ? f->usual[0] : 0;
    bound_passes(f, most);
}

/* ---- bounds of the spectrum ---- */

/* A few passes of the method, which refuses a matrix that is not symmetric. */
static tulle_status look_at(const tulle_operator *A, const tulle_spectrum_options *options)
{
    enum { PASSES = 3 };
    tulle_spectrum_options some = *options;
    tulle_spectrum *plan = NULL;
    some.max_passes = PASSES;
    double *value = calloc((size_t)some.count + 1, sizeof *value);
    tulle_status status = value ? tulle_spectrum_new(A, &some, &plan) : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    if (status == TULLE_OK) status = tulle_spectrum_execute(plan, value, NULL, NULL, NULL);
    tulle_spectrum_free(plan);
    free(value);
    return status == TULLE_ERR_CONVERGENCE ? TULLE_OK : status;
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
    if (status == TULLE_OK && !f->spectrum.chebyshev) status = look_at(&op, &f->spectrum);
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
    return status;
}

/* ---- methods ---- */

static tulle_status choose_eig(struct forecast *f, const struct options *o, const tulle_operand_shape *shape)
{
    tulle_spectrum_options *s = &f->spectrum;
    const int lobpcg = f->word == PREDICT_LOBPCG, judged = options_flag(o, "memory");
    tulle_status status = eig_options(o, lobpcg, s);
    if (status == TULLE_OK) status = eig_choose(o, f->operand, shape, f->pes, 0, lobpcg, s, &f->sizes);
    if (!s->chebyshev) s->degree = 0; /* so many pairs are found without a filter */
    if (status == TULLE_OK && judged) status = eig_needs(o, shape, f->type, s, 0, NULL);
    f->iterated = f->n;
    if (status == TULLE_OK && options_flag(o, "bounds")) status = read_bounds(f, o);
    if (status != TULLE_OK) return status;
    f->memory = eig_memory(s, f->n, f->type, f->pes);
    f->plain = !s->chebyshev || (options_flag(o, "bounds") && !f->degree);
    f->plain ? bound_passes(f, s->chebyshev) : count_filtered(f);
    return TULLE_OK;
}

static tulle_status choose_svd(struct forecast *f, const struct options *o, const tulle_operand_shape *shape)
{
    tulle_svd_options *s = &f->svd;
    tulle_status status = svd_options(o, f->word == PREDICT_PCA, s);
    if (status == TULLE_OK) status = svd_choose(o, f->operand, shape, s, &f->sizes);
    if (status == TULLE_OK && options_flag(o, "memory"))
        status = svd_needs(o, predict_word(f->word), shape, f->type, s, 0, 0, 0);
    if (status != TULLE_OK) return status;
    f->iterated = svd_turned(s, shape, 0) ? f->m : f->n;
    f->memory = svd_memory(s, shape, f->type, f->pes, 0);
    s->passes ? fix_passes(f, s->passes) : bound_passes(f, 0);
    return TULLE_OK;
}

/*
 * Seconds of a block beside its products: twice V^T W and W - V H, V of three quarters of the basis; and its part of
 * restarts, each of which leaves about half of the basis that is not wanted.
 */
static double seconds_of_block(const struct forecast *f)
{
    const double rows = (double)f->m / f->pes, basis = f->sizes.basis, held = .75 * basis,
                 freed = (basis - f->sizes.count) / 2, kept = basis - freed;
    const tulle_roofline project = tulle_roofline_gemm(&f->machine, f->threads, f->type, held, rows, f->sizes.block),
                         rotate = tulle_roofline_gemm(&f->machine, f->threads, f->type, rows, basis, kept);
    if (!(project.rate > 0 && rotate.rate > 0)) return 0;
    const double restart = freed > 0 ? 2 * rows * basis * kept / rotate.rate * f->sizes.block / freed : 0;
    return 8 * held * rows * f->sizes.block / project.rate + restart;
}

/* Seconds of so many passes. */
static double seconds_of(const struct forecast *f, int64_t passes)
{
    const int degree = f->plain ? 1 : f->degree ? f->degree : 3;
    return (double)passes * (f->seconds + f->vectors / degree);
}

/* A pass: products of A with a block, and with its transpose for singular values; each reads A once. */
static void predict(struct forecast *f)
{
    const double value = (double)tulle_type_size(f->type), of = (double)f->iterated,
                 rows = ((double)f->m + (double)f->n - of) / f->pes;
    const tulle_roofline roof =
        tulle_roofline_spmm(&f->machine, f->threads, f->type, rows, of, f->nnz / f->pes, f->sizes.block);
    f->matrix = f->nnz * (value + 4) + 8 * ((double)f->m + 1);
    f->bytes = f->matrix;
    f->seconds =
        roof.rate > 0 ? (f->word >= PREDICT_SVD ? 2 : 1) * 2 * f->nnz / f->pes * f->sizes.block / roof.rate : 0;
    f->vectors = f->word == PREDICT_EIG ? seconds_of_block(f) : 0;
}

/* A degree that only --bounds finds is null; the passes of a filter are those of its least and its highest one. */
static void print_json_method(const struct forecast *f)
{
    char degree[16] = "null", passes[48] = "null";
    if (f->plain || f->degree) snprintf(degree, sizeof degree, "%d", f->plain ? 0 : f->degree);
    if (f->about) snprintf(passes, sizeof passes, "%" PRId64, f->about);
    json_printf(stdout, ",\"method\":\"%s\",\"basis\":%d,\"degree\":%s,\"passes\":%s",
        f->spectrum.chebyshev ? "chebyshev" : "lanczos", f->sizes.basis, degree, passes);
    if (!f->plain) json_printf(stdout, ",\"passes_usual\":[%" PRId64 ",%" PRId64 "]", f->usual[0], f->usual[1]);
    json_printf(stdout, ",\"block_seconds\":%.6g", f->vectors);
}

static void print_json(const struct forecast *f, const struct options *o)
{
    printf("{\"op\":\"%s\",\"predicted\":true,\"operand\":", predict_word(f->word));
    json_text(o->operand[1], stdout);
    printf(",\"machine\":");
    json_text(options_word(o, "machine", "here"), stdout);
    json_printf(stdout,
        ",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"m\":%" PRId64 ",\"n\":%" PRId64
        ",\"nnz\":%.0f,\"count\":%d,\"block\":%d,\"passes_least\":%" PRId64 ",\"passes_most\":%" PRId64
        ",\"matrix_bytes\":%.0f,\"pass_bytes\":%.0f,\"pass_seconds\":%.6g,\"memory\":%.0f",
        f->pes, f->threads, tulle_type_name(f->type), f->m, f->n, f->nnz, f->sizes.count, f->sizes.block, f->least,
        f->most, f->matrix, f->bytes, f->seconds, f->memory);
    if (f->word == PREDICT_EIG) print_json_method(f);
    printf("}\n");
}

static void print_passes(const struct forecast *f)
{
    const char *directions = plural(f->sizes.block, "direction", "directions");
    if (f->about)
        printf("passes   about %" PRId64 " over A, of %d %s, by a Chebyshev filter of degree %d\n", f->about,
            f->sizes.block, directions, f->degree);
    else if (!f->plain && f->spectrum.degree)
        printf("passes   about %" PRId64 " over A, of %d %s, by a Chebyshev filter of degree %d or less:\n"
               "         --bounds reads A to find the degree\n",
            f->usual[1], f->sizes.block, directions, f->spectrum.degree);
    else if (!f->plain)
        printf("passes   about %" PRId64 " to %" PRId64 " over A, of %d %s, by a Chebyshev filter of degree 3 to 60:\n"
               "         --bounds reads A to find the degree\n",
            f->usual[0], f->usual[1], f->sizes.block, directions);
    else if (f->svd.passes)
        printf("passes   %" PRId64 " over A, of %d %s, or %" PRId64 " where a value is 0\n",
            f->most - passes_of_zeros(f), f->sizes.block, directions, f->most);
    else
        printf("passes   at least %" PRId64 " over A, of %d %s, and at most %" PRId64
               ":\n         how many it takes to converge depends on its values\n",
            f->least, f->sizes.block, directions, f->most);
}

static void print_text(const struct forecast *f, const struct options *o)
{
    printf("%s %s: %" PRId64 " x %" PRId64 ", %.0f entries, %s, %d %s on %d %s\n", predict_word(f->word), o->operand[1],
        f->m, f->n, f->nnz, tulle_type_name(f->type), f->sizes.count,
        f->word <= PREDICT_LOBPCG ? plural(f->sizes.count, "pair", "pairs") : plural(f->sizes.count, "value", "values"),
        f->pes, plural(f->pes, "PE", "PEs"));
    print_passes(f);
    printf("a pass   reads %.0f bytes, by all PEs together, in %.4g s at the machine's rates\n", f->bytes, f->seconds);
    if (f->word == PREDICT_EIG)
        printf("a block  takes %.4g s more to be orthogonalised and for restarts\n", f->vectors);
    printf("time     %s %.4g s%s\n", f->about ? "about" : "at least",
        seconds_of(f, f->usual[0] ? f->usual[0] : f->least), f->word == PREDICT_EIG ? "" : " in products");
    printf("memory   %.0f bytes a PE beside A, which has %.0f in memory\n", f->memory, f->matrix);
}

tulle_status predict_spectrum(const struct options *options)
{
    const int cores = tulle_cores_free();
    struct forecast f = {.word = predict_what(options),
        .plain = 1,
        .operand = options->noperands > 1 ? options->operand[1] : NULL,
        .pes = (int)options_int(options, "pes", 1),
        .threads = (int)options_int(options, "threads", 1)};
    tulle_read_options reading;
    tulle_operand_shape shape;
    if (options->noperands < 2) return tulle_fail(TULLE_ERR_ARG, "predict %s needs a matrix", predict_word(f.word));
    tulle_status status = reading_options(options, &reading);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[1], &reading, &shape);
    if (status != TULLE_OK) return status;
    f.type = reading.type;
    f.m = shape.m;
    f.n = shape.n;
    if (shape.stored < 0)
        return tulle_fail(TULLE_ERR_ARG, "%s does not say in its header how many entries it has", options->operand[1]);
    f.nnz = (double)shape.stored * (shape.symmetric ? 2 : 1);
    f.reading = reading;
    status = (f.word <= PREDICT_LOBPCG ? choose_eig : choose_svd)(&f, options, &shape);
    if (status == TULLE_OK)
        status = tulle_machine_find(options_word(options, "machine", "here"), cores > 64 ? 64 : cores, &f.machine);
    if (status != TULLE_OK) return status;
    predict(&f);
    options_flag(options, "json") ? print_json(&f, options) : print_text(&f, options);
    return TULLE_OK;
}
