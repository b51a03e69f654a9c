/* SPDX-License-Identifier: Apache-2.0 */
/* What MPI's launchers print when a job ends badly: recognised among the job's own lines, and taken out. */
#ifndef TULLE_TOOL_NOTICE_H
#define TULLE_TOOL_NOTICE_H

#include <stddef.h>
#include <stdio.h>

/* What was said of a process that ended otherwise than by itself. */
struct notice {
    int rank;   /* -1: not told; MPICH tells a process instead, and not always the right one */
    int signal; /* 0: not told */
};

enum { NOTICE_LINE = 4096, NOTICE_HELD = 16384 };

/* One stream. Lines pass as they come, except inside of a frame of dashes or equal signs: that is held back whole. */
struct notice_filter {
    FILE *to;
    struct notice *notice;
    char line[NOTICE_LINE];
    size_t length;
    char held[NOTICE_HELD];
    size_t nheld;
    int framed;  /* inside a frame */
    int trailer; /* after a frame that was a notice: a few known lines follow */
};

void notice_feed(struct notice_filter *filter, const char *text, size_t n);
void notice_end(struct notice_filter *filter);

#endif
