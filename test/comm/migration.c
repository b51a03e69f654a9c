/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `migrate`: when a page moves, how it is counted, and its cost: migration ENGINE. Two
 * PEs alternate, so every count is exact.
 */
#include <string.h>

#include "base/error.h"
#include "body.h"
#include "comm/comm.h"
#include "tap.h"

enum { PAGE = 4096 };

/* Words of PE 0 on four pages of control memory, and a page of data. */
struct ground {
    tulle__place words, data;
    int64_t faults;
};

static tulle_status lay(tulle_comm *comm, struct ground *g)
{
    tulle__place own[2] = {{.length = 0}, {.length = 0}}, all[2][2];
    tulle_status status = tulle__heap_take(comm->pe->control, 5 * PAGE, "test", &own[0]);
    if (status == TULLE_OK) status = tulle__heap_take(comm->pe->data, 2 * PAGE, "test", &own[1]);
    own[0].managed = own[1].managed = 1;
    if (status == TULLE_OK) memset(tulle__mapped(comm, &own[0]), 0, 5 * PAGE);
    if (status == TULLE_OK) memset(tulle__mapped(comm, &own[1]), 0, 2 * PAGE);
    status = tulle_comm_agree(comm, status);
    for (int i = 0; i < 2 && status == TULLE_OK; i++)
        status = tulle_comm_allgather(comm, &own[i], sizeof own[i], all[i]);
    if (status != TULLE_OK) return status;
    g->words = all[0][0];
    g->data = all[1][0];
    g->faults = tulle__page_faults(comm);
    return TULLE_OK;
}

/* Faults of this PE since the last call. */
static int faults(tulle_comm *comm, struct ground *g)
{
    int64_t before = g->faults;
    g->faults = tulle__page_faults(comm);
    return (int)(g->faults - before);
}

/* The first byte of the n-th whole page. */
static uint64_t page(const tulle__place *place, int n)
{
    return (uint64_t)PAGE - place->offset % PAGE + (uint64_t)n * PAGE;
}

static tulle_status turns(tulle_comm *comm, void *arg)
{
    (void)arg;
    struct ground g;
    tulle_status status;
    int rank = tulle_comm_rank(comm);
    uint64_t got[3 * PAGE / sizeof(uint64_t)];
    TULLE_TRY(lay(comm, &g));
    uint64_t first = page(&g.words, 0);
    if (rank == 1) {
        for (int i = 0; i < 5; i++) EXPECT(tulle__fetch_add(comm, &g.words, first, 1) == (uint64_t)i);
        EXPECT(faults(comm, &g) == 1); /* then the page is here */
        EXPECT(tulle__load(comm, &g.words, first + PAGE - 8) == 0 && faults(comm, &g) == 0);
        tulle__store(comm, &g.words, first + PAGE, 7);
        EXPECT(faults(comm, &g) == 1);
    }
    TULLE_TRY(tulle_comm_barrier(comm)); /* its words are at fixed places, whose pages do not move */
    EXPECT(faults(comm, &g) == 0);
    if (rank == 0) {
        EXPECT(tulle__load(comm, &g.words, first) == 5 && faults(comm, &g) == 1);
        EXPECT(tulle__load(comm, &g.words, first + PAGE) == 7 && faults(comm, &g) == 1);
        EXPECT(tulle__load(comm, &g.words, first + 2 * PAGE) == 0 && faults(comm, &g) == 0); /* it never left */
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    if (rank == 1) {
        tulle__range lists[2] = {{first, got, PAGE}, {first + 2 * PAGE + 64, got + PAGE / 8, 8}};
        tulle__getv(comm, 3, &g.words, 2, lists);
        TULLE_TRY(tulle__wait(comm, 3));
        EXPECT(got[0] == 5 && got[PAGE / 8] == 0 && faults(comm, &g) == 2);
        EXPECT(tulle__fetch_add(comm, &g.words, first, 1) == 5);
        EXPECT(faults(comm, &g) == 0 && tulle__load(comm, &g.words, first) == 6);
        /* across the edge of two pages */
        tulle__put(comm, 3, &g.data, page(&g.data, 0) - 8, got, 16);
        TULLE_TRY(tulle__wait(comm, 3));
        EXPECT(faults(comm, &g) == 2);
        tulle__get(comm, 3, &g.data, page(&g.data, 0), got + 1, 8);
        TULLE_TRY(tulle__wait(comm, 3));
        EXPECT(faults(comm, &g) == 0);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* Blocks that are not managed are memory for remote access, also on a page of one that is. */
static tulle_status stays(tulle_comm *comm, void *arg)
{
    (void)arg;
    struct ground g;
    tulle_status status;
    uint64_t got[2] = {0, 0};
    TULLE_TRY(lay(comm, &g));
    if (tulle_comm_rank(comm) == 1) {
        uint64_t first = page(&g.words, 0);
        tulle__place words = g.words, data = g.data;
        words.managed = data.managed = 0;
        for (int i = 0; i < 5; i++) EXPECT(tulle__fetch_add(comm, &words, first, 1) == (uint64_t)i);
        tulle__store(comm, &words, first + 8, 9);
        tulle__put(comm, 3, &data, 0, &(uint64_t){6}, 8);
        TULLE_TRY(tulle__wait(comm, 3));
        tulle__range both[2] = {{0, got, 8}, {PAGE, got + 1, 8}};
        tulle__getv(comm, 3, &data, 2, both);
        TULLE_TRY(tulle__wait(comm, 3));
        EXPECT(got[0] == 6 && got[1] == 0 && faults(comm, &g) == 0);
        EXPECT(tulle__load(comm, &g.words, first) == 5 && faults(comm, &g) == 1);
        EXPECT(tulle__load(comm, &g.words, first + 8) == 9 && faults(comm, &g) == 0);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* A page that has moved three times goes home and stays; accesses still work. */
static tulle_status settles(tulle_comm *comm, void *arg)
{
    (void)arg;
    struct ground g;
    tulle_status status;
    int met = 0;
    TULLE_TRY(lay(comm, &g));
    uint64_t got[2] = {0, 0}, first = page(&g.words, 0);
    for (int i = 0; i < 10; i++) {
        if (i % 2 != tulle_comm_rank(comm)) EXPECT(tulle__fetch_add(comm, &g.words, first, 1) == (uint64_t)i);
        met += faults(comm, &g);
        TULLE_TRY(tulle_comm_barrier(comm));
    }
    EXPECT(met == (tulle_comm_rank(comm) == 1 ? 2 : 1));
    if (tulle_comm_rank(comm) == 1) { /* on that page, and on one that may move */
        tulle__range both[2] = {{first, got, 8}, {first + PAGE, got + 1, 8}};
        EXPECT(tulle__fetch_add(comm, &g.words, first, 1) == 10);
        tulle__getv(comm, 3, &g.words, 2, both);
        TULLE_TRY(tulle__wait(comm, 3));
        EXPECT(got[0] == 11 && got[1] == 0 && faults(comm, &g) == 1);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* Both PEs access the page at once: a list faults once, and the atomics of its threads do not. */
static tulle_status competes(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TIMES = 20 };
    struct ground g;
    tulle_status status;
    uint64_t got[8];
    TULLE_TRY(lay(comm, &g));
    uint64_t first = page(&g.words, 0);
    TULLE_TRY(tulle_comm_barrier(comm));
    for (int i = 0; i < TIMES; i++) {
        /* of the same page, words that nobody adds to: a list reads them as bytes */
        tulle__getv(comm, 3, &g.words, 1, &(tulle__range){first + sizeof got, got, sizeof got});
        TULLE_TRY(tulle__wait(comm, 3));
        for (uint64_t w = 0; w < 8; w++) (void)tulle__fetch_add(comm, &g.words, first + 8 * w, 1);
        if (tulle__is_virtual(comm)) EXPECT(faults(comm, &g) <= 1);
        tulle__kernel_begin(comm); /* shorter than a move: the other PE claims the page during a fault */
        tulle__kernel_end(comm, &(tulle__work){.memory = 3e5, .resident = 1});
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    for (uint64_t w = 0; w < 8; w++) EXPECT(tulle__load(comm, &g.words, first + 8 * w) == 2 * TIMES);
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    return status;
}

/* A page alternates between PEs: each move costs the fault's 2 ms and the transfer's 1 ms. */
static tulle_status costs(tulle_comm *comm, void *arg)
{
    (void)arg;
    enum { TIMES = 3 };
    struct ground g;
    tulle_status status;
    TULLE_TRY(lay(comm, &g));
    for (int i = 0; i < 2 * TIMES; i++) {
        if (i % 2 != tulle_comm_rank(comm)) {
            int64_t start = tulle__now(comm);
            (void)tulle__load(comm, &g.words, page(&g.words, 1));
            int64_t took = tulle__now(comm) - start;
            EXPECT(took >= 3000000 && faults(comm, &g) == 1);
            if (tulle__is_virtual(comm)) EXPECT(took < 3100000);
            start = tulle__now(comm);
            (void)tulle__load(comm, &g.words, page(&g.words, 1));
            if (tulle__is_virtual(comm)) EXPECT(tulle__now(comm) - start < 1000);
        }
        TULLE_TRY(tulle_comm_barrier(comm));
    }
out:
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: %s ENGINE\n", argv[0]), 2;
    char spec[256];
    tulle_team *team;
    tulle_team_options options = {.memory = (size_t)2 << 26, .threads = 1};
    snprintf(spec, sizeof spec, "migrate:page=4096,fault=1us+%s", argv[1]);
    if (!ok(tulle_team_new(spec, 2, &options, &team) == TULLE_OK, "open %s: %s", spec, tulle_error_message()))
        return tap_done();
    ok(tulle_team_run(team, turns, NULL) == TULLE_OK, "who faults when: %s", tulle_error_message());
    ok(tulle_team_run(team, stays, NULL) == TULLE_OK, "memory that is not managed: %s", tulle_error_message());
    ok(tulle_team_run(team, competes, NULL) == TULLE_OK, "who competes for a page: %s", tulle_error_message());
    tulle_team_free(team);
    snprintf(spec, sizeof spec, "migrate:page=4096,fault=1us,pin=3+%s", argv[1]);
    ok(tulle_team_new(spec, 2, &options, &team) == TULLE_OK, "open %s: %s", spec, tulle_error_message());
    ok(tulle_team_run(team, settles, NULL) == TULLE_OK, "what settles: %s", tulle_error_message());
    tulle_team_free(team);
    snprintf(spec, sizeof spec, "migrate:page=4096,fault=2ms,bw=4096000+%s", argv[1]);
    ok(tulle_team_new(spec, 2, &options, &team) == TULLE_OK, "open %s: %s", spec, tulle_error_message());
    ok(tulle_team_run(team, costs, NULL) == TULLE_OK, "what a fault costs: %s", tulle_error_message());
    tulle_team_free(team);
    snprintf(spec, sizeof spec, "migrate:page=8+%s", argv[1]);
    ok(tulle_team_new(spec, 2, &options, &team) == TULLE_ERR_ARG, "pages of 8 bytes: %s", tulle_error_message());
    snprintf(spec, sizeof spec, "migrate:page=64+%s", argv[1]);
    ok(tulle_team_new(spec, 2, &options, &team) == TULLE_ERR_LIMIT, "too many pages: %s", tulle_error_message());
    return tap_done();
}
