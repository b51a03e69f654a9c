/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of a team whose PEs are all on one node: each PE makes a file without a name, and the
 * others open it through /proc. Windows that MPI shares lie in /dev/shm, of which containers have
 * 64 MB. /proc may refuse (a process that cannot be traced) or number other processes (namespaces):
 * so a team tries it first.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "comm/mpi/mpi_team.h"

/* A PE's file, as the others find it. */
struct file {
    int64_t process;
    uint64_t token; /* in its first bytes, until all have seen it */
    int32_t fd;     /* -1: it could not be made */
};

/* Returns the mapped file, or NULL with an fd of -1. */
static char *make_file(size_t bytes, struct file *file)
{
    *file = (struct file){.process = getpid(), .fd = memfd_create("tulle", MFD_CLOEXEC)};
    if (file->fd < 0) return NULL;
    void *base = ftruncate(file->fd, (off_t)bytes) == 0
                     ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0)
                     : MAP_FAILED;
    if (base == MAP_FAILED || getrandom(&file->token, sizeof file->token, 0) != (ssize_t)sizeof file->token) {
        if (base != MAP_FAILED) munmap(base, bytes);
        close(file->fd);
        file->fd = -1;
        return NULL;
    }
    memcpy(base, &file->token, sizeof file->token);
    return base;
}

/* Returns the mapped file of another PE; NULL: it cannot be opened, or is not that PE's. */
static char *map_file(const struct file *file, size_t bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId32, file->process, file->fd);
    const int fd = file->fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return NULL;
    /* a store beyond the end would be a bus error */
    const off_t end = lseek(fd, 0, SEEK_END);
    void *base =
        end >= 0 && (uint64_t)end >= bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (base == MAP_FAILED) return NULL;
    if (memcmp(base, &file->token, sizeof file->token) == 0) return base;
    munmap(base, bytes);
    return NULL;
}

/* Maps the files of all; *missing: the first rank whose file this PE lacks, or the number of PEs. */
static void map_files(int rank, int npes, const struct file *all, size_t bytes, char **base, int *missing)
{
    for (*missing = 0; *missing < npes; ++*missing) {
        if (*missing != rank) base[*missing] = map_file(&all[*missing], bytes);
        if (!base[*missing]) return;
    }
}

/* Collective. The segments are zero for all after a further agreement. */
static tulle_status map_all(MPI_Comm comm, size_t bytes, char **base, int *missing)
{
    struct file mine, *all = NULL;
    int rank, npes;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &npes);
    base[rank] = make_file(bytes, &mine);
    tulle_status status = tulle__mpi_host->alloc((size_t)npes, sizeof *all, "files of PEs", &all);
    status = tulle__mpi_agree(comm, status);
    if (status == TULLE_OK) status = tulle__mpi_allgather(comm, &mine, sizeof mine, all);
    if (status == TULLE_OK) map_files(rank, npes, all, bytes, base, missing);
    status = tulle__mpi_agree(comm, status); /* no PE closes its file before the others have opened it */
    if (base[rank]) memset(base[rank], 0, sizeof mine.token);
    if (mine.fd >= 0) close(mine.fd);
    tulle__mpi_host->free(all);
    return status;
}

tulle_status tulle__mpi_can_map(MPI_Comm comm, int *works)
{
    enum { BYTES = 4096 };
    char **base = NULL;
    int npes, missing = 0;
    MPI_Comm_size(comm, &npes);
    tulle_status status = tulle__mpi_host->alloc_zero((size_t)npes, sizeof *base, "segment addresses", &base);
    status = tulle__mpi_agree(comm, status);
    if (status == TULLE_OK) status = map_all(comm, BYTES, base, &missing);
    tulle__mpi_unmap_segments(npes, BYTES, base);
    tulle__mpi_host->free(base);
    uint64_t fails = missing < npes;
    if (status == TULLE_OK) status = tulle__mpi_allreduce_max(comm, 1, &fails);
    *works = !fails;
    return status;
}

tulle_status tulle__mpi_map_segments(MPI_Comm comm, size_t bytes, char **base)
{
    int npes, missing = 0;
    MPI_Comm_size(comm, &npes);
    TULLE_CALL(map_all(comm, bytes, base, &missing));
    if (missing < npes)
        return tulle__mpi_host->fail(
            TULLE_ERR_MEMORY, "a segment of %.1f MB, of PE %d, cannot be mapped", (double)bytes / 1e6, missing);
    return TULLE_OK;
}

void tulle__mpi_unmap_segments(int npes, size_t bytes, char **base)
{
    for (int rank = 0; base && rank < npes; rank++)
        if (base[rank]) munmap(base[rank], bytes);
}
