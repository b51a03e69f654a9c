/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `threads`: PEs are threads of this process. Segments are private mappings, reserved in
 * full and backed by pages as they are touched. direct=off withholds pointers to other PEs' memory,
 * so that the layers above work as over engines without a shared address space; node=N withholds
 * those to other nodes of N PEs. sleep=on: PEs that wait sleep until they are written to, the default
 * where they outnumber the cores twice.
 */
#include "comm/threads/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/host/cores.h"
#include "base/host/start_thread.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/shared_memory.h"

struct tulle__engine_team {
    int npes;
    int huge;  /* data segments use huge pages */
    int apart; /* there is a core for every thread of every PE */
    size_t segment_bytes[TULLE__SEGMENTS];
    char **base[TULLE__SEGMENTS]; /* base[segment][rank] */
    tulle__shared_link *link;
    tulle__bell *bell; /* or NULL */
};

static void close_team(tulle__engine_team *team)
{
    if (!team) return;
    for (int s = 0; s < TULLE__SEGMENTS; s++) {
        for (int rank = 0; team->base[s] && rank < team->npes; rank++)
            if (team->base[s][rank]) munmap(team->base[s][rank], team->segment_bytes[s]);
        tulle__free(team->base[s]);
    }
    tulle__free(team->link);
    tulle__free(team->bell);
    tulle__free(team);
}

/* Reserves one segment of every PE. */
static tulle_status reserve(tulle__engine_team *team, int segment, size_t bytes)
{
    char ***base = &team->base[segment];
    tulle_status status = tulle__alloc_zero((size_t)team->npes, sizeof **base, "segments", base);
    team->segment_bytes[segment] = bytes;
    for (int rank = 0; rank < team->npes && status == TULLE_OK; rank++) {
        const int access = segment == TULLE__DATA ? PROT_NONE : PROT_READ | PROT_WRITE;
        void *at = mmap(NULL, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return tulle__fail(TULLE_ERR_MEMORY, "cannot reserve a segment of %.1f MB for PE %d: %s",
                (double)bytes / 1e6, rank, strerror(errno));
        (*base)[rank] = at;
        if (segment == TULLE__DATA && team->huge) tulle__memory_huge(at, bytes);
    }
    return status;
}

/* With more PEs a core, yielding it takes longer than sleeping: many others come first. */
enum { CROWD = 2 };

static tulle_status open_team(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **out)
{
    static const char *const keys[] = {"direct", "node", "sleep"};
    tulle_status status;
    tulle__engine_team *team = NULL;
    int npes = setting->npes, direct = 1, sleep = npes > CROWD * tulle__cores_allowed();
    int64_t node = 0;
    if (setting->communicator)
        return tulle__fail(TULLE_ERR_ARG, "a communicator was handed in, but the engine 'threads' uses none");
    TULLE_TRY(tulle__alloc_zero(1, sizeof *team, "threads team", &team));
    team->npes = npes;
    team->huge = tulle__memory_plenty(setting->memory, setting->memory / (size_t)npes);
    team->apart = (int64_t)npes * setting->threads <= tulle__cores_allowed();
    TULLE_TRY(tulle__spec_flag(part, "direct", &direct));
    TULLE_TRY(tulle__spec_flag(part, "sleep", &sleep));
    TULLE_TRY(tulle__spec_int(part, "node", 1, npes, &node));
    TULLE_TRY(tulle__spec_done(part, keys, 3));
    TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->link, "links", &team->link));
    if (sleep) TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->bell, "doorbells", &team->bell));
    for (int s = 0; s < TULLE__SEGMENTS; s++) TULLE_TRY(reserve(team, s, setting->segment_bytes[s]));
    for (int rank = 0; rank < npes; rank++)
        team->link[rank] = (tulle__shared_link){.link = {.ops = &tulle__shared_ops,
                                                    .rank = rank,
                                                    .npes = npes,
                                                    .segment_bytes = {team->segment_bytes[0], team->segment_bytes[1]},
                                                    .bare = 1},
            .base = {team->base[0], team->base[1]},
            .node = direct ? (int)node : 1,
            .bell = team->bell};
    *out = team;
    return TULLE_OK;
out:
    close_team(team);
    return status;
}

enum { APART_MOST = 256 };

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    enum { GATE_SHUT, GATE_OPEN, GATE_CLOSED } state;
};

struct job {
    tulle__engine_team *team;
    struct gate *gate;
    tulle__engine_body body;
    void *arg;
    int rank;
    atomic_int *core; /* [npes] core on which the PE began; -1: not yet */
    tulle_status status;
    pthread_t thread;
    int started;
    char message[TULLE_MESSAGE_MAX];
};

/*
 * The kernel may put a waking thread on the core of the thread that woke it, where it stays behind
 * it for long. So PEs spread over the cores at the beginning of a run.
 */
static void stand_apart(const struct job *job)
{
    int taken[APART_MOST], core = tulle__core();
    if (!job->team->apart || job->team->npes > APART_MOST) return;
    for (int rank = 0; rank < job->team->npes; rank++)
        taken[rank] = atomic_load_explicit(&job->core[rank], memory_order_relaxed);
    for (int rank = 0; rank < job->rank; rank++)
        if (taken[rank] == core) {
            tulle__core_beside(taken, job->team->npes);
            core = tulle__core();
            break;
        }
    atomic_store_explicit(&job->core[job->rank], core, memory_order_relaxed);
}

static void *run_one(void *arg)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->gate->lock);
    while (job->gate->state == GATE_SHUT) pthread_cond_wait(&job->gate->moved, &job->gate->lock);
    int run = job->gate->state == GATE_OPEN;
    pthread_mutex_unlock(&job->gate->lock);
    if (!run) return NULL;
    stand_apart(job);
    job->status = job->body(job->arg, job->rank, &job->team->link[job->rank].link);
    if (job->status != TULLE_OK) memcpy(job->message, tulle__error_marked(), sizeof job->message);
    return NULL;
}

/*
 * All threads start the body together. If one of them cannot be created, none runs it, and none
 * waits for it.
 */
static tulle_status run_team(tulle__engine_team *team, tulle__engine_body body, void *arg)
{
    tulle_status status;
    struct job *job = NULL;
    atomic_int *core = NULL;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_SHUT};
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *job, "thread records", &job));
    TULLE_TRY(tulle__alloc((size_t)team->npes, sizeof *core, "cores of threads", &core));
    for (int rank = 0; rank < team->npes; rank++) atomic_init(&core[rank], -1);
    for (int rank = 0; rank < team->npes; rank++)
        job[rank] = (struct job){.team = team, .gate = &gate, .body = body, .arg = arg, .rank = rank, .core = core};
    status = TULLE_OK;
    for (int rank = 1; rank < team->npes && status == TULLE_OK; rank++) {
        int error = tulle__start_thread(&job[rank].thread, run_one, &job[rank]);
        job[rank].started = !error;
        if (error) status = tulle__fail(TULLE_ERR_COMM, "cannot start the thread of PE %d: %s", rank, strerror(error));
    }
    pthread_mutex_lock(&gate.lock);
    gate.state = status == TULLE_OK ? GATE_OPEN : GATE_CLOSED;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
    run_one(&job[0]); /* the caller is PE 0 */
    for (int rank = 1; rank < team->npes; rank++)
        if (job[rank].started) pthread_join(job[rank].thread, NULL);
    /* a PE's own failure explains more than one it was notified of */
    for (int any = 0; any < 2 && status == TULLE_OK; any++)
        for (int rank = 0; rank < team->npes && status == TULLE_OK; rank++)
            if (job[rank].status != TULLE_OK && (any || job[rank].status != TULLE_ERR_PEER)) {
                status = job[rank].status;
                tulle__error_set(job[rank].message);
            }
out:
    tulle__free(core);
    tulle__free(job);
    return status;
}

const tulle__engine tulle__engine_threads = {
    .name = "threads",
    .summary = "PEs are threads of one process (direct=on|off, node=PEs that reach each other, sleep=on|off)",
    .open = open_team,
    .run = run_team,
    .close = close_team,
};
