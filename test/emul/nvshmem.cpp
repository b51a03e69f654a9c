/* SPDX-License-Identifier: Apache-2.0 */
/* NVSHMEM over POSIX shared memory: the symmetric heaps of all PEs lie in one file, that of each a region of its GPU.
 */
#include "inside.h"

#include <nvshmem.h>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{
using namespace emul;
enum { HEAD = 4096, HEAP = 16 << 20, GRAIN = 512 };

struct head {
    uint64_t mapped, come, round;
};

struct {
    struct head *head;
    char *heaps;
    int rank, size;
    size_t used;
} us;

char *heap_of(int pe)
{
    return us.heaps + static_cast<size_t>(pe) * HEAP;
}
} // namespace

extern "C" {

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *id)
{
    snprintf(id->name, sizeof id->name, "/emul-nvshmem-%d", static_cast<int>(getpid()));
    return 0;
}

int nvshmemx_set_attr_uniqueid_args(int rank, int size, const nvshmemx_uniqueid_t *id, nvshmemx_init_attr_t *attributes)
{
    *attributes = {rank, size, *id};
    return 0;
}

/* The last PE that has mapped the file takes its name away. */
int nvshmemx_init_attr(unsigned, nvshmemx_init_attr_t *attributes)
{
    size_t bytes = HEAD + static_cast<size_t>(attributes->size) * HEAP;
    int file = shm_open(attributes->id.name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes))) return 1;
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return 1;
    us = {static_cast<struct head *>(at), static_cast<char *>(at) + HEAD, attributes->rank, attributes->size, 0};
    adopt(heap_of(us.rank), HEAP, current());
    uint64_t size = static_cast<uint64_t>(us.size);
    if (__atomic_add_fetch(&us.head->mapped, 1, __ATOMIC_ACQ_REL) == size) shm_unlink(attributes->id.name);
    while (__atomic_load_n(&us.head->mapped, __ATOMIC_ACQUIRE) < size) sched_yield();
    return 0;
}

void nvshmem_finalize(void)
{
    nvshmem_barrier_all();
}

void nvshmem_barrier_all(void)
{
    cudaDeviceSynchronize();
    uint64_t round = __atomic_load_n(&us.head->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&us.head->come, 1, __ATOMIC_ACQ_REL) == static_cast<uint64_t>(us.size)) {
        __atomic_store_n(&us.head->come, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&us.head->round, round + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&us.head->round, __ATOMIC_ACQUIRE) == round) sched_yield();
}

void *nvshmem_calloc(size_t count, size_t bytes)
{
    size_t wanted = (count * bytes + GRAIN - 1) / GRAIN * GRAIN;
    char *at = us.used + wanted <= HEAP ? heap_of(us.rank) + us.used : nullptr;
    if (at) {
        us.used += wanted;
        memset(at, 0, wanted);
    }
    nvshmem_barrier_all();
    return at;
}

void nvshmem_free(void *)
{
    nvshmem_barrier_all();
}

void *nvshmem_ptr(const void *memory, int pe)
{
    const char *at = static_cast<const char *>(memory), *mine = heap_of(us.rank);
    if (at < mine || at >= mine + HEAP || pe < 0 || pe >= us.size) {
        complain("an address that is not symmetric, or a PE that is not there");
        return const_cast<void *>(memory);
    }
    return heap_of(pe) + (at - mine);
}
}
