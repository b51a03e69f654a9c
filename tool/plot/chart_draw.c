/* SPDX-License-Identifier: Apache-2.0 */
/* Curves and bars as gnuplot commands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot/chart_style.h"

static void put_time(const struct mark *m, FILE *file)
{
    fprintf(file, "%g %.6g %.6g %.6g\n", m->pes, m->seconds, m->fast, m->slow);
}

static int by_pes(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->pes > b->pes) - (a->pes < b->pes);
}

/* The ideal: the time of the fastest at the fewest PEs, divided by the relative number of PEs. */
static void put_ideal(const struct chart *chart, const struct picture *p)
{
    const struct mark *first = &chart->mark[0], *last = &chart->mark[chart->count - 1];
    double fastest = first->seconds;
    for (int i = 1; i < chart->count && chart->mark[i].pes == first->pes; i++)
        if (chart->mark[i].seconds < fastest) fastest = chart->mark[i].seconds;
    fprintf(p->script, "$ideal << EOD\n%g %.6g\n%g %.6g\nEOD\n", first->pes, fastest, last->pes,
        fastest * first->pes / last->pes);
    fprintf(p->script, "plot $ideal using 1:2 with lines lw 1.5 dt 3 lc rgb '#888888' title 'ideal'");
}

static tulle_status draw_seconds(const struct chart *chart, const struct picture *p, const char *over, int ideal)
{
    enum { LABELS = 16 };
    char(*names)[NAME], label[NAME], what[NAME];
    qsort(chart->mark, (size_t)chart->count, sizeof *chart->mark, by_pes);
    const struct mark *first = &chart->mark[0], *last = &chart->mark[chart->count - 1];
    double least = first->fast, most = first->slow, labelled = 0;
    double apart = pow(last->pes / first->pes * 1.7, 1. / LABELS); /* of numbers on the axis */
    snprintf(what, sizeof what, "seconds over %s", over);
    style_label(chart, what, label);
    style_begin(chart, p, label, 1);
    fprintf(p->script,
        "set logscale xy\nset format y '%%g'\nset xlabel '%s'\nset ylabel 'seconds'\n"
        "set xtics (",
        over);
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        if (m->fast < least) least = m->fast;
        if (m->slow > most) most = m->slow;
        if (i && m->pes == chart->mark[i - 1].pes) continue;
        int capacity = m->pes >= labelled * apart;
        fprintf(p->script, "%s'%.*g' %g", i ? "," : "", capacity ? 6 : 0, m->pes, m->pes);
        if (capacity) labelled = m->pes;
    }
    least /= 1.3;
    most *= 1.3;
    fprintf(p->script, ")\nset xrange [%g:%g]\nset yrange [%g:%g]\n", first->pes / 1.3, last->pes * 1.3, least, most);
    style_log_ticks(p, 'y', least, most);
    struct naming naming = naming_of(chart);
    /* otherwise there is no single ideal */
    ideal = ideal && last->pes > first->pes && !naming.ops && !naming.operands;
    int count = put_series(chart, p, put_time, &names);
    if (ideal && count) put_ideal(chart, p);
    return plot_series(p, count, names, "using 1:2 with linespoints", !ideal, has_repeats(chart));
}

tulle_status chart_draw_scaling(const struct chart *chart, const struct picture *p)
{
    return draw_seconds(chart, p, "PEs", 1);
}

tulle_status chart_draw_tasks(const struct chart *chart, const struct picture *p)
{
    return draw_seconds(chart, p, "tasks a PE", 0);
}

static void put_point(const struct mark *m, FILE *file)
{
    fprintf(file, "%.6g %.6g %.6g %.6g\n", m->x, m->rate * 1e-9, m->slow * 1e-9, m->fast * 1e-9);
}

static int by_x(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->x > b->x) - (a->x < b->x);
}

tulle_status chart_draw_slabs(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME], label[NAME];
    qsort(chart->mark, (size_t)chart->count, sizeof *chart->mark, by_x);
    style_label(chart, "rate over slabs", label);
    style_begin(chart, p, label, 1);
    fprintf(p->script, "set xlabel 'slabs'\nset ylabel 'GF/s'\nset xrange [0:%g]\nset yrange [0:*]\n",
        chart->mark[chart->count - 1].x + 1);
    int count = put_series(chart, p, put_point, &names);
    return plot_series(p, count, names, "using 1:2 with linespoints", 1, has_repeats(chart));
}

tulle_status chart_draw_roofline(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME], label[NAME];
    double peak = 0, network = 0, least = chart->mark[0].x, most = least, low = chart->mark[0].rate;
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        if (m->peak > peak) peak = m->peak;
        if (m->network > network) network = m->network;
        if (m->x < least) least = m->x;
        if (m->x > most) most = m->x;
        if (m->rate < low) low = m->rate;
    }
    if (network > 0 && peak / network > most) most = peak / network;
    style_label(chart, "roofline", label);
    style_begin(chart, p, label, 1);
    fprintf(p->script,
        "set logscale xy\nset format xy '%%g'\nset xlabel 'flops a byte moved between PEs'\nset ylabel 'GF/s of a PE'\n"
        "set xrange [%g:%g]\nset yrange [%g:%g]\nmin(a,b) = a < b ? a : b\n",
        least / 3, most * 3, low * 1e-9 / 3, peak * 3e-9);
    style_log_ticks(p, 'x', least / 3, most * 3);
    style_log_ticks(p, 'y', low * 1e-9 / 3, peak * 3e-9);
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        double bound = network > 0 && m->x * network < m->local ? m->x * network : m->local;
        fprintf(p->script, "set arrow from graph 0, first %g to graph 1, first %g nohead dt 2 lc '#888888'\n",
            m->local * 1e-9, m->local * 1e-9);
        fprintf(p->script, "set arrow from %g, graph 0 to %g, %g nohead lc '#888888'\n", m->x, m->x, bound * 1e-9);
    }
    int count = put_series(chart, p, put_point, &names);
    if (network > 0)
        fprintf(p->script, "plot min(%g, x * %g) with lines lw 2 lc 'black' title 'network and peak'", peak * 1e-9,
            network * 1e-9);
    else
        fprintf(p->script, "plot %g with lines lw 2 lc 'black' title 'peak'", peak * 1e-9);
    return plot_series(p, count, names, "using 1:2 with points ps 1.3", 0, has_repeats(chart));
}

void chart_fit_bars(const struct chart *chart, int *width, int *height)
{
    int wanted = 220 + 56 * chart->count;
    (void)height;
    if (wanted > 3000) wanted = 3000;
    if (wanted > *width) *width = wanted;
}

tulle_status chart_draw_breakdown(const struct chart *chart, const struct picture *p)
{
    char name[NAME], label[NAME];
    struct naming naming = naming_of(chart);
    int many = 0;
    for (int i = 1; i < chart->count; i++) many |= chart->mark[i].pes != chart->mark[0].pes;
    style_label(chart, "where the time goes, the mean of the PEs", label);
    style_begin(chart, p, label, 0);
    fprintf(p->script, "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.6\n"
                       "set ylabel 'milliseconds'\nset key outside right top reverse Left\n"
                       "set xtics rotate by -25 noenhanced\n$phases << EOD\n");
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        name_of(naming, m, name);
        for (char *c = name; *c; c++)
            if (*c == '"' || (unsigned char)*c < ' ') *c = ' ';
        fprintf(p->script, "\"%s", name);
        if (many) fprintf(p->script, ", %g PE%s", m->pes, m->pes == 1 ? "" : "s");
        fputc('"', p->script);
        for (int q = 0; q < CHART_PHASES; q++) fprintf(p->script, " %.6g", m->phase[q] * 1e3);
        fputc('\n', p->script);
    }
    fprintf(p->script, "EOD\nplot ");
    static const char *const phases[CHART_PHASES] = {"compute", "communicate", "accumulate", "wait"};
    char colour[8];
    for (int q = 0; q < CHART_PHASES; q++)
        fprintf(p->script, "%s using %d%s fs solid 1 border lc rgb '#444444' lc rgb '%s' dt solid lw 1 title '%s'%s",
            q ? "''" : "$phases", q + 2, q ? "" : ":xtic(1)", style_colour(q + 1, colour), phases[q],
            q + 1 < CHART_PHASES ? ", \\\n     " : "\n");
    return TULLE_OK;
}

/* Zeros have no place on the logarithmic axis. */
static void put_residual(const struct mark *m, FILE *file)
{
    if (m->residual > 0) fprintf(file, "%g %.6g\n", m->iteration, m->residual);
}

/* The width of a block decreases over the iterations: the last line has the final one. */
static int put_widths(const struct chart *chart, const struct picture *p)
{
    double most = 0;
    for (int i = 0; i < chart->count; i++)
        if (chart->mark[i].width > most) most = chart->mark[i].width;
    if (most <= 1) return 0;
    fprintf(p->script, "$widths << EOD\n");
    for (int i = 0; i < chart->count; i++)
        if (i + 1 == chart->count || chart->mark[i + 1].iteration != chart->mark[i].iteration)
            fprintf(p->script, "%g %g\n", chart->mark[i].iteration, chart->mark[i].width);
    fprintf(p->script,
        "EOD\nset y2label 'directions at a time'\nset y2tics %d\nset y2range [0:%g]\nset ytics nomirror\n",
        (int)most / 9 + 1, most * 1.1);
    return 1;
}

tulle_status chart_draw_convergence(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME], label[NAME], what[NAME];
    int most = 0;
    for (int i = 0; i < chart->count; i++)
        if (chart->mark[i].iteration > most) most = (int)chart->mark[i].iteration;
    int with = *chart->about.alg && strcmp(chart->about.alg, "none") != 0;
    snprintf(what, sizeof what, "residuals relative to ||b||%s%s", with ? " with " : "", with ? chart->about.alg : "");
    if (*chart->about.operand)
        style_label(chart, what, label);
    else
        snprintf(label, sizeof label, "%s", what);
    style_begin(chart, p, label, 0);
    fprintf(p->script,
        "set logscale y\nset format y '10^{%%T}'\nset xlabel 'iteration'\nset ylabel '||b - A x|| / ||b||'\n");
    int widths = put_widths(chart, p);
    int count = put_series(chart, p, put_residual, &names);
    char how[64];
    snprintf(how, sizeof how, "using 1:2 with linespoints pi %d", most / 12 + 1);
    if (widths) fprintf(p->script, "plot $widths using 1:2 axes x1y2 with steps lw 2 dt 2 lc '#888888' title 'width'");
    return plot_series(p, count, names, how, !widths, 0);
}
