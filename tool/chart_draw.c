/* SPDX-License-Identifier: Apache-2.0 */
/* From what is drawn to gnuplot's commands. */
#include <stdlib.h>
#include <string.h>

#include "chart.h"

enum { NAME = 256, PANELS_MOST = 12 };

static void put_title(const struct chart *chart, const struct picture *p, const char *fallback)
{
    fprintf(p->script, "set title ");
    picture_text(p, chart->title ? chart->title : fallback);
    fprintf(p->script, " noenhanced\n");
}

/* What tells a line from the others: its algorithm, and of operation and operand those that differ in the picture. */
struct naming {
    int ops, operands;
};

static struct naming naming_of(const struct chart *chart)
{
    struct naming n = {0, 0};
    for (int i = 1; i < chart->count; i++) {
        n.ops |= strcmp(chart->mark[i].op, chart->mark[0].op) != 0;
        n.operands |= strcmp(chart->mark[i].operand, chart->mark[0].operand) != 0;
    }
    return n;
}

static void name_of(struct naming n, const struct mark *m, char *name)
{
    snprintf(name, NAME, "%s%s%s%s%s%s", n.ops ? m->op : "", n.ops ? " " : "", n.operands ? m->operand : "",
        n.operands ? " " : "", m->alg, m->predicted ? " (model)" : "");
}

/* Marks of one name as a block of data, names in the order in which they come first. Returns how many blocks. */
static int put_series(
    const struct chart *chart, const struct picture *p, void (*put)(const struct mark *, FILE *), char (**names)[NAME])
{
    size_t marks = chart->count > 0 ? (size_t)chart->count : 1;
    int count = 0, *series = calloc(marks, sizeof *series);
    struct naming naming = naming_of(chart);
    *names = calloc(marks, sizeof **names);
    for (int i = 0; series && *names && i < chart->count; i++) {
        name_of(naming, &chart->mark[i], (*names)[count]);
        while (strcmp((*names)[series[i]], (*names)[count]) != 0) series[i]++;
        count += series[i] == count;
    }
    for (int s = 0; s < count; s++) {
        fprintf(p->script, "$series%d << EOD\n", s);
        for (int i = 0; i < chart->count; i++)
            if (series[i] == s) put(&chart->mark[i], p->script);
        fprintf(p->script, "EOD\n");
    }
    free(series);
    return count;
}

static tulle_status plot_series(const struct picture *p, int count, char (*names)[NAME], const char *how, int first)
{
    if (!count) return free(names), tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    for (int s = 0; s < count; s++) {
        fprintf(p->script, "%s$series%d %s title ", s || !first ? ", \\\n     " : "plot ", s, how);
        picture_text(p, names[s]);
        fprintf(p->script, " noenhanced");
    }
    fputc('\n', p->script);
    free(names);
    return TULLE_OK;
}

static void put_time(const struct mark *m, FILE *file)
{
    fprintf(file, "%g %.6g\n", m->pes, m->seconds);
}

static int by_pes(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->pes > b->pes) - (a->pes < b->pes);
}

static tulle_status draw_seconds(const struct chart *chart, const struct picture *p, const char *over)
{
    char(*names)[NAME];
    qsort(chart->mark, (size_t)chart->count, sizeof *chart->mark, by_pes);
    const struct mark *first = &chart->mark[0], *last = &chart->mark[chart->count - 1];
    double least = first->seconds, most = least;
    put_title(chart, p, first->operand);
    fprintf(p->script,
        "set logscale xy\nset format y '%%g'\nset xlabel '%s'\nset ylabel 'seconds'\n"
        "set key outside right top\nset xtics (",
        over);
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        if (!i || m->pes != chart->mark[i - 1].pes) fprintf(p->script, "%s'%g' %g", i ? "," : "", m->pes, m->pes);
        if (m->seconds < least) least = m->seconds;
        if (m->seconds > most) most = m->seconds;
    }
    fprintf(p->script, ")\nset xrange [%g:%g]\nset yrange [%g:%g]\n", first->pes / 1.3, last->pes * 1.3, least / 1.5,
        most * 1.5);
    int count = put_series(chart, p, put_time, &names);
    return plot_series(p, count, names, "using 1:2 with linespoints pt 7", 1);
}

tulle_status chart_draw_scaling(const struct chart *chart, const struct picture *p)
{
    return draw_seconds(chart, p, "PEs");
}

tulle_status chart_draw_tasks(const struct chart *chart, const struct picture *p)
{
    return draw_seconds(chart, p, "tasks a PE");
}

static void put_point(const struct mark *m, FILE *file)
{
    fprintf(file, "%.6g %.6g\n", m->x, m->rate * 1e-9);
}

static int by_x(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    return (a->x > b->x) - (a->x < b->x);
}

tulle_status chart_draw_slabs(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME];
    qsort(chart->mark, (size_t)chart->count, sizeof *chart->mark, by_x);
    put_title(chart, p, chart->mark[0].operand);
    fprintf(p->script,
        "set xlabel 'slabs'\nset ylabel 'GF/s'\nset key outside right top\nset xrange [0:%g]\nset yrange [0:*]\n",
        chart->mark[chart->count - 1].x + 1);
    int count = put_series(chart, p, put_point, &names);
    return plot_series(p, count, names, "using 1:2 with linespoints pt 7", 1);
}

tulle_status chart_draw_roofline(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME];
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
    put_title(chart, p, chart->mark[0].operand);
    fprintf(p->script,
        "set logscale xy\nset xlabel 'flops a byte moved between PEs'\nset ylabel 'GF/s of a PE'\nset key outside "
        "right top\n"
        "set xrange [%g:%g]\nset yrange [%g:%g]\nmin(a,b) = a < b ? a : b\n",
        least / 3, most * 3, low * 1e-9 / 3, peak * 3e-9);
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
    return plot_series(p, count, names, "using 1:2 with points pt 7 ps 1.2", 0);
}

tulle_status chart_draw_breakdown(const struct chart *chart, const struct picture *p)
{
    char name[NAME];
    struct naming naming = naming_of(chart);
    int many = 0;
    for (int i = 1; i < chart->count; i++) many |= chart->mark[i].pes != chart->mark[0].pes;
    put_title(chart, p, "where the time goes, the mean of the PEs");
    fprintf(p->script, "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.6\n"
                       "set ylabel 'milliseconds'\nset key outside right top reverse Left\n"
                       "set xtics rotate by -25 noenhanced\n$phases << EOD\n");
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        name_of(naming, m, name);
        for (char *c = name; *c; c++)
            if (*c == '"' || (unsigned char)*c < ' ') *c = ' ';
        fprintf(p->script, "\"%s", name);
        if (many) fprintf(p->script, ", %g PEs", m->pes);
        fputc('"', p->script);
        for (int q = 0; q < CHART_PHASES; q++) fprintf(p->script, " %.6g", m->phase[q] * 1e3);
        fputc('\n', p->script);
    }
    fprintf(p->script, "EOD\nplot $phases using 2:xtic(1) title 'compute', '' using 3 title 'communicate', "
                       "'' using 4 title 'accumulate', '' using 5 title 'wait'\n");
    return TULLE_OK;
}

static void put_panel(const struct picture *p, const struct mark *m, const double *work, const char *what, int panel)
{
    double sum = 0, most = 0;
    int n = m->rows * m->cols;
    for (int i = 0; i < n; i++) {
        sum += work[i];
        if (work[i] > most) most = work[i];
    }
    double mean = sum > 0 ? sum / n : 1;
    fprintf(p->script, "$map%d << EOD\n", panel);
    for (int i = 0; i < m->rows; i++) {
        for (int j = 0; j < m->cols; j++) fprintf(p->script, "%.6g ", work[i * m->cols + j] / mean);
        fputc('\n', p->script);
    }
    char title[NAME];
    snprintf(title, sizeof title, "%s: max / mean %.2f", what, most / mean);
    fprintf(p->script, "EOD\nset title ");
    picture_text(p, title);
    fprintf(p->script,
        " noenhanced\nset xrange [-0.5:%g]\nset yrange [%g:-0.5]\nplot $map%d matrix with image notitle\n",
        m->cols - 0.5, m->rows - 0.5, panel);
}

tulle_status chart_draw_imbalance(const struct chart *chart, const struct picture *p)
{
    int panels = 0, done = 0;
    for (int i = 0; i < chart->count; i++) panels += chart->mark[i].stage ? 2 : 1;
    if (panels > PANELS_MOST)
        return tulle_fail(TULLE_ERR_ARG, "%d maps do not fit one picture; %d do", panels, PANELS_MOST);
    int columns = panels < 4 ? panels : (panels + 1) / 2;
    fprintf(p->script,
        "unset grid\nset palette defined (0 '#ffffff', 0.25 '#a6cee3', 0.5 '#fdbf6f', 1 '#e31a1c')\n"
        "set cbrange [0:*]\nset cblabel 'work, 1 = mean'\nset size ratio -1\nset xlabel 'grid column'\n"
        "set ylabel 'grid row'\nset multiplot layout %d,%d title ",
        (panels + columns - 1) / columns, columns);
    picture_text(p, chart->title ? chart->title : chart->mark[0].operand);
    fprintf(p->script, " noenhanced\n");
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        put_panel(p, m, m->total, *m->alg ? m->alg : "end to end", done++);
        if (m->stage) put_panel(p, m, m->stage, "the worst stage", done++);
    }
    fprintf(p->script, "unset multiplot\n");
    return TULLE_OK;
}

static void put_span(const struct mark *m, FILE *file)
{
    fprintf(file, "%.6f %g %.6f %.6f %g %g\n", m->from, m->row, m->from, m->to, m->row - 0.4, m->row + 0.4);
}

tulle_status chart_draw_timeline(const struct chart *chart, const struct picture *p)
{
    char(*names)[NAME];
    double rows = 0;
    for (int i = 0; i < chart->count; i++)
        if (chart->mark[i].row > rows) rows = chart->mark[i].row;
    put_title(chart, p, "what each PE does");
    fprintf(p->script,
        "set style fill solid 0.9 noborder\nset xlabel 'milliseconds'\nset ylabel 'PE'\nset yrange [%g:-0.6]\n"
        "set ytics 1\nset key outside right top\n",
        rows + 0.6);
    int count = put_series(chart, p, put_span, &names);
    return plot_series(p, count, names, "using 1:2:3:4:5:6 with boxxyerror", 1);
}

/* What is 0 has no place on the axis. */
static void put_residual(const struct mark *m, FILE *file)
{
    if (m->residual > 0) fprintf(file, "%g %.6g\n", m->iteration, m->residual);
}

/* The width of a block goes down from iteration to iteration: the last one that is told of is that of all. */
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
    enum { NAMED = 16 };
    char(*names)[NAME];
    put_title(chart, p, "residuals relative to ||b||");
    fprintf(p->script,
        "set logscale y\nset format y '10^{%%T}'\nset xlabel 'iteration'\nset ylabel '||b - A x|| / ||b||'\n"
        "set key outside right top\n");
    int widths = put_widths(chart, p);
    int count = put_series(chart, p, put_residual, &names);
    if (count > NAMED) fprintf(p->script, "unset key\n");
    if (widths) fprintf(p->script, "plot $widths using 1:2 axes x1y2 with steps lw 2 dt 2 lc '#888888' title 'width'");
    return plot_series(p, count, names, "using 1:2 with lines lw 1.5", !widths);
}
