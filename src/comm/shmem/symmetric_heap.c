/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symmetric heap of this process. Its size is set in the environment before OpenSHMEM starts,
 * and is fixed then. Sizes may differ between nodes: allocations are agreed on, and lie at equal
 * offsets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/shmem/shmem_team.h"

/*
 * Segment bytes of a PE beyond its memory: control, and address space for fragmentation (team.c).
 */
static const size_t segment_extra = (size_t)72 << 20;
/* The heap's own records, and those of process.c. */
static const size_t records = (size_t)8 << 20;
/* Bytes of UCX and Open MPI in /dev/shm for each process (measured: 8.4 MB). */
static const size_t beside = (size_t)9 << 20;

static const char *const names[] = {"SHMEM_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_HEAP_SIZE"};

/* Bytes of a PE beside a team's memory. */
static size_t fixed_bytes(int npes)
{
    return segment_extra + tulle__shmem_gather_bytes(npes) + records;
}

/* A process has one heap. */
static struct {
    size_t bytes, taken;
} heap;

/*
 * The most bytes of each process's heap on this node: heaps are System V segments, which have
 * limits.
 */
static size_t capacity_each(int node_pes)
{
    struct shminfo limit;
    struct shm_info now;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), capacity = tulle__memory_available() / (size_t)node_pes;
    if (shmctl(0, IPC_INFO, (struct shmid_ds *)(void *)&limit) < 0 ||
        shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&now) < 0)
        return capacity;
    size_t left = limit.shmall > now.shm_tot ? limit.shmall - now.shm_tot : 0;
    if (left < SIZE_MAX / page && left * page / (size_t)node_pes < capacity) capacity = left * page / (size_t)node_pes;
    return limit.shmmax < capacity ? limit.shmmax : capacity;
}

/* The user's setting, a number with K, M, G or T. 0: unreadable, and OpenSHMEM will complain. */
static size_t announced(void)
{
    static const char units[] = "KMGT";
    const char *text = NULL;
    for (int i = 0; i < 2 && !text; i++) text = secure_getenv(names[i]);
    if (!text) return 0;
    char *end;
    double value = tulle__decimal_read(text, &end);
    for (int i = 0; units[i] && *end; i++)
        if ((*end & ~0x20) == units[i]) value *= (double)((uint64_t)1 << 10 * (i + 1));
    return value > 0 && value < 0x1p62 ? (size_t)value : 0;
}

/* Open MPI 4.1 reads the second name only. */
static void announce(size_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", bytes);
    for (int i = 0; i < 2; i++) setenv(names[i], text, 1);
    heap.bytes = bytes;
}

tulle_status tulle__shmem_heap_refuse(int node_pes)
{
    struct statvfs workspace;
    if (statvfs("/dev/shm", &workspace) != 0) return TULLE_OK;
    size_t size = (size_t)workspace.f_blocks * workspace.f_frsize,
           left = (size_t)workspace.f_bavail * workspace.f_frsize;
    if (size >= beside * (size_t)node_pes && left >= beside) return TULLE_OK;
    return tulle__fail(TULLE_ERR_LIMIT,
        "OpenSHMEM wants %.1f MB of /dev/shm for each of the %d PEs of this node, but of %.1f MB there %.1f MB are "
        "left: "
        "enlarge it (docker run --shm-size)",
        (double)beside / 1e6, node_pes, (double)size / 1e6, (double)left / 1e6);
}

/* Chooses the memory of a PE for which the heap is made. */
static tulle_status choose_memory(int npes, int node_pes, size_t asked, size_t *memory)
{
    size_t capacity = capacity_each(node_pes), fixed = fixed_bytes(npes);
    size_t most = capacity > fixed ? capacity - fixed : 0;
    *memory = asked ? asked : most / 5 * 4;
    if (*memory && *memory <= most) return TULLE_OK;
    return tulle__fail(TULLE_ERR_LIMIT,
        "a PE wants a symmetric heap of %.0f MB, but each of the %d of this node can have %.0f MB (free memory; limits "
        "of "
        "shared memory: `ipcs -l`): give less memory",
        (double)(*memory + fixed) / 1e6, node_pes, (double)capacity / 1e6);
}

tulle_status tulle__shmem_heap_announce(int npes, int node_pes, size_t memory)
{
    size_t each = 0, fixed = fixed_bytes(npes), given = announced();
    tulle_status status = given ? TULLE_OK : choose_memory(npes, node_pes, memory / (size_t)npes, &each);
    announce(given ? given : status == TULLE_OK ? each + fixed : records);
    return status;
}

size_t tulle__shmem_heap_left(void)
{
    size_t used = heap.taken + fixed_bytes(shmem_n_pes());
    return heap.bytes > used ? heap.bytes - used : 0;
}

void *tulle__shmem_heap_take(size_t bytes)
{
    void *block = heap.bytes - heap.taken < bytes ? NULL : shmem_align((size_t)sysconf(_SC_PAGESIZE), bytes);
    if (block) heap.taken += bytes;
    return block;
}

void tulle__shmem_heap_give(void *block, size_t bytes)
{
    if (!block) return;
    shmem_free(block);
    heap.taken -= bytes;
}
