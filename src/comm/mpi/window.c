/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two segments of a team. If all PEs are on one node, they lie in memory without a window
 * (node_memory.c), or, where that fails, in a shared window; else in windows that MPI allocates.
 * Words avoid windows over memory of our own (MPI_Win_create): under Open MPI an atomic on one
 * waits until its target calls MPI (README.md has the figures). Data has no atomics: with several
 * nodes its window lies over memory shared within each.
 */
#include <string.h>
#include <sys/statvfs.h>

#include "comm/mpi/mpi_team.h"

/* Both MPIs keep a node's shared memory there. A store beyond its size is a bus error. */
#define SHARED_MEMORY "/dev/shm"

size_t tulle__mpi_capacity(void)
{
    struct statvfs workspace;
    if (statvfs(SHARED_MEMORY, &workspace) != 0) return SIZE_MAX;
    return (size_t)workspace.f_bavail * workspace.f_frsize;
}

static int allocate(tulle__engine_team *team, size_t bytes, void *base, MPI_Win *win)
{
    MPI_Info info;
    int error = MPI_Info_create(&info);
    if (error != MPI_SUCCESS) return error;
    /* each segment begins on its own page, local to the processor that touches it first */
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    error = team->shared ? MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, team->comm, base, win)
                         : MPI_Win_allocate((MPI_Aint)bytes, 1, info, team->comm, base, win);
    MPI_Info_free(&info);
    if (error != MPI_SUCCESS) *win = MPI_WIN_NULL;
    return error;
}

/* Allocates memory shared by the PEs of this node. */
static int share(tulle__engine_team *team, size_t bytes, char **base, MPI_Win *shared)
{
    MPI_Info info;
    MPI_Comm node;
    int error = MPI_Comm_split_type(team->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (error != MPI_SUCCESS) return error;
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    error = MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, node, base, shared);
    if (error != MPI_SUCCESS) *shared = MPI_WIN_NULL;
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
    return error;
}

/*
 * A window of all PEs over memory shared within each node. If a node cannot share (Open MPI without
 * osc/sm), none does, and the window stays MPI_WIN_NULL.
 */
static int allocate_mixed(tulle__engine_team *team, size_t bytes, char **base, tulle__mpi_window *window)
{
    uint64_t failed = share(team, bytes, base, &window->shared) != MPI_SUCCESS;
    if (tulle__mpi_allreduce_max(team->comm, 1, &failed) != TULLE_OK) return MPI_ERR_OTHER;
    if (failed) {
        if (window->shared != MPI_WIN_NULL) MPI_Win_free(&window->shared);
        return MPI_SUCCESS;
    }
    MPI_Win_set_errhandler(window->shared, MPI_ERRORS_RETURN);
    int error = MPI_Win_create(*base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, team->comm, &window->win);
    if (error != MPI_SUCCESS) window->win = MPI_WIN_NULL;
    if (error == MPI_SUCCESS) error = MPI_Win_lock_all(MPI_MODE_NOCHECK, window->shared);
    window->shared_locked = error == MPI_SUCCESS;
    return error;
}

/*
 * Finds the segments of PEs that share memory with this one by `win`, whose ranks are not the
 * team's.
 */
static int find_bases(tulle__engine_team *team, MPI_Win win, char **base)
{
    MPI_Group some, all;
    int n, error = MPI_Win_get_group(win, &some);
    if (error != MPI_SUCCESS) return error;
    MPI_Comm_group(team->comm, &all);
    MPI_Group_size(some, &n);
    for (int i = 0, rank, unit; i < n && error == MPI_SUCCESS; i++) {
        MPI_Aint size;
        error = MPI_Group_translate_ranks(some, 1, &i, all, &rank);
        if (error == MPI_SUCCESS) error = MPI_Win_shared_query(win, i, &size, &unit, &base[rank]);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return error;
}

/* Requires the unified memory model: PEs poll words by loads while others change them by RMA. */
static tulle_status require_unified(tulle__mpi_window *window)
{
    int *model, found;
    int error = MPI_Win_get_attr(window->win, MPI_WIN_MODEL, &model, &found);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "asking for a window's memory model");
    if (!found || *model != MPI_WIN_UNIFIED)
        return tulle__mpi_host->fail(TULLE_ERR_UNSUPPORTED,
            "this MPI's windows have separate public and private copies; unified ones are needed");
    return TULLE_OK;
}

/*
 * Refuses Open MPI's component osc/rdma, recognised by its windows' names, where it would crash.
 * The engine excludes it when it starts MPI; here the caller has started MPI, or chosen it.
 */
static tulle_status refuse_crash(const tulle__engine_team *team, const tulle__mpi_window *window)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    MPI_Win_get_name(window->win, name, &length);
    if (team->shared || !team->neighbours || strncmp(name, "rdma ", 5) != 0) return TULLE_OK;
    if (!tulle__mpi_has_fault(TULLE__MPI_RDMA_SWAP_CRASHES)) return TULLE_OK;
    return tulle__mpi_host->fail(TULLE_ERR_UNSUPPORTED,
        "the component osc/rdma of this Open MPI would crash in MPI_Compare_and_swap (open-mpi/ompi#9146, mended in "
        "4.1.7): set OMPI_MCA_osc=ucx in the environment of mpirun, or pt2pt,sm where there is no network for it");
}

static tulle_status open_window(tulle__engine_team *team, int segment, size_t bytes)
{
    char *own = NULL;
    tulle__mpi_window *window = &team->window[segment];
    tulle_status status =
        tulle__mpi_host->alloc_zero((size_t)team->npes, sizeof *window->base, "window addresses", &window->base);
    TULLE_CALL(tulle__mpi_agree(team->comm, status));
    if (team->in_files) {
        window->mapped = bytes;
        return tulle__mpi_map_segments(team->comm, bytes, window->base);
    }
    int error = MPI_SUCCESS;
    if (team->mixed && segment == TULLE__DATA) error = allocate_mixed(team, bytes, &own, window);
    if (error == MPI_SUCCESS && window->win == MPI_WIN_NULL) error = allocate(team, bytes, &own, &window->win);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "allocating a window");
    window->base[team->rank] = own;
    MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    error = MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
    window->locked = error == MPI_SUCCESS;
    if (error == MPI_SUCCESS && team->shared) error = find_bases(team, window->win, window->base);
    if (error == MPI_SUCCESS && window->shared_locked) error = find_bases(team, window->shared, window->base);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "opening a window");
    tulle_status unified = require_unified(window);
    return unified == TULLE_OK ? refuse_crash(team, window) : unified;
}

tulle_status tulle__mpi_windows_open(tulle__engine_team *team, const size_t bytes[TULLE__SEGMENTS])
{
    for (int s = 0; s < TULLE__SEGMENTS; s++) TULLE_CALL(tulle__mpi_agree(team->comm, open_window(team, s, bytes[s])));
    tulle__mpi_host->memory_huge(team->window[TULLE__DATA].base[team->rank], bytes[TULLE__DATA]);
    return TULLE_OK;
}

void tulle__mpi_windows_close(tulle__engine_team *team)
{
    for (int s = 0; s < TULLE__SEGMENTS; s++) {
        tulle__mpi_window *window = &team->window[s];
        if (window->locked) MPI_Win_unlock_all(window->win);
        if (window->win != MPI_WIN_NULL) MPI_Win_free(&window->win);
        if (window->shared_locked) MPI_Win_unlock_all(window->shared);
        if (window->shared != MPI_WIN_NULL) MPI_Win_free(&window->shared);
        if (window->mapped) tulle__mpi_unmap_segments(team->npes, window->mapped, window->base);
        tulle__mpi_host->free(window->base);
    }
}
