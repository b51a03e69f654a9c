/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of runs: a PE returns that others wait for, and messages that name a PE. For conformance.c
 * alone.
 */
#ifndef TULLE_TEST_ENDINGS_H
#define TULLE_TEST_ENDINGS_H

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "body.h"
#include "comm/queue.h"
#include "tap.h"

/* A message names no PE if all PEs say the same or the input is at fault; else it names the PE. */
struct saying {
    tulle_status status;
    int rank;          /* failing PE; -1: all, each by itself; -2: all, in an agreement */
    const char *named; /* beginning of the message, in a team of several PEs */
};
static const struct saying sayings[] = {{TULLE_ERR_ARG, -1, "a mistake"}, {TULLE_ERR_ARG, -2, "a mistake"},
    {TULLE_ERR_LIMIT, -1, "a mistake"}, {TULLE_ERR_ARG, 0, "a mistake"}, {TULLE_ERR_ARG, 1, "PE 1: a mistake"},
    {TULLE_ERR_LIMIT, 0, "PE 0: a mistake"}, {TULLE_ERR_FORMAT, 1, "a mistake"}, {TULLE_ERR_IO, 1, "PE 1: a mistake"},
    {TULLE_ERR_CHECK, 1, "a mistake"}};

static tulle_status body_says(tulle_comm *comm, void *arg)
{
    const struct saying *s = arg;
    int mine = s->rank < 0 || s->rank == tulle_comm_rank(comm);
    tulle_status status = mine ? tulle__fail(s->status, "a mistake") : TULLE_OK;
    return s->rank == -1 ? status : tulle_comm_agree(comm, status);
}

static void test_sayings(tulle_team *team, int npes)
{
    for (size_t i = 0; i < sizeof sayings / sizeof *sayings; i++) {
        struct saying s = sayings[i];
        if (s.rank >= npes) continue;
        tulle_status status = tulle_team_run(team, body_says, &s);
        ok(status == s.status && strcmp(tulle_error_message(), npes > 1 ? s.named : "a mistake") == 0,
            "who fails: %d, with %s: %s", s.rank, tulle_status_name(s.status), tulle_error_message());
    }
}

/* PE 0 fails; then each PE fails with what it has heard, PE 0 last. Its own message comes back as it was. */
static tulle_status body_echo(tulle_comm *comm, void *arg)
{
    const int last = tulle_comm_rank(comm) == 0;
    (void)arg;
    tulle_status status = tulle_comm_agree(comm, last ? tulle__fail(TULLE_ERR_CHECK, "a mistake") : TULLE_OK);
    if (last) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    status = tulle_comm_agree(comm, status);
    const char *wanted = last ? "a mistake" : "PE 0: a mistake";
    if (strcmp(tulle_error_message(), wanted) == 0) return TULLE_OK;
    return tulle__fail(status, "PE %d heard '%s'", tulle_comm_rank(comm), tulle_error_message());
}

static void test_echo(tulle_team *team)
{
    ok(tulle_team_run(team, body_echo, NULL) == TULLE_OK, "a failure that others forward: %s", tulle_error_message());
}

/* One PE returns at once; the others continue until they hear of it. */
struct leaving {
    int rank, how;
    tulle__queue *queue[64]; /* freed in a later run, as other PEs still write into it */
};
enum { LEAVE_BARRIER, LEAVE_AGREE, LEAVE_GATHER, LEAVE_BROADCAST, LEAVE_REDUCE, LEAVE_QUEUE, LEAVE_SPLIT, LEAVINGS };

static tulle_status nothing_to_serve(void *context)
{
    (void)context;
    return TULLE_OK;
}

static tulle_status fill_queue_of(tulle_comm *comm, int rank, tulle__queue *queue)
{
    char note[TULLE__RECORD] = "";
    for (;;) { /* no PE pops */
        tulle_status status = tulle__queue_push(queue, rank, note, sizeof note, nothing_to_serve, comm);
        if (status != TULLE_OK) return tulle_comm_agree(comm, status);
    }
}

static tulle_status body_returns(tulle_comm *comm, void *arg)
{
    struct leaving *l = arg;
    tulle_status status = TULLE_OK;
    int64_t value[1024] = {0}, all[64] = {0};
    tulle__queue **queue = &l->queue[tulle_comm_rank(comm)];
    tulle_comm *part = NULL;
    if (l->how == LEAVE_QUEUE) TULLE_TRY(tulle__queue_new(comm, 4, queue));
    if (l->how == LEAVE_SPLIT) TULLE_TRY(tulle_comm_split(comm, 0, 0, &part));
    if (tulle_comm_rank(comm) == l->rank) goto out;
    switch (l->how) {
    case LEAVE_AGREE:
        status = tulle_comm_agree(comm, TULLE_OK);
        break;
    case LEAVE_GATHER:
        status = tulle_comm_allgather(comm, value, sizeof *value, all);
        break;
    case LEAVE_BROADCAST:
        status = tulle_comm_broadcast(comm, l->rank, value, sizeof value);
        break;
    case LEAVE_REDUCE:
        status = tulle_comm_reduce_int(comm, TULLE_SUM, 1024, value);
        break;
    case LEAVE_QUEUE:
        status = fill_queue_of(comm, l->rank, *queue);
        break;
    case LEAVE_SPLIT:
        status = tulle_comm_barrier(part);
        break;
    default:
        status = tulle_comm_barrier(comm);
    }
    if (status == TULLE_OK) status = tulle__fail(TULLE_ERR_CHECK, "it waited for nobody");
out:
    return status; /* the part is lost with the run */
}

static tulle_status give_queue_back(tulle_comm *comm, void *arg)
{
    tulle__queue_free(((struct leaving *)arg)->queue[tulle_comm_rank(comm)]);
    return TULLE_OK;
}

/* All PEs make the same calls, but one is late: a PE that does not wait for it returns earlier. */
static tulle_status returns_before_others(tulle_comm *comm, void *arg)
{
    const int late = *(int *)arg, rank = tulle_comm_rank(comm);
    tulle_status status;
    tulle_comm *part = NULL;
    int64_t value = 1, start = tulle__clock_ns();
    TULLE_TRY(tulle_comm_split(comm, rank == late, 0, &part));
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &value));
    while (rank == late && tulle__clock_ns() - start < 100000000) tulle__progress(comm);
    if (rank != late) TULLE_TRY(tulle_comm_barrier(part));
    tulle_comm_free(part);
    part = NULL;
    if (rank == 0 || rank == late) TULLE_TRY(tulle_comm_broadcast(comm, 0, &value, sizeof value));
    if (rank != 0 && rank != late) TULLE_TRY(tulle_comm_broadcast(comm, 0, &value, sizeof value));
    EXPECT(value == tulle_comm_size(comm));
out:
    return status;
}

static void test_leaving(tulle_team *team, int npes)
{
    char named[64];
    for (int how = 0; how < LEAVINGS && npes > 1; how++)
        for (int rank = 0; rank<npes; rank += npes> 3 ? npes - 1 : 1) {
            struct leaving leaving = {.rank = rank, .how = how};
            tulle_status status = tulle_team_run(team, body_returns, &leaving);
            snprintf(named, sizeof named, "PE %d has returned", rank);
            ok(status == TULLE_ERR_PEER && strstr(tulle_error_message(), named), "way %d of waiting for PE %d: %s", how,
                rank, tulle_error_message());
            if (how == LEAVE_QUEUE) tulle_team_run(team, give_queue_back, &leaving);
        }
    for (int late = 0; late < npes; late++) {
        tulle_status status = tulle_team_run(team, returns_before_others, &late);
        ok(status == TULLE_OK, "PE %d is late, others may return before: %s", late,
            status == TULLE_OK ? "they may" : tulle_error_message());
    }
}

#endif
