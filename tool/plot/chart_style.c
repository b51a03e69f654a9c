/* SPDX-License-Identifier: Apache-2.0 */
#include "plot/chart_style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito's palette without yellow, which is pale on white; black comes last. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
enum { COLOURS = sizeof colours / sizeof *colours, DASHES = 5, OPERAND_SHOWN = 44, MACHINES_NAMED = 3 };

const char *style_colour(int number, char text[8])
{
    const char *colour = colours[(number - 1) % COLOURS];
    int round = (number - 1) / COLOURS % 3;
    unsigned whole = (unsigned)strtoul(colour + 1, NULL, 16), mixed = 0;
    if (!round) return colour;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        unsigned part = whole >> shift & 255;
        mixed |= (round == 1 ? (part + 2 * 255) / 3 : part / 2) << shift;
    }
    snprintf(text, 8, "#%06X", mixed & 0xFFFFFF);
    return text;
}

/* Filled ones first, then open ones and crosses. */
static const int markers[STYLES] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12, 1, 2};

/* Keeps the end of a long name: it says more than its beginning, a folder. */
static void shorten(const char *text, char *to, size_t capacity)
{
    size_t n = strlen(text), from = n > OPERAND_SHOWN ? n - OPERAND_SHOWN + 3 : 0;
    while (from && ((unsigned char)text[from] & 0xC0) == 0x80) from++; /* inside a character */
    snprintf(to, capacity, "%s%s", from ? "..." : "", text + from);
}

void style_label(const struct chart *chart, const char *what, char *label)
{
    const struct mark *about = *chart->about.operand ? &chart->about : &chart->mark[0];
    struct naming n = naming_of(chart);
    char operand[NAME];
    int operands = 1;
    for (int i = 1; i < chart->count && n.operands; i++) {
        int before = 0;
        while (before < i && strcmp(chart->mark[before].operand, chart->mark[i].operand) != 0) before++;
        operands += before == i;
    }
    shorten(about->operand, operand, sizeof operand);
    if (n.operands) snprintf(operand, sizeof operand, "%d inputs", operands);
    const char *op = n.ops ? "" : about->op;
    snprintf(label, NAME, "%s: %s%s%.100s", what, op, *op ? " " : "", operand);
}

static void add_word(char *text, const char *word)
{
    if (!*word) return;
    if (*text) strncat(text, ", ", NAME - 1 - strlen(text));
    strncat(text, word, NAME - 1 - strlen(text));
}

/* Describes the types and machines of all marks, and the meaning of error bars. */
static void describe(const struct chart *chart, char *text, int bars)
{
    const struct mark *about = *chart->about.operand ? &chart->about : NULL;
    char word[NAME];
    int machines = 0, types = 0, least = 0, most = 0;
    *text = '\0';
    for (int i = 0; i < (about ? 1 : chart->count); i++) {
        const struct mark *m = about ? about : &chart->mark[i];
        int before = 0;
        while (before < i && strcmp(chart->mark[before].type, m->type) != 0) before++;
        if (before == i && *m->type && types++ < TULLE_TYPE_COUNT) add_word(text, m->type);
    }
    for (int i = 0; i < (about ? 1 : chart->count); i++) {
        const struct mark *m = about ? about : &chart->mark[i];
        int before = 0;
        while (before < i && strcmp(chart->mark[before].machine, m->machine) != 0) before++;
        if (before == i && *m->machine && machines++ < MACHINES_NAMED) {
            shorten(m->machine, word, sizeof word);
            add_word(text, word);
        }
        if (m->repeats > most) most = m->repeats;
        if (m->repeats > 1 && (!least || m->repeats < least)) least = m->repeats;
    }
    if (machines > MACHINES_NAMED) add_word(text, "...");
    if (most < 2 || !bars) return;
    if (least == most)
        snprintf(word, sizeof word, "bars: the fastest and slowest of %d runs", most);
    else
        snprintf(word, sizeof word, "bars: the fastest and slowest of %d to %d runs", least, most);
    add_word(text, word);
}

static void put_title(const struct chart *chart, const struct picture *p, const char *what, int bars)
{
    char text[NAME];
    picture_text(p, chart->title ? chart->title : what);
    describe(chart, text, bars);
    if (*text) {
        fprintf(p->script, " .\"\\n\". ");
        picture_text(p, text);
    }
    fprintf(p->script, " noenhanced\n");
}

void style_title(const struct chart *chart, const struct picture *p, const char *what)
{
    put_title(chart, p, what, 0);
}

void style_begin(const struct chart *chart, const struct picture *p, const char *what, int bars)
{
    for (int s = 0; s < STYLES; s++)
        fprintf(p->script, "set linetype %d lc rgb '%s' dt %d lw 1.6 pt %d ps 0.8\n", s + 1, colours[s % COLOURS],
            1 + s % DASHES, markers[s]);
    fprintf(p->script, "set linetype cycle %d\nset title ", STYLES);
    put_title(chart, p, what, bars);
}

void style_map(const struct picture *p, double most, const char *what)
{
    static const char *const viridis[] = {
        "#440154", "#472C7A", "#3B518B", "#2C718E", "#21908D", "#27AD81", "#5CC863", "#AADC32", "#FDE725"};
    enum { STEPS = sizeof viridis / sizeof *viridis };
    fprintf(p->script, "set palette defined (");
    for (int i = 0; i < STEPS; i++) fprintf(p->script, "%s%d '%s'", i ? ", " : "", i, viridis[i]);
    fprintf(p->script, ")\nset cbrange [0:%g]\nset cblabel '%s'\n", most > 0 ? most : 1, what);
}

void style_log_ticks(const struct picture *p, char axis, double least, double most)
{
    static const double fine[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8}, coarse[] = {1, 2, 5};
    if (!(least > 0) || !(most > least) || most / least > 100) return; /* powers of ten suffice */
    const double *step = most / least < 5 ? fine : coarse;
    int steps = most / least < 5 ? (int)(sizeof fine / sizeof *fine) : (int)(sizeof coarse / sizeof *coarse);
    const char *comma = "";
    fprintf(p->script, "set %ctics (", axis);
    for (double power = pow(10, floor(log10(least))); power <= most; power *= 10)
        for (int i = 0; i < steps; i++)
            if (step[i] * power >= least && step[i] * power <= most) {
                fprintf(p->script, "%s%.6g", comma, step[i] * power);
                comma = ",";
            }
    fprintf(p->script, ")\n");
}

struct naming naming_of(const struct chart *chart)
{
    struct naming n = {0, 0};
    for (int i = 1; i < chart->count; i++) {
        n.ops |= strcmp(chart->mark[i].op, chart->mark[0].op) != 0;
        n.operands |= strcmp(chart->mark[i].operand, chart->mark[0].operand) != 0;
    }
    return n;
}

void name_of(struct naming n, const struct mark *m, char *name)
{
    snprintf(name, NAME, "%s%s%s%s%s%s", n.ops ? m->op : "", n.ops ? " " : "", n.operands ? m->operand : "",
        n.operands ? " " : "", m->alg, m->predicted ? " (model)" : "");
}

/* Beside the picture; below it for long names, and none for many. */
static void put_key(const struct picture *p, int count, char (*names)[NAME])
{
    enum { LONG = 30, MANY = 24 };
    size_t longest = 0;
    for (int s = 0; s < count; s++)
        if (strlen(names[s]) > longest) longest = strlen(names[s]);
    if (count > MANY)
        fprintf(p->script, "unset key\n");
    else if (longest > LONG)
        fprintf(p->script, "set key below left Left reverse maxcols %d\n", longest > 2 * LONG ? 1 : 2);
    else
        fprintf(p->script, "set key outside right top Left reverse\n");
}

int put_series(
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
    put_key(p, count, *names);
    for (int s = 0; s < count; s++) {
        fprintf(p->script, "$series%d << EOD\n", s);
        for (int i = 0; i < chart->count; i++)
            if (series[i] == s) put(&chart->mark[i], p->script);
        fprintf(p->script, "EOD\n");
    }
    free(series);
    return count;
}

int has_repeats(const struct chart *chart)
{
    for (int i = 0; i < chart->count; i++)
        if (chart->mark[i].repeats > 1) return 1;
    return 0;
}

tulle_status plot_series(const struct picture *p, int count, char (*names)[NAME], const char *how, int first, int bars)
{
    const char *begin = first ? "plot " : ", \\\n     ";
    if (!count) return free(names), tulle_fail(TULLE_ERR_MEMORY, "out of memory for a picture");
    for (int s = 0; s < count && bars; s++) { /* first, so that markers are drawn on top */
        fprintf(p->script, "%s$series%d using 1:3:(0):($4-$3) with vectors nohead lc rgb '%s' dt solid lw 1.2 notitle",
            begin, s, colours[s % STYLES % COLOURS]);
        begin = ", \\\n     ";
    }
    for (int s = 0; s < count; s++) {
        fprintf(p->script, "%s$series%d %s lt %d title ", begin, s, how, s % STYLES + 1);
        picture_text(p, names[s]);
        fprintf(p->script, " noenhanced");
        begin = ", \\\n     ";
    }
    fputc('\n', p->script);
    free(names);
    return TULLE_OK;
}
