/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `sim`: each PE is an actor of SimGrid in this process. Its segments are real memory;
 * time is virtual. README.md: what takes time, and what follows.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "comm/sim/sim_team.h"

const tulle__module_host *tulle__sim_host;

/* The number of PEs if the spec leaves it open and the platform has no node size. */
enum { PES = 2 };

int tulle__sim_same_node(const tulle__sim_platform *platform, int a, int b)
{
    return platform->node ? a / platform->node == b / platform->node : !platform->from_file;
}

/* One thread for each PE: PEs run one at a time. */
static tulle_status negotiate(tulle__spec_part *part, tulle__setting *setting)
{
    tulle__sim_platform platform;
    const char *file;
    if (setting->communicator)
        return tulle__sim_host->fail(TULLE_ERR_ARG, "a communicator was handed in, but the engine 'sim' uses none");
    TULLE_CALL(tulle__sim_platform_read(part, &platform, &file));
    if (!setting->npes) setting->npes = platform.node ? platform.node : PES;
    if (!setting->threads) setting->threads = 1;
    /* values without memory cost nothing: the limit is the simulated machine's */
    if (!setting->memory && platform.sizes && platform.capacity > 0)
        setting->memory = (size_t)platform.capacity * (size_t)setting->npes;
    const size_t capacity = tulle__sim_host->memory_available() / 5 * 4, mappable = tulle__sim_host->mapping_left() / 4;
    if (!setting->memory) setting->memory = capacity < mappable ? capacity : mappable;
    return TULLE_OK;
}

static void close_team(tulle__engine_team *team)
{
    if (!team) return;
    for (int i = 0; team->segment && i < team->npes * TULLE__SEGMENTS; i++)
        if (team->segment[i]) munmap(team->segment[i], team->segment_bytes[i % TULLE__SEGMENTS]);
    for (int rank = 0; team->link && rank < team->npes; rank++) {
        tulle__sim_bell_free(team->link[rank].bell);
        tulle__sim_host->free(team->link[rank].transfer);
    }
    if (team->opened) tulle__sim_close();
    tulle__sim_host->free(team->latency);
    tulle__sim_host->free(team->busy);
    tulle__sim_host->free(team->segment);
    tulle__sim_host->free(team->place);
    tulle__sim_host->free(team->link);
    tulle__sim_host->free(team);
}

static tulle_status map_segments(tulle__engine_team *team)
{
    for (int i = 0; i < team->npes * TULLE__SEGMENTS; i++) {
        size_t bytes = team->segment_bytes[i % TULLE__SEGMENTS];
        const int access = i % TULLE__SEGMENTS == TULLE__DATA ? PROT_NONE : PROT_READ | PROT_WRITE;
        void *base = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return tulle__sim_host->fail(TULLE_ERR_MEMORY, "cannot reserve a segment of %.1f MB for PE %d: %s",
                (double)bytes / 1e6, i / TULLE__SEGMENTS, strerror(errno));
        team->segment[i] = base;
        /* with huge pages one written word would cost 2 MB */
        if (team->platform.sizes) (void)madvise(base, bytes, MADV_NOHUGEPAGE);
    }
    return TULLE_OK;
}

/* Takes from an XML file the hosts' speed in flops, and latencies of each pair. */
static tulle_status take_from_file(tulle__engine_team *team)
{
    size_t pairs = (size_t)team->npes * (size_t)team->npes;
    double *flops = team->platform.rates.flops, speed = tulle__sim_speed(team->place[0]);
    if (flops[TULLE_F64] <= 0) flops[TULLE_F64] = speed;
    if (flops[TULLE_F32] <= 0) flops[TULLE_F32] = 2 * speed;
    TULLE_CALL(tulle__sim_host->alloc(pairs, sizeof *team->latency, "latencies", &team->latency));
    for (size_t i = 0; i < pairs; i++) team->latency[i] = -1;
    return TULLE_OK;
}

static tulle_status open_team(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **out)
{
    tulle_status status;
    tulle__engine_team *team = NULL;
    const char *file;
    size_t n = (size_t)setting->npes;
    TULLE_TRY(tulle__sim_host->alloc_zero(1, sizeof *team, "simulated team", &team));
    team->npes = setting->npes;
    for (int s = 0; s < TULLE__SEGMENTS; s++) team->segment_bytes[s] = setting->segment_bytes[s];
    TULLE_TRY(tulle__sim_platform_read(part, &team->platform, &file));
    TULLE_TRY(tulle__sim_host->alloc_zero(n * TULLE__SEGMENTS, sizeof *team->segment, "segments", &team->segment));
    TULLE_TRY(tulle__sim_host->alloc_zero(n, sizeof *team->link, "links", &team->link));
    TULLE_TRY(tulle__sim_host->alloc_zero(n, sizeof *team->place, "places of PEs", &team->place));
    TULLE_TRY(tulle__sim_open(&team->platform, file, team->npes, team->place));
    team->opened = 1;
    if (file) TULLE_TRY(take_from_file(team));
    if (team->platform.queued) TULLE_TRY(tulle__sim_queues_new(team));
    TULLE_TRY(map_segments(team));
    for (int rank = 0; rank < team->npes; rank++) {
        tulle__sim_link *s = &team->link[rank];
        s->link = (tulle__link){.ops = &tulle__sim_ops,
            .rank = rank,
            .npes = team->npes,
            .segment_bytes = {team->segment_bytes[0], team->segment_bytes[1]},
            .bare = 1,
            .virtual_time = team->platform.sizes ? &tulle__sim_sizes_ops : &tulle__sim_virtual_ops,
            .clock = &s->link};
        s->team = team;
        s->place = team->place[rank];
        s->bell = tulle__sim_bell_new();
    }
    *out = team;
    return TULLE_OK;
out:
    close_team(team);
    return status;
}

struct job {
    tulle__sim_link *link;
    tulle__engine_body body;
    void *arg;
    tulle_status status;
    int done;
    char message[TULLE_MESSAGE_MAX];
};

static void run_one(void *arg)
{
    struct job *job = arg;
    job->status = job->body(job->arg, job->link->link.rank, &job->link->link);
    if (job->status != TULLE_OK) memcpy(job->message, tulle__sim_host->error_message(), sizeof job->message);
    tulle__sim_run_end(job->link);
    job->done = 1;
}

/* The first failure by rank. A PE's own failure comes before one it was notified of. */
static const struct job *first_failure(const struct job *job, int npes)
{
    for (int any = 0; any < 2; any++)
        for (int rank = 0; rank < npes; rank++)
            if (job[rank].status != TULLE_OK && (any || job[rank].status != TULLE_ERR_PEER)) return &job[rank];
    return NULL;
}

static tulle_status run_team(tulle__engine_team *team, tulle__engine_body body, void *arg)
{
    tulle_status status;
    struct job *job = NULL;
    void **each = NULL;
    size_t n = (size_t)team->npes;
    TULLE_TRY(tulle__sim_host->alloc_zero(n, sizeof *job, "records of PEs", &job));
    TULLE_TRY(tulle__sim_host->alloc(n, sizeof *each, "records of PEs", &each));
    for (int rank = 0; rank < team->npes; rank++) {
        job[rank] = (struct job){.link = &team->link[rank], .body = body, .arg = arg};
        each[rank] = &job[rank];
    }
    tulle__account *before = tulle__sim_host->account_enter(NULL);
    status = tulle__sim_run(team->npes, team->place, run_one, each);
    tulle__sim_host->account_enter(before);
    const struct job *failed = first_failure(job, team->npes);
    if (status == TULLE_OK && failed) {
        status = failed->status;
        tulle__sim_host->error_set(failed->message);
    }
    for (int rank = 0; rank < team->npes && status == TULLE_OK; rank++)
        if (!job[rank].done)
            status = tulle__sim_host->fail(TULLE_ERR_COMM, "sim: the simulation ended before PE %d did", rank);
out:
    tulle__sim_host->free(job);
    tulle__sim_host->free(each);
    return status;
}

static const tulle__engine engine = {
    .name = "sim",
    .summary = "PEs are simulated, in virtual time (platform=summit|dgx1|dgx2|fattree|here|FILE.xml, ...)",
    .negotiate = negotiate,
    .open = open_team,
    .run = run_team,
    .close = close_team,
};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .engine = &engine};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    tulle__sim_host = host;
    return &module;
}
