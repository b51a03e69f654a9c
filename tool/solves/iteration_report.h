/* SPDX-License-Identifier: Apache-2.0 */
/* Options, outcome and report of tulle solve. */
#ifndef TULLE_TOOL_ITERATION_REPORT_H
#define TULLE_TOOL_ITERATION_REPORT_H

#include "report/result.h"
#include "verb.h"
#include "verbs/streaming.h"

/* PE 0's record of iterations, for the progress line and the history. */
struct course {
    const char *history; /* the file for it; NULL: none */
    int json;            /* it ends in .json */
    int lines;           /* whether there is a progress line */
    tulle_krylov_step *step;
    int64_t count, capacity;
    int lost; /* memory ran out for some iterations */
    struct line line;
    double next; /* time of the next update of the line */
    const char *method;
    tulle_krylov_step worst; /* the largest residual among the columns of a block in this iteration */
};

struct iteration {
    const struct options *options;
    tulle_read_options reading;
    tulle_krylov_options solving;
    int fit; /* least squares: */
    tulle_least_squares_options fitting;
    tulle_least_squares_report *fitted; /* PE 0's */
    tulle_precond_kind precond;
    tulle_precond_options preconditioning;
    int streamed; /* products stream through a device */
    struct streaming streaming;
    struct course course; /* PE 0's, like the following */
    tulle_stream_plan plan;
    tulle_krylov_report *report;
    tulle_gidx m, n, cols; /* m: of least squares */
    int64_t nnz;
    tulle_factor_report factored; /* ic0, ilu0 */
    struct ordered ordered;
    double setup[2]; /* seconds: the operator, the preconditioner */
    int checked, passed;
    double error;
    char failure[256], wrong[256]; /* a column did not converge; the check failed */
    char warnings[TULLE_WARNINGS_MAX];
};

/* The limit on ||r|| / ||b||, or on a gradient, where none was given. */
static inline double usual_limit(const struct iteration *s)
{
    return s->reading.type == TULLE_F32 ? 1e-5 : 1e-8;
}

/* The `watch` of tulle_krylov_options; arg is the course. */
void course_watch(void *arg, const tulle_krylov_step *step);

/* Records the outcome of a check, of which the exit status reports one that was not passed. */
tulle_status note_check(struct iteration *s, tulle_comm *comm, tulle_status status, double error);

/* Columns that did not converge become nan. Collective. */
tulle_status erase_failed(tulle_comm *comm, tulle_mat *X, const tulle_krylov_report *report);

/* Prints PE 0's line of JSON or table, and writes the history if there is one. */
tulle_status show_iteration(const struct iteration *s, const tulle_team *team);

#endif
