/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `net`: a network's latency and bandwidth, in real time. A PE has one port, on which
 * its transfers follow each other at bw bytes a second; they arrive latency later. Atomics that
 * return a value take a round trip. A list of ranges is one transfer. The bytes move when the
 * transfer starts, and the wait lasts until its arrival. Other PEs' memory is not mapped. Times are
 * meaningful if every thread has a core.
 */
#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/wrap/wrap.h"

enum { DATES = 64 }; /* arrivals that a group records; further transfers arrive with the last */

/* Transfers of a group with one date of arrival. */
struct arrival {
    uint64_t count, below; /* count of the last of them, here and at the link below */
    int64_t date;
};

/* A ring, oldest arrival first. */
struct group {
    struct arrival arrival[DATES];
    int first, n;
    uint64_t count, over; /* count of the last transfer started; of the last one waited for */
};

struct net_link {
    tulle__link link;
    double latency_ns, ns_per_byte;
    int64_t port_free; /* when the port is free again */
    struct group group[TULLE__GROUPS];
};

static struct arrival *arrival_of(struct group *group, int i)
{
    return &group->arrival[(group->first + i) % DATES];
}

/* The date of arrival of a transfer that starts now; 0: it stays within the PE. */
static int64_t schedule(struct net_link *net, const tulle__place *place, size_t bytes)
{
    if (place->rank == net->link.rank) return 0;
    int64_t now = tulle__clock_ns();
    int64_t start = net->port_free > now ? net->port_free : now;
    net->port_free = start + (int64_t)((double)bytes * net->ns_per_byte);
    return net->port_free + (int64_t)net->latency_ns;
}

/*
 * Records a transfer, which the link below counts as `below`. It arrives no earlier than those
 * before it.
 */
static uint64_t started(struct net_link *net, int g, int64_t date, uint64_t below)
{
    struct group *group = &net->group[g];
    if (!date && !below) return 0;
    struct arrival last = group->n ? *arrival_of(group, group->n - 1) : (struct arrival){.date = 0};
    if (group->n < DATES) group->n++;
    *arrival_of(group, group->n - 1) = (struct arrival){
        .count = ++group->count, .below = below ? below : last.below, .date = date > last.date ? date : last.date};
    return group->count;
}

/* The index of a transfer's arrival; -1: it is complete. */
static int find(struct group *group, uint64_t count)
{
    if (count == TULLE__ALL) return group->n - 1;
    if (count <= group->over) return -1;
    for (int i = 0; i < group->n; i++)
        if (arrival_of(group, i)->count >= count) return i;
    return -1;
}

static void until(int64_t then)
{
    int64_t now;
    while ((now = tulle__clock_ns()) < then)
        if (then - now > 20000) sched_yield();
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    struct net_link *net = (struct net_link *)link;
    int64_t date = schedule(net, place, bytes);
    return started(net, group, date, tulle__forward_get(link, group, place, at, local, bytes));
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    struct net_link *net = (struct net_link *)link;
    int64_t date = schedule(net, place, bytes);
    return started(net, group, date, tulle__forward_put(link, group, place, at, local, bytes));
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    struct net_link *net = (struct net_link *)link;
    int64_t date = schedule(net, place, tulle__ranges_bytes(n, range));
    return started(net, group, date, tulle__forward_getv(link, group, place, n, range));
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    struct net_link *net = (struct net_link *)link;
    int64_t date = schedule(net, place, tulle__ranges_bytes(n, range));
    return started(net, group, date, tulle__forward_putv(link, group, place, n, range));
}

static int ready(tulle__link *link, int g, uint64_t count)
{
    struct group *group = &((struct net_link *)link)->group[g];
    int i = find(group, count);
    if (i < 0) return 1;
    if (tulle__clock_ns() < arrival_of(group, i)->date) return 0;
    return tulle__forward_ready(link, g, arrival_of(group, i)->below);
}

static tulle_status wait(tulle__link *link, int g, uint64_t count)
{
    struct group *group = &((struct net_link *)link)->group[g];
    int i = find(group, count);
    uint64_t below = i < 0 ? 0 : arrival_of(group, i)->below;
    if (i >= 0) {
        until(arrival_of(group, i)->date);
        group->over = arrival_of(group, i)->count;
        group->first = (group->first + i + 1) % DATES;
        group->n -= i + 1;
    }
    return tulle__forward_wait(link, g, count == TULLE__ALL ? count : below);
}

static void round_trip(tulle__link *link, const tulle__place *place)
{
    struct net_link *net = (struct net_link *)link;
    if (place->rank != link->rank) until(tulle__clock_ns() + (int64_t)(2 * net->latency_ns));
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    round_trip(link, place);
    return tulle__forward_fetch_add(link, place, at, value);
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    round_trip(link, place);
    return tulle__forward_compare_swap(link, place, at, expected, desired);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    round_trip(link, place);
    return tulle__forward_load(link, place, at);
}

static const tulle__link_ops net_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = tulle__forward_store, /* no PE waits for a store */
    .load = load,
    .mapped = tulle__mapped_own,
    .progress = tulle__forward_progress,
    .doze = tulle__forward_doze,
    .fini = tulle__forward_fini,
    .run_end = tulle__forward_run_end,
};

static tulle_status open_net(tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"latency", "bw"};
    (void)timeline;
    struct net_link *net = NULL;
    double latency = 2e-6, bandwidth = 12e9;
    if (inner->virtual_time)
        return tulle__fail(TULLE_ERR_ARG, "net: its delays take real time, but the engine below simulates a network "
                                          "in virtual time: set that engine's latency and bandwidth instead");
    TULLE_CALL(tulle__spec_seconds(part, "latency", &latency));
    TULLE_CALL(tulle__spec_bytes(part, "bw", &bandwidth));
    TULLE_CALL(tulle__spec_done(part, keys, 2));
    if (bandwidth < 1)
        return tulle__fail(
            TULLE_ERR_ARG, "net: bw=%g is too small: a bandwidth is at least 1 byte a second", bandwidth);
    TULLE_CALL(tulle__alloc_zero(1, sizeof *net, "net wrapper", &net));
    net->latency_ns = latency * 1e9;
    net->ns_per_byte = 1e9 / bandwidth;
    tulle__wrap(&net->link, &net_ops, inner);
    *link = &net->link;
    return TULLE_OK;
}

const tulle__wrapper tulle__wrapper_net = {
    .name = "net",
    .summary = "remote transfers take the time of a network (latency=2us, bw=12G)",
    .open = open_net,
};
