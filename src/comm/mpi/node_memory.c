/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the PEs of a node share: each makes a file without a name, which its neighbours open
 * through /proc. Windows that MPI shares lie in /dev/shm, of which containers have 64 MB.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "comm/mpi/mpi_team.h"

/* A PE's file, as its neighbours find it. */
struct file {
    int64_t process;
    uint64_t token; /* in its first bytes, while it is tried */
    int32_t fd, rank;
};

static int open_node(MPI_Comm comm, MPI_Comm *node)
{
    int error = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node);
    if (error == MPI_SUCCESS) MPI_Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
    return error;
}

/* The mapped file; NULL: it cannot be made. fd: -1 then. */
static void *make_file(size_t bytes, int *fd)
{
    *fd = memfd_create("tulle", MFD_CLOEXEC);
    if (*fd < 0) return NULL;
    void *base =
        ftruncate(*fd, (off_t)bytes) == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0) : MAP_FAILED;
    if (base != MAP_FAILED) return base;
    close(*fd);
    *fd = -1;
    return NULL;
}

/* A neighbour's file, mapped; NULL: it cannot be. */
static void *map_file(const struct file *file, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId32, file->process, file->fd);
    const int fd = file->fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return NULL;
    /* it may be another process's where neighbours do not see the same ones: no access beyond its end */
    const off_t end = lseek(fd, 0, SEEK_END);
    void *base =
        end >= 0 && (uint64_t)end >= bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    return base == MAP_FAILED ? NULL : base;
}

/* Tries the file of the next neighbour. */
static tulle_status try_next(MPI_Comm node, int *works)
{
    enum { BYTES = 4096 };
    int fd, rank, size;
    void *own = make_file(BYTES, &fd);
    struct file mine = {.process = getpid(), .fd = fd}, *all = NULL;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    if (getrandom(&mine.token, sizeof mine.token, 0) != (ssize_t)sizeof mine.token) mine.token = (uint64_t)getpid();
    if (own) memcpy(own, &mine.token, sizeof mine.token);
    tulle_status status = tulle__mpi_host->alloc((size_t)size, sizeof *all, "files of neighbours", &all);
    status = tulle__mpi_agree(node, status);
    if (status == TULLE_OK) status = tulle__mpi_allgather(node, &mine, sizeof mine, all);
    if (status == TULLE_OK) {
        const struct file *next = &all[(rank + 1) % size];
        void *other = map_file(next, BYTES);
        *works = own && other && memcmp(other, &next->token, sizeof next->token) == 0;
        if (other) munmap(other, BYTES);
    }
    tulle__mpi_host->free(all);
    status = tulle__mpi_agree(node, status); /* all have looked */
    if (own) munmap(own, BYTES);
    if (fd >= 0) close(fd);
    return status;
}

tulle_status tulle__mpi_shares_memory(MPI_Comm comm, int *works)
{
    MPI_Comm node;
    int error = open_node(comm, &node), here = 0;
    tulle_status status =
        error == MPI_SUCCESS ? try_next(node, &here) : tulle__mpi_fail(error, "finding the processes of this node");
    if (error == MPI_SUCCESS) MPI_Comm_free(&node);
    status = tulle__mpi_agree(comm, status);
    uint64_t fails = !here;
    if (status == TULLE_OK) status = tulle__mpi_allreduce_max(comm, 1, &fails);
    *works = !fails;
    return status;
}

/* Maps the files of all neighbours but this PE's own. */
static tulle_status map_all(MPI_Comm node, const struct file *mine, size_t bytes, char **base)
{
    int size;
    struct file *all = NULL;
    MPI_Comm_size(node, &size);
    tulle_status status = tulle__mpi_host->alloc((size_t)size, sizeof *all, "files of neighbours", &all);
    status = tulle__mpi_agree(node, status);
    if (status == TULLE_OK) status = tulle__mpi_allgather(node, mine, sizeof *mine, all);
    for (int i = 0; i < size && status == TULLE_OK; i++) {
        if (all[i].rank == mine->rank) continue;
        base[all[i].rank] = map_file(&all[i], bytes);
        if (!base[all[i].rank])
            status = tulle__mpi_host->fail(
                TULLE_ERR_MEMORY, "%zu bytes of PE %d's memory cannot be mapped", bytes, all[i].rank);
    }
    tulle__mpi_host->free(all);
    return tulle__mpi_agree(node, status); /* none closes its file before */
}

tulle_status tulle__mpi_share_memory(MPI_Comm comm, size_t bytes, char **base)
{
    MPI_Comm node;
    struct file mine = {.process = getpid()};
    int fd, rank, error = open_node(comm, &node);
    if (error != MPI_SUCCESS) return tulle__mpi_fail(error, "finding the processes of this node");
    MPI_Comm_rank(comm, &rank);
    mine.rank = rank;
    base[rank] = make_file(bytes, &fd);
    mine.fd = fd;
    tulle_status status =
        base[rank] ? TULLE_OK
                   : tulle__mpi_host->fail(TULLE_ERR_MEMORY, "out of memory for a segment of %zu bytes", bytes);
    status = tulle__mpi_agree(node, status);
    if (status == TULLE_OK) status = map_all(node, &mine, bytes, base);
    if (fd >= 0) close(fd);
    MPI_Comm_free(&node);
    return status;
}

void tulle__mpi_unshare_memory(int npes, size_t bytes, char **base)
{
    for (int rank = 0; base && rank < npes; rank++)
        if (base[rank]) munmap(base[rank], bytes);
}
