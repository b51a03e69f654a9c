/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `threads`: PEs are threads of this process and segments are private mappings, reserved in full and backed
 * by pages as they are touched. Transfers complete inside the call. With direct=off the pointers are kept back, so that
 * the layers above take the road of engines that do not share an address space.
 */
#include "comm/threads/threads.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"

struct thread_link {
    tulle__link link;
    struct tulle__engine_team *team;
};

struct tulle__engine_team {
    int npes, direct;
    size_t segment_bytes[TULLE__SEGMENTS];
    char **segment; /* [rank * TULLE__SEGMENTS + segment] */
    struct thread_link *link;
};

static char *address(tulle__link *link, const tulle__place *place, uint64_t at)
{
    tulle__engine_team *team = ((struct thread_link *)link)->team;
    return team->segment[place->rank * TULLE__SEGMENTS + place->segment] + place->offset + at;
}

static uint64_t *word(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return (uint64_t *)(void *)address(link, place, at);
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    (void)group;
    memcpy(local, address(link, place, at), bytes);
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    (void)group;
    memcpy(address(link, place, at), local, bytes);
}

static tulle_status wait(tulle__link *link, int group)
{
    (void)link, (void)group;
    return TULLE_OK;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    return __atomic_fetch_add(word(link, place, at), value, __ATOMIC_ACQ_REL);
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    __atomic_compare_exchange_n(word(link, place, at), &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    __atomic_store_n(word(link, place, at), value, __ATOMIC_RELEASE);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return __atomic_load_n(word(link, place, at), __ATOMIC_ACQUIRE);
}

static void *direct(tulle__link *link, int rank, int segment)
{
    tulle__engine_team *team = ((struct thread_link *)link)->team;
    return rank == link->rank || team->direct ? team->segment[rank * TULLE__SEGMENTS + segment] : NULL;
}

static void progress(tulle__link *link)
{
    (void)link; /* transfers are complete when they return */
}

static void fini(tulle__link *link)
{
    (void)link; /* part of the team */
}

static const tulle__link_ops thread_ops = {
    .get = get,
    .put = put,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .direct = direct,
    .progress = progress,
    .fini = fini,
};

static void close_team(tulle__engine_team *team)
{
    if (!team) return;
    for (int i = 0; team->segment && i < team->npes * TULLE__SEGMENTS; i++)
        if (team->segment[i]) munmap(team->segment[i], team->segment_bytes[i % TULLE__SEGMENTS]);
    tulle__free(team->segment);
    tulle__free(team->link);
    tulle__free(team);
}

static tulle_status open_team(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **out)
{
    static const char *const keys[] = {"direct"};
    tulle_status status;
    tulle__engine_team *team = NULL;
    int npes = setting->npes;
    const size_t *segment_bytes = setting->segment_bytes;
    if (setting->communicator)
        return tulle__fail(TULLE_ERR_ARG, "a communicator was handed in, but the engine 'threads' uses none");
    TULLE_TRY(tulle__alloc_zero(1, sizeof *team, "threads team", &team));
    team->npes = npes;
    team->direct = 1;
    TULLE_TRY(tulle__spec_flag(part, "direct", &team->direct));
    TULLE_TRY(tulle__spec_done(part, keys, 1));
    TULLE_TRY(tulle__alloc_zero((size_t)npes * TULLE__SEGMENTS, sizeof *team->segment, "segments", &team->segment));
    TULLE_TRY(tulle__alloc_zero((size_t)npes, sizeof *team->link, "links", &team->link));
    for (int s = 0; s < TULLE__SEGMENTS; s++) team->segment_bytes[s] = segment_bytes[s];
    for (int i = 0; i < npes * TULLE__SEGMENTS; i++) {
        size_t bytes = segment_bytes[i % TULLE__SEGMENTS];
        void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) {
            status = tulle__fail(TULLE_ERR_MEMORY, "cannot reserve a segment of %.1f MB for PE %d: %s",
                (double)bytes / 1e6, i / TULLE__SEGMENTS, strerror(errno));
            goto out;
        }
        team->segment[i] = base;
        if (i % TULLE__SEGMENTS == TULLE__DATA) tulle__memory_huge(base, bytes);
    }
    for (int rank = 0; rank < npes; rank++)
        team->link[rank] = (struct thread_link){
            {.ops = &thread_ops, .rank = rank, .npes = npes, .segment_bytes = {segment_bytes[0], segment_bytes[1]}},
            team};
    *out = team;
    return TULLE_OK;
out:
    close_team(team);
    return status;
}

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
    tulle_status status;
    pthread_t thread;
    int started;
    char message[TULLE_MESSAGE_MAX];
};

static void *run_one(void *arg)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->gate->lock);
    while (job->gate->state == GATE_SHUT) pthread_cond_wait(&job->gate->moved, &job->gate->lock);
    int run = job->gate->state == GATE_OPEN;
    pthread_mutex_unlock(&job->gate->lock);
    if (!run) return NULL;
    job->status = job->body(job->arg, job->rank, &job->team->link[job->rank].link);
    if (job->status != TULLE_OK) memcpy(job->message, tulle_error_message(), sizeof job->message);
    return NULL;
}

/* All threads pass a gate together, or, if one of them cannot be made, none runs the body and nobody waits for it. */
static tulle_status run_team(tulle__engine_team *team, tulle__engine_body body, void *arg)
{
    tulle_status status;
    struct job *job = NULL;
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_SHUT};
    TULLE_TRY(tulle__alloc_zero((size_t)team->npes, sizeof *job, "thread records", &job));
    for (int rank = 0; rank < team->npes; rank++)
        job[rank] = (struct job){.team = team, .gate = &gate, .body = body, .arg = arg, .rank = rank};
    status = TULLE_OK;
    for (int rank = 1; rank < team->npes && status == TULLE_OK; rank++) {
        int error = pthread_create(&job[rank].thread, NULL, run_one, &job[rank]);
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
    /* a PE that failed of itself explains more than one that was told */
    for (int told = 0; told < 2 && status == TULLE_OK; told++)
        for (int rank = 0; rank < team->npes && status == TULLE_OK; rank++)
            if (job[rank].status != TULLE_OK && (told || job[rank].status != TULLE_ERR_PEER)) {
                status = job[rank].status;
                tulle__error_set(job[rank].message);
            }
out:
    tulle__free(job);
    return status;
}

const tulle__engine tulle__engine_threads = {
    .name = "threads",
    .summary = "PEs are threads of one process (direct=on|off)",
    .open = open_team,
    .run = run_team,
    .close = close_team,
};
