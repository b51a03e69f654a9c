/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a team with a progress line on stderr, which is rewritten in place. */
#include <string.h>
#include <unistd.h>

#include "verb.h"

static const double patience = 1; /* seconds: shorter work is not shown */

void line_clear(struct line *line)
{
    if (line->length) fprintf(stderr, "\r%*s\r", line->length, "");
    line->length = 0;
}

void line_show(struct line *line, const char *text)
{
    int length = (int)strlen(text);
    fprintf(stderr, "\r%-*s", line->length, text);
    if (length > line->length) line->length = length;
}

int line_wanted(const struct options *options)
{
    return isatty(STDERR_FILENO) && !options_flag(options, "quiet");
}

/* Formats as in "812 MB" or "3.41 M entries". */
static void quantity(char *text, size_t size, double x, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T"};
    int p = 0;
    for (; x >= 999.5 && p < 4; p++) x /= 1000;
    snprintf(text, size, "%.3g %s%s%s", x, prefix[p], p && strcmp(unit, "B") ? " " : "", unit);
}

static void draw(void *arg, const tulle_progress *p)
{
    struct line *line = arg;
    char text[80], total[24], rate[24];
    if (p->done == p->total) line_clear(line);
    if (p->done == p->total || p->done == 0 || p->seconds < patience) return;
    double speed = (double)p->done / p->seconds;
    quantity(total, sizeof total, (double)p->total, p->unit);
    quantity(rate, sizeof rate, speed, p->unit);
    snprintf(text, sizeof text, "%s: %.0f %% of %s, %s/s, %.0f s left", p->what,
        100 * (double)p->done / (double)p->total, total, rate, (double)(p->total - p->done) / speed);
    line_show(line, text);
}

tulle_status run_team(const struct options *options, tulle_team *team, tulle_body body, void *arg)
{
    struct line line = {0};
    if (line_wanted(options)) tulle_team_watch(team, draw, &line);
    tulle_status status = tulle_team_run(team, body, arg);
    line_clear(&line);
    tulle_team_watch(team, NULL, NULL);
    return status;
}
