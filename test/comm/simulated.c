/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual time of the engine `sim`: transfers alone, sharing a link, and beside a kernel; words
 * and kernels; two runs equal to the bit. The spec gives all figures, so no platform's table
 * matters.
 */
#include <math.h>
#include <string.h>

#include <tulle/machine.h>
#include <tulle/product.h>

#include "body.h"
#include "tap.h"

/* Two PEs a node; powers of ten make expected times obvious. */
#define RATES                                                                                                          \
    "near_bw=40G,pair_bw=40G,near_latency=1us,far_bw=10G,far_latency=10us,overhead=0,"                                 \
    "compute=model,flops=1T,flops32=2T,memory=100G,cache=200G,launch=0"

enum { BYTES = 10 * 1000 * 1000 };

struct times {
    double far, near, shared, crossed, beside, waited, word, store, kernel, barrier, late;
    double first, both; /* of two gets of a group, waited for by handle */
    int before, after;  /* answers of polls, before and after arrival */
    int64_t moved;
};

static double seconds_of(tulle_comm *comm, double since)
{
    return tulle_comm_seconds(comm) - since;
}

static tulle_status time_get(tulle_comm *comm, const tulle__place *place, void *to, double *seconds)
{
    double start = tulle_comm_seconds(comm);
    tulle__get(comm, 0, place, 0, to, BYTES);
    tulle_status status = tulle__wait(comm, 0);
    *seconds = seconds_of(comm, start);
    return status;
}

/* A kernel of one millisecond: 1 Gflop at 1 Tflop/s. */
static void compute(tulle_comm *comm)
{
    tulle__kernel_begin(comm);
    tulle__kernel_end(comm, &(tulle__work){.flops = {[TULLE_F64] = 1e9}});
}

static tulle_status measure(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct times mine = {.far = 0}, *times = (struct times *)arg + tulle_comm_rank(comm);
    int rank = tulle_comm_rank(comm), taken = 0, words = 0;
    tulle__place own, word, place[4], at[4];
    char *to = NULL;
    TULLE_TRY(tulle__alloc(BYTES, 1, "test", &to));
    TULLE_TRY(tulle__heap_take(comm->pe->data, BYTES, "test", &own));
    taken = 1;
    TULLE_TRY(tulle__heap_take(comm->pe->control, 64, "test", &word));
    words = 1;
    memset(tulle__mapped(comm, &word), 0, 64);
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    TULLE_TRY(tulle_comm_allgather(comm, &word, sizeof word, at));
    /* alone: PE 0 gets from the other node, then from its own */
    if (rank == 0) TULLE_TRY(time_get(comm, &place[2], to, &mine.far));
    if (rank == 0) TULLE_TRY(time_get(comm, &place[1], to, &mine.near));
    TULLE_TRY(tulle_comm_barrier(comm));
    /*
     * both PEs of a node get from the other node over one port; nodes get from each other: ports
     * have both directions
     */
    if (rank < 2) TULLE_TRY(time_get(comm, &place[rank + 2], to, &mine.shared));
    TULLE_TRY(tulle_comm_barrier(comm));
    if (rank % 2 == 0) TULLE_TRY(time_get(comm, &place[2 - rank], to, &mine.crossed));
    TULLE_TRY(tulle_comm_barrier(comm));
    /* a transfer proceeds under a longer kernel: no wait remains, and its bytes are there */
    if (rank == 0) {
        double start = tulle_comm_seconds(comm);
        memset(to, 1, BYTES);
        tulle__get(comm, 0, &place[2], 0, to, BYTES);
        compute(comm);
        compute(comm);
        mine.beside = seconds_of(comm, start);
        TULLE_TRY(tulle__wait(comm, 0));
        mine.waited = seconds_of(comm, start) - mine.beside;
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    /* a large get and a larger one: a wait for the first lasts no longer than the first */
    if (rank == 0) {
        double start = tulle_comm_seconds(comm);
        const tulle__transfer first = tulle__get(comm, 0, &place[2], 0, to, BYTES / 10);
        const tulle__transfer second = tulle__get(comm, 0, &place[2], BYTES / 10, to + BYTES / 10, BYTES - BYTES / 10);
        mine.before = tulle__transfer_ready(comm, &first);
        TULLE_TRY(tulle__transfer_wait(comm, &first));
        mine.first = seconds_of(comm, start);
        mine.after = tulle__transfer_ready(comm, &first) - tulle__transfer_ready(comm, &second);
        compute(comm); /* the second arrives meanwhile; a poll sees it */
        mine.after += tulle__transfer_ready(comm, &second);
        TULLE_TRY(tulle__transfer_wait(comm, &second));
        mine.both = seconds_of(comm, start);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    if (rank == 0) {
        double start = tulle_comm_seconds(comm);
        tulle__fetch_add(comm, &at[2], 0, 1);
        mine.word = seconds_of(comm, start);
        start = tulle_comm_seconds(comm);
        tulle__store(comm, &at[2], 8, 1);
        mine.store = seconds_of(comm, start);
        start = tulle_comm_seconds(comm);
        tulle__kernel_begin(comm);
        tulle__kernel_end(comm, &(tulle__work){.flops = {[TULLE_F32] = 2e6, [TULLE_F64] = 1e6}, .memory = 3e5});
        mine.kernel = seconds_of(comm, start);
    }
    /* PE 2 sleeps until the store wakes it; PE 3 until PE 1 does so a millisecond later */
    if (rank == 2) TULLE_TRY(tulle__wait_word(comm, (uint64_t *)tulle__mapped(comm, &word) + 1, 1));
    TULLE_TRY(tulle_comm_barrier(comm));
    mine.barrier = tulle_comm_seconds(comm);
    if (rank == 1) {
        compute(comm);
        tulle__store(comm, &at[3], 8, 1);
    }
    if (rank == 3) {
        TULLE_TRY(tulle__wait_word(comm, (uint64_t *)tulle__mapped(comm, &word) + 1, 1));
        mine.late = seconds_of(comm, mine.barrier);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    mine.moved = comm->pe->counters.bytes;
    *times = mine;
out:
    if (taken) tulle__heap_give(comm->pe->data, &own);
    if (words) tulle__heap_give(comm->pe->control, &word);
    tulle__free(to);
    return status;
}

static int within(double got, double want, double part)
{
    return fabs(got - want) <= part * want;
}

static void show(const struct times *t, int queued)
{
    const double one = BYTES / 10e9; /* alone over a node's port */
    ok(within(t[0].far, one + 10e-6, 0.01), "between nodes: latency and bytes / bandwidth (%.9f s)", t[0].far);
    ok(within(t[0].near, BYTES / 40e9 + 1e-6, 0.01), "within a node (%.9f s)", t[0].near);
    const double sooner = fmin(t[0].shared, t[1].shared), later = fmax(t[0].shared, t[1].shared);
    ok(within(sooner, (queued ? 1 : 2) * one + 10e-6, 0.01) && within(later, 2 * one + 10e-6, 0.01),
        "two transfers share a port: %s (%.9f and %.9f s)", queued ? "one waits" : "each takes twice as long", sooner,
        later);
    ok(within(t[0].crossed, one + 10e-6, 0.01) && within(t[2].crossed, one + 10e-6, 0.01),
        "two that pass it in opposite directions do not (%.9f and %.9f s)", t[0].crossed, t[2].crossed);
    ok(within(t[0].beside, 2e-3, 1e-6) && t[0].waited < 1e-9, "a get goes on under a kernel (%.9f s, then %.3g s)",
        t[0].beside, t[0].waited);
    ok(t[0].before == 0 && t[0].after == 2, "polling says when a transfer has arrived (%d, %d)", t[0].before,
        t[0].after);
    ok(within(t[0].first, (queued ? 1 : 2) * one / 10 + 10e-6, 0.01) && within(t[0].both, t[0].first + 1e-3, 0.01),
        "a wait for a transfer waits for no later one (%.9f and %.9f s)", t[0].first, t[0].both);
    ok(within(t[0].word, 20e-6, 0.01), "fetch-and-add: a round trip (%.9f s)", t[0].word);
    ok(t[0].store < 1e-9, "nobody waits for a store (%.3g s)", t[0].store);
    ok(within(t[0].kernel, 3e-6, 1e-3), "a kernel takes the longest of its times (%.9f s)", t[0].kernel);
    ok(within(t[3].late, 1e-3 + 10e-6, 0.02), "who waits wakes when it is written to (%.9f s)", t[3].late);
}

/* Runs the transfers once, on a new team. */
static int run(struct times *times, const char *sharing)
{
    char spec[400];
    tulle_team *team = NULL;
    memset(times, 0, 4 * sizeof *times);
    snprintf(spec, sizeof spec, "sim:platform=summit,node=2,sharing=%s," RATES, sharing);
    tulle_status status = tulle_team_new(spec, 4, &(tulle_team_options){.memory = (size_t)1 << 28}, &team);
    int simulated = status == TULLE_OK && tulle_team_virtual(team);
    if (status == TULLE_OK) status = tulle_team_run(team, measure, times);
    ok(status == TULLE_OK && simulated, "a simulated team: %s", tulle_error_message());
    tulle_team_free(team);
    return status == TULLE_OK;
}

/*
 * SimGrid's clock continues from team to team in a process, so differences round differently, by a
 * few of the clock's nanoseconds. (Two processes agree to the bit: tool/sim.)
 */
static int close_to(double a, double b)
{
    return fabs(a - b) < 4e-9;
}

static int same_times(const struct times *a, const struct times *b)
{
    return close_to(a->far, b->far) && close_to(a->near, b->near) && close_to(a->shared, b->shared) &&
           close_to(a->crossed, b->crossed) && close_to(a->beside, b->beside) && close_to(a->waited, b->waited) &&
           close_to(a->word, b->word) && close_to(a->kernel, b->kernel) && close_to(a->late, b->late) &&
           a->moved == b->moved;
}

/* ---- leaf switches ---- */

enum { LEAF_PES = 12 }; /* four nodes of three, two to a leaf */

/* The PEs of one leaf get from those of the other: the first of each node, at the same time. */
static tulle_status across(tulle_comm *comm, void *arg)
{
    tulle_status status;
    double mine = 0;
    int rank = tulle_comm_rank(comm);
    tulle__place own, place[LEAF_PES];
    char *to = NULL;
    TULLE_TRY(tulle__alloc(BYTES, 1, "test", &to));
    TULLE_TRY(tulle__heap_take(comm->pe->data, BYTES, "test", &own));
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    TULLE_TRY(tulle_comm_barrier(comm));
    if (rank == 0 || rank == 3) TULLE_TRY(time_get(comm, &place[rank + LEAF_PES / 2], to, &mine));
    TULLE_TRY(tulle_comm_barrier(comm));
    ((double *)arg)[rank] = mine;
    tulle__heap_give(comm->pe->data, &own);
out:
    tulle__free(to);
    return status;
}

static void leaves(int taper, int queued)
{
    const double one = BYTES / 10e9;
    char text[400];
    double seconds[LEAF_PES] = {0};
    tulle_team *team = NULL;
    snprintf(text, sizeof text, "sim:platform=fattree,node=3,leaf=2,taper=%d,sharing=%s," RATES, taper,
        queued ? "queue" : "fair");
    tulle_status status =
        tulle_team_new(text, LEAF_PES, &(tulle_team_options){.memory = (size_t)LEAF_PES << 26}, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, across, seconds);
    const double sooner = fmin(seconds[0], seconds[3]), later = fmax(seconds[0], seconds[3]);
    ok(status == TULLE_OK && within(sooner, (queued ? 1 : taper) * one + 10e-6, 0.01) &&
            within(later, taper * one + 10e-6, 0.01),
        "two nodes across leaves, a taper of %d, %s: %.9f and %.9f s: %s", taper, queued ? "queues" : "shared", sooner,
        later, tulle_error_message());
    tulle_team_free(team);
}

/* ---- a product ---- */

struct product {
    tulle_product_alg alg;
    tulle_product_report report;
};

static tulle_status multiply(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct product *product = arg;
    tulle_mat *A = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_layout *layout = NULL;
    tulle_product_report report;
    tulle_gidx row[400], col[400];
    double val[400];
    tulle_product_options options = {0};
    options.alg = product->alg;
    tulle_layout_spec square = {
        .m = 100, .n = 100, .grid_rows = tulle_comm_size(comm), .grid_cols = 1, .tile_rows = 16, .tile_cols = 16};
    for (int e = 0; e < 400; e++) {
        row[e] = e * 7 % 50; /* more above */
        col[e] = e * 13 % 97;
        val[e] = e;
    }
    TULLE_TRY(tulle_layout_new(&square, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle_mat_from_entries(
        comm, layout, TULLE_F64, tulle_comm_rank(comm) ? 0 : 400, row, col, val, TULLE_DUPLICATES_SUM, &A));
    TULLE_TRY(tulle_mat_new_csr(comm, layout, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(A, A, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    if (tulle_comm_rank(comm) == 0) product->report = report;
out:
    tulle_layout_free(layout);
    return status; /* the team frees the rest */
}

static tulle_status run_product(const char *on, int npes, struct product *product)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new(on, npes, &(tulle_team_options){.memory = (size_t)1 << 30}, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, multiply, product);
    tulle_team_free(team);
    return status;
}

static void run_products(void)
{
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg < TULLE_PRODUCT_CANNON; alg++) {
        struct product product[2];
        tulle_status status = TULLE_OK;
        memset(product, 0, sizeof product);
        for (int i = 0; i < 2 && status == TULLE_OK; i++) {
            product[i].alg = (tulle_product_alg)alg;
            status = run_product("sim:platform=dgx1,node=2", 6, &product[i]);
        }
        const tulle_product_report *r = &product[0].report, *again = &product[1].report;
        ok(status == TULLE_OK, "%s: %s", tulle_product_alg_name((tulle_product_alg)alg), tulle_error_message());
        ok(close_to(r->seconds, again->seconds) && r->seconds > 0 && r->bytes_moved == again->bytes_moved &&
                r->stolen == again->stolen,
            "two runs take the same time (%.17g and %.17g s)", r->seconds, again->seconds);
        double parts = r->compute.mean + r->communicate.mean + r->accumulate.mean + r->wait.mean;
        ok(r->compute.max > 0 && r->communicate.max > 0 && parts <= r->seconds && parts > 0.5 * r->seconds,
            "its phases are most of it (%.3g of %.3g s)", parts, r->seconds);
    }
}

/* Counts that do not depend on timing equal those of a real engine. */
static void compare_with_threads(void)
{
    static const tulle_product_alg algs[] = {
        TULLE_PRODUCT_STATIONARY_C, TULLE_PRODUCT_STATIONARY_A, TULLE_PRODUCT_STATIONARY_B, TULLE_PRODUCT_SUMMA};
    static const int sizes[] = {4, 7, 16};
    for (size_t a = 0; a < sizeof algs / sizeof *algs; a++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            struct product real = {.alg = algs[a]}, simulated = {.alg = algs[a]};
            tulle_status status = run_product("threads:direct=off", sizes[n], &real);
            if (status == TULLE_OK) status = run_product("sim", sizes[n], &simulated);
            const tulle_product_report *r = &real.report, *s = &simulated.report;
            ok(status == TULLE_OK && r->bytes_moved == s->bytes_moved && r->units == s->units &&
                    r->partials == s->partials && r->flops == s->flops && r->nnz_c == s->nnz_c && r->bytes_moved > 0,
                "%s on %d PEs: %lld bytes, %lld products of tiles, %lld partial results as with threads: %s",
                tulle_product_alg_name(algs[a]), sizes[n], (long long)s->bytes_moved, (long long)s->units,
                (long long)s->partials, tulle_error_message());
        }
}

/* ---- what is refused ---- */

static void refuse(const char *bad, int npes, const char *why)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new(bad, npes, NULL, &team);
    ok(status != TULLE_OK && strstr(tulle_error_message(), why), "%s: %s", bad, tulle_error_message());
    tulle_team_free(team);
}

static void write_platform(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!ok(file != NULL, "%s", path)) return;
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\n"
          "<host id=\"a\" speed=\"1Tf\"/><host id=\"b\" speed=\"1Tf\"/>\n"
          "<link id=\"l\" bandwidth=\"10GBps\" latency=\"10us\"/>\n"
          "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone></platform>\n",
        file);
    fclose(file);
}

static tulle_status get_once(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle__place own, place[2];
    int taken = 0;
    char *to = NULL;
    TULLE_TRY(tulle__alloc(BYTES, 1, "test", &to));
    TULLE_TRY(tulle__heap_take(comm->pe->data, BYTES, "test", &own));
    taken = 1;
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, place));
    if (tulle_comm_rank(comm) == 0) TULLE_TRY(time_get(comm, &place[1], to, arg));
    TULLE_TRY(tulle_comm_barrier(comm));
out:
    if (taken) tulle__heap_give(comm->pe->data, &own);
    tulle__free(to);
    return status;
}

static void run_file(const char *path)
{
    char text[600];
    tulle_team *team = NULL;
    double seconds = 0;
    snprintf(text, sizeof text, "sim:platform=%s,overhead=0,memory=1G,cache=1G", path);
    tulle_status status = tulle_team_new(text, 2, &(tulle_team_options){.memory = (size_t)1 << 27}, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, get_once, &seconds);
    ok(status == TULLE_OK && within(seconds, BYTES / 10e9 + 10e-6, 0.01), "a platform from a file (%.9f s): %s",
        seconds, tulle_error_message());
    tulle_team_free(team);
    refuse(text, 2, "only for the first");
    if (ok(tulle_team_new("sim", 2, NULL, &team) == TULLE_OK, "other platforms can follow: %s", tulle_error_message()))
        tulle_team_free(team);
}

static void run_refusals(void)
{
    tulle_team *team = NULL;
    refuse("sim:platform=sumit", 2, "did you mean 'summit'");
    refuse("sim:platfrom=summit", 2, "platfrom");
    refuse("sim:compute=guess", 2, "there are model and measured");
    refuse("sim:platform=here,compute=model", 2, "rates are needed");
    refuse("sim:near_latency=1s", 2, "far_latency");
    refuse("sim:far_bw=0", 2, "bandwidth");
    refuse("sim:sharing=none", 2, "there are fair and queue");
    refuse("sim:platform=none.xml,sharing=queue", 2, "sharing=queue is for named platforms");
    refuse("net:latency=1us,bw=1G+sim", 2, "simulates a network in virtual time");
    if (ok(tulle_team_new("sim", 2, NULL, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        refuse("sim", 2, "another simulated team");
    tulle_team_free(team);
    if (ok(tulle_team_new("sim", 2, NULL, &team) == TULLE_OK, "and once it is closed: %s", tulle_error_message()))
        tulle_team_free(team);
}

/* A calibration finds the simulator's cost of a message, and of a range. */
static tulle_status calibrate(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_machine m = {.threads = 1}, *out = arg;
    TULLE_TRY(tulle_machine_measure_tiers(comm, &m));
    if (tulle_comm_rank(comm) == 0) *out = m;
out:
    return status;
}

static void run_calibrations(void)
{
    static const struct {
        const char *spec;
        double range;
    } cases[] = {{"sim:platform=summit,node=2", 4e-6 / 16}, {"sim:platform=summit,node=2,range=300ns", 3e-7},
        {"sim:platform=summit,node=2,range=0us", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tulle_machine m = {.threads = 1};
        tulle_team *team = NULL;
        tulle_team_options options = {.memory = 64 << 20, .threads = 1};
        tulle_status status = tulle_team_new(cases[c].spec, 4, &options, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, calibrate, &m);
        ok(status == TULLE_OK, "%s is calibrated: %s", cases[c].spec, status == TULLE_OK ? "" : tulle_error_message());
        double got = m.tier[TULLE_SAME_NODE].range; /* all simulated PEs are on one host; the farthest pair counts */
        ok(fabs(got - cases[c].range) < 0.02 * cases[c].range + 2e-9, "a range takes %.1f ns of %.1f", got * 1e9,
            cases[c].range * 1e9);
        tulle_team_free(team);
    }
}

/* ---- what the model is told ---- */

static tulle_machine machine_of(const char *spec, int npes)
{
    tulle_machine m = {.threads = 0};
    tulle_team *team = NULL;
    tulle_team_options options = {.memory = 16 << 20, .threads = 1};
    tulle_status status = tulle_team_new(spec, npes, &options, &team);
    if (status == TULLE_OK) status = tulle_machine_of_team(team, &m);
    ok(status == TULLE_OK, "%s says what machine it is: %s", spec, status == TULLE_OK ? "" : tulle_error_message());
    tulle_team_free(team);
    return m;
}

static void figure(const char *what, double is, double wanted)
{
    ok(fabs(is - wanted) <= 1e-9 * wanted, "%s: %g, as the spec says (%g)", what, is, wanted);
}

/* Each figure of the spec reaches the model, on top of those of the platform. */
static void run_machines(void)
{
    const tulle_machine m =
        machine_of("sim:platform=dgx2,node=2,near_bw=40G,pair_bw=30G,near_latency=1us,far_bw=10G,far_latency=10us,"
                   "range=300ns,overhead=5us,flops=1T,flops32=2T,memory=100G,cache=200G,launch=7us,sharing=queue",
            6);
    const tulle_tier *near = &m.tier[TULLE_SAME_NODE], *far = &m.tier[TULLE_OTHER_NODE];
    const struct {
        const char *what;
        double is, wanted;
    } figures[] = {{"latency within a node", near->latency, 1e-6}, {"between nodes", far->latency, 1e-5},
        {"bandwidth within a node", near->bandwidth, 40e9}, {"between nodes, shared by 2 PEs", far->bandwidth, 5e9},
        {"one transfer", m.single[TULLE_SAME_NODE], 30e9}, {"between nodes", m.single[TULLE_OTHER_NODE], 10e9},
        {"a range", near->range, 3e-7}, {"starting a transfer", m.overhead, 5e-6}, {"PEs of a node", m.node_pes, 2},
        {"arithmetic", m.fma[TULLE_F64], 1e12}, {"in f32", m.fma[TULLE_F32], 2e12}, {"memory", m.stream, 100e9},
        {"cache", m.cache, 200e9}, {"launch", m.launch, 7e-6}};
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
        figure(figures[f].what, figures[f].is, figures[f].wanted);
    ok(m.simulated && !m.shared && !m.in_place && m.threads == 1, "kernels are simulated, links serve in turn");
    const tulle_machine tree = machine_of("sim:platform=fattree,far_bw=12G,leaf=2,taper=4", 6);
    figure("beyond a leaf switch with a quarter of its bandwidth", tree.tier[TULLE_OTHER_NODE].bandwidth,
        12e9 / 4 / (4. / 5));
    ok(tree.shared, "links are shared");
    tulle_team *unfair;
    ok(tulle_team_new("sim:platform=dgx2,near_bw=40G,pair_bw=30G", 2, NULL, &unfair) == TULLE_ERR_ARG &&
            strstr(tulle_error_message(), "say sharing=queue"),
        "fair sharing does not limit one transfer: %s", tulle_error_message());
    const tulle_machine here = machine_of("sim:platform=here", 2);
    ok(!here.threads && here.in_place && here.node_pes == 2, "on this machine kernels take their real time, in place");
    tulle_team *team = NULL;
    tulle_machine none;
    ok(tulle_team_new("threads", 2, NULL, &team) == TULLE_OK && tulle_machine_of_team(team, &none) == TULLE_ERR_STATE,
        "threads simulate nothing");
    tulle_team_free(team);
}

int main(int argc, char **argv)
{
    if (argc > 2) return fprintf(stderr, "usage: %s [FILE.xml]\n", argv[0]), 2;
    if (argc == 2) { /* SimGrid reads one file in a process */
        write_platform(argv[1]);
        run_file(argv[1]);
        return tap_done();
    }
    struct times first[4], again[4];
    if (run(first, "queue")) show(first, 1);
    if (run(first, "fair")) show(first, 0);
    run(again, "fair");
    for (int r = 0; r < 4; r++)
        ok(same_times(&first[r], &again[r]), "PE %d: a second team of the process measures the same", r);
    run_products();
    compare_with_threads();
    run_refusals();
    run_calibrations();
    run_machines();
    for (int taper = 1; taper <= 2; taper++)
        for (int queued = 0; queued < 2; queued++) leaves(taper, queued);
    return tap_done();
}
