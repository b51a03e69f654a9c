/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance suite of comm: conformance SPEC PES. An engine or a wrapper is complete when it
 * passes the suite unchanged.
 */
#include <math.h>
#include <sched.h>
#include <string.h>

#include <tulle/team.h>

#include "all_to_all.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "body.h"
#include "comm/comm.h"
#include "comm/slot.h"
#include "endings.h"
#include "handles.h"
#include "queues.h"
#include "tap.h"
#include "vectors.h"

static tulle_status test_rank(tulle_comm *comm, void *arg)
{
    tulle_status status = TULLE_OK;
    int *seen = arg;
    EXPECT(tulle_comm_rank(comm) >= 0 && tulle_comm_rank(comm) < tulle_comm_size(comm));
    __atomic_fetch_add(&seen[tulle_comm_rank(comm)], 1, __ATOMIC_RELAXED);
out:
    return status;
}

/* The count of each PE, in whichever process, is as expected. */
struct counts {
    const int *seen;
    int expected;
};

static tulle_status test_counts(tulle_comm *comm, void *arg)
{
    tulle_status status;
    const struct counts *counts = arg;
    int all[64];
    TULLE_TRY(tulle_comm_allgather(comm, &counts->seen[tulle_comm_rank(comm)], sizeof *all, all));
    for (int r = 0; r < tulle_comm_size(comm); r++) EXPECT(all[r] == counts->expected);
out:
    return status;
}

static tulle_status test_collectives(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    char *mine = NULL, *all = NULL;
    int64_t *sum = NULL;
    const size_t lengths[] = {1, 8, 100, 4000, 40000, 300001};
    for (int i = 0; i < 20; i++) TULLE_TRY(tulle_comm_barrier(comm));
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t bytes = lengths[l];
        TULLE_TRY(tulle__alloc(bytes, 1, "test", &mine));
        TULLE_TRY(tulle__alloc(bytes * (size_t)size, 1, "test", &all));
        for (size_t i = 0; i < bytes; i++) mine[i] = (char)((size_t)rank * 7 + i);
        TULLE_TRY(tulle_comm_allgather(comm, mine, bytes, all));
        for (int r = 0; r < size; r++)
            for (size_t i = 0; i < bytes; i++) EXPECT(all[(size_t)r * bytes + i] == (char)((size_t)r * 7 + i));
        for (int root = 0; root < size; root++) {
            memset(all, 0, bytes);
            if (rank == root) memset(all, root + 1, bytes);
            TULLE_TRY(tulle_comm_broadcast(comm, root, all, bytes));
            for (size_t i = 0; i < bytes; i++) EXPECT(all[i] == root + 1);
        }
        tulle__free(mine);
        tulle__free(all);
        mine = all = NULL;
    }
    int64_t n[3] = {rank, rank, rank + 10};
    double x[2] = {rank + 0.5, -rank};
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 3, n));
    EXPECT(n[0] == size * (size - 1) / 2 && n[2] == n[0] + 10 * size);
    n[0] = rank;
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MAX, 1, n));
    EXPECT(n[0] == size - 1);
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MIN, 2, x));
    EXPECT(x[0] == 0.5 && x[1] == -(size - 1));
    /* a broadcast from no rank is refused, also on one PE only: the others do not wait then */
    EXPECT(tulle_comm_agree(comm, tulle_comm_broadcast(comm, size, x, 8)) == TULLE_ERR_ARG);
    for (int bad = 0; bad < size; bad++) {
        TULLE_TRY(tulle_comm_barrier(comm));
        tulle_status outcome = tulle_comm_broadcast(comm, rank == bad ? -1 : 0, x, 8);
        EXPECT(outcome == (rank == bad ? TULLE_ERR_ARG : TULLE_ERR_PEER));
        EXPECT(tulle_comm_agree(comm, outcome) == TULLE_ERR_ARG);
    }
    /* of many values, which no PE gathers in full */
    enum { MANY = 20000 };
    TULLE_TRY(tulle__alloc(MANY, sizeof *sum, "test", &sum));
    for (int times = 0; times < 3; times++) {
        for (int i = 0; i < MANY; i++) sum[i] = (int64_t)i * (rank + 1) + times;
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, MANY, sum));
        for (int i = 0; i < MANY; i++) EXPECT(sum[i] == (int64_t)i * size * (size + 1) / 2 + times * size);
        for (int i = 0; i < MANY; i++) sum[i] = (rank + i) % size;
        TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_MIN, MANY, sum));
        for (int i = 0; i < MANY; i++) EXPECT(sum[i] == 0);
    }
out:
    tulle__free(mine);
    tulle__free(all);
    tulle__free(sum);
    return status;
}

/* All PEs put into and get from all PEs: single ranges, lists, several groups at a time. */
static tulle_status test_transfers(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { N = 1000 };
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm), taken = 0;
    tulle__place own, *place = NULL;
    double *got = NULL, *sent = NULL, *mine;
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *place, "test", &place));
    TULLE_TRY(tulle__alloc((size_t)size * N, sizeof *got, "test", &got));
    TULLE_TRY(tulle__alloc((size_t)size * N, sizeof *sent, "test", &sent));
    TULLE_TRY(tulle__heap_take(comm->pe->data, (size_t)(size + 1) * N * sizeof(double), "test", &own));
    taken = 1;
    own.managed = 1; /* the wrapper `migrate` moves its pages */
    mine = tulle__mapped(comm, &own);
    EXPECT(mine != NULL);
    for (int i = 0; i < N; i++) mine[i] = rank * N + i;
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    /* gets from all PEs, one a group, waited for in reverse order */
    for (int r = 0; r < size; r++) tulle__get(comm, r % TULLE__GROUPS, &place[r], 0, got + r * N, N * sizeof(double));
    for (int r = size - 1; r >= 0; r--) TULLE_TRY(tulle__wait(comm, r % TULLE__GROUPS));
    for (int i = 0; i < size * N; i++) EXPECT(got[i] == i);
    /* puts into this PE's part of each target */
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < N; i++) sent[r * N + i] = rank * 1e6 + r * 1e3 + i;
        tulle__put(comm, 3, &place[r], (uint64_t)(rank + 1) * N * sizeof(double), sent + r * N, N * sizeof(double));
    }
    TULLE_TRY(tulle__wait(comm, 3));
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < N; i++) EXPECT(mine[(r + 1) * N + i] == r * 1e6 + rank * 1e3 + i);
    TULLE_TRY(tulle_comm_barrier(comm));
    /* every third element, by a list of ranges */
    tulle__range range[N / 3];
    int next = (rank + 1) % size;
    for (int i = 0; i < N / 3; i++)
        range[i] = (tulle__range){(uint64_t)i * 3 * sizeof(double), got + i, sizeof(double)};
    tulle__getv(comm, 5, &place[next], N / 3, range);
    TULLE_TRY(tulle__wait(comm, 5));
    for (int i = 0; i < N / 3; i++) EXPECT(got[i] == next * N + 3 * i);
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int i = 0; i < N / 3; i++) got[i] = -got[i];
    tulle__putv(comm, 5, &place[next], N / 3, range);
    TULLE_TRY(tulle__wait(comm, 5));
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int i = 0; i < N; i++) EXPECT(mine[i] == (i % 3 == 0 && i / 3 < N / 3 ? -1.0 : 1.0) * (rank * N + i));
    /* mapped pointers, if there are any, show the same memory */
    TULLE_TRY(tulle_comm_barrier(comm));
    mine[0] = 42 + rank;
    TULLE_TRY(tulle_comm_barrier(comm));
    const double *there = tulle__mapped(comm, &place[next]);
    EXPECT(!there || there[0] == 42 + next);
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    if (taken) tulle__heap_give(comm->pe->data, &own);
    tulle__free(place);
    tulle__free(got);
    tulle__free(sent);
    return status;
}

static tulle_status test_atomics(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TIMES = 200 };
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm), taken = 0;
    tulle__place own, *place = NULL;
    uint64_t *word;
    unsigned char *seen = NULL;
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *place, "test", &place));
    TULLE_TRY(tulle__alloc_zero((size_t)size * TIMES, 1, "test", &seen));
    TULLE_TRY(tulle__heap_take(comm->pe->control, 64, "test", &own));
    taken = 1;
    own.managed = 1; /* the wrapper `migrate` moves its pages */
    word = tulle__mapped(comm, &own);
    memset(word, 0, 64);
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    /* tickets: each value occurs once */
    uint64_t last = 0;
    for (int i = 0; i < TIMES; i++) {
        uint64_t ticket = tulle__fetch_add(comm, &place[0], 0, 1);
        EXPECT(ticket < (uint64_t)size * TIMES && (i == 0 || ticket > last));
        last = ticket;
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    EXPECT(tulle__load(comm, &place[0], 0) == (uint64_t)size * TIMES);
    /* compare-and-swap as a lock around an increment by load and store */
    for (int i = 0; i < 50; i++) {
        int turns = 0;
        while (tulle__compare_swap(comm, &place[0], 8, 0, (uint64_t)rank + 1)) tulle__pause(comm, &turns);
        tulle__store(comm, &place[0], 16, tulle__load(comm, &place[0], 16) + 1);
        tulle__store(comm, &place[0], 8, 0);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    EXPECT(tulle__load(comm, &place[0], 16) == 50u * (uint64_t)size);
    TULLE_TRY(tulle_comm_barrier(comm));
    /* a ring of put-with-signal: the data are complete when the word changes */
    tulle__place data, *datas = NULL;
    TULLE_TRY(tulle__heap_take(comm->pe->data, 8192, "test", &data));
    data.managed = 1; /* the wrapper `migrate` moves its pages */
    status = tulle__alloc((size_t)size, sizeof *datas, "test", &datas);
    if (status == TULLE_OK) status = tulle_comm_allgather(comm, &data, sizeof data, datas);
    uint64_t payload[1024];
    const uint64_t *landed = tulle__mapped(comm, &data);
    int next = (rank + 1) % size;
    for (uint64_t round = 1; round <= 20 && status == TULLE_OK; round++) {
        for (int i = 0; i < 1024; i++) payload[i] = round * 10000 + (uint64_t)i;
        status = tulle__put_signal(comm, &datas[next], 0, payload, sizeof payload, &place[next], 24, round);
        if (status == TULLE_OK) status = tulle__wait_word(comm, &word[3], round);
        for (int i = 0; i < 1024 && status == TULLE_OK; i++)
            if (landed[i] != round * 10000 + (uint64_t)i)
                status = tulle__fail(TULLE_ERR_CHECK, "signal before its data");
        if (status == TULLE_OK) status = tulle_comm_barrier(comm);
    }
    tulle__heap_give(comm->pe->data, &data);
    tulle__free(datas);
    if (status == TULLE_OK) status = tulle_comm_barrier(comm);
out:
    if (taken) tulle__heap_give(comm->pe->control, &own);
    tulle__free(place);
    tulle__free(seen);
    return status;
}

static tulle_status test_split(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    tulle_comm *part = NULL, *again = NULL;
    for (int times = 0; times < 20; times++) { /* more often than there are slots */
        TULLE_TRY(tulle_comm_split(comm, rank % 2, -rank, &part));
        EXPECT(tulle_comm_size(part) == (size + (rank % 2 == 0)) / 2);
        int64_t n = rank;
        TULLE_TRY(tulle_comm_reduce_int(part, TULLE_MAX, 1, &n));
        int highest = (size - 1) % 2 == rank % 2 ? size - 1 : size - 2;
        EXPECT(n == highest);
        n = tulle_comm_rank(part) == 0 ? rank : -1; /* the key was -rank: the highest rank is first */
        TULLE_TRY(tulle_comm_broadcast(part, 0, &n, sizeof n));
        EXPECT(n == highest);
        TULLE_TRY(tulle_comm_split(part, tulle_comm_rank(part) / 2, 0, &again));
        EXPECT(tulle_comm_size(again) >= 1 && tulle_comm_size(again) <= 2);
        TULLE_TRY(tulle_comm_barrier(again));
        tulle_comm_free(again);
        again = NULL;
        tulle_comm_free(part);
        part = NULL;
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    tulle_comm_free(again);
    tulle_comm_free(part);
    return status;
}

/* One PE fails in an operation: all return its status, and comm works afterwards. */
static tulle_status test_agree(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK, end;
    int size = tulle_comm_size(comm), rank = tulle_comm_rank(comm);
    for (int bad = 0; bad < size; bad++)
        for (int where = 0; where < 3; where++) {
            tulle_status mine = TULLE_OK;
            for (int i = 0; i < 5 && mine == TULLE_OK; i++) {
                if (rank == bad && i == where) mine = tulle__fail(TULLE_ERR_LIMIT, "wanted by the test");
                if (mine == TULLE_OK) mine = tulle_comm_barrier(comm);
            }
            end = tulle_comm_agree(comm, mine);
            EXPECT(end == TULLE_ERR_LIMIT);
            EXPECT(strstr(tulle_error_message(), "wanted by the test"));
            TULLE_TRY(tulle_comm_barrier(comm));
            TULLE_TRY(tulle_comm_agree(comm, TULLE_OK));
        }
    /* two failures at a time: one answer */
    end = tulle_comm_agree(comm, rank == 0   ? tulle__fail(TULLE_ERR_LIMIT, "first")
                                 : rank == 1 ? tulle__fail(TULLE_ERR_IO, "second")
                                             : TULLE_OK);
    TULLE_TRY(same_everywhere(comm, end));
    EXPECT(end == TULLE_ERR_LIMIT || end == TULLE_ERR_IO);
    /*
     * a PE that came further fails first: all hear of the other failure, whose PE some may still
     * wait for
     */
    tulle_status mine = TULLE_OK;
    if (size > 1 && rank == 1) {
        comm->collectives += 2;
        tulle__comm_fail(comm, tulle__fail(TULLE_ERR_IO, "further"));
        mine = TULLE_ERR_PEER;
    } else if (size > 1 && rank == 0) {
        for (int turns = 0; tulle__comm_failed(comm) == TULLE_OK;) tulle__pause(comm, &turns);
        mine = tulle__fail(TULLE_ERR_LIMIT, "less far");
        tulle__comm_fail(comm, mine);
        tulle__comm_fail(comm, tulle__fail(TULLE_ERR_LIMIT, "a consequence"));
    }
    end = tulle_comm_agree(comm, mine);
    EXPECT(end == (size > 1 ? TULLE_ERR_LIMIT : TULLE_OK));
    EXPECT(size == 1 || strstr(tulle_error_message(), rank == 0 ? "less far" : "PE 0: less far"));
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

static tulle_status body_fails(tulle_comm *comm, void *arg)
{
    if (tulle_comm_rank(comm) == *(int *)arg) return tulle__fail(TULLE_ERR_IO, "disk on fire");
    if (tulle_comm_size(comm) == 1) return TULLE_OK;
    for (;;) { /* the others call barriers until they hear of it */
        tulle_status status = tulle_comm_barrier(comm);
        if (status != TULLE_OK) return status;
    }
}

static tulle_status forgets_to_wait(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle__place own;
    double x = 1;
    TULLE_TRY(tulle__heap_take(comm->pe->data, 8, "test", &own));
    memset(tulle__mapped(comm, &own), 0, 8);
    tulle__get(comm, 0, &own, 0, &x, 8);
    ((int *)arg)[tulle_comm_rank(comm)] = isnan(x);
    tulle__heap_give(comm->pe->data, &own);
out:
    return status;
}

static tulle_status uses_freed(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle__place own;
    double x;
    TULLE_TRY(tulle__heap_take(comm->pe->data, 8, "test", &own));
    tulle__heap_give(comm->pe->data, &own);
    tulle__get(comm, 0, &own, 0, &x, 8);
    status = tulle__wait(comm, 0);
out:
    return status;
}

static tulle_status out_of_bounds(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle__place own;
    double x;
    TULLE_TRY(tulle__heap_take(comm->pe->data, 8, "test", &own));
    tulle__get(comm, 0, &own, 4, &x, 8);
    status = tulle__wait(comm, 0);
    tulle__heap_give(comm->pe->data, &own);
out:
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]), seen[64] = {0};
    struct blocks blocks[64] = {{0}}, now[64] = {{0}}; /* other processes' stay 0 */
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = (size_t)npes << 26};
    tulle_status status = tulle_team_new(argv[1], npes, &options, &team);
    if (!ok(status == TULLE_OK, "open %s with %d PEs: %s", argv[1], npes, tulle_error_message())) return tap_done();
    ok(tulle_team_size(team) == npes, "size");
    tulle_team_run(team, count_blocks, blocks);
    for (int i = 0; i < 3; i++) tulle_team_run(team, test_rank, seen);
    status = tulle_team_run(team, test_counts, &(struct counts){seen, 3});
    ok(status == TULLE_OK, "each PE ran in each of three runs: %s", tulle_error_message());

    static const struct {
        const char *name;
        tulle_body body;
    } tests[] = {{"collectives", test_collectives}, {"transfers", test_transfers}, {"vectors", test_vectors},
        {"handles", test_handles}, {"atomics", test_atomics}, {"queue", test_queue},
        {"messages between all PEs", test_all_to_all}, {"arena", test_arena}, {"split", test_split},
        {"agree", test_agree}};
    for (int again = 0; again < 2; again++) {
        for (size_t t = 0; t < sizeof tests / sizeof *tests; t++) {
            status = tulle_team_run(team, tests[t].body, NULL);
            ok(status == TULLE_OK, "%s: %s", tests[t].name, status == TULLE_OK ? "passes" : tulle_error_message());
        }
        for (int bad = 0; bad < npes && !again; bad++) {
            status = tulle_team_run(team, body_fails, &bad);
            ok(status == TULLE_ERR_IO && strstr(tulle_error_message(), "disk on fire"),
                "a failing body ends the run: %s", tulle_error_message());
        }
    }
    test_sayings(team, npes);
    test_echo(team);
    test_leaving(team, npes);
    if (strstr(argv[1], "check")) {
        status = tulle_team_run(team, forgets_to_wait, seen);
        ok(status == TULLE_ERR_COMM && strstr(tulle_error_message(), "never waited"), "check sees a forgotten wait: %s",
            tulle_error_message());
        status = tulle_team_run(team, test_counts, &(struct counts){seen, 1});
        ok(status == TULLE_OK, "and each PE saw NaN: %s", tulle_error_message());
        status = tulle_team_run(team, polls_without_waiting, NULL);
        ok(status == TULLE_OK, "bytes come with the wait: %s", tulle_error_message());
        status = tulle_team_run(team, waits_for_nothing_started, NULL);
        ok(status == TULLE_ERR_COMM && strstr(tulle_error_message(), "has started no transfer"),
            "check sees a wait for nothing: %s", tulle_error_message());
        status = tulle_team_run(team, uses_freed, NULL);
        ok(status == TULLE_ERR_COMM && strstr(tulle_error_message(), "freed"), "check sees a stale remote address: %s",
            tulle_error_message());
        status = tulle_team_run(team, out_of_bounds, NULL);
        ok(status == TULLE_ERR_COMM && strstr(tulle_error_message(), "exceeds a block of 8 bytes"),
            "check sees bounds: %s", tulle_error_message());
    }
    ok(tulle_team_run(team, count_blocks, now) == TULLE_OK, "blocks are counted");
    for (int r = 0; r < npes; r++)
        ok(blocks[r].data == now[r].data && blocks[r].control == now[r].control, "PE %d: no segment block left", r);
    tulle_team_free(team);
    tulle_team_free(NULL);
    test_vector_failure(argv[1], npes);
    return tap_done();
}
