/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open MPI frames what it tells in lines of dashes on standard error, and names the rank:
 *     mpirun noticed that process rank 1 with PID 0 on node host exited on signal 9 (Killed).
 * Since 5.0 a line ends before `signal`.
 * MPICH frames it in equal signs on standard output, where it would spoil a report:
 *     =   EXIT CODE: 9
 *     YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
 * The last line and those after it also come alone. Our own processes say, if they notice it first:
 *     tulle: PE 1 was lost (process 4711 on node); this job ends
 */
#include "process/notice.h"

#include <string.h>

static int is_frame(const char *line)
{
    size_t n = strspn(line, *line == '=' ? "=" : "-");
    return n >= 60 && line[n] == '\n';
}

static const char *after(const char *text, const char *words)
{
    const char *found = strstr(text, words);
    return found ? found + strlen(words) : NULL;
}

/* Reads the lost process from a notice. */
static void learn(struct notice *notice, const char *text)
{
    int number;
    const char *rest;
    if ((rest = after(text, "noticed that process rank ")) && sscanf(rest, "%d", &number) == 1) notice->rank = number;
    if ((rest = after(text, "exited on")) && sscanf(rest, " signal %d", &number) == 1) notice->signal = number;
    if ((rest = after(text, "EXIT STRING: ")) && (rest = after(rest, "(signal ")) && sscanf(rest, "%d", &number) == 1)
        notice->signal = number;
}

static int is_notice(const char *text)
{
    static const char *const marks[] = {
        "noticed that process rank", "Primary job", "detected that one or more processes exited", "BAD TERMINATION"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(text, marks[i])) return 1;
    return 0;
}

static int is_trailer(const char *line, int first)
{
    static const char *const starts[] = {
        "YOUR APPLICATION TERMINATED WITH THE EXIT ", "This typically refers to a problem", "Please see the FAQ page"};
    for (size_t i = 0; i < (first ? 1 : sizeof starts / sizeof *starts); i++)
        if (strncmp(line, starts[i], strlen(starts[i])) == 0) return 1;
    return 0;
}

/* A process's own line: the first one counts. */
static int is_own(struct notice *notice, const char *line)
{
    const char *rest = after(line, "tulle: PE ");
    const char *end = strstr(line, "; this job ends\n");
    int number;
    if (strncmp(line, "tulle: ", 7) != 0 || !end) return 0;
    if (notice->rank < 0 && rest && sscanf(rest, "%d was lost", &number) == 1) notice->rank = number;
    return 1;
}

static void let_go(struct notice_filter *f)
{
    fwrite(f->held, 1, f->nheld, f->to);
    f->nheld = 0;
    f->framed = 0;
}

static void hold(struct notice_filter *f, const char *line, size_t n)
{
    if (f->nheld + n >= sizeof f->held) { /* too long for a notice */
        let_go(f);
        fwrite(line, 1, n, f->to);
        return;
    }
    memcpy(f->held + f->nheld, line, n);
    f->nheld += n;
    f->held[f->nheld] = '\0';
}

static void end_frame(struct notice_filter *f)
{
    f->framed = 0;
    f->trailer = is_notice(f->held);
    if (!f->trailer) {
        let_go(f);
        return;
    }
    learn(f->notice, f->held);
    f->nheld = 0;
}

static void take_line(struct notice_filter *f, const char *line, size_t n)
{
    if (is_frame(line)) {
        hold(f, line, n);
        if (f->framed)
            end_frame(f);
        else
            f->framed = f->nheld > 0;
    } else if (f->framed || n == 1) { /* an empty line may belong to the frame that follows */
        hold(f, line, n);
    } else if (is_own(f->notice, line)) {
        let_go(f);
    } else if (is_trailer(line, !f->trailer)) {
        f->trailer = 1;
        learn(f->notice, line);
    } else {
        let_go(f);
        fwrite(line, 1, n, f->to);
    }
}

void notice_feed(struct notice_filter *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        f->line[f->length++] = text[i];
        if (text[i] != '\n' && f->length < sizeof f->line - 1) continue;
        f->line[f->length] = '\0';
        take_line(f, f->line, f->length);
        f->length = 0;
    }
    fflush(f->to);
}

void notice_end(struct notice_filter *f)
{
    let_go(f);
    fwrite(f->line, 1, f->length, f->to);
    f->length = 0;
    fflush(f->to);
}
