/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing with gnuplot: a script that includes its data, run from a temporary file or kept. */
#ifndef TULLE_TOOL_PICTURE_H
#define TULLE_TOOL_PICTURE_H

#include <stdio.h>

#include <tulle/tulle.h>

struct picture {
    FILE *script; /* for gnuplot commands */
    const char *path;
    char *text;
    size_t length;
};

/* Refuses a name whose ending picture_open does not accept. */
tulle_status picture_name(const char *path);

/* path ends in .svg, .png, .pdf, or .gp, which keeps the script and needs no gnuplot. */
tulle_status picture_open(const char *path, int width, int height, struct picture *picture);
/* Writes text as a gnuplot string. */
void picture_text(const struct picture *picture, const char *text);
/* Draws, unless `status` is a failure. The file appears when it is complete. */
tulle_status picture_close(struct picture *picture, tulle_status status);

#endif
