/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises and removes the messages that MPI's launchers print among the job's lines when a job
 * fails.
 */
#ifndef TULLE_TOOL_NOTICE_H
#define TULLE_TOOL_NOTICE_H

#include <stddef.h>
#include <stdio.h>

/* A process that was terminated, according to the launcher. */
struct notice {
    int rank;   /* -1: unknown; MPICH names a process instead, and not always the right one */
    int signal; /* 0: unknown */
};

enum { NOTICE_LINE = 4096, NOTICE_HELD = 16384 };

/*
 * A filter of one stream. Lines pass at once, except within a frame of dashes or equal signs, which
 * is held back as a whole.
 */
struct notice_filter {
    FILE *to;
    struct notice *notice;
    char line[NOTICE_LINE];
    size_t length;
    char held[NOTICE_HELD];
    size_t nheld;
    int framed;  /* inside a frame */
    int trailer; /* after the frame of a notice: a few known lines follow */
};

void notice_feed(struct notice_filter *filter, const char *text, size_t n);
void notice_end(struct notice_filter *filter);

#endif
