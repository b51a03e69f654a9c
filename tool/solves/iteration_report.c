/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of tulle solve: a progress line, the history, and the report as a table or a line of
 * JSON.
 */
#include "solves/iteration_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "launch.h"
#include "outputs.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/result.h"
#include "report/terminal.h"

static void record(struct course *course, const tulle_krylov_step *step)
{
    if (course->count == course->capacity) {
        int64_t capacity = course->capacity ? 2 * course->capacity : 256;
        tulle_krylov_step *more = realloc(course->step, (size_t)capacity * sizeof *more);
        if (!more) course->lost = 1;
        if (!more) return;
        course->step = more;
        course->capacity = capacity;
    }
    course->step[course->count++] = *step;
}

/* Describes an iteration; for a block, the column with the largest residual. */
static void describe(const struct course *course, const tulle_krylov_step *step, char *text, size_t capacity)
{
    int n = snprintf(text, capacity, "%s: column %" PRId64 ", iteration %" PRId64 ", residual %.3e of %.3e, ",
        course->method, step->column + 1, step->iteration, step->residual, step->limit);
    if (step->width > 1)
        n += snprintf(text + n, capacity - (size_t)n, "the worst of %d, width %d, ", step->active, step->width);
    snprintf(text + n, capacity - (size_t)n, "%.0f s", step->seconds);
}

void course_watch(void *arg, const tulle_krylov_step *step)
{
    static const double patience = 1, pause = 0.1;
    struct course *course = arg;
    tulle_krylov_step *worst = &course->worst;
    char text[160];
    if (course->history && !course->lost) record(course, step);
    if (step->iteration == 0) course->next = patience;
    int same = worst->iteration == step->iteration && worst->width == step->width;
    if (!same && course->lines && worst->limit > 0 && worst->seconds >= course->next) {
        course->next = worst->seconds + pause;
        describe(course, worst, text, sizeof text);
        line_show(&course->line, text);
    }
    if (!same || step->residual * worst->limit > worst->residual * step->limit) *worst = *step;
}

static void put_history(const struct iteration *s, const tulle_team *team, FILE *file)
{
    const struct course *c = &s->course;
    int json = c->json;
    if (json) {
        fprintf(file, "{\"operand\":");
        json_text(s->options->operand[0], file);
        fprintf(file, ",\"method\":\"%s\",\"precond\":\"%s\",\"time\":\"%s\",\"type\":\"%s\",", c->method,
            tulle_precond_kind_name(s->precond), tulle_team_virtual(team) ? "virtual" : "real",
            tulle_type_name(s->reading.type));
        json_machine(tulle_team_virtual(team), chosen_comm(s->options), file);
        fprintf(file, ",\"steps\":[");
    } else {
        fprintf(file, "column,iteration,residual,relative,seconds,width\n");
    }
    for (int64_t i = 0; i < c->count; i++) {
        const tulle_krylov_step *t = &c->step[i];
        double relative = t->norm > 0 ? t->residual / t->norm : 0;
        if (json)
            json_printf(file,
                "%s\n{\"column\":%" PRId64 ",\"iteration\":%" PRId64
                ",\"residual\":%.10g,\"relative\":%.10g,\"seconds\":%.6g,\"width\":%d}",
                i ? "," : "", t->column + 1, t->iteration, t->residual, relative, t->seconds, t->width);
        else
            fprintf(file, "%" PRId64 ",%" PRId64 ",%.10g,%.10g,%.6g,%d\n", t->column + 1, t->iteration, t->residual,
                relative, t->seconds, t->width);
    }
    if (json) fprintf(file, "\n]}\n");
}

static tulle_status write_history(const struct iteration *s, const tulle_team *team)
{
    const char *path = s->course.history;
    char *text = NULL;
    size_t bytes = 0;
    if (!path) return TULLE_OK;
    if (s->course.lost) return tulle_fail(TULLE_ERR_MEMORY, "%s: there was no memory for all iterations", path);
    FILE *file = open_memstream(&text, &bytes);
    if (file) put_history(s, team, file);
    int bad = !file || ferror(file);
    if (file) bad |= fclose(file) != 0;
    tulle_status status = bad ? tulle_fail(TULLE_ERR_MEMORY, "%s: out of memory for a history", path)
                              : tulle_file_write(path, text, bytes);
    free(text);
    return status;
}

static void json_real(FILE *out, const char *name, double x)
{
    json_printf(out, ",\"%s\":%.10g", name, x);
}

/* Figures of least squares alone. */
static void json_fit(const tulle_least_squares_report *r, FILE *out)
{
    json_real(out, "plain_residual", r->plain_residual);
    json_real(out, "gradient", r->gradient);
    json_real(out, "operator_norm", r->operator_norm);
    json_real(out, "condition", r->condition);
    json_real(out, "solution", r->solution);
}

static void print_json(const struct iteration *s, const tulle_team *team)
{
    FILE *out = report_file(s->options);
    fprintf(out, "{\"op\":\"solve\",\"method\":\"%s\",\"precond\":\"%s\",\"operand\":", s->course.method,
        tulle_precond_kind_name(s->precond));
    json_text(s->options->operand[0], out);
    fprintf(out, ",\"comm\":");
    json_text(chosen_comm(s->options), out);
    fputc(',', out);
    json_machine(tulle_team_virtual(team), chosen_comm(s->options), out);
    json_printf(out,
        ",\"time\":\"%s\",\"pes\":%d,\"threads\":%d,\"type\":\"%s\",\"n\":%" PRId64 ",\"nnz\":%" PRId64
        ",\"cols\":%" PRId64 ",\"tolerance\":%g,\"restart\":%d,\"setup_seconds\":%.6g,\"precond_setup_seconds\":%.6g",
        tulle_team_virtual(team) ? "virtual" : "real", tulle_team_size(team), tulle_team_threads(team),
        tulle_type_name(s->reading.type), s->n, s->nnz, s->cols, s->solving.tolerance > 0 ? s->solving.tolerance : 0,
        (int)options_int(s->options, "restart", 30), s->setup[0], s->setup[1]);
    if (s->precond == TULLE_PRECOND_IC0)
        json_printf(out, ",\"precond_shift\":%.6g,\"precond_tries\":%d", s->factored.alpha, s->factored.tries);
    if (s->precond == TULLE_PRECOND_ILU0) fprintf(out, ",\"precond_lifted\":%" PRId64, s->factored.lifted);
    ordered_json(&s->ordered, out);
    if (s->streamed && !s->fit) streaming_json(&s->plan, out);
    if (s->fit)
        json_printf(out, ",\"m\":%" PRId64 ",\"damp\":%g,\"gradient\":%g", s->m, s->fitting.damp,
            s->fitting.gradient > 0 ? s->fitting.gradient : 0);
    fprintf(out, ",\"columns\":[");
    for (tulle_gidx c = 0; c < s->cols; c++) {
        const tulle_krylov_report *r = &s->report[c];
        fprintf(out, "%s{\"stop\":\"%s\",\"iterations\":%" PRId64 ",\"products\":%" PRId64 ",\"reductions\":%" PRId64,
            c ? "," : "", tulle_stop_name(r->stop), r->iterations, r->products, r->reductions);
        json_real(out, "norm", r->norm);
        json_real(out, "residual", r->residual);
        json_real(out, "true_residual", r->true_residual);
        if (s->fit) json_fit(&s->fitted[c], out);
        fprintf(out, ",\"width\":%d,\"deflated\":%" PRId64 ",\"deflated_at\":%" PRId64, r->width, r->deflated,
            r->deflated_at);
        json_printf(out, ",\"seconds\":%.6g,", r->seconds);
        json_imbalance("product", r->product, out);
        fputc(',', out);
        json_imbalance("precond", r->precond, out);
        fputc(',', out);
        json_imbalance("dots", r->dots, out);
        fputc(',', out);
        json_imbalance("vectors", r->vectors, out);
        fputc('}', out);
    }
    fprintf(out, "]");
    if (s->checked)
        json_printf(out, ",\"check\":{\"passed\":%s,\"error\":%.6g}", s->passed ? "true" : "false", s->error);
    fprintf(out, "}\n");
}

/* Prints columns that were solved together consecutively, with their common figures. */
static void print_blocks(const struct iteration *s, FILE *out)
{
    if (s->solving.method != TULLE_KRYLOV_BLOCK_CG && s->solving.method != TULLE_KRYLOV_MINRES && !s->fit) return;
    for (tulle_gidx c = 0; c < s->cols; c += s->report[c].width) {
        const tulle_krylov_report *r = &s->report[c];
        fprintf(out, "columns %" PRId64 " to %" PRId64 " together", c + 1, c + r->width);
        if (r->deflated)
            fprintf(out, "; directions that depended on others: %" PRId64 ", first in iteration %" PRId64, r->deflated,
                r->deflated_at);
        fprintf(out, "\n");
    }
}

/* Least squares: how small the gradients are, and of what. */
static void print_fit(const struct iteration *s, FILE *out)
{
    if (!s->fit || !s->cols) return;
    fprintf(out, "%" PRId64 " passes over %" PRId64 " rows; ||A|| about %.3g, condition about %.3g\n",
        s->fitted[0].passes, s->m, s->fitted[0].operator_norm, s->fitted[0].condition);
    fprintf(out, "column  ||A^T r|| / (||A|| ||r||)   ||b - A x||         ||x||\n");
    for (tulle_gidx c = 0; c < s->cols; c++) {
        const tulle_least_squares_report *r = &s->fitted[c];
        const double of = r->operator_norm * r->true_residual;
        fprintf(out, "%6" PRId64 " %26.3e %13.6e %13.6e\n", c + 1, of > 0 ? r->gradient / of : 0, r->plain_residual,
            r->solution);
    }
}

static void print_table(const struct iteration *s, const tulle_team *team)
{
    enum { COLUMNS = 118 };
    FILE *out = report_file(s->options);
    const int pes = tulle_team_size(team), threads = tulle_team_threads(team);
    if (s->fit)
        fprintf(out, "solve %s: %" PRId64 " x %" PRId64, s->options->operand[0], s->m, s->n);
    else
        fprintf(out, "solve %s: %" PRId64 " %s", s->options->operand[0], s->n, plural(s->n, "row", "rows"));
    fprintf(out, ", %" PRId64 " %s, %" PRId64 " %s, %s, %d %s of %d %s, %s\n", s->nnz,
        plural(s->nnz, "entry", "entries"), s->cols, plural(s->cols, "right-hand side", "right-hand sides"),
        tulle_type_name(s->reading.type), pes, plural(pes, "PE", "PEs"), threads, plural(threads, "thread", "threads"),
        chosen_comm(s->options));
    fprintf(out, "%s, %s: set up in %.4g s, of which the preconditioner %.4g s;\nresiduals relative to ||b||\n",
        s->course.method, options_word(s->options, "precond", "none"), s->setup[0] + s->setup[1], s->setup[1]);
    ordered_text(&s->ordered, out);
    if (s->factored.alpha > 0)
        fprintf(out, "ic0 of A + %.4g diag(A), found in %d tries: the pivot of row %" PRId64 " of A is not positive\n",
            s->factored.alpha, s->factored.tries, s->factored.row + 1);
    if (s->factored.lifted)
        fprintf(out, "ilu0: %" PRId64 " %s lifted, the first in row %" PRId64 "\n", s->factored.lifted,
            plural(s->factored.lifted, "pivot was", "pivots were"), s->factored.row + 1);
    char text[512];
    if (s->streamed && !s->fit) fprintf(out, "PE 0: %s\n", tulle_stream_describe(&s->plan, text, sizeof text));
    const int wide = terminal_fits(out, COLUMNS, options_flag(s->options, "wide"));
    fprintf(out, "column iterations stopped                    residual       true    seconds%s\n",
        wide ? " |   product   precond      dots   vectors" : "");
    for (tulle_gidx c = 0; c < s->cols; c++) {
        const tulle_krylov_report *r = &s->report[c];
        double norm = r->norm > 0 ? r->norm : 1;
        fprintf(out, "%6" PRId64 " %10" PRId64 " %-25s %10.3e %10.3e %10.4g", c + 1, r->iterations,
            tulle_stop_name(r->stop), r->residual / norm, r->true_residual / norm, r->seconds);
        if (wide)
            fprintf(out, " | %9.3g %9.3g %9.3g %9.3g", r->product.mean, r->precond.mean, r->dots.mean, r->vectors.mean);
        fprintf(out, "\n");
    }
    if (!wide) fprintf(out, "--wide shows what the seconds went into.\n");
    print_blocks(s, out);
    print_fit(s, out);
    if (s->checked)
        fprintf(out, "check %s: the residual is %.3g of its bound\n", passed_word(s->passed, out), s->error);
}

tulle_status show_iteration(const struct iteration *s, const tulle_team *team)
{
    options_flag(s->options, "json") ? print_json(s, team) : print_table(s, team);
    return write_history(s, team);
}
