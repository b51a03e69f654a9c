/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of this machine that are measured, compared with those of before, and kept. */
#ifndef TULLE_TOOL_CALIBRATION_H
#define TULLE_TOOL_CALIBRATION_H

#include <stdio.h>

#include <tulle/tulle.h>

/* One measurement, and what became of it. */
struct measurement {
    tulle_machine now;         /* as measured */
    tulle_machine_noise noise; /* of the same */
    tulle_machine kept;        /* the better of these figures and of those in the file */
    int earlier;               /* figures of the file that were better */
    char path[4096];           /* of the file */
};

/*
 * From `now`, which has been measured: `kept`, and writes it to the file. force: `kept` is `now`, whatever the file
 * has. A file that cannot be read, or is of another host or number of threads, is replaced. If the file cannot be
 * written the rest holds.
 */
tulle_status measurement_keep(struct measurement *m, int force);

/* The largest difference between repetitions. */
double measurement_spread(const tulle_machine_noise *noise);

/* One or two lines: how much repetitions differ, the load, and which figures are those of before. */
void measurement_show(const struct measurement *m, const char *prefix, FILE *file);

#endif
