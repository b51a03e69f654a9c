/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of this machine: measured, merged with earlier ones, and saved. */
#ifndef TULLE_TOOL_CALIBRATION_H
#define TULLE_TOOL_CALIBRATION_H

#include <stdio.h>

#include <tulle/tulle.h>

/* A measurement and its outcome. */
struct measurement {
    tulle_machine now;         /* as measured */
    tulle_machine_noise noise; /* of the same */
    tulle_machine kept;        /* the better of these figures and of those in the file */
    int earlier;               /* number of better figures in the file */
    char path[4096];           /* of the file; "": the user's own */
};

/*
 * Merges `now` with the file's figures into `kept` and saves it. force: `kept` is `now`. A file
 * that is unreadable, or of another kind of machine or number of threads, is replaced. If the file cannot be
 * written, the rest is valid.
 */
tulle_status measurement_keep(struct measurement *m, int force);

/* The largest deviation of repetitions. */
double measurement_deviation(const tulle_machine_noise *noise);

/* Prints one or two lines: deviation of repetitions, load, and which figures are earlier ones. */
void measurement_show(const struct measurement *m, const char *prefix, FILE *file);

#endif
