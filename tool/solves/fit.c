/* SPDX-License-Identifier: Apache-2.0 */
#include "solves/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "outputs.h"
#include "solves/rhs.h"

int least_squares_word(const char *word, tulle_least_squares_method *method)
{
    for (int m = 0; m < TULLE_LEAST_SQUARES_METHOD_COUNT; m++) {
        *method = (tulle_least_squares_method)m;
        if (strcasecmp(word, tulle_least_squares_method_name(*method)) == 0) return 1;
    }
    return 0;
}

tulle_status least_squares_options(struct iteration *s)
{
    const struct options *o = s->options;
    tulle_least_squares_options *f = &s->fitting;
    tulle_status status = TULLE_OK;
    f->tolerance = s->solving.tolerance;
    f->absolute = s->solving.absolute;
    f->max_iterations = s->solving.max_iterations;
    f->width = s->solving.width;
    f->guess = s->solving.guess;
    f->watch = s->solving.watch;
    f->arg = s->solving.arg;
    f->gradient = usual_limit(s);
    if (options_flag(o, "damp")) status = tulle_parse_real(options_word(o, "damp", "0"), "--damp", 0, 1e300, &f->damp);
    if (status == TULLE_OK && options_flag(o, "gradient"))
        status = tulle_parse_real(options_word(o, "gradient", "0"), "--gradient", 0, 1, &f->gradient);
    if (f->gradient == 0) f->gradient = TULLE_NONE;
    if (status == TULLE_OK && options_flag(o, "max-condition"))
        status =
            tulle_parse_real(options_word(o, "max-condition", "0"), "--max-condition", 0, 1e300, &f->max_condition);
    if (status == TULLE_OK && s->streaming.options.rebalance)
        status = tulle_fail(TULLE_ERR_ARG,
            "--source rebalance is of products that stream through a device, which %s has not", s->course.method);
    return status;
}

tulle_status least_squares_needs(const struct iteration *s, const tulle_operand_shape *shape)
{
    struct needs n;
    tulle_gidx cols;
    tulle_status status = rhs_columns(s->options, &s->reading, shape->m, "the matrix", &cols);
    if (status != TULLE_OK) return status;
    needs_begin(&n, s->options, s->reading.type);
    const double A = needs_bytes(&n, shape, 0), rows = (double)shape->m, columns = (double)shape->n;
    needs_matrix(&n, (double)cols * (needs_dense(&n, rows, 1) + needs_dense(&n, columns, 1)));
    if (!s->streaming.from_file) needs_matrix(&n, A);
    if (!s->streaming.from_file) needs_reading(&n, A);
    const double method =
        n.pes * (double)tulle_least_squares_memory(&s->fitting, shape->m, shape->n, s->reading.type, 1, n.pes);
    needs_stage(&n, method + (s->streaming.from_file ? 8 * rows : A)); /* A: a copy in other parts */
    if (options_flag(s->options, "check")) needs_stage(&n, n.pes * 24 * (rows + columns));
    return needs_check(&n, "solve");
}

struct problem {
    struct streamed in;
    tulle_mat *B, *X;
};

static tulle_status read_guess(struct iteration *s, tulle_comm *comm, const char *guess, const tulle_layout *layout,
    tulle_gidx n, tulle_gidx cols, char *warnings, tulle_mat **X)
{
    tulle_operand_shape shape;
    tulle_status status = tulle_comm_agree(comm, tulle_operand_inspect(guess, &s->reading, &shape));
    if (status == TULLE_OK && (shape.m != n || shape.n != cols))
        return tulle_fail(
            TULLE_ERR_ARG, "%s does not have the matrix's columns as rows, and a column for each of B", guess);
    return status == TULLE_OK ? load_operand(comm, guess, layout, TULLE_DENSE, &s->reading, warnings, X) : status;
}

/* B and X, rows of which each PE has. */
static tulle_status read_vectors(struct iteration *s, tulle_comm *comm, struct problem *p, tulle_gidx m, tulle_gidx n,
    tulle_gidx cols, char *warnings)
{
    tulle_layout *of_rows = NULL, *of_columns = NULL;
    const int pes = tulle_comm_size(comm);
    const char *guess = options_word(s->options, "guess", NULL);
    const tulle_layout_spec rows = {.m = m, .n = cols, .tile_rows = pes, .tile_cols = 1},
                            columns = {.m = n, .n = cols, .tile_rows = pes, .tile_cols = 1};
    tulle_status status = tulle_layout_new(&rows, pes, &of_rows);
    if (status == TULLE_OK) status = tulle_layout_new(&columns, pes, &of_columns);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = read_rhs(s->options, &s->reading, comm, m, "the matrix", of_rows, warnings, &p->B);
    if (status == TULLE_OK)
        status = guess ? read_guess(s, comm, guess, of_columns, n, cols, warnings, &p->X)
                       : tulle_mat_new_dense(comm, of_columns, s->reading.type, TULLE_ROW_MAJOR, &p->X);
    tulle_layout_free(of_rows);
    tulle_layout_free(of_columns);
    return status;
}

static int solved(tulle_stop stop)
{
    return stop == TULLE_STOP_CONVERGED || stop == TULLE_STOP_LEAST_SQUARES;
}

/* Figures that reports of all methods show. */
static tulle_krylov_report common_report(const tulle_least_squares_report *r)
{
    return (tulle_krylov_report){.stop = r->stop,
        .iterations = r->iterations,
        .products = r->passes,
        .reductions = r->reductions,
        .norm = r->norm,
        .residual = r->residual,
        .true_residual = r->true_residual,
        .seconds = r->seconds,
        .product = r->product,
        .dots = r->dots,
        .vectors = r->vectors,
        .width = r->width,
        .deflated_at = -1};
}

static tulle_status solve(struct iteration *s, tulle_comm *comm, struct problem *p)
{
    const size_t cols = (size_t)tulle_mat_cols(p->B);
    tulle_least_squares_report *fitted = calloc(cols + 1, sizeof *fitted);
    tulle_krylov_report *report = calloc(cols + 1, sizeof *report);
    tulle_status status = fitted && report ? TULLE_OK : tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK)
        status = p->in.A ? tulle_least_squares(p->in.A, p->B, p->X, &s->fitting, fitted)
                         : tulle_least_squares_of_rows(p->in.rows, p->B, p->X, &s->fitting, fitted);
    for (size_t c = 0; c < cols && fitted && report; c++) report[c] = common_report(&fitted[c]);
    if (status == TULLE_ERR_CONVERGENCE && tulle_comm_rank(comm) == 0)
        snprintf(s->failure, sizeof s->failure, "%s", tulle_error_message());
    if (status == TULLE_ERR_CONVERGENCE && options_flag(s->options, "partial")) {
        for (size_t c = 0; c < cols; c++)
            if (solved(report[c].stop)) report[c].stop = TULLE_STOP_CONVERGED;
        const tulle_status erased = erase_failed(comm, p->X, report);
        if (erased != TULLE_OK) status = erased;
        for (size_t c = 0; c < cols; c++) report[c].stop = fitted[c].stop;
    }
    if (tulle_comm_rank(comm) == 0) {
        line_clear(&s->course.line);
        s->report = report;
        s->fitted = fitted;
    } else {
        free(report);
        free(fitted);
    }
    return status;
}

static tulle_status check(struct iteration *s, tulle_comm *comm, const struct problem *p)
{
    double error = 0;
    tulle_status status = p->in.A ? tulle_least_squares_check(p->in.A, p->B, p->X, &s->fitting, &error)
                                  : tulle_least_squares_check_rows(p->in.rows, p->B, p->X, &s->fitting, &error);
    return note_check(s, comm, status, error);
}

tulle_status least_squares_body(tulle_comm *comm, void *arg)
{
    struct iteration *s = arg;
    const char *operand = s->options->operand[0], *output = options_word(s->options, "output", NULL);
    const int lead = tulle_comm_rank(comm) == 0;
    char warnings[TULLE_WARNINGS_MAX] = "";
    struct problem p = {.X = NULL};
    tulle_gidx cols = 0;
    const double start = tulle_comm_seconds(comm);
    tulle_status status = streaming_open(comm, operand, &s->reading, s->streaming.from_file, warnings, &p.in);
    if (status != TULLE_OK) return status;
    const tulle_gidx m = p.in.m, n = p.in.n;
    status = tulle_comm_agree(comm, rhs_columns(s->options, &s->reading, m, "the matrix", &cols));
    if (status == TULLE_OK) status = read_vectors(s, comm, &p, m, n, cols, warnings);
    if (lead) s->m = m, s->n = n, s->nnz = p.in.nnz, s->cols = cols, s->setup[0] = tulle_comm_seconds(comm) - start;
    if (status == TULLE_OK) status = solve(s, comm, &p);
    const int ended = status == TULLE_OK || status == TULLE_ERR_CONVERGENCE;
    if (ended && p.in.rows) {
        tulle_status read = streaming_warnings(p.in.rows, warnings);
        if (read != TULLE_OK) status = read;
    }
    if (lead) snprintf(s->warnings, sizeof s->warnings, "%s", warnings);
    if (status == TULLE_OK && options_flag(s->options, "check")) status = check(s, comm, &p);
    const int partial = status == TULLE_ERR_CONVERGENCE && options_flag(s->options, "partial");
    if ((status == TULLE_OK || partial) && output) {
        const tulle_status saved = tulle_mat_save(p.X, output);
        if (saved != TULLE_OK) status = saved;
    }
    if (status != TULLE_OK && status != TULLE_ERR_CONVERGENCE) return status; /* the team frees the rest */
    tulle_mat_free(p.X);
    tulle_mat_free(p.B);
    tulle_mat_free(p.in.A);
    tulle_rows_free(p.in.rows);
    return TULLE_OK; /* the report says that it did not converge */
}
