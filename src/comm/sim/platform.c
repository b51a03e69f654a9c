/* SPDX-License-Identifier: Apache-2.0 */
/* Named platforms, and the spec's changes to them. README.md has the sources of the figures. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "comm/sim/sim_team.h"

static const tulle__sim_rates v100 = {.flops = {[TULLE_F32] = 15.7e12, [TULLE_F64] = 7.8e12},
    .memory = 790e9,
    .cache = 2.2e12,
    .launch = 5e-6,
    .hop = 1e-6};
static const tulle__sim_rates cpu_node = {
    .flops = {[TULLE_F32] = 4e12, [TULLE_F64] = 2e12}, .memory = 200e9, .cache = 1.5e12, .launch = 1e-6, .hop = 1e-7};

/* rates: copied into the platform, as a constant cannot initialise another */
static const struct {
    tulle__sim_platform platform;
    const tulle__sim_rates *rates;
} known[] = {
    {{.name = "summit",
         .node = 6,
         .near_bw = 150e9,
         .pair_bw = 50e9,
         .near_latency = 2e-6,
         .far_bw = 23e9,
         .far_latency = 4e-6,
         .overhead = 2e-7,
         .capacity = 16e9},
        &v100},
    {{.name = "dgx1",
         .node = 8,
         .near_bw = 150e9,
         .pair_bw = 25e9,
         .near_latency = 2e-6,
         .far_bw = 46e9,
         .far_latency = 4e-6,
         .overhead = 2e-7,
         .capacity = 16e9},
        &v100},
    {{.name = "dgx2",
         .node = 16,
         .near_bw = 150e9,
         .pair_bw = 150e9,
         .near_latency = 2e-6,
         .far_bw = 92e9,
         .far_latency = 4e-6,
         .overhead = 2e-7,
         .capacity = 32e9},
        &v100},
    {{.name = "fattree",
         .node = 1,
         .near_bw = 100e9,
         .pair_bw = 100e9,
         .near_latency = 5e-7,
         .far_bw = 12e9,
         .far_latency = 2e-6,
         .leaf = 16,
         .taper = 2,
         .overhead = 2e-7,
         .capacity = 128e9},
        &cpu_node},
    {{.name = "here", .near_latency = 2e-7, .far_latency = 2e-7, .overhead = 5e-8, .measured = 1, .direct = 1}, NULL},
};
enum { KNOWN = sizeof known / sizeof *known };

/* Measures the rate at which one thread copies here, in bytes a second: the best of a few. */
static tulle_status measure_copy(double *bandwidth)
{
    const size_t bytes = (size_t)32 << 20;
    char *from, *to;
    TULLE_CALL(tulle__sim_host->alloc_zero(bytes, 1, "measuring copies", &from));
    tulle_status status = tulle__sim_host->alloc_zero(bytes, 1, "measuring copies", &to);
    for (int i = 0; i < 5 && status == TULLE_OK; i++) {
        int64_t start = tulle__clock_ns();
        memcpy(to, from, bytes);
        double rate = (double)bytes / ((double)(tulle__clock_ns() - start) * 1e-9 + 1e-9);
        if (rate > *bandwidth) *bandwidth = rate;
        from[i] = to[i + 1]; /* keeps the compiler from removing the copies */
    }
    tulle__sim_host->free(from);
    if (status == TULLE_OK) tulle__sim_host->free(to);
    return status;
}

static tulle_status find(const char *name, tulle__sim_platform *platform)
{
    const char *names[KNOWN];
    int found;
    for (int i = 0; i < KNOWN; i++) names[i] = known[i].platform.name;
    tulle_status status = tulle__sim_host->name_parse("platform", name, names, KNOWN, &found);
    if (status != TULLE_OK)
        return tulle__sim_host->fail(status, "sim: %s, and files that end in .xml", tulle__sim_host->error_message());
    *platform = known[found].platform;
    if (known[found].rates) platform->rates = *known[found].rates;
    if (strcmp(platform->name, "here") != 0) return TULLE_OK;
    status = measure_copy(&platform->near_bw);
    platform->pair_bw = platform->far_bw = platform->near_bw;
    return status;
}

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/*
 * Bytes a second of a PE's port between nodes while all PEs transfer with PEs anywhere: a node's port, shared by
 * its PEs, or what its leaf switch's uplink leaves of it.
 */
static double far_share(const tulle__sim_platform *p, int npes)
{
    const int node = p->node > 0 && p->node < npes ? p->node : npes, below = p->leaf ? p->leaf * node : npes;
    double share = p->far_bw / node;
    if (below < npes) {
        const double away = (double)(npes - below) / (npes - 1);
        share = fmin(share, p->far_bw / p->taper / away / node);
    }
    return fmin(share, p->near_bw);
}

void tulle__sim_machine(const tulle__sim_platform *p, int npes, tulle__simulated *machine)
{
    *machine =
        (tulle__simulated){.node_pes = p->node, .in_place = p->direct, .overhead = p->overhead, .shared = !p->queued};
    if (p->measured) {
        machine->speed = p->speed;
    } else {
        memcpy(machine->flops, p->rates.flops, sizeof machine->flops);
        machine->memory = p->rates.memory;
        machine->cache = p->rates.cache;
        machine->launch = p->rates.launch;
    }
    if (p->from_file) return; /* only SimGrid knows links */
    const double latency[] = {p->near_latency, p->far_latency};
    for (int d = 0; d < 2; d++) {
        machine->latency[d] = latency[d];
        machine->range[d] = p->range >= 0 ? p->range : latency[d] / TULLE__SIM_RANGES;
    }
    machine->bandwidth[TULLE__NEAR] = p->near_bw;
    machine->bandwidth[TULLE__FAR] = far_share(p, npes);
    /* SimGrid knows no most of one transfer (README.md) */
    machine->single[TULLE__NEAR] = p->queued ? fmin(p->pair_bw, p->near_bw) : p->near_bw;
    machine->single[TULLE__FAR] = fmin(p->far_bw, p->near_bw);
}

/* One of two words, of which *second says whether it is the second. */
static tulle_status read_choice(
    tulle__spec_part *part, const char *key, const char *what, const char *const words[2], int *second)
{
    const char *word = words[*second];
    TULLE_CALL(tulle__sim_host->spec_word(part, key, &word));
    return tulle__sim_host->name_parse(what, word, words, 2, second);
}

static tulle_status read_choices(tulle__spec_part *part, tulle__sim_platform *p)
{
    static const char *const compute[] = {"model", "measured"}, *const data[] = {"real", "none"},
                             *const sharing[] = {"fair", "queue"};
    TULLE_CALL(read_choice(part, "compute", "way of computing (compute=)", compute, &p->measured));
    TULLE_CALL(read_choice(part, "data", "kind of data (data=)", data, &p->sizes));
    return read_choice(part, "sharing", "sharing of links (sharing=)", sharing, &p->queued);
}

/* Options with a number and a unit. pair: pair_bw as given, or below 0. */
static tulle_status read_quantities(tulle__spec_part *part, tulle__sim_platform *p, double *pair)
{
    tulle__sim_rates *r = &p->rates;
    const struct {
        const char *key;
        tulle_status (*read)(tulle__spec_part *part, const char *key, double *value);
        double *value;
    } quantities[] = {
        {"near_bw", tulle__sim_host->spec_bytes, &p->near_bw},
        {"pair_bw", tulle__sim_host->spec_bytes, pair},
        {"near_latency", tulle__sim_host->spec_seconds, &p->near_latency},
        {"far_bw", tulle__sim_host->spec_bytes, &p->far_bw},
        {"far_latency", tulle__sim_host->spec_seconds, &p->far_latency},
        {"overhead", tulle__sim_host->spec_seconds, &p->overhead},
        {"range", tulle__sim_host->spec_seconds, &p->range},
        {"small", tulle__sim_host->spec_bytes, &p->small},
        {"flops", tulle__sim_host->spec_bytes, &r->flops[TULLE_F64]},
        {"flops32", tulle__sim_host->spec_bytes, &r->flops[TULLE_F32]},
        {"memory", tulle__sim_host->spec_bytes, &r->memory},
        {"cache", tulle__sim_host->spec_bytes, &r->cache},
        {"launch", tulle__sim_host->spec_seconds, &r->launch},
        {"hop", tulle__sim_host->spec_seconds, &r->hop},
        {"room", tulle__sim_host->spec_bytes, &p->capacity},
    };
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        TULLE_CALL(quantities[i].read(part, quantities[i].key, quantities[i].value));
    }
    if (*pair >= 0) p->pair_bw = *pair;
    return TULLE_OK;
}

/* node, leaf, taper, speed, direct */
static tulle_status read_numbers(tulle__spec_part *part, tulle__sim_platform *p)
{
    const tulle__module_host *host = tulle__sim_host;
    int64_t node = p->node, leaf = p->leaf;
    tulle_status status;
    TULLE_TRY(host->spec_int(part, "node", 0, 1 << 15, &node));
    TULLE_TRY(host->spec_int(part, "leaf", 0, 1 << 15, &leaf));
    TULLE_TRY(host->spec_real(part, "taper", 1e-3, 1e3, &p->taper));
    TULLE_TRY(host->spec_real(part, "speed", 1e-6, 1e6, &p->speed));
    TULLE_TRY(host->spec_flag(part, "direct", &p->direct));
out:
    p->node = (int)node;
    p->leaf = (int)leaf;
    return status;
}

static tulle_status refuse(const tulle__sim_platform *p, double pair)
{
    const tulle__sim_rates *r = &p->rates;
    if (pair >= 0 && p->from_file)
        return tulle__sim_host->fail(
            TULLE_ERR_ARG, "sim: pair_bw= is for named platforms: only SimGrid knows the links of %s", p->name);
    if (pair >= 0 && !p->queued && pair < p->near_bw)
        return tulle__sim_host->fail(TULLE_ERR_ARG,
            "sim: SimGrid's fair sharing of links does not limit one transfer, so pair_bw=%g below near_bw=%g would "
            "be left out: say sharing=queue",
            pair, p->near_bw);
    if (p->sizes && p->measured)
        return tulle__sim_host->fail(
            TULLE_ERR_ARG, "sim: with data=none kernels are not run, so they cannot be measured; say compute=model");
    if (p->queued && p->from_file)
        return tulle__sim_host->fail(
            TULLE_ERR_ARG, "sim: sharing=queue is for named platforms: only SimGrid knows the links of %s", p->name);
    if (p->capacity < 0)
        return tulle__sim_host->fail(
            TULLE_ERR_ARG, "sim: room=%g is negative: it is the bytes of a PE's memory", p->capacity);
    if (!p->from_file && !(p->near_bw >= 1 && p->pair_bw >= 1 && p->far_bw >= 1))
        return tulle__sim_host->fail(TULLE_ERR_ARG, "sim: a bandwidth is at least 1 byte a second");
    if (p->far_latency < p->near_latency)
        return tulle__sim_host->fail(TULLE_ERR_ARG,
            "sim: far_latency (%g s) counts the way within the nodes, too, and cannot be below near_latency (%g s)",
            p->far_latency, p->near_latency);
    if (p->measured ||
        (r->memory > 0 && r->cache > 0 && (p->from_file || (r->flops[TULLE_F64] > 0 && r->flops[TULLE_F32] > 0))))
        return TULLE_OK;
    return tulle__sim_host->fail(TULLE_ERR_ARG,
        "sim: to model kernels on '%s', their rates are needed: flops=, flops32=, memory=, cache=", p->name);
}

tulle_status tulle__sim_platform_read(tulle__spec_part *part, tulle__sim_platform *platform, const char **file)
{
    static const char *const keys[] = {"platform", "compute", "speed", "direct", "node", "leaf", "taper", "near_bw",
        "pair_bw", "near_latency", "far_bw", "far_latency", "overhead", "range", "small", "sharing", "flops", "flops32",
        "memory", "cache", "launch", "hop", "room", "data"};
    const char *name = "summit";
    tulle__sim_platform p = {.overhead = 2e-7};
    double pair = -1;
    *file = NULL;
    TULLE_CALL(tulle__sim_host->spec_word(part, "platform", &name));
    p.name = name;
    if (ends_in(name, ".xml"))
        *file = name;
    else
        TULLE_CALL(find(name, &p));
    p.from_file = *file != NULL;
    if (p.taper <= 0) p.taper = 1;
    p.speed = 1;
    p.small = 4096;
    p.range = -1;
    TULLE_CALL(read_choices(part, &p));
    TULLE_CALL(read_quantities(part, &p, &pair));
    TULLE_CALL(read_numbers(part, &p));
    TULLE_CALL(tulle__sim_host->spec_done(part, keys, sizeof keys / sizeof *keys));
    TULLE_CALL(refuse(&p, pair));
    *platform = p;
    return TULLE_OK;
}
