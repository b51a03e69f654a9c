/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines into charts. */
#include <stdlib.h>
#include <string.h>

#include "plot/chart.h"

enum { MAP_MOST = 4096, PHASE_NAME = 48 };

static tulle_status append(struct chart *chart, const struct mark *mark)
{
    if (chart->count == chart->capacity) {
        int capacity = chart->capacity ? 2 * chart->capacity : 64;
        struct mark *more = realloc(chart->mark, (size_t)capacity * sizeof *more);
        if (!more) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for %d lines", capacity);
        chart->mark = more;
        chart->capacity = capacity;
    }
    chart->mark[chart->count++] = *mark;
    return TULLE_OK;
}

void chart_fini(struct chart *chart)
{
    for (int i = 0; i < chart->count; i++) {
        free(chart->mark[i].total);
        free(chart->mark[i].stage);
    }
    free(chart->mark);
    free(chart->row);
}

static tulle_status copy_text(const struct json_line *line, const char *path, char *to, size_t capacity)
{
    const char *text;
    tulle_status status = json_need_text(line, path, &text);
    if (status == TULLE_OK) snprintf(to, capacity, "%.*s", (int)capacity - 1, text);
    return status;
}

static tulle_status positive(const struct json_line *line, const char *path, double *number)
{
    tulle_status status = json_need_number(line, path, number);
    if (status == TULLE_OK && !(*number > 0))
        status =
            tulle_fail(TULLE_ERR_FORMAT, "%s:%d: '%s' is %g, not positive", line->file, line->number, path, *number);
    return status;
}

/* Fields that lines of earlier versions lack. */
static void read_machine(const struct json_line *line, struct mark *m)
{
    char name[128];
    if (json_has(line, "type")) (void)copy_text(line, "type", m->type, sizeof m->type);
    if (!json_has(line, "machine") || copy_text(line, "machine", name, sizeof name) != TULLE_OK) return;
    const char *time = "";
    if (json_has(line, "time")) (void)json_need_text(line, "time", &time);
    snprintf(m->machine, sizeof m->machine, "%s%s",
        m->predicted                   ? "model of "
        : strcmp(time, "virtual") == 0 ? "simulation "
                                       : "on ",
        name);
}

/* The fastest and slowest of all runs, if there are several. */
static tulle_status read_repeats(const struct json_line *line, const char *path, struct mark *m)
{
    char element[PHASE_NAME];
    double seconds;
    m->fast = m->slow = m->seconds;
    for (m->repeats = 0;; m->repeats++) {
        snprintf(element, sizeof element, "%s.%d", path, m->repeats);
        if (!json_has(line, element)) break;
        tulle_status status = positive(line, element, &seconds);
        if (status != TULLE_OK) return status;
        if (seconds < m->fast) m->fast = seconds;
        if (seconds > m->slow) m->slow = seconds;
    }
    if (m->repeats < 2) m->fast = m->slow = m->seconds;
    return TULLE_OK;
}

static tulle_status read_run(const struct json_line *line, struct mark *m)
{
    static const char *const phases[CHART_PHASES] = {"compute", "communicate", "accumulate", "wait"};
    char path[PHASE_NAME];
    m->predicted = json_is_true(line, "predicted");
    tulle_status status = copy_text(line, "op", m->op, sizeof m->op);
    int solve = strcmp(m->op, "trisolve") == 0; /* has methods, and only two of the phases */
    if (status == TULLE_OK) status = copy_text(line, solve ? "method" : "alg", m->alg, sizeof m->alg);
    if (status == TULLE_OK) status = copy_text(line, "operand", m->operand, sizeof m->operand);
    if (status == TULLE_OK) status = positive(line, "pes", &m->pes);
    if (status == TULLE_OK) status = positive(line, "seconds", &m->seconds);
    if (status == TULLE_OK) status = read_repeats(line, "seconds_all", m);
    read_machine(line, m);
    for (int p = 0; p < CHART_PHASES && status == TULLE_OK; p++) {
        if (solve && (p == 1 || p == 2)) continue;
        snprintf(path, sizeof path, "phases.%s.mean", phases[p]);
        status = json_need_number(line, path, &m->phase[p]);
    }
    return status;
}

tulle_status chart_add_run(void *chart, const struct json_line *line)
{
    struct mark m = {.pes = 0};
    tulle_status status = read_run(line, &m);
    return status == TULLE_OK ? append(chart, &m) : status;
}

tulle_status chart_add_tasks(void *chart, const struct json_line *line)
{
    struct mark m = {.pes = 0};
    tulle_status status = read_run(line, &m);
    if (status == TULLE_OK) status = positive(line, "tasks", &m.pes);
    return status == TULLE_OK ? append(chart, &m) : status;
}

tulle_status chart_add_roof(void *chart, const struct json_line *line)
{
    struct mark m = {.pes = 0};
    double flops = 0, bytes = 0;
    tulle_status status = read_run(line, &m);
    if (status == TULLE_OK) status = positive(line, "flops", &flops);
    if (status == TULLE_OK) status = json_need_number(line, "bytes_moved", &bytes);
    if (status == TULLE_OK) status = positive(line, "roof.peak", &m.peak);
    if (status == TULLE_OK) status = json_need_number(line, "roof.network", &m.network);
    if (status == TULLE_OK) status = positive(line, "roof.local_rate", &m.local);
    if (status != TULLE_OK || bytes <= 0) return status;
    m.x = flops / bytes;
    m.rate = flops / m.seconds / m.pes;
    m.fast = flops / m.fast / m.pes;
    m.slow = flops / m.slow / m.pes;
    return append(chart, &m);
}

/* Copies n numbers. */
static tulle_status read_map(const struct json_line *line, const char *path, int n, double **map)
{
    *map = malloc((size_t)n * sizeof **map);
    if (!*map) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a map of %d PEs", n);
    return json_need_numbers(line, path, n, *map);
}

tulle_status chart_add_map(void *chart, const struct json_line *line)
{
    struct mark m = {.pes = 0};
    double grid[2] = {0, 0};
    tulle_status status = json_need_numbers(line, "grid", 2, grid);
    if (status == TULLE_OK && !(grid[0] >= 1 && grid[1] >= 1 && grid[0] * grid[1] <= MAP_MOST))
        status = tulle_fail(TULLE_ERR_FORMAT, "%s:%d: a map of %g x %g PEs; %d are possible", line->file, line->number,
            grid[0], grid[1], MAP_MOST);
    if (status != TULLE_OK) return status;
    m.rows = (int)grid[0];
    m.cols = (int)grid[1];
    m.predicted = json_is_true(line, "predicted");
    read_machine(line, &m);
    if (json_has(line, "op")) status = copy_text(line, "op", m.op, sizeof m.op);
    if (json_has(line, "alg")) status = copy_text(line, "alg", m.alg, sizeof m.alg);
    if (status == TULLE_OK) status = copy_text(line, "operand", m.operand, sizeof m.operand);
    if (status == TULLE_OK) status = read_map(line, "work_per_pe", m.rows * m.cols, &m.total);
    if (status == TULLE_OK && json_has(line, "stage_work_per_pe.0"))
        status = read_map(line, "stage_work_per_pe", m.rows * m.cols, &m.stage);
    if (status == TULLE_OK) status = append(chart, &m);
    if (status != TULLE_OK) {
        free(m.total);
        free(m.stage);
    }
    return status;
}

/* The row with this number, a new one if necessary; -1: out of memory. */
static int find_row(struct chart *chart, double id)
{
    for (int r = chart->rows - 1; r >= 0; r--) /* consecutive spans often share a row */
        if (chart->row[r].id == id) return r;
    if (chart->rows == chart->rows_capacity) {
        int capacity = chart->rows_capacity ? 2 * chart->rows_capacity : 16;
        struct row *more = realloc(chart->row, (size_t)capacity * sizeof *more);
        if (!more) return -1;
        chart->row = more;
        chart->rows_capacity = capacity;
    }
    chart->row[chart->rows] = (struct row){.id = id};
    snprintf(chart->row[chart->rows].name, sizeof chart->row->name, "PE %g", id);
    return chart->rows++;
}

tulle_status chart_add_span(void *arg, const struct json_line *line)
{
    struct chart *chart = arg;
    struct mark m = {.pes = 0};
    const char *what = "";
    double duration = 0, id = 0;
    tulle_status status = json_need_text(line, "ph", &what);
    if (status != TULLE_OK || (strcmp(what, "X") != 0 && strcmp(what, "M") != 0)) return status;
    status = json_need_number(line, "tid", &id);
    m.row = status == TULLE_OK ? find_row(chart, id) : 0;
    if (m.row < 0) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for rows of a timeline");
    if (strcmp(what, "M") == 0) /* the name of a row */
        return status == TULLE_OK ? copy_text(line, "args.name", chart->row[m.row].name, sizeof chart->row[m.row].name)
                                  : status;
    if (status == TULLE_OK) status = copy_text(line, "name", m.alg, sizeof m.alg);
    if (status == TULLE_OK) status = json_need_number(line, "ts", &m.from);
    if (status == TULLE_OK) status = json_need_number(line, "dur", &duration);
    m.from *= 1e-3;
    m.to = m.from + duration * 1e-3;
    return status == TULLE_OK ? append(chart, &m) : status;
}

tulle_status chart_add_step(void *arg, const struct json_line *line)
{
    struct chart *chart = arg;
    struct mark m = {.pes = 0};
    double column = 0;
    tulle_status status;
    if (json_has(line, "steps")) { /* the head */
        status = copy_text(line, "operand", m.operand, sizeof m.operand);
        if (status == TULLE_OK) status = copy_text(line, "method", m.op, sizeof m.op);
        if (status == TULLE_OK) status = copy_text(line, "precond", m.alg, sizeof m.alg);
        read_machine(line, &m);
        chart->about = m;
        return status;
    }
    status = json_need_number(line, "column", &column);
    if (status == TULLE_OK) status = json_need_number(line, "iteration", &m.iteration);
    /* a residual that is not finite cannot be drawn */
    if (status != TULLE_OK || !json_has(line, "relative")) return status;
    status = json_need_number(line, "relative", &m.residual);
    if (status == TULLE_OK) status = json_need_number(line, "width", &m.width);
    snprintf(m.alg, sizeof m.alg, "column %.0f", column);
    return status == TULLE_OK ? append(chart, &m) : status;
}

tulle_status chart_add_slabs(void *chart, const struct json_line *line)
{
    struct mark m = {.pes = 0};
    double flops = 0;
    if (json_has(line, "left_out")) return TULLE_OK;
    tulle_status status = copy_text(line, "operand", m.operand, sizeof m.operand);
    if (status == TULLE_OK) status = positive(line, "slabs", &m.x);
    if (status == TULLE_OK) status = positive(line, "loop.max", &m.seconds);
    if (status == TULLE_OK) status = positive(line, "flops", &flops);
    if (status == TULLE_OK) status = read_repeats(line, "loop_all", &m);
    read_machine(line, &m);
    m.rate = flops / m.seconds;
    m.fast = flops / m.fast;
    m.slow = flops / m.slow;
    snprintf(m.op, sizeof m.op, "stream");
    snprintf(m.alg, sizeof m.alg, "%s, %s%s",
        json_is_true(line, "separate") ? "column by column" : "all columns at once",
        json_is_true(line, "hide") ? "hidden" : "not hidden", json_is_true(line, "chosen") ? ", auto" : "");
    return status == TULLE_OK ? append(chart, &m) : status;
}
