/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of transfers: (group, count) names a transfer and all that its group started before it.
 * For conformance.c alone.
 */
#ifndef TULLE_TEST_HANDLES_H
#define TULLE_TEST_HANDLES_H

#include <math.h>
#include <string.h>

#include "body.h"
#include "comm/comm.h"
#include "vectors.h"

enum {
    HANDLES = 150, /* more than an engine or a wrapper records one by one */
    HANDLE_BYTES = 180,
    HANDLE_GROUP = 4,
};

static int handle_target(const tulle_comm *comm, int i)
{
    return (comm->rank + i) % comm->size;
}

/* Transfer i gets its part of a block: as one range, or as a list of three. */
static tulle__transfer get_part(tulle_comm *comm, struct vectors *v, int i, int group)
{
    uint64_t at = (uint64_t)i * HANDLE_BYTES;
    unsigned char *to = v->local + (size_t)i * HANDLE_BYTES;
    const tulle__place *place = &v->place[handle_target(comm, i)];
    if (i % 3) return tulle__get(comm, group, place, at, to, HANDLE_BYTES);
    const tulle__range range[] = {{at, to, 50}, {at + 50, to + 50, 1}, {at + 51, to + 51, HANDLE_BYTES - 51}};
    return tulle__getv(comm, group, place, 3, range);
}

static void get_parts(tulle_comm *comm, struct vectors *v, tulle__transfer *handle)
{
    memset(v->local, VECTOR_GUARD, HANDLES * HANDLE_BYTES);
    for (int i = 0; i < HANDLES; i++) handle[i] = get_part(comm, v, i, HANDLE_GROUP);
}

static int part_arrived(tulle_comm *comm, const struct vectors *v, int i)
{
    for (size_t b = 0; b < HANDLE_BYTES; b++) {
        size_t at = (size_t)i * HANDLE_BYTES + b;
        if (v->local[at] != vector_byte(handle_target(comm, i), at)) return 0;
    }
    return 1;
}

/* Polls until the link knows, or says that it cannot. */
static int poll_handle(tulle_comm *comm, const tulle__transfer *handle)
{
    int answer;
    for (int turns = 0; (answer = tulle__transfer_ready(comm, handle)) == 0;) tulle__pause(comm, &turns);
    return answer;
}

static tulle_status handles_in_order(tulle_comm *comm, struct vectors *v, tulle__transfer *handle)
{
    tulle_status status = TULLE_OK;
    get_parts(comm, v, handle);
    for (int i = 0; i < HANDLES; i++) {
        EXPECT(handle[i].group == HANDLE_GROUP && (i == 0 || handle[i].count >= handle[i - 1].count));
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        EXPECT(part_arrived(comm, v, i));
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
    }
out:
    return status;
}

/* A wait for a transfer completes those before it; those after it can still be waited for. */
static tulle_status handles_out_of_order(tulle_comm *comm, struct vectors *v, tulle__transfer *handle, int first)
{
    tulle_status status = TULLE_OK;
    get_parts(comm, v, handle);
    TULLE_TRY(tulle__transfer_wait(comm, &handle[first]));
    for (int i = 0; i <= first; i++) {
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
        EXPECT(part_arrived(comm, v, i));
    }
    for (int i = HANDLES - 1; i >= 0; i--) {
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        EXPECT(part_arrived(comm, v, i));
    }
    EXPECT(tulle__transfer_ready(comm, &handle[HANDLES - 1]) == 1);
out:
    return status;
}

/* Polling ends at each transfer, and lets transfers of others go on. */
static tulle_status handles_polled(tulle_comm *comm, struct vectors *v, tulle__transfer *handle)
{
    tulle_status status = TULLE_OK;
    get_parts(comm, v, handle);
    for (int i = 0; i < HANDLES; i += 1 + i % 5) {
        int answer = poll_handle(comm, &handle[i]);
        EXPECT(answer == 1 || answer == -1);
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
        EXPECT(part_arrived(comm, v, i));
    }
    TULLE_TRY(tulle__wait(comm, HANDLE_GROUP));
    for (int i = 0; i < HANDLES; i++) {
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
        EXPECT(part_arrived(comm, v, i));
    }
out:
    return status;
}

/* Groups know nothing of each other; what is empty is complete with what came before it. */
static tulle_status handles_of_groups(tulle_comm *comm, struct vectors *v, tulle__transfer *handle)
{
    tulle_status status = TULLE_OK;
    const tulle__transfer none = {HANDLE_GROUP, 0};
    EXPECT(tulle__transfer_ready(comm, &none) == 1);
    TULLE_TRY(tulle__transfer_wait(comm, &none));
    memset(v->local, VECTOR_GUARD, HANDLES * HANDLE_BYTES);
    for (int i = 0; i < HANDLES; i++) handle[i] = get_part(comm, v, i, i % (TULLE__GROUPS - 1));
    for (int i = HANDLES - 1; i >= 0; i--) {
        if (i % 2) (void)poll_handle(comm, &handle[i]);
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        for (int before = i; before >= 0; before -= TULLE__GROUPS - 1) EXPECT(part_arrived(comm, v, before));
    }
    get_parts(comm, v, handle);
    handle[0] = tulle__get(comm, HANDLE_GROUP, &v->place[0], 0, v->local, 0);
    TULLE_TRY(tulle__transfer_wait(comm, &handle[0]));
    for (int i = 1; i < HANDLES; i++) EXPECT(part_arrived(comm, v, i));
    handle[0] = tulle__getv(comm, HANDLE_GROUP, &v->place[0], 0, NULL);
    handle[1] = tulle__putv(comm, HANDLE_GROUP, &v->place[0], 0, NULL);
    for (int i = 0; i < 2; i++) {
        (void)poll_handle(comm, &handle[i]);
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
    }
out:
    return status;
}

/* A put that was waited for is at its target, also between gets of the same group. */
static tulle_status handles_of_puts(tulle_comm *comm, struct vectors *v, tulle__transfer *handle)
{
    enum { BYTES = 24 };
    tulle_status status = TULLE_OK;
    int size = comm->size, n = HANDLES < 10 * size ? HANDLES : 10 * size;
    unsigned char *got = v->local + HANDLES * BYTES;
    for (int i = 0; i < n; i++) {
        int to = handle_target(comm, i);
        size_t at = (size_t)(comm->rank * 10 + i / size) * BYTES;
        unsigned char *from = v->local + (size_t)i * BYTES;
        for (size_t b = 0; b < BYTES; b++) from[b] = (unsigned char)~vector_byte(to, at + b);
        const tulle__range range[] = {{at, from, 5}, {at + 5, from + 5, BYTES - 5}};
        handle[i] = i % 2 ? tulle__putv(comm, HANDLE_GROUP, &v->place[to], 2, range)
                          : tulle__put(comm, HANDLE_GROUP, &v->place[to], at, from, BYTES);
        if (i % 7 == 0) handle[i] = tulle__get(comm, HANDLE_GROUP, &v->place[to], v->bytes - 9, got, 9);
    }
    for (int i = 0; i < n; i++) {
        (void)poll_handle(comm, &handle[i]);
        TULLE_TRY(tulle__transfer_wait(comm, &handle[i]));
        EXPECT(tulle__transfer_ready(comm, &handle[i]) == 1);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    for (size_t at = 0; at < (size_t)size * 10 * BYTES; at++) {
        /* PE `from` put its i-th part here, unless it has no i-th */
        int from = (int)(at / (10 * BYTES)), turn = (int)(at % (10 * BYTES) / BYTES);
        int i = turn * size + (comm->rank - from + size) % size;
        unsigned char want = vector_byte(comm->rank, at);
        EXPECT(v->mine[at] == (i < n ? (unsigned char)~want : want));
        v->mine[at] = want;
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

static tulle_status test_handles(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    tulle__transfer handle[HANDLES];
    for (int segment = 0; segment < TULLE__SEGMENTS && status == TULLE_OK; segment++) {
        struct vectors v;
        status = vectors_make(comm, segment, &v);
        if (status == TULLE_OK) status = handles_in_order(comm, &v, handle);
        for (int first = 0; first < HANDLES && status == TULLE_OK; first += HANDLES / 2 - 1)
            status = handles_out_of_order(comm, &v, handle, first);
        if (status == TULLE_OK) status = handles_out_of_order(comm, &v, handle, HANDLES - 1);
        if (status == TULLE_OK) status = handles_polled(comm, &v, handle);
        if (status == TULLE_OK) status = handles_of_groups(comm, &v, handle);
        if (status == TULLE_OK) status = tulle_comm_barrier(comm); /* nobody reads any more */
        if (status == TULLE_OK) status = handles_of_puts(comm, &v, handle);
        vectors_fini(comm, &v);
    }
    return status;
}

/* Under check a transfer is not ready at once, and its bytes come with the wait alone, which completes no later one. */
static tulle_status polls_without_waiting(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle__place own;
    double x[2] = {1, 1};
    (void)arg;
    TULLE_TRY(tulle__heap_take(comm->pe->data, 8, "test", &own));
    memset(tulle__mapped(comm, &own), 0, 8);
    tulle__transfer handle[2];
    for (int i = 0; i < 2; i++) handle[i] = tulle__get(comm, 0, &own, 0, &x[i], 8);
    status = tulle__transfer_ready(comm, &handle[0]) == 0 && tulle__transfer_ready(comm, &handle[0]) == 1 && isnan(x[0])
                 ? tulle__transfer_wait(comm, &handle[0])
                 : tulle__fail(TULLE_ERR_CHECK, "a transfer came before its wait");
    if (status == TULLE_OK && (x[0] != 0 || !isnan(x[1])))
        status = tulle__fail(TULLE_ERR_CHECK, "a wait completed more than was asked");
    tulle_status rest = tulle__wait(comm, 0);
    tulle__heap_give(comm->pe->data, &own);
    if (status == TULLE_OK) status = rest;
out:
    return status;
}

static tulle_status waits_for_nothing_started(tulle_comm *comm, void *arg)
{
    (void)arg;
    return tulle__transfer_wait(comm, &(tulle__transfer){3, TULLE__ALL - 1});
}

#endif
