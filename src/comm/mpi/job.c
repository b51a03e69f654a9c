/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and end of MPI, its errors, and the engine's few collectives outside of bodies, made of
 * MPI's own: control memory is not usable there.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "comm/mpi/mpi_team.h"

#ifdef OMPI_MAJOR_VERSION
#include <mpi-ext.h>
#endif

const tulle__module_host *tulle__mpi_host;

/* MPI's state belongs to the process, which can start it once, not to a team. */
static int started, teams;
static int crowded; /* some communicator has more processes on this node than it has cores */

enum { YIELDS = 8 }; /* of a wait, before it naps on a crowded node */

void tulle__mpi_team_opened(int change)
{
    teams += change;
}

/*
 * Runs at exit. A process with an open team would leave the others waiting, perhaps inside
 * MPI_Finalize, so it ends the job.
 */
static void finish(void)
{
    int done = 0;
    MPI_Finalized(&done);
    if (done) return;
    if (teams) MPI_Abort(MPI_COMM_WORLD, TULLE__EXIT_LOST);
    if (started) MPI_Finalize();
}

int tulle__mpi_reaches_gpus(void)
{
    int reaches = 0;
#if defined OMPI_HAVE_MPI_EXT_CUDA
    reaches = MPIX_Query_cuda_support();
#elif defined MPIX_GPU_SUPPORT_CUDA
    if (MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &reaches) != MPI_SUCCESS) reaches = 0;
#endif
    return reaches;
}

/*
 * Settings that the MPIs need before they start, unless the user has set them. README.md has the
 * measurements.
 */
static void set_defaults(void)
{
    /* the one component between nodes that Open MPI 5 always has */
    if (tulle__mpi_has_fault(TULLE__MPI_RDMA_SWAP_CRASHES)) setenv("OMPI_MCA_osc", "^rdma", 0);
    /*
     * MPICH searches mappable free in all processes, page by page: seconds for some GB:
     * pmodels/mpich#5962, open
     */
    setenv("MPIR_CVAR_SHM_SYMHEAP_RETRY", "0", 0);
    /*
     * Waiting MPI calls spin, which keeps the awaited process from running: with more processes
     * than cores each message takes a time slice. mpirun sets this itself only for slots that it
     * knows of.
     */
    const char *node_pes = secure_getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (node_pes && atol(node_pes) > tulle__mpi_host->cores_of_host()) setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

tulle_status tulle__mpi_start(void)
{
    int done = 0, provided;
    MPI_Finalized(&done);
    if (done) return tulle__mpi_host->fail(TULLE_ERR_STATE, "MPI has been finalised and cannot be started again");
    MPI_Initialized(&done);
    if (!done) {
        set_defaults();
        /* a PE's pool only computes: the thread that opened the team calls MPI */
        int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
        if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "starting MPI");
        started = 1;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* else it ends the process with a number */
    }
    static int registered;
    if (!registered) registered = atexit(finish) == 0;
    return TULLE_OK;
}

tulle_status tulle__mpi_fail(int error, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    return tulle__mpi_host->fail(TULLE_ERR_COMM, "MPI: %s failed: %.300s", what, text);
}

void tulle__mpi_crowd(int node_pes)
{
    crowded |= node_pes > tulle__mpi_host->cores_of_host();
    if (crowded) (void)prctl(PR_SET_TIMERSLACK, 1000UL); /* ns; of 50000, as it is else, a nap would take 70 us */
}

void tulle__mpi_rest(int turns)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    if (crowded && turns > YIELDS)
        nanosleep(&nap, NULL);
    else if (turns > 0)
        sched_yield();
}

int tulle__mpi_await(int n, MPI_Request *request)
{
    for (int turns = 0, done = 0;; turns++) {
        int error = MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
        if (error != MPI_SUCCESS || done) return error;
        tulle__mpi_rest(turns);
    }
}

tulle_status tulle__mpi_allreduce_max(MPI_Comm comm, int n, uint64_t *value)
{
    MPI_Request request;
    int error = n ? MPI_Iallreduce(MPI_IN_PLACE, value, n, MPI_UINT64_T, MPI_MAX, comm, &request)
                  : MPI_Ibarrier(comm, &request);
    if (error == MPI_SUCCESS) error = tulle__mpi_await(1, &request);
    return error == MPI_SUCCESS ? TULLE_OK : tulle__mpi_fail(error, "a reduction");
}

tulle_status tulle__mpi_allgather(MPI_Comm comm, const void *mine, size_t bytes, void *all)
{
    MPI_Request request;
    int error = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm, &request);
    if (error == MPI_SUCCESS) error = tulle__mpi_await(1, &request);
    return error == MPI_SUCCESS ? TULLE_OK : tulle__mpi_fail(error, "gathering from all processes");
}

/* Orders failures: a PE's own before those it was notified of, then by rank; 0 is none. */
static uint64_t urgency(tulle_status status, int rank)
{
    if (status == TULLE_OK) return 0;
    return (uint64_t)(status != TULLE_ERR_PEER) << 32 | (0xffffffffu - (uint32_t)rank);
}

tulle_status tulle__mpi_agree(MPI_Comm comm, tulle_status mine)
{
    struct {
        tulle_status status;
        char message[TULLE_MESSAGE_MAX];
    } from_root = {.status = mine};
    int rank;
    MPI_Comm_rank(comm, &rank);
    uint64_t first = urgency(mine, rank);
    TULLE_CALL(tulle__mpi_allreduce_max(comm, 1, &first));
    if (!first) return TULLE_OK;
    int root = (int)(0xffffffffu - (uint32_t)first);
    strncpy(from_root.message, tulle__mpi_host->error_message(), sizeof from_root.message - 1);
    MPI_Request request;
    int error = MPI_Ibcast(&from_root, sizeof from_root, MPI_BYTE, root, comm, &request);
    if (error == MPI_SUCCESS) error = tulle__mpi_await(1, &request);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "telling of a failure");
    tulle__mpi_host->error_set(from_root.message);
    return from_root.status;
}
