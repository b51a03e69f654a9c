/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a simulated PE, and their virtual time. PEs run one at a time, and switch only
 * in calls of SimGrid (below: step_out), so nothing here needs an atomic. A PE's small costs are
 * summed up (owed) and pass before anything that other PEs can see.
 *
 * Time of an operation on another PE's memory. get and put: latency + bytes / bandwidth, sharing
 * links with other transfers, while the PE continues. Atomics that return a value: a round trip.
 * Stores: one way, and no PE waits. On its own memory: copies at the memory's bandwidth, atomics a
 * fixed time.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/sim/sim_team.h"

static const double own_atomic = 5e-8, copy_rate = 1e10; /* if the platform has no memory rate */

static tulle__sim_link *sim_link(tulle__link *link)
{
    return (tulle__sim_link *)link;
}

static char *address(tulle__sim_link *s, const tulle__place *place, uint64_t at)
{
    return s->team->segment[place->rank * TULLE__SEGMENTS + place->segment] + place->offset + at;
}

static uint64_t *word(tulle__sim_link *s, const tulle__place *place, uint64_t at)
{
    return (uint64_t *)(void *)address(s, place, at);
}

/* ---- switching: thread-local state is this PE's again afterwards ---- */

struct mine {
    tulle__account *account;
    char message[TULLE_MESSAGE_MAX];
};

static void step_out(struct mine *mine)
{
    const char *message = tulle__sim_host->error_message();
    mine->account = tulle__sim_host->account_enter(NULL);
    memcpy(mine->message, message, strlen(message) + 1);
}

static void step_in(const struct mine *mine)
{
    tulle__sim_host->account_enter(mine->account);
    tulle__sim_host->error_set(mine->message);
}

static void sleep_for(double seconds)
{
    struct mine mine;
    step_out(&mine);
    tulle__sim_sleep(seconds);
    step_in(&mine);
}

static void await(tulle__sim_flow *flow)
{
    struct mine mine;
    step_out(&mine);
    tulle__sim_await(flow);
    step_in(&mine);
}

static tulle__sim_flow *send(tulle__sim_place *from, tulle__sim_place *to, size_t bytes, double most)
{
    struct mine mine;
    step_out(&mine);
    tulle__sim_flow *flow = tulle__sim_send(from, to, bytes, most);
    step_in(&mine);
    return flow;
}

static int has_arrived(tulle__sim_flow *flow)
{
    struct mine mine;
    step_out(&mine);
    int arrived = tulle__sim_arrived(flow);
    step_in(&mine);
    return arrived;
}

static void drop(tulle__sim_flow *flow)
{
    struct mine mine;
    step_out(&mine);
    tulle__sim_drop(flow);
    step_in(&mine);
}

/* Lets the owed time pass. */
static void pass(tulle__sim_link *s)
{
    double owed = s->owed;
    s->owed = 0;
    if (owed > 0) sleep_for(owed);
}

/* Records that a PE's memory was written; returns whether that PE must be woken. */
static int touched(tulle__sim_link *s)
{
    int asleep = s->asleep;
    s->writes++;
    s->asleep = 0;
    return asleep;
}

/* The same, and wakes it. */
static void touch(tulle__sim_link *s)
{
    struct mine mine;
    if (!touched(s)) return;
    step_out(&mine);
    tulle__sim_bell_ring(s->bell);
    step_in(&mine);
}

static double latency_to(tulle__sim_link *s, int rank)
{
    const tulle__sim_platform *p = &s->team->platform;
    if (!p->from_file) return tulle__sim_same_node(p, s->link.rank, rank) ? p->near_latency : p->far_latency;
    double *known = &s->team->latency[s->link.rank * s->link.npes + rank];
    if (*known < 0) *known = tulle__sim_latency(s->place, s->team->place[rank]);
    return *known;
}

/* ---- transfers ---- */

static int fits(tulle__sim_link *s, size_t more)
{
    tulle__sim_transfer *grown;
    if (s->transfers + more <= s->capacity) return 1;
    size_t capacity = 2 * (s->capacity + more);
    tulle__account *before = tulle__sim_host->account_enter(NULL); /* the engine's, not the PE's */
    tulle_status status = tulle__sim_host->alloc(capacity, sizeof *grown, "transfers under way", &grown);
    tulle__sim_host->account_enter(before);
    if (status != TULLE_OK) {
        s->exhausted = 1;
        return 0;
    }
    if (s->transfers) memcpy(grown, s->transfer, s->transfers * sizeof *grown);
    tulle__sim_host->free(s->transfer);
    s->transfer = grown;
    s->capacity = capacity;
    return 1;
}

/*
 * Starts the flow of a transfer. Small transfers are mostly latency, and no report times those of
 * set-up: they do not compete for links, which is the simulation's main cost, and end at a known
 * date, as all do where links have queues.
 */
static void begin(tulle__sim_link *s, const tulle__place *place, int is_put, size_t bytes, tulle__sim_transfer *t)
{
    const tulle__sim_platform *p = &s->team->platform;
    s->owed += p->overhead;
    if (place->rank == s->link.rank) {
        s->owed += 2 * (double)bytes / (p->rates.memory > 0 ? p->rates.memory : copy_rate);
        return;
    }
    pass(s);
    int same_node = tulle__sim_same_node(p, s->link.rank, place->rank);
    if (!p->from_file && ((double)bytes <= p->small || s->setting_up)) {
        t->due = tulle__sim_clock() + latency_to(s, place->rank) + (double)bytes / (same_node ? p->pair_bw : p->far_bw);
        return;
    }
    if (s->team->busy) {
        int from = is_put ? s->link.rank : place->rank, to = is_put ? place->rank : s->link.rank;
        t->due = tulle__sim_queues_pass(s->team, from, to, bytes);
        return;
    }
    tulle__sim_place *there = s->team->place[place->rank];
    t->flow = send(is_put ? s->place : there, is_put ? there : s->place, bytes, same_node ? p->pair_bw : 0);
}

static uint64_t start(
    tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range, int is_put)
{
    tulle__sim_link *s = sim_link(link);
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += range[i].bytes;
    if (!n || !fits(s, (size_t)n)) return 0;
    tulle__sim_transfer first = {.flow = NULL};
    uint64_t count = ++s->count;
    begin(s, place, is_put, bytes, &first);
    for (int i = 0; i < n; i++) {
        char *there = address(s, place, range[i].at);
        s->transfer[s->transfers++] = (tulle__sim_transfer){.flow = i ? NULL : first.flow,
            .due = i ? 0 : first.due,
            .count = count,
            .group = group,
            .target = is_put ? place->rank : -1,
            .to = is_put ? there : range[i].local,
            .from = is_put ? range[i].local : there,
            .bytes = range[i].bytes};
    }
    return count;
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    return start(link, group, place, 1, &(tulle__range){at, local, bytes}, 0);
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return start(link, group, place, 1, &(tulle__range){at, (void *)(uintptr_t)local, bytes}, 1);
}

/* Adds the PE's cost of a list's ranges after the first; within a PE they are only copies. */
static void charge_ranges(tulle__sim_link *s, const tulle__place *place, int n)
{
    const tulle__sim_platform *p = &s->team->platform;
    if (n < 2 || place->rank == s->link.rank) return;
    s->owed += (n - 1) * (p->range >= 0 ? p->range : latency_to(s, place->rank) / TULLE__SIM_RANGES);
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    charge_ranges(sim_link(link), place, n);
    return start(link, group, place, n, range, 0);
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    charge_ranges(sim_link(link), place, n);
    return start(link, group, place, n, range, 1);
}

static int ready(tulle__link *link, int group, uint64_t count)
{
    tulle__sim_link *s = sim_link(link);
    pass(s);
    for (size_t i = 0; i < s->transfers; i++) {
        const tulle__sim_transfer t = s->transfer[i];
        if (t.group != group || t.count > count) continue;
        if (t.due > tulle__sim_clock() || (t.flow && !has_arrived(t.flow))) return 0;
    }
    return 1;
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    tulle__sim_link *s = sim_link(link);
    size_t kept = 0;
    pass(s);
    for (size_t i = 0; i < s->transfers; i++) {
        tulle__sim_transfer t = s->transfer[i];
        if (t.group != group || t.count > count) {
            s->transfer[kept++] = t;
            continue;
        }
        if (t.flow) await(t.flow);
        double left = t.due - tulle__sim_clock();
        if (left > 0) sleep_for(left);
        if (t.to) memcpy(t.to, t.from, t.bytes);
        if (t.target >= 0 && t.target != link->rank) touch(&s->team->link[t.target]);
    }
    s->transfers = kept;
    if (!s->exhausted) return TULLE_OK;
    s->exhausted = 0;
    return tulle__sim_host->fail(TULLE_ERR_MEMORY, "sim: out of memory for the record of a transfer");
}

/* ---- words ---- */

/* Time to reach the word; an own one has no latency. */
static void reach(tulle__sim_link *s, const tulle__place *place)
{
    if (place->rank == s->link.rank) {
        s->owed += own_atomic;
        return;
    }
    s->owed += s->team->platform.overhead + latency_to(s, place->rank);
    pass(s);
}

static void reach_back(tulle__sim_link *s, const tulle__place *place)
{
    if (place->rank != s->link.rank) sleep_for(latency_to(s, place->rank));
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    tulle__sim_link *s = sim_link(link);
    uint64_t *there = word(s, place, at);
    reach(s, place);
    uint64_t before = *there;
    *there = before + value;
    touch(&s->team->link[place->rank]);
    reach_back(s, place);
    return before;
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    tulle__sim_link *s = sim_link(link);
    uint64_t *there = word(s, place, at);
    reach(s, place);
    uint64_t before = *there;
    if (before == expected) {
        *there = desired;
        touch(&s->team->link[place->rank]);
    }
    reach_back(s, place);
    return before;
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    tulle__sim_link *s = sim_link(link);
    const uint64_t *there = word(s, place, at);
    reach(s, place);
    uint64_t value = *there;
    reach_back(s, place);
    return value;
}

static void arrive(void *target, uint64_t *at, uint64_t value)
{
    tulle__sim_link *s = target;
    *at = value;
    if (touched(s)) tulle__sim_bell_ring(s->bell);
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    tulle__sim_link *s = sim_link(link);
    if (place->rank == link->rank) {
        s->owed += own_atomic;
        *word(s, place, at) = value;
        return;
    }
    /* the overhead separates the dates of two stores, which keeps their order */
    s->owed += s->team->platform.overhead;
    pass(s);
    double date = tulle__sim_clock() + latency_to(s, place->rank);
    if (date > s->last_store) s->last_store = date;
    tulle__sim_later(date, arrive, &s->team->link[place->rank], word(s, place, at), value);
}

/* ---- the rest ---- */

static void *mapped(tulle__link *link, int rank, int segment)
{
    const tulle__engine_team *team = sim_link(link)->team;
    int reached =
        rank == link->rank || (team->platform.direct && tulle__sim_same_node(&team->platform, rank, link->rank));
    return reached ? team->segment[rank * TULLE__SEGMENTS + segment] : NULL;
}

static void progress(tulle__link *link)
{
    (void)link; /* transfers progress by themselves */
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

void tulle__sim_run_end(tulle__sim_link *s)
{
    for (size_t i = 0; i < s->transfers; i++)
        if (s->transfer[i].flow) drop(s->transfer[i].flow);
    s->transfers = 0;
    pass(s);
    double left = s->last_store - tulle__sim_clock();
    if (left >= 0) sleep_for(left + s->team->platform.overhead);
}

const tulle__link_ops tulle__sim_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = mapped,
    .progress = progress,
    .fini = fini,
};

static int64_t now_ns(tulle__link *link)
{
    return llround((tulle__sim_clock() + sim_link(link)->owed) * 1e9);
}

static void idle(tulle__link *link, int64_t most_ns)
{
    struct mine mine;
    tulle__sim_link *s = sim_link(link);
    pass(s);
    if (s->writes == s->seen) {
        s->asleep = 1;
        step_out(&mine);
        tulle__sim_bell_await(s->bell, (double)most_ns * 1e-9);
        step_in(&mine);
        s->asleep = 0;
    }
    s->seen = s->writes;
}

/* The longest of the times of its arithmetic, memory traffic and cache traffic. */
static double modelled(const tulle__sim_rates *r, const tulle__work *work)
{
    double flops = 0;
    for (int type = 0; type < TULLE_TYPE_COUNT; type++) flops += work->flops[type] / r->flops[type];
    if (flops + work->memory + work->cache <= 0) return 0;
    return (work->resident ? 0 : r->launch) + work->hops * r->hop +
           fmax(flops, fmax(work->memory / r->memory, work->cache / r->cache));
}

static void kernel(tulle__link *link, const tulle__work *work)
{
    tulle__sim_link *s = sim_link(link);
    const tulle__sim_platform *p = &s->team->platform;
    if (!work) {
        pass(s);
        s->kernel_began = tulle__clock_ns();
        return;
    }
    s->owed +=
        p->measured ? (double)(tulle__clock_ns() - s->kernel_began) * 1e-9 / p->speed : modelled(&p->rates, work);
    pass(s);
}

static void machine(tulle__link *link, tulle__simulated *machine)
{
    const tulle__engine_team *team = sim_link(link)->team;
    tulle__sim_machine(&team->platform, team->npes, machine);
}

static void set_up(tulle__link *link, int on)
{
    sim_link(link)->setting_up = on;
}

static void *peek(tulle__link *link, int rank, int segment)
{
    return sim_link(link)->team->segment[rank * TULLE__SEGMENTS + segment];
}

static void pass_time(tulle__link *link, int64_t ns)
{
    tulle__sim_link *s = sim_link(link);
    s->owed += (double)ns * 1e-9;
    pass(s);
}

static void written(tulle__link *link, int rank)
{
    touch(&sim_link(link)->team->link[rank]);
}

const tulle__virtual_ops tulle__sim_virtual_ops = {.now_ns = now_ns,
    .idle = idle,
    .kernel = kernel,
    .machine = machine,
    .pass = pass_time,
    .written = written,
    .set_up = set_up};
const tulle__virtual_ops tulle__sim_sizes_ops = {.now_ns = now_ns,
    .idle = idle,
    .kernel = kernel,
    .machine = machine,
    .pass = pass_time,
    .written = written,
    .set_up = set_up,
    .peek = peek};
