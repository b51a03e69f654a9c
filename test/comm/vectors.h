/* SPDX-License-Identifier: Apache-2.0 */
/* Vector transfers: lists of ranges of one PE's segment, each list one operation. For conformance.c alone. */
#ifndef TULLE_TEST_VECTORS_H
#define TULLE_TEST_VECTORS_H

#include <string.h>

#include "base/random.h"
#include "body.h"
#include "comm/comm.h"
#include "tap.h"

enum {
    VECTOR_BYTES = 700001, /* of a block that others get from; larger than any buffer of an engine */
    VECTOR_CONTROL = 30011,
    VECTOR_MOST = 5000, /* ranges */
    VECTOR_GUARD = 0x5a,
};

static unsigned char vector_byte(int rank, size_t at)
{
    return (unsigned char)(((uint64_t)rank * 97 + at) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

struct vectors {
    tulle__place own, *place;
    unsigned char *mine, *local; /* the own block; where the bytes are got to, or put from */
    tulle__range *range;
    size_t bytes;
    int taken, segment;
};

/* Draws from 0 to `most`. */
static size_t vector_draw(uint64_t *seed, size_t most)
{
    return (size_t)tulle__random_below(tulle__random_at(17, 0, ++*seed), (uint64_t)most + 1);
}

static tulle__heap *vector_heap(tulle_comm *comm, int segment)
{
    return segment == TULLE__DATA ? comm->pe->data : comm->pe->control;
}

static tulle_status vectors_make(tulle_comm *comm, int segment, struct vectors *v)
{
    tulle_status status;
    *v = (struct vectors){.segment = segment, .bytes = segment == TULLE__DATA ? VECTOR_BYTES : VECTOR_CONTROL};
    TULLE_TRY(tulle__alloc((size_t)tulle_comm_size(comm), sizeof *v->place, "test", &v->place));
    TULLE_TRY(tulle__alloc(4 * v->bytes, 1, "test", &v->local));
    TULLE_TRY(tulle__alloc(VECTOR_MOST, sizeof *v->range, "test", &v->range));
    TULLE_TRY(tulle__heap_take(vector_heap(comm, segment), v->bytes, "test", &v->own));
    v->taken = 1;
    v->own.managed = 1; /* the wrapper `migrate` moves its pages */
    v->mine = tulle__mapped(comm, &v->own);
    for (size_t i = 0; i < v->bytes; i++) v->mine[i] = vector_byte(tulle_comm_rank(comm), i);
    TULLE_TRY(tulle_comm_allgather(comm, &v->own, sizeof v->own, v->place));
out:
    return status;
}

static void vectors_fini(tulle_comm *comm, struct vectors *v)
{
    if (v->taken) tulle__heap_give(vector_heap(comm, v->segment), &v->own);
    tulle__free(v->place);
    tulle__free(v->local);
    tulle__free(v->range);
}

/*
 * n ranges of random places, which may overlap, of lengths from 0 to `most`, to odd places behind
 * each other with gaps or without. Returns the bytes of the local part.
 */
static size_t vector_ranges(struct vectors *v, uint64_t *seed, int n, size_t most, int gaps)
{
    size_t to = 1;
    for (int i = 0; i < n; i++) {
        size_t bytes = vector_draw(seed, most);
        if (i % 7 == 3) bytes = 0;
        v->range[i] = (tulle__range){vector_draw(seed, v->bytes - bytes), v->local + to, bytes};
        to += bytes + (gaps ? vector_draw(seed, 2) : 0);
    }
    return to;
}

/* Checks that the ranges arrived, and that nothing lies beside them. */
static int vector_arrived(const struct vectors *v, int rank, int n, size_t end)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        size_t to = (size_t)((unsigned char *)v->range[i].local - v->local);
        for (; at < to; at++)
            if (v->local[at] != VECTOR_GUARD) return 0;
        for (size_t b = 0; b < v->range[i].bytes; b++, at++)
            if (v->local[at] != vector_byte(rank, v->range[i].at + b)) return 0;
    }
    for (; at < end + 64; at++)
        if (v->local[at] != VECTOR_GUARD) return 0;
    return 1;
}

static const struct {
    int n;
    size_t most;
} vector_lists[] = {
    {0, 0}, {1, 9}, {1, 0}, {2, 1}, {2, 5001}, {64, 33}, {64, 1024}, {64, 0}, {VECTOR_MOST, 5}, {VECTOR_MOST, 101}};

static tulle_status get_vectors(tulle_comm *comm, struct vectors *v, uint64_t *seed)
{
    tulle_status status = TULLE_OK;
    for (size_t t = 0; t < sizeof vector_lists / sizeof *vector_lists; t++)
        for (int r = 0; r < tulle_comm_size(comm); r++)
            for (int gaps = 0; gaps < 2; gaps++) {
                if ((size_t)vector_lists[t].n * (vector_lists[t].most + 3) > 4 * v->bytes) continue;
                memset(v->local, VECTOR_GUARD, 4 * v->bytes);
                size_t end = vector_ranges(v, seed, vector_lists[t].n, vector_lists[t].most, gaps);
                tulle__getv(comm, 5, &v->place[r], vector_lists[t].n, v->range);
                TULLE_TRY(tulle__wait(comm, 5));
                EXPECT(vector_arrived(v, r, vector_lists[t].n, end));
            }
    /* ranges larger than what an engine moves at once, between small ones */
    for (int r = 0; r < tulle_comm_size(comm); r++) {
        const size_t third = v->bytes / 3;
        memset(v->local, VECTOR_GUARD, 4 * v->bytes);
        v->range[0] = (tulle__range){5, v->local + 3, 7};
        v->range[1] = (tulle__range){third, v->local + 11, v->bytes - third};
        v->range[2] = (tulle__range){1, v->local + 11 + v->bytes - third, third + 1};
        v->range[3] = (tulle__range){v->bytes - 1, v->local + 13 + v->bytes, 1};
        tulle__getv(comm, 2, &v->place[r], 4, v->range);
        TULLE_TRY(tulle__wait(comm, 2));
        EXPECT(vector_arrived(v, r, 4, v->bytes + 14));
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* Lists of all groups are under way together, several of each, and are waited for in reverse order. */
static tulle_status get_in_groups(tulle_comm *comm, struct vectors *v, uint64_t *seed)
{
    enum { GROUPS = TULLE__GROUPS - 1, TIMES = 6, N = 20, LISTS = GROUPS * TIMES };
    tulle_status status = TULLE_OK;
    int size = tulle_comm_size(comm);
    size_t most = v->bytes * 4 / (LISTS * N) - 2, capacity = v->bytes * 4 / LISTS;
    if (most > 300) most = 300;
    memset(v->local, VECTOR_GUARD, 4 * v->bytes);
    for (int list = 0; list < LISTS; list++) {
        tulle__range *range = v->range + list * N;
        for (int i = 0; i < N; i++) {
            size_t bytes = vector_draw(seed, most);
            range[i] = (tulle__range){vector_draw(seed, v->bytes - bytes),
                v->local + (size_t)list * capacity + (size_t)i * (most + 1), bytes};
        }
        tulle__range given[N]; /* the list need not outlive the call */
        memcpy(given, range, sizeof given);
        tulle__getv(comm, list % GROUPS, &v->place[(comm->rank + list) % size], N, given);
        memset(given, 0, sizeof given);
    }
    for (int group = GROUPS - 1; group >= 0; group--) {
        TULLE_TRY(tulle__wait(comm, group));
        for (int list = group; list < LISTS; list += GROUPS)
            for (int i = 0; i < N; i++) {
                const tulle__range *range = &v->range[list * N + i];
                for (size_t b = 0; b < range->bytes; b++)
                    EXPECT(
                        ((unsigned char *)range->local)[b] == vector_byte((comm->rank + list) % size, range->at + b));
            }
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* Every PE puts odd pieces into its part of everyone's block; what lies between them stays. */
static tulle_status put_vectors(tulle_comm *comm, struct vectors *v, int n, size_t most)
{
    tulle_status status = TULLE_OK;
    int size = tulle_comm_size(comm);
    size_t part = v->bytes / (size_t)size, step = part / (size_t)n;
    if (step < 2 || n > VECTOR_MOST) goto out;
    if (most > step - 1) most = step - 1;
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < n; i++) {
            size_t at = (size_t)comm->rank * part + (size_t)i * step + (size_t)(i % 2 && most < step - 1);
            v->range[i] =
                (tulle__range){at, v->local + (size_t)r * part + (size_t)i * step, most - (size_t)(i % 3 == 1)};
            for (size_t b = 0; b < v->range[i].bytes; b++)
                ((unsigned char *)v->range[i].local)[b] = (unsigned char)~vector_byte(r, at + b);
        }
        tulle__putv(comm, r % 3, &v->place[r], n, v->range);
    }
    for (int group = 0; group < 3; group++) TULLE_TRY(tulle__wait(comm, group));
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) {
            size_t from = (size_t)r * part + (size_t)i * step, at = from + (size_t)(i % 2 && most < step - 1);
            for (size_t b = from; b < from + step; b++) {
                int put = b >= at && b < at + most - (size_t)(i % 3 == 1);
                unsigned char want = vector_byte(comm->rank, b);
                EXPECT(v->mine[b] == (put ? (unsigned char)~want : want));
                v->mine[b] = want;
            }
        }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

static tulle_status test_vectors(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status = TULLE_OK;
    for (int segment = 0; segment < TULLE__SEGMENTS && status == TULLE_OK; segment++) {
        struct vectors v;
        uint64_t seed = (uint64_t)comm->rank * 7 + (uint64_t)segment + 1;
        status = vectors_make(comm, segment, &v);
        if (status == TULLE_OK) status = get_vectors(comm, &v, &seed);
        if (status == TULLE_OK) status = get_in_groups(comm, &v, &seed);
        for (size_t t = 0; t < sizeof vector_lists / sizeof *vector_lists && status == TULLE_OK; t++)
            if (vector_lists[t].n && vector_lists[t].most)
                status = put_vectors(comm, &v, vector_lists[t].n, vector_lists[t].most);
        /* pieces larger than what an engine moves at once */
        if (status == TULLE_OK) status = put_vectors(comm, &v, 2, v.bytes);
        vectors_fini(comm, &v);
    }
    return status;
}

/*
 * A list fails as one: all of its bytes are marked, the wait for it or for its group returns the
 * error, polling for it ends, and no other list is touched.
 */
static tulle_status fails_once(tulle_comm *comm, void *arg)
{
    enum { TIMES = 60, N = 64 };
    (void)arg;
    tulle_status status;
    struct vectors v;
    int failures = 0, next = (comm->rank + 1) % tulle_comm_size(comm);
    uint64_t seed = 5;
    TULLE_TRY(vectors_make(comm, TULLE__DATA, &v));
    for (int times = 0; times < TIMES && comm->rank == 0; times++) {
        memset(v.local, VECTOR_GUARD, 65536);
        size_t end = vector_ranges(&v, &seed, N, 99, 1);
        const tulle__transfer list = tulle__getv(comm, 1, &v.place[next], N, v.range);
        for (int turns = 0; times % 2 && tulle__transfer_ready(comm, &list) == 0;) tulle__pause(comm, &turns);
        if ((times % 2 ? tulle__transfer_wait(comm, &list) : tulle__wait(comm, 1)) == TULLE_OK) {
            EXPECT(vector_arrived(&v, next, N, end));
            continue;
        }
        failures++;
        EXPECT(strstr(tulle_error_message(), "as asked for"));
        EXPECT(times > 5); /* its operations are lists, not their ranges */
        for (int i = 0; i < N; i++)
            for (size_t b = 0; b < v.range[i].bytes; b++) EXPECT(((unsigned char *)v.range[i].local)[b] == 0xff);
    }
    EXPECT(comm->rank != 0 || failures == 1);
out:
    status = tulle_comm_agree(comm, status);
    vectors_fini(comm, &v);
    return status;
}

static void test_vector_failure(const char *spec, int npes)
{
    char faulty[256];
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = (size_t)npes << 26};
    snprintf(faulty, sizeof faulty, "fault:op=50,rank=0+%s", spec);
    tulle_status status = tulle_team_new(faulty, npes, &options, &team);
    ok(status == TULLE_OK, "open %s: %s", faulty, tulle_error_message());
    if (status != TULLE_OK) return;
    status = tulle_team_run(team, fails_once, NULL);
    ok(status == TULLE_OK, "a list of ranges fails as one: %s", status == TULLE_OK ? "it does" : tulle_error_message());
    tulle_team_free(team);
}

#endif
