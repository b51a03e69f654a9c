/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many eigenpairs by a Chebyshev filter, of drawn matrices whose values are known: filtered SPEC PES SEED CASES
 * [FIRST]. A matrix is of equal chains, apart from one another, each with the values of a path, times a scale, and a
 * shift: all values are multiple. Or it is diagonal: evenly spaced, in clusters, with values far from the others at the
 * wanted end or at the other one, in levels of many copies, all zero. Drawn are shifts to a negative definite matrix
 * and to one with values of both signs, the end or the largest in magnitude, blocks of 1 to 5, bases, degrees, and the
 * type; counts to n, which is where the filter gives way to the method without it. SEED new: another one in each run.
 */
#include <float.h>
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

enum { MOST = 400, KINDS = 7 };
static const char *const kind_name[KINDS] = {
    "chains", "even", "clusters", "outliers", "others' outliers", "levels", "zero"};

struct system {
    int n, kind, length, count, block, basis, degree;
    double shift, scale;
    tulle_type type;
    tulle_spectrum_end end;
    double truth[MOST]; /* in the order of `end` */
    double diagonal[MOST];
};

static double unit(uint64_t seed, int64_t i)
{
    return tulle__random_unit(tulle__random_at(seed, (uint64_t)i, 7));
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The i-th value of a diagonal, before the scale and the shift; some far ones at the upper end, or the lower. */
static double value_of(const struct system *s, int i)
{
    const double even = (i + .5) / s->n, far = i < 5 ? 3 + i : even;
    switch (s->kind) {
    case 0:
        return 2 - 2 * cos(M_PI * (i % s->length + 1) / (s->length + 1));
    case 2:
        return floor(even * 40) / 40 + 1e-9 * i;
    case 3:
        return s->end == TULLE_SPECTRUM_LARGEST ? far : -far;
    case 4:
        return s->end == TULLE_SPECTRUM_LARGEST ? -far : far;
    case 5:
        return floor(even * 4);
    case 6:
        return 0;
    default:
        return even;
    }
}

/* The largest in magnitude first. */
static int descending_in_magnitude(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x < y) - (x > y);
}

static void sort_truth(struct system *s)
{
    const bool magnitude = s->end == TULLE_SPECTRUM_MAGNITUDE;
    qsort(s->truth, (size_t)s->n, sizeof *s->truth, magnitude ? descending_in_magnitude : ascending);
    for (int i = 0, j = s->n - 1; s->end == TULLE_SPECTRUM_LARGEST && i < j; i++, j--) {
        const double x = s->truth[i];
        s->truth[i] = s->truth[j];
        s->truth[j] = x;
    }
}

static void draw(struct system *s, uint64_t seed, int64_t number)
{
    static const tulle_spectrum_end ends[] = {
        TULLE_SPECTRUM_SMALLEST, TULLE_SPECTRUM_LARGEST, TULLE_SPECTRUM_MAGNITUDE};
    seed = tulle__random_at(seed, (uint64_t)number, 1);
    s->kind = (int)(number % KINDS);
    s->length = 20 + (int)(unit(seed, 0) * 30);
    s->n = s->kind ? 40 + (int)(unit(seed, 1) * (MOST - 40)) : s->length * (1 + (int)(unit(seed, 2) * 7));
    s->type = unit(seed, 3) < .25 ? TULLE_F32 : TULLE_F64;
    s->end = ends[(int)(unit(seed, 4) * 3)];
    s->count = 1 + (int)(unit(seed, 5) * (number % 5 ? s->n / 5 : s->n - 1));
    s->block = 1 + (int)(unit(seed, 6) * 5);
    s->basis = number % 3 ? 0 : s->count + 4 * s->block + 8;
    s->degree = number % 4 ? 0 : 2 + (int)(unit(seed, 7) * 12);
    s->shift = s->kind == 6 ? 0 : (double[]){0, 1, -9, s->kind ? -.5 : -2}[(int)(unit(seed, 8) * 4)];
    s->scale = number % 7 == 3 ? s->type == TULLE_F32 ? 1e9 : 1e100 : 1;
    for (int i = 0; i < s->n; i++) s->truth[i] = (value_of(s, i) + s->shift) * s->scale;
    memcpy(s->diagonal, s->truth, sizeof s->diagonal);
    sort_truth(s);
}

/* This PE's rows; room for three entries each. */
static void describe(const struct system *s, int rank, int npes, tulle_array *a, int64_t *ptr, int *col, void *val)
{
    const int first = s->n * rank / npes, count = s->n * (rank + 1) / npes - first;
    ptr[0] = 0;
    for (int i = first; i < first + count; i++) {
        int64_t at = ptr[i - first];
        for (int j = s->kind ? i : i - 1; j <= (s->kind ? i : i + 1); j++) {
            if (j < 0 || j >= s->n || j / s->length != i / s->length) {
                if (j != i) continue;
            }
            const double x = s->kind ? s->diagonal[i] : (j == i ? 2 + s->shift : -1) * s->scale;
            col[at] = j;
            if (s->type == TULLE_F32)
                ((float *)val)[at++] = (float)x;
            else
                ((double *)val)[at++] = x;
        }
        ptr[i - first + 1] = at;
    }
    *a = tulle_array_empty(TULLE_STORAGE_CSR, s->n, s->n, sizeof(double));
    a->type = s->type;
    a->first = first, a->count = count;
    a->ptr = ptr, a->ptr_bytes = 8;
    a->ind = col, a->ind_bytes = 4;
    a->val = val, a->nnz = ptr[count];
}

/* An empty text if values, residuals and orthogonality are right. */
static void judge(const struct system *s, const double *value, const double *residual,
    const tulle_spectrum_report *report, char *text, size_t size)
{
    const double eps = s->type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON, tolerance = s->type == TULLE_F32 ? 1e-4 : 1e-8;
    const double norm = fmax(fabs(s->truth[0]), fabs(s->truth[s->n - 1]));
    const bool magnitude = s->end == TULLE_SPECTRUM_MAGNITUDE; /* of equal ones either sign may be first */
    *text = 0;
    for (int i = 0; i < s->count && !*text; i++) {
        const double right = s->truth[i], most = 2 * tolerance * fabs(right) + 110 * eps * norm;
        if (!(fabs((magnitude ? fabs(value[i]) : value[i]) - (magnitude ? fabs(right) : right)) <= most))
            snprintf(text, size, "value %d is %.17g instead of %.17g", i + 1, value[i], right);
        if (!(residual[i] <= most))
            snprintf(text, size, "residual %d is %.3g, more than %.3g", i + 1, residual[i], most);
    }
    if (!*text && !(report->orthogonality <= 1e3 * eps))
        snprintf(text, size, "vectors are not orthonormal: %.3g", report->orthogonality);
    if (!*text && s->kind == 6 && report->degree) snprintf(text, size, "a filter of the zero matrix");
    if (!*text && 4 * s->count > s->n && report->degree) snprintf(text, size, "a filter of a large part");
}

static tulle_status pairs_of(
    tulle_comm *comm, const struct system *s, const tulle_array *a, double *number, tulle_spectrum_report *report)
{
    const tulle_spectrum_options options = {.size = sizeof options,
        .end = s->end,
        .count = s->count,
        .block = s->block,
        .basis = s->basis,
        .max_passes = 1000000,
        .chebyshev = true,
        .degree = s->degree};
    return pairs_of_array(comm, a, &options, number, number + s->count, report);
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status = TULLE_OK;
    int64_t filtered = 0;
    struct system *s = malloc(sizeof *s);
    int64_t *ptr = malloc((MOST + 1) * sizeof *ptr);
    int *col = malloc(3 * MOST * sizeof *col);
    double *val = malloc(3 * MOST * sizeof *val), *number = malloc(2 * MOST * sizeof *number);
    for (int64_t i = run->from; i < run->from + run->cases && status == TULLE_OK; i++) {
        tulle_array a;
        tulle_spectrum_report report;
        char text[200];
        draw(s, run->seed, i);
        describe(s, tulle_comm_rank(comm), tulle_comm_size(comm), &a, ptr, col, val);
        status = pairs_of(comm, s, &a, number, &report);
        if (status == TULLE_OK)
            judge(s, number, number + s->count, &report, text, sizeof text);
        else
            snprintf(text, sizeof text, "%s", tulle_error_message());
        filtered += report.degree > 0;
        if (*text)
            status = tulle__fail(TULLE_ERR_CHECK,
                "case %d: %s, %d rows of %d, shift %g, %s, %d of %s, block %d, basis %d, degree %d: %s (%d passes, %d "
                "restarts, degree %d)",
                (int)i, kind_name[s->kind], s->n, s->length, s->shift, tulle_type_name(s->type), s->count,
                tulle_spectrum_end_name(s->end), s->block, s->basis, s->degree, text, (int)report.passes,
                (int)report.restarts, report.degree);
    }
    if (status == TULLE_OK && run->cases > 9 && 5 * filtered < run->cases)
        status = tulle__fail(TULLE_ERR_CHECK, "%d of %d by a filter", (int)filtered, (int)run->cases);
    free(number);
    free(val);
    free(col);
    free(ptr);
    free(s);
    return status;
}

int main(int argc, char **argv)
{
    struct run run;
    run_drawn(argc, argv, 1, body, "eigenpairs by a filter are those that the matrices have", &run);
    return tap_done();
}
