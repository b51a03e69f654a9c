/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing with gnuplot: a script with its data in it, run on a file of its own or kept. */
#ifndef TULLE_TOOL_PICTURE_H
#define TULLE_TOOL_PICTURE_H

#include <stdio.h>

#include <tulle/tulle.h>

struct picture {
    FILE *script; /* where to write gnuplot's commands */
    const char *path;
    char *text;
    size_t length;
};

/* Refuses a name with another ending than picture_open takes. */
tulle_status picture_name(const char *path);

/* path ends in .svg, .png, or .gp: then the script itself is what is kept, and no gnuplot is needed. */
tulle_status picture_open(const char *path, int width, int height, struct picture *picture);
/* Text as gnuplot quotes it. */
void picture_text(const struct picture *picture, const char *text);
/* Draws, unless `status` tells that there is nothing to draw. The file appears when it is complete. */
tulle_status picture_close(struct picture *picture, tulle_status status);

#endif
