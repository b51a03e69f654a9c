/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all pictures: colours, titles, line styles. */
#ifndef TULLE_TOOL_CHART_STYLE_H
#define TULLE_TOOL_CHART_STYLE_H

#include "plot/chart.h"

enum { NAME = 256, STYLES = 12 };

/*
 * Defines lines and bars `lt 1` to STYLES: colours for people who do not distinguish red and green
 * (Okabe and Ito, "Color universal design", 2008), each line with its own marker and dash pattern.
 * Sets the title: the one requested or `what`, then what the marks have in common. bars: the
 * picture has error bars.
 */
void style_begin(const struct chart *chart, const struct picture *p, const char *what, int bars);

/* The text of a title, as style_begin sets it. */
void style_title(const struct chart *chart, const struct picture *p, const char *what);

/*
 * A colour of the palette, from 1 on, as gnuplot writes it; after the last one lighter variants,
 * then darker ones.
 */
const char *style_colour(int number, char text[8]);

/* For maps: viridis, which is monotone in grey, from 0 to `most`. */
void style_map(const struct picture *p, double most, const char *what);

/* "what: operation, operand" where all marks agree, else their number. */
void style_label(const struct chart *chart, const char *what, char *label);

/* Ticks for a logarithmic axis ('x' or 'y') with too few powers of ten in its range. */
void style_log_ticks(const struct picture *p, char axis, double least, double most);

/*
 * Differences of a line from the others: its algorithm, and operation and operand if they
 * differ within the picture.
 */
struct naming {
    int ops, operands;
};
struct naming naming_of(const struct chart *chart);
void name_of(struct naming n, const struct mark *m, char *name);

/*
 * Writes marks of one name as a data block, names in the order of first occurrence. Returns the
 * number of blocks.
 */
int put_series(
    const struct chart *chart, const struct picture *p, void (*put)(const struct mark *, FILE *), char (**names)[NAME]);

/*
 * Plots a line for each, `how` with a line type of its own; frees names. first: starts the plot.
 * bars: from columns 3 and 4, where repetitions differ.
 */
tulle_status plot_series(const struct picture *p, int count, char (*names)[NAME], const char *how, int first, int bars);

/* True if some mark represents several runs. */
int has_repeats(const struct chart *chart);

#endif
