/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and end of OpenSHMEM, and the few collectives outside of bodies, where control memory is
 * not usable. They are made of puts and words: OpenSHMEM's own spin, and there may be more
 * processes than cores.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host/limits.h"
#include "comm/shmem/shmem_team.h"

#ifdef OSHMEM_MAJOR_VERSION
#include <mpi.h>
#endif

enum { ROUNDS = 32, VALUES = 8 };

/*
 * Words that other PEs write, by parity of the epoch: a PE is at most one epoch ahead of another.
 */
struct exchange {
    uint64_t arrived[ROUNDS]; /* the epoch of the last value */
    uint64_t value[2][ROUNDS][VALUES];
    tulle_status status; /* of this PE's last failure */
    char message[TULLE_MESSAGE_MAX];
};

/* OpenSHMEM's state belongs to the process, which can start it once, not to a team. */
static struct {
    struct exchange *exchange;
    uint64_t epoch;
    int rank, npes, teams, ended;
} job;

int tulle__shmem_runs(void)
{
    return job.exchange != NULL;
}

void tulle__shmem_team_opened(int change)
{
    job.teams += change;
}

/* Runs at exit. A process with an open team would leave the others waiting, so it ends the job. */
static void finish(void)
{
    if (job.teams) shmem_global_exit(TULLE__EXIT_LOST);
    tulle__shmem_allreduce_max(0, NULL); /* yields meanwhile; shmem_finalize spins */
    shmem_free(job.exchange);
    job.exchange = NULL;
    job.ended = 1;
    shmem_finalize();
}

/*
 * Settings that Open MPI needs before it starts, unless the user has set them. README.md has the
 * reasons.
 */
static void set_defaults(void)
{
    setenv("OMPI_MCA_memory", "^patcher", 0); /* shmem_finalize crashes with it */
    /* over TCP a message of 10 kB is else cut into pieces that wait for each other */
    setenv("UCX_TCP_TX_SEG_SIZE", "128k", 0);
    setenv("UCX_TCP_RX_SEG_SIZE", "128k", 0);
    setenv("UCX_TCP_SNDBUF", "1m", 0);
    setenv("UCX_TCP_RCVBUF", "1m", 0);
    if (tulle__shmem_node_pes(1) > tulle__cores_of_host("")) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

int tulle__shmem_node_pes(int npes)
{
    const char *node_pes = secure_getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    int n = node_pes ? atoi(node_pes) : npes;
    return n > 0 ? n : 1;
}

tulle_status tulle__shmem_start(void)
{
    int provided;
    if (job.ended) return tulle__fail(TULLE_ERR_STATE, "OpenSHMEM has been finalised and cannot be started again");
    if (job.exchange) return TULLE_OK;
    set_defaults();
    /* a PE's pool only computes: the thread that opened the team calls OpenSHMEM */
    if (shmem_init_thread(SHMEM_THREAD_FUNNELED, &provided) != 0)
        return tulle__fail(TULLE_ERR_COMM, "OpenSHMEM could not be started");
    job.rank = shmem_my_pe();
    job.npes = shmem_n_pes();
    job.exchange = shmem_malloc(sizeof *job.exchange);
    if (!job.exchange) return tulle__fail(TULLE_ERR_MEMORY, "the symmetric heap has no room for a few kB");
    memset(job.exchange, 0, sizeof *job.exchange);
    shmem_barrier_all();
    atexit(finish);
    return TULLE_OK;
}

/*
 * Open MPI's OpenSHMEM has no call for progress without a transfer of one's own (README.md); the
 * MPI below it has.
 */
void tulle__shmem_progress(void)
{
    tulle__shmem_gather_serve();
#ifdef OSHMEM_MAJOR_VERSION
    int found;
    (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
#else
    static const unsigned long never = ~0ul; /* no epoch ever is */
    (void)shmem_ulong_test((unsigned long *)&job.exchange->arrived[0], SHMEM_CMP_EQ, never);
#endif
}

static void await(const uint64_t *word, uint64_t epoch)
{
    for (int turns = 0; __atomic_load_n(word, __ATOMIC_ACQUIRE) < epoch; turns++) {
        tulle__shmem_progress();
        if (turns > 16) sched_yield();
    }
}

void tulle__shmem_allreduce_max(int n, uint64_t *value)
{
    struct exchange *x = job.exchange;
    size_t half = ++job.epoch & 1;
    for (int round = 0, step = 1; step < job.npes; round++, step *= 2) {
        int to = (job.rank + step) % job.npes;
        uint64_t *there = x->value[half][round];
        if (n) {
            shmem_putmem(there, value, (size_t)n * sizeof *value, to);
            shmem_quiet();
        }
        (void)shmem_ulong_atomic_swap((unsigned long *)&x->arrived[round], job.epoch, to);
        await(&x->arrived[round], job.epoch);
        for (int i = 0; i < n; i++)
            if (there[i] > value[i]) value[i] = there[i];
    }
}

/* Orders failures: a PE's own before those it was notified of, then by rank; 0 is none. */
static uint64_t urgency(tulle_status status)
{
    if (status == TULLE_OK) return 0;
    return (uint64_t)(status != TULLE_ERR_PEER) << 32 | (0xffffffffu - (uint32_t)job.rank);
}

tulle_status tulle__shmem_agree(tulle_status mine)
{
    struct exchange *x = job.exchange, from_root;
    uint64_t first = urgency(mine);
    x->status = mine;
    snprintf(x->message, sizeof x->message, "%s", mine == TULLE_OK ? "" : tulle_error_message());
    tulle__shmem_allreduce_max(1, &first);
    if (!first) return TULLE_OK;
    int root = (int)(0xffffffffu - (uint32_t)first);
    shmem_getmem(&from_root.status, &x->status, sizeof from_root - offsetof(struct exchange, status), root);
    tulle__shmem_allreduce_max(0, NULL); /* all have read it */
    tulle__error_set(from_root.message);
    return from_root.status;
}
