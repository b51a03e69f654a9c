/* SPDX-License-Identifier: Apache-2.0 */
/* The report of tulle trisolve: a table, or a line of JSON a method. */
#include "solves/solves_report.h"

#include <inttypes.h>
#include <math.h>

#include "launch.h"
#include "outputs.h"
#include "report/json_write.h"
#include "report/plural.h"
#include "report/terminal.h"

/*
 * The number of solves after which the method's analysis has paid off, relative to the serial solve
 * of the same call; -1: never, or unknown.
 */
static double pays_after(const struct solves *s, const struct solves_outcome *o)
{
    for (int m = 0; m < s->nmethods; m++)
        if (s->outcome[m].method == TULLE_TRISOLVE_SERIAL && s->outcome[m].seconds > o->seconds)
            return (o->analysis - s->outcome[m].analysis) / (s->outcome[m].seconds - o->seconds);
    return -1;
}

/* The comparison by auto; other methods have none. */
static void json_trials(const struct solves_outcome *o, FILE *out)
{
    const char *comma = "";
    fprintf(out, ",\"trials\":[");
    for (int m = 0; m < TULLE_TRISOLVE_METHOD_COUNT; m++) {
        if (!o->trial[m].solves) continue;
        json_printf(out, "%s{\"method\":\"%s\",\"solves\":%d,\"seconds\":%.6g}", comma,
            tulle_trisolve_method_name((tulle_trisolve_method)m), o->trial[m].solves, o->trial[m].seconds);
        comma = ",";
    }
    fprintf(out, "]");
}

static void print_trials(const struct solves_outcome *o, FILE *out)
{
    const char *before = "auto compared ";
    for (int m = 0; m < TULLE_TRISOLVE_METHOD_COUNT; m++) {
        if (!o->trial[m].solves) continue;
        fprintf(out, "%s%s (%d solve%s, the fastest %.4g s)", before,
            tulle_trisolve_method_name((tulle_trisolve_method)m), o->trial[m].solves,
            o->trial[m].solves == 1 ? "" : "s", o->trial[m].seconds);
        before = ", ";
    }
    if (*before == ',') fprintf(out, ": these solves are not part of the figures above\n");
}

static void print_json(const struct solves *s, const tulle_team *team, const struct solves_outcome *o)
{
    FILE *out = report_file(s->options);
    if (o->left_out) {
        fprintf(out, "{\"op\":\"trisolve\",\"method\":\"%s\",\"left_out\":", tulle_trisolve_method_name(o->method));
        json_text(o->failure, out);
        fprintf(out, "}\n");
        return;
    }
    fprintf(out, "{\"op\":\"trisolve\",\"method\":\"%s\",\"operand\":", tulle_trisolve_method_name(o->method));
    json_text(s->options->operand[0], out);
    fprintf(out, ",\"comm\":");
    json_text(chosen_comm(s->options), out);
    fputc(',', out);
    json_machine(s->simulated, chosen_comm(s->options), out);
    fprintf(out, ",\"time\":\"%s\",\"pes\":%d,\"threads\":%d,\"workers\":%d,\"type\":\"%s\"",
        s->simulated ? "virtual" : "real", tulle_team_size(team), tulle_team_threads(team), o->report.workers,
        tulle_type_name(s->reading.type));
    fprintf(out, ",\"n\":%" PRId64 ",\"nnz\":%" PRId64 ",\"cols\":%" PRId64 ",\"uplo\":\"%s\",\"trans\":%s,\"unit\":%s",
        s->n, s->nnz, s->cols, s->solving.uplo == TULLE_UPPER ? "upper" : "lower",
        s->solving.op == TULLE_OP_T ? "true" : "false", s->solving.diag == TULLE_DIAG_UNIT ? "true" : "false");
    json_printf(out,
        ",\"levels\":%" PRId64 ",\"chunk\":%" PRId64 ",\"supernodes\":%" PRId64 ",\"flops\":%" PRId64
        ",\"seconds\":%.6g,\"seconds_all\":[",
        o->report.levels, o->report.chunk, o->report.supernodes, o->report.flops, o->seconds);
    for (int r = 0; r < s->reps; r++) json_printf(out, "%s%.6g", r ? "," : "", o->all[r]);
    fprintf(out, "],\"kernel_seconds\":");
    if (isnan(o->report.kernel_seconds))
        fprintf(out, "null");
    else
        fprintf(out, "%.6g", o->report.kernel_seconds);
    fprintf(out, ",\"run\":%d", o->run);
    json_trials(o, out);
    json_printf(out,
        ",\"analysis_seconds\":%.6g,\"gflops\":%.6g,\"waits\":%" PRId64 ",\"polls\":%" PRId64 ",\"messages\":%" PRId64
        ",\"faults\":%" PRId64 ",\"same_bits\":%s,\"tasks\":%d,\"analysis_bytes\":%zu,\"phases\":{",
        o->analysis, (double)o->report.flops / o->seconds * 1e-9, o->report.waits, o->report.polls, o->report.messages,
        o->report.faults, o->report.reproducible ? "true" : "false", o->report.tasks, o->report.bytes);
    json_imbalance("compute", o->report.compute, out);
    fputc(',', out);
    json_imbalance("wait", o->report.wait, out);
    fprintf(out, "},\"reading_included\":false");
    if (o->checked)
        json_printf(out, ",\"check\":{\"passed\":%s,\"error\":%.6g}", o->passed ? "true" : "false", o->error);
    if (o->checked && s->known)
        json_printf(out, ",\"forward\":{\"error\":%.6g,\"bound\":%.6g,\"share\":%.6g}", o->forward.error,
            isfinite(o->forward.bound) ? o->forward.bound : -1, o->forward.share);
    fprintf(out, "}\n");
}

static int is_wide(const struct solves *s, FILE *out)
{
    enum { COLUMNS = 146 };
    return terminal_fits(out, COLUMNS, options_flag(s->options, "wide"));
}

static void print_line(const struct solves *s, const struct solves_outcome *o)
{
    char after[32] = "-", cut[32] = "-", checked[64] = "";
    double pays = pays_after(s, o);
    FILE *out = report_file(s->options);
    if (pays >= 0) snprintf(after, sizeof after, "%.1f", pays);
    if (o->left_out) {
        fprintf(out, "%-13s skipped: %s\n", tulle_trisolve_method_name(o->method), o->failure);
        return;
    }
    if (o->report.levels)
        snprintf(cut, sizeof cut, "%" PRId64 " %s", o->report.levels, plural(o->report.levels, "level", "levels"));
    if (o->report.supernodes)
        snprintf(
            cut, sizeof cut, "%" PRId64 " %s", o->report.supernodes, plural(o->report.supernodes, "node", "nodes"));
    if (o->report.tasks) snprintf(cut, sizeof cut, "%d %s", o->report.tasks, plural(o->report.tasks, "task", "tasks"));
    if (o->report.chunk)
        snprintf(cut, sizeof cut, "%" PRId64 " %s", o->report.chunk, plural(o->report.chunk, "row", "rows"));
    if (o->checked) snprintf(checked, sizeof checked, "%s", passed_word(o->passed, out));
    if (o->checked && s->known)
        snprintf(checked, sizeof checked, "%s, x off by %.2g of at most %.2g", passed_word(o->passed, out),
            o->forward.error, o->forward.bound);
    if (!is_wide(s, out))
        fprintf(out, "%-13s %8d %14s %11.4g %10.4g %8.2f %s\n", tulle_trisolve_method_name(o->method),
            o->report.workers, cut, o->analysis, o->seconds, (double)o->report.flops / o->seconds * 1e-9, checked);
    else
        fprintf(out,
            "%-13s %8d %14s %11.4g %10.4g %8.2f %9s | %9.3g %9.3g %9" PRId64 " %9" PRId64 " %9" PRId64 " %-5s %s\n",
            tulle_trisolve_method_name(o->method), o->report.workers, cut, o->analysis, o->seconds,
            (double)o->report.flops / o->seconds * 1e-9, after, o->report.compute.mean, o->report.wait.mean,
            o->report.waits, o->report.messages, o->report.polls, o->report.reproducible ? "same" : "any", checked);
    if (!isnan(o->report.kernel_seconds))
        fprintf(out, "              %.4g s of %.4g s on the device in kernels\n", o->report.kernel_seconds, o->seconds);
    if (*o->failure) fprintf(out, "              %s\n", o->failure);
    print_trials(o, out);
}

tulle_status show_solves(const struct solves *s, tulle_team *team)
{
    int failed = 0, left_out = 0;
    FILE *out = report_file(s->options);
    if (tulle_team_leads(team) && !options_flag(s->options, "json")) {
        const int pes = tulle_team_size(team), threads = tulle_team_threads(team);
        fprintf(out, "trisolve %s: %s%s%s, %" PRId64 " %s, %" PRId64 " %s, %" PRId64 " %s, %s, %d %s of %d %s, %s\n",
            s->options->operand[0], s->solving.uplo == TULLE_UPPER ? "upper" : "lower",
            s->solving.diag == TULLE_DIAG_UNIT ? ", unit" : "", s->solving.op == TULLE_OP_T ? ", transposed" : "", s->n,
            plural(s->n, "row", "rows"), s->nnz, plural(s->nnz, "entry", "entries"), s->cols,
            plural(s->cols, "right-hand side", "right-hand sides"), tulle_type_name(s->reading.type), pes,
            plural(pes, "PE", "PEs"), threads, plural(threads, "thread", "threads"), chosen_comm(s->options));
        if (!is_wide(s, out))
            fprintf(out, "method         workers   how it is cut    analysis    seconds     GF/s %s\n",
                options_flag(s->options, "check") ? "check" : "");
        else
            fprintf(out,
                "method         workers   how it is cut    analysis    seconds     GF/s pays after |   compute      "
                "wait "
                "    waits  messages     polls bits  %s\n",
                options_flag(s->options, "check") ? "check" : "");
    }
    for (int m = 0; m < s->nmethods; m++) {
        const struct solves_outcome *o = &s->outcome[m];
        failed += o->checked && !o->passed;
        left_out += o->left_out != TULLE_OK;
        if (!tulle_team_leads(team)) continue;
        if (options_flag(s->options, "json"))
            print_json(s, team, o);
        else
            print_line(s, o);
    }
    if (left_out == s->nmethods)
        return tulle_fail(s->outcome[0].left_out, "none of the methods has run: %s", s->outcome[0].failure);
    return failed ? tulle_fail(TULLE_ERR_CHECK, "%d of %d %s failed the check", failed, s->nmethods,
                        plural(s->nmethods, "result", "results"))
                  : TULLE_OK;
}
