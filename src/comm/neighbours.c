/* SPDX-License-Identifier: Apache-2.0 */
/* The PEs of this host: they share its GPUs, whatever memory of each other they can map. */
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/comm.h"

struct pe {
    uint64_t host;
    int64_t process;
};

/* Equal for all processes of a host, and of no other: a hash of its name and boot time. */
static uint64_t host_hash(void)
{
    char text[320] = "";
    uint64_t hash = 0xcbf29ce484222325u;
    if (gethostname(text, 255)) text[0] = 0;
    text[255] = 0;
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (boot) {
        size_t n = fread(text + 256, 1, 40, boot);
        fclose(boot);
        text[256 + n] = 0;
    }
    for (size_t i = 0; i < sizeof text; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

tulle_status tulle__comm_neighbours(tulle_comm *comm, int *rank, int *size, int *processes)
{
    const struct pe mine = {.host = host_hash(), .process = getpid()};
    struct pe *all = NULL;
    tulle_status status = tulle__alloc((size_t)comm->size, sizeof *all, "hosts of all PEs", &all);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_allgather(comm, &mine, sizeof mine, all);
    *rank = *size = *processes = 0;
    for (int r = 0; r < comm->size && status == TULLE_OK; r++) {
        if (all[r].host != mine.host) continue;
        *rank += r < comm->rank;
        ++*size;
        int first = 0;
        while (all[first].host != mine.host || all[first].process != all[r].process) first++;
        *processes += first == r;
    }
    tulle__free(all);
    return status;
}
