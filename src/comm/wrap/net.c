/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `net`: the time of a chosen network, in real time. A PE has one port: transfers of its own follow each
 * other on it at bw bytes a second and arrive latency later; atomics that return a value take a round trip. The bytes
 * themselves are moved when the transfer starts, the wait waits for the rest of its time. Other PEs are not direct.
 * A list of ranges is one transfer. Times mean something while there is a core for every thread.
 */
#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/wrap/wrap.h"

struct net_link {
    tulle__link link;
    double latency_ns, ns_per_byte;
    int64_t port_free;              /* when the port has sent what it was given */
    int64_t arrival[TULLE__GROUPS]; /* of the group's last transfer */
};

static void charge(struct net_link *net, int group, const tulle__place *place, size_t bytes)
{
    if (place->rank == net->link.rank) return;
    int64_t now = tulle__clock_ns();
    int64_t start = net->port_free > now ? net->port_free : now;
    net->port_free = start + (int64_t)((double)bytes * net->ns_per_byte);
    net->arrival[group] = net->port_free + (int64_t)net->latency_ns;
}

static void until(int64_t then)
{
    int64_t now;
    while ((now = tulle__clock_ns()) < then)
        if (then - now > 20000) sched_yield();
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    charge((struct net_link *)link, group, place, bytes);
    tulle__forward_get(link, group, place, at, local, bytes);
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    charge((struct net_link *)link, group, place, bytes);
    tulle__forward_put(link, group, place, at, local, bytes);
}

static void getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    charge((struct net_link *)link, group, place, tulle__ranges_bytes(n, range));
    tulle__link_getv(link->inner, group, place, n, range);
}

static void putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    charge((struct net_link *)link, group, place, tulle__ranges_bytes(n, range));
    tulle__link_putv(link->inner, group, place, n, range);
}

static void getw(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    charge((struct net_link *)link, group, place, tulle__ranges_bytes(n, range));
    tulle__link_getw(link->inner, group, place, n, range);
}

static void addw(
    tulle__link *link, int group, const tulle__place *place, tulle__word_kind kind, int n, const tulle__range *range)
{
    charge((struct net_link *)link, group, place, tulle__ranges_bytes(n, range));
    tulle__link_addw(link->inner, group, place, kind, n, range);
}

static tulle_status wait(tulle__link *link, int group)
{
    until(((struct net_link *)link)->arrival[group]);
    return tulle__forward_wait(link, group);
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
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = tulle__forward_store, /* nobody waits for a store */
    .load = load,
    .direct = tulle__direct_own,
    .progress = tulle__forward_progress,
    .fini = tulle__forward_fini,
    .run_end = tulle__forward_run_end,
    .getv = getv,
    .putv = putv,
    .getw = getw,
    .addw = addw,
};

static tulle_status open_net(tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"latency", "bw"};
    (void)timeline;
    tulle_status status;
    struct net_link *net = NULL;
    double latency = 2e-6, bandwidth = 12e9;
    if (inner->virtual_time) {
        status = tulle__fail(TULLE_ERR_ARG, "net: its time is real, but this engine has a network of its own");
        goto out;
    }
    TULLE_TRY(tulle__spec_seconds(part, "latency", &latency));
    TULLE_TRY(tulle__spec_bytes(part, "bw", &bandwidth));
    TULLE_TRY(tulle__spec_done(part, keys, 2));
    if (bandwidth < 1) {
        status = tulle__fail(TULLE_ERR_ARG, "net: a bandwidth of %g bytes a second", bandwidth);
        goto out;
    }
    TULLE_TRY(tulle__alloc_zero(1, sizeof *net, "net wrapper", &net));
    net->latency_ns = latency * 1e9;
    net->ns_per_byte = 1e9 / bandwidth;
    tulle__wrap(&net->link, &net_ops, inner);
    *link = &net->link;
out:
    return status;
}

const tulle__wrapper tulle__wrapper_net = {
    .name = "net",
    .summary = "remote transfers take the time of a network (latency=2us, bw=12G)",
    .open = open_net,
};
