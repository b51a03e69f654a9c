/* SPDX-License-Identifier: Apache-2.0 */
/* What a product run has found out, and how it is shown. */
#ifndef TULLE_TOOL_RESULT_H
#define TULLE_TOOL_RESULT_H

#include <stdio.h>

#include <tulle/tulle.h>

enum { REPS_MAX = 1000 };

struct result {
    const char *op;
    char alg[32], comm[256], operand[256];
    int pes, threads;
    int simulated; /* times are virtual, and there is no bound */
    tulle_type type;
    tulle_gidx m, k, n;
    int64_t nnz_a, nnz_b, nnz_c;
    double seconds, reused; /* medians */
    double all[REPS_MAX];
    int reps;
    tulle_report report; /* of the run whose time is the median's nearest */
    tulle_bound bound;
    size_t memory_peak;
    int checked, passed;
    double error;
    char failure[256];
    char plan[256];
    char refusal[256]; /* why the algorithm was left out; empty: it was not */
};

double median(const double *values, int n);

/* One JSON object, one line. */
void result_json(const struct result *r, FILE *file);

/* The table's head, one line of it, and what stands below. */
void result_head(const struct result *r, FILE *file);
void result_line(const struct result *r, FILE *file);
void result_foot(const struct result *r, FILE *file);
/* One line, of an algorithm by which PEs take work from each other. */
void result_steals(const struct result *r, FILE *file);

#endif
