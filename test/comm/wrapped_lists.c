/* SPDX-License-Identifier: Apache-2.0 */
/* Every wrapper passes a list of ranges on as one operation: a link that counts lies below each of them. */
#include <string.h>

#include "base/memory.h"
#include "base/timeline.h"
#include "comm/wrap/wrap.h"
#include "tap.h"

enum { N = 64, CONTROL = 1 << 20, DATA = 1 << 16 };

static struct {
    int gets, puts, getvs, putvs, waits;
    int n;
} counted;

static char control[2][CONTROL], data[2][DATA];
static int mapped; /* PE 1's memory is reached by load and store */

static char *address(const tulle__place *place, uint64_t at)
{
    return (place->segment == TULLE__DATA ? data[place->rank] : control[place->rank]) + place->offset + at;
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    (void)link, (void)group;
    counted.gets++;
    memcpy(local, address(place, at), bytes);
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    (void)link, (void)group;
    counted.puts++;
    memcpy(address(place, at), local, bytes);
}

static void getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)link, (void)group;
    counted.getvs++;
    counted.n = n;
    for (int i = 0; i < n; i++) memcpy(range[i].local, address(place, range[i].at), range[i].bytes);
}

static void putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    (void)link, (void)group;
    counted.putvs++;
    counted.n = n;
    for (int i = 0; i < n; i++) memcpy(address(place, range[i].at), range[i].local, range[i].bytes);
}

static tulle_status wait(tulle__link *link, int group)
{
    (void)link, (void)group;
    counted.waits++;
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

static void *direct(tulle__link *link, int rank, int segment)
{
    if (rank != link->rank && !mapped) return NULL;
    return segment == TULLE__DATA ? data[rank] : control[rank];
}

static void fini(tulle__link *link)
{
    (void)link;
}

static const tulle__link_ops ops = {.get = get,
    .put = put,
    .wait = wait,
    .compare_swap = compare_swap,
    .load = load,
    .direct = direct,
    .fini = fini,
    .getv = getv,
    .putv = putv};

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
    tulle__link_getv(link, 3, &place, N, range);
    ok(link->ops->wait(link, 3) == TULLE_OK, "%s: waited for", text);
    int right = 1;
    for (int i = 0; i < N; i++) right &= memcmp(local + i * 8, address(&place, range[i].at), range[i].bytes) == 0;
    ok(right, "%s: the ranges come", text);
    ok(counted.getvs == lists && counted.gets == 0 && (!lists || counted.n == N),
        "%s: one vector get (%d, and %d gets)", text, counted.getvs, counted.gets);
    for (int i = 0; i < N * 8; i++) local[i] = (char)(i + 3);
    tulle__link_putv(link, 3, &place, N, range);
    ok(link->ops->wait(link, 3) == TULLE_OK, "%s: waited for", text);
    for (int i = 0; i < N; i++) right &= memcmp(local + i * 8, address(&place, range[i].at), range[i].bytes) == 0;
    ok(right, "%s: the ranges go", text);
    ok(counted.putvs == lists && counted.puts == 0, "%s: one vector put (%d, and %d puts)", text, counted.putvs,
        counted.puts);
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
    mapped = 1; /* words of pages, and what they hold, are reached without the link below */
    try_wrapper(&tulle__wrapper_migrate, "migrate:page=4K,fault=0us", 1, NULL);
    tulle__timeline_free(timeline);
    return tap_done();
}
