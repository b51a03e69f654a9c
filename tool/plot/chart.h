/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of pictures: what they read from a line, and how gnuplot draws it. */
#ifndef TULLE_TOOL_CHART_H
#define TULLE_TOOL_CHART_H

#include "plot/picture.h"
#include "report/json.h"

enum { CHART_PHASES = 4 };

/* The content of one line. */
struct mark {
    char alg[64], op[16], operand[128]; /* or, in alg, the name of a span */
    char type[8], machine[160];         /* empty: not in the line */
    int predicted, repeats;             /* repeats: number of runs behind `fast` and `slow`; 0: unknown */
    double pes, seconds, phase[CHART_PHASES];
    double fast, slow;                    /* seconds of the fastest and slowest run, as seconds are */
    double x, rate, peak, network, local; /* of a roofline; x and rate of a stream */
    double from, to;                      /* of a span: milliseconds */
    int row, depth;                       /* of a span: its row in the chart; number of spans around it */
    double iteration, residual, width;    /* of a solve; residual relative to ||b|| */
    int rows, cols;                       /* of a map */
    double *total, *stage;                /* [rows * cols]; stage may be NULL */
};

/* A row of a timeline: a thread of a PE. */
struct row {
    double id;
    char name[64];
};

struct chart {
    const char *title; /* NULL: none */
    int count, capacity;
    struct mark *mark;
    int rows, rows_capacity;
    struct row *row;
    struct mark about; /* common to all lines: the head of a history */
};

/* Callbacks of json_each_line, whose arg is the chart. */
tulle_status chart_add_run(void *chart, const struct json_line *line);
tulle_status chart_add_tasks(void *chart, const struct json_line *line); /* pes: tasks of a PE */
tulle_status chart_add_roof(void *chart, const struct json_line *line);
tulle_status chart_add_map(void *chart, const struct json_line *line);
tulle_status chart_add_span(void *chart, const struct json_line *line);
tulle_status chart_add_step(void *chart, const struct json_line *line);
tulle_status chart_add_slabs(void *chart, const struct json_line *line); /* x: slabs */

tulle_status chart_draw_scaling(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_tasks(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_roofline(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_breakdown(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_imbalance(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_timeline(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_slabs(const struct chart *chart, const struct picture *picture);
tulle_status chart_draw_convergence(const struct chart *chart, const struct picture *picture);

/* Widens or heightens a picture with much content. */
void chart_fit_bars(const struct chart *chart, int *width, int *height);
void chart_fit_rows(const struct chart *chart, int *width, int *height);

void chart_fini(struct chart *chart);

#endif
