/* SPDX-License-Identifier: Apache-2.0 */
/* What tulle solve was asked for, what came of it, and how that is told. */
#ifndef TULLE_TOOL_ITERATION_TOLD_H
#define TULLE_TOOL_ITERATION_TOLD_H

#include "verb.h"
#include "verbs/streaming.h"

/* What PE 0 is told as it happens, for the line and the history. */
struct course {
    const char *history; /* the file for it, NULL: none is kept */
    int json;            /* it ends in .json */
    int lines;           /* whether there is a line */
    tulle_krylov_step *step;
    int64_t count, room;
    int lost; /* there was no memory for some */
    struct line line;
    double next; /* when the line is drawn again */
    const char *method;
    tulle_krylov_step worst; /* of the columns of a block in this iteration */
};

struct iteration {
    const struct options *options;
    tulle_read_options reading;
    tulle_krylov_options solving;
    tulle_precond_kind precond;
    tulle_precond_options preconditioning;
    int streamed; /* products go through a device */
    struct streaming streaming;
    struct course course; /* PE 0's, like all below */
    tulle_stream_plan plan;
    tulle_krylov_report *report;
    tulle_gidx n, cols;
    int64_t nnz;
    tulle_factor_report factored; /* ic0, ilu0 */
    double setup[2];              /* seconds: the operator, the preconditioner */
    int checked, passed;
    double error;
    char failure[256], wrong[256]; /* that it did not converge; that the check failed */
    char warnings[TULLE_WARNINGS_MAX];
};

/* For `watch` of tulle_krylov_options; arg is the course. */
void course_watch(void *arg, const tulle_krylov_step *step);

/* PE 0's: a line of JSON or a table, and the history if there is one. */
tulle_status show_iteration(const struct iteration *s, const tulle_team *team);

#endif
