/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of a value beyond the width of a block are all found: copies SPEC PES SEED CASES [FIRST]. Drawn are diagonals
 * of random values with up to 7 copies of the best one, exact or as close as rounding, at an end or in magnitude, with
 * blocks of 1 to 4, counts, bases, both types, by a filter or without one. The report's chance that one was missed is
 * small, unless the look for it took twice as many passes as came before it. In some, all others are equal, and the best one
 * so near that the product with a random direction shows it beside rounding only: it is found, or the chance says that
 * it may not be. SEED new: another one in each run.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/tulle.h>

#include "base/error.h"
#include "base/random.h"
#include "body.h"
#include "drawn.h"
#include "pairs_of_array.h"
#include "tap.h"

enum { MOST = 600 };

struct system {
    int n, copies, count, block, basis;
    bool filtered, hidden;
    tulle_type type;
    tulle_spectrum_end end;
    double diagonal[MOST], truth[MOST]; /* truth: in the order of `end` */
};

static double unit(uint64_t seed, int64_t i)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, 7));
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double epsilon_of(const struct system *s)
{
    return s->type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->n = 100 + (int)(unit(seed, 0) * (MOST - 100));
    s->copies = 1 + (int)(unit(seed, 1) * 7);
    s->block = 1 + (int)(unit(seed, 2) * 4);
    s->count = 1 + (int)(unit(seed, 3) * 9);
    s->basis = unit(seed, 4) < .7 ? 0 : s->count + 4 * s->block + 8;
    s->filtered = unit(seed, 5) < .2;
    s->type = unit(seed, 6) < .5 ? TULLE_F32 : TULLE_F64;
    s->end = unit(seed, 8) < .5 ? TULLE_SPECTRUM_LARGEST : TULLE_SPECTRUM_SMALLEST;
    if (!s->filtered && unit(seed, 9) < .2) s->end = TULLE_SPECTRUM_MAGNITUDE;
    const double rounding = epsilon_of(s), apart = unit(seed, 10) < .3 ? .5 * rounding : 0,
                 above = rounding * (120 + 300 * unit(seed, 12));
    s->hidden = !s->filtered && unit(seed, 11) < .2;
    for (int i = 0; i < s->n; i++) {
        const bool best = i % 50 == 7 && i / 50 < s->copies;
        const double x = s->hidden ? best ? 1 + above : 1 : best ? 1 - apart * i : .999 * unit(seed, 100 + i);
        s->truth[i] = s->type == TULLE_F32 ? (double)(float)x : x;
        s->diagonal[i] = s->end == TULLE_SPECTRUM_SMALLEST ? -s->truth[i] : s->truth[i];
    }
    qsort(s->truth, (size_t)s->n, sizeof *s->truth, descending);
    for (int i = 0; i < s->n && s->end == TULLE_SPECTRUM_SMALLEST; i++) s->truth[i] = -s->truth[i];
}

/* This PE's rows. */
static void describe(const struct system *s, int rank, int npes, tulle_array *a, int64_t *ptr, int *col, void *val)
{
    const int first = s->n * rank / npes, count = s->n * (rank + 1) / npes - first;
    for (int i = 0; i <= count; i++) ptr[i] = i;
    for (int i = 0; i < count; i++) {
        col[i] = first + i;
        if (s->type == TULLE_F32)
            ((float *)val)[i] = (float)s->diagonal[first + i];
        else
            ((double *)val)[i] = s->diagonal[first + i];
    }
    *a = tulle_array_empty(TULLE_STORAGE_CSR, s->n, s->n, sizeof(double));
    a->type = s->type;
    a->first = first, a->count = count;
    a->ptr = ptr, a->ptr_bytes = 8;
    a->ind = col, a->ind_bytes = 4;
    a->val = val, a->nnz = count;
}

/* An empty text if the values are right, and the chance is small. */
static void judge(
    const struct system *s, const double *value, const tulle_spectrum_report *report, char *text, size_t size)
{
    const double off = s->hidden ? 105 * epsilon_of(s) : s->type == TULLE_F32 ? 2.2e-4 : 2.2e-8;
    *text = 0;
    for (int i = 0; i < s->count && !*text; i++)
        if (!(fabs(value[i] - s->truth[i]) <= off) && !(s->hidden && report->missed > 1e-4))
            snprintf(text, size, "value %d is %.17g instead of %.17g", i + 1, value[i], s->truth[i]);
    if (!*text && report->missed > 1e-4 && 2 * report->probes < report->passes)
        snprintf(text, size, "a chance of %.3g after %d of %d passes", report->missed, (int)report->probes,
            (int)report->passes);
}

static tulle_status pairs_of(
    tulle_comm *comm, const struct system *s, const tulle_array *a, double *value, tulle_spectrum_report *report)
{
    const tulle_spectrum_options options = {.size = sizeof options,
        .end = s->end,
        .count = s->count,
        .block = s->block,
        .basis = s->basis,
        .max_passes = 1000000,
        .chebyshev = s->filtered,
        .tolerance = s->hidden ? 1e-30 : 0};
    return pairs_of_array(comm, a, &options, value, NULL, report);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status = TULLE_OK;
    struct system *s = malloc(sizeof *s);
    int64_t *ptr = malloc((MOST + 1) * sizeof *ptr);
    int *col = malloc(MOST * sizeof *col);
    double *val = malloc(MOST * sizeof *val), *value = malloc(MOST * sizeof *value);
    for (int64_t i = run->from; i < run->from + run->cases && status == TULLE_OK; i++) {
        tulle_array a;
        tulle_spectrum_report report = {.passes = 0};
        char text[200];
        draw(s, run->seed, i);
        describe(s, tulle_comm_rank(comm), tulle_comm_size(comm), &a, ptr, col, val);
        status = pairs_of(comm, s, &a, value, &report);
        if (status == TULLE_OK)
            judge(s, value, &report, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", tulle_error_message());
        if (*text)
            status = tulle__fail(TULLE_ERR_CHECK,
                "case %d: %d rows, %d copies, %s, %d of %s, block %d, basis %d%s: %s (%d passes, %d restarts)", (int)i,
                s->n, s->copies, tulle_type_name(s->type), s->count, tulle_spectrum_end_name(s->end), s->block,
                s->basis,
                s->filtered ? ", filtered"
                : s->hidden ? ", hidden"
                            : "",
                text, (int)report.passes, (int)report.restarts);
    }
    free(value);
    free(val);
    free(col);
    free(ptr);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 1, body, "all copies of a value are found", &run);
    return tap_done();
}
