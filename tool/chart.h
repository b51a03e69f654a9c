/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of pictures: what they take from a line, and how gnuplot draws it. */
#ifndef TULLE_TOOL_CHART_H
#define TULLE_TOOL_CHART_H

#include "json.h"
#include "picture.h"

enum { CHART_PHASES = 4 };

/* One line. */
struct mark {
    char alg[64], op[16], operand[128]; /* or the name of a span, in alg */
    int predicted;
    double pes, seconds, phase[CHART_PHASES];
    double x, rate, peak, network, local; /* of a roofline; x and rate of a stream */
    double from, to, row;                 /* of a span: milliseconds, PE */
    double iteration, residual, width;    /* of a solve; residual: relative to ||b|| */
    int rows, cols;                       /* of a map */
    double *total, *stage;                /* [rows * cols]; stage may be NULL */
};

struct chart {
    const char *title; /* NULL: none given */
    int count, room;
    struct mark *mark;
};

/* For json_each_line, whose arg is the chart. */
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

void chart_fini(struct chart *chart);

#endif
