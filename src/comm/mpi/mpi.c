/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `mpi`: each process of an MPI job is a PE. Every function here is collective, so each
 * step that one process may fail in ends in an agreement. README.md: settings, measurements, known
 * faults of the MPIs.
 */
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tulle/mpi.h>

#include "comm/mpi/mpi_team.h"

/*
 * Segment bytes of a PE beyond its memory: control, and address space for fragmentation (team.c).
 */
static const size_t segment_extra = (size_t)72 << 20;

/*
 * The engine's communicator: a copy of the caller's, so that messages never mix, or of all
 * processes'.
 */
static tulle_status own_communicator(const tulle_communicator *handed, MPI_Comm *comm)
{
    MPI_Comm parent = MPI_COMM_WORLD;
    if (handed) {
        if (handed->size != sizeof parent || strcmp(handed->family, TULLE_MPI_FAMILY) != 0)
            return tulle__mpi_host->fail(
                TULLE_ERR_ARG, "the communicator is of %s, the module of %s", handed->family, TULLE_MPI_FAMILY);
        if (handed->library != (void (*)(void))MPI_Comm_size)
            return tulle__mpi_host->fail(
                TULLE_ERR_ARG, "the program uses another copy of %s than the module", handed->family);
        int running = 0;
        MPI_Initialized(&running);
        if (!running) return tulle__mpi_host->fail(TULLE_ERR_STATE, "a communicator was handed in before MPI_Init");
        memcpy(&parent, handed->comm, sizeof parent);
    }
    TULLE_CALL(tulle__mpi_start());
    int error = MPI_Comm_dup(parent, comm);
    if (error == MPI_SUCCESS) error = MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
    return error == MPI_SUCCESS ? TULLE_OK : tulle__mpi_fail(error, "copying the communicator");
}

/* Counts the processes of comm on this node. */
static tulle_status count_node_pes(MPI_Comm comm, int *node_pes)
{
    MPI_Comm node;
    int error = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "finding the processes of this node");
    MPI_Comm_size(node, node_pes);
    MPI_Comm_free(&node);
    tulle__mpi_crowd(*node_pes);
    return TULLE_OK;
}

static tulle_status negotiate_pes(tulle__setting *setting, int npes)
{
    if (setting->npes && setting->npes != npes)
        return tulle__mpi_host->fail(TULLE_ERR_ARG,
            "a team of %d PEs is wanted, but %d process%s of %s started; a PE is a process: mpirun -n %d ...",
            setting->npes, npes, npes == 1 ? "" : "es", TULLE_MPI_FAMILY, setting->npes);
    setting->npes = npes;
    return TULLE_OK;
}

/* The segments can lie in files: all PEs are on one node, and can map each other's. */
static tulle_status choose_files(MPI_Comm comm, int node_pes, int direct, int *in_files)
{
    int npes;
    MPI_Comm_size(comm, &npes);
    uint64_t apart = !direct || node_pes < npes;
    tulle_status status = tulle__mpi_allreduce_max(comm, 1, &apart);
    *in_files = 0;
    return status == TULLE_OK && !apart ? tulle__mpi_can_map(comm, in_files) : status;
}

/*
 * A PE's memory: what was asked for, or its share of the smallest node's. Shared memory must hold
 * all segments.
 */
static tulle_status negotiate_memory(MPI_Comm comm, int node_pes, int direct, tulle__setting *setting)
{
    int in_files;
    tulle_status status = choose_files(comm, node_pes, direct, &in_files);
    if (status != TULLE_OK) return status;
    /* each process maps the segments of all; MPI's windows lie in /dev/shm */
    const size_t files = in_files ? SIZE_MAX : tulle__mpi_capacity(),
                 mappable = tulle__mpi_host->mapping_left() / 3 * 2;
    size_t capacity = (files < mappable ? files : mappable) / (size_t)node_pes;
    size_t most = capacity > segment_extra ? capacity - segment_extra : 0;
    size_t share = tulle__mpi_host->memory_available() / 5 * 4 / (size_t)node_pes;
    if (share > most / 5 * 4) share = most / 5 * 4;
    size_t want = setting->memory ? setting->memory / (size_t)setting->npes : share;
    if (want > most || !want)
        status = tulle__mpi_host->fail(TULLE_ERR_LIMIT,
            "a PE wants %.0f MB of shared memory, but each of the %d of this node can have %.0f MB %s",
            (double)(want + segment_extra) / 1e6, node_pes, (double)capacity / 1e6,
            files < mappable ? "of /dev/shm: give less memory or enlarge it (docker run --shm-size)"
                             : "that it may map (ulimit -v, -d): give less memory or raise that limit");
    status = tulle__mpi_agree(comm, status);
    if (status != TULLE_OK) return status;
    uint64_t least = ~(uint64_t)want; /* minimum over processes: the complement's maximum */
    status = tulle__mpi_allreduce_max(comm, 1, &least);
    setting->memory = (size_t)~least * (size_t)setting->npes;
    return status;
}

static tulle_status negotiate_in(MPI_Comm comm, int direct, tulle__setting *setting)
{
    int npes, node_pes = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &setting->processes);
    MPI_Comm_size(comm, &npes);
    tulle_status status = negotiate_pes(setting, npes);
    if (status == TULLE_OK) status = count_node_pes(comm, &node_pes);
    if (status == TULLE_OK) status = negotiate_memory(comm, node_pes, direct, setting);
    if (status != TULLE_OK || setting->threads) return status;
    uint64_t cores = ~(uint64_t)tulle__mpi_host->cores_each(node_pes);
    status = tulle__mpi_allreduce_max(comm, 1, &cores);
    setting->threads = (int)~cores;
    return status;
}

static tulle_status negotiate(tulle__spec_part *part, tulle__setting *setting)
{
    MPI_Comm comm;
    int direct = 1;
    TULLE_CALL(own_communicator(setting->communicator, &comm));
    tulle_status status = tulle__mpi_agree(comm, tulle__mpi_host->spec_flag(part, "direct", &direct));
    if (status == TULLE_OK) status = negotiate_in(comm, direct, setting);
    MPI_Comm_free(&comm);
    /* from here on other processes wait for this one, even if it never opens the team */
    if (status == TULLE_OK) tulle__mpi_team_opened(1);
    return status;
}

/* A lost process ends the others: calls of MPI that wait for it never return. */
static tulle_status watch_others(tulle__engine_team *team)
{
    const tulle__module_host *host = tulle__mpi_host;
    tulle__presence mine, *all = NULL;
    tulle_status status = host->lifeline_new(&mine, &team->lifeline);
    if (status == TULLE_OK) status = host->alloc((size_t)team->npes, sizeof *all, "processes of the job", &all);
    status = tulle__mpi_agree(team->comm, status);
    if (status == TULLE_OK) status = tulle__mpi_allgather(team->comm, &mine, sizeof mine, all);
    if (status == TULLE_OK) status = host->lifeline_watch(team->lifeline, team->rank, team->npes, all);
    host->free(all);
    return tulle__mpi_agree(team->comm, status);
}

/* No process leaves before all have stopped to watch it. */
static void stop_watching(tulle__engine_team *team)
{
    if (!team->lifeline) return;
    tulle__mpi_host->lifeline_stop(team->lifeline);
    (void)tulle__mpi_allreduce_max(team->comm, 0, NULL);
    tulle__mpi_host->lifeline_free(team->lifeline);
}

static void close_team(tulle__engine_team *team)
{
    tulle__mpi_windows_close(team);
    stop_watching(team);
    tulle__mpi_side_free(&team->link.local);
    tulle__mpi_side_free(&team->link.remote);
    if (team->comm != MPI_COMM_NULL) MPI_Comm_free(&team->comm);
    tulle__mpi_host->free(team);
    tulle__mpi_team_opened(-1);
}

struct options {
    int direct;
    int gpu; /* < 0: as the MPI says */
};

static tulle_status read_options(tulle__spec_part *part, struct options *options)
{
    static const char *const keys[] = {"direct", "gpu"};
    TULLE_CALL(tulle__mpi_host->spec_flag(part, "direct", &options->direct));
    TULLE_CALL(tulle__mpi_host->spec_flag(part, "gpu", &options->gpu));
    return tulle__mpi_host->spec_done(part, keys, 2);
}

static tulle_status open_in(
    tulle__engine_team *team, const struct options *options, const size_t segment_bytes[TULLE__SEGMENTS])
{
    int node_pes;
    MPI_Comm_rank(team->comm, &team->rank);
    MPI_Comm_size(team->comm, &team->npes);
    tulle_status status = team->npes > 1 ? watch_others(team) : TULLE_OK;
    if (status == TULLE_OK) status = count_node_pes(team->comm, &node_pes);
    if (status != TULLE_OK) return status;
    uint64_t most[] = {
        !options->direct || node_pes<team->npes, (uint64_t)node_pes, node_pes> tulle__mpi_host->cores_of_host()};
    status = tulle__mpi_allreduce_max(team->comm, 3, most);
    if (status != TULLE_OK) return status;
    team->shared = !most[0];
    status = choose_files(team->comm, node_pes, options->direct, &team->in_files);
    if (status != TULLE_OK) return status;
    team->neighbours = most[1] > 1;
    team->mixed = options->direct && !team->shared && team->neighbours;
    team->crowded = (int)most[2];
    team->late = tulle__mpi_has_fault(TULLE__MPI_BLOCKS_ARE_LATE);
    team->no_replace = tulle__mpi_has_fault(TULLE__MPI_REPLACE_HANGS);
    team->link = (tulle__mpi_link){.team = team,
        .shared.link = {.ops = team->shared ? &tulle__shared_ops : &tulle__mpi_rma_ops,
            .rank = team->rank,
            .npes = team->npes,
            .segment_bytes = {segment_bytes[0], segment_bytes[1]},
            .reaches_devices = !team->shared && (options->gpu < 0 ? tulle__mpi_reaches_gpus() : options->gpu),
            .pinned = !team->shared}};
    status = tulle__mpi_windows_open(team, segment_bytes);
    for (int s = 0; s < TULLE__SEGMENTS; s++) team->link.shared.base[s] = team->window[s].base;
    return status == TULLE_OK && !team->shared ? tulle__mpi_probe_progress(team) : status;
}

static tulle_status open_team(tulle__spec_part *part, const tulle__setting *setting, tulle__engine_team **out)
{
    tulle__engine_team *team;
    struct options options = {.direct = 1, .gpu = -1};
    tulle_status status = read_options(part, &options);
    if (status != TULLE_OK) tulle__mpi_team_opened(-1); /* the same in all processes */
    if (status == TULLE_OK) status = tulle__mpi_host->alloc_zero(1, sizeof *team, "MPI team", &team);
    if (status != TULLE_OK) return status;
    team->comm = MPI_COMM_NULL;
    for (int s = 0; s < TULLE__SEGMENTS; s++) team->window[s].win = team->window[s].shared = MPI_WIN_NULL;
    status = own_communicator(setting->communicator, &team->comm);
    if (status == TULLE_OK) status = open_in(team, &options, setting->segment_bytes);
    if (status == TULLE_OK)
        *out = team;
    else
        close_team(team);
    return status;
}

static tulle_status run_team(tulle__engine_team *team, tulle__engine_body body, void *arg)
{
    return tulle__mpi_agree(team->comm, body(arg, team->rank, &team->link.shared.link));
}

static tulle_status allreduce_max(tulle__engine_team *team, int n, uint64_t *value)
{
    return tulle__mpi_allreduce_max(team->comm, n, value);
}

static const tulle__engine engine = {
    .name = "mpi",
    .summary = "PEs are the processes of an MPI job (direct=on|off, gpu=on|off)",
    .negotiate = negotiate,
    .open = open_team,
    .run = run_team,
    .allreduce_max = allreduce_max,
    .close = close_team,
};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .engine = &engine};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

/*
 * The dynamic linker prefers the program's own MPI. If that is another family, its handles and
 * constants differ from those that the module was compiled with. A library of MPI 5's binary
 * interface has the version of the other one of its implementation, but not its name.
 */
static int library_fits(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    void (*const function)(void) = (void (*)(void))MPI_Comm_size;
    void *address;
    Dl_info library;
    memcpy(&address, &function, sizeof address);
    const int abi = dladdr(address, &library) && strstr(library.dli_fname, "libmpi_abi.") != NULL;
    if (abi || strcmp(TULLE_MPI_FAMILY, "abi") == 0) return abi && strcmp(TULLE_MPI_FAMILY, "abi") == 0;
    MPI_Get_library_version(version, &length);
    return (strncmp(version, "Open MPI", 8) == 0) == (strcmp(TULLE_MPI_FAMILY, "openmpi") == 0);
}

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    tulle__mpi_host = host;
    if (library_fits()) return &module;
    host->fail(TULLE_ERR_UNSUPPORTED, "it is for %s, but the program has loaded another MPI", TULLE_MPI_FAMILY);
    return NULL;
}
