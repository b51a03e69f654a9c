/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of a grid's work, and timelines: everything drawn as boxes. */
#include <stdlib.h>
#include <string.h>

#include "plot/chart_style.h"

enum { PANELS_MOST = 12, TICKS_MOST = 10, NUMBERS_MOST = 12, ROWS_NAMED = 40, DEPTHS = 4, KINDS_MOST = 64 };

/* ---- imbalance ---- */

/* As many integer ticks as fit. */
static void put_ticks(const struct picture *p, char axis, int n, int most)
{
    double ends[2] = {-0.5, n - 0.5};
    int step = 1;
    while (n > step * most) step *= 2;
    fprintf(p->script, "set %crange [%g:%g]\nset %ctics 0,%d scale 0\n", axis, ends[axis == 'y'], ends[axis != 'y'],
        axis, step);
}

/* The maps of a picture. */
struct panels {
    const struct picture *p;
    int rows, columns, done; /* their number, and how many are drawn */
    double shown;            /* the end of all scales */
};

/*
 * Draws cells as boxes, as gnuplot draws no image of one row or column. Cells are square unless the
 * grid is much longer than wide.
 */
static void put_panel(struct panels *all, const struct mark *m, const double *work, double mean, const char *title)
{
    const struct picture *p = all->p;
    int panel = all->done++, across = TICKS_MOST * 2 / all->columns, down = TICKS_MOST * 2 / (all->rows + 1);
    double ratio = (double)m->rows / m->cols;
    int numbered = m->rows <= down && m->cols * all->columns <= NUMBERS_MOST;
    fprintf(p->script, "$map%d << EOD\n", panel);
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->cols; j++) fprintf(p->script, "%d %d %.6g\n", j, i, work[i * m->cols + j] / mean);
    fprintf(p->script, "EOD\nset title ");
    picture_text(p, title);
    fprintf(p->script, " noenhanced\nset size ratio %g\n", ratio > 3 ? 3 : ratio < 0.33 ? 0.33 : ratio);
    put_ticks(p, 'x', m->cols, across);
    put_ticks(p, 'y', m->rows, down);
    fprintf(p->script,
        "plot $map%d using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror fs solid 1 noborder lc palette "
        "notitle",
        panel);
    for (int dark = 0; dark < 2 && numbered; dark++)
        fprintf(p->script,
            ", \\\n     '' using 1:($3 %s %g ? $2 : NaN):(sprintf('%%.2g', $3)) with labels tc rgb '%s' notitle",
            dark ? "<" : ">=", 0.6 * all->shown, dark ? "white" : "black");
    fputc('\n', p->script);
}

static double mean_of(const struct mark *m, const double *work, double *most)
{
    double sum = 0;
    *most = 0;
    for (int i = 0; i < m->rows * m->cols; i++) {
        sum += work[i];
        if (work[i] > *most) *most = work[i];
    }
    return sum > 0 ? sum / (m->rows * m->cols) : 1;
}

tulle_status chart_draw_imbalance(const struct chart *chart, const struct picture *p)
{
    char title[NAME], label[NAME];
    int panels = 0;
    double shown = 1, most;
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        const double *map[] = {m->total, m->stage};
        for (int k = 0; k < 2 && map[k]; k++, panels++) {
            double mean = mean_of(m, map[k], &most);
            if (most / mean > shown) shown = most / mean;
        }
    }
    if (panels > PANELS_MOST)
        return tulle_fail(TULLE_ERR_ARG, "%d maps do not fit one picture; %d do", panels, PANELS_MOST);
    int columns = panels < 4 ? panels : (panels + 1) / 2;
    struct panels all = {.p = p, .rows = (panels + columns - 1) / columns, .columns = columns, .shown = shown};
    style_label(chart, "work of each PE", label);
    style_begin(chart, p, label, 0);
    style_map(p, shown, "work, 1 = mean");
    fprintf(p->script, "unset grid\nset xlabel 'grid column'\nset ylabel 'grid row'\nset multiplot layout %d,%d title ",
        all.rows, columns);
    style_title(chart, p, label);
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        double mean = mean_of(m, m->total, &most);
        snprintf(title, sizeof title, "%s: max / mean %.2f", *m->alg ? m->alg : "end to end", most / mean);
        put_panel(&all, m, m->total, mean, title);
        if (!m->stage) continue;
        mean = mean_of(m, m->stage, &most);
        snprintf(title, sizeof title, "the worst stage: max / mean %.2f", most / mean);
        put_panel(&all, m, m->stage, mean, title);
    }
    fprintf(p->script, "unset multiplot\n");
    return TULLE_OK;
}

/* ---- timeline ---- */

/*
 * Orders the rows of a PE's threads and copiers after its own: their numbers are larger by
 * multiples of 2^20.
 */
static int by_pe(const void *x, const void *y)
{
    enum { LANES = 1 << 20 };
    double a = ((const struct row *)x)->id, b = ((const struct row *)y)->id;
    int64_t lane = (int64_t)a / LANES - (int64_t)b / LANES, pe = (int64_t)a % LANES - (int64_t)b % LANES;
    return pe ? (pe > 0) - (pe < 0) : (lane > 0) - (lane < 0);
}

static int by_time(const void *x, const void *y)
{
    const struct mark *a = x, *b = y;
    if (a->row != b->row) return a->row - b->row;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->to < b->to) - (a->to > b->to);
}

/* Sorts rows, and spans by row and time; computes the nesting depth of each span. */
static tulle_status arrange_spans(const struct chart *chart)
{
    struct row *old = malloc((size_t)chart->rows * sizeof *old);
    double end[DEPTHS];
    if (!old) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    memcpy(old, chart->row, (size_t)chart->rows * sizeof *old);
    qsort(chart->row, (size_t)chart->rows, sizeof *chart->row, by_pe);
    for (int i = 0; i < chart->count; i++) {
        int r = 0;
        while (chart->row[r].id != old[chart->mark[i].row].id) r++;
        chart->mark[i].row = r;
    }
    free(old);
    qsort(chart->mark, (size_t)chart->count, sizeof *chart->mark, by_time);
    for (int i = 0, open = 0; i < chart->count; i++) {
        struct mark *m = &chart->mark[i];
        if (!i || m->row != m[-1].row) open = 0;
        /* spans that have ended, or end within this one, do not contain it */
        while (open && end[open - 1] < m->to - 1e-9) open--;
        while (open && end[open - 1] <= m->from) open--;
        m->depth = open;
        if (open < DEPTHS - 1) end[open++] = m->to;
    }
    return TULLE_OK;
}

/* A kind of spans, and their total time. */
struct kind {
    const char *name;
    double time;
    int depths; /* bits: depths at which it occurs */
};

static int by_total(const void *x, const void *y)
{
    const struct kind *a = x, *b = y;
    return (a->time < b->time) - (a->time > b->time);
}

/* Sorts kinds by total time: the largest get the most distinct colours. */
static int list_kinds(const struct chart *chart, struct kind *kind)
{
    int count = 0;
    for (int i = 0; i < chart->count; i++) {
        int n = 0;
        while (n < count && strcmp(kind[n].name, chart->mark[i].alg) != 0) n++;
        if (n == KINDS_MOST) continue;
        if (n == count) kind[count++] = (struct kind){.name = chart->mark[i].alg};
        kind[n].time += chart->mark[i].to - chart->mark[i].from;
        kind[n].depths |= 1 << chart->mark[i].depth;
    }
    qsort(kind, (size_t)count, sizeof *kind, by_total);
    return count;
}

static void put_spans(const struct chart *chart, const struct picture *p, const struct kind *kind, int n, int depth)
{
    double half = 0.42 - 0.1 * depth;
    fprintf(p->script, "$spans%d_%d << EOD\n", depth, n);
    for (int i = 0; i < chart->count; i++) {
        const struct mark *m = &chart->mark[i];
        if (m->depth == depth && strcmp(m->alg, kind->name) == 0)
            fprintf(
                p->script, "%.6f %d %.6f %.6f %g %g\n", m->from, m->row, m->from, m->to, m->row - half, m->row + half);
    }
    fprintf(p->script, "EOD\n");
}

void chart_fit_rows(const struct chart *chart, int *width, int *height)
{
    int wanted = 130 + 22 * chart->rows;
    (void)width;
    if (wanted > 2400) wanted = 2400;
    if (wanted > *height) *height = wanted;
}

/* Draws spans in their row; nested ones in a narrower box, later. */
tulle_status chart_draw_timeline(const struct chart *chart, const struct picture *p)
{
    struct kind kind[KINDS_MOST];
    const char *comma = "plot ";
    char colour[8], label[NAME];
    int step = (chart->rows + ROWS_NAMED - 1) / ROWS_NAMED;
    tulle_status status = arrange_spans(chart);
    if (status != TULLE_OK) return status;
    int kinds = list_kinds(chart, kind);
    style_label(chart, "what each PE does", label);
    style_begin(chart, p, label, 0);
    fprintf(p->script,
        "set style fill solid 1 noborder\nset xlabel 'milliseconds'\nset yrange [%g:-0.6]\n"
        "set key outside right top\nunset grid\nset grid x\nset ytics (",
        chart->rows - 0.4);
    for (int r = 0; r < chart->rows; r += step) {
        fprintf(p->script, "%s", r ? "," : "");
        picture_text(p, chart->row[r].name);
        fprintf(p->script, " %d", r);
    }
    fprintf(p->script, ") noenhanced\n");
    for (int d = 0; d < DEPTHS; d++)
        for (int n = 0; n < kinds; n++)
            if (kind[n].depths & 1 << d) put_spans(chart, p, &kind[n], n, d);
    for (int d = 0; d < DEPTHS; d++)
        for (int n = 0; n < kinds; n++) {
            if (!(kind[n].depths & 1 << d)) continue;
            fprintf(p->script, "%s$spans%d_%d using 1:2:3:4:5:6 with boxxyerror lc rgb '%s' notitle", comma, d, n,
                style_colour(n + 1, colour));
            comma = ", \\\n     ";
        }
    for (int n = 0; n < kinds; n++) { /* the key, in that order */
        fprintf(p->script, "%sNaN with boxes lc rgb '%s' title ", comma, style_colour(n + 1, colour));
        picture_text(p, kind[n].name);
        fprintf(p->script, " noenhanced");
    }
    fputc('\n', p->script);
    return TULLE_OK;
}
