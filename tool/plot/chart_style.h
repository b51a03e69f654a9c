/* SPDX-License-Identifier: Apache-2.0 */
/* What all pictures share: colours, titles, how lines are told apart. */
#ifndef TULLE_TOOL_CHART_STYLE_H
#define TULLE_TOOL_CHART_STYLE_H

#include "plot/chart.h"

enum { NAME = 256, STYLES = 12 };

/*
 * Lines and bars, from here on `lt 1` to STYLES: colours that people tell apart who do not see red or green (Okabe and
 * Ito, "Color universal design", 2008), each line with a marker and a dash pattern of its own. Above the picture: the
 * title that was asked for or `what`, then what the marks have in common. bars: the picture has error bars.
 */
void style_begin(const struct chart *chart, const struct picture *p, const char *what, int bars);

/* The text of a title, as style_begin sets it. */
void style_title(const struct chart *chart, const struct picture *p, const char *what);

/* A colour of that palette, from 1 on, as gnuplot writes it; after the last one lighter ones, then darker ones. */
const char *style_colour(int number, char text[8]);

/* For maps: viridis, which is as even in grey, from 0 to `most`. */
void style_map(const struct picture *p, double most, const char *what);

/* "what: operation, operand" where all marks agree, or how many they are of. */
void style_label(const struct chart *chart, const char *what, char *label);

/* Numbers on a logarithmic axis ('x' or 'y') of which a range shows too few powers of ten. */
void style_log_ticks(const struct picture *p, char axis, double least, double most);

/* What tells a line from the others: its algorithm, and of operation and operand those that differ in the picture. */
struct naming {
    int ops, operands;
};
struct naming naming_of(const struct chart *chart);
void name_of(struct naming n, const struct mark *m, char *name);

/* Marks of one name as a block of data, names in the order in which they come first. Returns how many blocks. */
int put_series(
    const struct chart *chart, const struct picture *p, void (*put)(const struct mark *, FILE *), char (**names)[NAME]);

/*
 * A line each, `how` with a line type of its own; frees names. first: this begins the plot. bars: from columns 3 and 4,
 * where repetitions differ.
 */
tulle_status plot_series(const struct picture *p, int count, char (*names)[NAME], const char *how, int first, int bars);

/* Whether some mark is of several runs. */
int has_repeats(const struct chart *chart);

#endif
