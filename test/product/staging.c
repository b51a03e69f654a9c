/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies through the ring of pinned parts, and receive buffers: staging DEVICE. Lines of all widths with and
 * without gaps, from bytes to more than all parts, in two queues in turn, both ways; an allocation that fails; blocks
 * of the receive buffers, which are found by address, kept, dropped for others and limited.
 */
#include <stdio.h>
#include <string.h>

#include <tulle/device.h>

#include "algo/product/run/staging.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "comm/comm.h"
#include "tap.h"

enum { ROUNDS = 20, MOST = 11 << 20 };

static unsigned char value_of(size_t round, size_t at)
{
    return (unsigned char)(at * 2654435761u >> 13 ^ round * 37);
}

/* Uniform in [0, n). */
static size_t below(uint64_t *draw, size_t n)
{
    return (size_t)tulle__random_below(tulle__random_at(11, 0, (*draw)++), n);
}

/* A shape of at most MOST bytes on both sides, and another pitch on each. */
static void choose(size_t round, size_t *lines, size_t *width, size_t pitch[2])
{
    uint64_t draw = 16 * round;
    static const size_t widths[] = {1, 7, 64, 4096, 100000, 1 << 20, (2 << 20) + 13, 5 << 20};
    *width = widths[below(&draw, sizeof widths / sizeof *widths)];
    *width -= below(&draw, *width / 2 + 1);
    for (int side = 0; side < 2; side++) pitch[side] = *width + (below(&draw, 2) ? below(&draw, *width + 9) : 0);
    const size_t most = MOST / (pitch[0] > pitch[1] ? pitch[0] : pitch[1]);
    *lines = below(&draw, 3) ? 1 + below(&draw, most) : 1;
}

struct side {
    unsigned char *from, *to;
};

/* Up with one pitch and down again with another: lines are there, what is between them is as it was. */
static size_t round_trip(tulle__device *device, tulle__staging *staging, tulle__device_queue *const queue[2],
    tulle__device_buffer *buffer, const struct side *host, size_t round)
{
    size_t lines, width, pitch[2], wrong = 0;
    choose(round, &lines, &width, pitch);
    for (size_t at = 0; at < MOST; at++) host->from[at] = value_of(round, at);
    memset(host->to, 0x5a, MOST);
    tulle__staging_copy_up(staging, queue[round % 2],
        &(tulle__device_copy){.to = {buffer, 256},
            .host = host->from,
            .lines = lines,
            .width = width,
            .to_pitch = pitch[0],
            .from_pitch = pitch[1]});
    if (device->ops->queue_wait(queue[round % 2]) != TULLE_OK) return MOST;
    tulle__staging_copy_down(staging, queue[(round + 1) % 2],
        &(tulle__device_copy){.from = {buffer, 256},
            .host = host->to,
            .lines = lines,
            .width = width,
            .to_pitch = pitch[1],
            .from_pitch = pitch[0]});
    if (device->ops->queue_wait(queue[(round + 1) % 2]) != TULLE_OK) return MOST;
    for (size_t at = 0; at < MOST; at++) {
        const int inside = at / pitch[1] < lines && at % pitch[1] < width;
        wrong += host->to[at] != (inside ? value_of(round, at) : 0x5a);
    }
    return wrong;
}

/* Several are under way before anybody waits. */
static size_t many(tulle__device *device, tulle__staging *staging, tulle__device_queue *const queue[2],
    tulle__device_buffer *buffer, const struct side *host)
{
    enum { COPIES = 23 };
    const size_t piece = MOST / COPIES;
    size_t wrong = 0;
    for (size_t at = 0; at < MOST; at++) host->from[at] = value_of(1000, at);
    for (size_t n = 0; n < COPIES; n++)
        tulle__staging_upload(
            staging, queue[n / 5 % 2], &(tulle__device_place){buffer, n * piece}, host->from + n * piece, piece);
    for (int q = 0; q < 2; q++) wrong += device->ops->queue_wait(queue[q]) != TULLE_OK;
    memset(host->to, 0, MOST);
    tulle__staging_download(staging, queue[0], host->to, &(tulle__device_place){buffer, 0}, COPIES * piece);
    wrong += device->ops->queue_wait(queue[0]) != TULLE_OK;
    for (size_t at = 0; at < COPIES * piece; at++) wrong += host->to[at] != value_of(1000, at);
    return wrong;
}

static void copies(tulle__device *device, int64_t fails, const struct side *host)
{
    tulle__staging *staging = NULL;
    tulle__device_queue *queue[2] = {NULL, NULL};
    tulle__device_buffer *buffer = NULL;
    tulle__pool *pool = NULL;
    size_t wrong = 0;
    int made = tulle__pool_new(3, &pool) == TULLE_OK && tulle__staging_new(device, pool, NULL, &staging) == TULLE_OK &&
               device->ops->queue_new(device, &queue[0]) == TULLE_OK &&
               device->ops->queue_new(device, &queue[1]) == TULLE_OK &&
               tulle__device_buffer_new(device, MOST + 256, "a test", &buffer) == TULLE_OK;
    tulle__account_fail_after(tulle__account_current(), fails);
    for (size_t round = 0; made && round < ROUNDS; round++)
        wrong += round_trip(device, staging, queue, buffer, host, round);
    if (made) wrong += many(device, staging, queue, buffer, host);
    tulle__account_fail_after(tulle__account_current(), -1);
    ok(made && !wrong, "%s: %d copies both ways%s: %zu bytes wrong", device->text, ROUNDS,
        fails < 0 ? "" : ", with less memory for the ring", wrong);
    for (int q = 0; q < 2; q++) device->ops->queue_free(device, queue[q]);
    tulle__staging_free(staging);
    tulle__device_buffer_free(device, buffer);
    tulle__pool_free(pool);
}

static tulle_status receive(tulle_comm *comm, void *arg)
{
    tulle__device *device = arg;
    tulle__receive_buffers *blocks;
    tulle__device_place place;
    tulle_status status = tulle__receive_buffers_new(comm, device, false, &blocks);
    if (status != TULLE_OK) return status;
    tulle__receiver *receiver = tulle__receive_buffers_of(blocks);
    char *a = receiver->take(receiver, 100000, true), *b = receiver->take(receiver, 100000, false), *c;
    ok(a && b && a != b, "two blocks");
    ok(tulle__receive_buffers_find(blocks, a + 99999, &place) == TULLE__RECEIVED_PINNED &&
            tulle__receive_buffers_find(blocks, b, &place) == TULLE__RECEIVED_PINNED &&
            tulle__receive_buffers_find(blocks, &place, &place) == TULLE__RECEIVED_ELSEWHERE &&
            tulle__receive_buffers_find(NULL, a, &place) == TULLE__RECEIVED_ELSEWHERE,
        "found by their addresses");
    receiver->give(receiver, a);
    c = receiver->take(receiver, 70000, false);
    ok(c == a, "a block is used again");
    receiver->give(receiver, c);
    c = receiver->take(receiver, 1000000, false);
    ok(c && c != a, "not for one much larger");
    char *large = receiver->take(receiver, (size_t)1 << 62, false);
    ok(!large, "there is no room for more than an eighth of the memory");
    char *some[200];
    int taken = 0;
    while (taken < 200 && (some[taken] = receiver->take(receiver, 65536, false))) taken++;
    ok(taken > 20 && taken < 200, "%d blocks more, and no others", taken);
    for (int n = 0; n < taken; n++) receiver->give(receiver, some[n]);
    large = receiver->take(receiver, 500000, false);
    ok(large != NULL, "those that are free make room for another size");
    receiver->give(receiver, large);
    receiver->give(receiver, b);
    receiver->give(receiver, c);
    ok(!receiver->take(receiver, TULLE__PINNED_LEAST - 1, true), "small ones land elsewhere");
    tulle__receive_buffers_trim(blocks);
    ok(tulle__receive_buffers_find(blocks, large, &place) == TULLE__RECEIVED_PINNED, "all stays while there is memory");
    const size_t left = tulle__account_left(tulle__account_current());
    void *rest = NULL;
    ok(tulle__alloc(left - left / 100, 1, "most of the memory", &rest) == TULLE_OK, "most of the memory");
    tulle__receive_buffers_trim(blocks);
    tulle__free(rest);
    ok(tulle__receive_buffers_find(blocks, large, &place) == TULLE__RECEIVED_ELSEWHERE,
        "and goes where there is little left");
    tulle__receive_buffers_free(blocks);
    return TULLE_OK;
}

int main(int argc, char **argv)
{
    if (argc != 2) return fprintf(stderr, "usage: %s DEVICE\n", argv[0]), 2;
    tulle__device *device;
    tulle_team *team;
    const tulle__device_setting setting = {.threads = 1};
    tulle_status status = tulle__device_open(argv[1], &setting, &device);
    if (status == TULLE_OK) tulle__device_close(device); /* what a module keeps is there now */
    const int64_t before = tulle__account_blocks(tulle__account_current());
    if (status == TULLE_OK) status = tulle__device_open(argv[1], &setting, &device);
    if (status == TULLE_ERR_UNSUPPORTED) return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (!ok(status == TULLE_OK, "open: %s", tulle_error_message())) return tap_done();
    device->pinned = 1; /* also of those for which it does not matter */
    struct side host;
    if (tulle__alloc(MOST, 1, "a test", &host.from) == TULLE_OK &&
        tulle__alloc(MOST, 1, "a test", &host.to) == TULLE_OK) {
        for (int fails = -1; fails < 6; fails++) copies(device, fails, &host);
        tulle__free(host.from);
        tulle__free(host.to);
    }
    const tulle_team_options options = {.memory = (size_t)1 << 28, .threads = 1};
    if (tulle_team_new("threads", 1, &options, &team) == TULLE_OK) {
        tulle_team_run(team, receive, device);
        tulle_team_free(team);
    }
    tulle__device_close(device);
    ok(tulle__account_blocks(tulle__account_current()) == before, "nothing is left behind");
    return tap_done();
}
