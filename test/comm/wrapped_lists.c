/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every wrapper passes a list of ranges on as one operation, and waits below for the transfers that
 * it is asked for and for no more: a link that counts lies below each of them.
 */
#include <sched.h>
#include <string.h>

#include "base/memory.h"
#include "base/spec.h"
#include "base/timeline.h"
#include "comm/wrap/wrap.h"
#include "tap.h"

enum { N = 64, CONTROL = 1 << 20, DATA = 1 << 16 };

static struct {
    int gets, puts, getvs, putvs;
    int n;
    uint64_t started, waited; /* transfers of the group of the test; the highest that was waited for */
} counted;

static char control[2][CONTROL], data[2][DATA];
static int all_mapped; /* PE 1's memory is reached by load and store */

static char *address(const tulle__place *place, uint64_t at)
{
    return (place->segment == TULLE__DATA ? data[place->rank] : control[place->rank]) + place->offset + at;
}

enum { GROUP = 3, STEP = 1000 }; /* counts are the link's own: these go in thousands */

static uint64_t started(int group)
{
    return group == GROUP ? ++counted.started * STEP : 0;
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    (void)link;
    counted.gets++;
    memcpy(local, address(place, at), bytes);
    return started(group);
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    (void)link;
    counted.puts++;
    memcpy(address(place, at), local, bytes);
    return started(group);
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)link;
    counted.getvs++;
    counted.n = n;
    for (int i = 0; i < n; i++) memcpy(range[i].local, address(place, range[i].at), range[i].bytes);
    return started(group);
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)link;
    counted.putvs++;
    counted.n = n;
    for (int i = 0; i < n; i++) memcpy(address(place, range[i].at), range[i].local, range[i].bytes);
    return started(group);
}

static int ready(tulle__link *link, int group, uint64_t count)
{
    (void)link;
    return group != GROUP || count <= counted.waited * STEP ? 1 : -1;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    (void)link;
    uint64_t asked = count == TULLE__ALL ? counted.started : count / STEP;
    if (group == GROUP && asked > counted.waited) counted.waited = asked;
    return TULLE_OK;
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    uint64_t word;
    (void)link;
    memcpy(&word, address(place, at), sizeof word);
    return word;
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    uint64_t before = load(link, place, at);
    if (before == expected) memcpy(address(place, at), &desired, sizeof desired);
    return before;
}

static void *mapped(tulle__link *link, int rank, int segment)
{
    if (rank != link->rank && !all_mapped) return NULL;
    return segment == TULLE__DATA ? data[rank] : control[rank];
}

static void fini(tulle__link *link)
{
    (void)link;
}

static const tulle__link_ops ops = {.get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .compare_swap = compare_swap,
    .load = load,
    .mapped = mapped,
    .fini = fini};

/* Five gets: the third is waited for, then all. */
static void try_handles(tulle__link *link, const char *text, int lists)
{
    tulle__place place = {.offset = 64, .length = DATA - 64, .rank = 1, .segment = TULLE__DATA};
    char local[5][8];
    uint64_t count[5];
    int answers = 1;
    memset(&counted, 0, sizeof counted);
    for (int i = 0; i < 5; i++)
        count[i] = i % 2 ? link->ops->getv(link, GROUP, &place, 1, &(tulle__range){(uint64_t)i * 8, local[i], 8})
                         : link->ops->get(link, GROUP, &place, (uint64_t)i * 8, local[i], 8);
    if (!lists) { /* copied by the wrapper itself */
        ok(!count[4] && !counted.started && link->ops->ready(link, GROUP, count[4]) == 1, "%s: nothing is under way",
            text);
        return;
    }
    for (int polls = 0; polls < 100 && link->ops->ready(link, GROUP, count[2]) == 0; polls++) sched_yield();
    ok(link->ops->wait(link, GROUP, count[2]) == TULLE_OK && counted.waited == 3, "%s: three are waited for, not %d",
        text, (int)counted.waited);
    for (int i = 0; i < 3; i++) answers &= link->ops->ready(link, GROUP, count[i]) == 1;
    answers &= link->ops->ready(link, GROUP, count[4]) != 1;
    ok(answers, "%s: and known to be complete", text);
    ok(link->ops->wait(link, GROUP, TULLE__ALL) == TULLE_OK && counted.waited == 5, "%s: then all five, not %d", text,
        (int)counted.waited);
}

static void try_wrapper(const tulle__wrapper *wrapper, const char *text, int lists, tulle__timeline *timeline)
{
    tulle__link below = {.ops = &ops, .npes = 2, .segment_bytes = {CONTROL, DATA}}, *link = NULL;
    tulle__spec spec;
    char local[N * 8];
    tulle__range range[N];
    tulle__place place = {.offset = 64, .length = DATA - 64, .rank = 1, .segment = TULLE__DATA};
    for (int i = 0; i < N; i++) range[i] = (tulle__range){(uint64_t)i * 100 + 1, local + i * 8, (size_t)(i % 8)};
    for (int i = 0; i < DATA; i++) data[1][i] = (char)(i * 7);
    memset(control, 0, sizeof control);
    if (!ok(tulle__spec_parse(text, &spec) == TULLE_OK, "%s: %s", text, tulle_error_message())) return;
    tulle_status status = wrapper->open(&spec.part[0], &below, timeline, &link);
    if (!ok(status == TULLE_OK, "%s opens: %s", text, tulle_error_message())) return;
    memset(&counted, 0, sizeof counted);
    memset(local, 1, sizeof local);
    link->ops->getv(link, GROUP, &place, N, range);
    ok(link->ops->wait(link, GROUP, TULLE__ALL) == TULLE_OK, "%s: waited for", text);
    int right = 1;
    for (int i = 0; i < N; i++) right &= memcmp(local + i * 8, address(&place, range[i].at), range[i].bytes) == 0;
    ok(right, "%s: the ranges come", text);
    ok(counted.getvs == lists && counted.gets == 0 && (!lists || counted.n == N),
        "%s: one vector get (%d, and %d gets)", text, counted.getvs, counted.gets);
    for (int i = 0; i < N * 8; i++) local[i] = (char)(i + 3);
    link->ops->putv(link, GROUP, &place, N, range);
    ok(link->ops->wait(link, GROUP, TULLE__ALL) == TULLE_OK, "%s: waited for", text);
    for (int i = 0; i < N; i++) right &= memcmp(local + i * 8, address(&place, range[i].at), range[i].bytes) == 0;
    ok(right, "%s: the ranges go", text);
    ok(counted.putvs == lists && counted.puts == 0, "%s: one vector put (%d, and %d puts)", text, counted.putvs,
        counted.puts);
    try_handles(link, text, lists);
    link->ops->fini(link);
}

int main(void)
{
    tulle__timeline *timeline = NULL;
    ok(tulle__timeline_new(&timeline) == TULLE_OK, "a timeline");
    try_wrapper(&tulle__wrapper_check, "check", 1, NULL);
    try_wrapper(&tulle__wrapper_net, "net:latency=1us,bw=1G", 1, NULL);
    try_wrapper(&tulle__wrapper_fault, "fault:op=99", 1, NULL);
    try_wrapper(&tulle__wrapper_trace, "trace", 1, timeline);
    try_wrapper(&tulle__wrapper_migrate, "migrate:page=4K,fault=0us", 1, NULL);
    all_mapped = 1; /* words of pages, and what they hold, are reached without the link below */
    try_wrapper(&tulle__wrapper_migrate, "migrate:page=4K,fault=0us", 1, NULL);
    tulle__timeline_free(timeline);
    return tap_done();
}
