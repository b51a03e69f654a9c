/* SPDX-License-Identifier: Apache-2.0 */
/* Options, outcome and report of tulle trisolve. */
#ifndef TULLE_TOOL_SOLVES_REPORT_H
#define TULLE_TOOL_SOLVES_REPORT_H

#include "report/result.h"
#include "verb.h"

/* The outcome of a method; the report belongs to the run whose seconds are shown. */
struct solves_outcome {
    tulle_trisolve_method method;
    tulle_trisolve_report report;
    double seconds, all[REPS_MAX], analysis; /* of the method that was chosen */
    struct {
        int solves;
        double seconds;                   /* the fastest */
    } trial[TULLE_TRISOLVE_METHOD_COUNT]; /* of auto, by method: the solves of its comparison */
    int run;                              /* index of the run of the report */
    int checked, passed;
    tulle_status left_out; /* why the method did not run; TULLE_OK: it did */
    double error;
    tulle_forward forward; /* --rhs known */
    char failure[256];
};

struct solves {
    const struct options *options;
    int reps, simulated, all, known;
    tulle_read_options reading;
    tulle_trisolve_options solving;
    tulle_trisolve_method method[TULLE_TRISOLVE_METHOD_COUNT];
    int nmethods;
    tulle_gidx n, cols;
    int64_t nnz;
    struct solves_outcome outcome[TULLE_TRISOLVE_METHOD_COUNT]; /* PE 0's */
    char warnings[TULLE_WARNINGS_MAX];
};

/* Prints lines or a table; fails if no method has run, or a result failed its check. */
tulle_status show_solves(const struct solves *s, tulle_team *team);

#endif
